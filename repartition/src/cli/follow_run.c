#include "cli/follow_run.h"

#include "cli/interrupt.h"
#include "clock.h"
#include "io/kafka_group.h"
#include "io/kafka_producer.h"
#include "io/kafka_sink.h"
#include "io/kafka_source.h"
#include "io/offsets.h"
#include "job/follow_record.h"
#include "report/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum {
        TRANSACTION_BYTES = 64 << 20, /* bounds what is copied again after an abort */
        COUNT_MS = 10000,             /* between two looks at the target's partition count */
        ASK_MS = 2000,
        OPEN_WAIT_MS = 2 * RP_TRANSACTION_TIMEOUT_MS, /* the cluster looks for overdue ones in steps of ten seconds */
        JUDGE_MEMORY = 16 << 20,      /* for what is fetched of right partitions */
        WAYPOINT_MS = 1000            /* between two waypoints: what groups see again after a cutover */
};

/* ---- what the loop asks ---------------------------------------------------------------------------------------------- */

static rp_err_t begin_at(void *arg, struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_follow_plan_begin_at(session->plan, session->group, marks, cnt, session->config->timeout_ms, err);
}

/* Keys are placed by the count that the job began with: with another one, clients look for them elsewhere. */
static rp_err_t check_count(struct rp_follow_session *session, struct rp_error *err)
{
        rp_err_t rc = rp_kafka_sink_check_count(session->sink, ASK_MS, session->plan->partition_cnt, "job",
                                                session->config->target
                                                        ? "follow into a new topic, by a new --job"
                                                        : "most keys belong elsewhere now; a new --job follows by the new count",
                                                err);

        session->counted_ms = rp_clock_ms();
        return rc;
}

static rp_err_t judge_copy(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_follow_copy_judge(&session->copy, records, cnt, verdicts, err);
}

static void settled_copy(void *arg, bool is_committed)
{
        struct rp_follow_session *session = arg;

        rp_follow_record_settled(session->record, is_committed);
        rp_follow_copy_settled(&session->copy, is_committed);
}

/*
 * A topic that grew looks full of misplaced records to whoever does not know it yet, and its new partitions are placed by
 * a count that is not ours: so it is looked at before anything is copied.
 */
static rp_err_t judge_place(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err)
{
        struct rp_follow_session *session = arg;
        bool copies = records->partition >= session->plan->partition_cnt;
        rp_err_t rc = copies ? RP_OK : rp_follow_place_judge(session->place, records, cnt, verdicts, err);

        for (size_t i = 0; rc == RP_OK && i < cnt && !copies && verdicts[i] != RP_REFUSE; i++)
                copies = verdicts[i] >= 0;
        return rc == RP_OK && copies ? check_count(session, err) : rc;
}

static void settled_place(void *arg, bool is_committed)
{
        struct rp_follow_session *session = arg;

        rp_follow_record_settled(session->record, is_committed);
        rp_follow_place_settled(session->place, is_committed);
}

static const struct rp_record *dress(void *arg, const struct rp_record *rec)
{
        struct rp_follow_session *session = arg;

        return rp_follow_place_dress(session->place, rec);
}

static rp_err_t offsets_at(void *arg, int64_t time_ms, int64_t *offsets, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_offsets_at(rp_kafka_source_client(session->plan->source), session->config->source,
                             session->plan->partition_cnt, time_ms, session->config->timeout_ms, offsets, err);
}

static bool started(void *arg, int32_t partition, int64_t next, const char *note)
{
        struct rp_follow_session *session = arg;

        return rp_follow_record_started(session->record, partition, next, note);
}

static const char *note_of(void *arg, int32_t partition)
{
        struct rp_follow_session *session = arg;

        return rp_follow_record_note(session->record, partition);
}

static rp_err_t begun(void *arg, const struct rp_mark *held, size_t cnt, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_follow_record_begun(session->record, held, cnt, err);
}

static rp_err_t committing(void *arg, size_t offset_cnt, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_follow_record_committing(session->record, offset_cnt, err);
}

/* Asked through a client that reads what is not committed, too: so these are the logs' own ends. */
static rp_err_t target_ends(void *arg, int64_t *ends, struct rp_error *err)
{
        struct rp_follow_session *session = arg;

        return rp_offsets_at(rp_jobs_topic_client(session->plan->jobs), session->config->target, session->plan->partition_cnt,
                             RP_AT_END, ASK_MS, ends, err);
}

static void copies(void *arg, const struct rp_record *rec, rp_class_t class)
{
        struct rp_follow_session *session = arg;

        rp_follow_record_copies(session->record, rec, class);
}

static uint64_t written(const struct rp_follow_session *session)
{
        return session->place ? rp_follow_place_counts(session->place)->copied : session->copy.total.records;
}

