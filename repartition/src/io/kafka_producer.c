#define RP_WITH_RDKAFKA
#include "io/kafka_producer.h"

#include "clock.h"
#include "io/transact.h"
#include "io/unanswered.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
        BATCH_BYTES = 1000000, /* librdkafka's batch.size */
        SEND_IN_PLACE_FROM = 4096, /* bytes of value: below, librdkafka copies it into the request */
        QUEUE_KBYTES_MIN = 8192,
        QUEUE_RECORDS_MIN = 10000,
        QUEUE_RECORDS_MAX = 100000,
        INIT_TRY_MS = 10000,
        PURGE_MS = 3000
};

/* ---- configuration ------------------------------------------------------------------------------------------------- */

static rp_err_t read_timeout(struct rp_kafka_producer *producer, const rd_kafka_conf_t *conf, struct rp_error *err)
{
        char value[32] = "";
        size_t size = sizeof(value);

        if (rd_kafka_conf_get(conf, "transaction.timeout.ms", value, &size) != RD_KAFKA_CONF_OK)
                return rp_fail(err, RP_ERR_FATAL, "librdkafka %s does not tell its transaction.timeout.ms",
                               rd_kafka_version_str());
        producer->transaction_timeout_ms = atoll(value);
        return RP_OK;
}

static int64_t between(int64_t value, int64_t min, int64_t max)
{
        return value < min ? min : value > max ? max : value;
}

static rp_err_t tune_queue(const struct rp_kafka_producer *producer, rd_kafka_conf_t *conf, struct rp_error *err)
{
        const struct rp_kafka_producer_config *config = &producer->config;
        /* Of many partitions each has a batch of its own to fill; librdkafka looks through all of them for every request. */
        int64_t records = between(50 * (int64_t)config->partition_cnt, QUEUE_RECORDS_MIN, QUEUE_RECORDS_MAX);
        int64_t kbytes = between(6 * config->batch_bytes_max / 1024, QUEUE_KBYTES_MIN, INT32_MAX);
        rp_err_t rc;

        kbytes = between(producer->queue_kbytes_needed, kbytes, INT32_MAX);
        rc = rp_client_tune(conf, config->client, "linger.ms", records > QUEUE_RECORDS_MIN ? 50 : 5, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "message.copy.max.bytes", SEND_IN_PLACE_FROM, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queue.buffering.max.messages", records, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queue.buffering.max.kbytes", kbytes, err);
        return rc;
}

static rp_err_t make_conf(struct rp_kafka_producer *producer, rd_kafka_conf_t **out, struct rp_error *err)
{
        static const char *const fixed[] = { "enable.idempotence", "true", "acks", "all", "allow.auto.create.topics",
                                             "false", "topic.metadata.refresh.interval.ms", "10000", NULL };
        const struct rp_kafka_producer_config *config = &producer->config;
        rd_kafka_conf_t *conf = rp_client_conf(config->client, err);
        rp_err_t rc;

        if (!conf)
                return err->code;
        rc = rp_client_set_all(conf, fixed, err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "transactional.id", config->id, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "transaction.timeout.ms", RP_TRANSACTION_TIMEOUT_MS, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "message.timeout.ms", RP_TRANSACTION_TIMEOUT_MS - 1000, err);
        /* The topic's own limit judges records, not the client's, which would count before compression. */
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "message.max.bytes", 1000000000, err);
        /* Otherwise librdkafka's own: smaller batches are more requests, a quarter more CPU for records of 10 KB. */
        if (rc == RP_OK && config->batch_bytes_max && config->batch_bytes_max < BATCH_BYTES)
                rc = rp_client_tune(conf, config->client, "batch.size", config->batch_bytes_max, err);
        if (rc == RP_OK && config->compression)
                rc = rp_client_set(conf, "compression.type", config->compression, err);
        if (rc == RP_OK)
                rc = tune_queue(producer, conf, err);
        if (rc == RP_OK)
                rc = rp_zero_time_install(conf, &producer->zero, err);
        if (rc == RP_OK && !(producer->unanswered = rp_unanswered_install(conf, err)))
                rc = err->code;
        if (rc == RP_OK)
                rc = read_timeout(producer, conf, err);
        if (rc != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return rc;
        }
        rd_kafka_conf_set_dr_msg_cb(conf, config->on_delivery);
        *out = conf;
        return RP_OK;
}

/* ---- opening and closing --------------------------------------------------------------------------------------------- */

static rp_err_t use_topic(struct rp_kafka_producer *producer, const char *topic, rd_kafka_topic_t **rkt, struct rp_error *err)
{
        *rkt = rd_kafka_topic_new(producer->client.rk, topic, NULL);
        return *rkt ? RP_OK : rp_fail_resp(err, &producer->client, rd_kafka_last_error(), "cannot use topic \"%s\"", topic);
}

