/**
 * The calls of a transactional producer that may wait for a cluster, each with an end of its own: librdkafka does not keep
 * the time-outs of these (io/within.h).
 */
#ifndef RP_TRANSACT_H
#define RP_TRANSACT_H

#include "io/client.h"

#ifdef RP_WITH_RDKAFKA
typedef enum { RP_TRANSACT_INIT, RP_TRANSACT_SEND_OFFSETS, RP_TRANSACT_COMMIT, RP_TRANSACT_ABORT } rp_transact_what_t;

typedef enum {
        RP_TRANSACT_RETURNED,
        RP_TRANSACT_FAILED_BEFORE, /* the transaction had failed already, and this call does not tell why; the next one will */
        RP_TRANSACT_HUNG           /* it is still running: the producer must never be used, nor destroyed, again */
} rp_transact_end_t;

struct rp_transact_call {
        rp_transact_what_t what;
        int timeout_ms;
        rd_kafka_topic_partition_list_t *offsets;  /* RP_TRANSACT_SEND_OFFSETS; passes over */
        rd_kafka_consumer_group_metadata_t *group; /* likewise */
};

/**
 * Performs the call, and waits for little longer than it was given.
 * @param client  the producer, which one thread uses at a time
 * @param doing   completes "cannot ..."
 * @returns RP_OK, or an error as of rp_fail_kafka(); RP_ERR_ABORT_BATCH when it hung
 */
rp_err_t rp_transact(struct rp_client *client, const struct rp_transact_call *call, const char *doing, rp_transact_end_t *end,
                     struct rp_error *err);

#endif
#endif
