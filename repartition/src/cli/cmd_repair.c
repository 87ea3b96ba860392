/* repartition repair: copies misplaced records to where they belong, within their topic. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/neighbour.h"
#include "cli/repair_print.h"
#include "clock.h"
#include "decide/job_name.h"
#include "decide/repair_pass.h"
#include "io/kafka_sink.h"
#include "io/kafka_source.h"
#include "io/lease.h"
#include "job/repair_prepare.h"
#include "report/classes.h"
#include "report/json.h"
#include "report/progress.h"
#include "topic_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        struct rp_neighbour_args neighbour;
        const char *include, *job, *jobs_topic;
        bool execute, mark, tombstones, take_over, allow_librdkafka;
        int64_t max_memory, transaction_ms, timeout_ms;
};

static const struct rp_option options[] = {
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL,
          "write; without it the plan is printed and nothing is written", NULL, 0, 0, NULL },
        { "include", 0, RP_OPT_TEXT, offsetof(struct args, include), "CLASS[,...]",
          "copy these classes as well as safe: stale, split, unknown", NULL, 0, 0, NULL },
        { "mark", 0, RP_OPT_FLAG, offsetof(struct args, mark), NULL,
          "give each copy a header keyroute.origin: TOPIC/PARTITION/OFFSET of the old record", NULL, 0, 0, NULL },
        { "tombstones", 0, RP_OPT_FLAG, offsetof(struct args, tombstones), NULL,
          "instead, and later: tombstones for the old copies in a compacted topic", NULL, 0, 0, NULL },
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "consumer group and transactional id of the job (default: keyroute.repair.TOPIC)", NULL, 0, RP_JOB_NAME_MAX, NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        { "take-over", 0, RP_OPT_FLAG, offsetof(struct args, take_over), NULL,
          "replace a run of the same job that seems to live, instead of standing back", NULL, 0, 0, NULL },
        { "max-memory", 0, RP_OPT_SIZE, offsetof(struct args, max_memory), "BYTES",
          "for judging, 160 bytes a misplaced record; with less the topic is read several times", "256Mi", 1 << 20,
          INT64_C(1) << 40, NULL },
        { "transaction-ms", 0, RP_OPT_COUNT, offsetof(struct args, transaction_ms), "MS",
          "longest time for which records are gathered for one transaction", "1000", 20, 10000, NULL },
        RP_TIMEOUT_OPTION(struct args),
        RP_LIBRARY_OPTION(struct args),
        RP_NEIGHBOUR_OPTIONS(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { ASK_MS = 5000 }; /* for one look at the topic; a transaction is open meanwhile */

static const uint64_t TRANSACTION_BYTES = 16 << 20; /* of records that are held back until the commit */

/* One repair from connecting to printing. */
struct session {
        const struct args *args;
        const struct rp_client_config *client;
        struct rp_repair_preparation preparation;
        struct rp_repair_prepare_config config;
        char by[RP_NOTE_BY_SIZE];
        struct rp_findings findings;
        struct rp_repair_report report;
        struct rp_repair_result result;
        struct rp_progress_line line;
        struct rp_governor *governor; /* NULL: nothing is written */
        struct rp_lease *lease;
        struct rp_sink *sink;         /* NULL: likewise */
        struct rp_neighbour_job neighbour;
};

/* ---- while it runs ---------------------------------------------------------------------------------------------------- */

static bool tell(struct session *session, const struct rp_repair_report *report)
{
        const struct rp_counter counters[] = {
                { "records_copied_total", "Records written and committed", NULL, NULL, report->written },
                { "bytes_copied_total", "Bytes of their keys and values", NULL, NULL, report->written_bytes },
                { "records_overtaken_total", "Not written, since something newer arrived", NULL, NULL, report->overtaken },
                { "records_gone_total", "Not written, since they were deleted meanwhile", NULL, NULL, report->gone },
                { "misplaced_records", "Found misplaced, by class", "class", "safe", report->counts.records[RP_CLASS_SAFE] },
                { "misplaced_records", "", "class", "stale", report->counts.records[RP_CLASS_STALE] },
                { "misplaced_records", "", "class", "split", report->counts.records[RP_CLASS_SPLIT] },
                { "misplaced_records", "", "class", "unknown", report->counts.records[RP_CLASS_UNKNOWN] },
                { "misplaced_records", "", "class", "copied", report->counts.records[RP_CLASS_COPIED] },
                RP_TRANSACTION_COUNTERS(report->transactions, report->rolled_back, report->uncertain, report->recoveries),
        };
        const struct rp_pulse pulse = {
                .done = report->done, .total = report->total, .uncommitted = report->uncommitted, .trouble = report->trouble,
                .counters = counters, .counter_cnt = sizeof(counters) / sizeof(*counters),
        };

        return rp_governor_tell(session->governor, &pulse);
}

