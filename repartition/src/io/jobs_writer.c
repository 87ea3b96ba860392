#define RP_WITH_RDKAFKA
#include "io/jobs_writer.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

bool rp_jobs_writer_init(struct rp_jobs_writer *writer, const struct rp_jobs_writer_config *config)
{
        *writer = (struct rp_jobs_writer){ .config = *config };
        if (!rp_jobs_writer_has_checkpoints(writer))
                return true;
        writer->descriptor = rp_job_descriptor_print(config->descriptor);
        if (!writer->descriptor || !rp_checkpoint_log_init(&writer->log, config->source->partition_cnt, config->target_cnt,
                                                           config->store->fold.next_seq))
                return false;
        writer->log.epoch = config->descriptor->since_ms;
        writer->log.topics = config->source->topics;
        writer->log.is_mine = config->is_mine;
        return true;
}

void rp_jobs_writer_release(struct rp_jobs_writer *writer)
{
        rp_checkpoint_log_release(&writer->log);
        free(writer->descriptor);
}

bool rp_jobs_writer_has_checkpoints(const struct rp_jobs_writer *writer)
{
        return writer->config.store && writer->config.store->jobs;
}

rp_err_t rp_jobs_writer_restart(struct rp_jobs_writer *writer, const struct rp_progress *stored, struct rp_error *err)
{
        const struct rp_jobs_writer_config *config = &writer->config;
        int64_t *ends;
        rp_err_t rc;

        if (!rp_jobs_writer_has_checkpoints(writer))
                return RP_OK;
        ends = malloc(((size_t)config->target_cnt + 1) * sizeof(*ends));
        if (!ends)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_jobs_topic_ends_of(config->jobs, config->producer->config.topic, config->target_cnt,
                                   config->producer->config.timeout_ms, ends, err);
        if (rc == RP_OK)
                rp_checkpoint_log_restart(&writer->log, stored, ends);
        free(ends);
        return rc;
}

void rp_jobs_writer_begin(struct rp_jobs_writer *writer)
{
        writer->keeps_anchors = rp_jobs_writer_has_checkpoints(writer) && rp_checkpoint_log_wants_anchors(&writer->log);
}

void rp_jobs_writer_explain(const struct rp_jobs_writer *writer, struct rp_error *err)
{
        const struct rp_jobs_writer_config *config = &writer->config;
        char named[300];

        if (!config->jobs || (config->store && config->store->is_apart)) /* whose progress is kept there */
                return;
        snprintf(named, sizeof(named), "topic \"%s\"", rp_jobs_topic_name(config->jobs));
        if (strstr(err->text, named))
                rp_jobs_topic_offer_none(err);
}

void rp_jobs_writer_take_report(struct rp_jobs_writer *writer, const rd_kafka_message_t *report)
{
        struct rp_kafka_producer *producer = writer->config.producer;
        struct rp_error *failure = &producer->failure;
        const char *topic;

        if (!rp_kafka_producer_is_first_failure(producer, report))
                return;
        topic = rp_jobs_topic_name(writer->config.jobs);
        rp_fail(failure, rp_kafka_producer_next_step(report->err),
                "topic \"%s\" does not take a record of this job (%zu bytes): %s%s", topic, report->len + report->key_len,
                rd_kafka_err2str(report->err), report->err == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP
                ? "; this machine's clock is ahead of the broker's: set the topic's message.timestamp.type to LogAppendTime, as "
                "if it had been made by rewrite" : "");
        rp_client_needs(&producer->client, RP_RESOURCE_TOPIC, "Write", topic);
        rp_client_append_right(&producer->client, report->err, failure->text, sizeof(failure->text));
        rp_jobs_writer_explain(writer, failure);
        rp_client_needs(&producer->client, RP_RESOURCE_TOPIC, "Write", producer->config.topic);
}

static rp_err_t tell(struct rp_jobs_writer *writer, const char *key, const char *text, struct rp_error *err)
{
        struct rp_kafka_producer *producer = writer->config.producer;
        const char *topic = rp_jobs_topic_name(writer->config.jobs);
        int64_t deadline = rp_clock_ms() + producer->config.timeout_ms;

        for (;;) {
                rd_kafka_resp_err_t kerr = rd_kafka_producev(
                        producer->client.rk, RD_KAFKA_V_RKT(producer->jobs_rkt), RD_KAFKA_V_PARTITION(0),
                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, strlen(key)),
                        RD_KAFKA_V_VALUE((void *)text, strlen(text)), RD_KAFKA_V_END);

                if (!kerr) {
                        /* What is refused from now on in this transaction is refused there: the target's records are in. */
                        rp_client_needs(&producer->client, RP_RESOURCE_TOPIC, "Write", topic);
                        return RP_OK;
                }
                if (kerr != RD_KAFKA_RESP_ERR__QUEUE_FULL || rp_clock_ms() >= deadline)
                        return rp_kafka_producer_fail(producer, kerr, topic, err);
                rp_client_serve(&producer->client, 10);
                if (producer->failure.code != RP_OK)
                        return rp_kafka_producer_judge(producer, producer->failure.code, err);
        }
}

rp_err_t rp_jobs_writer_say(struct rp_jobs_writer *writer, const char *key, const char *text, struct rp_error *err)
{
        return writer->config.producer->jobs_rkt ? tell(writer, key, text, err) : RP_OK;
}

static rp_err_t tell_progress(struct rp_jobs_writer *writer, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct rp_source *source = writer->config.source;
        char key[RP_JOB_KEY_SIZE];
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                char *text = rp_job_progress_print(marks[i].next, marks[i].note);

                rp_job_progress_key(key, writer->config.store->fold.job, rp_source_topic(source, marks[i].partition),
                                    rp_source_partition(source, marks[i].partition));
                rc = text ? tell(writer, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
                free(text);
        }
        return rc;
}

rp_err_t rp_jobs_writer_end(struct rp_jobs_writer *writer, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        const struct rp_job_store *store = writer->config.store;
        char key[RP_JOB_KEY_SIZE], *text;
        rp_err_t rc;

        if (!rp_jobs_writer_has_checkpoints(writer))
                return RP_OK;
        /* The delivery reports tell where the records came to lie, and that is what a checkpoint is about. */
        rc = rp_kafka_producer_flush(writer->config.producer, err);
        if (rc == RP_OK && writer->descriptor)
                rc = tell(writer, store->fold.job, writer->descriptor, err);
        if (rc == RP_OK && store->is_apart)
                rc = tell_progress(writer, marks, cnt, err);
        if (rc != RP_OK)
                return rc;
        rp_job_checkpoint_key(key, store->fold.job, writer->config.shard, writer->log.seq,
                              rp_checkpoint_log_wants_anchors(&writer->log));
        text = rp_checkpoint_log_print(&writer->log, marks, cnt);
        rc = text ? tell(writer, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        free(text);
        if (rc == RP_OK)
                rp_checkpoint_log_told(&writer->log);
        return rc;
}

void rp_jobs_writer_committed(struct rp_jobs_writer *writer)
{
        free(writer->descriptor);
        writer->descriptor = NULL;
}
