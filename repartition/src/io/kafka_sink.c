#define RP_WITH_RDKAFKA
#include "io/kafka_sink.h"

#include "clock.h"
#include "io/cluster.h"
#include "io/jobs_writer.h"
#include "io/kafka_group.h"
#include "io/kafka_producer.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        ZERO_COPY_FROM = 2048, /* bytes of value: below, copying costs less than freeing the message in another thread */
        SERVE_EVERY = 256,     /* appended records between two looks at the delivery reports */
        PEEK_MS = 3000,        /* stored() is a look in passing; recover() has more patience */
        ABORT_MS = 5000        /* when all is over anyway */
};

struct kafka_sink {
        struct rp_kafka_producer producer; /* first, as its client must be: the opaque of librdkafka's callbacks */
        struct rp_sink base;
        struct rp_source *source; /* one of these two */
        struct rp_group *member;
        char *job, *topic, *id;
        unsigned appended;        /* since delivery reports were last looked at */
        struct rp_job_store *store; /* NULL: none */
        struct rp_jobs_writer writer;
        struct rp_topic_watch *watches[RP_TOPICS_MAX + 1]; /* source and target, as far as there is something to hold them to */
        int watch_cnt;
};

static struct kafka_sink *self(struct rp_sink *base)
{
        return (struct kafka_sink *)((char *)base - offsetof(struct kafka_sink, base));
}

/* ---- delivery reports ------------------------------------------------------------------------------------------ */

/*
 * A message's opaque is either the consumed message whose memory it uses (to be freed now), or, odd, the place where
 * its record was read: 16 bits of partition and 47 of offset, for the error message.
 */
static void *pack_place(const struct rp_record *rec)
{
        return (void *)(uintptr_t)(((uint64_t)rec->offset & ((UINT64_C(1) << 47) - 1)) << 17 |
                                   ((uint64_t)rec->partition & 0xffff) << 1 | 1);
}

/* Which topic is plain where there is but one. */
static void name_place(const struct kafka_sink *sink, const char *topic, int32_t partition, char from[RP_TOPICS_LABEL_SIZE + 40])
{
        if (sink->source && sink->source->topics)
                snprintf(from, RP_TOPICS_LABEL_SIZE + 40, "topic \"%s\", partition %" PRId32, topic, partition);
        else
                snprintf(from, RP_TOPICS_LABEL_SIZE + 40, "partition %" PRId32, partition);
}

static void name_packed(const struct kafka_sink *sink, int32_t place, char from[RP_TOPICS_LABEL_SIZE + 40])
{
        const struct rp_topics *topics = sink->source ? sink->source->topics : NULL;

        name_place(sink, rp_topics_name(topics, "", place), rp_topics_partition(topics, place), from);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *report, void *opaque)
{
        struct kafka_sink *sink = opaque;
        uintptr_t packed = (uintptr_t)report->_private;
        rd_kafka_message_t *consumed = packed & 1 ? NULL : report->_private;
        struct rp_error *failure = &sink->producer.failure;

        (void)rk;
        if (!report->_private) { /* of the topic of jobs; producing sets it for every record of the target */
                rp_jobs_writer_take_report(&sink->writer, report);
                return;
        }
        if (!report->err)
                rp_jobs_writer_wrote(&sink->writer, report->partition, report->offset);
        /* Not rd_kafka_message_errstr(): up to 2.0.2 that is the payload, which of a report is the record's value. */
        if (rp_kafka_producer_is_first_failure(&sink->producer, report)) {
                int64_t offset = consumed ? consumed->offset : (int64_t)(packed >> 17);
                char from[RP_TOPICS_LABEL_SIZE + 40];

                if (consumed)
                        name_place(sink, rd_kafka_topic_name(consumed->rkt), consumed->partition, from);
                else
                        name_packed(sink, (int32_t)(packed >> 1 & 0xffff), from);
                rp_fail(failure, rp_kafka_producer_next_step(report->err),
                        "topic \"%s\", partition %" PRId32 " does not take the record from %s, offset %" PRId64
                        " (%zu bytes): %s%s", sink->topic, report->partition, from, offset, report->len + report->key_len,
                        rd_kafka_err2str(report->err), report->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
                        ? "; raise max.message.bytes of that topic, then the same command goes on" : "");
                rp_client_append_right(&sink->producer.client, report->err, failure->text, sizeof(failure->text));
        }
        if (consumed)
                rd_kafka_message_destroy(consumed);
}