static bool on_tick(void *arg, const struct rp_repair_report *report)
{
        struct session *session = arg;
        bool goes_on = true;

        if (session->governor) {
                goes_on = tell(session, report);
                rp_lease_serve(session->lease);
                rp_neighbour_show(session->governor, &session->neighbour, &session->line, session->args->common.quiet);
        }
        session->line.label = report->is_writing ? "repair: write" : "repair: read";
        rp_progress_line_update(&session->line, report->done, report->total, report->seen, rp_clock_ms());
        return goes_on && !rp_interrupt_signal();
}

static void check(struct session *session, const struct rp_repair_counts *counts)
{
        struct rp_repair_facts *facts = &session->preparation.facts;

        facts->is_interrupted = session->report.is_interrupted;
        facts->resumes = session->report.resumes;
        facts->counts = counts;
        rp_repair_check(facts, &session->findings);
}

static rp_err_t on_check(void *arg, const struct rp_repair_report *report, struct rp_error *err)
{
        struct session *session = arg;

        session->result.was_read = true;
        check(session, &report->counts);
        return session->findings.refusal_cnt ? rp_fail(err, RP_ERR_USAGE, "refused") : RP_OK;
}

/* Keys are placed by the count that the topic had when it was judged. That it is the same topic is the sink's business. */
static rp_err_t on_unchanged(void *arg, struct rp_error *err)
{
        struct session *session = arg;
        rp_err_t rc = rp_kafka_sink_check_count(session->sink, ASK_MS, session->result.partition_cnt, "repair",
                                                "most keys belong elsewhere now, and nothing was committed since. Look at it "
                                                "anew: repartition audit, then repair or rewrite", err);

        return rc == RP_ERR_RETRY ? err->code = RP_ERR_ABORT_BATCH : rc;
}

static rp_err_t on_await(void *arg, int most_ms, struct rp_error *err)
{
        struct session *session = arg;

        return rp_kafka_source_await_stable(session->preparation.source, session->client, most_ms, err);
}

/* ---- plan and run ------------------------------------------------------------------------------------------------------ */

static struct rp_repair_job make_job(struct session *session)
{
        const struct rp_repair_facts *facts = &session->preparation.facts;
        const struct rp_topic_facts *topic = &facts->topic;

        return (struct rp_repair_job){
                .source = session->preparation.source, .tail = session->preparation.tail,
                .config = { .rule = session->result.rule, .memory_bytes = (size_t)session->args->max_memory,
                            .include = facts->include, .tombstones = facts->tombstones,
                            .recent_ms = facts->now_ms - RP_RECENT_MS,
                            .cutoff_ms = topic->retention_ms > 0 && topic->cleanup_policy &&
                                                         strstr(topic->cleanup_policy, "delete")
                                                 ? facts->now_ms - topic->retention_ms : INT64_MIN },
                .mark = facts->mark, .transaction_ms = session->args->transaction_ms, .transaction_bytes = TRANSACTION_BYTES,
                .check = on_check, .await_stable = on_await, .tick = on_tick, .arg = session,
        };
}

/* @returns the exit code of a plan. */
static int print_plan(struct session *session)
{
        const struct rp_repair_report *report = &session->report;
        uint64_t misplaced = rp_classes_sum(&report->counts);

        if (rp_is_json(&session->args->common))
                rp_json_print(rp_repair_json(&session->result), stdout);
        else
                rp_repair_print(&session->result, stdout);
        if (session->findings.refusal_cnt)
                return RP_EXIT_USAGE;
        if (report->unstable.exists)
                return RP_EXIT_INCOMPLETE;
        if (session->preparation.facts.tombstones)
                return report->counts.pending ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
        return misplaced > report->counts.records[RP_CLASS_COPIED] ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
}

