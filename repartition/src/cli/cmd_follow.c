/* repartition follow: copies what arrives in a topic to where it belongs, for as long as it runs. */
#include "cli/command.h"
#include "cli/follow_print.h"
#include "cli/interrupt.h"
#include "cli/neighbour.h"
#include "clock.h"
#include "io/kafka_group.h"
#include "io/kafka_sink.h"
#include "job/follow.h"
#include "job/follow_copy.h"
#include "job/follow_plan.h"
#include "job/prepare.h"
#include "moment.h"
#include "report/progress.h"
#include "report/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        struct rp_neighbour_args neighbour;
        int64_t partitions, replication_factor;
        bool execute;
        const char *job, *instance, *from, *on_refused;
        int64_t transaction_ms, timeout_ms;
        struct rp_list settings;
};

static const char *const refused_choices[] = { "stop", "skip", NULL };

static const struct rp_option options[] = {
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL,
          "follow; without it the plan is printed and nothing is written", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "M",
          "partitions of a target that is created", NULL, 1, 100000, NULL },
        { "from", 0, RP_OPT_TEXT, offsetof(struct args, from), "PLACE",
          "where a new job begins: earliest, latest, a time, or rewrite (where rewrite of the same topics stands)", NULL, 0,
          0, NULL },
        { "on-refused", 0, RP_OPT_CHOICE, offsetof(struct args, on_refused), "stop|skip",
          "what a key that the policy refuses does: it ends the job, or is counted and left out", "stop", 0, 0,
          refused_choices },
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "consumer group of the job, the same for all its instances (default: keyroute.follow.SRC.DST)", NULL, 0, 0, NULL },
        { "instance", 0, RP_OPT_TEXT, offsetof(struct args, instance), "NAME",
          "a name of this instance that outlives it: a new start then ends at once what a killed one left open", NULL, 0, 0,
          NULL },
        { "replication-factor", 0, RP_OPT_COUNT, offsetof(struct args, replication_factor), "N",
          "of a target that is created (default: the source's)", NULL, 1, 1000, NULL },
        { "config", 0, RP_OPT_LIST, offsetof(struct args, settings), "NAME=VALUE",
          "a topic setting of a target that is created, besides the source's own; may be repeated", NULL, 0, 0, NULL },
        { "transaction-ms", 0, RP_OPT_COUNT, offsetof(struct args, transaction_ms), "MS",
          "longest time that a transaction is open and committed readers of the target wait", "1000", 20, 10000, NULL },
        RP_TIMEOUT_OPTION(struct args),
        RP_NEIGHBOUR_OPTIONS(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum {
        TRANSACTION_BYTES = 64 << 20, /* bounds what is copied again after an abort */
        COUNT_MS = 10000              /* between two looks at the target's partition count */
};

struct run {
        const struct args *args;
        const struct rp_follow_plan_config *config;
        struct rp_follow_plan *plan;
        struct rp_group *group;
        struct rp_sink *sink;
        struct rp_follow_copy copy;
        struct rp_follow_status status; /* as last told; its arrays are gone afterwards */
        struct rp_copy_stats stats;     /* likewise */
        struct rp_progress_line line;
        struct rp_governor *governor;
        const struct rp_neighbour_job *neighbour;
        int64_t counted_ms;
};

/* ---- while it runs ------------------------------------------------------------------------------------------------- */

static rp_err_t begin_at(void *arg, struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct run *run = arg;

        return rp_follow_plan_begin_at(run->plan, run->group, marks, cnt, run->config->timeout_ms, err);
}

static rp_err_t judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err)
{
        struct run *run = arg;

        return rp_follow_copy_judge(&run->copy, records, cnt, verdicts, err);
}

static void settled(void *arg, bool is_committed)
{
        struct run *run = arg;

        rp_follow_copy_settled(&run->copy, is_committed);
}

/* Keys are placed by the count that the job began with: with another one, readers would look for them elsewhere. */
static rp_err_t check_count(struct run *run, struct rp_error *err)
{
        int64_t now = rp_clock_ms();
        struct rp_error ignored;
        int32_t cnt;

        if (now - run->counted_ms < COUNT_MS)
                return RP_OK;
        run->counted_ms = now;
        if (rp_kafka_sink_count(run->sink, 1000, &cnt, &ignored) != RP_OK || cnt <= 0 || cnt == run->plan->partition_cnt)
                return RP_OK;
        return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has %" PRId32 " partitions now, this job places keys by %" PRId32
                       ": follow into a new topic, by a new --job", run->config->target, cnt, run->plan->partition_cnt);
}

