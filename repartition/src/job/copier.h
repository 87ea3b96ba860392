/**
 * The loop of every job that copies within fixed ranges: it performs what decide/copy.h asks for on an rp_source and an
 * rp_sink, and asks the job about each record. It decides nothing itself.
 */
#ifndef RP_COPIER_H
#define RP_COPIER_H

#include "io/reader.h"
#include "io/sink.h"
#include "io/source.h"
#include "job/copy_loop.h"

struct rp_copier {
        struct rp_source *source;
        struct rp_sink *sink;
        rp_read_order_t order;     /* of the source's partitions among each other */
        struct rp_copy_config config; /* partition_cnt, topic and topics are the source's, the rest is the caller's */

        /**
         * What becomes of the record. Asked once for every record that is read, in reading order; after a new start,
         * records behind the stored progress come again.
         * @param err  to be filled for RP_REFUSE (RP_ERR_BAD_RECORD: it will not help to try again)
         * @returns a partition of the target, RP_SKIP or RP_REFUSE (job/copy_loop.h)
         */
        int32_t (*decide)(void *arg, const struct rp_record *rec, struct rp_error *err);

        /**
         * After the producer was made anew and the progress read, both of which then wait for it: whether this run may go on
         * all the same. Anything but RP_OK is treated as if making the producer anew had ended so. May be NULL.
         */
        rp_err_t (*confirm)(void *arg, struct rp_error *err);
        void *confirm_arg;

        /** The records decided on since the last call are committed, or void and will come again. May be NULL. */
        void (*settled)(void *arg, bool is_committed);

        /**
         * Asked before the first and between runs of records: how long to wait before more are read, in ms; 0: go on. Told
         * what was written since it was asked last. While it makes the job wait it is asked again and again. May be NULL.
         */
        int64_t (*hold)(void *arg, uint64_t bytes, uint64_t records);

        /** Called often. @returns false to commit what is open and stop. May be NULL. */
        bool (*tick)(void *arg, const struct rp_copy_stats *stats, uint64_t done, uint64_t total);
        void *arg;       /* of decide, settled and tick */
        void *hold_arg;  /* of hold: a governor of its own */
        const int64_t *transaction_ms; /* in force instead of config's, looked at after hold; NULL: config's */
};

/**
 * Runs until everything up to the source's last stable offsets, as they are when it begins, is dealt with.
 * @returns RP_OK (also when stopped, and when there was nothing new); RP_ERR_FENCED when another run of the job took
 *          over; RP_ERR_INCOMPLETE when source records are gone; RP_ERR_USAGE when the stored progress is of another
 *          job; otherwise what kept failing. *stats is filled in any case.
 */
rp_err_t rp_copier_run(const struct rp_copier *copier, struct rp_copy_stats *stats, struct rp_error *err);

#endif
