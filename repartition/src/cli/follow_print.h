/** The plan of follow, and what a run did, as text or JSON. */
#ifndef RP_FOLLOW_PRINT_H
#define RP_FOLLOW_PRINT_H

#include "job/follow.h"
#include "job/follow_copy.h"
#include "job/follow_plan.h"

#include <jansson.h>
#include <stdio.h>

struct rp_follow_result {
        const struct rp_follow_plan_config *config;
        const struct rp_follow_plan *plan;
        /* NULL when nothing was run: */
        const struct rp_copy_stats *stats;
        const struct rp_follow_status *status;
        const struct rp_follow_copy_counts *copy;
        int64_t elapsed_ms;
        bool is_failed;
};

/** @returns what --output json prints; new reference. */
json_t *rp_follow_json(const struct rp_follow_result *result);

void rp_follow_print(const struct rp_follow_result *result, bool as_json, FILE *out);

#endif
