#include "cli/rewrite_print.h"

#include "report/findings.h"
#include "report/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void print_command(const struct rp_rewrite_result *result, const char *command, const char *rest, FILE *out)
{
        fprintf(out, "repartition %s ", command);
        for (int32_t s = 0; s < result->config->source_cnt; s++) {
                rp_text_shell_word(out, result->config->sources[s]);
                fputc(' ', out);
        }
        rp_text_shell_word(out, result->config->target);
        if (result->policy_option) {
                fprintf(out, " %s ", result->policy_option);
                rp_text_shell_word(out, result->policy_value);
        }
        if (result->job_option) {
                fputs(" --job ", out);
                rp_text_shell_word(out, result->job_option);
        }
        fprintf(out, "%s%s%s\n", *result->client_args ? " " : "", result->client_args, rest);
}

/* With what a target is created besides; the options are no longer wanted once it exists. */
static void print_rewrite_command(const struct rp_rewrite_result *result, bool creates, FILE *out)
{
        char *rest = NULL;
        size_t len = 0;
        FILE *text = open_memstream(&rest, &len);

        if (!text)
                abort();
        fprintf(text, " --partitions %" PRId32, result->config->partition_cnt);
        if (!result->config->refuses_split_keys)
                fputs(" --order merge", text);
        if (result->workers > 1)
                fprintf(text, " --workers %d", result->workers);
        if (creates && result->replication_factor)
                fprintf(text, " --replication-factor %" PRId64, result->replication_factor);
        for (size_t i = 0; creates && i < result->config->setting_cnt; i++) {
                fputs(" --config ", text);
                rp_text_shell_word(text, result->config->settings[i]);
        }
        fprintf(text, "%s --execute", result->more_options);
        fclose(text);
        print_command(result, "rewrite", rest, out);
        free(rest);
}

static void print_heading(const struct rp_rewrite_result *result, FILE *out)
{
        fprintf(out, "%s → %s   %" PRId32 " → %" PRId32 " partitions   by %s, fingerprint %s\n\n", result->config->source,
                result->config->target, result->preparation->source->partition_cnt, result->config->partition_cnt,
                kr_rule_describe(result->config->rule), kr_rule_fingerprint(result->config->rule));
}

static void print_own_settings(const struct rp_settings *settings, FILE *out)
{
        for (size_t i = 0; i < settings->cnt; i++)
                if (settings->items[i].is_own)
                        fprintf(out, ", %s=%s", settings->items[i].name, settings->items[i].value);
}

/* Records that are left: exactly when all were looked at, else bounded by the offsets. */
static uint64_t records_left(const struct rp_preparation *preparation)
{
        return preparation->survey_is_exact ? preparation->survey.records : preparation->left;
}

static uint64_t bytes_left(const struct rp_preparation *preparation)
{
        const struct rp_survey *survey = &preparation->survey;

        if (!survey->records)
                return 0;
        return (uint64_t)((double)survey->bytes / (double)survey->records * (double)records_left(preparation));
}

void rp_rewrite_print_plan(const struct rp_rewrite_result *result, FILE *out)
{
        const struct rp_preparation *preparation = result->preparation;
        const struct rp_survey *survey = &preparation->survey;
        const struct rp_facts *facts = &preparation->facts;
        uint64_t keyed = survey->records - survey->keyless;
        char basis[128];

        if (preparation->survey_is_exact)
                snprintf(basis, sizeof(basis), "of the keyed records");
        else
                snprintf(basis, sizeof(basis), "of the keyed records in a sample of %s", rp_text_count(survey->records).s);
        print_heading(result, out);
        fprintf(out, "to copy     %s%s record%s, about %s%s\n", preparation->survey_is_exact ? "" : "at most ",
                rp_text_count(records_left(preparation)).s, records_left(preparation) == 1 ? "" : "s", rp_text_bytes(bytes_left(preparation)).s,
                facts->has_progress ? ", newer than what this job has copied before" : "");
        if (survey->rejected + survey->unresolved < keyed)
                fprintf(out, "moves       %s %s get another partition number\n", rp_text_percent(survey->moved, keyed).s,
                        basis);
        if (keyed && survey->misplaced_is_known)
                fprintf(out, "misplaced   %s lie in \"%s\" where the rule does not put them\n",
                        rp_text_percent(survey->misplaced, keyed).s, result->config->source);
        if (facts->target.exists)
                fprintf(out, "target      \"%s\" exists%s\n", result->config->target,
                        facts->target_has_records ? " and holds records" : " and is empty");
        else {
                fprintf(out, "target      \"%s\" will be created: %" PRId32 " partitions, replication factor %" PRId32,
                        result->config->target, result->config->partition_cnt, facts->target.replication_factor);
                print_own_settings(&preparation->target_settings, out);
                fputc('\n', out);
        }
        fprintf(out, "job         \"%s\" (its progress and its transactions go by this name)\n", result->config->job);
        rp_findings_print(&preparation->findings, out);
        fputc('\n', out);
        if (preparation->findings.refusal_cnt) {
                fputs("nothing was written, and --execute would not begin either: see what is refused above\n", out);
                return;
        }
        if (!records_left(preparation) && facts->has_progress) {
                fputs("nothing is new: --execute would write nothing\n", out);
                return;
        }
        fputs("nothing was written. To copy:\n  ", out);
        print_rewrite_command(result, !facts->target.exists, out);
}

