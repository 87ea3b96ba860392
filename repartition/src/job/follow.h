/**
 * The daemon's loop: one member of a consumer group that copies what arrives, for as long as nobody stops it. It performs
 * what decide/copy.h asks for on an rp_group and an rp_sink, and asks the job what becomes of the records.
 *
 * Records and the group's offsets go into one transaction, which carries the member's generation: after a rebalance that
 * went on without this member nothing of it can become visible any more. What is open is committed (or aborted) before a
 * partition is given back, and aborted when it was lost.
 */
#ifndef RP_FOLLOW_H
#define RP_FOLLOW_H

#include "io/group.h"
#include "io/sink.h"
#include "job/copy_loop.h"

/** A partition that this instance holds. */
struct rp_follow_partition {
        int32_t partition;
        int64_t next;   /* everything before it is dealt with, in the open transaction or stored; -1: not known yet */
        int64_t end;    /* of the partition; -1: not known yet */
};

/** What the loop knows of itself. */
struct rp_follow_status {
        const struct rp_copy_stats *copy;
        const struct rp_follow_partition *partitions; /* held, by number */
        size_t partition_cnt;
        int64_t lag;         /* offsets between next and end, over the partitions held; -1: none of them is known yet */
        uint64_t rebalances; /* that changed what this instance holds */
        uint64_t assigned, revoked, lost; /* partitions, over all rebalances */
};

struct rp_follow {
        struct rp_group *group;
        struct rp_sink *sink;
        int64_t transaction_ms;       /* longest time a transaction stays open */
        uint64_t transaction_bytes, transaction_records; /* most in one, 0: any; passed by one run of records at most */
        bool is_named;                /* another instance can have the sink's name; else being fenced is but an uncertain
                                         outcome, as when a transaction was open for too long */

        /**
         * What becomes of a run of records of one partition, in order: verdicts[i] is a partition of the target, RP_SKIP,
         * or RP_REFUSE (job/copy_loop.h) with *err filled, which ends the job; nothing behind that one is looked at.
         * Asked again for records whose transaction turned out void.
         * @returns an error of its own; those that may pass are answered by a new start
         */
        rp_err_t (*judge)(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err);

        /** The record as it is written, such as with one more header; NULL when out of memory. NULL: as it is. */
        const struct rp_record *(*dress)(void *arg, const struct rp_record *rec);

        /** The records judged since the last call are committed, or void and will be judged again. May be NULL. */
        void (*settled)(void *arg, bool is_committed);

        /** Where to begin in partitions for which nothing is stored: fills `next` of each mark. */
        rp_err_t (*begin_at)(void *arg, struct rp_mark *marks, size_t cnt, struct rp_error *err);

        /**
         * A partition is read from here on. Told again whenever it is given to us, or rewound.
         * @param note  what is stored beside its offset; NULL: nothing is stored, begin_at() has said where it begins
         * @returns false when out of memory
         */
        bool (*started)(void *arg, int32_t partition, int64_t next, const char *note);

        /** @returns what is stored beside the partition's offset; borrowed until it is started again. */
        const char *(*note)(void *arg, int32_t partition);

        /**
         * A transaction is open, and empty. Held are these partitions, of each of which all before `next` is dealt with, and
         * nothing from it on. May be NULL.
         */
        rp_err_t (*begun)(void *arg, const struct rp_mark *held, size_t cnt, struct rp_error *err);

        /**
         * It is about to be committed together with so many offsets: the last moment to sink->ops->say() something in it. Only
         * with offsets does the cluster check that this instance is still a member of the group. May be NULL.
         */
        rp_err_t (*committing)(void *arg, size_t offset_cnt, struct rp_error *err);

        /** As in job/copier.h. May be NULL. */
        int64_t (*hold)(void *arg, uint64_t bytes, uint64_t records);
        void *hold_arg;
        const int64_t *transaction_ms_now; /* in force instead of transaction_ms, looked at after hold; NULL: that one */

        /**
         * Called often. @returns false to commit what is open and stop; with *err filled when that is to be an error,
         * else its code is RP_OK.
         */
        bool (*tick)(void *arg, const struct rp_follow_status *status, struct rp_error *err);
        void *arg;
};

/**
 * Runs until tick() stops it, then leaves the group at once.
 * @returns RP_OK when stopped; RP_ERR_FENCED when another instance of the same name runs; RP_ERR_INCOMPLETE when records
 *          are gone before they were read; RP_ERR_BAD_RECORD for a record that was refused; otherwise what kept failing.
 */
rp_err_t rp_follow_run(const struct rp_follow *follow, struct rp_copy_stats *stats, struct rp_error *err);

#endif
