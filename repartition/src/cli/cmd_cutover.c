/* repartition cutover: moves consumer groups to a rewritten topic, or back to where a repaired one must be read again. */
#include "cli/command.h"
#include "cli/cutover_print.h"
#include "cli/file_text.h"
#include "cli/interrupt.h"
#include "cli/source_names.h"
#include "clock.h"
#include "decide/job_name.h"
#include "io/file.h"
#include "report/progress.h"
#include "report/text.h"
#include "topic_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        bool execute, reprocess, exact;
        const char *job, *jobs_topic, *rollback_file, *undo_file, *verified_file, *missing;
        int64_t timeout_ms;
};

static const char *const missing_choices[] = { "refuse", "earliest", NULL };

static const struct rp_option options[] = {
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL,
          "store the offsets; without it they are only printed", NULL, 0, 0, NULL },
        { "rollback", 0, RP_OPT_PATH, offsetof(struct args, rollback_file), "FILE",
          "where to write the way back before anything is stored; needed with --execute", NULL, 0, 0, NULL },
        { "undo", 0, RP_OPT_INPUT, offsetof(struct args, undo_file), "FILE",
          "take a cutover back, from the file that --rollback wrote", NULL, 0, 0, NULL },
        { "reprocess", 0, RP_OPT_FLAG, offsetof(struct args, reprocess), NULL,
          "for a topic that was repaired in place: from where groups must read it again", NULL, 0, 0, NULL },
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "the job that copied, a rewrite or a follow (default: keyroute.SRC.DST, and keyroute.follow.SRC.DST behind it)", NULL,
          0, RP_JOB_NAME_MAX, NULL },
        { "verified", 0, RP_OPT_INPUT, offsetof(struct args, verified_file), "FILE",
          "a report of verify (--output json) of these topics as they are now, instead of verifying", NULL, 0, 0, NULL },
        { "missing", 0, RP_OPT_CHOICE, offsetof(struct args, missing), "refuse|earliest",
          "partitions in which a group has no offset: refuse, or take them for unread", "refuse", 0, 0, missing_choices },
        { "exact", 0, RP_OPT_FLAG, offsetof(struct args, exact), NULL,
          "count what is seen again, also where more than 2,000,000 offsets must be read for it", NULL, 0, 0, NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static bool on_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        rp_progress_line_update(arg, done, total, records, rp_clock_ms());
        return !rp_interrupt_signal();
}

static void on_wait(void *arg, const char *what)
{
        rp_progress_line_clear(arg);
        fprintf(stderr, "repartition cutover: %s\n", what);
}

/* ---- the way back ------------------------------------------------------------------------------------------------------ */

/* A file that is there already must be about the same topics: what it says of a group is older, and therefore kept. */
static rp_err_t begin_rollback(struct rp_rollback *rollback, const char *path, const char *source,
                               const struct rp_topics *topics, const char *target, struct rp_error *err)
{
        size_t len;
        char *text = access(path, F_OK) == 0 ? rp_file_text(path, &len, err) : NULL;
        rp_err_t rc;

        if (access(path, F_OK) == 0 && !text)
                return err->code;
        if (!text)
                return rp_rollback_init(rollback, source, topics, target, rp_text_time(rp_wall_clock_ms()).s)
                               ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_rollback_parse(rollback, text, path, err);
        free(text);
        if (rc == RP_OK && (strcmp(rollback->source, source) || !rp_topics_equal(rp_rollback_topics(rollback), topics) ||
                            !rollback->target != !target ||
                            (target && strcmp(rollback->target, target))))
                rc = rp_fail(err, RP_ERR_USAGE, "%.300s: is the way back of another cutover (%.100s%s%.100s); name another file",
                             path, rollback->source, rollback->target ? " to " : "", rollback->target ? rollback->target : "");
        return rc;
}

static rp_err_t write_rollback(const struct rp_rollback *rollback, const char *path, struct rp_error *err)
{
        char *text = rp_rollback_print(rollback);
        rp_err_t rc = text ? rp_file_replace(path, text, strlen(text), NULL, NULL, err)
                           : rp_fail(err, RP_ERR_FATAL, "out of memory");

        free(text);
        return rc;
}

