/**
 * For C and C++ applications that give their topics a topic configuration of their own: the plugin never sees those, so
 * they install the partitioner themselves. Needs librdkafka's header and library beside Keyroute's.
 *
 *   const kr_rule_t *rule = kr_policy_rule(policy, "orders");
 *   rd_kafka_topic_conf_set_partitioner_cb(topic_conf, kr_rdkafka_partition);
 *   rd_kafka_topic_conf_set_opaque(topic_conf, (void *)rule);
 *   rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, "orders", topic_conf);
 *
 * The policy must outlive the producer.
 */
#ifndef KEYROUTE_RDKAFKA_H
#define KEYROUTE_RDKAFKA_H

#include <keyroute.h>
#include <librdkafka/rdkafka.h>

/**
 * A partitioner callback whose topic opaque is a rule. Keys are routed by the rule; a record that must not be placed
 * (other partition count than pinned, rejected key) fails at once with RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION. Records
 * without a key are spread, by librdkafka's sticky partitioner unless sticky.partitioning.linger.ms is 0.
 */
static inline int32_t kr_rdkafka_partition(const rd_kafka_topic_t *rkt, const void *key, size_t key_len,
                                           int32_t partition_cnt, void *rule, void *msg_opaque)
{
        int32_t partition;

        if (!key)
                return rd_kafka_msg_partitioner_random(rkt, key, key_len, partition_cnt, NULL, msg_opaque);
        partition = kr_rule_partition((const kr_rule_t *)rule, key, key_len, partition_cnt);
        return partition < 0 ? partition_cnt : partition;
}

#endif
