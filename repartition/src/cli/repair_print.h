/** What repair prints: what it found, what it would do, and what it did. */
#ifndef RP_REPAIR_PRINT_H
#define RP_REPAIR_PRINT_H

#include "decide/repair_check.h"
#include "job/repair.h"

#include <jansson.h>
#include <stdio.h>

/** Everything is borrowed. */
struct rp_repair_result {
        const char *topic, *job;
        int32_t partition_cnt;
        const kr_rule_t *rule;
        const struct rp_repair_facts *facts;
        const struct rp_findings *findings;
        const struct rp_repair_report *report;
        bool is_executed;        /* --execute, and nothing was refused */
        bool is_failed;          /* the run ended with an error; it was told on stderr */
        bool is_fenced;          /* by another run */
        bool is_outdated;        /* the topic is not what it was */
        bool was_read;           /* the topic was judged */
        int64_t elapsed_ms;
        const char *client_args; /* -b, -F and -X as the user gave them, for commands to copy; "" when none */
        const char *job_option;  /* --job as the user gave it; NULL: the default name */
        const char *jobs_topic;
        const char *policy_option, *policy_value; /* "--policy", FILE or "--hash", NAME; NULL: the default */
};

void rp_repair_print(const struct rp_repair_result *result, FILE *out);

/** What --output json prints, as an object: new reference. */
json_t *rp_repair_json(const struct rp_repair_result *result);

#endif
