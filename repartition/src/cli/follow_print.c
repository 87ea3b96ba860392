#include "cli/follow_print.h"

#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* The classes that follow tells apart, see decide/tail.h. */
static const rp_class_t classes[] = { RP_CLASS_SAFE, RP_CLASS_STALE, RP_CLASS_UNKNOWN, RP_CLASS_COPIED };
enum { CLASS_CNT = sizeof(classes) / sizeof(*classes) };

static const struct rp_follow_place_counts nothing;

static bool is_in_place(const struct rp_follow_result *result)
{
        return !result->config->target;
}

static const struct rp_follow_place_counts *place_counts(const struct rp_follow_result *result)
{
        return result->place ? result->place : &nothing;
}

/* ---- counters ------------------------------------------------------------------------------------------------------ */

static void add(struct rp_counter *counters, size_t *cnt, const char *name, const char *help, const char *label,
                const char *value_of_label, uint64_t value)
{
        counters[(*cnt)++] = (struct rp_counter){ name, help, label, value_of_label, value };
}

bool rp_follow_tell(struct rp_governor *governor, const struct rp_follow_result *result)
{
        const struct rp_copy_stats *stats = result->stats;
        const struct rp_follow_copy_counts *copy = result->copy;
        const struct rp_follow_place_counts *place = place_counts(result);
        const struct rp_follow_status *status = result->status;
        bool in_place = is_in_place(result);
        const struct rp_counter transactions[] = {
                RP_TRANSACTION_COUNTERS(stats->transactions, stats->rolled_back, stats->uncertain, stats->recoveries),
        };
        struct rp_counter counters[RP_COUNTERS_MAX];
        size_t cnt = 0;
        struct rp_pulse pulse = {
                .done = in_place ? place->copied : copy->records, .uncommitted = stats->uncommitted,
                .trouble = stats->trouble.code != RP_OK ? stats->trouble.text : NULL, .counters = counters,
        };

        add(counters, &cnt, "records_copied_total", "Records copied and committed", NULL, NULL,
            in_place ? place->copied : copy->records);
        add(counters, &cnt, "bytes_copied_total", "Bytes of their keys and values", NULL, NULL,
            in_place ? place->copied_bytes : copy->bytes);
        if (in_place) {
                add(counters, &cnt, "records_read_total", "Records looked at", NULL, NULL, place->read);
                for (size_t i = 0; i < CLASS_CNT; i++)
                        add(counters, &cnt, "records_misplaced_total", i ? "" : "Found misplaced, by class", "class",
                            rp_class_name(classes[i]), place->misplaced[classes[i]]);
        } else {
                add(counters, &cnt, "records_moved_total", "Of them, with a key and another partition number than before",
                    NULL, NULL, copy->moved);
                add(counters, &cnt, "records_keyless_total", "Of them, without a key", NULL, NULL, copy->keyless);
        }
        add(counters, &cnt, "records_refused_total", "Records left out since the policy refuses their keys", NULL, NULL,
            in_place ? place->refused : copy->refused);
        for (size_t i = 0; i < sizeof(transactions) / sizeof(*transactions); i++)
                counters[cnt++] = transactions[i];
        add(counters, &cnt, "rebalances_total", "Rebalances that changed what this instance holds", NULL, NULL,
            status->rebalances);
        add(counters, &cnt, "partitions_lost_total", "Partitions that the group took away without asking", NULL, NULL,
            status->lost);
        add(counters, &cnt, "partitions_held", "Partitions of the source that this instance holds", NULL, NULL,
            status->partition_cnt);
        add(counters, &cnt, "held_lag_records", "Offsets of these partitions that are still to be read", NULL, NULL,
            status->lag > 0 ? (uint64_t)status->lag : 0);
        pulse.counter_cnt = cnt;
        return rp_governor_tell(governor, &pulse);
}

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

static void set(json_t *object, const char *name, uint64_t value)
{
        json_object_set_new(object, name, json_integer((json_int_t)value));
}

static void set_counts(json_t *object, const struct rp_follow_result *result)
{
        const struct rp_follow_copy_counts *copy = result->copy;
        const struct rp_follow_place_counts *place = place_counts(result);
        json_t *misplaced;

        if (!is_in_place(result)) {
                set(object, "records", copy->records);
                set(object, "bytes", copy->bytes);
                set(object, "keyless", copy->keyless);
                set(object, "moved", copy->moved);
                set(object, "refused", copy->refused);
                return;
        }
        misplaced = json_object();
        for (size_t i = 0; i < CLASS_CNT; i++)
                set(misplaced, rp_class_name(classes[i]), place->misplaced[classes[i]]);
        set(object, "records", place->copied);
        set(object, "bytes", place->copied_bytes);
        set(object, "read", place->read);
        set(object, "right", place->right);
        json_object_set_new(object, "misplaced", misplaced);
        set(object, "too_old", place->too_old);
        set(object, "own_tombstones", place->own_tombstones);
        set(object, "refused", place->refused);
}

