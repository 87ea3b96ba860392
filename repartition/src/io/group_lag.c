#define RP_WITH_RDKAFKA
#include "io/group_lag.h"

#include <stdlib.h>
#include <string.h>

struct rp_group_lag {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        rd_kafka_queue_t *queue;
};

rp_err_t rp_group_lag_new(struct rp_group_lag **lag, const struct rp_client_config *config, struct rp_error *err)
{
        rd_kafka_conf_t *conf = rp_client_conf(config, err);
        rp_err_t rc;

        *lag = NULL;
        if (!conf)
                return err->code;
        *lag = calloc(1, sizeof(**lag));
        if (!*lag) {
                rd_kafka_conf_destroy(conf);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        /* A consumer, for its isolation level: an offset list then ends where a committed reader's records do. */
        rc = rp_client_set(conf, "isolation.level", "read_committed", err);
        if (rc == RP_OK)
                rc = rp_client_open(&(*lag)->client, RD_KAFKA_CONSUMER, conf, err);
        else
                rd_kafka_conf_destroy(conf);
        if (rc != RP_OK) {
                free(*lag);
                *lag = NULL;
                return rc;
        }
        (*lag)->queue = rd_kafka_queue_new((*lag)->client.rk);
        return RP_OK;
}

/* Committed offsets, of one topic or of all; the caller's list. NULL with *err. */
static rd_kafka_topic_partition_list_t *committed(struct rp_group_lag *lag, const char *group, const char *topic,
                                                  int timeout_ms, struct rp_error *err)
{
        rd_kafka_ListConsumerGroupOffsets_t *request = rd_kafka_ListConsumerGroupOffsets_new(group, NULL);
        rd_kafka_AdminOptions_t *options =
                rd_kafka_AdminOptions_new(lag->client.rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
        rd_kafka_topic_partition_list_t *list = NULL;
        const rd_kafka_group_result_t **results = NULL;
        rd_kafka_resp_err_t kerr;
        rd_kafka_event_t *event;
        char text[64];
        size_t cnt = 0;

        rp_client_needs(&lag->client, RP_RESOURCE_GROUP, "Describe", group);
        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
        rd_kafka_ListConsumerGroupOffsets(lag->client.rk, &request, 1, options, lag->queue);
        event = rd_kafka_queue_poll(lag->queue, timeout_ms + 1000);
        kerr = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
        if (!kerr)
                results = rd_kafka_ListConsumerGroupOffsets_result_groups(
                        rd_kafka_event_ListConsumerGroupOffsets_result(event), &cnt);
        if (cnt && rd_kafka_group_result_error(results[0]))
                kerr = rd_kafka_error_code(rd_kafka_group_result_error(results[0]));
        if (kerr || !cnt) {
                rp_client_serve(&lag->client, 0);
                rp_fail_resp(err, &lag->client, kerr ? kerr : RD_KAFKA_RESP_ERR__FAIL,
                             "cannot ask for the offsets of group \"%.100s\"", group);
        } else {
                const rd_kafka_topic_partition_list_t *all = rd_kafka_group_result_partitions(results[0]);

                list = rd_kafka_topic_partition_list_new(all ? all->cnt : 0);
                for (int i = 0; all && i < all->cnt; i++)
                        if (all->elems[i].offset >= 0 && !all->elems[i].err && (!topic || !strcmp(all->elems[i].topic, topic)))
                                rd_kafka_topic_partition_list_add(list, all->elems[i].topic, all->elems[i].partition)->offset =
                                        all->elems[i].offset;
        }
        if (event)
                rd_kafka_event_destroy(event);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_ListConsumerGroupOffsets_destroy(request);
        return list;
}

rp_err_t rp_group_lag_ask(struct rp_group_lag *lag, const char *group, const char *topic, int timeout_ms,
                          int64_t *records, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = committed(lag, group, topic, timeout_ms, err), *ends;
        rd_kafka_resp_err_t kerr = RD_KAFKA_RESP_ERR_NO_ERROR;
        rp_err_t rc = RP_OK;

        *records = 0;
        if (!list)
                return err->code;
        if (!list->cnt) {
                rd_kafka_topic_partition_list_destroy(list);
                return rp_fail(err, RP_ERR_USAGE, "group \"%.100s\" has no committed offsets%s%.100s%s: is the name right, "
                               "and did it ever run?", group, topic ? " of topic \"" : "", topic ? topic : "",
                               topic ? "\"" : "");
        }
        ends = rd_kafka_topic_partition_list_copy(list);
        for (int i = 0; i < ends->cnt; i++)
                ends->elems[i].offset = RD_KAFKA_OFFSET_END; /* as a time: the end, see ListOffsets */
        kerr = rd_kafka_offsets_for_times(lag->client.rk, ends, timeout_ms);
        for (int i = 0; i < list->cnt && rc == RP_OK; i++) {
                const rd_kafka_topic_partition_t *at = &list->elems[i];
                const rd_kafka_topic_partition_t *end = rd_kafka_topic_partition_list_find(ends, at->topic, at->partition);
                rd_kafka_resp_err_t one = kerr ? kerr : end ? end->err : RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;

                if (one == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || one == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
                    one == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
                        continue;
                if (one) {
                        rp_client_serve(&lag->client, 0);
                        rp_client_needs(&lag->client, RP_RESOURCE_TOPIC, "Describe", at->topic);
                        rc = rp_fail_resp(err, &lag->client, one, "cannot ask for the end of topic \"%.100s\"", at->topic);
                } else if (end->offset > at->offset) {
                        *records += end->offset - at->offset;
                }
        }
        rd_kafka_topic_partition_list_destroy(ends);
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

void rp_group_lag_free(struct rp_group_lag *lag)
{
        if (!lag)
                return;
        rd_kafka_queue_destroy(lag->queue);
        rp_client_close(&lag->client);
        free(lag);
}