void rp_rewrite_print_run(const struct rp_rewrite_result *result, FILE *out)
{
        const struct rp_rewrite_report *run = result->run;
        uint64_t keyed = run->records - run->keyless;

        print_heading(result, out);
        rp_findings_print(&result->preparation->findings, out);
        if (!run->records && run->is_resumed && !run->is_stopped && !result->is_failed) {
                fputs("nothing was new since the last run: nothing was written\n", out);
        } else {
                fprintf(out, "copied      %s records, %s in %s", rp_text_count(run->records).s,
                        rp_text_bytes(run->bytes).s, rp_text_duration(result->elapsed_ms).s);
                if (result->elapsed_ms > 0)
                        fprintf(out, " (%s a second)",
                                rp_text_count(run->records * 1000 / (uint64_t)result->elapsed_ms).s);
                if (run->is_resumed)
                        fputs(", taken up where the last run ended", out);
                fprintf(out, "\nmoved       %s records, %s of the keyed ones\n", rp_text_count(run->moved).s,
                        rp_text_percent(run->moved, keyed).s);
                if (run->misplaced_is_known)
                        fprintf(out, "mended      %s records lay where the rule does not put them\n",
                                rp_text_count(run->misplaced).s);
                if (run->keyless)
                        fprintf(out, "keyless     %s records\n", rp_text_count(run->keyless).s);
                if (run->unordered)
                        fprintf(out, "not by time %s record%s older than one copied before from the same partition, whose order was "
                                     "kept\n", rp_text_count(run->unordered).s,
                                run->unordered == 1 ? " is" : "s are");
                fprintf(out, "committed   %s transaction%s", rp_text_count(run->transactions).s,
                        run->transactions == 1 ? "" : "s");
                if (run->recoveries)
                        fprintf(out, "; %" PRIu64 " new starts, %" PRIu64 " rolled back and copied again, %" PRIu64
                                     " looked up after an uncertain outcome",
                                run->recoveries, run->rolled_back, run->uncertain);
                fputc('\n', out);
        }
        if (result->is_fenced) {
                fputs("\nnot finished by this run: another one has taken over\n", out);
        } else if (run->is_stopped || result->is_failed) {
                if (result->stopped_by && !strcmp(result->stopped_by, "max-duration"))
                        fprintf(out, "\nstopped by --max-duration, at most %s records left",
                                rp_text_count(run->total - run->done).s);
                fputs("\nnot finished; the progress is kept. To go on:\n  ", out);
                print_rewrite_command(result, false, out);
        } else {
                fputs("\nto prove it:  ", out);
                print_command(result, "verify", "", out);
        }
}

/* ---- JSON ----------------------------------------------------------------------------------------------------------- */

static json_t *number(uint64_t value)
{
        return json_integer((json_int_t)value);
}

static json_t *share(uint64_t part, uint64_t whole)
{
        return whole ? json_real((double)part / (double)whole) : json_null();
}

static json_t *time_or_null(int64_t ms)
{
        return ms < 0 ? json_null() : json_string(rp_text_time_ms(ms).s);
}