static bool tick(void *arg, const struct rp_follow_status *status, struct rp_error *err)
{
        struct rp_follow_session *session = arg;
        uint64_t lag = status->lag > 0 ? (uint64_t)status->lag : 0, done = written(session);
        bool goes_on;

        session->status = *status;
        session->stats = *status->copy;
        goes_on = rp_follow_tell(session->governor, &session->result);
        rp_neighbour_show(session->governor, session->neighbour, &session->line, session->common->quiet);
        rp_progress_line_update(&session->line, done, done + lag, done + status->copy->uncommitted, rp_clock_ms());
        err->code = RP_OK;
        if (session->config->target && rp_clock_ms() - session->counted_ms >= COUNT_MS &&
            check_count(session, err) == RP_ERR_USAGE)
                return false;
        err->code = RP_OK; /* who cannot be asked now is asked again */
        return goes_on && !rp_interrupt_signal();
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

/* A name that nobody else has; or the instance's own, by which a new start fences an old one. */
static void name_producer(const struct rp_follow_session *session, char *out, size_t size)
{
        uint64_t random = 0;

        if (session->instance) {
                snprintf(out, size, "%s.%s", session->config->job, session->instance);
                return;
        }
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
                random = (uint64_t)rp_wall_clock_ms() << 20 ^ (uint64_t)getpid();
        snprintf(out, size, "%s.%016" PRIx64, session->config->job, random);
}

static bool goes_on(void *arg)
{
        (void)arg;
        return !rp_interrupt_signal();
}

static rp_err_t open_place(struct rp_follow_session *session, struct rp_error *err)
{
        const struct rp_follow_plan_config *config = session->config;
        struct rp_kafka_source_config source_config = {
                .client = config->client, .topic = config->source, .is_uncommitted = true, .headers = true,
                .memory_bytes = JUDGE_MEMORY, .timeout_ms = config->timeout_ms,
        };
        struct rp_follow_place_config place_config = {
                .rule = config->rule, .topic = config->source, .partition_cnt = session->plan->partition_cnt,
                .committed = session->plan->source, .include = config->include, .marks = config->marks,
                .skips_refused = session->skips_refused, .records_max = session->look_back,
                .offsets_at = offsets_at, .copies = copies, .offsets_arg = session, .open_wait_ms = OPEN_WAIT_MS,
                .goes_on = goes_on,
        };
        rp_err_t rc = rp_kafka_source_new(&session->uncommitted, &source_config, err);

        if (rc != RP_OK)
                return rc;
        place_config.uncommitted = session->uncommitted;
        session->place = rp_follow_place_new(&place_config);
        if (!session->place)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        session->result.place = rp_follow_place_counts(session->place);
        return RP_OK;
}

static rp_err_t open_edges(struct rp_follow_session *session, const char *id, struct rp_error *err)
{
        const struct rp_follow_plan_config *config = session->config;
        struct rp_kafka_group_config group_config = {
                .client = config->client, .topic = config->source, .group = config->job, .timeout_ms = config->timeout_ms,
                .headers = !config->target,
        };
        struct rp_kafka_sink_config sink_config = {
                .client = config->client, .job = config->job, .transactional_id = id,
                .topic = config->target ? config->target : config->source, .partition_cnt = session->plan->partition_cnt,
                .batch_bytes_max = session->plan->batch_bytes_max, .timeout_ms = config->timeout_ms,
        };
        rp_err_t rc = config->target ? RP_OK : open_place(session, err);

        if (rc == RP_OK)
                rc = rp_kafka_group_new(&session->group, &group_config, err);
        sink_config.group = session->group;
        sink_config.jobs = session->plan->jobs;
        if (rc == RP_OK)
                rc = rp_kafka_sink_new(&session->sink, &sink_config, err);
        if (rc == RP_OK)
                rc = rp_kafka_sink_watch(session->sink, rp_kafka_source_client(session->plan->source), config->source,
                                         config->timeout_ms, err);
        if (rc == RP_OK && config->target)
                rc = rp_kafka_sink_watch(session->sink, rp_kafka_source_client(session->plan->source), config->target,
                                         config->timeout_ms, err);
        return rc;
}

static void close_edges(struct rp_follow_session *session)
{
        if (session->sink)
                session->sink->ops->free(session->sink);
        if (session->group)
                session->group->ops->free(session->group);
        if (session->uncommitted)
                session->uncommitted->ops->free(session->uncommitted);
}

static rp_err_t follow(struct rp_follow_session *session, struct rp_error *err)
{
        const struct rp_follow_plan_config *config = session->config;
        bool in_place = !config->target;
        struct rp_follow_record_config record = {
                .note = &session->plan->note, .job = config->job, .target_cnt = session->plan->partition_cnt,
                .pace_ms = WAYPOINT_MS, .ends = target_ends, .in_place = in_place, .arg = session,
        };
        char id[700], text[1600], *descriptor = NULL;
        struct rp_follow job = {
                .transaction_ms = session->transaction_ms, .transaction_bytes = TRANSACTION_BYTES,
                /* In place a run is judged by what was committed before it, so it is committed before the next. */
                .transaction_records = in_place, .is_named = session->instance,
                .judge = in_place ? judge_place : judge_copy, .settled = in_place ? settled_place : settled_copy,
                .dress = in_place ? dress : NULL, .begin_at = begin_at, .started = started, .note = note_of, .begun = begun,
                .committing = committing, .tick = tick, .arg = session,
                .hold = rp_governor_hold, .hold_arg = session->governor,
                .transaction_ms_now = rp_governor_transaction_ms(session->governor),
        };
        rp_err_t rc;

        name_producer(session, id, sizeof(id));
        rc = open_edges(session, id, err);
        if (rc == RP_OK && !session->common->quiet) {
                snprintf(text, sizeof(text), "repartition follow: %s; group %s, transactions as %s",
                         rp_kafka_group_regime(session->group), config->job, id);
                rp_wrap(stderr, text, 0, 8);
        }
        job.group = session->group;
        job.sink = record.sink = session->sink;
        if (session->plan->jobs)
                record.descriptor = descriptor = rp_job_descriptor_print(&session->plan->descriptor);
        session->record = rp_follow_record_new(&record);
        if (rc == RP_OK && (!session->record || (session->plan->jobs && !descriptor)))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = rp_follow_run(&job, &session->stats, err);
        if (rc == RP_ERR_FENCED)
                rp_fail(err, rc, "fenced: another run with --job %.200s --instance %.200s has taken over. Nothing that this one "
                        "left open will be seen", config->job, session->instance);
        close_edges(session);
        rp_follow_record_free(session->record);
        free(descriptor);
        return rc;
}

static rp_err_t create_and_follow(struct rp_follow_session *session, struct rp_error *err)
{
        struct rp_follow_result *result = &session->result;
        int64_t began = rp_clock_ms();
        rp_err_t rc = rp_follow_plan_create(session->plan, session->config, err);

        if (rc != RP_OK)
                return rc;
        rp_progress_line_start(&session->line, stderr, rp_wants_progress(session->common), "follow", began);
        rc = follow(session, err);
        rp_progress_line_end(&session->line);
        rp_follow_tell(session->governor, result);
        result->is_run = true;
        result->elapsed_ms = rp_clock_ms() - began;
        result->is_failed = rc != RP_OK;
        rp_follow_print(result, rp_is_json(session->common), stdout);
        return rc;
}

int rp_follow_execute(struct rp_follow_session *session)
{
        const struct rp_follow_plan_config *config = session->config;
        const struct rp_outage_topic topics[] = { { config->source, !config->target }, { config->target, true } };
        const struct rp_governor_side side = { config->client, topics, config->target ? 2 : 1 };
        const struct rp_neighbour_job job = {
                .command = "follow", .job = config->job, .source = config->source, .target = config->target,
                .client = config->client, .sides = &side, .side_cnt = 1, .transaction_ms = session->transaction_ms,
                .timeout_ms = config->timeout_ms, .quiet = session->common->quiet,
        };
        struct rp_neighbour_end end = { .err = NULL };
        struct rp_error err;

        rp_interrupt_watch(RP_GRACE_WRITING_S);
        session->neighbour = &job;
        session->counted_ms = rp_clock_ms();
        session->result.stats = &session->stats;
        session->result.status = &session->status;
        session->result.copy = &session->copy.total;
        session->copy = (struct rp_follow_copy){ .rule = config->rule, .topic = config->source,
                                                 .partition_cnt = session->plan->partition_cnt,
                                                 .skips_refused = session->skips_refused };
        if (rp_neighbour_open(&session->governor, session->neighbour_args, &job, &err) != RP_OK)
                return rp_die("follow", &err);
        rp_follow_tell(session->governor, &session->result); /* so that all counters are there from the start */
        end.code = create_and_follow(session, &err);
        if (end.code != RP_OK) {
                end.err = &err;
                rp_die("follow", &err);
        }
        end.is_stopped = session->result.is_run && end.code == RP_OK;
        end.signal = rp_interrupt_signal();
        end.result = session->result.is_run ? rp_follow_json(&session->result) : NULL;
        rp_follow_place_free(session->place);
        return rp_neighbour_close(session->governor, &job, &end);
}