static rp_err_t plan_only(void *arg, const struct rp_repair_report *report, struct rp_error *err)
{
        struct session *session = arg;

        (void)err;
        session->result.was_read = true;
        check(session, &report->counts);
        return RP_OK; /* a plan tells everything */
}

static int plan(struct session *session)
{
        struct rp_repair_job job = make_job(session);
        struct rp_repair_report back = session->report;
        struct rp_error err;
        rp_err_t rc;

        job.check = plan_only;
        rp_progress_line_start(&session->line, stderr, rp_wants_progress(&session->args->common), "repair: read", rp_clock_ms());
        rc = rp_repair_run(&job, &session->report, &err);
        rp_progress_line_end(&session->line);
        session->report.is_interrupted = back.is_interrupted;
        session->report.resumes = back.resumes;
        if (rc != RP_OK)
                return rp_die("repair", &err);
        if (session->report.is_stopped)
                return 128 + rp_interrupt_signal();
        check(session, &session->report.counts);
        return print_plan(session);
}

static void on_note(void *arg, const char *text)
{
        if (!((const struct session *)arg)->args->common.quiet)
                fprintf(stderr, "repartition repair: %s\n", text);
}

static bool on_lease_wait(void *arg)
{
        (void)arg;
        return !rp_interrupt_signal();
}

/* Stands back from a run of the job that lives. An embedded cluster keeps no groups that could tell. */
static rp_err_t take_lease(struct session *session, struct rp_error *err)
{
        struct rp_lease_config lease = {
                .client = session->client, .asker = rp_kafka_source_client(session->preparation.source),
                .job = session->result.job, .topic = session->result.topic, .timeout_ms = (int)session->args->timeout_ms,
                .takes_over = session->args->take_over, .say = on_note, .tick = on_lease_wait, .arg = session,
        };

        if (!session->preparation.facts.settings_are_known)
                return RP_OK;
        return rp_lease_take(&session->lease, &lease, err);
}

static rp_err_t read_record(void *arg, struct rp_job_fold *fold, struct rp_error *err)
{
        struct session *session = arg;
        rp_err_t rc = rp_jobs_topic_read(session->preparation.jobs, fold, true, (int)session->args->timeout_ms, err);

        return rc == RP_OK ? rc : rp_jobs_topic_offer_none(err);
}

static rp_err_t open_sink(struct session *session, struct rp_error *err)
{
        const struct rp_topic_facts *topic = &session->preparation.facts.topic;
        struct rp_kafka_sink_config sink = {
                .client = session->client, .source = session->preparation.source, .job = session->result.job,
                .topic = session->result.topic, .partition_cnt = session->result.partition_cnt,
                .batch_bytes_max = topic->max_message_bytes > 0 ? topic->max_message_bytes : 0,
                .timeout_ms = (int)session->args->timeout_ms, .jobs = session->preparation.jobs,
        };
        rp_err_t rc = rp_kafka_sink_new(&session->sink, &sink, err);

        if (rc == RP_OK)
                rc = rp_kafka_sink_watch(session->sink, rp_kafka_source_client(session->preparation.source),
                                         session->result.topic, (int)session->args->timeout_ms, err);
        return rc;
}

static rp_err_t mend(struct session *session, struct rp_error *err)
{
        const struct rp_repair_record_config record = {
                .job = session->result.job, .descriptor = &session->preparation.descriptor, .read = read_record, .arg = session,
        };
        struct rp_repair_job job = make_job(session);
        rp_err_t rc;

        if (session->preparation.jobs && !(job.record = rp_repair_record_new(&record)))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        job.sink = session->sink;
        job.by = session->by;
        job.unchanged = on_unchanged;
        job.hold = rp_governor_hold;
        job.hold_arg = session->governor;
        job.transaction_ms_now = rp_governor_transaction_ms(session->governor);
        rc = rp_repair_run(&job, &session->report, err);
        rp_repair_record_free(job.record);
        return rc;
}

