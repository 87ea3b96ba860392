/** What rewrite prints: the plan, and what a run did. */
#ifndef RP_REWRITE_PRINT_H
#define RP_REWRITE_PRINT_H

#include "job/prepare.h"
#include "job/rewrite.h"

#include <jansson.h>
#include <stdio.h>

struct rp_rewrite_result {
        const struct rp_prepare_config *config;
        struct rp_preparation *preparation;
        const struct rp_rewrite_report *run; /* NULL: only planned */
        int64_t elapsed_ms;
        bool is_failed;                      /* the run ended with an error; it was told on stderr */
        bool is_fenced;                      /* by another run of the job */
        const char *client_args;             /* -b, -F and -X as the user gave them, for commands to copy; "" when none */
        const char *stopped_by;              /* "signal", "max-duration" or "request"; NULL: it was not stopped */
        const char *compression;             /* that the copies are sent with; NULL: as the client's properties say */
        int workers;                         /* as the user gave them */
        bool is_one_of_many;                 /* JSON takes one line then */
        const char *job_option;              /* --job as the user gave it; NULL: the default name */
        int64_t replication_factor;          /* as the user gave it; 0: the source's */
        const char *more_options;            /* others that the same job needs again, each behind a space; "" when none */
        const char *policy_option, *policy_value; /* "--policy", FILE or "--hash", NAME; NULL: the default */
};

void rp_rewrite_print_plan(const struct rp_rewrite_result *result, FILE *out);
void rp_rewrite_print_run(const struct rp_rewrite_result *result, FILE *out);

/** What --output json prints, as an object: new reference. */
json_t *rp_rewrite_json(const struct rp_rewrite_result *result);
void rp_rewrite_print_json(const struct rp_rewrite_result *result, FILE *out);

#endif
