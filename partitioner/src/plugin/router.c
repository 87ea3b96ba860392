#include "router.h"

#include "../policy/policy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

enum { ROUTE_FREE, ROUTE_CLAIMED, ROUTE_READY }; /* of struct kr_route, in this order only */

void kr_router_log(const struct kr_router *router, int level, const char *fmt, ...)
{
        char line[1024];
        va_list args;

        if (level > router->log_level)
                return;
        va_start(args, fmt);
        vsnprintf(line, sizeof(line), fmt, args);
        va_end(args);
        router->lib->log_print(router->rk, level, "KEYROUTE", line);
}

/* ---- the cache of topics ------------------------------------------------------------------------------------ */

static uint32_t name_hash(const char *topic)
{
        uint32_t hash = 2166136261u;

        for (; *topic; topic++)
                hash = (hash ^ (unsigned char)*topic) * 16777619u;
        return hash ^ hash >> 15;
}

static void announce(const struct kr_router *router, const struct kr_route *route, int32_t partition_cnt)
{
        if (!route->rule)
                kr_router_log(router, LOG_INFO,
                              "topic %s: not named by %s, librdkafka's %s decides, %" PRId32 " partitions",
                              route->topic, router->source, router->host_name, partition_cnt);
        else if (!kr_rule_partitions(route->rule) || kr_rule_partitions(route->rule) == partition_cnt)
                kr_router_log(router, LOG_INFO, "topic %s: %s, policy %s from %s, %" PRId32 " partitions", route->topic,
                              kr_rule_describe(route->rule), kr_rule_fingerprint(route->rule), router->source,
                              partition_cnt);
}

/* Of all threads that meet the topic first, one announces it. */
static __attribute__((noinline)) void note_count(struct kr_router *router, struct kr_route *route, int32_t partition_cnt)
{
        int32_t before = atomic_exchange_explicit(&route->partition_cnt, partition_cnt, memory_order_relaxed);

        if (!before)
                announce(router, route, partition_cnt);
        else if (before != partition_cnt)
                atomic_store_explicit(&route->previous_cnt, before, memory_order_relaxed);
}

static bool reads_schemas(const struct kr_key *key)
{
        return key && (key->kind == &kr_key_avro || reads_schemas(key->over));
}

/*
 * The topic's entry, made when it is new; NULL when there is no room, or while another thread makes one in its place
 * (it may be this topic's: nobody waits, this record is just routed without the cache).
 */
static struct kr_route *find_by_name(struct kr_router *router, const char *topic)
{
        uint32_t start = name_hash(topic);

        if (strlen(topic) >= sizeof(router->routes[0].topic))
                return NULL;
        for (uint32_t probe = 0; probe < KR_ROUTE_CNT; probe++) {
                struct kr_route *route = &router->routes[(start + probe) % KR_ROUTE_CNT];
                int state = atomic_load_explicit(&route->state, memory_order_acquire);

                if (state == ROUTE_READY && !strcmp(route->topic, topic))
                        return route;
                if (state == ROUTE_READY)
                        continue;
                if (state == ROUTE_CLAIMED || !atomic_compare_exchange_strong(&route->state, &state, ROUTE_CLAIMED))
                        return NULL;
                strcpy(route->topic, topic);
                route->rule = kr_policy_rule(router->policy, topic);
                route->has_key_use = route->rule && !kr_key_is_whole(&route->rule->key);
                route->may_wait = route->rule && router->policy->registries.client && reads_schemas(&route->rule->key);
                atomic_store_explicit(&route->state, ROUTE_READY, memory_order_release);
                return route;
        }
        if (!atomic_exchange(&router->full, true))
                kr_router_log(router, LOG_INFO,
                              "more than %d topics: the next ones are routed the same way, but neither logged one by one "
                              "nor watched",
                              KR_ROUTE_CNT);
        return NULL;
}

/*
 * A handle's address may come to belong to another topic once the handle is destroyed, so it is only the place where to
 * look first: the name is compared each time.
 */
struct kr_route *kr_router_find(struct kr_router *router, const rd_kafka_topic_t *rkt, const char *topic)
{
        uintptr_t address = (uintptr_t)rkt;
        size_t at = (address >> 6 ^ address >> 14) % KR_ROUTE_CNT;
        struct kr_route *route;

        for (size_t probe = 0; probe < 2; probe++) {
                route = atomic_load_explicit(&router->recent[at ^ probe], memory_order_acquire);
                if (route && !strcmp(route->topic, topic))
                        return route;
        }
        route = find_by_name(router, topic);
        if (route) {
                if (atomic_load_explicit(&router->recent[at], memory_order_relaxed))
                        at ^= 1;
                atomic_store_explicit(&router->recent[at], route, memory_order_release);
        }
        return route;
}

/* ---- the partitioners --------------------------------------------------------------------------------------- */

