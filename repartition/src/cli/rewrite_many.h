/** rewrite --topics: the same command for every topic that a pattern takes, one after the other. */
#ifndef RP_REWRITE_MANY_H
#define RP_REWRITE_MANY_H

#include "io/topic_list.h"

enum rp_rewrite_step {
        RP_REWRITE_PLAN,   /* print the plan */
        RP_REWRITE_CHECK,  /* print it only if something is refused */
        RP_REWRITE_EXECUTE /* copy */
};

struct rp_rewrite_many {
        const char *regex, *form, *jobs_topic; /* see decide/pattern.h */
        const struct rp_client_config *client; /* of the cluster that has the sources */
        int timeout_ms;
        bool executes;
        bool is_json;
        /**
         * Takes one step of one topic's job, and prints what comes of it.
         * @param is_stopped  set when no further job is to be begun
         * @returns the exit code.
         */
        int (*job)(void *arg, const struct rp_listed_topic *source, const char *target, enum rp_rewrite_step step,
                   bool *is_stopped);
        void *arg;
};

/** Plans all of them; or checks all of them, then executes them unless one is refused. @returns the worst exit code. */
int rp_rewrite_many(const struct rp_rewrite_many *many);

#endif
