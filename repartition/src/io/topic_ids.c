#define RP_WITH_RDKAFKA
#include "io/topic_ids.h"

#include "clock.h"
#include "io/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of librdkafka 2.3 and newer; the headers that this is compiled against may be older, and so may be the library that is
 * loaded. Weak: then their addresses are NULL.
 */
typedef struct topic_collection topic_collection_t;
typedef struct topic_description topic_description_t;
typedef struct topic_uuid topic_uuid_t;

#define WEAK(name) __asm__(name) __attribute__((weak))
extern topic_collection_t *collection_of_names(const char **topics, size_t cnt) WEAK("rd_kafka_TopicCollection_of_topic_names");
extern void collection_destroy(topic_collection_t *topics) WEAK("rd_kafka_TopicCollection_destroy");
extern void describe_topics(rd_kafka_t *rk, const topic_collection_t *topics, const rd_kafka_AdminOptions_t *options,
                            rd_kafka_queue_t *queue) WEAK("rd_kafka_DescribeTopics");
extern const rd_kafka_event_t *describe_result(rd_kafka_event_t *event) WEAK("rd_kafka_event_DescribeTopics_result");
extern const topic_description_t **described_topics(const rd_kafka_event_t *result, size_t *cnt)
        WEAK("rd_kafka_DescribeTopics_result_topics");
extern const rd_kafka_error_t *description_error(const topic_description_t *topic) WEAK("rd_kafka_TopicDescription_error");
extern const topic_uuid_t *description_id(const topic_description_t *topic) WEAK("rd_kafka_TopicDescription_topic_id");
extern const char *uuid_text(const topic_uuid_t *uuid) WEAK("rd_kafka_Uuid_base64str");

enum {
        CHECK_TRY_MS = 3000, /* for one answer; a transaction is open meanwhile */
        CHECK_MS = 7000
};

struct rp_topic_watch {
        struct rp_client *client;
        char *topic;
        char id[RP_TOPIC_ID_SIZE];
        rd_kafka_queue_t *queue;
        bool is_asked;
};

bool rp_topic_ids_are_known(void)
{
        return collection_of_names && collection_destroy && describe_topics && describe_result && described_topics &&
               description_error && description_id && uuid_text;
}

struct rp_topic_watch *rp_topic_watch_new(struct rp_client *client, const char *topic, const char *id)
{
        struct rp_topic_watch *watch = calloc(1, sizeof(*watch));

        if (!watch || !(watch->topic = strdup(topic))) {
                free(watch);
                return NULL;
        }
        watch->client = client;
        snprintf(watch->id, sizeof(watch->id), "%s", id);
        return watch;
}

void rp_topic_watch_free(struct rp_topic_watch *watch)
{
        if (!watch)
                return;
        if (watch->queue)
                rd_kafka_queue_destroy(watch->queue);
        free(watch->topic);
        free(watch);
}

static void ask(struct rp_topic_watch *watch, int timeout_ms)
{
        const char *name = watch->topic;
        rd_kafka_AdminOptions_t *options;
        topic_collection_t *topics;
        char text[128];

        if (watch->is_asked || !rp_topic_ids_are_known())
                return;
        /* A queue of its own for each question: a late answer to an earlier one must not pass for this one's. */
        if (watch->queue)
                rd_kafka_queue_destroy(watch->queue);
        watch->queue = rd_kafka_queue_new(watch->client->rk);
        options = rd_kafka_AdminOptions_new(watch->client->rk, RD_KAFKA_ADMIN_OP_ANY);
        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
        topics = collection_of_names(&name, 1);
        describe_topics(watch->client->rk, topics, options, watch->queue);
        collection_destroy(topics);
        rd_kafka_AdminOptions_destroy(options);
        watch->is_asked = true;
}

/* All zero: a broker before 2.8. */
static bool is_nothing(const char *id)
{
        return !id[strspn(id, "A=")];
}