static json_t *plan_json(const struct rp_preparation *preparation)
{
        const struct rp_survey *survey = &preparation->survey;
        uint64_t keyed = survey->records - survey->keyless;
        json_t *plan = json_object();

        json_object_set_new(plan, "records_at_most", number(records_left(preparation)));
        json_object_set_new(plan, "bytes_about", number(bytes_left(preparation)));
        json_object_set_new(plan, "resumes", json_boolean(preparation->facts.has_progress));
        json_object_set_new(plan, "creates_target", json_boolean(!preparation->facts.target.exists));
        json_object_set_new(plan, "sampled", json_boolean(!preparation->survey_is_exact));
        json_object_set_new(plan, "records_seen", number(survey->records));
        json_object_set_new(plan, "keyless_seen", number(survey->keyless));
        json_object_set_new(plan, "moved_share", share(survey->moved, keyed));
        json_object_set_new(plan, "misplaced_share",
                            survey->misplaced_is_known ? share(survey->misplaced, keyed) : json_null());
        json_object_set_new(plan, "keys_seen", number(survey->keys));
        json_object_set_new(plan, "split_keys_seen", number(survey->split_keys));
        json_object_set_new(plan, "split_records", preparation->facts.refuses_split_keys ? number(survey->split_records)
                                                                                        : json_null());
        json_object_set_new(plan, "backward_share", share(survey->backward, survey->records - survey->timeless));
        json_object_set_new(plan, "step_back_ms", json_integer(survey->step_back_ms));
        json_object_set_new(plan, "largest_record_bytes", number(survey->largest_bytes));
        json_object_set_new(plan, "oldest", time_or_null(survey->oldest_ms));
        json_object_set_new(plan, "newest", time_or_null(survey->newest_ms));
        return plan;
}

static json_t *run_json(const struct rp_rewrite_result *result)
{
        const struct rp_rewrite_report *run = result->run;
        json_t *json = json_object();

        json_object_set_new(json, "finished", json_boolean(!run->is_stopped && !result->is_failed));
        json_object_set_new(json, "stopped_by", result->stopped_by ? json_string(result->stopped_by) : json_null());
        json_object_set_new(json, "left_at_most", number(run->total - run->done));
        json_object_set_new(json, "hidden", number(result->preparation->facts.hidden_offsets));
        json_object_set_new(json, "records", number(run->records));
        json_object_set_new(json, "bytes", number(run->bytes));
        json_object_set_new(json, "keyless", number(run->keyless));
        json_object_set_new(json, "moved", number(run->moved));
        json_object_set_new(json, "misplaced", run->misplaced_is_known ? number(run->misplaced) : json_null());
        json_object_set_new(json, "unordered", number(run->unordered));
        json_object_set_new(json, "resumed", json_boolean(run->is_resumed));
        json_object_set_new(json, "transactions_committed", number(run->transactions));
        json_object_set_new(json, "transactions_rolled_back", number(run->rolled_back));
        json_object_set_new(json, "transactions_uncertain", number(run->uncertain));
        json_object_set_new(json, "recoveries", number(run->recoveries));
        json_object_set_new(json, "elapsed_ms", json_integer(result->elapsed_ms));
        return json;
}

static json_t *topic_json(const char *name, int32_t partition_cnt)
{
        return json_pack("{s:s, s:i}", "topic", name, "partitions", (int)partition_cnt);
}

static json_t *sources_json(const struct rp_facts *facts)
{
        json_t *sources = json_array();

        for (int32_t s = 0; s < facts->source_cnt; s++)
                json_array_append_new(sources, topic_json(facts->sources[s].name, facts->sources[s].partition_cnt));
        return sources;
}

json_t *rp_rewrite_json(const struct rp_rewrite_result *result)
{
        const struct rp_prepare_config *config = result->config;
        json_t *root = json_object();

        json_object_set_new(root, "command", json_string("rewrite"));
        json_object_set_new(root, "source", topic_json(config->source, result->preparation->source->partition_cnt));
        json_object_set_new(root, "sources", sources_json(&result->preparation->facts));
        json_object_set_new(root, "target", topic_json(config->target, config->partition_cnt));
        json_object_set_new(root, "job", json_string(config->job));
        json_object_set_new(root, "policy", json_pack("{s:s, s:s}", "rule", kr_rule_describe(config->rule), "fingerprint",
                                                      kr_rule_fingerprint(config->rule)));
        json_object_set_new(root, "order", json_string(config->refuses_split_keys ? "refuse" : "merge"));
        json_object_set_new(root, "compression", result->compression ? json_string(result->compression) : json_null());
        json_object_set_new(root, "workers", json_integer(result->workers));
        json_object_set_new(root, "executed", json_boolean(result->run));
        json_object_set_new(root, "plan", plan_json(result->preparation));
        json_object_set_new(root, "findings", rp_findings_json(&result->preparation->findings));
        json_object_set_new(root, "result", result->run ? run_json(result) : json_null());
        return root;
}

void rp_rewrite_print_json(const struct rp_rewrite_result *result, FILE *out)
{
        json_t *root = rp_rewrite_json(result);

        json_dumpf(root, out, result->is_one_of_many ? JSON_COMPACT : JSON_INDENT(2));
        fputc('\n', out);
        json_decref(root);
}
