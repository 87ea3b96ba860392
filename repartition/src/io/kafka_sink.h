/**
 * A topic of a Kafka cluster as an rp_sink: one transactional producer, partitions chosen by the caller. Progress is
 * the job's consumer group: offsets of the source topic, committed in the same transaction as the records; where source
 * and target are two clusters, records in the target's topic of jobs, likewise.
 *
 * With a topic of jobs each transaction also carries a checkpoint (decide/checkpoint.h), and the first one the job's
 * description. Before each commit both topics are asked whether they are still the ones that the job began with.
 * recover() always makes a new producer (kafka_producer.h says why).
 */
#ifndef RP_KAFKA_SINK_H
#define RP_KAFKA_SINK_H

#include "io/client.h"
#include "io/group.h"
#include "io/job_store.h"
#include "io/sink.h"
#include "io/source.h"

struct rp_kafka_sink_config {
        const struct rp_client_config *client; /* borrowed while the sink lives */
        struct rp_source *source; /* a Kafka source, of any number of topics, whose group is `job`; borrowed, must outlive
                                     the sink */
        const char *job;          /* group and transactional.id: one job, one name */
        /**
         * In a consumer group of several members, instead of source: its progress is stored as that of the member that we
         * are, and refused once we are no longer. Borrowed, must outlive the sink.
         */
        struct rp_group *group;
        const char *transactional_id; /* of this member alone; NULL: the job's name */
        const char *topic;
        int32_t partition_cnt;
        const char *compression;  /* "none" or a codec; borrowed while the sink lives. NULL: what the client's properties say */
        int64_t batch_bytes_max;  /* the topic's max.message.bytes; 0: not known */
        int timeout_ms;           /* how long a silent cluster is waited for */

        struct rp_job_store *store;   /* of the job, open; borrowed, must outlive the sink. NULL: progress alone */
        const struct rp_job_descriptor *descriptor; /* for the topic of jobs; its topics' ids, where known, are held to.
                                                       Borrowed, must outlive the sink */
        int shard;                    /* which of the job's producers this is, from 0; each has an id of its own */
        const bool *is_mine;          /* the source's partitions that this producer copies, others copy the rest. NULL: all.
                                         Borrowed, must outlive the sink */
        struct rp_jobs_topic *jobs;   /* without a store: the topic of jobs for what the caller itself says there. Borrowed,
                                         must outlive the sink. NULL: none */
};

/** @returns RP_OK and *sink, the caller's to sink->ops->free(). The cluster is first spoken to in recover(). */
rp_err_t rp_kafka_sink_new(struct rp_sink **sink, const struct rp_kafka_sink_config *config, struct rp_error *err);

/**
 * Holds every commit to a topic's id as it is now, for jobs without a descriptor. Where ids are not known, nothing is held to.
 * @param client  a connection to the topic's cluster; borrowed, must outlive the sink, like the name
 */
rp_err_t rp_kafka_sink_watch(struct rp_sink *sink, struct rp_client *client, const char *topic, int timeout_ms,
                             struct rp_error *err);

/**
 * Whether the cluster lets this job begin transactions: fences whoever has its name, and writes nothing. To be asked before
 * anything is made for the job.
 */
rp_err_t rp_kafka_sink_try(const struct rp_kafka_sink_config *config, struct rp_error *err);

/**
 * Whether the topic has as many partitions as keys are placed by; asked of the cluster, once the sink was recovered.
 * @param job     what the job is called in the error: "job", "repair"
 * @param advice  what to do then
 * @returns RP_ERR_USAGE when it has another number.
 */
rp_err_t rp_kafka_sink_check_count(struct rp_sink *sink, int timeout_ms, int32_t wanted, const char *job, const char *advice,
                                   struct rp_error *err);

#endif
