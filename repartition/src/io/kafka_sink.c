#define RP_WITH_RDKAFKA
#include "io/kafka_sink.h"

#include "clock.h"
#include "decide/checkpoint.h"
#include "io/cluster.h"
#include "io/kafka_group.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"
#include "io/transact.h"
#include "io/unanswered.h"
#include "io/zero_time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        ZERO_COPY_FROM = 2048, /* bytes of value: below, copying costs less than freeing the message in another thread */
        SERVE_EVERY = 256,     /* appended records between two looks at the delivery reports */
        BATCH_BYTES = 1000000, /* librdkafka's batch.size */
        SEND_IN_PLACE_FROM = 4096, /* bytes of value: below, librdkafka copies it into the request */
        QUEUE_KBYTES_MIN = 8192,
        QUEUE_RECORDS_MIN = 10000,
        QUEUE_RECORDS_MAX = 100000,
        INIT_TRY_MS = 10000,
        PEEK_MS = 3000,        /* stored() is a look in passing; recover() has more patience */
        PURGE_MS = 3000,
        ABORT_MS = 5000        /* when all is over anyway */
};

struct kafka_sink {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        struct rp_sink base;
        const struct rp_client_config *config;
        struct rp_source *source; /* one of these two */
        struct rp_group *member;
        char *job, *topic, *id;
        const char *compression; /* NULL: not ours to choose */
        rd_kafka_topic_t *rkt;
        int64_t batch_bytes_max;
        int64_t queue_kbytes_needed; /* for the longest record that did not fit into an empty queue */
        int timeout_ms;
        bool is_open;
        int64_t opened_ms;
        struct rp_zero_time zero;
        struct rp_unanswered *unanswered; /* of the producer at hand */
        int64_t transaction_timeout_ms;   /* likewise; the user may set another one */
        unsigned appended;       /* since delivery reports were last looked at */
        struct rp_error failure; /* of the first record that could not be delivered; RP_OK when none */

