/* repartition audit: what lies where in a live topic, and who put it there. */
#include "cli/command.h"
#include "cli/partition_list.h"
#include "clock.h"
#include "io/kafka_source.h"
#include "job/audit.h"
#include "job/repair.h"
#include "report/audit.h"
#include "report/progress.h"
#include "report/text.h"
#include "topic_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        struct rp_list partition;
        const char *partitions;
        int64_t sample_keys;
        int64_t timeout_ms, threads, max_memory;
        bool show_keys, classes;
};

static const struct rp_option options[] = {
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        { "partition", 0, RP_OPT_LIST, offsetof(struct args, partition), "N",
          "read only this partition; may be repeated", NULL, 0, 0, NULL },
        { "partitions", 0, RP_OPT_TEXT, offsetof(struct args, partitions), "LIST",
          "read only these, such as 0-99,120: a part, whose JSON repartition merge joins", NULL, 0, 0, NULL },
        { "threads", 0, RP_OPT_COUNT, offsetof(struct args, threads), "N",
          "read by so many threads, each some of the partitions; 5 MB each", "1", 1, RP_AUDIT_THREADS_MAX, NULL },
        RP_TIMEOUT_OPTION(struct args),
        { "classes", 0, RP_OPT_FLAG, offsetof(struct args, classes), NULL,
          "tell which misplaced records could be copied in place (repair): reads the topic twice more", NULL, 0, 0, NULL },
        { "max-memory", 0, RP_OPT_SIZE, offsetof(struct args, max_memory), "BYTES",
          "for --classes, 160 bytes a misplaced record; with less the topic is read several times", "256Mi", 1 << 20,
          INT64_C(1) << 40, NULL },
        RP_AUDIT_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* One topic's audit from connecting to printing. */
struct session {
        const struct args *args;
        const char *topic;
        const struct rp_client_config *config;
        const kr_policy_t *policy;
        struct rp_source *source;
        struct rp_audit audit;
        struct rp_coverage *coverage;
        struct rp_repair_report classes;
        struct rp_progress_line line;
};

static void show_progress(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        struct session *session = arg;

        rp_progress_line_update(&session->line, done, total, records, rp_clock_ms());
}

/* For one of several threads, which reads its share of the partitions. */
static rp_err_t open_more(void *arg, struct rp_source **source, struct rp_error *err)
{
        const struct session *session = arg;
        int32_t share = session->source->partition_cnt / (int32_t)session->args->threads;
        struct rp_kafka_source_config config = { .client = session->config,
                                                 .topic = session->topic,
                                                 .timeout_ms = (int)session->args->timeout_ms,
                                                 .partitions_at_once = share + 1 };

        return rp_kafka_source_new(source, &config, err);
}

static rp_err_t choose_partitions(const struct session *session, struct rp_error *err)
{
        const struct rp_list *list = &session->args->partition;
        int32_t cnt = session->source->partition_cnt;
        bool *chosen = calloc((size_t)cnt, sizeof(*chosen));
        rp_err_t rc = chosen ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (size_t i = 0; rc == RP_OK && i < list->cnt; i++)
                rc = rp_partition_list_parse("--partition", list->items[i], chosen, cnt, err);
        if (rc == RP_OK && session->args->partitions)
                rc = rp_partition_list_parse("--partitions", session->args->partitions, chosen, cnt, err);
        for (int32_t p = 0; rc == RP_OK && p < cnt; p++)
                session->coverage[p].skipped = (list->cnt || session->args->partitions) && !chosen[p];
        free(chosen);
        return rc;
}

static rp_err_t prepare(struct session *session, struct rp_error *err)
{
        const struct args *args = session->args;
        const kr_rule_t *rule = rp_rule_from_args(&args->policy, session->policy, session->topic, err);
        struct rp_kafka_source_config config = { .client = session->config,
                                                 .topic = session->topic,
                                                 .timeout_ms = (int)args->timeout_ms };
        int32_t pinned;

        if (!rule || rp_kafka_source_new(&session->source, &config, err) != RP_OK)
                return err->code;
        pinned = kr_rule_partitions(rule);
        if (pinned && pinned != session->source->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE,
                               "topic \"%.100s\" has %" PRId32 " partitions, %.200s is made for %" PRId32
                               ": nothing was judged", session->topic, session->source->partition_cnt,
                               args->policy.policy_file, pinned);
        session->coverage = calloc((size_t)session->source->partition_cnt, sizeof(*session->coverage));
        if (!session->coverage)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (choose_partitions(session, err) != RP_OK)
                return err->code;
        return rp_audit_init(&session->audit, rule, session->source->partition_cnt, (size_t)args->sample_keys, err);
}

static int report(struct session *session, int64_t as_of_ms, struct rp_error *err)
{
        const struct args *args = session->args;
        struct rp_findings findings;
        char *client_args = rp_client_args_text(&args->client);
        struct rp_audit_report report = { .name = session->topic,
                                          .is_topic = true,
                                          .as_of_ms = as_of_ms,
                                          .policy_file = args->policy.policy_file,
                                          .hash = args->policy.hash,
                                          .client_args = client_args,
                                          .show_keys = args->show_keys,
                                          .part_sample_keys = args->partitions ? (size_t)args->sample_keys : 0,
                                          .audit = &session->audit,
                                          .findings = &findings,
                                          .coverage = session->coverage,
                                          .classes = session->classes.counts.ranges ? &session->classes.counts : NULL };
        int rc;

        if (rp_audit_conclude(&session->audit, &findings, err) == RP_OK) {
                rc = rp_audit_report_print(&report, rp_is_json(&args->common), stdout);
                rp_findings_release(&findings);
        } else {
                rc = rp_die("audit", err);
        }
        free(client_args);
        return rc;
}

static bool show_classes_progress(void *arg, const struct rp_repair_report *report)
{
        struct session *session = arg;

        rp_progress_line_update(&session->line, report->done, report->total, report->seen, rp_clock_ms());
        return true;
}

/* Which misplaced records could be copied in place; judged by all partitions, whatever was audited. */
static rp_err_t judge_classes(struct session *session, struct rp_error *err)
{
        const struct rp_repair_job job = {
                .source = session->source,
                .config = { .rule = session->audit.rule, .memory_bytes = (size_t)session->args->max_memory,
                            .cutoff_ms = INT64_MIN, .recent_ms = INT64_MAX },
                .tick = show_classes_progress, .arg = session,
        };

        session->line.label = "classes";
        return rp_repair_run(&job, &session->classes, err);
}

static int audit_topic(const struct args *args, const struct rp_client_config *config, const kr_policy_t *policy,
                       const char *topic)
{
        struct session session = { .args = args, .topic = topic, .config = config, .policy = policy };
        struct rp_audit_job job = { .thread_cnt = (int)args->threads, .open = open_more, .tick = show_progress,
                                    .arg = &session };
        char label[300];
        struct rp_error err;
        int64_t as_of_ms = rp_wall_clock_ms();
        int rc;

        if (prepare(&session, &err) != RP_OK) {
                rc = rp_die("audit", &err);
                goto out;
        }
        snprintf(label, sizeof(label), "audit %s", topic);
        rp_progress_line_start(&session.line, stderr, rp_wants_progress(&args->common), label, rp_clock_ms());
        job.source = session.source;
        job.audit = &session.audit;
        job.coverage = session.coverage;
        if (rp_audit_run(&job, &err) == RP_OK && (!args->classes || judge_classes(&session, &err) == RP_OK)) {
                rp_progress_line_end(&session.line);
                rc = report(&session, as_of_ms, &err);
        } else {
                rp_progress_line_end(&session.line);
                rc = rp_die("audit", &err);
                /* What was read is true all the same, and the report says what is missing. */
                if (rc == RP_EXIT_INCOMPLETE && session.audit.records)
                        report(&session, as_of_ms, &err);
        }
out:
        if (session.source)
                session.source->ops->free(session.source);
        rp_audit_release(&session.audit);
        free(session.coverage);
        return rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct rp_client_config config;
        struct rp_error err;
        kr_policy_t *policy;
        int worst = RP_EXIT_CLEAN;

        if (rp_topic_names_check((const char *const *)operands, (size_t)operand_cnt, &err) != RP_OK ||
            !(policy = rp_policy_from_args(&args->policy, &err)))
                return rp_die("audit", &err);
        if (args->partitions && (operand_cnt > 1 || args->partition.cnt || args->classes)) {
                rp_fail(&err, RP_ERR_USAGE, "--partitions makes a part of one topic: give one topic, no --partition and no "
                        "--classes (which have to see the partitions where keys belong)");
                kr_policy_free(policy);
                return rp_die("audit", &err);
        }
        if (rp_client_config_read(&config, args->client.config_file, args->client.properties.items,
                                  args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK) {
                kr_policy_free(policy);
                return rp_die("audit", &err);
        }
        for (int i = 0; i < operand_cnt; i++) {
                int rc;

                if (i && !rp_is_json(&args->common))
                        putchar('\n');
                rc = audit_topic(args, &config, policy, operands[i]);
                worst = rc > worst ? rc : worst;
        }
        rp_client_config_release(&config);
        kr_policy_free(policy);
        return worst;
}

const struct rp_command rp_cmd_audit = {
        .name = "audit",
        .operands = "TOPIC...",
        .summary = "Finds misplaced records in a topic, and who misplaced them",
        .description =
                "Reads a topic from its low watermark to the last stable offset that it has at the start, as\n"
                "read_committed consumers do, and reports: how many records lie in another partition than the judging\n"
                "rule gives their key; since when, and where; which clients placed them, with shares, and which\n"
                "configuration line mends that; how evenly records and keys are spread. Nothing is written.\n\n"
                "That rule is Java's (murmur2) unless --hash or --policy says otherwise. Records without a key are\n"
                "never misplaced; the empty key is a key.\n\n"
                "Counts of records are exact. Counts of keys are exact up to --sample-keys of them, and estimates with\n"
                "a stated error beyond. Keys are not shown unless --show-keys asks for it.\n\n"
                "--classes judges each misplaced record as repair does: safe, stale, split, unknown or copied.\n\n"
                "With --output json one object a line, one a topic; docs/explain.md describes its fields.\n\n"
                "A topic too large for one machine is read in parts: --partitions on each machine, with --output json,\n"
                "and repartition merge joins what they found. A part's JSON holds the sampled keys.",
        .examples = "  repartition audit orders -b localhost:9092\n"
                    "  repartition audit orders clicks -F cluster.properties --policy keyroute.json\n"
                    "  repartition audit orders -b localhost:9092 --output json | jq .verdict\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = -1,
        .run = run,
};