/* ---- recovery ------------------------------------------------------------------------------------------------------ */

/* ... which fences whoever has the id. */
static rp_err_t open_producer(struct kafka_sink *sink, struct rp_error *err)
{
        rp_err_t rc = rp_kafka_producer_open(&sink->producer, err);

        if (rc != RP_OK)
                return rc;
        rp_client_needs(&sink->producer.client, RP_RESOURCE_GROUP, "Read", sink->job);
        return rp_kafka_producer_init(&sink->producer, err);
}

static rp_err_t read_progress(struct kafka_sink *sink, struct rp_progress *progress, int timeout_ms, struct rp_error *err)
{
        if (sink->member)
                return sink->member->ops->stored(sink->member, progress, timeout_ms, err);
        if (sink->store)
                return rp_job_store_progress(sink->store, progress, timeout_ms, err);
        return rp_kafka_progress(sink->source, progress, timeout_ms, err);
}

static rp_err_t sink_stored(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);

        /* A member joins by this look: the end of a transaction that another one has left open is waited for. */
        return read_progress(sink, progress, sink->member ? sink->producer.config.timeout_ms : PEEK_MS, err);
}

static rp_err_t sink_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rp_err_t rc;

        rp_kafka_producer_close(&sink->producer);
        rc = open_producer(sink, err);
        if (rc == RP_OK)
                rc = read_progress(sink, progress, sink->producer.config.timeout_ms, err);
        if (rc == RP_OK)
                rc = rp_jobs_writer_restart(&sink->writer, progress, err);
        return rc;
}

/* ---- a transaction ------------------------------------------------------------------------------------------------ */

static rp_err_t sink_begin(struct rp_sink *base, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);

        rp_jobs_writer_begin(&sink->writer);
        return rp_kafka_producer_begin(&sink->producer, err);
}

static rd_kafka_headers_t *copy_headers(const struct rp_record *rec)
{
        rd_kafka_headers_t *headers = rec->header_cnt ? rd_kafka_headers_new(rec->header_cnt) : NULL;

        for (size_t i = 0; i < rec->header_cnt; i++)
                rd_kafka_header_add(headers, rec->headers[i].name, -1, rec->headers[i].value,
                                    (ssize_t)rec->headers[i].value_len);
        return headers;
}

static rp_err_t fail_append(struct kafka_sink *sink, rd_kafka_resp_err_t kerr, const struct rp_record *rec,
                            struct rp_error *err)
{
        char text[256] = "", from[RP_TOPICS_LABEL_SIZE + 40];

        name_packed(sink, rec->partition, from);
        rp_client_serve(&sink->producer.client, 0);
        if (kerr == RD_KAFKA_RESP_ERR__FATAL || kerr == RD_KAFKA_RESP_ERR__FENCED)
                kerr = rd_kafka_fatal_error(sink->producer.client.rk, text, sizeof(text));
        rp_fail_resp(err, &sink->producer.client, kerr,
                     "cannot write the record from %s, offset %" PRId64 " (%zu bytes)%s%s", from, rec->offset,
                     rec->key_len + rec->value_len, *text ? ": " : "", text);
        err->code = rp_kafka_producer_next_step(kerr);
        return rp_kafka_producer_judge(&sink->producer, err->code, err);
}

/*
 * A record that does not even fit into an empty queue never will (the topic's limit counts it compressed, the queue does not):
 * the next producer gets a larger one.
 */
