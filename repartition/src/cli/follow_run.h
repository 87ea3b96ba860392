/** Running follow: what stands between its arguments and its loop. */
#ifndef RP_FOLLOW_RUN_H
#define RP_FOLLOW_RUN_H

#include "cli/command.h"
#include "cli/follow_print.h"
#include "cli/neighbour.h"
#include "io/sink.h"
#include "report/progress.h"

struct rp_follow_session {
        const struct rp_follow_plan_config *config;
        const struct rp_common *common;
        const struct rp_neighbour_args *neighbour_args;
        const char *instance;  /* NULL: none */
        int64_t transaction_ms;
        bool skips_refused;
        size_t look_back;      /* in place: records */
        struct rp_follow_plan *plan;
        struct rp_follow_result result;

        /* While it runs. */
        struct rp_group *group;
        struct rp_sink *sink;
        struct rp_source *uncommitted;   /* in place */
        struct rp_follow_place *place;   /* in place */
        struct rp_follow_copy copy;      /* into another topic */
        struct rp_follow_record *record; /* what it leaves behind beside its copies */
        struct rp_follow_status status;
        struct rp_copy_stats stats;
        struct rp_progress_line line;
        struct rp_governor *governor;
        const struct rp_neighbour_job *neighbour;
        int64_t counted_ms;
};

/** Follows until it is told to stop, and prints what it did. @returns the exit code. */
int rp_follow_execute(struct rp_follow_session *session);

#endif
