/* repartition plan: what it costs to give a live topic more partitions or other weights. Writes nothing to the cluster.
 */
#include "cli/command.h"
#include "cli/file_text.h"
#include "cli/interrupt.h"
#include "cli/plan_print.h"
#include "clock.h"
#include "io/file.h"
#include "io/source.h"
#include "job/plan.h"
#include "report/progress.h"
#include "topic_name.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        int64_t partitions, rate, timeout_ms;
        const char *weights, *into, *out;
};

static const struct rp_option options[] = {
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "M",
          "grow: partitions that the topic shall have", NULL, 1, 100000, NULL },
        { "weights", 0, RP_OPT_TEXT, offsetof(struct args, weights), "LIST",
          "weights by partition, such as 0-11=2,12=1.5,*=1; by default as in the policy", NULL, 0, 0, NULL },
        { "into", 0, RP_OPT_TOPIC, offsetof(struct args, into), "TOPIC",
          "plan for a new topic of this name, into which rewrite will copy; by default in place", NULL, 0, 0, NULL },
        { "out", 'o', RP_OPT_OUTPUT, offsetof(struct args, out), "FILE", "write the planned policy there", NULL, 0, 0,
          NULL },
        { "rate", 0, RP_OPT_COUNT, offsetof(struct args, rate), "RECORDS",
          "records a second to reckon with, such as rewrite printed; by default how fast the plan read", NULL, 1,
          1000000000, NULL },
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* "0-11=2,*=1" as the object that a policy has. The caller's to free(); NULL with *err. */
static char *weights_json(const char *text, struct rp_error *err)
{
        json_t *weights = json_object();
        char *copy = strdup(text), *rest = copy, *json = NULL;
        bool ok = weights && copy;

        for (char *item; ok && (item = strsep(&rest, ","));) {
                char *equals = strchr(item, '=');

                if (equals)
                        *equals = '\0';
                if (!equals || !*item || !equals[1]) {
                        rp_fail(err, RP_ERR_USAGE,
                                "--weights: expected partitions and their weights such as 0-11=2,*=1, got "
                                "\"%.60s\"",
                                text);
                        ok = false;
                } else if (json_object_get(weights, item)) {
                        rp_fail(err, RP_ERR_USAGE, "--weights: \"%.40s\" is there twice", item);
                        ok = false;
                } else {
                        json_object_set_new(weights, item, json_string(equals + 1));
                }
        }
        if (ok)
                json = json_dumps(weights, 0);
        json_decref(weights);
        free(copy);
        return json;
}

/* The policy that is in force, as text: the file's, or the one that --hash means. The caller's to free(). */
static char *policy_text(const struct args *args, const char *topic, struct rp_error *err)
{
        struct rp_policy_args policy_args = args->policy;
        kr_policy_t *policy = rp_policy_from_args(&policy_args, err);
        char *text = NULL;
        size_t len;
        json_t *json;

        if (!policy)
                return NULL;
        if (!rp_rule_from_args(&policy_args, policy, topic, err)) {
                kr_policy_free(policy);
                return NULL;
        }
        if (args->policy.policy_file) {
                text = rp_file_text(args->policy.policy_file, &len, err);
        } else {
                /* The topic by its name: a planned policy must not speak for any other. */
                json = json_pack("{s:i, s:{s:{s:s}}}", "keyroute", 1, "topics", topic, "hash",
                                 args->policy.hash ? args->policy.hash : "murmur2");
                text = json ? json_dumps(json, 0) : NULL;
                json_decref(json);
                if (!text)
                        rp_fail(err, RP_ERR_USAGE, "\"%.100s\": not the name of a topic", topic);
        }
        kr_policy_free(policy);
        return text;
}

static rp_err_t check_counts(const struct args *args, const struct rp_growth_wish *wish, struct rp_error *err)
{
        struct kr_error kerr;
        kr_policy_t *policy =
                kr_policy_parse_at(wish->policy_json, strlen(wish->policy_json), wish->policy_path, &kerr);
        int32_t pinned = policy ? kr_rule_partitions(kr_policy_rule(policy, wish->topic)) : 0;

        kr_policy_free(policy);
        if (!policy)
                return rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        if (pinned && pinned != wish->from)
                return rp_fail(err, RP_ERR_USAGE,
                               "topic \"%.100s\" has %" PRId32 " partitions, %.200s is made for %" PRId32
                               ": nothing was planned",
                               wish->topic, wish->from, args->policy.policy_file, pinned);
        if (args->partitions && args->partitions <= wish->from)
                return rp_fail(err, RP_ERR_USAGE,
                               "--partitions: topic \"%.100s\" has %" PRId32 " already; Kafka cannot take "
                               "partitions away, but rewrite can copy into a topic with fewer",
                               wish->topic, wish->from);
        return RP_OK;
}

struct session {
        const struct args *args;
        struct rp_progress_line line;
};

static bool on_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        struct session *session = arg;

        rp_progress_line_update(&session->line, done, total, records, rp_clock_ms());
        return !rp_interrupt_signal();
}

static rp_err_t measure(struct session *session, struct rp_source *source, struct rp_growth *growth,
                        struct rp_plan_report *report, struct rp_error *err)
{
        struct rp_plan_job job = { .source = source, .growth = growth, .tick = on_tick, .arg = session };
        int64_t began = rp_clock_ms(), took;
        rp_err_t rc;

