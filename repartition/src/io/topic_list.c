#define RP_WITH_RDKAFKA
#include "io/topic_list.h"

#include "io/cluster.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
        const struct rp_listed_topic *x = a, *y = b;

        return strcmp(x->name, y->name);
}

static rp_err_t take(struct rp_topic_list *list, const struct rd_kafka_metadata *metadata, struct rp_error *err)
{
        list->items = calloc((size_t)metadata->topic_cnt + 1, sizeof(*list->items));
        if (!list->items)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int t = 0; t < metadata->topic_cnt; t++) {
                struct rp_listed_topic *item = &list->items[list->cnt];

                item->name = strdup(metadata->topics[t].topic);
                item->partition_cnt = metadata->topics[t].partition_cnt;
                if (!item->name)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                list->cnt++;
        }
        qsort(list->items, list->cnt, sizeof(*list->items), by_name);
        return RP_OK;
}

rp_err_t rp_topic_list_read(struct rp_topic_list *list, const struct rp_client_config *config, int timeout_ms,
                            struct rp_error *err)
{
        rd_kafka_conf_t *conf = rp_client_conf(config, err);
        const struct rd_kafka_metadata *metadata = NULL;
        struct rp_client client = { 0 };
        rp_err_t rc;

        *list = (struct rp_topic_list){ 0 };
        if (!conf)
                return err->code;
        rc = rp_client_open(&client, RD_KAFKA_CONSUMER, conf, err);
        if (rc != RP_OK)
                return rc;
        rc = rp_cluster_metadata(&client, timeout_ms, &metadata, err);
        if (rc != RP_OK) {
                rc = rp_client_judge_silence(&client, err);
        } else {
                rc = take(list, metadata, err);
                rd_kafka_metadata_destroy(metadata);
        }
        rp_client_close(&client);
        if (rc != RP_OK)
                rp_topic_list_release(list);
        return rc;
}

void rp_topic_list_release(struct rp_topic_list *list)
{
        for (size_t i = 0; i < list->cnt; i++)
                free(list->items[i].name);
        free(list->items);
        *list = (struct rp_topic_list){ 0 };
}
