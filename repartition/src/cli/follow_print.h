/** The plan of follow, what it says of itself while it runs, and what a run did: as text, JSON, or counters. */
#ifndef RP_FOLLOW_PRINT_H
#define RP_FOLLOW_PRINT_H

#include "job/follow.h"
#include "job/follow_copy.h"
#include "job/follow_place.h"
#include "job/follow_plan.h"
#include "job/governor.h"

#include <jansson.h>
#include <stdio.h>

struct rp_follow_result {
        const struct rp_follow_plan_config *config; /* without a target: in place */
        const struct rp_follow_plan *plan;
        bool is_run;      /* else the rest is of no meaning, and only the plan is printed */
        bool is_failed;
        int64_t elapsed_ms;
        const struct rp_copy_stats *stats;
        const struct rp_follow_status *status;
        const struct rp_follow_copy_counts *copy;
        const struct rp_follow_place_counts *place; /* in place, once it is known */
};

/** Tells the governor the counters. @returns what rp_governor_tell() returned. */
bool rp_follow_tell(struct rp_governor *governor, const struct rp_follow_result *result);

/** @returns what --output json prints; new reference. */
json_t *rp_follow_json(const struct rp_follow_result *result);

void rp_follow_print(const struct rp_follow_result *result, bool as_json, FILE *out);

#endif
