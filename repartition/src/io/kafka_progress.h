/** How far a job has come, as its consumer group in the cluster stores it: the truth that every run begins from. */
#ifndef RP_KAFKA_PROGRESS_H
#define RP_KAFKA_PROGRESS_H

#include "decide/topics.h"
#include "io/client.h"
#include "io/source.h"
#include "mark.h"

/**
 * The progress that a job has stored, read through the source's consumer, whose group must be the job. Waits for the end
 * of a transaction that is about to change it.
 */
rp_err_t rp_kafka_progress(struct rp_source *source, struct rp_progress *progress, int timeout_ms,
                           struct rp_error *err);

/**
 * The same for a plan, which must come to its end. A run that was killed may have left a transaction open that would change
 * the progress: its end is waited for, but no longer than such transactions last by default. If it was given more time, this
 * is what was committed before; recover() voids that transaction, and believes only what is stored after that.
 */
rp_err_t rp_kafka_progress_now(struct rp_source *source, const char *job, struct rp_progress *progress, int timeout_ms,
                               struct rp_error *err);

/**
 * What a group has stored for the partitions of the topic, or of these topics, by whatever member, as seen from outside:
 * what a transaction that is open would change is not waited for. Tells a new group from an old one.
 * @param right     what this user needs on the group, for the error that names it: "Read" for a job's own, of which the
 *                  look is only the first step; "Describe" for another's
 * @param progress  its elements are the partitions that are looked at
 */
rp_err_t rp_kafka_progress_peek(struct rp_client *client, const char *group, const char *right, const char *topic,
                                const struct rp_topics *topics, struct rp_progress *progress, int timeout_ms,
                                struct rp_error *err);

#ifdef RP_WITH_RDKAFKA
/** The same for the partitions in the list, of these topics (NULL: of one), through any consumer of the group. */
rp_err_t rp_kafka_progress_ask(struct rp_client *client, rd_kafka_topic_partition_list_t *list,
                               const struct rp_topics *topics, struct rp_progress *progress, int timeout_ms,
                               struct rp_error *err);
#endif

#endif
