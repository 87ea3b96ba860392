#define RP_WITH_RDKAFKA
#include "io/group_lag.h"

#include "io/groups.h"

#include <stdlib.h>
#include <string.h>

struct rp_group_lag {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        const struct rp_client_config *config;
};

/*
 * As a consumer of the group that is first asked about, though one that takes no part in it: when a coordinator has moved, a
 * client of no group does not learn of it, and that of 2.0.2 ends the process instead.
 */
static rp_err_t open_client(struct rp_group_lag *lag, const char *group, struct rp_error *err)
{
        rd_kafka_conf_t *conf = rp_client_conf(lag->config, err);
        rp_err_t rc;

        if (!conf)
                return err->code;
        /* A consumer, for its isolation level: an offset list then ends where a committed reader's records do. */
        rc = rp_client_set(conf, "isolation.level", "read_committed", err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "group.id", group, err);
        if (rc == RP_OK)
                return rp_client_open(&lag->client, RD_KAFKA_CONSUMER, conf, err);
        rd_kafka_conf_destroy(conf);
        return rc;
}

struct rp_group_lag *rp_group_lag_new(const struct rp_client_config *config)
{
        struct rp_group_lag *lag = calloc(1, sizeof(*lag));

        if (lag)
                lag->config = config;
        return lag;
}

/* Committed offsets, of one topic or of all; the caller's list. NULL with *err. */
static rd_kafka_topic_partition_list_t *committed(struct rp_group_lag *lag, const char *group, const char *topic,
                                                  int timeout_ms, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list, *all;

        if (!lag->client.rk && open_client(lag, group, err) != RP_OK)
                return NULL;
        rp_client_needs(&lag->client, RP_RESOURCE_GROUP, "Describe", group);
        if (rp_group_committed(&lag->client, group, "cannot ask for the offsets of group", timeout_ms, &all, err) != RP_OK) {
                /* While brokers are away, for days perhaps, questions that nobody waits for must not pile up in it. */
                if (err->code == RP_ERR_RETRY)
                        rp_client_close(&lag->client);
                return NULL;
        }
        list = rd_kafka_topic_partition_list_new(all->cnt);
        for (int i = 0; i < all->cnt; i++)
                if (all->elems[i].offset >= 0 && !all->elems[i].err && (!topic || !strcmp(all->elems[i].topic, topic)))
                        rd_kafka_topic_partition_list_add(list, all->elems[i].topic, all->elems[i].partition)->offset =
                                all->elems[i].offset;
        rd_kafka_topic_partition_list_destroy(all);
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
                rd_kafka_resp_err_t one = end ? end->err : RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;

                /* Where no partition has a leader, all are unknown to librdkafka; each of them tells what it is. */
                if (kerr && (kerr != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || !one))
                        one = kerr;
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
        rp_client_close(&lag->client);
        free(lag);
}
