/** What a live cluster holds where: brokers, racks, replicas, and how much lies in each partition. Only asks. */
#ifndef RP_REPLICAS_H
#define RP_REPLICAS_H

#include "assignment.h"
#include "io/client.h"

struct rp_live_broker {
        int32_t id;
        char *rack; /* NULL: it has none, or racks were not asked for */
};

/** A cluster at one moment. */
struct rp_live {
        struct rp_live_broker *brokers; /* those that are up, by rising id */
        size_t broker_cnt;
        struct rp_assignment assignment; /* sorted; weights are records (high minus low watermark) if asked for */
        size_t uncounted_cnt;            /* partitions without a leader: their records could not be counted */
};

struct rp_live_request {
        const struct rp_client_config *client;
        char *const *topics;
        size_t topic_cnt;
        bool racks;   /* read each broker's rack (its setting broker.rack; needs the right to describe its settings) */
        bool records; /* count the records of each partition by its watermarks */
        int timeout_ms;
};

/**
 * While a reassignment runs, a partition's replicas are the old and the new ones together; that cannot be told from here.
 * @returns RP_OK and *live, the caller's to rp_live_release(); RP_ERR_USAGE for a topic that does not exist.
 */
rp_err_t rp_live_read(struct rp_live *live, const struct rp_live_request *request, struct rp_error *err);
void rp_live_release(struct rp_live *live);

#endif
