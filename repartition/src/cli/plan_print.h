/** What `plan` found, as text for people or one JSON object (fields: docs/capacity.md). */
#ifndef RP_PLAN_PRINT_H
#define RP_PLAN_PRINT_H

#include "decide/growth.h"

#include <stdio.h>

struct rp_plan_report {
        const char *topic, *into; /* into: the new topic; NULL: in place */
        const struct rp_growth *growth;
        const char *policy_file;             /* in force; NULL: none */
        const char *out;                     /* where the planned policy was written; NULL: nowhere */
        const char *bootstrap, *config_file; /* for commands to copy; or NULL */
        uint64_t rate;                       /* records a second */
        bool rate_is_measured;
};

void rp_plan_print_text(const struct rp_plan_report *report, FILE *out);
void rp_plan_print_json(const struct rp_plan_report *report, FILE *out);

#endif
