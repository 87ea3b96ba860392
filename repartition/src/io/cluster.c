#define RP_WITH_RDKAFKA
#include "io/cluster.h"

#include <string.h>

rp_err_t rp_cluster_topic(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                          struct rp_error *err)
{
        const struct rd_kafka_metadata *metadata;
        rd_kafka_resp_err_t kerr = rd_kafka_metadata(client->rk, 1, NULL, &metadata, timeout_ms);

        *info = (struct rp_topic_info){ 0 };
        if (kerr) {
                rp_client_serve(client, 0); /* the reason may be waiting to be told */
                return rp_fail_resp(err, client, kerr, "cannot ask the cluster for its topics");
        }
        info->broker_cnt = metadata->broker_cnt;
        for (int t = 0; t < metadata->topic_cnt; t++) {
                const struct rd_kafka_metadata_topic *topic = &metadata->topics[t];

                if (strcmp(topic->topic, name))
                        continue;
                info->exists = true;
                info->partition_cnt = topic->partition_cnt;
                for (int p = 0; p < topic->partition_cnt; p++) {
                        info->leaderless_cnt += topic->partitions[p].leader < 0;
                        if (p == 0 || topic->partitions[p].replica_cnt < info->replication_factor)
                                info->replication_factor = topic->partitions[p].replica_cnt;
                }
        }
        rd_kafka_metadata_destroy(metadata);
        return RP_OK;
}
