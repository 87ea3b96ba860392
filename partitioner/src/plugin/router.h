/**
 * What a producer's partitioner callback works with: the policy, librdkafka's own partitioner for all that the policy
 * leaves alone, and a cache of the topics seen. One per client; it hangs in the opaque of the topic configurations.
 *
 * librdkafka calls the partitioner from application threads and from its own, under a lock of the topic. So it takes no
 * lock, allocates nothing, and writes a log line once for each topic and state.
 */
#ifndef KR_ROUTER_H
#define KR_ROUTER_H

#include "bind.h"

#include <stdatomic.h>

#define KR_ROUTE_OUTCOME_CNT 4 /* room for each kr_key_outcome_t */
#define KR_ROUTE_CNT 256 /* topics that are remembered; a power of two */

/** One topic of the client, once it has been seen. */
struct kr_route {
        atomic_int state;
        char topic[250];
        const kr_rule_t *rule;               /* NULL: the policy does not name the topic */
        bool has_key_use;                    /* the rule takes a part of the key: what became of it is counted */
        bool may_wait;                       /* the rule may have to ask a schema registry */
        _Atomic int32_t partition_cnt;       /* that the partitioner was last called with; 0: it never was */
        _Atomic int32_t previous_cnt;        /* the one before; 0 for none */
        _Atomic int32_t refused_cnt;         /* the partition count that was last complained about, 0 for none */
        atomic_bool key_complained;          /* that keys are rejected was said */
        _Atomic uint64_t refused_record_cnt; /* records refused for either reason */
        _Atomic uint64_t outcome_cnt[KR_ROUTE_OUTCOME_CNT]; /* by kr_key_outcome_t; of rules with a key use */
};

/** As librdkafka's own partitioners, and as the callbacks that applications set. */
typedef int32_t kr_partitioner_fn(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t partition_cnt,
                                  void *rkt_opaque, void *msg_opaque);

struct kr_router {
        const struct kr_rdkafka *lib;
        rd_kafka_t *rk; /* for log lines */
        int log_level;  /* syslog's numbers, as the property log_level */
        const kr_policy_t *policy;
        char source[160];        /* what named the policy */
        kr_partitioner_fn *host; /* decides where the policy does not: topics without a rule, records without a key */
        void *host_opaque;
        const char *host_name;
        atomic_uint route_cnt;
        atomic_bool full;                                /* that the cache is full was said */
        _Atomic(struct kr_route *) recent[KR_ROUTE_CNT]; /* by topic handle; only a hint, the name decides */
        struct kr_route routes[KR_ROUTE_CNT];            /* by name; entries stay where they are */
        struct kr_route others; /* counts records that came while their topic's entry was made, or when there was no room */
};

/** @returns the topic's entry, made when it is new; or NULL when there is no room, or another thread is at it. */
struct kr_route *kr_router_find(struct kr_router *router, const rd_kafka_topic_t *rkt, const char *topic);

/** Routes by the policy. `opaque` is a struct kr_router. */
kr_partitioner_fn kr_router_partition;

/** Refuses every record: for a client whose policy could not be had. `opaque` is not looked at. */
kr_partitioner_fn kr_router_refuse;

/** Writes one line to the log of librdkafka (stderr, in its form), unless the level is above the client's log_level. */
void kr_router_log(const struct kr_router *router, int level, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/**
 * Says how many records were refused, and what became of keys of which a part routes: a line for each topic that had
 * some. Called when the client is destroyed.
 */
void kr_router_log_totals(struct kr_router *router);

#endif
