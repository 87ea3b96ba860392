/*
 * What the plugin's witness costs a record, in one run: nanoseconds of CPU for each record that it is shown, of a topic that
 * the partitioner serves, and of one past it, where all lie as the policy says, and where none does. A million keys of 25 bytes; the best of several rounds that take turns. The
 * call through librdkafka's list of interceptors is part of what `bench plugin` measures beside it.
 *
 * usage: witness_cost [ROUNDS]
 */
#include "plugin/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_CNT = 1000000, KEY_LEN = 25, PARTITION_CNT = 12 };

struct record {
        char key[KEY_LEN + 7];
        int32_t partition;
};

static const char *topic_name(const rd_kafka_topic_t *rkt)
{
        return (const char *)(const void *)rkt;
}

static void log_print(const rd_kafka_t *rk, int level, const char *fac, const char *line)
{
        (void)rk, (void)level, (void)fac, (void)line;
}

static bool is_forced(const char *topic, void *opaque)
{
        (void)topic, (void)opaque;
        return false;
}

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One pass over all records, `off` partitions beside their place. */
static double pass_ns(struct kr_witness *witness, const struct record *records, const char *topic, int32_t off)
{
        rd_kafka_message_t shown = { .rkt = (rd_kafka_topic_t *)(uintptr_t)topic, .key_len = KEY_LEN };
        double before = now_ns();

        for (size_t i = 0; i < KEY_CNT; i++) {
                shown.key = (void *)(uintptr_t)records[i].key;
                shown.offset = (int64_t)i;
                shown.partition = (records[i].partition + off) % PARTITION_CNT;
                kr_witness_look(witness, &shown);
        }
        return (now_ns() - before) / KEY_CNT;
}

int main(int argc, char **argv)
{
        static const char policy[] = "{\"keyroute\":1,\"topics\":{\"*\":{\"partitions\":12}}}";
        static struct kr_rdkafka lib = { .topic_name = topic_name, .log_print = log_print };
        struct kr_router *router = calloc(1, sizeof(*router));
        struct kr_witness *witness = calloc(1, sizeof(*witness));
        struct record *records = calloc(KEY_CNT, sizeof(*records));
        int rounds = argc > 1 ? atoi(argv[1]) : 9;
        static const struct {
                const char *what, *topic;
                int32_t off;
        } cases[] = {
                { "served by the partitioner", "served", 0 },
                { "past it, all in their place", "orders", 0 },
                { "past it, all elsewhere", "orders", 1 },
        };
        double best[3] = { 1e9, 1e9, 1e9 };
        struct kr_error err;

        if (!router || !witness || !records)
                return 2;
        router->lib = &lib;
        router->log_level = 6;
        router->policy = kr_policy_parse(policy, strlen(policy), "bench", &err);
        if (!router->policy) {
                fprintf(stderr, "witness_cost: %s\n", err.text);
                return 2;
        }
        *witness = (struct kr_witness){ .router = router, .is_producer = true, .is_forced = is_forced };
        for (size_t i = 0; i < KEY_CNT; i++) {
                snprintf(records[i].key, sizeof(records[i].key), "customer-%016" PRIx64, (uint64_t)i * 2654435761u);
                records[i].partition = kr_rule_partition(kr_policy_rule(router->policy, "orders"), records[i].key, KEY_LEN,
                                                         PARTITION_CNT);
        }
        kr_router_partition((const rd_kafka_topic_t *)(const void *)"served", "a", 1, PARTITION_CNT, router, NULL);
        for (int i = 0; i < rounds; i++)
                for (size_t c = 0; c < 3; c++) {
                        double ns = pass_ns(witness, records, cases[c].topic, cases[c].off);

                        best[c] = ns < best[c] ? ns : best[c];
                }
        for (size_t c = 0; c < 3; c++)
                printf("  %-38s %11.1f ns/record    aim <= 30\n", cases[c].what, best[c]);
        return 0;
}
