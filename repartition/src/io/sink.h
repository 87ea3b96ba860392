/**
 * The way out: records and progress in one transaction. kafka_sink.c in earnest, memory_sink.c in tests.
 * A sink belongs to one thread. After any error but RP_ERR_USAGE, RP_ERR_FENCED and RP_ERR_FATAL the caller calls
 * recover() and goes on from the progress that it finds there; nothing else is known to be true.
 */
#ifndef RP_SINK_H
#define RP_SINK_H

#include "error.h"
#include "record.h"

struct rp_sink;

/** How far the job has come, as stored beside the records themselves. */
struct rp_progress {
        int64_t *next;      /* one a source partition; -1: nothing stored. The caller's array */
        char job[128];      /* what the job was when it stored this (policy fingerprint, target count); "" when none */
};

struct rp_sink_ops {
        /**
         * Makes the producer anew (fencing whoever held this job, aborting what was open) and only then reads the
         * stored progress. Called before the first transaction and after any uncertain outcome.
         */
        rp_err_t (*recover)(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err);

        rp_err_t (*begin)(struct rp_sink *sink, struct rp_error *err);

        /** Takes one record for partition `to`; key, value, headers and timestamp go over byte for byte. */
        rp_err_t (*append)(struct rp_sink *sink, const struct rp_record *rec, int32_t to, struct rp_error *err);

        /** Makes everything since begin() visible together with the progress, or nothing of it. */
        rp_err_t (*commit)(struct rp_sink *sink, const struct rp_progress *progress, struct rp_error *err);

        void (*free)(struct rp_sink *sink);
};

struct rp_sink {
        const struct rp_sink_ops *ops;
        int32_t partition_cnt;
};

#endif
