/*
 * A C producer that has a topic configuration of its own. Such a topic bypasses the plugin, so the program asks the
 * library for the partition and names it itself.
 *
 *   cc -o produce produce.c $(pkg-config --cflags --libs keyroute rdkafka)
 *   ./produce BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key
 */
#include <keyroute.h>
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why)
{
        fprintf(stderr, "produce: %s: %s\n", what, why);
        exit(1);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *failed_cnt)
{
        (void)rk;
        if (!message->err)
                return;
        ++*(int *)failed_cnt;
        fprintf(stderr, "produce: not delivered: %s\n", rd_kafka_err2str(message->err));
}

/* All partitions of the topic, also those without a leader: the hash is taken modulo this. */
static int32_t partition_count(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
        const struct rd_kafka_metadata *metadata;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, topic, &metadata, 10000);
        int32_t cnt;

        if (err || metadata->topic_cnt != 1 || metadata->topics[0].err)
                die(rd_kafka_topic_name(topic), rd_kafka_err2str(err ? err : metadata->topics[0].err));
        cnt = metadata->topics[0].partition_cnt;
        rd_kafka_metadata_destroy(metadata);
        return cnt;
}

static void produce(rd_kafka_t *rk, rd_kafka_topic_t *topic, const kr_rule_t *rule, int32_t partition_cnt, char *line)
{
        char *tab = strchr(line, '\t');
        const char *key = tab ? line : NULL;
        char *value = tab ? tab + 1 : line;
        size_t key_len = tab ? (size_t)(tab - line) : 0;
        int32_t partition = RD_KAFKA_PARTITION_UA; /* no key: the client spreads, as it always did */

        if (key) {
                partition = kr_rule_partition(rule, key, key_len, partition_cnt);
                if (partition < 0) /* refused: never placed somewhere else */
                        die(rd_kafka_topic_name(topic), kr_strerror(partition));
        }
        while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, value, strlen(value), key, key_len, NULL) == -1) {
                if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        die("cannot produce", rd_kafka_err2str(rd_kafka_last_error()));
                rd_kafka_poll(rk, 100);
        }
        rd_kafka_poll(rk, 0);
}

int main(int argc, char **argv)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_topic_conf_new();
        char text[512], *line = NULL;
        struct kr_error err;
        kr_policy_t *policy;
        const kr_rule_t *rule;
        rd_kafka_topic_t *topic;
        rd_kafka_t *rk;
        int32_t partition_cnt;
        int failed_cnt = 0;
        size_t size = 0;
        ssize_t len;

        if (argc != 4)
                die("usage", "produce BOOTSTRAP TOPIC POLICY < LINES");
        policy = kr_policy_load(argv[3], &err);
        if (!policy)
                die("policy", err.text);
        rule = kr_policy_rule(policy, argv[2]);
        if (!rule)
                die(argv[2], "the policy has no rule for this topic");

        if (rd_kafka_conf_set(conf, "bootstrap.servers", argv[1], text, sizeof(text)))
                die("configuration", text);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_opaque(conf, &failed_cnt);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        if (!rk)
                die("producer", text);
        if (rd_kafka_topic_conf_set(topic_conf, "request.required.acks", "-1", text, sizeof(text)))
                die("topic configuration", text);
        topic = rd_kafka_topic_new(rk, argv[2], topic_conf);
        partition_cnt = partition_count(rk, topic);

        while ((len = getline(&line, &size, stdin)) >= 0) {
                if (len && line[len - 1] == '\n')
                        line[len - 1] = '\0';
                produce(rk, topic, rule, partition_cnt, line);
        }
        rd_kafka_flush(rk, 30000);
        failed_cnt += rd_kafka_outq_len(rk);

        free(line);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
        kr_policy_free(policy);
        return failed_cnt != 0;
}