static bool tell(struct run *run)
{
        const struct rp_copy_stats *stats = &run->stats;
        const struct rp_follow_copy_counts *copy = &run->copy.total;
        uint64_t lag = run->status.lag > 0 ? (uint64_t)run->status.lag : 0;
        const struct rp_counter counters[] = {
                { "records_copied_total", "Records copied and committed", NULL, NULL, copy->records },
                { "bytes_copied_total", "Bytes of their keys and values", NULL, NULL, copy->bytes },
                { "records_moved_total", "Of them, with a key and another partition number than before", NULL, NULL,
                  copy->moved },
                { "records_keyless_total", "Of them, without a key", NULL, NULL, copy->keyless },
                { "records_refused_total", "Records left out since the policy refuses their keys", NULL, NULL, copy->refused },
                { "transactions_total", "Transactions by what became of them", "outcome", "committed", stats->transactions },
                { "transactions_total", "", "outcome", "aborted", stats->rolled_back },
                { "transactions_total", "", "outcome", "indeterminate", stats->uncertain },
                { "producer_recreations_total", "Producers made anew after an uncertain outcome", NULL, NULL,
                  stats->recoveries },
                { "rebalances_total", "Rebalances that changed what this instance holds", NULL, NULL, run->status.rebalances },
                { "partitions_lost_total", "Partitions that the group took away without asking", NULL, NULL, run->status.lost },
                { "partitions_held", "Partitions of the source that this instance holds", NULL, NULL,
                  run->status.partition_cnt },
                { "held_lag_records", "Offsets of these partitions that are still to be read", NULL, NULL, lag },
        };
        struct rp_pulse pulse = {
                .done = copy->records, .total = 0, .uncommitted = stats->uncommitted,
                .trouble = stats->trouble.code != RP_OK ? stats->trouble.text : NULL,
                .counters = counters, .counter_cnt = sizeof(counters) / sizeof(*counters),
        };

        return rp_governor_tell(run->governor, &pulse);
}