        rp_interrupt_watch(RP_GRACE_READING_S);
        rp_progress_line_start(&session->line, stderr, rp_wants_progress(&session->args->common), "plan", began);
        rc = rp_plan_run(&job, err);
        rp_progress_line_end(&session->line);
        if (rc == RP_OK && job.is_stopped)
                return rp_fail(err, RP_ERR_INCOMPLETE, "stopped: nothing was planned");
        took = rp_clock_ms() - began;
        report->rate_is_measured = !session->args->rate;
        report->rate = session->args->rate ? (uint64_t)session->args->rate
                                           : growth->records * 1000 / (uint64_t)(took > 0 ? took : 1);
        report->rate = report->rate ? report->rate : 1;
        return rc;
}

static rp_err_t plan(struct session *session, struct rp_source *source, struct rp_growth_wish *wish,
                     struct rp_error *err)
{
        const struct args *args = session->args;
        struct rp_growth_rules rules = { 0 };
        struct rp_growth growth = { 0 };
        struct rp_plan_report report = { .topic = wish->topic,
                                         .into = wish->into,
                                         .growth = &growth,
                                         .policy_file = args->policy.policy_file,
                                         .out = args->out,
                                         .bootstrap = args->client.bootstrap,
                                         .config_file = args->client.config_file };
        rp_err_t rc;

        wish->from = source->partition_cnt;
        wish->to = args->partitions ? (int32_t)args->partitions : wish->from;
        rc = check_counts(args, wish, err);
        if (rc == RP_OK)
                rc = rp_growth_rules_init(&rules, wish, err);
        if (rc == RP_OK && !rules.next_rule && (wish->weights_json || args->out))
                rc = rp_fail(err, RP_ERR_USAGE, "%.450s", rules.why_not);
        if (rc == RP_OK)
                rc = rp_growth_init(&growth, &rules, wish->from, wish->to, err);
        if (rc == RP_OK)
                rc = measure(session, source, &growth, &report, err);
        if (rc == RP_OK && args->out)
                rc = rp_file_replace(args->out, rules.next_json, strlen(rules.next_json), NULL, NULL, err);
        if (rc == RP_OK && rp_is_json(&args->common))
                rp_plan_print_json(&report, stdout);
        else if (rc == RP_OK)
                rp_plan_print_text(&report, stdout);
        rp_growth_release(&growth);
        rp_growth_rules_release(&rules);
        return rc;
}

static rp_err_t connect_and_plan(struct session *session, struct rp_growth_wish *wish, struct rp_error *err)
{
        struct rp_source *source = NULL;
        rp_err_t rc = rp_source_from_args(&source, &session->args->client, wish->topic,
                                          (int)session->args->timeout_ms, err);

        if (rc == RP_OK)
                rc = plan(session, source, wish, err);
        if (source)
                source->ops->free(source);
        return rc;
}

static rp_err_t check_args(const struct args *args, char **operands, struct rp_error *err)
{
        const char *what = operands[0];

        if (rp_topic_name_check(operands[1], err) != RP_OK)
                return err->code;
        if (args->into && !strcmp(args->into, operands[1]))
                return rp_fail(err, RP_ERR_USAGE, "--into: expected another topic than \"%.100s\"", operands[1]);
        if (!strcmp(what, "grow"))
                return args->partitions ? RP_OK : rp_fail(err, RP_ERR_USAGE, "grow: --partitions M is missing");
        if (strcmp(what, "weights"))
                return rp_fail(err, RP_ERR_USAGE, "expected grow or weights, got \"%.60s\"", what);
        if (args->partitions)
                return rp_fail(err, RP_ERR_USAGE,
                               "weights: the number of partitions stays; grow takes --partitions and "
                               "--weights together");
        return args->weights ? RP_OK : rp_fail(err, RP_ERR_USAGE, "weights: --weights LIST is missing");
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct session session = { .args = args };
        struct rp_growth_wish wish = { .topic = operands[1],
                                       .into = args->into,
                                       .policy_path = args->policy.policy_file ? args->policy.policy_file : "plan" };
        char *policy = NULL, *weights = NULL;
        struct rp_error err;
        rp_err_t rc = check_args(args, operands, &err);

        (void)operand_cnt;
        if (rc == RP_OK && args->weights && !(weights = weights_json(args->weights, &err)))
                rc = err.code;
        if (rc == RP_OK && !(policy = policy_text(args, operands[1], &err)))
                rc = err.code;
        wish.policy_json = policy;
        wish.weights_json = weights;
        if (rc == RP_OK)
                rc = connect_and_plan(&session, &wish, &err);
        free(policy);
        free(weights);
        if (rc != RP_OK && rp_interrupt_signal())
                return 128 + rp_interrupt_signal();
        return rc == RP_OK ? RP_EXIT_CLEAN : rp_die("plan", &err);
}

const struct rp_command rp_cmd_plan = {
        .name = "plan",
        .operands = "grow|weights TOPIC",
        .summary = "Tells what growing a topic or weighting its partitions would move and cost",
        .description = "Reads the topic once and counts, for the records that it holds: which share gets another "
                       "partition by plain\n"
                       "modulo, as clients without a policy would do it, and by a table of slots that starts from the "
                       "partitions in\n"
                       "force and moves the fewest; how many bytes that is, how long copying takes, which steps lead "
                       "there and what\n"
                       "readers will notice.\n\n"
                       "grow: the topic gets --partitions M. weights: the number stays, --weights says how much each "
                       "shall have.\n"
                       "--into names the new topic that rewrite shall fill; without it the topic itself is meant. "
                       "--out FILE writes\n"
                       "the policy that routes so. Nothing is written to the cluster.\n\n"
                       "The rule in force is the policy's, or Java's (murmur2) without one.",
        .examples = "  repartition plan grow orders --partitions 16 -b localhost:9092\n"
                    "  repartition plan grow orders -p 16 --into orders.v2 -F kafka.conf -o new.json\n"
                    "  repartition plan weights orders --weights '0-11=2,*=1' -b localhost:9092\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = 2,
        .run = run,
};
