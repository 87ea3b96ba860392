#include "job/kafka_workers.h"

#include "io/kafka_progress.h"
#include "io/kafka_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct crew {
        const struct rp_kafka_workers *job;
        struct rp_source *lead_source;   /* the target, as the job's group sees it */
        struct rp_kafka_sink_config lead;
        struct rp_job_store *stores;     /* by worker, from 0; for the connections, which belong to one thread */
};

static rp_err_t open_sink(int worker, struct rp_kafka_sink_config config, struct rp_sink **sink,
                          struct rp_error *err)
{
        char id[700];

        snprintf(id, sizeof(id), "%s-%d", config.job, worker);
        config.transactional_id = id;
        config.shard = worker;
        return rp_kafka_sink_new(sink, &config, err);
}

static rp_err_t fence(void *arg, int worker, struct rp_error *err)
{
        struct crew *crew = arg;
        struct rp_progress progress;
        struct rp_sink *sink;
        rp_err_t rc = open_sink(worker, crew->lead, &sink, err);

        if (rc != RP_OK)
                return rc;
        if (!rp_progress_init(&progress, crew->lead_source->partition_cnt))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else
                rc = sink->ops->recover(sink, &progress, err);
        rp_progress_release(&progress);
        sink->ops->free(sink);
        return rc;
}

static rp_err_t open_worker(void *arg, int worker, const bool *is_mine, struct rp_source **source, struct rp_sink **sink,
                            struct rp_error *err)
{
        struct crew *crew = arg;
        const struct rp_kafka_workers *job = crew->job;
        struct rp_kafka_sink_config config = *job->sink;
        const struct rp_source *first = job->rewrite->source;
        struct rp_kafka_source_config source_config = { .client = job->source_client, .topic = first->topic,
                                                        .group = config.job, .timeout_ms = config.timeout_ms,
                                                        .memory_bytes = job->memory_bytes / job->cnt,
                                                        .partitions_at_once = (first->partition_cnt + job->cnt - 1) / job->cnt };
        struct rp_job_store_config store = { .target = config.client, .job = config.job, .topic = job->jobs_topic,
                                             .timeout_ms = config.timeout_ms };
        rp_err_t rc;

        if (first->topics) {
                source_config.topics = (const char *const *)first->topics->names;
                source_config.topic_cnt = first->topics->topic_cnt;
        }
        rc = rp_kafka_source_new(source, &source_config, err);
        if (rc != RP_OK)
                return rc;
        /* What was planned, and who copies what, goes by the places as they were. */
        if ((*source)->partition_cnt != first->partition_cnt || !rp_topics_equal((*source)->topics, first->topics))
                return rp_fail(err, RP_ERR_RETRY, "topic \"%s\" has other partitions than a moment ago: run this again",
                               first->topic);
        config.source = store.source = *source;
        config.is_mine = is_mine;
        if (config.store) {
                config.store = &crew->stores[worker - 1];
                rc = rp_job_store_open(config.store, &store, err);
        }
        return rc == RP_OK ? open_sink(worker, config, sink, err) : rc;
}

rp_err_t rp_kafka_lead(struct rp_source *target, const char *job, int timeout_ms, struct rp_lead_note *note,
                       struct rp_error *err)
{
        struct rp_progress progress;
        rp_err_t rc;

        if (!rp_progress_init(&progress, target->partition_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_kafka_progress_now(target, job, &progress, timeout_ms, err);
        if (rc != RP_OK || !rp_lead_note_parse(note, progress.marks[0].note))
                *note = (struct rp_lead_note){ 0 };
        rp_progress_release(&progress);
        return rc;
}

/*
 * Through a member of the group, and a new one, for this is asked in the middle of outages: a client of no group does not learn
 * that the coordinator is another broker now, and that of 2.0.2 ends the process instead.
 */
rp_err_t rp_kafka_alone_confirm(void *arg, struct rp_error *err)
{
        const struct rp_kafka_alone *alone = arg;
        struct rp_kafka_source_config config = { .client = alone->client, .topic = alone->target, .group = alone->job,
                                                 .timeout_ms = alone->timeout_ms };
        struct rp_source *target;
        struct rp_lead_note note;
        rp_err_t rc = rp_kafka_source_new(&target, &config, err);

        if (rc != RP_OK)
                return rc;
        rc = rp_kafka_lead(target, alone->job, alone->timeout_ms, &note, err);
        if (rc == RP_OK && note.workers && strcmp(note.run, alone->lead_run) != 0)
                rc = rp_lead_fail_fenced(err, note.by);
        target->ops->free(target);
        return rc;
}

rp_err_t rp_kafka_workers_run(const struct rp_kafka_workers *workers, struct rp_rewrite_report *report, struct rp_error *err)
{
        const struct rp_kafka_sink_config *sink = workers->sink;
        struct crew crew = { .job = workers, .lead = { .client = sink->client, .job = sink->job, .topic = sink->topic,
                                                       .partition_cnt = sink->partition_cnt,
                                                       .timeout_ms = sink->timeout_ms } };
        struct rp_workers job = { .cnt = workers->cnt, .rewrite = workers->rewrite, .fence = fence, .open = open_worker,
                                  .partition_cnt = workers->rewrite->source->partition_cnt, .arg = &crew };
        struct rp_kafka_source_config target = { .client = sink->client, .topic = sink->topic, .group = sink->job,
                                                 .timeout_ms = sink->timeout_ms };
        rp_err_t rc;

        crew.stores = calloc((size_t)workers->cnt, sizeof(*crew.stores));
        if (!crew.stores)
                return rp_fail(err, RP_ERR_FATAL, "out of memory for %d workers", workers->cnt);
        rc = rp_kafka_source_new(&crew.lead_source, &target, err);
        if (rc == RP_OK) {
                crew.lead.source = crew.lead_source;
                job.lead_cnt = crew.lead_source->partition_cnt;
                rc = rp_kafka_sink_new(&job.lead, &crew.lead, err);
        }
        if (rc == RP_OK)
                rc = rp_workers_run(&job, report, err);
        if (job.lead)
                job.lead->ops->free(job.lead);
        if (crew.lead_source)
                crew.lead_source->ops->free(crew.lead_source);
        for (int i = 0; i < workers->cnt; i++)
                rp_job_store_close(&crew.stores[i]);
        free(crew.stores);
        return rc;
}
