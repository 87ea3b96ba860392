/**
 * Whether a topic is still the one that it was: its id (Kafka 2.8 and newer), which a topic that is deleted and made again
 * under the same name does not keep. librdkafka tells it from 2.3 on; whether the one that is loaded does is found out at
 * run time. Where it is not known, nothing is said here, and other signs must do: anchors, and offsets that go back.
 */
#ifndef RP_TOPIC_IDS_H
#define RP_TOPIC_IDS_H

#include "decide/job_record.h" /* RP_TOPIC_ID_SIZE */
#include "io/client.h"

/** False when this librdkafka cannot ask for ids at all. */
bool rp_topic_ids_are_known(void);

/** A topic that must stay the one that it was; the question may be under way while other things are done. One thread. */
struct rp_topic_watch;

/**
 * @param client  a connection to the topic's cluster; borrowed, must outlive the watch
 * @param id      the one that it must have
 * @returns NULL when out of memory
 */
struct rp_topic_watch *rp_topic_watch_new(struct rp_client *client, const char *topic, const char *id);
void rp_topic_watch_free(struct rp_topic_watch *watch);

/** Asks for the id. One that is already asked for is left alone. */
void rp_topic_watch_ask_same(struct rp_topic_watch *watch);

/**
 * Waits for the answer, and asks again for a while. To be asked after the last record of a transaction was read and written:
 * a topic that is the same now was so all the time, since an id never comes back.
 * @returns RP_OK, also when ids are not known; RP_ERR_INCOMPLETE when it is another topic; RP_ERR_ABORT_BATCH when nobody
 *          tells, which may pass.
 */
rp_err_t rp_topic_watch_check_same(struct rp_topic_watch *watch, struct rp_error *err);

/**
 * Asks and waits, again and again for as long as timeout_ms where brokers are in trouble.
 * @param id  filled in; "" when ids are not known
 * @returns RP_OK; RP_ERR_USAGE when there is no such topic; RP_ERR_RETRY when no broker answered.
 */
rp_err_t rp_topic_id(struct rp_client *client, const char *topic, int timeout_ms, char id[RP_TOPIC_ID_SIZE],
                     struct rp_error *err);

/** Fills an end of a job; the id only where there are ids, and the topic exists. @param cluster  its id, "" when not known */
rp_err_t rp_job_end_fill(struct rp_job_end *end, struct rp_client *client, const char *topic, const char *cluster,
                         int32_t partition_cnt, bool exists, int timeout_ms, struct rp_error *err);

/** The cluster's own id; "" when no broker tells it within timeout_ms. */
void rp_cluster_id(struct rp_client *client, int timeout_ms, char id[RP_CLUSTER_ID_SIZE]);

#endif