        struct rp_job_store *store;         /* NULL: none */
        struct rp_jobs_topic *jobs;         /* the store's, or the caller's; NULL: none */
        rd_kafka_topic_t *jobs_rkt;         /* NULL: no topic of jobs */
        struct rp_checkpoint_log log;
        char *descriptor;                   /* still to be written; NULL: none, or done */
        int shard;
        bool is_doomed;                     /* the transaction can only be aborted; its next call will tell why */
        bool keeps_anchors;                 /* this transaction's checkpoint will be a full one */
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

/* An unknown topic is no final word: brokers that come and go say so for a while. */
static rp_err_t next_step(rd_kafka_resp_err_t kerr)
{
        rp_err_t code = rp_err_from_kafka(kerr);

        return code == RP_ERR_BAD_RECORD || code == RP_ERR_FENCED || rp_is_refused(kerr) ? code : RP_ERR_ABORT_BATCH;
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

static void fail_jobs_delivery(struct kafka_sink *sink, const rd_kafka_message_t *report)
{
        const char *topic = rp_jobs_topic_name(sink->jobs);

        rp_fail(&sink->failure, next_step(report->err), "topic \"%s\" does not take a record of this job (%zu bytes): %s%s",
                topic, report->len + report->key_len, rd_kafka_err2str(report->err),
                report->err == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP ? "; this machine's clock is ahead of the broker's: set the "
                "topic's message.timestamp.type to LogAppendTime, as if it had been made by rewrite" : "");
        rp_client_needs(&sink->client, RP_RESOURCE_TOPIC, "Write", topic);
        rp_client_append_right(&sink->client, report->err, sink->failure.text, sizeof(sink->failure.text));
        rp_client_needs(&sink->client, RP_RESOURCE_TOPIC, "Write", sink->topic);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *report, void *opaque)
{
        struct kafka_sink *sink = opaque;
        uintptr_t packed = (uintptr_t)report->_private;
        rd_kafka_message_t *consumed = packed & 1 ? NULL : report->_private;

        (void)rk;
        if (!report->_private) { /* of the topic of jobs; producing sets it for every record of the target */
                if (report->err && sink->failure.code == RP_OK && report->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
                    report->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
                        fail_jobs_delivery(sink, report);
                return;
        }
        if (!report->err && sink->jobs_rkt)
                rp_checkpoint_log_wrote(&sink->log, report->partition, report->offset);
        /* Not rd_kafka_message_errstr(): up to 2.0.2 that is the payload, which of a report is the record's value. */
        if (report->err && sink->failure.code == RP_OK && report->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
            report->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
                int64_t offset = consumed ? consumed->offset : (int64_t)(packed >> 17);
                char from[RP_TOPICS_LABEL_SIZE + 40];

                if (consumed)
                        name_place(sink, rd_kafka_topic_name(consumed->rkt), consumed->partition, from);
                else
                        name_packed(sink, (int32_t)(packed >> 1 & 0xffff), from);
                rp_fail(&sink->failure, next_step(report->err),
                        "topic \"%s\", partition %" PRId32 " does not take the record from %s, offset %" PRId64
                        " (%zu bytes): %s", sink->topic, report->partition, from, offset, report->len + report->key_len,
                        rd_kafka_err2str(report->err));
                rp_client_append_right(&sink->client, report->err, sink->failure.text, sizeof(sink->failure.text));
        }
        if (consumed)
                rd_kafka_message_destroy(consumed);
}

/* ---- the producer ------------------------------------------------------------------------------------------------ */

static rp_err_t read_timeout(struct kafka_sink *sink, const rd_kafka_conf_t *conf, struct rp_error *err)
{
        char value[32] = "";
        size_t size = sizeof(value);

        if (rd_kafka_conf_get(conf, "transaction.timeout.ms", value, &size) != RD_KAFKA_CONF_OK)
                return rp_fail(err, RP_ERR_FATAL, "librdkafka %s does not tell its transaction.timeout.ms", rd_kafka_version_str());
        sink->transaction_timeout_ms = atoll(value);
        return RP_OK;
}

static rp_err_t make_conf(struct kafka_sink *sink, rd_kafka_conf_t **out, struct rp_error *err)
{
        static const char *const fixed[] = { "enable.idempotence", "true", "acks", "all", "allow.auto.create.topics",
                                             "false", "topic.metadata.refresh.interval.ms", "10000", NULL };
        const struct rp_client_config *config = sink->config;
        rd_kafka_conf_t *conf = rp_client_conf(config, err);
        int64_t queue_kbytes, queue_records = 50 * (int64_t)sink->base.partition_cnt;
        rp_err_t rc;

        if (!conf)
                return err->code;
        /* Of many partitions each has a batch of its own to fill; librdkafka looks through all of them for every request. */
        if (queue_records < QUEUE_RECORDS_MIN)
                queue_records = QUEUE_RECORDS_MIN;
        if (queue_records > QUEUE_RECORDS_MAX)
                queue_records = QUEUE_RECORDS_MAX;
        queue_kbytes = 6 * sink->batch_bytes_max / 1024;
        if (queue_kbytes < QUEUE_KBYTES_MIN)
                queue_kbytes = QUEUE_KBYTES_MIN;
        if (queue_kbytes < sink->queue_kbytes_needed)
                queue_kbytes = sink->queue_kbytes_needed;
        if (queue_kbytes > INT32_MAX)
                queue_kbytes = INT32_MAX;
        rc = rp_client_set_all(conf, fixed, err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "transactional.id", sink->id, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "transaction.timeout.ms", RP_TRANSACTION_TIMEOUT_MS, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "message.timeout.ms", RP_TRANSACTION_TIMEOUT_MS - 1000, err);
        /* The topic's own limit judges records, not the client's, which would count before compression. */
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "message.max.bytes", 1000000000, err);
        /* Otherwise librdkafka's own: smaller batches are more requests, a quarter more CPU for records of 10 KB. */
        if (rc == RP_OK && sink->batch_bytes_max && sink->batch_bytes_max < BATCH_BYTES)
                rc = rp_client_tune(conf, config, "batch.size", sink->batch_bytes_max, err);
        if (rc == RP_OK && sink->compression)
                rc = rp_client_set(conf, "compression.type", sink->compression, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "linger.ms", queue_records > QUEUE_RECORDS_MIN ? 50 : 5, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "message.copy.max.bytes", SEND_IN_PLACE_FROM, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "queue.buffering.max.messages", queue_records, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "queue.buffering.max.kbytes", queue_kbytes, err);
        if (rc == RP_OK)
                rc = rp_zero_time_install(conf, &sink->zero, err);
        if (rc == RP_OK && !(sink->unanswered = rp_unanswered_install(conf, err)))
                rc = err->code;
        if (rc == RP_OK)
                rc = read_timeout(sink, conf, err);
        if (rc != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return rc;
        }
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        *out = conf;
        return RP_OK;
}

/* Gets every delivery report back, since consumed messages hang on them, then destroys. */
static void close_producer(struct kafka_sink *sink)
{
        int64_t deadline = rp_clock_ms() + PURGE_MS;

        if (!sink->client.rk)
                return;
        rd_kafka_purge(sink->client.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        while (rd_kafka_outq_len(sink->client.rk) > 0 && rp_clock_ms() < deadline)
                rp_client_serve(&sink->client, 50);
        if (sink->rkt)
                rd_kafka_topic_destroy(sink->rkt);
        if (sink->jobs_rkt)
                rd_kafka_topic_destroy(sink->jobs_rkt);
        sink->rkt = sink->jobs_rkt = NULL;
        rp_client_close(&sink->client);
        free(sink->unanswered);
        sink->unanswered = NULL;
        sink->is_open = false;
        sink->failure = (struct rp_error){ .code = RP_OK };
}

static rp_err_t open_producer(struct kafka_sink *sink, struct rp_error *err)
{
        rd_kafka_conf_t *conf = NULL;
        rp_err_t rc = make_conf(sink, &conf, err);

        if (rc == RP_OK)
                rc = rp_client_open(&sink->client, RD_KAFKA_PRODUCER, conf, err);
        if (rc != RP_OK)
                return rc;
        rp_client_needs(&sink->client, RP_RESOURCE_TOPIC, "Write", sink->topic);
        rp_client_needs(&sink->client, RP_RESOURCE_GROUP, "Read", sink->job);
        sink->rkt = rd_kafka_topic_new(sink->client.rk, sink->topic, NULL);
        if (!sink->rkt)
                return rp_fail_resp(err, &sink->client, rd_kafka_last_error(), "cannot use topic \"%s\"", sink->topic);
        if (!sink->jobs)
                return RP_OK;
        sink->jobs_rkt = rd_kafka_topic_new(sink->client.rk, rp_jobs_topic_name(sink->jobs), NULL);
        if (!sink->jobs_rkt)
                return rp_fail_resp(err, &sink->client, rd_kafka_last_error(), "cannot use topic \"%s\"",
                                    rp_jobs_topic_name(sink->jobs));
        return RP_OK;
}

/* ---- calls that may hang ---------------------------------------------------------------------------------------- */

/*
 * The client is in use by a thread that will not come back: it is left to itself, but for the delivery reports, since
 * consumed messages hang on them. The producer that takes its name fences it.
 */
static void abandon_producer(struct kafka_sink *sink)
{
        int64_t deadline = rp_clock_ms() + PURGE_MS;

        rd_kafka_purge(sink->client.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        while (rd_kafka_outq_len(sink->client.rk) > 0 && rp_clock_ms() < deadline)
                rp_client_serve(&sink->client, 50);
        sink->client.rk = NULL;
        sink->rkt = sink->jobs_rkt = NULL;
        sink->unanswered = NULL; /* the client's for as long as it lives */
        sink->is_open = false;
}

/* `doing` completes "cannot ...". */
static rp_err_t transact(struct kafka_sink *sink, const struct rp_transact_call *call, const char *doing, struct rp_error *err)
{
        rp_transact_end_t end;
        rp_err_t rc = rp_transact(&sink->client, call, doing, &end, err);

        if (end == RP_TRANSACT_HUNG)
                abandon_producer(sink);
        sink->is_doomed |= end == RP_TRANSACT_FAILED_BEFORE;
        return rc;
}

/* Takes both. */
static rp_err_t send_offsets(struct kafka_sink *sink, rd_kafka_topic_partition_list_t *offsets,
                             rd_kafka_consumer_group_metadata_t *group, struct rp_error *err)
{
        /* Progress that is added later than the cluster has patience with the transaction is of no use. */
        int ms = sink->timeout_ms < RP_TRANSACTION_TIMEOUT_MS ? sink->timeout_ms : RP_TRANSACTION_TIMEOUT_MS;
        struct rp_transact_call call = { RP_TRANSACT_SEND_OFFSETS, ms, offsets, group };

        return transact(sink, &call, "add the progress to the transaction", err);
}

static rp_err_t commit(struct kafka_sink *sink, struct rp_error *err)
{
        struct rp_transact_call call = { RP_TRANSACT_COMMIT, sink->timeout_ms, NULL, NULL };

        return transact(sink, &call, "commit the transaction", err);
}

static rp_err_t abort_open(struct kafka_sink *sink, int timeout_ms, struct rp_error *err)
{
        struct rp_transact_call call = { RP_TRANSACT_ABORT, timeout_ms, NULL, NULL };

        return transact(sink, &call, "abort the transaction", err);
}

/* Fences whoever had the id, and aborts what was open under it. Patient: the coordinator may be moving. */
static rp_err_t init_transactions(struct kafka_sink *sink, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + sink->timeout_ms;
        char doing[300];

        snprintf(doing, sizeof(doing), "begin transactions as \"%.250s\"", sink->id);
        for (;;) {
                int64_t left = deadline - rp_clock_ms();
                int wait = left > INIT_TRY_MS ? INIT_TRY_MS : left > 1 ? (int)left : 1;
                struct rp_transact_call call = { RP_TRANSACT_INIT, wait, NULL, NULL };
                rp_err_t rc = transact(sink, &call, doing, err);

                if (sink->client.rk)
                        rp_client_serve(&sink->client, 0);
                if (rc != RP_ERR_RETRY || rp_clock_ms() >= deadline)
                        return rc;
        }
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
        return read_progress(sink, progress, sink->member ? sink->timeout_ms : PEEK_MS, err);
}

/* Nothing of this job is open now, so what the target holds up to here belongs to the stored progress. */
static rp_err_t restart_log(struct kafka_sink *sink, const struct rp_progress *progress, struct rp_error *err)
{
        int64_t *ends = malloc(((size_t)sink->base.partition_cnt + 1) * sizeof(*ends));
        rp_err_t rc;

        if (!ends)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_jobs_topic_ends_of(sink->store->jobs, sink->topic, sink->base.partition_cnt, sink->timeout_ms, ends, err);
        if (rc == RP_OK)
                rp_checkpoint_log_restart(&sink->log, progress, ends);
        free(ends);
        return rc;
}

static rp_err_t sink_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rp_err_t rc;

        close_producer(sink);
        rc = open_producer(sink, err);
        if (rc == RP_OK)
                rc = init_transactions(sink, err);
        if (rc == RP_OK)
                rc = read_progress(sink, progress, sink->timeout_ms, err);
        if (rc == RP_OK && sink->store && sink->jobs)
                rc = restart_log(sink, progress, err);
        return rc;
}

/* ---- a transaction ------------------------------------------------------------------------------------------------ */

/*
 * The one exit for errors of a transaction. Being fenced long after the transaction began is no proof of another run:
 * the cluster ends transactions that stay open too long (this process may have been stopped), in the same words.
 */
static rp_err_t judge(struct kafka_sink *sink, rp_err_t rc, struct rp_error *err)
{
        int64_t age = rp_clock_ms() - sink->opened_ms;

        if (rc == RP_OK)
                return RP_OK;
        if (sink->client.rk)
                rp_client_serve(&sink->client, 0);
        if (rc == RP_ERR_FENCED && age >= sink->transaction_timeout_ms)
                return rp_fail(err, RP_ERR_ABORT_BATCH,
                               "the transaction was open for %" PRId64 " s and timed out", age / 1000);
        if (rc != RP_ERR_FENCED && sink->failure.code != RP_OK) {
                *err = sink->failure; /* the record's own error tells more than "the transaction must be aborted" */
                rc = err->code;
        }
        return rc;
}

static rp_err_t sink_begin(struct rp_sink *base, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);

        sink->opened_ms = rp_clock_ms();
        sink->is_open = true;
        sink->is_doomed = false;
        rp_client_needs(&sink->client, RP_RESOURCE_TOPIC, "Write", sink->topic);
        sink->keeps_anchors = sink->store && sink->jobs && rp_checkpoint_log_wants_anchors(&sink->log);
        return judge(sink, rp_fail_kafka(err, &sink->client, rd_kafka_begin_transaction(sink->client.rk),
                                         "cannot begin a transaction"), err);
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
        rp_client_serve(&sink->client, 0);
        if (kerr == RD_KAFKA_RESP_ERR__FATAL || kerr == RD_KAFKA_RESP_ERR__FENCED)
                kerr = rd_kafka_fatal_error(sink->client.rk, text, sizeof(text));
        rp_fail_resp(err, &sink->client, kerr,
                     "cannot write the record from %s, offset %" PRId64 " (%zu bytes)%s%s", from, rec->offset,
                     rec->key_len + rec->value_len, *text ? ": " : "", text);
        err->code = next_step(kerr);
        return judge(sink, err->code, err);
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
        if (needed <= sink->queue_kbytes_needed) /* it is set by the user */
                return err->code = RP_ERR_USAGE;
        sink->queue_kbytes_needed = needed;
        return err->code;
}

static rp_err_t sink_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rd_kafka_message_t **slot = rec->native, *consumed = slot ? *slot : NULL;
        rd_kafka_headers_t *headers = NULL;
        bool is_lent = consumed && rec->value_len >= ZERO_COPY_FROM;
        int64_t timestamp = rp_zero_time_begin(&sink->zero, rec->timestamp_ms);
        int64_t deadline = 0;
        rd_kafka_resp_err_t kerr;

        if (sink->keeps_anchors && rec->partition >= 0 && rec->partition < sink->log.source_cnt)
                sink->log.anchors[rec->partition] = (struct rp_anchor){ rec->offset, rp_anchor_digest(rec) };
        if (!consumed)
                headers = copy_headers(rec);
        else if (rd_kafka_message_detach_headers(consumed, &headers))
                headers = NULL;
        for (;;) {
                kerr = rd_kafka_producev(
                        sink->client.rk, RD_KAFKA_V_RKT(sink->rkt), RD_KAFKA_V_PARTITION(to),
                        RD_KAFKA_V_MSGFLAGS(is_lent ? 0 : RD_KAFKA_MSG_F_COPY),
                        RD_KAFKA_V_KEY(rec->key, rec->key_len), RD_KAFKA_V_VALUE((void *)rec->value, rec->value_len),
                        RD_KAFKA_V_TIMESTAMP(timestamp),
                        RD_KAFKA_V_OPAQUE(is_lent ? (void *)consumed : pack_place(rec)),
                        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
                if (kerr != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        break;
                if (!rd_kafka_outq_len(sink->client.rk)) {
                        if (headers)
                                rd_kafka_headers_destroy(headers);
                        return enlarge_queue(sink, rec, err);
                }
                if (!deadline)
                        deadline = rp_clock_ms() + sink->timeout_ms;
                rp_client_serve(&sink->client, 10);
                if (sink->failure.code != RP_OK || rp_clock_ms() >= deadline)
                        break;
        }
        if (kerr) {
                if (headers)
                        rd_kafka_headers_destroy(headers); /* passes over on success only */
                return fail_append(sink, kerr, rec, err);
        }
        if (is_lent)
                *slot = NULL; /* ours until its delivery report */
        if (!rp_zero_time_done(&sink->zero))
                return rp_fail(err, RP_ERR_BAD_RECORD,
                               "the record at partition %" PRId32 ", offset %" PRId64 " carries the time 0 (1970), which this "
                               "librdkafka (%s) cannot write",
                               rp_topics_partition(sink->source ? sink->source->topics : NULL, rec->partition), rec->offset,
                               rd_kafka_version_str());
        if (++sink->appended >= SERVE_EVERY) {
                sink->appended = 0;
                rp_client_serve(&sink->client, 0);
                if (sink->failure.code != RP_OK)
                        return judge(sink, sink->failure.code, err);
        }
        return RP_OK;
}

/* ---- what goes into the topic of jobs ------------------------------------------------------------------------------- */

/* Being fenced must not pass for trouble that a new producer could mend: it would fence the one that took over. */
static rp_err_t fail_write(struct kafka_sink *sink, rd_kafka_resp_err_t kerr, const char *topic, struct rp_error *err)
{
        rd_kafka_resp_err_t fatal;
        char text[256] = "";

        rp_client_serve(&sink->client, 0);
        fatal = rd_kafka_fatal_error(sink->client.rk, text, sizeof(text));
        kerr = fatal ? fatal : kerr;
        sink->is_doomed |= kerr == RD_KAFKA_RESP_ERR__STATE;
        rp_fail_resp(err, &sink->client, kerr, "cannot write to topic \"%s\"%s%s", topic, *text ? ": " : "", text);
        err->code = next_step(kerr);
        return judge(sink, err->code, err);
}

static rp_err_t tell(struct kafka_sink *sink, const char *key, const char *text, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + sink->timeout_ms;

        for (;;) {
                rd_kafka_resp_err_t kerr = rd_kafka_producev(
                        sink->client.rk, RD_KAFKA_V_RKT(sink->jobs_rkt), RD_KAFKA_V_PARTITION(0),
                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, strlen(key)),
                        RD_KAFKA_V_VALUE((void *)text, strlen(text)), RD_KAFKA_V_END);

                if (!kerr) {
                        /* What is refused from now on in this transaction is refused there: the target's records are in. */
                        rp_client_needs(&sink->client, RP_RESOURCE_TOPIC, "Write", rp_jobs_topic_name(sink->jobs));
                        return RP_OK;
                }
                if (kerr != RD_KAFKA_RESP_ERR__QUEUE_FULL || rp_clock_ms() >= deadline)
                        return fail_write(sink, kerr, rp_jobs_topic_name(sink->jobs), err);
                rp_client_serve(&sink->client, 10);
                if (sink->failure.code != RP_OK)
                        return judge(sink, sink->failure.code, err);
        }
}

/* The delivery reports tell where the records came to lie, and that is what a checkpoint is about. */
static rp_err_t await_deliveries(struct kafka_sink *sink, struct rp_error *err)
{
        rd_kafka_resp_err_t kerr = rd_kafka_flush(sink->client.rk, sink->timeout_ms);
        char text[256];

        if (sink->failure.code != RP_OK)
                return judge(sink, sink->failure.code, err);
        /* A producer that was fenced has purged what it had: all is flushed then, and nothing is written. */
        if (!kerr && rd_kafka_fatal_error(sink->client.rk, text, sizeof(text)))
                kerr = RD_KAFKA_RESP_ERR__FATAL;
        return kerr ? fail_write(sink, kerr, sink->topic, err) : RP_OK;
}

static rp_err_t tell_progress(struct kafka_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        char key[RP_JOB_KEY_SIZE];
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                char *text = rp_job_progress_print(marks[i].next, marks[i].note);

                rp_job_progress_key(key, sink->store->fold.job, rp_source_topic(sink->source, marks[i].partition),
                                    rp_source_partition(sink->source, marks[i].partition));
                rc = text ? tell(sink, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
                free(text);
        }
        return rc;
}

static rp_err_t tell_jobs(struct kafka_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        char key[RP_JOB_KEY_SIZE], *text;
        rp_err_t rc = await_deliveries(sink, err);

        if (rc == RP_OK && sink->descriptor)
                rc = tell(sink, sink->store->fold.job, sink->descriptor, err);
        if (rc == RP_OK && sink->store->is_apart)
                rc = tell_progress(sink, marks, cnt, err);
        if (rc != RP_OK)
                return rc;
        rp_job_checkpoint_key(key, sink->store->fold.job, sink->shard, sink->log.seq,
                              rp_checkpoint_log_wants_anchors(&sink->log));
        text = rp_checkpoint_log_print(&sink->log, marks, cnt);
        rc = text ? tell(sink, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        free(text);
        if (rc == RP_OK)
                rp_checkpoint_log_told(&sink->log);
        return rc;
}

static rp_err_t sink_say(struct rp_sink *base, const char *key, const char *text, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);

        return sink->jobs_rkt ? tell(sink, key, text, err) : RP_OK;
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
        rc = send_offsets(sink, list, rd_kafka_consumer_group_metadata_new(sink->job), err);
        return rc != RP_OK ? rc : rp_fail(err, RP_ERR_ABORT_BATCH, "the transaction has failed");
}

static rp_err_t sink_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        bool is_apart = sink->store && sink->store->is_apart;
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)cnt);
        rd_kafka_consumer_group_metadata_t *group = NULL;
        rp_err_t rc = RP_OK;

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
        if (sink->store && sink->jobs)
                rc = tell_jobs(sink, marks, cnt, err);
        if (rc == RP_OK && sink->member)
                rc = rp_kafka_group_metadata(sink->member, &group, err);
        else if (rc == RP_OK && !is_apart)
                group = rd_kafka_consumer_group_metadata_new(sink->job);
        if (group)
                rc = send_offsets(sink, list, group, err);
        else
                rd_kafka_topic_partition_list_destroy(list);
        if (sink->is_doomed && sink->client.rk)
                rc = ask_why(sink, err);
        for (int i = 0; rc == RP_OK && i < sink->watch_cnt; i++)
                rc = rp_topic_watch_check_same(sink->watches[i], err);
        if (rc == RP_OK)
                rc = commit(sink, err);
        /* Success told by the answer to a second request: the first may still arrive, in a later transaction. */
        if (rc == RP_OK && rp_unanswered_count(sink->unanswered))
                rc = rp_fail(err, RP_ERR_ABORT_BATCH, "a request about the transaction was never answered%s%s",
                             *sink->client.trouble ? ": " : "", sink->client.trouble);
        rc = judge(sink, rc, err);
        if (rc == RP_OK) {
                sink->is_open = false;
                free(sink->descriptor);
                sink->descriptor = NULL;
        }
        return rc;
}

