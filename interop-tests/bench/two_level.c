/*
 * What the map two-level is for: "the first 100 records of this group" read from the few partitions that can hold them,
 * beside the same question asked of all partitions, in one run on one topic. A query assigns the partitions from their
 * beginning and ends with the 100th record of its group.
 *
 *   cc -O2 -Ipartitioner/include two_level.c libkeyroute.a -lrdkafka -ljansson -lz -lm -lpthread
 *   two_level BOOTSTRAP TOPIC       the topic is new and has 96 partitions
 *
 * Prints one line of JSON: for each side the median latency of queries that take turns, and queries a second of four
 * readers at once; then the two ratios.
 */
#include <keyroute.h>
#include <librdkafka/rdkafka.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
        PARTITIONS = 96,
        FANOUT = 8,
        GROUPS = 240,
        EACH = 2000,
        LIMIT = 100,
        TURNS = 15,
        READERS = 4,
        QUERIES = 5,
        WAIT_MS = 30000
};

static const char policy_text[] =
        "{\"keyroute\": 1, \"topics\": {\"*\": {\"partitions\": 96, \"map\": {\"kind\": \"two-level\", "
        "\"fanout\": 8, \"delimiter\": \"|\"}}}}";
static const kr_rule_t *rule;
static const char *bootstrap, *topic_name;

static void die(const char *what, const char *why)
{
        fprintf(stderr, "two_level: %s: %s\n", what, why);
        exit(3);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char text[256];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
                die(name, text);
}

static double now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *report, void *opaque)
{
        (void)rk;
        (void)opaque;
        if (report->err)
                die("delivery", rd_kafka_err2str(report->err));
}

/* Groups take turns, as tenants do. */
static void fill(void)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[256], key[48], value[100];
        rd_kafka_topic_t *topic;
        rd_kafka_t *rk;

        memset(value, 'v', sizeof(value));
        set(conf, "bootstrap.servers", bootstrap);
        set(conf, "linger.ms", "50");
        set(conf, "queue.buffering.max.messages", "1000000");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk)
                die("producer", text);
        topic = rd_kafka_topic_new(rk, topic_name, NULL);
        for (int i = 0; i < GROUPS * EACH; i++) {
                int len = snprintf(key, sizeof(key), "tenant-%03d|%08d", i % GROUPS, i);

                while (rd_kafka_produce(topic, kr_rule_partition(rule, key, (size_t)len, PARTITIONS),
                                        RD_KAFKA_MSG_F_COPY, value, sizeof(value), key, (size_t)len, NULL)) {
                        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                                die("produce", rd_kafka_err2str(rd_kafka_last_error()));
                        rd_kafka_poll(rk, 10);
                }
                if (i % 1000 == 0)
                        rd_kafka_poll(rk, 0);
        }
        if (rd_kafka_flush(rk, 120000))
                die("flush", "records are left");
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
}

static rd_kafka_t *make_consumer(void)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[256];
        rd_kafka_t *rk;

        set(conf, "bootstrap.servers", bootstrap);
        set(conf, "group.id", "two-level");
        set(conf, "enable.auto.commit", "false");
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "fetch.wait.max.ms", "10");
        set(conf, "max.partition.fetch.bytes",
            "65536"); /* enough for the answer; a megabyte each would be read for nothing */
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
        if (!rk)
                die("consumer", text);
        rd_kafka_poll_set_consumer(rk);
        return rk;
}

/* @returns how long it took, in milliseconds. */
static double query(rd_kafka_t *consumer, int group, int is_few)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);
        int32_t partitions[PARTITIONS];
        char first[16];
        int len = snprintf(first, sizeof(first), "tenant-%03d", group % GROUPS), found = 0;
        int32_t cnt = kr_rule_partitions_of_prefix(rule, first, (size_t)len, PARTITIONS, partitions, PARTITIONS);
        double began = now_ms();

        if (cnt != FANOUT)
                die("policy", "expected 8 partitions of a group");
        for (int32_t p = 0; p < (is_few ? cnt : PARTITIONS); p++)
                rd_kafka_topic_partition_list_add(list, topic_name, is_few ? partitions[p] : p)->offset = 0;
        if (rd_kafka_assign(consumer, list))
                die("assign", "failed");
        rd_kafka_topic_partition_list_destroy(list);
        while (found < LIMIT) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, WAIT_MS);

                if (!message)
                        die("query", "no record for 30 s");
                if (message->err)
                        die("consume", rd_kafka_message_errstr(message));
                found += message->key_len > (size_t)len && !memcmp(message->key, first, (size_t)len) &&
                         ((const char *)message->key)[len] == '|';
                rd_kafka_message_destroy(message);
        }
        began = now_ms() - began;
        rd_kafka_assign(consumer, NULL);
        return began;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

struct reader {
        pthread_t thread;
        rd_kafka_t *consumer;
        int number, is_few;
};

static void *read_many(void *arg)
{
        struct reader *reader = arg;

        for (int i = 0; i < QUERIES; i++)
                query(reader->consumer, reader->number * QUERIES + i, reader->is_few);
        return NULL;
}

/* Queries a second of all readers together. */
static double throughput(struct reader *readers, int is_few)
{
        double began = now_ms();

        for (int r = 0; r < READERS; r++) {
                readers[r].is_few = is_few;
                pthread_create(&readers[r].thread, NULL, read_many, &readers[r]);
        }
        for (int r = 0; r < READERS; r++)
                pthread_join(readers[r].thread, NULL);
        return READERS * QUERIES * 1e3 / (now_ms() - began);
}

int main(int argc, char **argv)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_parse(policy_text, sizeof(policy_text) - 1, "two_level", &err);
        double latency[2][TURNS], rate[2] = { 0, 0 };
        struct reader readers[READERS];

        if (argc != 3)
                die("usage", "two_level BOOTSTRAP TOPIC");
        if (!policy)
                die("policy", err.text);
        bootstrap = argv[1];
        topic_name = argv[2];
        rule = kr_policy_rule(policy, topic_name);
        fill();
        for (int r = 0; r < READERS; r++) {
                readers[r] = (struct reader){ .consumer = make_consumer(), .number = r };
                query(readers[r].consumer, r, 0); /* connects, learns the leaders */
                query(readers[r].consumer, r, 1);
        }
        for (int turn = 0; turn < TURNS; turn++)
                for (int side = 0; side < 2; side++)
                        latency[side][turn] = query(readers[0].consumer, turn * 7, side);
        for (int side = 0; side < 2; side++)
                qsort(latency[side], TURNS, sizeof(double), by_value);
        for (int round = 0; round < 2; round++)
                for (int side = 0; side < 2; side++)
                        rate[side] += throughput(readers, side) / 2;
        for (int r = 0; r < READERS; r++) {
                rd_kafka_consumer_close(readers[r].consumer);
                rd_kafka_destroy(readers[r].consumer);
        }
        kr_policy_free(policy);
        printf("{\"partitions_few\": %d, \"partitions_all\": %d, \"latency_ms_few\": %.2f, \"latency_ms_all\": %.2f, "
               "\"queries_per_s_few\": %.1f, \"queries_per_s_all\": %.1f, \"latency_ratio\": %.3f, "
               "\"throughput_ratio\": "
               "%.3f, \"librdkafka\": \"%s\"}\n",
               FANOUT, PARTITIONS, latency[1][TURNS / 2], latency[0][TURNS / 2], rate[1], rate[0],
               latency[1][TURNS / 2] / latency[0][TURNS / 2], rate[1] / rate[0], rd_kafka_version_str());
        return 0;
}