static int undo(const struct args *args, const struct rp_client_config *source, const struct rp_client_config *target)
{
        struct rp_rollback rollback = { 0 };
        struct rp_undo_row *rows = NULL;
        struct rp_error err;
        size_t len;
        char *text = rp_file_text(args->undo_file, &len, &err);
        rp_err_t rc = text ? rp_rollback_parse(&rollback, text, args->undo_file, &err) : err.code;

        free(text);
        if (rc == RP_OK && !(rows = calloc(rollback.group_cnt + 1, sizeof(*rows))))
                rc = rp_fail(&err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = rp_cutover_undo(&rollback, source, target, args->execute, (int)args->timeout_ms, rows, &err);
        if (rc == RP_OK)
                rp_undo_print(&rollback, rows, args->execute, rp_is_json(&args->common), stdout);
        free(rows);
        rp_rollback_release(&rollback);
        return rc == RP_OK ? RP_EXIT_CLEAN : rp_die("cutover", &err);
}

/* ---- into a new topic ---------------------------------------------------------------------------------------------------- */

static int cut_over(const struct args *args, const struct rp_cutover_config *config, struct rp_progress_line *line)
{
        struct rp_cutover_plan plan;
        struct rp_cutover_result result = { .config = config, .plan = &plan };
        struct rp_rollback rollback = { 0 };
        struct rp_error err;
        bool is_clean;
        int code = RP_EXIT_CLEAN;
        rp_err_t rc;

        rp_progress_line_start(line, stderr, rp_wants_progress(&args->common), "cutover", rp_clock_ms());
        rc = rp_cutover_prepare(&plan, config, &err);
        rp_progress_line_end(line);
        if (rc != RP_OK || plan.is_stopped) {
                code = rc != RP_OK ? rp_die("cutover", &err) : 128 + rp_interrupt_signal();
                rp_cutover_release(&plan);
                return code;
        }
        is_clean = plan.is_verified && !plan.refusal_cnt;
        if (args->execute && is_clean) {
                rc = begin_rollback(&rollback, args->rollback_file, config->source, plan.topics, config->target, &err);
                if (rc == RP_OK)
                        rc = rp_cutover_record(&plan, &rollback, &err);
                if (rc == RP_OK)
                        rc = write_rollback(&rollback, args->rollback_file, &err);
                if (rc == RP_OK) {
                        result.rollback_file = args->rollback_file;
                        rc = rp_cutover_execute(&plan, &result.done, &err);
                        result.is_executed = rc == RP_OK;
                }
                rp_rollback_release(&rollback);
                result.is_broken = rc != RP_OK;
        }
        if (rp_is_json(&args->common))
                rp_cutover_print_json(&result, stdout);
        else
                rp_cutover_print_text(&result, stdout);
        if (rc != RP_OK)
                code = rp_die("cutover", &err);
        else if (!is_clean)
                code = plan.is_verified ? RP_EXIT_USAGE : RP_EXIT_DIFFERENCES;
        rp_cutover_release(&plan);
        return code;
}

/* ---- after a repair in place ------------------------------------------------------------------------------------------------ */

static int reprocess(const struct args *args, const struct rp_reprocess_config *config, struct rp_progress_line *line)
{
        struct rp_reprocess_plan plan;
        struct rp_cutover_result result = { 0 };
        struct rp_rollback rollback = { 0 };
        struct rp_error err;
        int code = RP_EXIT_CLEAN;
        rp_err_t rc;

        rp_progress_line_start(line, stderr, rp_wants_progress(&args->common), "cutover", rp_clock_ms());
        rc = rp_reprocess_prepare(&plan, config, &err);
        rp_progress_line_end(line);
        if (rc != RP_OK || plan.is_stopped) {
                code = rc != RP_OK ? rp_die("cutover", &err) : 128 + rp_interrupt_signal();
                rp_reprocess_plan_release(&plan);
                return code;
        }
        if (args->execute && !plan.refusal_cnt) {
                rc = begin_rollback(&rollback, args->rollback_file, config->topic, NULL, NULL, &err);
                if (rc == RP_OK)
                        rc = rp_reprocess_record(&plan, &rollback, &err);
                if (rc == RP_OK)
                        rc = write_rollback(&rollback, args->rollback_file, &err);
                if (rc == RP_OK) {
                        result.rollback_file = args->rollback_file;
                        rc = rp_reprocess_execute(&plan, &result.done, &err);
                        result.is_executed = rc == RP_OK;
                }
                rp_rollback_release(&rollback);
                result.is_broken = rc != RP_OK;
        }
        if (rp_is_json(&args->common))
                rp_reprocess_print_json(&plan, &result, stdout);
        else
                rp_reprocess_print_text(&plan, &result, stdout);
        if (rc != RP_OK)
                code = rp_die("cutover", &err);
        else if (plan.refusal_cnt)
                code = RP_EXIT_USAGE;
        rp_reprocess_plan_release(&plan);
        return code;
}

/* ---- running ------------------------------------------------------------------------------------------------------------------ */

static rp_err_t check_usage(const struct args *args, int cnt, struct rp_error *err)
{
        if (args->undo_file && (cnt || args->reprocess || args->rollback_file))
                return rp_fail(err, RP_ERR_USAGE, "--undo FILE names groups and topics itself: no operands, no --reprocess, no "
                               "--rollback beside it");
        if (args->undo_file)
                return RP_OK;
        if (cnt < (args->reprocess ? 1 : 3))
                return rp_fail(err, RP_ERR_USAGE, "expected %s, got %d operand%s: repartition cutover --help tells more",
                               args->reprocess ? "[GROUP...] TOPIC" : "GROUP... SRC DST", cnt, cnt == 1 ? "" : "s");
        if (args->execute && !args->rollback_file)
                return rp_fail(err, RP_ERR_USAGE, "--execute needs --rollback FILE, for the way back");
        if (args->reprocess && args->execute && cnt < 2)
                return rp_fail(err, RP_ERR_USAGE, "--execute needs a group: GROUP... TOPIC");
        return RP_OK;
}

static int run_with_rule(const struct args *args, char **operands, int cnt, const kr_policy_t *policy,
                         const struct rp_client_config *source, const struct rp_client_config *target)
{
        const char *last = operands[cnt - 1], *parts[RP_TOPICS_MAX], *names[RP_TOPICS_MAX];
        int32_t source_cnt = args->reprocess ? 1 : rp_sources_split(operands[cnt - 2], parts);
        const kr_rule_t *rule;
        struct rp_progress_line line;
        struct rp_error err;
        char job[600], label[RP_TOPICS_LABEL_SIZE];
        int code;
        rp_err_t rc = RP_OK;

        if (source_cnt > RP_TOPICS_MAX)
                rc = rp_fail(&err, RP_ERR_USAGE, "more than %d sources", RP_TOPICS_MAX);
        else if (args->reprocess)
                rc = rp_topic_name_check(names[0] = last, &err);
        else
                rc = rp_sources_name(parts, source_cnt, last, rp_client_args_have_sides(&args->client), "after a repair in place "
                                     "there is --reprocess", names, label, &err);
        if (rc == RP_OK)
                rc = rp_sources_rule(policy, args->policy.policy_file, names, source_cnt, last, &rule, &err);
        if (rc != RP_OK)
                return rp_die("cutover", &err);
        if (args->reprocess) {
                struct rp_reprocess_config config = {
                        .client = source, .topic = last, .groups = (const char *const *)operands, .group_cnt = (size_t)cnt - 1,
                        .rule = rule, .timeout_ms = (int)args->timeout_ms, .tick = on_tick, .arg = &line,
                };

                code = reprocess(args, &config, &line);
        } else {
                size_t len;
                struct rp_cutover_config config = {
                        .source_client = source, .target_client = target, .sources = names, .source_cnt = source_cnt,
                        .source = label, .target = last,
                        .job = args->job ? args->job : job, .jobs_topic = args->jobs_topic,
                        .groups = (const char *const *)operands, .group_cnt = (size_t)cnt - 2, .rule = rule,
                        .verified_name = args->verified_file, .assumes_earliest = !strcmp(args->missing, "earliest"),
                        .is_exact = args->exact, .timeout_ms = (int)args->timeout_ms, .memory_bytes = RP_VERIFY_MEMORY,
                        .tick = on_tick, .waits = args->common.quiet ? NULL : on_wait, .arg = &line,
                };

                rp_rewrite_default_name(job, sizeof(job), label, last);
                if (args->verified_file && !(config.verified = rp_file_text(args->verified_file, &len, &err)))
                        return rp_die("cutover", &err);
                code = cut_over(args, &config, &line);
                free((char *)config.verified);
        }
        return code;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_client_config source = { 0 }, target = { 0 };
        struct rp_error err;
        kr_policy_t *policy;
        int code;

        if (check_usage(args, operand_cnt, &err) != RP_OK)
                return rp_die("cutover", &err);
        policy = rp_policy_from_args(&args->policy, &err);
        if (!policy)
                return rp_die("cutover", &err);
        rp_interrupt_watch(RP_GRACE_READING_S);
        if (rp_client_config_read_sides(&source, &target, args->client.config_file, args->client.properties.items,
                                        args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK)
                code = rp_die("cutover", &err);
        else if (args->undo_file)
                code = undo(args, &source, &target);
        else
                code = run_with_rule(args, operands, operand_cnt, policy, &source, &target);
        rp_client_config_release(&source);
        rp_client_config_release(&target);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_cutover = {
        .name = "cutover",
        .operands = "GROUP... SRC DST",
        .summary = "Moves consumer groups to a rewritten or followed topic, so that they skip nothing",
        .description =
                "From what rewrite and follow have left in the topic of jobs, it computes for each group where in DST it goes\n"
                "on so that it skips nothing, and counts the records that it will see again. Without --execute it only prints\n"
                "that.\n\n"
                "It refuses while a group has members, where a group has read more than was copied or has no offsets, and\n"
                "while DST is not the image of what was copied of SRC: it verifies that first, unless --verified FILE gives\n"
                "the report of \"repartition verify --output json\" about the topics as they are now (exit code 1: not equal).\n\n"
                "Of several sources that rewrite made one topic of, SRC is all of them with a plus between, as in\n"
                "orders.eu+orders.us.\n\n"
                "--rollback FILE is written before any offset is stored; --undo FILE takes the cutover back. Offsets in SRC\n"
                "are left as they are.\n\n"
                "With --reprocess it takes GROUP... TOPIC, a topic that was repaired in place: the offset in each partition\n"
                "from which consumers must read again, before the first misplaced record, and puts groups that are past it\n"
                "back there.",
        .examples = "  repartition cutover billing mail orders orders.v2 -b localhost:9092\n"
                    "  repartition cutover billing mail orders orders.v2 -b localhost:9092 --execute --rollback back.json\n"
                    "  repartition cutover --undo back.json -b localhost:9092 --execute\n"
                    "  repartition cutover --reprocess billing orders -b localhost:9092\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 0,
        .operand_max = -1,
        .run = run,
};
