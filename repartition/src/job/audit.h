/**
 * Reads what a topic holds now, once, in any order, and takes it in. Several threads read some of the partitions each, into
 * audits of their own that are merged in the end. Knows no Kafka: any rp_source will do.
 */
#ifndef RP_JOB_AUDIT_H
#define RP_JOB_AUDIT_H

#include "decide/audit.h"
#include "io/source.h"

enum { RP_AUDIT_THREADS_MAX = 256 };

struct rp_audit_job {
        struct rp_source *source;
        struct rp_audit *audit;       /* initialised for the source's partition count */
        struct rp_coverage *coverage; /* one a partition; `skipped` is set by the caller, the rest is filled */
        int thread_cnt;               /* 0 is 1; with more, each reads some of the partitions by a source of its own */
        /** Opens one more source of the topic, for one of several threads. */
        rp_err_t (*open)(void *arg, struct rp_source **source, struct rp_error *err);
        /** Called often, for a progress line: offsets done and to do, and records so far. May be NULL. */
        void (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
};

/**
 * Fixes the range (low watermark to last stable offset) and reads it. Records that retention takes before they are
 * read are counted in coverage and do not end the job.
 * @returns RP_OK when all that there still was has been read. After any other result the coverage tells how far it came,
 *          and the audit is true for that much; before the range is known, all coverage is empty.
 */
rp_err_t rp_audit_run(const struct rp_audit_job *job, struct rp_error *err);

#endif
