/**
 * A topic of a Kafka cluster, or several of them, as an rp_source: read_committed, so records of aborted transactions do not
 * exist for it; no group membership; never creates a topic. The end of a range is found by position, so control records, aborted
 * ones and compaction gaps at its end are no obstacle.
 */
#ifndef RP_KAFKA_SOURCE_H
#define RP_KAFKA_SOURCE_H

#include "io/client.h"
#include "io/source.h"

struct rp_kafka_source_config {
        const struct rp_client_config *client; /* borrowed until the source is made */
        const char *topic;     /* this one, or else */
        const char *const *topics; /* ... these, in any order; read by one client */
        int32_t topic_cnt;     /* of topics; 0: topic */
        const char *group;     /* whose stored offsets this client shall be able to read; NULL: none */
        bool is_uncommitted;   /* gives what open and aborted transactions wrote as well; bounds() ends at the log's end */
        bool headers;          /* list each record's headers (costs an allocation for records that have some) */
        int64_t memory_bytes;  /* for what is fetched ahead, all partitions together; 0: a default that is fast */
        int timeout_ms;        /* how long a silent cluster is waited for */
        int32_t partitions_at_once; /* that will be read at the same time, to share the memory; 0: all */
};

/**
 * Connects and looks the topic up.
 * @returns RP_OK and *source, the caller's to source->ops->free(); RP_ERR_USAGE when there is no such topic,
 *          RP_ERR_RETRY when no broker answers.
 */
rp_err_t rp_kafka_source_new(struct rp_source **source, const struct rp_kafka_source_config *config,
                             struct rp_error *err);

/**
 * Waits until everything that is in the topic now can be read committed, up to timeout_ms: brokers write the marks that
 * end a transaction only after they have answered its commit. Gives up quietly when a transaction stays open.
 * @param source  a Kafka source of that topic
 */
rp_err_t rp_kafka_source_await_stable(struct rp_source *source, const struct rp_client_config *client, int timeout_ms,
                                      struct rp_error *err);

/** What transactions that are open now keep from being read, though it lies in the log. */
struct rp_hidden {
        int32_t partition_cnt; /* that have any */
        uint64_t offsets;      /* in all of them */
        int32_t place;         /* of the one that has the most, and where it begins */
        int64_t from;
};

rp_err_t rp_kafka_source_hidden(struct rp_source *source, const struct rp_client_config *client, struct rp_hidden *hidden,
                                struct rp_error *err);

/** @returns how this source fetches, one line for a log: the librdkafka in use and the queue sizes chosen for it. */
const char *rp_kafka_source_regime(const struct rp_source *source);

/** The source's consumer, for questions to the cluster. Borrowed. */
struct rp_client *rp_kafka_source_client(struct rp_source *source);

#ifdef RP_WITH_RDKAFKA
/** The source's partitions with their topics, by place. The caller's to destroy. */
rd_kafka_topic_partition_list_t *rp_kafka_source_partitions(const struct rp_source *source);
#endif
#endif
