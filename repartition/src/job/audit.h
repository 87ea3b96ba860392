/** Reads what a topic holds now, once, in any order, and takes it in. Knows no Kafka: any rp_source will do. */
#ifndef RP_JOB_AUDIT_H
#define RP_JOB_AUDIT_H

#include "decide/audit.h"
#include "io/source.h"

struct rp_audit_job {
        struct rp_source *source;
        struct rp_audit *audit;       /* initialised for the source's partition count */
        struct rp_coverage *coverage; /* one a partition; `skipped` is set by the caller, the rest is filled */
        /** Called often, for a progress line: offsets done and to do. May be NULL. */
        void (*tick)(void *arg, uint64_t done, uint64_t total);
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
