/**
 * The way out: records and progress in one transaction. kafka_sink.c in earnest, memory_sink.c in tests.
 * A sink belongs to one thread.
 *
 * After an error of begin(), append() or commit() the outcome of the transaction is unknown, and only recover() tells:
 * the caller calls it and goes on from the progress that it finds there. RP_ERR_BAD_RECORD, RP_ERR_USAGE and
 * RP_ERR_FENCED say that going on is of no use; the transaction is then void, or was made so by whoever fenced it.
 */
#ifndef RP_SINK_H
#define RP_SINK_H

#include "error.h"
#include "mark.h"
#include "record.h"

struct rp_sink;

struct rp_sink_ops {
        /** Reads the stored progress and disturbs nobody. Stable: an open transaction's end is waited for. */
        rp_err_t (*stored)(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err);

        /**
         * Makes the producer anew, which fences whoever held this job and aborts what was open, and only then reads the
         * stored progress. Called before the first transaction and after any uncertain outcome.
         */
        rp_err_t (*recover)(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err);

        rp_err_t (*begin)(struct rp_sink *sink, struct rp_error *err);

        /**
         * Takes one record for partition `to`; key, value, headers and timestamp go over byte for byte. The record's
         * memory is no longer needed afterwards (a Kafka sink may take the native message over to make that true).
         */
        rp_err_t (*append)(struct rp_sink *sink, const struct rp_record *rec, int32_t to, struct rp_error *err);

        /** Makes everything since begin() visible together with these marks, or nothing of it. */
        rp_err_t (*commit)(struct rp_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err);

        /** Makes everything since begin() void. After an error only recover() helps. */
        rp_err_t (*abort)(struct rp_sink *sink, struct rp_error *err);

        /** Aborts what is open, if there is time, and frees. */
        void (*free)(struct rp_sink *sink);

        /**
         * Adds a record to the topic of jobs (decide/job_record.h), in the open transaction. Where the sink has none nothing is
         * said. May be NULL, which is the same.
         */
        rp_err_t (*say)(struct rp_sink *sink, const char *key, const char *text, struct rp_error *err);

        /**
         * Waits until everything appended lies in the target's log, if not to be read committed yet: whatever anybody writes
         * from then on lies behind it. After an error only recover() helps. NULL: append() has put it there.
         */
        rp_err_t (*flush)(struct rp_sink *sink, struct rp_error *err);
};

struct rp_sink {
        const struct rp_sink_ops *ops;
        int32_t partition_cnt; /* of the target */
};

#endif