static bool tick(void *arg, const struct rp_follow_status *status, struct rp_error *err)
{
        struct run *run = arg;
        uint64_t lag = status->lag > 0 ? (uint64_t)status->lag : 0;
        bool goes_on;

        err->code = RP_OK;
        run->status = *status;
        run->stats = *status->copy;
        goes_on = tell(run);
        rp_neighbour_show(run->governor, run->neighbour, &run->line, run->args->common.quiet);
        rp_progress_line_update(&run->line, run->copy.total.records, run->copy.total.records + lag,
                                run->copy.total.records + status->copy->uncommitted, rp_clock_ms());
        return check_count(run, err) == RP_OK && goes_on && !rp_interrupt_signal();
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

/* A name that nobody else has; or the instance's own, by which a new start fences an old one. */
static void name_producer(const struct run *run, char *out, size_t size)
{
        uint64_t random = 0;

        if (run->args->instance) {
                snprintf(out, size, "%s.%s", run->config->job, run->args->instance);
                return;
        }
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
                random = (uint64_t)rp_wall_clock_ms() << 20 ^ (uint64_t)getpid();
        snprintf(out, size, "%s.%016" PRIx64, run->config->job, random);
}

static rp_err_t follow(struct run *run, struct rp_error *err)
{
        const struct rp_follow_plan_config *config = run->config;
        const char *target = config->target ? config->target : config->source;
        char id[700];
        struct rp_kafka_group_config group_config = {
                .client = config->client, .topic = config->source, .group = config->job, .timeout_ms = config->timeout_ms,
        };
        struct rp_kafka_sink_config sink_config = {
                .client = config->client, .job = config->job, .transactional_id = id, .topic = target,
                .partition_cnt = run->plan->partition_cnt, .batch_bytes_max = run->plan->batch_bytes_max,
                .timeout_ms = config->timeout_ms,
        };
        struct rp_follow job = {
                .transaction_ms = run->args->transaction_ms, .transaction_bytes = TRANSACTION_BYTES,
                .note = run->plan->note_text, .is_named = run->args->instance, .judge = judge, .settled = settled,
                .begin_at = begin_at, .tick = tick, .arg = run, .hold = rp_governor_hold, .hold_arg = run->governor,
                .transaction_ms_now = rp_governor_transaction_ms(run->governor),
        };
        rp_err_t rc;

        name_producer(run, id, sizeof(id));
        rc = rp_kafka_group_new(&run->group, &group_config, err);
        if (rc != RP_OK)
                return rc;
        sink_config.group = run->group;
        rc = rp_kafka_sink_new(&run->sink, &sink_config, err);
        if (rc == RP_OK) {
                if (!run->args->common.quiet) {
                        char text[1600];

                        snprintf(text, sizeof(text), "repartition follow: %s; group %s, transactions as %s",
                                 rp_kafka_group_regime(run->group), config->job, id);
                        rp_wrap(stderr, text, 0, 8);
                }
                job.group = run->group;
                job.sink = run->sink;
                rc = rp_follow_run(&job, &run->stats, err);
                if (rc == RP_ERR_FENCED)
                        rp_fail(err, rc, "fenced: another run with --job %.200s --instance %.200s has taken over. Nothing that "
                                "this one left open will be seen", config->job, run->args->instance);
                run->sink->ops->free(run->sink);
        }
        run->group->ops->free(run->group);
        return rc;
}

static rp_err_t create_and_follow(struct run *run, struct rp_follow_result *result, struct rp_error *err)
{
        int64_t began = rp_clock_ms();
        rp_err_t rc = rp_follow_plan_create(run->plan, run->config, err);

        if (rc != RP_OK)
                return rc;
        rp_progress_line_start(&run->line, stderr, rp_wants_progress(&run->args->common), "follow", began);
        rc = follow(run, err);
        rp_progress_line_end(&run->line);
        tell(run);
        result->stats = &run->stats;
        result->status = &run->status;
        result->copy = &run->copy.total;
        result->elapsed_ms = rp_clock_ms() - began;
        result->is_failed = rc != RP_OK;
        rp_follow_print(result, rp_is_json(&run->args->common), stdout);
        return rc;
}

static int execute(struct run *run, struct rp_follow_result *result)
{
        const struct rp_follow_plan_config *config = run->config;
        const struct rp_neighbour_job job = {
                .command = "follow", .job = config->job, .source = config->source, .target = config->target,
                .client = config->client, .transaction_ms = run->args->transaction_ms, .timeout_ms = config->timeout_ms,
                .quiet = run->args->common.quiet,
        };
        struct rp_neighbour_end end = { .err = NULL };
        struct rp_error err;

        rp_interrupt_watch(RP_GRACE_WRITING_S);
        run->neighbour = &job;
        if (rp_neighbour_open(&run->governor, &run->args->neighbour, &job, &err) != RP_OK)
                return rp_die("follow", &err);
        tell(run); /* so that all counters are there from the start */
        end.code = create_and_follow(run, result, &err);
        if (end.code != RP_OK) {
                end.err = &err;
                rp_die("follow", &err);
        }
        end.is_stopped = result->stats && end.code == RP_OK;
        end.signal = rp_interrupt_signal();
        end.result = result->stats ? rp_follow_json(result) : NULL;
        return rp_neighbour_close(run->governor, &job, &end);
}

static int plan_or_execute(const struct args *args, const struct rp_follow_plan_config *config)
{
        struct rp_follow_plan plan;
        struct rp_follow_result result = { .config = config, .plan = &plan };
        struct run run = {
                .args = args, .config = config, .plan = &plan, .counted_ms = rp_clock_ms(),
                .copy = { .rule = config->rule, .topic = config->source, .skips_refused = !strcmp(args->on_refused, "skip") },
        };
        struct rp_error err;
        int code;

        rp_interrupt_watch(RP_GRACE_READING_S);
        if (rp_follow_plan(&plan, config, &err) != RP_OK) {
                code = rp_die("follow", &err);
        } else if (rp_interrupt_signal()) {
                code = 128 + rp_interrupt_signal();
        } else if (args->execute) {
                run.copy.partition_cnt = plan.partition_cnt;
                code = execute(&run, &result);
        } else {
                rp_follow_print(&result, rp_is_json(&args->common), stdout);
                code = RP_EXIT_CLEAN;
        }
        rp_follow_plan_release(&plan);
        return code;
}

/* ---- arguments ------------------------------------------------------------------------------------------------------ */

static rp_err_t read_from(const struct args *args, struct rp_follow_plan_config *config, struct rp_error *err)
{
        config->from_is_given = args->from;
        if (!args->from || !strcmp(args->from, "earliest"))
                config->from = RP_FROM_EARLIEST;
        else if (!strcmp(args->from, "latest"))
                config->from = RP_FROM_LATEST;
        else if (!strcmp(args->from, "rewrite"))
                config->from = RP_FROM_REWRITE;
        else if (rp_moment_parse(args->from, &config->time_ms))
                config->from = RP_FROM_TIME;
        else
                return rp_fail(err, RP_ERR_USAGE, "--from %.100s: expected earliest, latest, rewrite, a time such as "
                               "2026-11-29T21:40:00Z, or milliseconds since 1970", args->from);
        return RP_OK;
}

static rp_err_t check(const struct args *args, struct rp_follow_plan_config *config, const kr_policy_t *policy,
                      struct rp_error *err)
{
        const char *source = config->source, *target = config->target;

        if (!target)
                return rp_fail(err, RP_ERR_USAGE, "DST is missing: a topic to follow \"%s\" into", source);
        if (!strcmp(source, target))
                return rp_fail(err, RP_ERR_USAGE, "source and target are both \"%s\"", source);
        if (!rp_topic_name_is_legal(target))
                return rp_fail(err, RP_ERR_USAGE, "\"%.300s\" cannot be a topic's name: 1 to 249 letters, digits, dots, dashes "
                               "and underscores", target);
        config->rule = kr_policy_rule(policy, target);
        if (!config->rule)
                config->rule = kr_policy_rule(policy, source);
        if (!config->rule)
                return rp_fail(err, RP_ERR_USAGE, "%s: the policy names neither \"%s\" nor \"%s\"", args->policy.policy_file,
                               target, source);
        return read_from(args, config, err);
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 };
        char job[600], rewrite_job[600], host[64] = "?", by[RP_NOTE_BY_SIZE];
        struct rp_follow_plan_config config = {
                .client = &client, .source = operands[0], .target = operand_cnt > 1 ? operands[1] : NULL,
                .job = args->job ? args->job : job, .rewrite_job = rewrite_job, .by = by,
                .partition_cnt = (int32_t)args->partitions, .replication_factor = (int32_t)args->replication_factor,
                .settings = args->settings.items, .setting_cnt = args->settings.cnt, .timeout_ms = (int)args->timeout_ms,
        };
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        int code;

        if (!policy)
                return rp_die("follow", &err);
        gethostname(host, sizeof(host) - 1);
        snprintf(by, sizeof(by), "host %s, process %ld", host, (long)getpid());
        rp_follow_default_name(job, sizeof(job), config.source, config.target);
        rp_job_default_name(rewrite_job, sizeof(rewrite_job), config.source, config.target ? config.target : "");
        if (check(args, &config, policy, &err) != RP_OK ||
            rp_client_config_read(&client, args->client.config_file, args->client.properties.items,
                                  args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK)
                code = rp_die("follow", &err);
        else
                code = plan_or_execute(args, &config);
        rp_client_config_release(&client);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_follow = {
        .name = "follow",
        .operands = "SRC DST",
        .summary = "Copies what arrives in a topic to where it belongs, for as long as it runs",
        .description =
                "A daemon. Every record of SRC goes to the partition of DST where the policy puts its key: first what is\n"
                "there (--from), then what arrives. Key, value, headers and timestamp stay as they are, byte for byte; a key\n"
                "of one source partition keeps its order. Records and progress go into one transaction: whatever is killed or\n"
                "stopped, committed readers of DST see each record once.\n\n"
                "Start more of them, on any machines, with the same command: they share the partitions as members of one\n"
                "consumer group, and take over from one that dies when its session ends (10 s; -X session.timeout.ms).\n"
                "SIGTERM commits what is open and leaves the group at once. Partitions that SRC gets later are followed from\n"
                "their beginning; when the partition count of DST changes, the job ends with an error.\n\n"
                "Without --execute it prints the plan and writes nothing. DST is created like SRC unless it exists.",
        .examples = "  repartition follow orders orders.v2 --partitions 16 -b localhost:9092\n"
                    "  repartition follow orders orders.v2 --partitions 16 -b localhost:9092 --execute\n"
                    "  repartition follow orders orders.v2 --from rewrite -b localhost:9092 --execute\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = 2,
        .run = run,
};
