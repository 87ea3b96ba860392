/**
 * Notices records that lie elsewhere than the policy says: those that a producer delivered past its partitioner, and
 * those that a consumer was given, whoever wrote them. It only looks: records, partitions and errors stay as they are.
 *
 * Judged are records with a key, without an error, of topics that the policy names and whose partition count is known:
 * the pinned one, else the one that this client's partitioner was last called with. librdkafka has no call that tells a
 * count without waiting for a broker, so nothing else is asked. Left out: keys that the policy rejects, and rules that may
 * wait for a schema registry.
 *
 * A key is cold by the time its record is delivered, and fetching it costs ten times what judging it does. So where this
 * client's partitioner serves a topic, its records are taken for placed by it, and only every 64th is looked at, until the
 * program names a partition for one with a key, or one of those lies elsewhere; from then on all of the topic's are.
 *
 * librdkafka calls it from its brokers' threads and from the application's, several at once. It takes no lock, allocates
 * nothing (but see kr_rule_partition() on JSON keys), and keeps no key: only a number for each of the first few, to tell
 * them apart.
 */
#ifndef KR_WITNESS_H
#define KR_WITNESS_H

#include "router.h"

#define KR_WITNESS_SPOT_CNT 64 /* of so many records that the partitioner should have placed, by offset, one is judged */
#define KR_WITNESS_KEY_CNT 32 /* distinct misplaced keys of a topic that are compared with the known functions */

struct kr_witness_topic {
        _Atomic uint64_t misplaced_cnt;
        atomic_bool is_suspect; /* of a producer's: records may have been placed past its partitioner, so all are judged */
        atomic_bool is_grown; /* a partition beyond the pinned count was seen: nothing is judged any more */
        atomic_uint key_cnt;  /* distinct keys that went into `unlike` */
        atomic_uint unlike;   /* bit i: the i-th hash function would have put one of those keys elsewhere */
        _Atomic uint64_t keys[KR_WITNESS_KEY_CNT]; /* a number for each, 0 for none */
};

/** One per client. Zeroed memory with the first three members set is a new one. */
struct kr_witness {
        struct kr_router *router; /* with lib, rk, policy and source set; it need not route */
        bool is_producer;
        bool (*is_forced)(const char *topic, void *opaque); /* whether keyroute.topics.force names it already */
        void *opaque;
        struct kr_witness_topic topics[KR_ROUTE_CNT]; /* beside router->routes, so that counting does not slow routing */
};

/** Takes note of a record that a producer is about to send, before it is partitioned. */
void kr_witness_note_sent(struct kr_witness *witness, const rd_kafka_message_t *record);

/** Looks at a record that was delivered or consumed; logs the first misplaced one of a topic, the 10th, the 100th... */
void kr_witness_look(struct kr_witness *witness, const rd_kafka_message_t *record);

/** A line for each topic that had misplaced records. Called when the client is destroyed. */
void kr_witness_log_totals(struct kr_witness *witness);

#endif
