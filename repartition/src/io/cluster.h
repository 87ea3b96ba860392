/**
 * What a cluster has and is asked to make: topics and their settings. Looking never creates anything: topics are found
 * in the list of all topics, since asking for one by name makes a broker with auto-creation create it.
 */
#ifndef RP_CLUSTER_H
#define RP_CLUSTER_H

#include "io/client.h"

#include <stdint.h>

enum { RP_PROPAGATED_MS = 10000 }; /* every broker knows a new topic after that time */

struct rp_topic_info {
        bool exists;
        int32_t partition_cnt;
        int32_t leaderless_cnt;     /* partitions that cannot be read or written now */
        int32_t replication_factor; /* of the partition that has the fewest replicas */
        int32_t in_sync_cnt;        /* replicas in sync, of the partition that has the fewest */
        int32_t broker_cnt;         /* of the whole cluster */
};

/** One topic setting. */
struct rp_setting {
        char *name;
        char *value;
        bool is_own; /* set on the topic itself, not inherited from the brokers */
};

struct rp_settings {
        struct rp_setting *items;
        size_t cnt;
};

/** @returns the value, borrowed; NULL when there is no such setting. */
const char *rp_settings_get(const struct rp_settings *settings, const char *name);

/** Sets or adds one as the topic's own; the texts are copied. false when out of memory. */
bool rp_settings_set(struct rp_settings *settings, const char *name, const char *value);

void rp_settings_release(struct rp_settings *settings);

/** @returns RP_OK, also for a topic that does not exist; RP_ERR_RETRY when no broker answers within timeout_ms. */
rp_err_t rp_cluster_topic(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                          struct rp_error *err);

/**
 * The same for a topic that may just have been made, by a script that called us: brokers that have not heard of it yet say that
 * there is none, and the controller is asked before that is believed.
 */
rp_err_t rp_cluster_find(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                         struct rp_error *err);

/**
 * For a topic that rp_cluster_topic() did not find: brokers show nobody a topic that he may not describe.
 * @param client  a consumer with allow.auto.create.topics=false
 * @returns RP_OK when it is just not there; RP_ERR_USAGE telling which right is missing.
 */
rp_err_t rp_cluster_may_see(struct rp_client *client, const char *name, int timeout_ms, struct rp_error *err);

/**
 * The same for who cannot do without it. @param client  likewise
 * @returns RP_ERR_USAGE (or what went wrong) with *err telling that it does not exist, or which right is missing.
 */
rp_err_t rp_cluster_fail_absent(struct rp_client *client, const char *name, int timeout_ms, struct rp_error *err);

/** False when the cluster names no controller, so that topics can be neither described nor created (an embedded one). */
bool rp_cluster_is_administrable(struct rp_client *client, int timeout_ms);

/** Reads a topic's settings, inherited ones too. *settings is the caller's to rp_settings_release(). */
rp_err_t rp_cluster_settings(struct rp_client *client, const char *topic, int timeout_ms, struct rp_settings *settings,
                             struct rp_error *err);

/** Asks the cluster whether it would create that topic, and lets it be. @returns RP_OK, or why not: RP_ERR_RETRY if it exists. */
rp_err_t rp_cluster_try_create(struct rp_client *client, const char *topic, int32_t partition_cnt,
                               int32_t replication_factor, const struct rp_settings *settings, int timeout_ms,
                               struct rp_error *err);

/**
 * Creates a topic with those of the settings that are its own, and waits until all its partitions have leaders. One that
 * somebody else has just created with as many partitions will do.
 */
rp_err_t rp_cluster_create(struct rp_client *client, const char *topic, int32_t partition_cnt, int32_t replication_factor,
                           const struct rp_settings *settings, int timeout_ms, struct rp_error *err);
#ifdef RP_WITH_RDKAFKA
/** The list of all topics, the caller's to rd_kafka_metadata_destroy(). A cluster that turns us away is left early. */
rp_err_t rp_cluster_metadata(struct rp_client *client, int timeout_ms, const struct rd_kafka_metadata **metadata,
                             struct rp_error *err);
#endif

#endif
