#include "cli/follow_print.h"

#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *plan_json(const struct rp_follow_result *result)
{
        const struct rp_follow_plan *plan = result->plan;
        char from[64];

        return json_pack("{s:s, s:s?, s:s, s:i, s:b, s:b, s:s}", "source", result->config->source, "target",
                         result->config->target, "job", result->config->job, "partitions", (int)plan->partition_cnt,
                         "target_exists", plan->target_exists, "new_job", plan->is_birth, "from",
                         rp_follow_from_text(&plan->note, from, sizeof(from)));
}

static json_t *result_json(const struct rp_follow_result *result)
{
        const struct rp_copy_stats *stats = result->stats;
        const struct rp_follow_copy_counts *copy = result->copy;
        const struct rp_follow_status *status = result->status;

        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}",
                         "records", (json_int_t)copy->records, "bytes", (json_int_t)copy->bytes,
                         "keyless", (json_int_t)copy->keyless, "moved", (json_int_t)copy->moved,
                         "refused", (json_int_t)copy->refused, "transactions", (json_int_t)stats->transactions,
                         "transactions_rolled_back", (json_int_t)stats->rolled_back,
                         "transactions_uncertain", (json_int_t)stats->uncertain,
                         "recoveries", (json_int_t)stats->recoveries, "rebalances", (json_int_t)status->rebalances,
                         "partitions_lost", (json_int_t)status->lost, "lag", (json_int_t)status->lag,
                         "elapsed_ms", (json_int_t)result->elapsed_ms, "failed", result->is_failed);
}

json_t *rp_follow_json(const struct rp_follow_result *result)
{
        return json_pack("{s:s, s:o, s:b, s:o}", "command", "follow", "plan", plan_json(result), "executed",
                         result->stats != NULL, "result", result->stats ? result_json(result) : json_null());
}

static void print_json(const struct rp_follow_result *result, FILE *out)
{
        json_t *root = rp_follow_json(result);

        json_dumpf(root, out, JSON_INDENT(2));
        fputc('\n', out);
        json_decref(root);
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static void print_plan(const struct rp_follow_result *result, FILE *out)
{
        const struct rp_follow_plan *plan = result->plan;
        char from[64];

        fprintf(out, "%s  %" PRId32 " partitions   ->   %s  %" PRId32 " partitions, %s\n", result->config->source,
                plan->source->partition_cnt, result->config->target, plan->partition_cnt,
                plan->target_exists ? "exists" : "to be created");
        fprintf(out, "job         %s\n", result->config->job);
        if (plan->is_birth)
                fprintf(out, "begins      %s\n", rp_follow_from_text(&plan->note, from, sizeof(from)));
        else
                fprintf(out, "goes on     from what the job has stored\n");
        fputs("\nnothing was written; the same command with --execute follows\n", out);
}

static void print_run(const struct rp_follow_result *result, FILE *out)
{
        const struct rp_copy_stats *stats = result->stats;
        const struct rp_follow_copy_counts *copy = result->copy;

        fprintf(out, "%s -> %s: %s records copied in %s, %s of them to another partition number\n", result->config->source,
                result->config->target, rp_text_count(copy->records).s, rp_text_duration(result->elapsed_ms).s,
                rp_text_count(copy->moved).s);
        if (copy->refused)
                fprintf(out, "refused by the policy and left out: %s records\n", rp_text_count(copy->refused).s);
        fprintf(out, "%s transactions, %s rolled back; %s rebalances\n", rp_text_count(stats->transactions).s,
                rp_text_count(stats->rolled_back).s, rp_text_count(result->status->rebalances).s);
}

void rp_follow_print(const struct rp_follow_result *result, bool as_json, FILE *out)
{
        if (as_json)
                print_json(result, out);
        else if (result->stats)
                print_run(result, out);
        else
                print_plan(result, out);
}
