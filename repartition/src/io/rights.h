/**
 * What a user may do, found out without doing it. Brokers tell it with the description of a topic or a group (Kafka 2.3 and
 * newer), to a librdkafka that can ask (2.3.0 and newer); else nothing is known before it is tried in earnest.
 */
#ifndef RP_RIGHTS_H
#define RP_RIGHTS_H

#include "io/client.h"

/** One text for each right that is missing, ready to print. */
struct rp_denials {
        char texts[6][320];
        size_t cnt;
        bool is_known; /* every question was answered */
};

/** To be called before the others: nothing is missing so far, and nothing is unknown. */
void rp_rights_begin(struct rp_denials *denials);

/** Adds what is missing for writing to a topic that exists and reading it. Never fails: what is not answered is not known. */
void rp_rights_ask_topic(struct rp_client *client, const char *topic, int timeout_ms, struct rp_denials *denials);

/** Adds what is missing for being a member of a group, or storing offsets as one. */
void rp_rights_ask_group(struct rp_client *client, const char *group, int timeout_ms, struct rp_denials *denials);

/** @returns RP_OK, also when nobody answers; RP_ERR_USAGE with *err when the group may not even be described. */
rp_err_t rp_rights_try_group(struct rp_client *client, const char *group, int timeout_ms, struct rp_error *err);

#ifdef RP_WITH_RDKAFKA
/** Why the client's own group cannot be described; RD_KAFKA_RESP_ERR_NO_ERROR when it can. */
rd_kafka_resp_err_t rp_rights_group_error(struct rp_client *client, int timeout_ms);
#endif

#endif
