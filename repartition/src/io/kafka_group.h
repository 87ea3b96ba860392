/**
 * An rp_group over Kafka's consumer group protocol: cooperative-sticky, incremental assignments only, read_committed,
 * nothing committed by the consumer itself. Partitions share one queue, so that one wait serves them all; what is fetched
 * ahead is bounded as a whole, however many partitions there are.
 *
 * Fencing: progress that goes into a transaction carries this member's generation (rp_kafka_group_metadata()), and the
 * cluster refuses it once the group has gone on without the member.
 */
#ifndef RP_KAFKA_GROUP_H
#define RP_KAFKA_GROUP_H

#include "decide/topics.h"
#include "io/client.h"
#include "io/group.h"

struct rp_kafka_group_config {
        const struct rp_client_config *client; /* borrowed until the group is made */
        const char *topic;
        const char *group;
        bool headers;         /* list each record's headers (costs an allocation for records that have some) */
        int64_t memory_bytes; /* for what is fetched ahead; 0: a default that is fast */
        int timeout_ms;       /* how long a silent cluster is waited for */
};

/**
 * Looks the topic up and begins to join.
 * @returns RP_OK and *group, the caller's to group->ops->free(); RP_ERR_USAGE when there is no such topic, RP_ERR_RETRY
 *          when no broker answers.
 */
rp_err_t rp_kafka_group_new(struct rp_group **group, const struct rp_kafka_group_config *config, struct rp_error *err);

/** @returns how this member fetches, one line for a log. */
const char *rp_kafka_group_regime(const struct rp_group *group);

/** The consumer, for questions to the cluster. Borrowed. */
struct rp_client *rp_kafka_group_client(struct rp_group *group);

#ifdef RP_WITH_RDKAFKA
/**
 * Who we are in the group, for rd_kafka_send_offsets_to_transaction(). The caller's to destroy.
 * @returns RP_ERR_ABORT_BATCH when we are no member now: what would then be sent is not checked by the cluster.
 */
rp_err_t rp_kafka_group_metadata(struct rp_group *group, rd_kafka_consumer_group_metadata_t **metadata,
                                 struct rp_error *err);
#endif

#endif
