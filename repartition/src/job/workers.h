/**
 * A rewrite by several workers: each is a thread with a source and a sink of its own, and copies its share of the source's
 * partitions under a transactional id of its own. Progress is one, by partition, so a job may be taken up with another
 * count of workers.
 *
 * The ids of two runs with different counts do not fence each other, so one more transactional id, the lead, stands for
 * the run: whoever makes its producer anew holds the job. The order of things makes that safe:
 *  - A run takes the lead, writes there how many workers it has, then fences every id that it or the run before it may
 *    have used, and only then does any worker read progress.
 *  - A worker that makes its producer anew (it had trouble) confirms afterwards that the run still holds the lead, by a
 *    transaction of the lead, before it believes the progress. If the lead was taken after that, the taker fences this
 *    worker's new producer, too, since it fences after it has taken the lead.
 *  - A single worker has the lead's id. When it makes its producer anew it looks afterwards whether the lead was taken, and
 *    ends then: it has fenced the taker, but not the taker's workers.
 */
#ifndef RP_WORKERS_H
#define RP_WORKERS_H

#include "job/rewrite.h"

struct rp_workers {
        int cnt; /* at least 1. With 1 the sink of `rewrite` itself is used, whose id is the lead's: they are one */
        const struct rp_rewrite *rewrite; /* source, sink and is_mine are looked at with cnt 1 only */
        int32_t partition_cnt;            /* of the source */
        /** The lead's sink: the progress of its partition 0 is this file's to write. Borrowed. */
        struct rp_sink *lead;
        int32_t lead_cnt;                 /* partitions of the lead's progress */

        /** Fences whoever may write as that worker (from 1 on). */
        rp_err_t (*fence)(void *arg, int worker, struct rp_error *err);
        /**
         * Opens what that worker (from 1 on) reads and writes; both the caller's to free.
         * @param is_mine  its partitions; outlives both
         */
        rp_err_t (*open)(void *arg, int worker, const bool *is_mine, struct rp_source **source, struct rp_sink **sink,
                         struct rp_error *err);
        void *arg;
};

/** Like rp_rewrite_run(); the report is the sum of all workers'. tick and hold are called by one thread at a time. */
rp_err_t rp_workers_run(const struct rp_workers *workers, struct rp_rewrite_report *report, struct rp_error *err);

#endif
