#define RP_WITH_RDKAFKA
#include "io/offsets.h"

#include "clock.h"

enum { STARTING_MS = 10000 /* for so long a broker that is starting may not know a topic yet */ };

static bool is_unknown(rd_kafka_resp_err_t kerr)
{
        return kerr == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || kerr == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
               kerr == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/* A client without a handle of the topic goes by the leaders that it saw first, for as long as a quarter of an hour. */
static void refresh_leaders(struct rp_client *client)
{
        const struct rd_kafka_metadata *metadata;

        if (rd_kafka_metadata(client->rk, 1, NULL, &metadata, 1000) == RD_KAFKA_RESP_ERR_NO_ERROR)
                rd_kafka_metadata_destroy(metadata);
}

/* librdkafka passes the times -1 and -2 through to the brokers. */
rp_err_t rp_offsets_list(struct rp_client *client, const char *topic, int64_t time_ms, int timeout_ms,
                         rd_kafka_topic_partition_list_t *list, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + timeout_ms;
        int64_t answered_ms = 0; /* the first of these answers; 0: it did not answer, and may be starting when it does */

        for (;;) {
                rd_kafka_resp_err_t kerr;
                int64_t left = deadline - rp_clock_ms();
                bool may_pass;

                for (int i = 0; i < list->cnt; i++) {
                        list->elems[i].offset = time_ms;
                        list->elems[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
                }
                kerr = rd_kafka_offsets_for_times(client->rk, list, left > 5000 ? 5000 : left > 0 ? (int)left : 1);
                /* Where no partition has a leader, all are unknown to librdkafka; each of them tells what it is. */
                for (int i = 0; i < list->cnt && (!kerr || kerr == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION); i++) {
                        kerr = list->elems[i].err ? list->elems[i].err : kerr;
                        topic = kerr ? list->elems[i].topic : topic;
                }
                if (!kerr)
                        return RP_OK;
                rp_client_needs(client, RP_RESOURCE_TOPIC, "Describe", topic);
                rp_client_serve(client, 100);
                refresh_leaders(client);
                if (!is_unknown(kerr))
                        answered_ms = 0;
                else if (!answered_ms)
                        answered_ms = rp_clock_ms();
                may_pass = rp_err_from_kafka(kerr) == RP_ERR_RETRY ||
                           (is_unknown(kerr) && rp_clock_ms() - answered_ms < STARTING_MS);
                if (!may_pass || rp_clock_ms() >= deadline)
                        return rp_fail_resp(err, client, kerr, "cannot ask for the offsets of topic \"%s\"", topic);
        }
}

rp_err_t rp_offsets_at(struct rp_client *client, const char *topic, int32_t partition_cnt, int64_t time_ms, int timeout_ms,
                       int64_t *offsets, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partition_cnt);
        rp_err_t rc;

        for (int32_t p = 0; p < partition_cnt; p++)
                rd_kafka_topic_partition_list_add(list, topic, p);
        rc = rp_offsets_list(client, topic, time_ms, timeout_ms, list, err);
        /* librdkafka answers "no record that new" with its word for the end. */
        for (int i = 0; rc == RP_OK && i < list->cnt; i++)
                offsets[list->elems[i].partition] = list->elems[i].offset >= 0 ? list->elems[i].offset : -1;
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

rp_err_t rp_offset_at(struct rp_client *client, const char *topic, int32_t partition, int64_t time_ms, int timeout_ms,
                      int64_t *offset, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rp_err_t rc;

        rd_kafka_topic_partition_list_add(list, topic, partition);
        rc = rp_offsets_list(client, topic, time_ms, timeout_ms, list, err);
        if (rc == RP_OK)
                *offset = list->elems[0].offset >= 0 ? list->elems[0].offset : -1;
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}
