/* repartition verify: proves that a topic is the image of another, or names what is not. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/partition_list.h"
#include "cli/source_names.h"
#include "cli/verify_print.h"
#include "clock.h"
#include "decide/job_name.h"
#include "job/verify_topics.h"
#include "report/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        const char *job, *jobs_topic, *mode, *partitions, *state;
        bool show_keys;
        int64_t max_memory, sample_keys, threads, timeout_ms;
};

static const char *const mode_choices[] = { "auto", "all", "latest", NULL };

static const struct rp_option options[] = {
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "the job that copied (default: keyroute.SRC.DST); SRC is compared up to what it has copied", NULL, 0,
          RP_JOB_NAME_MAX, NULL },
        { "mode", 0, RP_OPT_CHOICE, offsetof(struct args, mode), "MODE",
          "all: every record; latest: of each key the last one; auto: latest where a topic is compacted", "auto", 0, 0,
          mode_choices },
        { "show-keys", 0, RP_OPT_FLAG, offsetof(struct args, show_keys), NULL,
          "print the keys of the differences that are named", NULL, 0, 0, NULL },
        { "max-memory", 0, RP_OPT_SIZE, offsetof(struct args, max_memory), "SIZE",
          "for the order of keys and the naming of differences; what does not fit is read several times", "256MB", 1 << 20,
          INT64_C(1) << 40, NULL },
        { "sample-keys", 0, RP_OPT_COUNT, offsetof(struct args, sample_keys), "K",
          "compare the order of a sample of at most so many keys; without it, of all", NULL, 1, INT64_C(1000000000000), NULL },
        { "threads", 0, RP_OPT_COUNT, offsetof(struct args, threads), "N",
          "read so many partitions at the same time, each in a thread of its own", "1", 1, 256, NULL },
        { "partitions", 0, RP_OPT_TEXT, offsetof(struct args, partitions), "LIST",
          "only these of both topics, such as 0-99,120: a part, for repartition merge", NULL, 0, 0, NULL },
        { "state", 0, RP_OPT_PATH, offsetof(struct args, state), "FILE",
          "keep here what is known, every 30 seconds and when stopped; the same command goes on from it", NULL, 0, 0, NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { STATE_INTERVAL_MS = 30000 };

static bool on_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        rp_progress_line_update(arg, done, total, records, rp_clock_ms());
        return !rp_interrupt_signal();
}

static rp_err_t choose_partitions(const struct args *args, const struct rp_verify_topics *topics, bool **chosen,
                                  struct rp_error *err)
{
        int32_t cnt = topics->source->partition_cnt, other = topics->target->partition_cnt;

        cnt = cnt > other ? cnt : other;
        *chosen = calloc((size_t)cnt, sizeof(**chosen));
        if (!*chosen)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rp_partition_list_parse("--partitions", args->partitions, *chosen, cnt, err);
}

static int report_on(const struct args *args, const struct rp_verify_topics *topics, const struct rp_verify_report *report)
{
        const struct rp_verify_document document = {
                .source = topics->config->source, .topics = topics->source->topics, .target = topics->config->target,
                .job = rp_verify_topics_job(topics),
                .rule = topics->config->rule, .mode_reason = topics->mode_reason, .max_memory = (size_t)args->max_memory,
                .is_part = args->partitions, .report = report,
        };

        return rp_verify_print(&document, rp_is_json(&args->common), stdout);
}

static int compare(const struct args *args, struct rp_verify_topics *topics, const bool *chosen)
{
        struct rp_progress_line line;
        struct rp_verify_report report;
        struct rp_error err;
        struct rp_verify verify = {
                .memory_bytes = (size_t)args->max_memory, .sample_keys = (uint64_t)args->sample_keys,
                .shows_keys = args->show_keys, .chosen = chosen, .state_file = args->state,
                .state_interval_ms = STATE_INTERVAL_MS, .tick = on_tick, .arg = &line,
        };
        int code;
        rp_err_t rc;

        rp_verify_topics_fill(topics, &verify);
        rp_progress_line_start(&line, stderr, rp_wants_progress(&args->common), "verify", rp_clock_ms());
        rc = rp_verify_run(&verify, &report, &err);
        rp_progress_line_end(&line);
        if (rc != RP_OK)
                code = rp_die("verify", &err);
        else if (report.is_stopped)
                code = 128 + rp_interrupt_signal();
        else
                code = report_on(args, topics, &report);
        rp_verify_report_release(&report);
        return code;
}

static int open_and_compare(const struct args *args, const struct rp_verify_topics_config *config)
{
        struct rp_verify_topics topics;
        struct rp_error err;
        bool *chosen = NULL;
        rp_err_t rc = rp_verify_topics_open(&topics, config, &err);
        int code;

        if (rc == RP_OK && args->partitions)
                rc = choose_partitions(args, &topics, &chosen, &err);
        code = rc == RP_OK ? compare(args, &topics, chosen) : rp_die("verify", &err);
        free(chosen);
        rp_verify_topics_release(&topics);
        return code;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 }, target_client = { 0 };
        char job[600], label[RP_TOPICS_LABEL_SIZE];
        const char *names[RP_TOPICS_MAX];
        struct rp_verify_topics_config config = {
                .source_client = &client, .target_client = &target_client, .sources = names, .source_cnt = operand_cnt - 1,
                .source = label, .target = operands[operand_cnt - 1],
                .job = args->job ? args->job : job, .jobs_topic = args->jobs_topic, .timeout_ms = (int)args->timeout_ms,
                .thread_cnt = (int)args->threads, .is_kept = args->state,
                .mode = strcmp(args->mode, "auto") ? args->mode : NULL,
        };
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        int code;

        if (!policy)
                return rp_die("verify", &err);
        if (rp_sources_name((const char *const *)operands, config.source_cnt, config.target,
                            rp_client_args_have_sides(&args->client), "a topic proves nothing about itself", names, label,
                            &err) != RP_OK ||
            rp_sources_rule(policy, args->policy.policy_file, names, config.source_cnt, config.target, &config.rule,
                            &err) != RP_OK) {
                kr_policy_free(policy);
                return rp_die("verify", &err);
        }
        rp_rewrite_default_name(job, sizeof(job), label, config.target);
        /* A state may hold as much as --max-memory allows, and takes a moment to be written. */
        rp_interrupt_watch(args->state ? RP_GRACE_WRITING_S : RP_GRACE_READING_S);
        if (args->partitions && config.source_cnt > 1) {
                rp_fail(&err, RP_ERR_USAGE, "--partitions goes with one source");
                code = rp_die("verify", &err);
        } else if (args->partitions && (args->sample_keys || !strcmp(args->mode, "latest"))) {
                rp_fail(&err, RP_ERR_USAGE, "--partitions goes with neither --sample-keys nor --mode latest: what parts hold "
                        "of them does not add up");
                code = rp_die("verify", &err);
        } else if (rp_client_config_read_sides(&client, &target_client, args->client.config_file,
                                               args->client.properties.items, args->client.properties.cnt,
                                               args->client.bootstrap, &err) != RP_OK) {
                code = rp_die("verify", &err);
        } else {
                code = open_and_compare(args, &config);
        }
        rp_client_config_release(&client);
        rp_client_config_release(&target_client);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_verify = {
        .name = "verify",
        .operands = "SRC... DST",
        .summary = "Proves that a topic is the image of another, or of several, or names the differences",
        .description =
                "Reads both topics, up to fixed ends, and compares a digest of all content (key, value, headers, timestamp,\n"
                "byte for byte) and the order of each key's records, and checks that every keyed record of DST lies where\n"
                "the policy puts it. Of compacted topics the last record of each key is compared (--mode).\n\n"
                "Where something differs, the part that does is read again and each difference gets one of six names:\n"
                "missing, duplicate, corrupt, out-of-order, mispartitioned, unexpected. The exit code is 1 then. What only\n"
                "was on its way, or was changed by retention or compaction between the two readings, is told as such.\n\n"
                "After a rewrite, or behind a follow, SRC is compared up to what was copied; without a job's progress, up to\n"
                "its end.\n\n"
                "A million keys take at most 38 MB. Where --max-memory is less than that, both topics are read several\n"
                "times, and the result is as exact. --threads reads partitions side by side; topics in which keys live in\n"
                "several partitions are then read once more, in one merged stream. --partitions reads a part on this\n"
                "machine, and repartition merge joins the parts' JSON reports.\n\n"
                "Several sources are compared with what rewrite made of them together.\n\n"
                "Two clusters: -X source.NAME=VALUE and -X target.NAME=VALUE, as for rewrite.",
        .examples = "  repartition verify orders orders.v2 -b localhost:9092\n"
                    "  repartition verify orders orders.v2 -b localhost:9092 --threads 8 --state verify.state\n"
                    "  repartition verify orders orders.v2 -b localhost:9092 --partitions 0-99 --output json > part-1.json\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = RP_TOPICS_MAX + 1,
        .run = run,
};