rp_err_t rp_kafka_producer_open(struct rp_kafka_producer *producer, struct rp_error *err)
{
        const struct rp_kafka_producer_config *config = &producer->config;
        rd_kafka_conf_t *conf = NULL;
        rp_err_t rc = make_conf(producer, &conf, err);

        if (rc == RP_OK)
                rc = rp_client_open(&producer->client, RD_KAFKA_PRODUCER, conf, err);
        if (rc != RP_OK) {
                free(producer->unanswered);
                producer->unanswered = NULL;
                return rc;
        }
        rp_client_needs(&producer->client, RP_RESOURCE_TOPIC, "Write", config->topic);
        rc = use_topic(producer, config->topic, &producer->rkt, err);
        if (rc == RP_OK && config->jobs_topic)
                rc = use_topic(producer, config->jobs_topic, &producer->jobs_rkt, err);
        return rc;
}

/* What is left undone is void. Consumed messages hang on the delivery reports. */
static void purge(struct rp_kafka_producer *producer)
{
        int64_t deadline = rp_clock_ms() + PURGE_MS;

        rd_kafka_purge(producer->client.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        while (rd_kafka_outq_len(producer->client.rk) > 0 && rp_clock_ms() < deadline)
                rp_client_serve(&producer->client, 50);
}

void rp_kafka_producer_close(struct rp_kafka_producer *producer)
{
        if (!producer->client.rk)
                return;
        purge(producer);
        if (producer->rkt)
                rd_kafka_topic_destroy(producer->rkt);
        if (producer->jobs_rkt)
                rd_kafka_topic_destroy(producer->jobs_rkt);
        producer->rkt = producer->jobs_rkt = NULL;
        rp_client_close(&producer->client);
        free(producer->unanswered);
        producer->unanswered = NULL;
        producer->is_open = false;
        producer->failure = (struct rp_error){ .code = RP_OK };
}

/*
 * The client is in use by a thread that will not come back: it is left to itself, but for the delivery reports. The producer
 * that takes its name fences it.
 */
static void abandon(struct rp_kafka_producer *producer)
{
        purge(producer);
        producer->client.rk = NULL;
        producer->rkt = producer->jobs_rkt = NULL;
        producer->unanswered = NULL; /* the client's for as long as it lives */
        producer->is_open = false;
}

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

/* An unknown topic is no final word: brokers that come and go say so for a while. */
rp_err_t rp_kafka_producer_next_step(rd_kafka_resp_err_t kerr)
{
        rp_err_t code = rp_err_from_kafka(kerr);

        return code == RP_ERR_BAD_RECORD || code == RP_ERR_FENCED || rp_is_refused(kerr) ? code : RP_ERR_ABORT_BATCH;
}

bool rp_kafka_producer_is_first_failure(const struct rp_kafka_producer *producer, const rd_kafka_message_t *report)
{
        return report->err && producer->failure.code == RP_OK && report->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
               report->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

rp_err_t rp_kafka_producer_judge(struct rp_kafka_producer *producer, rp_err_t rc, struct rp_error *err)
{
        int64_t age = rp_clock_ms() - producer->opened_ms;

        if (rc == RP_OK)
                return RP_OK;
        if (producer->client.rk)
                rp_client_serve(&producer->client, 0);
        if (rc == RP_ERR_FENCED && age >= producer->transaction_timeout_ms)
                return rp_fail(err, RP_ERR_ABORT_BATCH,
                               "the transaction was open for %" PRId64 " s and timed out", age / 1000);
        if (rc != RP_ERR_FENCED && producer->failure.code != RP_OK) {
                *err = producer->failure; /* the record's own error tells more than "the transaction must be aborted" */
                rc = err->code;
        }
        return rc;
}

/* Being fenced must not pass for trouble that a new producer could mend: it would fence the one that took over. */
rp_err_t rp_kafka_producer_fail(struct rp_kafka_producer *producer, rd_kafka_resp_err_t kerr, const char *topic,
                                struct rp_error *err)
{
        rd_kafka_resp_err_t fatal;
        char text[256] = "";

        rp_client_serve(&producer->client, 0);
        fatal = rd_kafka_fatal_error(producer->client.rk, text, sizeof(text));
        kerr = fatal ? fatal : kerr;
        producer->is_doomed |= kerr == RD_KAFKA_RESP_ERR__STATE;
        rp_fail_resp(err, &producer->client, kerr, "cannot write to topic \"%s\"%s%s", topic, *text ? ": " : "", text);
        err->code = rp_kafka_producer_next_step(kerr);
        return rp_kafka_producer_judge(producer, err->code, err);
}

/* ---- a transaction ----------------------------------------------------------------------------------------------------- */

/* Calls that may hang. `doing` completes "cannot ...". */
static rp_err_t transact(struct rp_kafka_producer *producer, const struct rp_transact_call *call, const char *doing,
                         struct rp_error *err)
{
        rp_transact_end_t end;
        rp_err_t rc = rp_transact(&producer->client, call, doing, &end, err);

        if (end == RP_TRANSACT_HUNG)
                abandon(producer);
        producer->is_doomed |= end == RP_TRANSACT_FAILED_BEFORE;
        return rc;
}

rp_err_t rp_kafka_producer_init(struct rp_kafka_producer *producer, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + producer->config.timeout_ms;
        char doing[300];

        snprintf(doing, sizeof(doing), "begin transactions as \"%.250s\"", producer->config.id);
        for (;;) {
                int64_t left = deadline - rp_clock_ms();
                int wait = left > INIT_TRY_MS ? INIT_TRY_MS : left > 1 ? (int)left : 1;
                struct rp_transact_call call = { RP_TRANSACT_INIT, wait, NULL, NULL };
                rp_err_t rc = transact(producer, &call, doing, err);

                if (producer->client.rk)
                        rp_client_serve(&producer->client, 0);
                if (rc != RP_ERR_RETRY || rp_clock_ms() >= deadline)
                        return rc;
        }
}

rp_err_t rp_kafka_producer_begin(struct rp_kafka_producer *producer, struct rp_error *err)
{
        producer->opened_ms = rp_clock_ms();
        producer->is_open = true;
        producer->is_doomed = false;
        rp_client_needs(&producer->client, RP_RESOURCE_TOPIC, "Write", producer->config.topic);
        return rp_kafka_producer_judge(producer, rp_fail_kafka(err, &producer->client,
                                       rd_kafka_begin_transaction(producer->client.rk), "cannot begin a transaction"), err);
}

rp_err_t rp_kafka_producer_send_offsets(struct rp_kafka_producer *producer, rd_kafka_topic_partition_list_t *offsets,
                                        rd_kafka_consumer_group_metadata_t *group, struct rp_error *err)
{
        int timeout_ms = producer->config.timeout_ms;
        /* Progress that is added later than the cluster has patience with the transaction is of no use. */
        struct rp_transact_call call = { RP_TRANSACT_SEND_OFFSETS,
                                         timeout_ms < RP_TRANSACTION_TIMEOUT_MS ? timeout_ms : RP_TRANSACTION_TIMEOUT_MS,
                                         offsets, group };

        return transact(producer, &call, "add the progress to the transaction", err);
}

/* Success told by the answer to a second request: the first may still arrive, in a later transaction. */
static rp_err_t check_answered(struct rp_kafka_producer *producer, struct rp_error *err)
{
        if (!rp_unanswered_count(producer->unanswered))
                return RP_OK;
        return rp_fail(err, RP_ERR_ABORT_BATCH, "a request about the transaction was never answered%s%s",
                       *producer->client.trouble ? ": " : "", producer->client.trouble);
}

rp_err_t rp_kafka_producer_commit(struct rp_kafka_producer *producer, struct rp_error *err)
{
        struct rp_transact_call call = { RP_TRANSACT_COMMIT, producer->config.timeout_ms, NULL, NULL };
        rp_err_t rc = transact(producer, &call, "commit the transaction", err);

        if (rc == RP_OK)
                rc = check_answered(producer, err);
        if (rc == RP_OK)
                producer->is_open = false;
        return rc;
}

rp_err_t rp_kafka_producer_abort(struct rp_kafka_producer *producer, int timeout_ms, struct rp_error *err)
{
        struct rp_transact_call call = { RP_TRANSACT_ABORT, timeout_ms, NULL, NULL };
        rp_err_t rc = transact(producer, &call, "abort the transaction", err);

        if (rc == RP_OK)
                rc = check_answered(producer, err);
        if (rc != RP_OK)
                return rp_kafka_producer_judge(producer, rc, err);
        rp_client_serve(&producer->client, 0); /* the reports of records that were purged */
        producer->failure = (struct rp_error){ .code = RP_OK };
        producer->is_open = false;
        return RP_OK;
}

rp_err_t rp_kafka_producer_flush(struct rp_kafka_producer *producer, struct rp_error *err)
{
        rd_kafka_resp_err_t kerr = rd_kafka_flush(producer->client.rk, producer->config.timeout_ms);
        char text[256];

        if (producer->failure.code != RP_OK)
                return rp_kafka_producer_judge(producer, producer->failure.code, err);
        /* A producer that was fenced has purged what it had: all is flushed then, and nothing is written. */
        if (!kerr && rd_kafka_fatal_error(producer->client.rk, text, sizeof(text)))
                kerr = RD_KAFKA_RESP_ERR__FATAL;
        return kerr ? rp_kafka_producer_fail(producer, kerr, producer->config.topic, err) : RP_OK;
}
