/** Consumer groups, seen from outside: who is in them, where they stand, and putting them elsewhere. */
#ifndef RP_GROUPS_H
#define RP_GROUPS_H

#include "io/client.h"

#include <stdint.h>

struct rp_roster_entry {
        char client_id[256];
        char host[128]; /* as the broker saw it, such as "/10.0.0.7" */
};

struct rp_roster {
        bool exists;
        char state[32]; /* as Kafka calls it: Stable, Empty, ... */
        struct rp_roster_entry *members;
        size_t member_cnt;
};

/**
 * Asks the group's coordinator. A group that does not exist is no error.
 * @param right  what the caller wants of the group, such as "Describe": named when it is refused
 * @returns RP_OK and *roster, the caller's to rp_roster_release().
 */
rp_err_t rp_group_describe(struct rp_client *client, const char *name, const char *right, int timeout_ms,
                           struct rp_roster *roster, struct rp_error *err);
void rp_roster_release(struct rp_roster *roster);

/** The group's stored offsets in a topic, by partition; -1: none. Waits for transactions that are about to change them. */
rp_err_t rp_group_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                          int timeout_ms, int64_t *offsets, struct rp_error *err);

#ifdef RP_WITH_RDKAFKA
/**
 * Options for a request to a group's coordinator, the caller's. It does not time out: wait for its event as long as you like, and
 * then leave it.
 */
rd_kafka_AdminOptions_t *rp_group_request_options(struct rp_client *client, rd_kafka_admin_op_t op);

/**
 * What the group has committed up to now, in all its topics; what a transaction that is open would change is not waited for.
 * Asks once.
 * @param what  for messages, such as "cannot read the offsets of group"
 * @returns RP_OK and *list, the caller's; partitions without an offset have a negative one.
 */
rp_err_t rp_group_committed(struct rp_client *client, const char *name, const char *what, int timeout_ms,
                            rd_kafka_topic_partition_list_t **list, struct rp_error *err);
#endif

/**
 * Stores offsets for the group, -1: leaves that partition alone.
 * @returns RP_ERR_USAGE when the group has members: the cluster refuses then.
 */
rp_err_t rp_group_set_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                              const int64_t *offsets, int timeout_ms, struct rp_error *err);

/** Makes the group forget where it stood in those partitions of the topic whose element is true. */
rp_err_t rp_group_forget_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                                 const bool *which, int timeout_ms, struct rp_error *err);

#endif
