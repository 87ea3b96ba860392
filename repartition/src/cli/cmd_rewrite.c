/* repartition rewrite: copies topics into new ones, every record where the policy puts it. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/neighbour.h"
#include "cli/rewrite_many.h"
#include "cli/rewrite_print.h"
#include "cli/source_names.h"
#include "clock.h"
#include "decide/job_name.h"
#include "decide/lead.h"
#include "decide/note.h"
#include "io/kafka_sink.h"
#include "io/kafka_source.h"
#include "io/lease.h"
#include "job/kafka_workers.h"
#include "report/progress.h"
#include "report/wrap.h"
#include "topic_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        struct rp_neighbour_args neighbour;
        int64_t partitions, replication_factor, workers;
        bool execute, exact, allow_librdkafka, take_over;
        const char *job, *order, *jobs_topic, *compression, *from, *to, *topics;
        int64_t max_duration; /* 0: none */
        int64_t ends_ms;      /* with --topics: when --max-duration is over, for all jobs together; no option */
        int64_t transaction_ms, timeout_ms, max_memory;
        struct rp_list settings;
};

static const char *const codecs[] = { "none", "gzip", "snappy", "lz4", "zstd", NULL };
static const char *const orders[] = { "refuse", "merge", NULL };

static const struct rp_option options[] = {
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "M",
          "partitions of the target (with --topics by default as many as its source has)", NULL, 1, 100000, NULL },
        { "topics", 0, RP_OPT_TEXT, offsetof(struct args, topics), "REGEX",
          "every topic that this extended regular expression matches whole, one after the other", NULL, 0, 0, NULL },
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL,
          "copy; without it the plan is printed and nothing is written", NULL, 0, 0, NULL },
        { "exact", 0, RP_OPT_FLAG, offsetof(struct args, exact), NULL,
          "plan from every record instead of a sample of large topics", NULL, 0, 0, NULL },
        { "from", 0, RP_OPT_TEXT, offsetof(struct args, from), "WHERE",
          "copy from there: an offset, a time (RFC 3339), or a list of P:OFFSET", NULL, 0, 0, NULL },
        { "to", 0, RP_OPT_TEXT, offsetof(struct args, to), "WHERE", "copy what is before it; said in the same ways", NULL, 0, 0,
          NULL },
        { "order", 0, RP_OPT_CHOICE, offsetof(struct args, order), "merge|refuse",
          "keys that live in several partitions: merged by timestamp, or nothing is copied", "refuse", 0, 0, orders },
        { "max-memory", 0, RP_OPT_SIZE, offsetof(struct args, max_memory), "BYTES",
          "for finding such keys (SRC is read again for those that do not fit), then for reading ahead", "32M", 1000000, INT64_C(1) << 40, NULL },
        { "workers", 0, RP_OPT_COUNT, offsetof(struct args, workers), "W",
          "threads, each with connections of its own and a share of SRC's partitions", "1", 1, RP_WORKERS_MAX, NULL },
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "consumer group and transactional id of the job (default: keyroute.SRC.DST)", NULL, 0, RP_JOB_NAME_MAX, NULL },
        { "take-over", 0, RP_OPT_FLAG, offsetof(struct args, take_over), NULL,
          "replace a run of the same job that seems to live, instead of standing back", NULL, 0, 0, NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        RP_TARGET_OPTIONS(struct args),
        { "max-duration", 0, RP_OPT_DURATION, offsetof(struct args, max_duration), "TIME",
          "commit and stop after so long, such as 6h, with exit code 0; the same command goes on", NULL, 1000,
          INT64_C(1000) * 86400 * 365, NULL },
        { "compression", 0, RP_OPT_CHOICE, offsetof(struct args, compression), "CODEC",
          "of the copies: none, gzip, snappy, lz4, zstd (default: DST's compression.type where it is one)", NULL, 0, 0,
          codecs },
        RP_TIMEOUT_OPTION(struct args),
        RP_NEIGHBOUR_OPTIONS(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_LIBRARY_OPTION(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* What a job must be told again to go on as it began, besides what its report knows of. */
static const char *const kept[] = {
        "from", "to", "max-memory", "jobs-topic", "max-duration", "compression", "transaction-ms", "timeout-ms", "allow-librdkafka",
        "throttle", "throttle-records", "throttle-control-group", "max-lag", "throttle-flag-file", "panic-flag-file",
        "control-socket", "status-file", "metrics-file", "metrics-listen", NULL
};

static const int64_t TRANSACTION_BYTES = 256 << 20; /* bounds what is copied again after an abort */

static bool on_survey(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        rp_progress_line_update(arg, done, total, records, rp_clock_ms());
        return !rp_interrupt_signal();
}

/* What a run tells of itself while it copies, and to whom. */
struct telling {
        struct rp_progress_line *line;
        struct rp_governor *governor;
        const struct rp_neighbour_job *job;
        int64_t ends_ms;    /* --max-duration; 0: none */
        bool is_time_over;
        bool quiet;
        struct rp_lease *lease;
};

static bool tell(const struct telling *telling, const struct rp_rewrite_report *report)
{
        const struct rp_counter counters[] = {
                { "records_copied_total", "Records copied and committed", NULL, NULL, report->records },
                { "bytes_copied_total", "Bytes of their keys and values", NULL, NULL, report->bytes },
                { "records_moved_total", "Of them, with a key and another partition number than before", NULL, NULL,
                  report->moved },
                { "records_mended_total", "Of them, not where the rule puts the key in the source", NULL, NULL,
                  report->misplaced },
                { "records_keyless_total", "Of them, without a key", NULL, NULL, report->keyless },
                RP_TRANSACTION_COUNTERS(report->transactions, report->rolled_back, report->uncertain, report->recoveries),
        };
        const struct rp_pulse pulse = {
                .done = report->done, .total = report->total, .uncommitted = report->uncommitted, .trouble = report->trouble,
                .counters = counters, .counter_cnt = sizeof(counters) / sizeof(*counters),
        };

        return rp_governor_tell(telling->governor, &pulse);
}

static bool on_copy(void *arg, const struct rp_rewrite_report *report)
{
        struct telling *telling = arg;
        bool goes_on;

        if (!rp_governor_looked(telling->governor))
                return true; /* a run may be one record: what costs more is done now and then */
        goes_on = tell(telling, report);

        rp_lease_serve(telling->lease);
        rp_neighbour_show(telling->governor, telling->job, telling->line, telling->quiet);
        rp_progress_line_update(telling->line, report->done, report->total, report->records + report->uncommitted,
                                rp_clock_ms());
        telling->is_time_over |= telling->ends_ms && rp_clock_ms() >= telling->ends_ms;
        return goes_on && !telling->is_time_over && !rp_interrupt_signal();
}

/* What was asked for; else what DST makes of it anyway, which saves the brokers the work, unless -X says something. */
static const char *pick_compression(const struct args *args, const struct rp_prepare_config *config,
                                    const struct rp_preparation *preparation)
{
        const char *of_topic = preparation->facts.target.compression_type;

        if (args->compression)
                return args->compression;
        for (size_t i = 0; i < config->target_client->cnt; i++)
                if (!strcmp(config->target_client->names[i], "compression.type") ||
                    !strcmp(config->target_client->names[i], "compression.codec"))
                        return NULL;
        for (size_t i = 1; of_topic && codecs[i]; i++)
                if (!strcmp(of_topic, codecs[i]))
                        return codecs[i];
        return NULL;
}

static void on_lease_note(void *arg, const char *text)
{
        if (!((const struct telling *)arg)->quiet)
                fprintf(stderr, "repartition rewrite: %s\n", text);
}

static bool on_lease_wait(void *arg)
{
        (void)arg;
        return !rp_interrupt_signal();
}

/* A cluster that keeps no topic of jobs for us, an embedded one, keeps no groups either. */
static rp_err_t take_lease(const struct args *args, const struct rp_prepare_config *config,
                           const struct rp_preparation *preparation, struct telling *telling, struct rp_error *err)
{
        struct rp_lease_config lease = {
                .client = config->target_client, .asker = rp_jobs_topic_client(preparation->store.target),
                .job = config->job, .topic = config->target, .timeout_ms = config->timeout_ms,
                .takes_over = args->take_over, .say = on_lease_note, .tick = on_lease_wait, .arg = telling,
        };

        if (!rp_jobs_topic_is_possible(preparation->store.target))
                return RP_OK;
        return rp_lease_take(&telling->lease, &lease, err);
}

/* Somebody may have added partitions to it meanwhile: the copies are whole, but most lie where nobody looks for their keys. */
static rp_err_t check_count(struct rp_client *client, const struct rp_prepare_config *config, struct rp_error *err)
{
        struct rp_topic_info info;
        rp_err_t rc = rp_cluster_topic(client, config->target, config->timeout_ms, &info, err);

        if (rc == RP_OK && info.exists && info.partition_cnt != config->partition_cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has %" PRId32 " partitions now, and this job placed keys by %" PRId32
                             ": copy into another topic, and let nobody add partitions to it", config->target, info.partition_cnt,
                             config->partition_cnt);
        return rc;
}

static rp_err_t copy(const struct args *args, const struct rp_prepare_config *config,
                     struct rp_preparation *preparation, struct telling *telling, struct rp_rewrite_report *report,
                     struct rp_error *err)
{
        struct rp_kafka_sink_config sink_config = {
                .client = config->target_client,
                .source = preparation->source,
                .job = config->job,
                .topic = config->target,
                .partition_cnt = config->partition_cnt,
                .batch_bytes_max = preparation->facts.target.max_message_bytes > 0
                                           ? preparation->facts.target.max_message_bytes : 0,
                .compression = pick_compression(args, config, preparation),
                .timeout_ms = config->timeout_ms,
                .store = &preparation->store,
                .descriptor = &preparation->descriptor,
        };
        struct rp_rewrite rewrite = {
                .source = preparation->source, .asked = preparation->bounds, .rule = config->rule,
                .identity = preparation->descriptor.identity, .by = config->by,
                .transaction_ms = args->transaction_ms, .transaction_bytes = TRANSACTION_BYTES,
                .tick = on_copy, .arg = telling, .hold = rp_governor_hold, .hold_arg = telling->governor,
                .transaction_ms_now = rp_governor_transaction_ms(telling->governor),
        };
        struct rp_kafka_workers crew = { .rewrite = &rewrite, .sink = &sink_config, .source_client = config->client,
                                         .memory_bytes = args->max_memory, .jobs_topic = config->jobs_topic };
        struct rp_kafka_alone alone = { .client = sink_config.client, .job = config->job,
                                        .target = config->target, .lead_run = preparation->lead_run,
                                        .timeout_ms = config->timeout_ms };
        rp_err_t rc = take_lease(args, config, preparation, telling, err);

        if (rp_jobs_topic_is_possible(preparation->store.target)) { /* else the cluster keeps no groups, where a lead is noted */
                rewrite.confirm = rp_kafka_alone_confirm;
                rewrite.confirm_arg = &alone;
        }
        if (rc == RP_OK)
                rc = rp_kafka_sink_new(&rewrite.sink, &sink_config, err);
        crew.cnt = args->workers < preparation->source->partition_cnt ? (int)args->workers
                                                                      : (int)preparation->source->partition_cnt;
        if (rc == RP_OK && (crew.cnt > 1 || preparation->former_workers > 1))
                rc = rp_kafka_workers_run(&crew, report, err);
        else if (rc == RP_OK)
                rc = rp_rewrite_run(&rewrite, report, err);
        if (rewrite.sink)
                rewrite.sink->ops->free(rewrite.sink);
        rp_lease_give_back(telling->lease);
        if (rc == RP_OK && report->transactions)
                rc = rp_preparation_await_target(config, err);
        if (rc == RP_OK)
                rc = check_count(rp_jobs_topic_client(preparation->store.target), config, err);
        return rc;
}

/* From the creation of the target on. Prints what was done; errors are for the caller to print. */
static rp_err_t create_and_copy(const struct args *args, struct rp_rewrite_result *result, struct telling *telling,
                                struct rp_rewrite_report *report, struct rp_error *err)
{
        int64_t began = rp_clock_ms();
        rp_err_t rc = rp_preparation_create_target(result->preparation, result->config, err);

        *report = (struct rp_rewrite_report){ 0 };
        if (rc != RP_OK)
                return rc;
        if (!args->common.quiet) {
                char text[400];

                snprintf(text, sizeof(text), "repartition rewrite: %s; transactions of up to %lld ms",
                         rp_kafka_source_regime(result->preparation->source), (long long)args->transaction_ms);
                rp_wrap(stderr, text, 0, 8);
                if (result->preparation->facts.hidden_offsets) {
                        snprintf(text, sizeof(text), "repartition rewrite: %" PRIu64 " offsets behind open transactions are left "
                                 "to a later run", result->preparation->facts.hidden_offsets);
                        rp_wrap(stderr, text, 0, 8);
                }
        }
        if (args->max_duration)
                telling->ends_ms = args->ends_ms ? args->ends_ms : began + args->max_duration;
        rp_progress_line_start(telling->line, stderr, rp_wants_progress(&args->common), "rewrite", began);
        rc = copy(args, result->config, result->preparation, telling, report, err);
        rp_progress_line_end(telling->line);
        tell(telling, report);
        result->run = report;
        result->compression = pick_compression(args, result->config, result->preparation);
        if (report->is_stopped)
                result->stopped_by = rp_interrupt_signal() ? "signal" : telling->is_time_over ? "max-duration" : "request";
        result->elapsed_ms = rp_clock_ms() - began;
        result->is_failed = rc != RP_OK;
        result->is_fenced = rc == RP_ERR_FENCED;
        if (rp_is_json(&args->common))
                rp_rewrite_print_json(result, stdout);
        else if (rc == RP_OK || report->records)
                rp_rewrite_print_run(result, stdout);
        return rc;
}

static int execute(const struct args *args, struct rp_rewrite_result *result, struct rp_progress_line *line,
                   struct rp_rewrite_report *report)
{
        const struct rp_prepare_config *config = result->config;
        const struct rp_outage_topic target = { config->target, true };
        struct rp_outage_topic sources[RP_TOPICS_MAX];
        const struct rp_governor_side sides[] = { { config->target_client, &target, 1 },
                                                  { config->client, sources, (size_t)config->source_cnt } };
        const struct rp_neighbour_job job = {
                .command = "rewrite", .job = config->job, .source = config->source, .target = config->target,
                .client = config->client, .sides = sides, .side_cnt = 2, .transaction_ms = args->transaction_ms,
                .timeout_ms = config->timeout_ms, .quiet = args->common.quiet,
        };
        struct telling telling = { .line = line, .job = &job, .quiet = args->common.quiet };
        struct rp_neighbour_end end = { .err = NULL };
        struct rp_error err;

        for (int32_t i = 0; i < config->source_cnt; i++)
                sources[i] = (struct rp_outage_topic){ config->sources[i], false };
        rp_interrupt_watch(RP_GRACE_WRITING_S);
        if (rp_neighbour_open(&telling.governor, &args->neighbour, &job, &err) != RP_OK)
                return rp_die("rewrite", &err);
        *report = (struct rp_rewrite_report){ 0 };
        tell(&telling, report); /* so that all counters are there from the start */
        end.code = create_and_copy(args, result, &telling, report, &err);
        if (end.code != RP_OK) {
                end.err = &err;
                rp_die("rewrite", &err);
        }
        end.is_stopped = result->run && report->is_stopped;
        end.signal = rp_interrupt_signal();
        end.is_time_over = telling.is_time_over && !end.signal;
        end.result = result->run ? rp_rewrite_json(result) : NULL;
        return rp_neighbour_close(telling.governor, &job, &end);
}

static int die(const struct args *args, const struct rp_prepare_config *config, const struct rp_error *err)
{
        struct rp_error named;

        if (!args->topics)
                return rp_die("rewrite", err);
        rp_fail(&named, err->code, "%.100s: %.400s", config->source, err->text);
        if (rp_is_json(&args->common)) {
                json_t *line = json_pack("{s:s, s:{s:s}, s:{s:s}, s:s}", "command", "rewrite", "source", "topic",
                                         config->source, "target", "topic", config->target, "error", err->text);

                if (!line) /* a path in it that is no UTF-8 */
                        line = json_pack("{s:s, s:{s:s}, s:{s:s}, s:s}", "command", "rewrite", "source", "topic",
                                         config->source, "target", "topic", config->target, "error", "see stderr");
                json_dumpf(line, stdout, JSON_COMPACT);
                fputc('\n', stdout);
                json_decref(line);
        }
        return rp_die("rewrite", &named);
}

/* Of a check only what is refused is shown. */
static int perform(const struct args *args, const struct rp_prepare_config *config, struct rp_progress_line *line,
                   enum rp_rewrite_step step, bool *is_stopped)
{
        struct rp_preparation preparation;
        struct rp_rewrite_report report = { 0 };
        struct rp_rewrite_result result = { .config = config, .preparation = &preparation, .is_one_of_many = args->topics };
        char *client_args = rp_client_args_text(&args->client), *more_options = NULL;
        size_t len;
        FILE *text = open_memstream(&more_options, &len);
        struct rp_error err;
        int code;

        if (!text)
                abort();
        rp_options_print(tables, args, kept, text);
        fclose(text);
        result.client_args = client_args;
        result.more_options = more_options;
        result.job_option = args->job;
        result.workers = (int)args->workers;
        result.replication_factor = args->replication_factor;
        if (args->policy.policy_file || args->policy.hash) {
                result.policy_option = args->policy.policy_file ? "--policy" : "--hash";
                result.policy_value = args->policy.policy_file ? args->policy.policy_file : args->policy.hash;
        }
        rp_interrupt_watch(RP_GRACE_READING_S);
        rp_progress_line_start(line, stderr, rp_wants_progress(&args->common), "plan", rp_clock_ms());
        code = rp_prepare(&preparation, config, &err) == RP_OK ? RP_EXIT_CLEAN : -1;
        rp_progress_line_end(line);
        if (code < 0) {
                code = die(args, config, &err);
        } else if (rp_interrupt_signal()) {
                code = 128 + rp_interrupt_signal();
        } else if (step == RP_REWRITE_EXECUTE && !preparation.findings.refusal_cnt) {
                code = execute(args, &result, line, &report);
        } else if (step != RP_REWRITE_CHECK || preparation.findings.refusal_cnt) {
                if (rp_is_json(&args->common))
                        rp_rewrite_print_json(&result, stdout);
                else
                        rp_rewrite_print_plan(&result, stdout);
                code = preparation.findings.refusal_cnt ? RP_EXIT_USAGE : RP_EXIT_CLEAN;
        }
        *is_stopped = report.is_stopped || rp_interrupt_signal();
        rp_preparation_release(&preparation);
        free(client_args);
        free(more_options);
        return code;
}

/* What is the same for all jobs is in shared. partition_cnt: of the target; 0 where --partitions must be given. */
static int run_job(const struct args *args, const struct rp_prepare_config *shared, const kr_policy_t *policy,
                   const char *const *sources, int32_t source_cnt, const char *target, int32_t partition_cnt,
                   enum rp_rewrite_step step, bool *is_stopped)
{
        struct rp_prepare_config config = *shared;
        const char *names[RP_TOPICS_MAX];
        struct rp_progress_line line;
        struct rp_error err;
        char job[600], label[RP_TOPICS_LABEL_SIZE];
        rp_err_t rc;

        *is_stopped = false;
        config.sources = sources;
        config.source_cnt = source_cnt;
        config.source = sources[0]; /* for errors, until its name is found good */
        config.target = target;
        config.arg = &line;
        rc = rp_sources_name(sources, source_cnt, target, rp_client_args_have_sides(&args->client),
                             "rewrite copies into another topic, or another cluster", names, label, &err);
        config.sources = names;
        if (rc == RP_OK)
                rc = rp_topic_check_writable(target, args->jobs_topic, &err);
        if (rc == RP_OK)
                rc = rp_sources_rule(policy, args->policy.policy_file, names, source_cnt, target, &config.rule, &err);
        if (rc != RP_OK)
                return die(args, &config, &err);
        config.source = label;
        rp_rewrite_default_name(job, sizeof(job), label, target);
        config.job = args->job ? args->job : job;
        config.partition_cnt = args->partitions ? (int32_t)args->partitions : kr_rule_partitions(config.rule);
        if (!config.partition_cnt)
                config.partition_cnt = partition_cnt;
        if (!config.partition_cnt) {
                rp_fail(&err, RP_ERR_USAGE, "--partitions M is needed: how many partitions \"%s\" shall have", target);
                return die(args, &config, &err);
        }
        return perform(args, &config, &line, step, is_stopped);
}

struct all {
        struct args *args;
        const struct rp_prepare_config *shared;
        const kr_policy_t *policy;
};

static int run_one_of_many(void *arg, const struct rp_listed_topic *source, const char *target, enum rp_rewrite_step step,
                           bool *is_stopped)
{
        const struct all *all = arg;
        struct args *args = all->args;
        int code;

        if (step == RP_REWRITE_EXECUTE && args->max_duration && !args->ends_ms)
                args->ends_ms = rp_clock_ms() + args->max_duration;
        code = run_job(args, all->shared, all->policy, &(const char *){ source->name }, 1, target, source->partition_cnt, step,
                       is_stopped);
        *is_stopped |= args->ends_ms && rp_clock_ms() >= args->ends_ms;
        return code;
}

static rp_err_t check_arguments(const struct args *args, int operand_cnt, struct rp_error *err)
{
        if (args->topics && operand_cnt != 1)
                return rp_fail(err, RP_ERR_USAGE, "with --topics there is one operand, how copies are called, such as '{}.v2', "
                               "not %d", operand_cnt);
        if (!args->topics && operand_cnt < 2)
                return rp_fail(err, RP_ERR_USAGE, "expected SRC... DST, or --topics REGEX and how copies are called");
        if (args->topics && args->job)
                return rp_fail(err, RP_ERR_USAGE, "--topics makes a job of each topic, which --job would give one name");
        if (args->workers > 1 && strcmp(args->order, "refuse"))
                return rp_fail(err, RP_ERR_USAGE, "--workers share the partitions of SRC, and --order merge needs them "
                               "together: one of the two");
        return RP_OK;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 }, target_client = { 0 };
        char host[64] = "?", by[RP_NOTE_BY_SIZE];
        kr_policy_t *policy = NULL;
        struct rp_prepare_config shared = {
                .client = &client, .target_client = &target_client, .jobs_topic = args->jobs_topic, .by = by,
                .replication_factor = (int32_t)args->replication_factor,
                .settings = args->settings.items, .setting_cnt = args->settings.cnt, .is_exact = args->exact,
                .refuses_split_keys = !strcmp(args->order, "refuse"), .memory_bytes = (size_t)args->max_memory,
                .library_is_allowed = args->allow_librdkafka, .timeout_ms = (int)args->timeout_ms, .tick = on_survey,
        };
        struct rp_extent extent = { 0 };
        bool is_stopped;
        int code;

        gethostname(host, sizeof(host) - 1);
        snprintf(by, sizeof(by), "host %s, process %ld", host, (long)getpid());
        shared.extent = &extent;
        if (check_arguments(args, operand_cnt, &err) != RP_OK ||
            rp_extent_parse(&extent, args->from, args->to, &err) != RP_OK ||
            !(policy = rp_policy_from_args(&args->policy, &err)) ||
            rp_client_config_read_sides(&client, &target_client, args->client.config_file, args->client.properties.items,
                                        args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK)
                code = rp_die("rewrite", &err);
        else if (args->topics)
                code = rp_rewrite_many(&(struct rp_rewrite_many){
                        .regex = args->topics, .form = operands[0], .jobs_topic = args->jobs_topic, .client = &client,
                        .timeout_ms = shared.timeout_ms, .executes = args->execute, .is_json = rp_is_json(&args->common),
                        .job = run_one_of_many, .arg = &(struct all){ args, &shared, policy } });
        else
                code = run_job(args, &shared, policy, (const char *const *)operands, operand_cnt - 1, operands[operand_cnt - 1],
                               0, args->execute ? RP_REWRITE_EXECUTE : RP_REWRITE_PLAN, &is_stopped);
        rp_client_config_release(&client);
        rp_client_config_release(&target_client);
        rp_extent_release(&extent);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_rewrite = {
        .name = "rewrite",
        .operands = "SRC... DST | --topics REGEX NAME",
        .summary = "Copies topics into new ones, every record where the policy puts it",
        .description =
                "Without --execute it prints the plan: how much there is to copy, which share of it moves, and what speaks\n"
                "against it. Nothing is written then.\n\n"
                "With --execute it creates DST like SRC (same settings and replication factor) unless it exists, and copies\n"
                "key, value, headers and timestamp of every record byte for byte, exactly once, through transactions that\n"
                "carry the progress with them. A run that was stopped or killed is taken up by the next one; a run after\n"
                "the last record copies only what is newer.\n\n"
                "The order of each source partition is kept. A key that lives in several partitions has no order of\n"
                "its own: by default such keys are counted and nothing is copied. --order merge merges them by\n"
                "timestamp; where times run backwards within a partition (a backfill behind newer records), no merge\n"
                "can keep both orders: the partition's is kept, and the plan warns and says how far back times go.\n"
                "Records without a key go to their old partition's number modulo M.\n\n"
                "Source and target may be two clusters: -X source.NAME=VALUE and -X target.NAME=VALUE (in -F likewise) go\n"
                "to one side only. A second run of the same job ends with exit code 4 and names the first.\n\n"
                "Several sources become one topic in one job. Each source partition keeps its order; a key that is in more\n"
                "than one of them, be it of one topic or of two, is a split key as above. Two sources with other settings\n"
                "need --config for what DST is created with.\n\n"
                "The rule is the policy's for DST, or for SRC where it does not name DST.\n\n"
                "With --topics, every topic that REGEX matches as a whole is a job of its own, one after the other; NAME is\n"
                "what their copies are called, {} standing for the source's name. Internal topics, and topics that are\n"
                "called like a copy, are left out. Nothing is begun unless every one of them can be. The exit code is the\n"
                "worst; --output json prints one object a line.",
        .examples = "  repartition rewrite orders orders.v2 --partitions 16 -b localhost:9092\n"
                    "  repartition rewrite orders orders.v2 --partitions 16 -b localhost:9092 --execute\n"
                    "  repartition rewrite orders.eu orders.us orders --partitions 30 --order merge -b localhost:9092\n"
                    "  repartition rewrite --topics 'orders\\..*' '{}.v2' -b localhost:9092\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = RP_TOPICS_MAX + 1,
        .run = run,
};