static rp_err_t enlarge_queue(struct kafka_sink *sink, const struct rp_record *rec, struct rp_error *err)
{
        int64_t needed = 2 * (int64_t)(rec->key_len + rec->value_len) / 1024 + 1;
        char from[RP_TOPICS_LABEL_SIZE + 40];

        name_packed(sink, rec->partition, from);
        rp_fail(err, RP_ERR_ABORT_BATCH, "the record from %s, offset %" PRId64 " (%zu bytes) is longer than the queue: "
                "-X queue.buffering.max.kbytes=%" PRId64, from, rec->offset, rec->key_len + rec->value_len, needed);
        if (needed <= sink->producer.queue_kbytes_needed) /* it is set by the user */
                return err->code = RP_ERR_USAGE;
        sink->producer.queue_kbytes_needed = needed;
        return err->code;
}

static rp_err_t sink_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rd_kafka_message_t **slot = rec->native, *consumed = slot ? *slot : NULL;
        rd_kafka_headers_t *headers = NULL;
        bool is_lent = consumed && rec->value_len >= ZERO_COPY_FROM;
        int64_t timestamp = rp_zero_time_begin(&sink->producer.zero, rec->timestamp_ms);
        int64_t deadline = 0;
        rd_kafka_resp_err_t kerr;

        rp_jobs_writer_copies(&sink->writer, rec);
        if (!consumed)
                headers = copy_headers(rec);
        else if (rd_kafka_message_detach_headers(consumed, &headers))
                headers = NULL;
        for (;;) {
                kerr = rd_kafka_producev(
                        sink->producer.client.rk, RD_KAFKA_V_RKT(sink->producer.rkt), RD_KAFKA_V_PARTITION(to),
                        RD_KAFKA_V_MSGFLAGS(is_lent ? 0 : RD_KAFKA_MSG_F_COPY),
                        RD_KAFKA_V_KEY(rec->key, rec->key_len), RD_KAFKA_V_VALUE((void *)rec->value, rec->value_len),
                        RD_KAFKA_V_TIMESTAMP(timestamp),
                        RD_KAFKA_V_OPAQUE(is_lent ? (void *)consumed : pack_place(rec)),
                        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
                if (kerr != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        break;
                if (!rd_kafka_outq_len(sink->producer.client.rk)) {
                        if (headers)
                                rd_kafka_headers_destroy(headers);
                        return enlarge_queue(sink, rec, err);
                }
                if (!deadline)
                        deadline = rp_clock_ms() + sink->producer.config.timeout_ms;
                rp_client_serve(&sink->producer.client, 10);
                if (sink->producer.failure.code != RP_OK || rp_clock_ms() >= deadline)
                        break;
        }
        if (kerr) {
                if (headers)
                        rd_kafka_headers_destroy(headers); /* passes over on success only */
                return fail_append(sink, kerr, rec, err);
        }
        if (is_lent)
                *slot = NULL; /* ours until its delivery report */
        if (!rp_zero_time_done(&sink->producer.zero))
                return rp_fail(err, RP_ERR_BAD_RECORD,
                               "the record at partition %" PRId32 ", offset %" PRId64 " carries the time 0 (1970), which this "
                               "librdkafka (%s) cannot write",
                               rp_topics_partition(sink->source ? sink->source->topics : NULL, rec->partition), rec->offset,
                               rd_kafka_version_str());
        if (++sink->appended >= SERVE_EVERY) {
                sink->appended = 0;
                rp_client_serve(&sink->producer.client, 0);
                if (sink->producer.failure.code != RP_OK)
                        return rp_kafka_producer_judge(&sink->producer, sink->producer.failure.code, err);
        }
        return RP_OK;
}

/* ---- the end of a transaction ---------------------------------------------------------------------------------------- */

/*
 * The call that meets the failure of a transaction does not always tell its reason: producing never does, and adding the
 * progress not when the failure comes while its request is under way. Adding offsets, whichever, is then refused with it.
 */
static rp_err_t ask_why(struct kafka_sink *sink, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rp_err_t rc;

        rd_kafka_topic_partition_list_add(list, sink->topic, 0)->offset = 0;
        rc = rp_kafka_producer_send_offsets(&sink->producer, list, rd_kafka_consumer_group_metadata_new(sink->job), err);
        return rc != RP_OK ? rc : rp_fail(err, RP_ERR_ABORT_BATCH, "the transaction has failed");
}

static rp_err_t sink_say(struct rp_sink *base, const char *key, const char *text, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rp_err_t rc = rp_jobs_writer_say(&sink->writer, key, text, err);

        if (rc != RP_OK && sink->producer.is_doomed && sink->producer.client.rk)
                rc = rp_kafka_producer_judge(&sink->producer, ask_why(sink, err), err);
        if (rc != RP_OK)
                rp_jobs_writer_explain(&sink->writer, err);
        return rc;
}

static rp_err_t sink_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        bool is_apart = sink->store && sink->store->is_apart;
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)cnt);
        rd_kafka_consumer_group_metadata_t *group = NULL;
        rp_err_t rc;

        for (size_t i = 0; i < cnt; i++) {
                int32_t p = marks[i].partition;
                rd_kafka_topic_partition_t *at = sink->member
                        ? rd_kafka_topic_partition_list_add(list, sink->member->topic, p)
                        : rd_kafka_topic_partition_list_add(list, rp_source_topic(sink->source, p),
                                                            rp_source_partition(sink->source, p));

                at->offset = marks[i].next;
                at->metadata = marks[i].note ? strdup(marks[i].note) : NULL;
                at->metadata_size = at->metadata ? strlen(at->metadata) : 0;
        }
        for (int i = 0; i < sink->watch_cnt; i++)
                rp_topic_watch_ask_same(sink->watches[i]);
        rc = rp_jobs_writer_end(&sink->writer, marks, cnt, err);
        if (rc == RP_OK && sink->member)
                rc = rp_kafka_group_metadata(sink->member, &group, err);
        else if (rc == RP_OK && !is_apart)
                group = rd_kafka_consumer_group_metadata_new(sink->job);
        if (group)
                rc = rp_kafka_producer_send_offsets(&sink->producer, list, group, err);
        else
                rd_kafka_topic_partition_list_destroy(list);
        if (sink->producer.is_doomed && sink->producer.client.rk)
                rc = ask_why(sink, err);
        for (int i = 0; rc == RP_OK && i < sink->watch_cnt; i++)
                rc = rp_topic_watch_check_same(sink->watches[i], err);
        if (rc == RP_OK)
                rc = rp_kafka_producer_commit(&sink->producer, err);
        rc = rp_kafka_producer_judge(&sink->producer, rc, err);
        if (rc == RP_OK)
                rp_jobs_writer_committed(&sink->writer);
        else
                rp_jobs_writer_explain(&sink->writer, err);
        return rc;
}

