/** What rewrite prints: the plan, and what a run did. */
#ifndef RP_REWRITE_PRINT_H
#define RP_REWRITE_PRINT_H

#include "job/prepare.h"
#include "job/rewrite.h"

#include <stdio.h>

struct rp_rewrite_result {
        const struct rp_prepare_config *config;
        const struct rp_preparation *preparation;
        const struct rp_rewrite_report *run; /* NULL: only planned */
        int64_t elapsed_ms;
        bool is_failed;                      /* the run ended with an error; it was told on stderr */
        const char *bootstrap;               /* for the commands to copy; may be NULL */
        const char *policy_option, *policy_value; /* "--policy", FILE or "--hash", NAME; NULL: the default */
};

void rp_rewrite_print_plan(const struct rp_rewrite_result *result, FILE *out);
void rp_rewrite_print_run(const struct rp_rewrite_result *result, FILE *out);
void rp_rewrite_print_json(const struct rp_rewrite_result *result, FILE *out);

#endif
