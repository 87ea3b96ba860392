#include "witness.h"

#include "../policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <syslog.h>

/* ---- whose placement it looks like --------------------------------------------------------------------------- */

/* Bit i stands for kr_hash_at(i): the functions of clients come first in that table, and are fewer than 32. */
static unsigned hashes_unlike(const rd_kafka_message_t *record, int32_t partition_cnt)
{
        unsigned unlike = 0;

        for (unsigned i = 0; i < 32 && kr_hash_is_client(kr_hash_at(i)); i++) {
                uint64_t value = kr_hash_value(kr_hash_at(i), record->key, record->key_len);

                if (value % (uint64_t)partition_cnt != (uint64_t)record->partition)
                        unlike |= 1u << i;
        }
        return unlike;
}

/* The number is counted last, so whoever reads key_cnt finds in `unlike` what those keys rule out. */
static void compare_new_key(struct kr_witness_topic *topic, const rd_kafka_message_t *record, int32_t partition_cnt)
{
        uint64_t number = kr_murmur2_unsigned(record->key, record->key_len) + 1;

        for (size_t i = 0; i < KR_WITNESS_KEY_CNT; i++) {
                uint64_t there = atomic_load_explicit(&topic->keys[i], memory_order_relaxed);

                if (!there && atomic_compare_exchange_strong(&topic->keys[i], &there, number)) {
                        atomic_fetch_or_explicit(&topic->unlike, hashes_unlike(record, partition_cnt),
                                                 memory_order_relaxed);
                        atomic_fetch_add_explicit(&topic->key_cnt, 1, memory_order_release);
                        return;
                }
                if (there == number)
                        return;
        }
}

/*
 * Chance alone makes a function fit k keys once in N^k. With a dozen functions to choose from, nothing is said before
 * that is 2^24; and never of fewer than eight keys.
 */
static bool keys_suffice(unsigned key_cnt, int32_t partition_cnt)
{
        double odds = 1;

        for (unsigned i = 0; i < key_cnt; i++)
                odds *= partition_cnt;
        return key_cnt >= 8 && odds >= 1 << 24;
}

/* "; they look like …", or nothing while the keys are too few to say so. */
static void describe_origin(struct kr_witness_topic *topic, int32_t partition_cnt, char *buf, size_t size)
{
        unsigned key_cnt = atomic_load_explicit(&topic->key_cnt, memory_order_acquire);
        unsigned unlike = atomic_load_explicit(&topic->unlike, memory_order_relaxed);
        const kr_hash_t *like = NULL;
        char names[160];
        size_t len = 0;

        *buf = '\0';
        if (!keys_suffice(key_cnt, partition_cnt))
                return;
        for (unsigned i = 0; i < 32 && kr_hash_is_client(kr_hash_at(i)); i++)
                if (!(unlike >> i & 1) && len < sizeof(names)) { /* some differ by their signs only, and those may not show */
                        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", like ? " or " : "",
                                                kr_hash_name(kr_hash_at(i)));
                        like = like ? like : kr_hash_at(i);
                }
        if (!like)
                snprintf(buf, size, "; they look like no function of a known client");
        else
                snprintf(buf, size, "; they look like %s (%s)", names, kr_hash_clients(like));
}

/* ---- log lines ------------------------------------------------------------------------------------------------ */

static int32_t partitions_known(struct kr_route *route)
{
        int32_t pinned = kr_rule_partitions(route->rule);

        return pinned ? pinned : atomic_load_explicit(&route->partition_cnt, memory_order_relaxed);
}

static void describe_remedy(const struct kr_witness *witness, struct kr_route *route, char *buf, size_t size)
{
        if (!witness->is_producer)
                snprintf(buf, size, "Their producers do not follow the policy: repartition audit finds which, and "
                         "repartition repair mends the topic");
        else if (atomic_load_explicit(&route->partition_cnt, memory_order_relaxed) ||
                 witness->is_forced(route->topic, witness->opaque))
                snprintf(buf, size, "This program names partitions itself: let it leave them out");
        else
                snprintf(buf, size, "This program bypasses the plugin: it gives the topic a configuration of its own, then "
                         "set keyroute.topics.force=%s; or it names partitions itself, then let it leave them out",
                         route->topic);
}

static void log_misplaced(struct kr_witness *witness, size_t at, uint64_t cnt, bool is_total)
{
        struct kr_route *route = &witness->router->routes[at];
        int32_t partition_cnt = partitions_known(route);
        char rule[320] = "", origin[400], remedy[480];

        if (cnt == 1 && !is_total)
                snprintf(rule, sizeof(rule), " (%s, policy %s from %s, %" PRId32 " partitions)",
                         kr_rule_describe(route->rule), kr_rule_fingerprint(route->rule), witness->router->source,
                         partition_cnt);
        describe_origin(&witness->topics[at], partition_cnt, origin, sizeof(origin));
        describe_remedy(witness, route, remedy, sizeof(remedy));
        kr_router_log(witness->router, LOG_WARNING,
                      "topic %s: records %s elsewhere than the policy says: %" PRIu64 " %s%s%s. %s", route->topic,
                      witness->is_producer ? "delivered" : "consumed from", cnt, is_total ? "in all" : "so far", rule,
                      origin, remedy);
}

