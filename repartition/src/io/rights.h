/**
 * What a user may do, found out without doing it. Brokers tell it with the description of a topic or a group (Kafka 2.3 and
 * newer), to a librdkafka that can ask (2.3.0 and newer); else nothing is known before it is tried in earnest.
 */
#ifndef RP_RIGHTS_H
#define RP_RIGHTS_H

#include "io/client.h"

/** One text for each right that is missing, ready to print. */
struct rp_denials {
        char texts[4][320];
        size_t cnt;
        bool is_known; /* every question was answered */
};

/**
 * Adds what is missing for writing to topic (NULL: do not ask) and for keeping progress as group. Never fails: what a
 * cluster does not answer is not known.
 */
void rp_rights_ask(struct rp_client *client, const char *topic, const char *group, int timeout_ms,
                   struct rp_denials *denials);

#ifdef RP_WITH_RDKAFKA
/** Why the client's own group cannot be described; RD_KAFKA_RESP_ERR_NO_ERROR when it can. */
rd_kafka_resp_err_t rp_rights_group_error(struct rp_client *client, int timeout_ms);
#endif

#endif