static rp_err_t perform(struct session *session, struct rp_error *err)
{
        int64_t began = rp_clock_ms();
        rp_err_t rc = take_lease(session, err);

        if (rc == RP_OK)
                rc = rp_repair_prepare_record(&session->preparation, &session->config, err);
        if (session->preparation.jobs)
                rp_jobs_topic_on_wait(session->preparation.jobs, on_note, session);
        if (rc == RP_OK)
                rc = open_sink(session, err);
        rp_progress_line_start(&session->line, stderr, rp_wants_progress(&session->args->common), "repair: read", began);
        if (rc == RP_OK)
                rc = mend(session, err);
        rp_progress_line_end(&session->line);
        if (session->sink)
                session->sink->ops->free(session->sink);
        rp_lease_give_back(session->lease);
        session->lease = NULL;
        tell(session, &session->report);
        session->result.elapsed_ms = rp_clock_ms() - began;
        return rc;
}

static int execute(struct session *session)
{
        struct rp_repair_result *result = &session->result;
        struct rp_neighbour_end end = { .err = NULL };
        struct rp_error err;
        const struct rp_outage_topic topic = { result->topic, true };
        const struct rp_governor_side side = { session->client, &topic, 1 };
        bool is_refused;

        session->neighbour = (struct rp_neighbour_job){
                .command = "repair", .job = result->job, .source = result->topic, .client = session->client,
                .sides = &side, .side_cnt = 1, .transaction_ms = session->args->transaction_ms,
                .timeout_ms = (int)session->args->timeout_ms, .quiet = session->args->common.quiet,
        };
        rp_interrupt_watch(RP_GRACE_WRITING_S);
        if (rp_neighbour_open(&session->governor, &session->args->neighbour, &session->neighbour, &err) != RP_OK)
                return rp_die("repair", &err);
        end.code = perform(session, &err);
        is_refused = end.code == RP_ERR_USAGE && session->findings.refusal_cnt;
        result->is_executed = !is_refused || session->report.written;
        result->is_failed = end.code != RP_OK;
        result->is_fenced = end.code == RP_ERR_FENCED;
        result->is_outdated = end.code == RP_ERR_USAGE && !is_refused;
        if (rp_is_json(&session->args->common))
                rp_json_print(rp_repair_json(result), stdout);
        else if (result->was_read)
                rp_repair_print(result, stdout);
        if (end.code != RP_OK) {
                end.err = &err;
                if (!is_refused || result->is_executed)
                        rp_die("repair", &err);
        }
        end.is_stopped = session->report.is_stopped;
        end.signal = rp_interrupt_signal();
        end.result = rp_repair_json(result);
        return rp_neighbour_close(session->governor, &session->neighbour, &end);
}

