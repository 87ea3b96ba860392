/** Reads what a topic holds now, once, and counts what a growth would move. Knows no Kafka: any rp_source will do. */
#ifndef RP_JOB_PLAN_H
#define RP_JOB_PLAN_H

#include "decide/growth.h"
#include "io/source.h"

struct rp_plan_job {
        struct rp_source *source;
        struct rp_growth *growth; /* initialised for the source's partition count */
        /** Called often: offsets done and to do. @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
        bool is_stopped; /* by tick */
};

/** @returns RP_OK when all was read, or it was stopped; else the growth is true for what was read till then. */
rp_err_t rp_plan_run(struct rp_plan_job *job, struct rp_error *err);

#endif