static rp_err_t sink_abort(struct rp_sink *base, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);

        return rp_kafka_producer_abort(&sink->producer, sink->producer.config.timeout_ms, err);
}

static rp_err_t sink_flush(struct rp_sink *base, struct rp_error *err)
{
        return rp_kafka_producer_flush(&self(base)->producer, err);
}

static void sink_free(struct rp_sink *base)
{
        struct kafka_sink *sink = self(base);

        /* Readers of the target would wait for the transaction's timeout otherwise. */
        if (sink->producer.is_open && sink->producer.client.rk) {
                struct rp_error ignored;

                rp_kafka_producer_abort(&sink->producer, ABORT_MS, &ignored);
        }
        rp_kafka_producer_close(&sink->producer);
        free(sink->id);
        for (int i = 0; i < sink->watch_cnt; i++)
                rp_topic_watch_free(sink->watches[i]);
        rp_jobs_writer_release(&sink->writer);
        free(sink->job);
        free(sink->topic);
        free(sink);
}

static const struct rp_sink_ops kafka_sink_ops = {
        .stored = sink_stored,
        .recover = sink_recover,
        .begin = sink_begin,
        .append = sink_append,
        .say = sink_say,
        .commit = sink_commit,
        .abort = sink_abort,
        .free = sink_free,
        .flush = sink_flush,
};

