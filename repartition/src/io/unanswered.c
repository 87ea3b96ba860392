#define RP_WITH_RDKAFKA
#include "io/unanswered.h"

#include <stdatomic.h>
#include <stdlib.h>

struct rp_unanswered {
        atomic_uint sent, answered;
};

/*
 * librdkafka reports many answers twice: in the thread of the broker that they came from, and again where they are dealt
 * with. Nothing in the report tells one from the other, so only the first thread counts.
 */
static _Thread_local bool is_broker_thread;

static rd_kafka_resp_err_t on_thread_start(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name, void *opaque)
{
        (void)rk, (void)name, (void)opaque;
        is_broker_thread = type == RD_KAFKA_THREAD_BROKER;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Of the protocol: requests that change a transaction at its coordinator, or at that of its progress. */
static bool is_about_transactions(int16_t api_key)
{
        enum { ADD_PARTITIONS = 24, ADD_OFFSETS = 25, END = 26, OFFSET_COMMIT = 28 };

        return api_key == ADD_PARTITIONS || api_key == ADD_OFFSETS || api_key == END || api_key == OFFSET_COMMIT;
}

static rd_kafka_resp_err_t on_sent(rd_kafka_t *rk, int sockfd, const char *broker, int32_t broker_id, int16_t api_key,
                                   int16_t api_version, int32_t correlation_id, size_t size, void *opaque)
{
        struct rp_unanswered *unanswered = opaque;

        (void)rk, (void)sockfd, (void)broker, (void)broker_id, (void)api_version, (void)correlation_id, (void)size;
        if (is_about_transactions(api_key))
                atomic_fetch_add(&unanswered->sent, 1);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_received(rd_kafka_t *rk, int sockfd, const char *broker, int32_t broker_id, int16_t api_key,
                                       int16_t api_version, int32_t correlation_id, size_t size, int64_t rtt,
                                       rd_kafka_resp_err_t kerr, void *opaque)
{
        struct rp_unanswered *unanswered = opaque;

        (void)rk, (void)sockfd, (void)broker, (void)broker_id, (void)api_version, (void)correlation_id, (void)size, (void)rtt;
        if (!kerr && is_broker_thread && is_about_transactions(api_key))
                atomic_fetch_add(&unanswered->answered, 1);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *text, size_t text_size)
{
        rd_kafka_resp_err_t kerr = rd_kafka_interceptor_add_on_request_sent(rk, "unanswered", on_sent, opaque);

        (void)conf, (void)text, (void)text_size;
        if (!kerr)
                kerr = rd_kafka_interceptor_add_on_response_received(rk, "unanswered", on_received, opaque);
        return kerr ? kerr : rd_kafka_interceptor_add_on_thread_start(rk, "unanswered", on_thread_start, opaque);
}

struct rp_unanswered *rp_unanswered_install(rd_kafka_conf_t *conf, struct rp_error *err)
{
        struct rp_unanswered *unanswered = calloc(1, sizeof(*unanswered));
        rd_kafka_resp_err_t kerr;

        if (!unanswered) {
                rp_fail(err, RP_ERR_FATAL, "out of memory");
                return NULL;
        }
        kerr = rd_kafka_conf_interceptor_add_on_new(conf, "unanswered", on_new, unanswered);
        if (kerr) {
                rp_fail_resp(err, NULL, kerr, "cannot add an interceptor");
                free(unanswered);
                return NULL;
        }
        return unanswered;
}

unsigned rp_unanswered_count(const struct rp_unanswered *unanswered)
{
        unsigned answered = atomic_load(&unanswered->answered);

        return atomic_load(&unanswered->sent) - answered;
}
