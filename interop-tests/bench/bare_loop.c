/*
 * The least that a transactional copy needs: consume, hash, produce, commit. It keeps no timestamps and no headers,
 * cannot be resumed, merges nothing and handles no error, so it is the speed limit that `repartition rewrite` is
 * measured against (make bench), not an example to follow.
 *
 *   cc -O2 -Ipartitioner/include bare_loop.c libkeyroute.a -lrdkafka -ljansson -lz
 *   bare_loop BOOTSTRAP SOURCE TARGET TARGET_PARTITIONS
 *
 * Prints one line of JSON: records, ms, records a second, microseconds of CPU a record, peak resident KiB.
 */
#include <keyroute.h>
#include <librdkafka/rdkafka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { TRANSACTION_RECORDS = 50000, BATCH = 500, WAIT_MS = 30000 };

static void die(const char *what, const char *why)
{
        fprintf(stderr, "bare_loop: %s: %s\n", what, why);
        exit(3);
}

static void check(const char *what, rd_kafka_error_t *err)
{
        if (err)
                die(what, rd_kafka_error_string(err));
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char text[256];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
                die(name, text);
}

static rd_kafka_t *make(rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
        char text[256];
        rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof(text));

        if (!rk)
                die("rd_kafka_new", text);
        return rk;
}

static rd_kafka_t *make_consumer(const char *bootstrap)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int is_small = rd_kafka_version() >= 0x02020000; /* see docs/design.md, Speed */

        set(conf, "bootstrap.servers", bootstrap);
        set(conf, "group.id", "bare-loop");
        set(conf, "isolation.level", "read_committed");
        set(conf, "enable.auto.commit", "false");
        set(conf, "enable.partition.eof", "true");
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "queued.min.messages", is_small ? "10000" : "1000000");
        set(conf, "queued.max.messages.kbytes", is_small ? "4096" : "131072");
        if (is_small)
                set(conf, "fetch.queue.backoff.ms", "10");
        return make(RD_KAFKA_CONSUMER, conf);
}

/* Without a report librdkafka keeps no account of failures; with one it also must be served. */
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *report, void *opaque)
{
        (void)rk;
        (void)opaque;
        if (report->err)
                die("delivery", rd_kafka_err2str(report->err));
}

static rd_kafka_t *make_producer(const char *bootstrap)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();

        set(conf, "bootstrap.servers", bootstrap);
        set(conf, "transactional.id", "bare-loop");
        set(conf, "linger.ms", "5");
        set(conf, "queue.buffering.max.messages", rd_kafka_version() >= 0x02020000 ? "10000" : "100000");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        return make(RD_KAFKA_PRODUCER, conf);
}

static int partition_count(rd_kafka_t *rk, const char *topic)
{
        const struct rd_kafka_metadata *metadata;
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
        int cnt;

        if (rd_kafka_metadata(rk, 0, rkt, &metadata, WAIT_MS))
                die("metadata", topic);
        cnt = metadata->topics[0].partition_cnt;
        rd_kafka_metadata_destroy(metadata);
        rd_kafka_topic_destroy(rkt);
        return cnt;
}

static void commit(rd_kafka_t *consumer, rd_kafka_t *producer, rd_kafka_topic_partition_list_t *offsets)
{
        rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);

        check("offsets", rd_kafka_send_offsets_to_transaction(producer, offsets, group, WAIT_MS));
        check("commit", rd_kafka_commit_transaction(producer, WAIT_MS));
        rd_kafka_consumer_group_metadata_destroy(group);
}

static double now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void report(uint64_t records, double ms)
{
        struct rusage usage;
        double cpu_us;

        getrusage(RUSAGE_SELF, &usage);
        cpu_us = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        printf("{\"records\": %" PRIu64 ", \"ms\": %.0f, \"records_per_s\": %.0f, \"cpu_us_per_record\": %.2f, "
               "\"peak_rss_kib\": %ld, \"librdkafka\": \"%s\"}\n",
               records, ms, (double)records / ms * 1e3, cpu_us / (double)records, usage.ru_maxrss,
               rd_kafka_version_str());
}

int main(int argc, char **argv)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &err);
        const kr_rule_t *rule = kr_policy_rule(policy, "any");
        rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(16);
        rd_kafka_message_t *batch[BATCH];
        rd_kafka_t *consumer, *producer;
        rd_kafka_queue_t *queue;
        rd_kafka_topic_t *target;
        uint64_t records = 0, open = 0;
        int source_cnt, target_cnt, left;
        double began;

        if (argc != 5)
                die("usage", "bare_loop BOOTSTRAP SOURCE TARGET TARGET_PARTITIONS");
        target_cnt = atoi(argv[4]);
        began = now_ms();
        consumer = make_consumer(argv[1]);
        producer = make_producer(argv[1]);
        check("init_transactions", rd_kafka_init_transactions(producer, WAIT_MS));
        source_cnt = left = partition_count(consumer, argv[2]);
        for (int p = 0; p < source_cnt; p++)
                rd_kafka_topic_partition_list_add(offsets, argv[2], p)->offset = 0;
        target = rd_kafka_topic_new(producer, argv[3], NULL);
        rd_kafka_assign(consumer, offsets);
        queue = rd_kafka_queue_get_consumer(consumer);
        while (left > 0) {
                ssize_t got = rd_kafka_consume_batch_queue(queue, 10, batch, BATCH);

                for (ssize_t i = 0; i < got; i++) {
                        rd_kafka_message_t *message = batch[i];

                        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                                left--;
                        } else if (message->err) {
                                die("consume", rd_kafka_message_errstr(message));
                        } else {
                                int to = message->key ? kr_rule_partition(rule, message->key, message->key_len, target_cnt)
                                                      : message->partition % target_cnt;

                                if (!open++)
                                        check("begin", rd_kafka_begin_transaction(producer));
                                while (rd_kafka_produce(target, to, RD_KAFKA_MSG_F_COPY, message->payload, message->len,
                                                        message->key, message->key_len, NULL) != 0) {
                                        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                                                die("produce", rd_kafka_err2str(rd_kafka_last_error()));
                                        rd_kafka_poll(producer, 5);
                                }
                                offsets->elems[message->partition].offset = message->offset + 1;
                                records++;
                        }
                        rd_kafka_message_destroy(message);
                }
                rd_kafka_poll(producer, 0);
                if (open >= TRANSACTION_RECORDS || (open && !left)) {
                        commit(consumer, producer, offsets);
                        open = 0;
                }
        }
        report(records, now_ms() - began);
        rd_kafka_queue_destroy(queue);
        rd_kafka_topic_destroy(target);
        rd_kafka_topic_partition_list_destroy(offsets);
        rd_kafka_destroy(producer);
        rd_kafka_destroy_flags(consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        kr_policy_free(policy);
        return 0;
}