static rp_err_t sink_abort(struct rp_sink *base, struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        rp_err_t rc = abort_open(sink, sink->timeout_ms, err);

        if (rc != RP_OK)
                return judge(sink, rc, err);
        rp_client_serve(&sink->client, 0); /* the reports of records that were purged */
        sink->failure = (struct rp_error){ .code = RP_OK };
        sink->is_open = false;
        return RP_OK;
}

static void sink_free(struct rp_sink *base)
{
        struct kafka_sink *sink = self(base);

        /* Readers of the target would wait for the transaction's timeout otherwise. */
        if (sink->is_open && sink->client.rk) {
                struct rp_error ignored;

                abort_open(sink, ABORT_MS, &ignored);
        }
        close_producer(sink);
        free(sink->id);
        for (int i = 0; i < sink->watch_cnt; i++)
                rp_topic_watch_free(sink->watches[i]);
        rp_checkpoint_log_release(&sink->log);
        free(sink->descriptor);
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
};

rp_err_t rp_kafka_sink_check_count(struct rp_sink *base, int timeout_ms, int32_t wanted, const char *job, const char *advice,
                                   struct rp_error *err)
{
        struct kafka_sink *sink = self(base);
        const rd_kafka_metadata_t *found = NULL;
        rd_kafka_resp_err_t kerr = rd_kafka_metadata(sink->client.rk, 0, sink->rkt, &found, timeout_ms);
        int32_t cnt;

