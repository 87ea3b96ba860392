/**
 * What a cluster has and is asked to make: topics and their settings. Looking never creates anything: topics are found
 * in the list of all topics, since asking for one by name makes a broker with auto-creation create it.
 */
#ifndef RP_CLUSTER_H
#define RP_CLUSTER_H

#include "io/client.h"

#include <stdint.h>

struct rp_topic_info {
        bool exists;
        int32_t partition_cnt;
        int32_t leaderless_cnt;     /* partitions that cannot be read or written now */
        int32_t replication_factor; /* of the partition that has the fewest replicas */
        int32_t broker_cnt;         /* of the whole cluster */
};

#ifdef RP_WITH_RDKAFKA
/** @returns RP_OK, also for a topic that does not exist; RP_ERR_RETRY when no broker answers within timeout_ms. */
rp_err_t rp_cluster_topic(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                          struct rp_error *err);
#endif

#endif