static rp_err_t answer(struct rp_topic_watch *watch, int timeout_ms, char id[RP_TOPIC_ID_SIZE], struct rp_error *err)
{
        rd_kafka_event_t *event;
        const topic_description_t **topics;
        rd_kafka_resp_err_t kerr = RD_KAFKA_RESP_ERR__TIMED_OUT;
        size_t cnt = 0;

        *id = '\0';
        if (!rp_topic_ids_are_known())
                return RP_OK;
        event = watch->is_asked ? rd_kafka_queue_poll(watch->queue, timeout_ms) : NULL;
        watch->is_asked = false;
        if (event && !(kerr = rd_kafka_event_error(event))) {
                topics = described_topics(describe_result(event), &cnt);
                if (cnt == 1)
                        kerr = rd_kafka_error_code(description_error(topics[0]));
                if (cnt == 1 && !kerr) {
                        snprintf(id, RP_TOPIC_ID_SIZE, "%s", uuid_text(description_id(topics[0])));
                        if (is_nothing(id))
                                *id = '\0';
                }
        }
        if (event)
                rd_kafka_event_destroy(event);
        if (!kerr)
                return RP_OK;
        rp_client_serve(watch->client, 0);
        if (kerr == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist", watch->topic);
        rp_fail_resp(err, watch->client, kerr, "cannot ask for the id of topic \"%s\"", watch->topic);
        /* An administrative request fails in words of its own where the broker that it is for is away. */
        if (err->code == RP_ERR_FATAL)
                err->code = RP_ERR_RETRY;
        return err->code;
}

void rp_topic_watch_ask_same(struct rp_topic_watch *watch)
{
        ask(watch, CHECK_TRY_MS);
}

rp_err_t rp_topic_watch_check_same(struct rp_topic_watch *watch, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + CHECK_MS;
        char id[RP_TOPIC_ID_SIZE];
        rp_err_t rc;

        for (;;) {
                ask(watch, CHECK_TRY_MS);
                rc = answer(watch, CHECK_TRY_MS + 500, id, err);
                /* "No such topic" is also what a broker says that has just started: the new start of the job will tell. */
                if (rc == RP_OK || rp_clock_ms() >= deadline)
                        break;
                rp_client_serve(watch->client, 100);
        }
        if (rc != RP_OK)
                return err->code = RP_ERR_ABORT_BATCH;
        if (*id && strcmp(id, watch->id) != 0)
                return rp_fail(err, RP_ERR_INCOMPLETE,
                               "topic \"%s\" was deleted and made again while it was in use (its id was %s and is %s). What was "
                               "committed before comes from, or went into, the old one; nothing was committed since",
                               watch->topic, watch->id, id);
        return RP_OK;
}

rp_err_t rp_topic_id(struct rp_client *client, const char *topic, int timeout_ms, char id[RP_TOPIC_ID_SIZE],
                     struct rp_error *err)
{
        struct rp_topic_watch *watch = rp_topic_watch_new(client, topic, "");
        int64_t begun = rp_clock_ms(), deadline = begun + timeout_ms;
        rp_err_t rc;

        if (!watch)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (;;) {
                int64_t left = deadline - rp_clock_ms();
                int wait = left > 5000 ? 5000 : left > 1 ? (int)left : 1;

                ask(watch, wait);
                rc = answer(watch, wait + 1000, id, err);
                /* That it does not exist may be the word of a broker which has not heard of it yet. */
                if ((rc != RP_ERR_RETRY && rc != RP_ERR_USAGE) || rp_clock_ms() >= deadline ||
                    (rc == RP_ERR_USAGE && rp_clock_ms() - begun >= RP_PROPAGATED_MS))
                        break;
                rp_client_serve(client, 100);
        }
        rp_topic_watch_free(watch);
        return rc;
}

rp_err_t rp_job_end_fill(struct rp_job_end *end, struct rp_client *client, const char *topic, const char *cluster,
                         int32_t partition_cnt, bool exists, int timeout_ms, struct rp_error *err)
{
        *end = (struct rp_job_end){ .partition_cnt = partition_cnt };
        snprintf(end->topic, sizeof(end->topic), "%s", topic);
        snprintf(end->cluster, sizeof(end->cluster), "%s", cluster);
        return exists ? rp_topic_id(client, topic, timeout_ms, end->id, err) : RP_OK;
}

void rp_cluster_id(struct rp_client *client, int timeout_ms, char id[RP_CLUSTER_ID_SIZE])
{
        char *text = rd_kafka_clusterid(client->rk, timeout_ms);

        snprintf(id, RP_CLUSTER_ID_SIZE, "%s", text ? text : "");
        if (text)
                rd_kafka_mem_free(client->rk, text);
}