static bool is_power_of_ten(uint64_t n)
{
        while (n >= 10 && n % 10 == 0)
                n /= 10;
        return n == 1;
}

/* ---- judging -------------------------------------------------------------------------------------------------- */

/* False for a record that was right when it was placed, or whose topic is not what the policy was made for. */
static bool is_to_be_counted(struct kr_witness *witness, size_t at, const rd_kafka_message_t *record,
                             int32_t partition_cnt)
{
        struct kr_route *route = &witness->router->routes[at];
        struct kr_witness_topic *topic = &witness->topics[at];
        int32_t pinned = kr_rule_partitions(route->rule);
        int32_t current = atomic_load_explicit(&route->partition_cnt, memory_order_relaxed);
        int32_t previous = atomic_load_explicit(&route->previous_cnt, memory_order_relaxed);

        if (!pinned) /* a record on its way while the topic grew */
                return record->partition < partition_cnt &&
                       (!previous || kr_rule_partition(route->rule, record->key, record->key_len, previous) !=
                                             record->partition);
        if (current && current != pinned) /* the partitioner says so, and refuses */
                return false;
        if (record->partition < pinned)
                return !atomic_load_explicit(&topic->is_grown, memory_order_relaxed);
        if (!atomic_exchange_explicit(&topic->is_grown, true, memory_order_relaxed))
                kr_router_log(witness->router, LOG_WARNING,
                              "topic %s has more partitions than the policy (%s) was made for, %" PRId32
                              ": where its records lie is not judged any more; move the topic to the new count first "
                              "(repartition rewrite), then pin the policy to it",
                              route->topic, witness->router->source, pinned);
        return false;
}

static __attribute__((noinline)) void note_other_partition(struct kr_witness *witness, size_t at,
                                                           const rd_kafka_message_t *record, int32_t partition_cnt)
{
        struct kr_witness_topic *topic = &witness->topics[at];
        uint64_t cnt;

        if (!is_to_be_counted(witness, at, record, partition_cnt))
                return;
        atomic_store_explicit(&topic->is_suspect, true, memory_order_relaxed);
        if (atomic_load_explicit(&topic->key_cnt, memory_order_relaxed) < KR_WITNESS_KEY_CNT)
                compare_new_key(topic, record, partition_cnt);
        cnt = atomic_fetch_add_explicit(&topic->misplaced_cnt, 1, memory_order_relaxed) + 1;
        if (is_power_of_ten(cnt))
                log_misplaced(witness, at, cnt, false);
}

void kr_witness_note_sent(struct kr_witness *witness, const rd_kafka_message_t *record)
{
        struct kr_route *route;
        atomic_bool *is_suspect;

        if (record->partition == RD_KAFKA_PARTITION_UA || !record->key || !record->rkt)
                return;
        route = kr_router_find(witness->router, record->rkt, witness->router->lib->topic_name(record->rkt));
        if (!route)
                return;
        is_suspect = &witness->topics[route - witness->router->routes].is_suspect;
        if (!atomic_load_explicit(is_suspect, memory_order_relaxed))
                atomic_store_explicit(is_suspect, true, memory_order_relaxed);
}

/* A topic's handle may be closed and opened again with a configuration of its own: hence the spot checks. */
static bool is_taken_for_placed(struct kr_witness *witness, struct kr_route *route, const rd_kafka_message_t *record)
{
        return witness->is_producer && atomic_load_explicit(&route->partition_cnt, memory_order_relaxed) &&
               record->offset % KR_WITNESS_SPOT_CNT &&
               !atomic_load_explicit(&witness->topics[route - witness->router->routes].is_suspect,
                                     memory_order_relaxed);
}

void kr_witness_look(struct kr_witness *witness, const rd_kafka_message_t *record)
{
        struct kr_router *router = witness->router;
        struct kr_route *route;
        int32_t partition_cnt, partition;

        if (record->err || !record->key || !record->rkt)
                return;
        route = kr_router_find(router, record->rkt, router->lib->topic_name(record->rkt));
        if (!route || !route->rule || route->may_wait || is_taken_for_placed(witness, route, record))
                return;
        partition_cnt = partitions_known(route);
        if (!partition_cnt)
                return;
        partition = kr_rule_partition(route->rule, record->key, record->key_len, partition_cnt);
        if (partition != record->partition && partition >= 0)
                note_other_partition(witness, (size_t)(route - router->routes), record, partition_cnt);
}

void kr_witness_log_totals(struct kr_witness *witness)
{
        for (size_t i = 0; i < KR_ROUTE_CNT; i++) {
                uint64_t cnt = atomic_load_explicit(&witness->topics[i].misplaced_cnt, memory_order_relaxed);

                if (cnt)
                        log_misplaced(witness, i, cnt, true);
        }
}
