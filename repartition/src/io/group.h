/**
 * Membership of a consumer group that shares the partitions of one topic. kafka_group.c in earnest, an in-memory twin in
 * tests. Partitions come and go one by one (the cooperative protocol): those that a rebalance does not name are read on
 * throughout. A group belongs to one thread.
 *
 * The dialogue: poll() gives records of partitions that are held, or news of a rebalance. After RP_GROUP_ASSIGNED the
 * caller finds out where to begin (stored() knows what the group has stored) and calls start(); after RP_GROUP_REVOKED it
 * commits or aborts what is open, and after RP_GROUP_LOST it aborts (another member may already read these partitions);
 * then it calls give(). Until start() or give() the group waits, and poll() and serve() must not be called.
 */
#ifndef RP_GROUP_H
#define RP_GROUP_H

#include "error.h"
#include "mark.h"
#include "record.h"

#include <stddef.h>

typedef enum {
        RP_GROUP_RECORDS,  /* records of one partition; or none, and perhaps a position that moved past control records */
        RP_GROUP_ASSIGNED, /* these partitions are given to us; they are read from start() on */
        RP_GROUP_REVOKED,  /* these are to be given back; until give() nobody else gets them */
        RP_GROUP_LOST      /* these are no longer ours, and have not been for a while */
} rp_group_what_t;

struct rp_group_event {
        rp_group_what_t what;
        const struct rp_record *records; /* RECORDS: by rising offset; borrowed until the next poll */
        size_t cnt;
        int32_t partition;               /* RECORDS: of all of them; -1 when nothing came at all */
        int64_t next;                    /* RECORDS: where reading goes on in it */
        const int32_t *partitions;       /* the others: borrowed until start() or give() */
        size_t partition_cnt;            /* the others: at least 1 */
};

struct rp_group;

struct rp_group_ops {
        /**
         * Waits up to timeout_ms when there is nothing.
         * @returns RP_ERR_INCOMPLETE when records are gone that were still to be read (retention); RP_ERR_FATAL when this
         *          member cannot go on. Passing trouble is no error: it shows as silence.
         */
        rp_err_t (*poll)(struct rp_group *group, int timeout_ms, struct rp_group_event *event, struct rp_error *err);

        /**
         * The same for a caller that takes no records for now: news of a rebalance alone. A member that is not heard of
         * for too long is taken for dead.
         */
        rp_err_t (*serve)(struct rp_group *group, int timeout_ms, struct rp_group_event *event, struct rp_error *err);

        /**
         * What the group has stored for the partitions that are held or were just assigned; the others' marks are left
         * as they are. Stable: the end of a transaction that is about to change it is waited for, up to timeout_ms.
         */
        rp_err_t (*stored)(struct rp_group *group, struct rp_progress *progress, int timeout_ms, struct rp_error *err);

        /**
         * Reads each named partition from its mark's `next` on (which is not -1): one that was just assigned begins there,
         * one that is held is rewound, and what was fetched of it is dropped. After RP_GROUP_ASSIGNED every partition of
         * that event must be named.
         */
        rp_err_t (*start)(struct rp_group *group, const struct rp_mark *marks, size_t cnt, struct rp_error *err);

        /** Gives the partitions of the last event back. */
        rp_err_t (*give)(struct rp_group *group, struct rp_error *err);

        /**
         * Fills each mark's `next` with the first offset whose record is of time_ms or later, the end where there is none;
         * or with the beginning (RP_TIME_EARLIEST) or the last stable offset (RP_TIME_LATEST).
         */
        rp_err_t (*locate)(struct rp_group *group, int64_t time_ms, struct rp_mark *marks, size_t cnt, int timeout_ms,
                           struct rp_error *err);

        /**
         * The partition's end as the last fetch told, without asking; -1: not known yet. Records of transactions that are
         * open count.
         */
        int64_t (*end)(struct rp_group *group, int32_t partition);

        /** Leaves the group at once, so that others need not wait for the session to time out; up to timeout_ms. */
        void (*leave)(struct rp_group *group, int timeout_ms);

        void (*free)(struct rp_group *group);
};

struct rp_group {
        const struct rp_group_ops *ops;
        const char *topic;
        const char *name;      /* of the group */
        int32_t partition_cnt; /* of the topic, when the group was made; partitions of events can be beyond it later on */
};

#endif