rp_err_t rp_kafka_sink_check_count(struct rp_sink *base, int timeout_ms, int32_t wanted, const char *job, const char *advice,
                                   struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        const rd_kafka_metadata_t *found = NULL;
        rd_kafka_resp_err_t kerr = rd_kafka_metadata(sink->producer.client.rk, 0, sink->producer.rkt, &found, timeout_ms);
        int32_t cnt;

        if (!kerr && found->topic_cnt == 1)
                kerr = found->topics[0].err;
        cnt = !kerr && found->topic_cnt == 1 ? found->topics[0].partition_cnt : 0;
        if (found)
                rd_kafka_metadata_destroy(found);
        if (kerr)
                return rp_fail_resp(err, &sink->producer.client, kerr, "cannot look at topic \"%s\"", sink->topic);
        if (cnt == wanted)
                return RP_OK;
        return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has %" PRId32 " partitions now, this %s places keys by %" PRId32 ": %s",
                       sink->topic, cnt, job, wanted, advice);
}

static bool watch(struct kafka_sink *sink, struct rp_client *client, const char *topic, const char *id)
{
        if (!*id)
                return true;
        sink->watches[sink->watch_cnt] = rp_topic_watch_new(client, topic, id);
        return sink->watches[sink->watch_cnt] && ++sink->watch_cnt;
}

static bool watch_both(struct kafka_sink *sink, const struct rp_kafka_sink_config *config)
{
        const struct rp_job_descriptor *descriptor = config->descriptor;

        for (int32_t s = 0; s < descriptor->source_cnt; s++)
                if (!watch(sink, rp_kafka_source_client(config->source), descriptor->sources[s].topic, descriptor->sources[s].id))
                        return false;
        return watch(sink, rp_jobs_topic_client(config->store->jobs), sink->topic, descriptor->target.id);
}

static bool set_up(struct kafka_sink *sink, const struct rp_kafka_sink_config *config)
{
        struct rp_jobs_topic *jobs = config->store ? config->store->jobs : config->jobs;
        const struct rp_jobs_writer_config writer = {
                .producer = &sink->producer, .jobs = jobs, .store = config->store, .descriptor = config->descriptor,
                .source = config->source, .target_cnt = config->partition_cnt, .shard = config->shard,
                .is_mine = config->is_mine,
        };

        sink->base = (struct rp_sink){ .ops = &kafka_sink_ops, .partition_cnt = config->partition_cnt };
        sink->source = config->source;
        sink->member = config->group;
        sink->store = config->store;
        if (!(sink->job = strdup(config->job)) || !(sink->topic = strdup(config->topic)) ||
            !(sink->id = strdup(config->transactional_id ? config->transactional_id : config->job)))
                return false;
        sink->producer.config = (struct rp_kafka_producer_config){
                .client = config->client, .id = sink->id, .topic = sink->topic,
                .jobs_topic = jobs ? rp_jobs_topic_name(jobs) : NULL, .partition_cnt = config->partition_cnt,
                .compression = config->compression, .batch_bytes_max = config->batch_bytes_max,
                .timeout_ms = config->timeout_ms, .on_delivery = on_delivery,
        };
        return rp_jobs_writer_init(&sink->writer, &writer) &&
               (!rp_jobs_writer_has_checkpoints(&sink->writer) || watch_both(sink, config));
}

rp_err_t rp_kafka_sink_new(struct rp_sink **out, const struct rp_kafka_sink_config *config, struct rp_error *err)
{
        struct kafka_sink *sink = calloc(1, sizeof(*sink));

        if (!sink || !set_up(sink, config)) {
                if (sink)
                        sink_free(&sink->base);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        *out = &sink->base;
        return RP_OK;
}

rp_err_t rp_kafka_sink_watch(struct rp_sink *base, struct rp_client *client, const char *topic, int timeout_ms,
                             struct rp_error *err)
{
        char id[RP_TOPIC_ID_SIZE] = "";
        rp_err_t rc = RP_OK;

        if (rp_cluster_is_administrable(client, timeout_ms)) /* an embedded one has no ids */
                rc = rp_topic_id(client, topic, timeout_ms, id, err);
        if (rc == RP_OK && !watch(self(base), client, topic, id))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rc;
}

rp_err_t rp_kafka_sink_try(const struct rp_kafka_sink_config *config, struct rp_error *err)
{
        struct rp_sink *base = NULL;
        rp_err_t rc = rp_kafka_sink_new(&base, config, err);

        if (rc != RP_OK)
                return rc;
        rc = open_producer(self(base), err);
        sink_free(base);
        return rc;
}
