/* repartition verify: proves that a topic is the image of another, or names what is not. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "clock.h"
#include "io/kafka_sink.h"
#include "io/kafka_source.h"
#include "job/prepare.h"
#include "job/verify.h"
#include "report/key_json.h"
#include "report/progress.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        const char *job;
        bool show_keys;
        int64_t memory_mb, timeout_ms;
};

static const struct rp_option options[] = {
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "the job that copied (default: keyroute.SRC.DST); SRC is compared up to what it has copied", NULL, 0, 0, NULL },
        { "show-keys", 0, RP_OPT_FLAG, offsetof(struct args, show_keys), NULL,
          "print the keys of the differences that are named", NULL, 0, 0, NULL },
        { "memory-mb", 0, RP_OPT_COUNT, offsetof(struct args, memory_mb), "MB",
          "for the order of keys and the naming of differences", "256", 1, 1000000, NULL },
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { SETTLE_TRIES = 20, STABLE_MS = 20000 };

/* What is compared: two topics, and the range of each, taken at one moment of the job. */
struct subject {
        struct rp_source *source, *target;
        struct rp_progress progress;
        struct rp_range *source_bounds, *target_bounds;
        const char *source_name, *target_name, *job;
};

static rp_err_t open_source(struct rp_source **source, const struct rp_client_config *client, const char *topic,
                            const char *group, const struct args *args, struct rp_range **bounds, struct rp_error *err)
{
        struct rp_kafka_source_config config = { .client = client, .topic = topic, .group = group, .headers = true,
                                                 .timeout_ms = (int)args->timeout_ms };
        rp_err_t rc = rp_kafka_source_new(source, &config, err);

        if (rc != RP_OK)
                return rc;
        *bounds = calloc((size_t)(*source)->partition_cnt, sizeof(**bounds));
        return *bounds ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static bool is_same_progress(const struct rp_progress *a, const struct rp_progress *b)
{
        for (int32_t p = 0; p < a->cnt; p++)
                if (a->marks[p].next != b->marks[p].next)
                        return false;
        return true;
}

/* The progress and the target's end belong together only if the job committed nothing in between. */
static rp_err_t settle(struct subject *subject, const struct rp_client_config *client, int timeout_ms, struct rp_error *err)
{
        rp_err_t rc = rp_kafka_source_await_stable(subject->target, client, STABLE_MS, err);

        if (rc == RP_OK)
                rc = subject->source->ops->bounds(subject->source, subject->source_bounds, err);
        if (rc == RP_OK)
                rc = rp_kafka_progress(subject->source, &subject->progress, timeout_ms, err);
        for (int i = 0; rc == RP_OK && i < SETTLE_TRIES; i++) {
                struct rp_progress again = { 0 };
                bool is_settled;

                rc = subject->target->ops->bounds(subject->target, subject->target_bounds, err);
                if (rc == RP_OK && !rp_progress_init(&again, subject->source->partition_cnt))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                if (rc == RP_OK)
                        rc = rp_kafka_progress(subject->source, &again, timeout_ms, err);
                if (rc != RP_OK) {
                        rp_progress_release(&again);
                        return rc;
                }
                is_settled = is_same_progress(&subject->progress, &again);
                rp_progress_release(&subject->progress);
                subject->progress = again;
                if (is_settled)
                        return RP_OK;
        }
        if (rc == RP_OK)
                rc = rp_fail(err, RP_ERR_RETRY, "the job \"%s\" is running: verify when it is done", subject->job);
        return rc;
}

static bool on_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        rp_progress_line_update(arg, done, total, records, rp_clock_ms());
        return !rp_interrupt_signal();
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void print_place(const char *topic, struct rp_place place)
{
        if (place.partition >= 0)
                printf("  %s partition %" PRId32 " offset %" PRId64, topic, place.partition, place.offset);
}

static void print_examples(const struct rp_verify_report *report, const struct subject *subject)
{
        for (size_t i = 0; i < report->example_cnt; i++) {
                const struct rp_verify_example *example = &report->examples[i];

                if (i == 0)
                        printf("\nthe first ones\n");
                printf("  %-15s", rp_difference_word(example->kind));
                print_place(subject->source_name, example->source);
                print_place(subject->target_name, example->target);
                if (example->wanted >= 0)
                        printf("  belongs in partition %" PRId32, example->wanted);
                if (example->has_key) {
                        fputs("  key ", stdout);
                        if (example->key)
                                rp_text_key(stdout, example->key, example->key_len, 80);
                        else
                                fputs("none", stdout);
                }
                fputc('\n', stdout);
        }
}

static void print_side(const char *label, const char *topic, const struct rp_verify_side *side)
{
        char digest[RP_DIGEST_TEXT_SIZE];

        rp_digest_print(side->content, digest);
        printf("%-8s %s  %s records, %s  content %s\n", label, topic, rp_text_count(side->records).s,
               rp_text_bytes(side->bytes).s, digest);
}

static void print_text(const struct rp_verify_report *report, const struct subject *subject)
{
        print_side("source", subject->source_name, &report->source);
        print_side("target", subject->target_name, &report->target);
        if (report->is_bounded_by_progress)
                printf("         compared up to what job \"%s\" has copied\n", subject->job);
        printf("order    of %s keys compared", rp_text_count(report->keys_compared).s);
        if (report->keys_share < 1)
                printf(", %s of all: more would need more than --memory-mb", rp_text_share(report->keys_share).s);
        printf(", %s differ\n\n", rp_text_count(report->keys_differing).s);
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                printf("%-15s %s%s\n", rp_difference_word(kind),
                       report->parts_unnamed && kind != RP_MISPARTITIONED ? "at least " : "",
                       rp_text_count(report->counts[kind]).s);
        print_examples(report, subject);
        fputc('\n', stdout);
        if (report->parts_unnamed)
                printf("%" PRIu64 " of %" PRIu64 " differing parts were too large to be named: raise --memory-mb\n",
                       report->parts_unnamed, report->parts_differing);
        if (report->passes_are_forgotten)
                printf("the job ran so often that the ends of its oldest passes are forgotten: keys that live in several\n"
                       "source partitions may be called out-of-order although they were copied in order\n");
        if (report->target.deleted && !report->is_equal)
                printf("%s: %s offsets lie before its start: retention or DeleteRecords took records from it\n",
                       subject->target_name, rp_text_count(report->target.deleted).s);
        puts(report->is_equal ? "equal: the same records, every key's in the same order, every record in its place"
                              : "the topics differ");
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void print_json_text(const char *text)
{
        rp_print_json_string(stdout, text, strlen(text));
}

static void print_json_side(const char *name, const char *topic, const struct rp_source *source,
                            const struct rp_verify_side *side)
{
        char digest[RP_DIGEST_TEXT_SIZE];

        rp_digest_print(side->content, digest);
        printf("  \"%s\": {\"topic\": ", name);
        print_json_text(topic);
        printf(", \"partitions\": %" PRId32 ", \"records\": %" PRIu64 ", \"keyless\": %" PRIu64 ", \"bytes\": %" PRIu64
               ", \"content_digest\": \"%s\"},\n",
               source->partition_cnt, side->records, side->keyless, side->bytes, digest);
}

static void print_json_place(const char *name, struct rp_place place)
{
        if (place.partition < 0)
                printf(", \"%s\": null", name);
        else
                printf(", \"%s\": {\"partition\": %" PRId32 ", \"offset\": %" PRId64 "}", name, place.partition, place.offset);
}

static void print_json(const struct rp_verify_report *report, const struct subject *subject)
{
        printf("{\n  \"command\": \"verify\",\n  \"equal\": %s,\n", report->is_equal ? "true" : "false");
        print_json_side("source", subject->source_name, subject->source, &report->source);
        print_json_side("target", subject->target_name, subject->target, &report->target);
        printf("  \"job\": ");
        if (report->is_bounded_by_progress)
                print_json_text(subject->job);
        else
                fputs("null", stdout);
        printf(",\n  \"keys_compared\": %" PRIu64 ",\n  \"keys_share\": %.6f,\n  \"keys_differing\": %" PRIu64 ",\n",
               report->keys_compared, report->keys_share, report->keys_differing);
        printf("  \"counts_are_exact\": %s,\n  \"differences\": {", report->parts_unnamed ? "false" : "true");
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                printf("%s\"%s\": %" PRIu64, kind ? ", " : "", rp_difference_word(kind), report->counts[kind]);
        printf("},\n  \"examples\": [");
        for (size_t i = 0; i < report->example_cnt; i++) {
                const struct rp_verify_example *example = &report->examples[i];

                printf("%s\n    {\"kind\": \"%s\"", i ? "," : "", rp_difference_word(example->kind));
                print_json_place("source", example->source);
                print_json_place("target", example->target);
                if (example->wanted >= 0)
                        printf(", \"belongs_in\": %" PRId32, example->wanted);
                if (example->has_key) {
                        fputs(", ", stdout);
                        if (example->key)
                                rp_print_json_key(stdout, example->key, example->key_len);
                        else
                                fputs("\"key\": null", stdout);
                }
                fputc('}', stdout);
        }
        printf("%s]\n}\n", report->example_cnt ? "\n  " : "");
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static int compare(const struct args *args, struct subject *subject, const kr_rule_t *rule)
{
        struct rp_progress_line line;
        struct rp_verify_report report;
        struct rp_error err;
        struct rp_verify verify = {
                .source = subject->source, .target = subject->target, .rule = rule, .progress = &subject->progress,
                .source_bounds = subject->source_bounds, .target_bounds = subject->target_bounds,
                .memory_bytes = (size_t)args->memory_mb << 20, .shows_keys = args->show_keys, .tick = on_tick, .arg = &line,
        };
        int code;
        rp_err_t rc;

        rp_progress_line_start(&line, stderr, rp_wants_progress(&args->common), "verify", rp_clock_ms());
        rc = rp_verify_run(&verify, &report, &err);
        rp_progress_line_end(&line);
        if (rc != RP_OK) {
                code = rp_die("verify", &err);
        } else if (report.is_stopped) {
                code = 128 + rp_interrupt_signal();
        } else {
                if (rp_is_json(&args->common))
                        print_json(&report, subject);
                else
                        print_text(&report, subject);
                code = report.is_equal ? RP_EXIT_CLEAN : RP_EXIT_DIFFERENCES;
        }
        rp_verify_report_release(&report);
        return code;
}

static int open_and_compare(const struct args *args, struct subject *subject, const struct rp_client_config *client,
                            const kr_rule_t *rule)
{
        struct rp_error err;
        int32_t pin = kr_rule_partitions(rule);
        int code;
        rp_err_t rc = open_source(&subject->source, client, subject->source_name, subject->job, args,
                                  &subject->source_bounds, &err);

        if (rc == RP_OK)
                rc = open_source(&subject->target, client, subject->target_name, NULL, args, &subject->target_bounds, &err);
        if (rc == RP_OK && pin && pin != subject->target->partition_cnt)
                rc = rp_fail(&err, RP_ERR_USAGE, "the policy is made for %" PRId32 " partitions, topic \"%s\" has %" PRId32, pin,
                             subject->target_name, subject->target->partition_cnt);
        if (rc == RP_OK && !rp_progress_init(&subject->progress, subject->source->partition_cnt))
                rc = rp_fail(&err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = settle(subject, client, (int)args->timeout_ms, &err);
        code = rc == RP_OK ? compare(args, subject, rule) : rp_die("verify", &err);
        rp_progress_release(&subject->progress);
        free(subject->source_bounds);
        free(subject->target_bounds);
        if (subject->source)
                subject->source->ops->free(subject->source);
        if (subject->target)
                subject->target->ops->free(subject->target);
        return code;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 };
        char job[600];
        struct subject subject = { .source_name = operands[0], .target_name = operands[1],
                                   .job = args->job ? args->job : job };
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        const kr_rule_t *rule = NULL;
        int code;

        (void)operand_cnt;
        if (!policy)
                return rp_die("verify", &err);
        rp_job_default_name(job, sizeof(job), operands[0], operands[1]);
        if (!strcmp(operands[0], operands[1])) {
                rp_fail(&err, RP_ERR_USAGE, "source and target are both \"%s\": a topic proves nothing about itself",
                        operands[0]);
                kr_policy_free(policy);
                return rp_die("verify", &err);
        }
        rp_interrupt_watch(RP_GRACE_READING_S);
        rule = kr_policy_rule(policy, operands[1]);
        if (!rule)
                rule = kr_policy_rule(policy, operands[0]);
        if (!rule) {
                rp_fail(&err, RP_ERR_USAGE, "%s: the policy names neither \"%s\" nor \"%s\"", args->policy.policy_file,
                        operands[1], operands[0]);
                code = rp_die("verify", &err);
        } else if (rp_client_config_read(&client, args->client.config_file, args->client.properties.items,
                                         args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK) {
                code = rp_die("verify", &err);
        } else {
                code = open_and_compare(args, &subject, &client, rule);
        }
        rp_client_config_release(&client);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_verify = {
        .name = "verify",
        .operands = "SRC DST",
        .summary = "Proves that a topic is the image of another, or names the differences",
        .description =
                "Reads both topics once, up to fixed ends, and compares a digest of all content (key, value, headers,\n"
                "timestamp, byte for byte) and the order of each key's records, and checks that every keyed record of DST\n"
                "lies where the policy puts it.\n\n"
                "Where something differs, the part that does is read again and each difference gets one of six names:\n"
                "missing, duplicate, corrupt, out-of-order, mispartitioned, unexpected. The exit code is 1 then.\n\n"
                "After a rewrite, SRC is compared up to what the job has copied; without a job's progress, up to its end.",
        .examples = "  repartition verify orders orders.v2 -b localhost:9092\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = 2,
        .run = run,
};