static int repair(struct session *session)
{
        struct rp_repair_preparation *preparation = &session->preparation;
        struct rp_repair_job job;
        struct rp_error err;
        unsigned include = session->preparation.facts.include;
        char host[64] = "?";

        gethostname(host, sizeof(host) - 1);
        snprintf(session->by, sizeof(session->by), "host %s, process %ld", host, (long)getpid());
        session->config = (struct rp_repair_prepare_config){
                .client = session->client, .topic = session->result.topic, .job = session->result.job,
                .rule = session->result.rule, .jobs_topic = session->args->jobs_topic, .by = session->by,
                .timeout_ms = (int)session->args->timeout_ms,
        };
        rp_interrupt_watch(RP_GRACE_READING_S);
        if (rp_repair_prepare(preparation, &session->config, &err) != RP_OK)
                return rp_die("repair", &err);
        preparation->facts.include = include;
        preparation->facts.mark = session->args->mark;
        preparation->facts.tombstones = session->args->tombstones;
        preparation->facts.library_is_allowed = session->args->allow_librdkafka;
        session->result.partition_cnt = preparation->source->partition_cnt;
        job = make_job(session);
        if (rp_repair_look_back(&job, &preparation->progress, &session->report, &err) != RP_OK) {
                if (err.code != RP_ERR_USAGE)
                        return rp_die("repair", &err);
                preparation->facts.progress_is_foreign = true;
        }
        if (rp_interrupt_signal())
                return 128 + rp_interrupt_signal();
        check(session, NULL);
        if (session->findings.refusal_cnt)
                return print_plan(session); /* what the settings forbid needs no reading */
        return session->args->execute ? execute(session) : plan(session);
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 };
        struct session session = { .args = args, .client = &client };
        struct rp_repair_result *result = &session.result;
        char job[600], *client_args = NULL;
        const char *word = NULL;
        unsigned include = 0;
        size_t word_len;
        kr_policy_t *policy = NULL;
        int code;

        (void)operand_cnt;
        rp_repair_default_name(job, sizeof(job), operands[0]);
        *result = (struct rp_repair_result){ .topic = operands[0], .job = args->job ? args->job : job,
                                             .facts = &session.preparation.facts, .findings = &session.findings,
                                             .report = &session.report, .job_option = args->job,
                                             .jobs_topic = args->jobs_topic };
        if (args->include && !rp_classes_parse(args->include, &include, &word, &word_len)) {
                rp_fail(&err, RP_ERR_USAGE, "--include: expected stale, split or unknown, or several of them with commas "
                        "between, got \"%.*s\"", (int)(word_len < 40 ? word_len : 40), word);
                return rp_die("repair", &err);
        }
        if (args->tombstones && (args->include || args->mark)) {
                rp_fail(&err, RP_ERR_USAGE, "--tombstones copies nothing: it goes without %s",
                        args->include ? "--include" : "--mark");
                return rp_die("repair", &err);
        }
        if (rp_topic_name_check(operands[0], &err) != RP_OK ||
            rp_topic_check_writable(operands[0], args->jobs_topic, &err) != RP_OK || !(policy = rp_policy_from_args(&args->policy, &err)))
                return rp_die("repair", &err);
        if (args->policy.policy_file || args->policy.hash) {
                result->policy_option = args->policy.policy_file ? "--policy" : "--hash";
                result->policy_value = args->policy.policy_file ? args->policy.policy_file : args->policy.hash;
        }
        result->client_args = client_args = rp_client_args_text(&args->client);
        result->rule = rp_rule_from_args(&args->policy, policy, operands[0], &err);
        if (!result->rule || rp_client_config_read(&client, args->client.config_file, args->client.properties.items,
                                                   args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK) {
                code = rp_die("repair", &err);
        } else {
                session.preparation.facts.include = include | 1u << RP_CLASS_SAFE;
                code = repair(&session);
        }
        rp_repair_preparation_release(&session.preparation);
        rp_client_config_release(&client);
        free(client_args);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_repair = {
        .name = "repair",
        .operands = "TOPIC",
        .summary = "Copies misplaced records to their right partition, within their topic",
        .description =
                "Kafka cannot delete one record. A repair in place writes copies behind the ends of the right partitions, and\n"
                "the old records stay, until retention takes them. A copy can therefore turn an old value of a key into its\n"
                "latest one. So each misplaced record has a class, judged over the whole topic, and only safe ones are copied:\n\n"
                "  safe      the right partition has nothing of the key that is as new\n"
                "  stale     it has a record of the key with the same or a later time\n"
                "  split     the key lies in several wrong partitions, ordered by time alone\n"
                "  unknown   the record, or the key's in the right partition, carries no time\n"
                "  copied    an equal record is there already; never written again\n\n"
                "Without --execute the plan is printed and nothing is written. With it, copies are written exactly once, in\n"
                "merged order, key, value, headers and time unchanged; a run that was killed is taken up by the next one, and\n"
                "a second run writes nothing. Before each commit the records that arrived since are looked at: what became\n"
                "stale meanwhile is left where it is.\n\n"
                "On compacted topics the old copies never go by themselves. --tombstones is a separate, later step: it writes,\n"
                "into the wrong partitions, one tombstone for each key whose records there all have one as new in the right\n"
                "partition. A reader that folds all partitions into one table (a GlobalKTable) may take such a tombstone last\n"
                "and lose the key: docs/repair.md.\n\n"
                "Where a copy beside the old record is not good enough: repartition rewrite, into a new topic.\n\n"
                "Exit codes: 0 nothing left to do, or done; 1 misplaced records without a copy (plan), 2 refused, 3 broker\n"
                "trouble, or copies that cannot be read committed yet, 4 another run took over.",
        .examples = "  repartition repair orders -b localhost:9092\n"
                    "  repartition repair orders -b localhost:9092 --execute\n"
                    "  repartition repair orders -b localhost:9092 --include split --mark --execute\n"
                    "  repartition repair profiles -b localhost:9092 --tombstones\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = 1,
        .run = run,
};