        if (!kerr && found->topic_cnt == 1)
                kerr = found->topics[0].err;
        cnt = !kerr && found->topic_cnt == 1 ? found->topics[0].partition_cnt : 0;
        if (found)
                rd_kafka_metadata_destroy(found);
        if (kerr)
                return rp_fail_resp(err, &sink->client, kerr, "cannot look at topic \"%s\"", sink->topic);
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

static bool attach_store(struct kafka_sink *sink, const struct rp_kafka_sink_config *config)
{
        sink->store = config->store;
        sink->jobs = config->store ? config->store->jobs : config->jobs;
        sink->shard = config->shard;
        if (!config->store || !config->store->jobs)
                return true;
        sink->descriptor = rp_job_descriptor_print(config->descriptor);
        if (!sink->descriptor || !rp_checkpoint_log_init(&sink->log, config->source->partition_cnt, config->partition_cnt,
                                                         config->store->fold.next_seq))
                return false;
        sink->log.epoch = config->descriptor->since_ms;
        sink->log.topics = config->source->topics;
        sink->log.is_mine = config->is_mine;
        for (int32_t s = 0; s < config->descriptor->source_cnt; s++)
                if (!watch(sink, rp_kafka_source_client(config->source), config->descriptor->sources[s].topic,
                           config->descriptor->sources[s].id))
                        return false;
        return watch(sink, rp_jobs_topic_client(config->store->jobs), sink->topic, config->descriptor->target.id);
}

rp_err_t rp_kafka_sink_new(struct rp_sink **out, const struct rp_kafka_sink_config *config, struct rp_error *err)
{
        struct kafka_sink *sink = calloc(1, sizeof(*sink));

        if (!sink || !(sink->job = strdup(config->job)) || !(sink->topic = strdup(config->topic)) ||
            !(sink->id = strdup(config->transactional_id ? config->transactional_id : config->job)) ||
            !attach_store(sink, config)) {
                if (sink)
                        sink_free(&sink->base);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        sink->base = (struct rp_sink){ .ops = &kafka_sink_ops, .partition_cnt = config->partition_cnt };
        sink->config = config->client;
        sink->source = config->source;
        sink->member = config->group;
        sink->compression = config->compression;
        sink->batch_bytes_max = config->batch_bytes_max;
        sink->timeout_ms = config->timeout_ms;
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
        if (rc == RP_OK)
                rc = init_transactions(self(base), err);
        sink_free(base);
        return rc;
}
