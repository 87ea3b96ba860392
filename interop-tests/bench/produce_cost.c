/*
 * Produces COUNT keyed records of BYTES (100) as fast as the client takes them and prints the CPU seconds that this
 * process spent per million, user and system together. The same program is run with librdkafka's own partitioner and
 * with the plugin: it knows nothing of either, both come in as NAME=VALUE properties.
 *
 * usage: produce_cost BOOTSTRAP TOPIC COUNT [BYTES] [NAME=VALUE...]
 */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long failed;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
        (void)rk, (void)opaque;
        failed += msg->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
        char text[256];

        if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK) {
                fprintf(stderr, "produce_cost: %s\n", text);
                exit(2);
        }
}

static double cpu_seconds(void)
{
        struct rusage use;

        getrusage(RUSAGE_SELF, &use);
        return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        static char value[1 << 20];
        size_t value_len = 100;
        int properties = 4;
        char text[256], key[40];
        rd_kafka_topic_t *topic;
        rd_kafka_t *rk;
        double before;
        long count;

        if (argc < 4) {
                fprintf(stderr, "usage: produce_cost BOOTSTRAP TOPIC COUNT [BYTES] [NAME=VALUE...]\n");
                return 2;
        }
        count = atol(argv[3]);
        if (argc > 4 && !strchr(argv[4], '=')) {
                value_len = (size_t)atol(argv[4]);
                if (!value_len || value_len > sizeof(value))
                        return 2;
                properties++;
        }
        memset(value, 'v', value_len);
        set(conf, "bootstrap.servers", argv[1]);
        set(conf, "linger.ms", "20");
        set(conf, "queue.buffering.max.messages", "1000000");
        for (int i = properties; i < argc; i++) {
                char *equals = strchr(argv[i], '=');

                if (!equals)
                        return 2;
                *equals = '\0';
                set(conf, argv[i], equals + 1);
        }
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk) {
                fprintf(stderr, "produce_cost: %s\n", text);
                return 2;
        }
        topic = rd_kafka_topic_new(rk, argv[2], NULL);
        before = cpu_seconds();
        for (long i = 0; i < count; i++) {
                int len = snprintf(key, sizeof(key), "customer-%016lx", (unsigned long)(i * 2654435761u));

                while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, value_len, key,
                                        (size_t)len, NULL)) {
                        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                                fprintf(stderr, "produce_cost: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
                                return 3;
                        }
                        rd_kafka_poll(rk, 10);
                }
                if (i % 1000 == 0)
                        rd_kafka_poll(rk, 0);
        }
        if (rd_kafka_flush(rk, 60000) || failed) {
                fprintf(stderr, "produce_cost: %ld records failed, %d left\n", failed, rd_kafka_outq_len(rk));
                return 3;
        }
        printf("%.4f\n", (cpu_seconds() - before) * 1e6 / (double)count);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
        return 0;
}
