/**
 * An embedded Kafka for demos and for trying things: librdkafka's mock cluster, on loopback ports that the kernel
 * chooses, reachable by any client on this machine. It keeps at most 5 MiB a partition, in memory; it knows no admin
 * requests, hides no aborted transactions, and drops offsets that were committed in a transaction.
 */
#ifndef RP_SANDBOX_H
#define RP_SANDBOX_H

#include "error.h"

#include <stdint.h>

enum {
        RP_SANDBOX_RETAINED_MIB = 5,   /* librdkafka's constant: what a partition keeps at most         */
        RP_SANDBOX_PARTITION_CNT = 4   /* librdkafka's constant: what a topic made by its first use gets */
};

struct rp_sandbox;

/** @returns a running cluster, the caller's to rp_sandbox_free(); or NULL with *err. */
struct rp_sandbox *rp_sandbox_new(int broker_cnt, struct rp_error *err);

/** Makes a topic, replicated on all brokers. RP_ERR_USAGE when it is there already. */
rp_err_t rp_sandbox_create_topic(struct rp_sandbox *sandbox, const char *topic, int32_t partition_cnt,
                                 struct rp_error *err);

/** @returns the bootstrap address, borrowed. */
const char *rp_sandbox_bootstrap(const struct rp_sandbox *sandbox);

/** Stops the cluster and everything in it; NULL is allowed. */
void rp_sandbox_free(struct rp_sandbox *sandbox);

#endif
