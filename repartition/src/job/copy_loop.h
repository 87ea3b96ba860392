/**
 * The dialogue with decide/copy.h, once for both forms of copying jobs: job/copier.c performs it on a source, job/follow.c in a
 * consumer group. It keeps the time, tells what became of records, and looks around between two runs of them.
 */
#ifndef RP_COPY_LOOP_H
#define RP_COPY_LOOP_H

#include "decide/copy.h"

/** What a job may say of a record, besides the partition of the target that it goes to. */
enum {
        RP_SKIP = -1,  /* it is not copied; reading goes on behind it */
        RP_REFUSE = -2 /* the job ends with *err, and what is open is void */
};

struct rp_copy_loop {
        struct rp_copy *copy; /* initialized */

        /** Does what is asked for, and answers: all but the time, which is the loop's. */
        void (*perform)(void *self, const struct rp_copy_action *action, struct rp_copy_answer *answer);

        /**
         * Before the first run of records (in passes) and between two: adds to the answer what the pace and whoever may want to
         * stop have to say.
         */
        void (*look_around)(void *self, struct rp_copy_answer *answer);
        void *self;

        /** The records appended since the last call are committed, or void. May be NULL. */
        void (*settled)(void *arg, bool is_committed);
        void *arg; /* of settled: the job's */
};

/** Runs to the end. @returns the copy's error, which is in *err too. answer->err of perform() is err. */
rp_err_t rp_copy_loop_run(const struct rp_copy_loop *loop, struct rp_error *err);

#endif