static json_t *result_json(const struct rp_follow_result *result)
{
        const struct rp_copy_stats *stats = result->stats;
        const struct rp_follow_status *status = result->status;
        json_t *object = json_object();

        set_counts(object, result);
        set(object, "transactions_committed", stats->transactions);
        set(object, "transactions_rolled_back", stats->rolled_back);
        set(object, "transactions_uncertain", stats->uncertain);
        set(object, "recoveries", stats->recoveries);
        set(object, "rebalances", status->rebalances);
        set(object, "partitions_lost", status->lost);
        json_object_set_new(object, "lag", status->lag >= 0 ? json_integer(status->lag) : json_null());
        set(object, "elapsed_ms", (uint64_t)result->elapsed_ms);
        json_object_set_new(object, "failed", json_boolean(result->is_failed));
        return object;
}

json_t *rp_follow_json(const struct rp_follow_result *result)
{
        return json_pack("{s:s, s:o, s:b, s:o}", "command", "follow", "plan", plan_json(result), "executed", result->is_run,
                         "result", result->is_run ? result_json(result) : json_null());
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

        if (is_in_place(result))
                fprintf(out, "%s  %" PRId32 " partitions, in place\n", result->config->source, plan->partition_cnt);
        else
                fprintf(out, "%s  %" PRId32 " partitions   ->   %s  %" PRId32 " partitions, %s\n", result->config->source,
                        plan->source->partition_cnt, result->config->target, plan->partition_cnt,
                        plan->target_exists ? "exists" : "to be created");
        fprintf(out, "job         %s\n", result->config->job);
        if (plan->is_birth)
                fprintf(out, "begins      %s\n", rp_follow_from_text(&plan->note, from, sizeof(from)));
        else
                fprintf(out, "goes on     from what the job has stored\n");
        if (plan->is_birth && is_in_place(result) && plan->note.from == RP_FROM_LATEST)
                fprintf(out, "before that what is there already is not looked at: repartition repair %s\n", result->config->source);
        fputs("\nnothing was written; the same command with --execute follows\n", out);
}

static void print_copied(const struct rp_follow_result *result, FILE *out)
{
        const struct rp_follow_copy_counts *copy = result->copy;

        fprintf(out, "%s -> %s: %s records copied in %s, %s of them to another partition number\n", result->config->source,
                result->config->target, rp_text_count(copy->records).s, rp_text_duration(result->elapsed_ms).s,
                rp_text_count(copy->moved).s);
        if (copy->refused)
                fprintf(out, "refused by the policy and left out: %s records\n", rp_text_count(copy->refused).s);
}

static void print_placed(const struct rp_follow_result *result, FILE *out)
{
        const struct rp_follow_place_counts *place = place_counts(result);
        uint64_t misplaced = 0;

        for (size_t i = 0; i < CLASS_CNT; i++)
                misplaced += place->misplaced[classes[i]];
        fprintf(out, "%s: %s records read in %s, %s of them misplaced, %s copied to where they belong\n",
                result->config->source, rp_text_count(place->read).s, rp_text_duration(result->elapsed_ms).s,
                rp_text_count(misplaced).s, rp_text_count(place->copied).s);
        for (size_t i = 0; i < CLASS_CNT; i++)
                if (place->misplaced[classes[i]])
                        fprintf(out, "  %-9s %s\n", rp_class_name(classes[i]), rp_text_count(place->misplaced[classes[i]]).s);
        if (place->too_old)
                fprintf(out, "%s of the unknown ones are older than what was kept in memory (--look-back); repair judges them\n",
                        rp_text_count(place->too_old).s);
        if (place->refused)
                fprintf(out, "refused by the policy: %s records\n", rp_text_count(place->refused).s);
}

void rp_follow_print(const struct rp_follow_result *result, bool as_json, FILE *out)
{
        if (as_json) {
                print_json(result, out);
        } else if (!result->is_run) {
                print_plan(result, out);
        } else {
                (is_in_place(result) ? print_placed : print_copied)(result, out);
                fprintf(out, "%s transactions, %s rolled back; %s rebalances\n", rp_text_count(result->stats->transactions).s,
                        rp_text_count(result->stats->rolled_back).s, rp_text_count(result->status->rebalances).s);
        }
}
