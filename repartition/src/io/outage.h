/** Why a cluster does not do what a job waits for. librdkafka tells nobody what brokers answer while it tries again. */
#ifndef RP_OUTAGE_H
#define RP_OUTAGE_H

#include "io/client.h"

/** A topic that a job needs. */
struct rp_outage_topic {
        const char *name;
        bool is_written; /* so its replicas in sync must be enough */
};

/**
 * Looks, on a connection of its own, whether brokers answer, partitions have leaders, and enough replicas are in sync, also of
 * the topics that keep transactions and offsets. Takes a few seconds at most. Any thread.
 * @param text  the first reason that is found; "" when all is well
 */
void rp_outage_look(const struct rp_client_config *config, const struct rp_outage_topic *topics, size_t topic_cnt, char *text,
                    size_t size);

#endif