/* librdkafka fails a record at once whose partition does not exist; -1 would let it wait for its timeout. */
static int32_t refuse(struct kr_router *router, struct kr_route *route, const kr_rule_t *rule, int32_t why,
                      int32_t partition_cnt)
{
        atomic_fetch_add_explicit(&(route ? route : &router->others)->refused_record_cnt, 1, memory_order_relaxed);
        if (!route)
                return partition_cnt;
        if (why == KR_ERR_PARTITION_COUNT) {
                if (atomic_exchange_explicit(&route->refused_cnt, partition_cnt, memory_order_relaxed) != partition_cnt)
                        kr_router_log(router, LOG_ERR,
                                      "topic %s has %" PRId32 " partitions, the policy (%s) was made for %" PRId32
                                      ": records are refused, not misplaced; move the topic to the new count first "
                                      "(repartition rewrite), then pin the policy to it",
                                      route->topic, partition_cnt, router->source, kr_rule_partitions(rule));
        } else if (!atomic_exchange_explicit(&route->key_complained, true, memory_order_relaxed)) {
                kr_router_log(router, LOG_ERR, "topic %s: records are refused: %s (%s, policy %s from %s)",
                              route->topic, kr_strerror(why), kr_rule_describe(rule), kr_rule_fingerprint(rule),
                              router->source);
        }
        return partition_cnt;
}

/* By kr_key_outcome_t: what is said of the first such key, and in the totals. */
static const struct {
        const char *first, *total;
} outcomes[KR_ROUTE_OUTCOME_CNT] = {
        { NULL, "routed by the part that the policy names" },
        { "has no registry frame and routes as it is", "without a frame, as they are" },
        { "cannot be taken apart and routes by all of its bytes", "that could not be taken apart" },
        { "has a schema that is not known yet and routes by all of its bytes", "of a schema that was not known" },
};

/* What a policy's author may not expect is said once a topic; refusals are said elsewhere. */
static void note_outcome(struct kr_router *router, struct kr_route *route, const struct kr_routing *routing)
{
        size_t outcome = (size_t)routing->outcome;

        if (outcome < KR_ROUTE_OUTCOME_CNT &&
            !atomic_fetch_add_explicit(&route->outcome_cnt[outcome], 1, memory_order_relaxed) &&
            outcomes[outcome].first && routing->partition >= 0 && route != &router->others)
                kr_router_log(router, LOG_WARNING, "topic %s: a key %s (%s, policy %s); all such keys are counted",
                              route->topic, outcomes[outcome].first, kr_rule_describe(route->rule),
                              kr_rule_fingerprint(route->rule));
}

/* Apart, so that rules for the whole key do not pay for it. */
static __attribute__((noinline)) int32_t route_counted(struct kr_router *router, struct kr_route *route,
                                                       const kr_rule_t *rule, const void *key, size_t key_len,
                                                       int32_t partition_cnt)
{
        struct kr_routing routing;

        kr_rule_route(rule, key, key_len, partition_cnt, &routing);
        if (routing.partition != KR_ERR_PARTITION_COUNT)
                note_outcome(router, route, &routing);
        return routing.partition;
}

int32_t kr_router_partition(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t partition_cnt,
                            void *opaque, void *msg_opaque)
{
        struct kr_router *router = opaque;
        const char *topic = router->lib->topic_name(rkt);
        struct kr_route *route = kr_router_find(router, rkt, topic);
        const kr_rule_t *rule = route ? route->rule : kr_policy_rule(router->policy, topic);
        int32_t partition;

        if (route && atomic_load_explicit(&route->partition_cnt, memory_order_relaxed) != partition_cnt)
                note_count(router, route, partition_cnt);
        /* A NULL key arrives only when the user took stickiness away. It is not the policy's business. */
        if (!rule || !key)
                return router->host(rkt, key, key_len, partition_cnt, router->host_opaque, msg_opaque);
        if (route ? route->has_key_use : !kr_key_is_whole(&rule->key))
                partition = route_counted(router, route ? route : &router->others, rule, key, key_len, partition_cnt);
        else
                partition = kr_rule_partition(rule, key, key_len, partition_cnt);
        return partition >= 0 ? partition : refuse(router, route, rule, partition, partition_cnt);
}

int32_t kr_router_refuse(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t partition_cnt,
                         void *opaque, void *msg_opaque)
{
        (void)rkt, (void)key, (void)key_len, (void)opaque, (void)msg_opaque;
        return partition_cnt;
}

static const char *name_of(const struct kr_router *router, const struct kr_route *route)
{
        return route == &router->others ? "records counted apart from their topics" : "topic ";
}

static void log_outcomes(struct kr_router *router, struct kr_route *route)
{
        uint64_t cnt[KR_ROUTE_OUTCOME_CNT], sum = 0;
        char text[512];
        size_t len = 0;

        for (size_t i = 0; i < KR_ROUTE_OUTCOME_CNT; i++) {
                cnt[i] = atomic_load_explicit(&route->outcome_cnt[i], memory_order_relaxed);
                sum += cnt[i];
        }
        for (size_t i = 0; i < KR_ROUTE_OUTCOME_CNT; i++)
                if (cnt[i])
                        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRIu64 " %s", len ? ", " : "", cnt[i],
                                                outcomes[i].total);
        if (sum)
                kr_router_log(router, sum == cnt[KR_KEY_PROJECTED] ? LOG_INFO : LOG_WARNING, "%s%s: of %" PRIu64
                              " keys %s", name_of(router, route), route->topic, sum, text);
}

static void log_total(struct kr_router *router, struct kr_route *route)
{
        uint64_t cnt = atomic_load_explicit(&route->refused_record_cnt, memory_order_relaxed);

        if (cnt)
                kr_router_log(router, LOG_ERR, "%s%s: %" PRIu64 " records were refused in all", name_of(router, route),
                              route->topic, cnt);
        log_outcomes(router, route);
}

void kr_router_log_totals(struct kr_router *router)
{
        for (size_t i = 0; i < KR_ROUTE_CNT; i++)
                log_total(router, &router->routes[i]);
        log_total(router, &router->others);
}
