#define RP_WITH_RDKAFKA
#include "io/outage.h"

#include "clock.h"
#include "io/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        ASK_MS = 2000,
        CONNECT_MS = 1000 /* for the brokers to turn down a connection, or not */
};

/* Kafka's own, which the end of every transaction is written to. */
static const struct rp_outage_topic kafkas[] = { { "__transaction_state", true }, { "__consumer_offsets", true } };

static bool is_in_sync(const struct rd_kafka_metadata_partition *partition, int32_t broker)
{
        for (int i = 0; i < partition->isr_cnt; i++)
                if (partition->isrs[i] == broker)
                        return true;
        return false;
}

/* 0: not known. */
static int min_in_sync(struct rp_client *client, const char *topic)
{
        struct rp_settings settings;
        struct rp_error ignored;
        const char *text;
        int cnt;

        if (rp_cluster_settings(client, topic, ASK_MS, &settings, &ignored) != RP_OK)
                return 0;
        text = rp_settings_get(&settings, "min.insync.replicas");
        cnt = text ? atoi(text) : 0;
        rp_settings_release(&settings);
        return cnt;
}

static void print_too_few(const char *topic, const struct rd_kafka_metadata_partition *partition, int needed, char *text,
                          size_t size)
{
        int len = snprintf(text, size, "partition %" PRId32 " of topic \"%s\" takes no records: %d of its %d replicas %s in sync "
                           "and min.insync.replicas is %d. Missing: broker", partition->id, topic, partition->isr_cnt,
                           partition->replica_cnt, partition->isr_cnt == 1 ? "is" : "are", needed);
        const char *gap = " ";

        for (int i = 0; i < partition->replica_cnt && len > 0 && (size_t)len < size; i++) {
                if (is_in_sync(partition, partition->replicas[i]))
                        continue;
                len += snprintf(text + len, size - (size_t)len, "%s%" PRId32, gap, partition->replicas[i]);
                gap = ", ";
        }
}

static void look_at(struct rp_client *client, const struct rd_kafka_metadata_topic *topic, bool is_written, char *text,
                    size_t size)
{
        int needed = -1;

        for (int p = 0; p < topic->partition_cnt && !*text; p++) {
                const struct rd_kafka_metadata_partition *partition = &topic->partitions[p];

                if (partition->leader < 0) {
                        snprintf(text, size, "partition %" PRId32 " of topic \"%s\" has no leader", partition->id, topic->topic);
                        continue;
                }
                if (!is_written || partition->isr_cnt >= partition->replica_cnt)
                        continue;
                if (needed < 0)
                        needed = min_in_sync(client, topic->topic);
                if (partition->isr_cnt < needed)
                        print_too_few(topic->topic, partition, needed, text, size);
        }
}

static void look_at_all(struct rp_client *client, const struct rd_kafka_metadata *metadata, const struct rp_outage_topic *topics,
                        size_t topic_cnt, char *text, size_t size)
{
        for (size_t i = 0; i < topic_cnt && !*text; i++)
                for (int t = 0; t < metadata->topic_cnt && !*text; t++)
                        if (!strcmp(metadata->topics[t].topic, topics[i].name))
                                look_at(client, &metadata->topics[t], topics[i].is_written, text, size);
}

/* What a broker that was left alone still says of leaders is old: a connection to each tells who is gone. */
static void await_refusal(struct rp_client *client, char *text, size_t size)
{
        int64_t deadline = rp_clock_ms() + CONNECT_MS;

        while (!*client->trouble && rp_clock_ms() < deadline)
                rp_client_serve(client, 50);
        snprintf(text, size, "%s", client->trouble);
}

void rp_outage_look(const struct rp_client_config *config, const struct rp_outage_topic *topics, size_t topic_cnt, char *text,
                    size_t size)
{
        const struct rd_kafka_metadata *metadata;
        struct rp_client client = { 0 };
        struct rp_error err;
        rd_kafka_conf_t *conf = rp_client_conf(config, &err);

        *text = '\0';
        if (!conf)
                return;
        if (rp_client_set(conf, "enable.sparse.connections", "false", &err) != RP_OK ||
            rp_client_set(conf, "allow.auto.create.topics", "false", &err) != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return;
        }
        if (rp_client_open(&client, RD_KAFKA_CONSUMER, conf, &err) != RP_OK)
                return;
        if (rp_cluster_metadata(&client, ASK_MS, &metadata, &err) != RP_OK) {
                snprintf(text, size, "%s", err.text);
        } else {
                look_at_all(&client, metadata, topics, topic_cnt, text, size);
                look_at_all(&client, metadata, kafkas, sizeof(kafkas) / sizeof(*kafkas), text, size);
                rd_kafka_metadata_destroy(metadata);
                if (!*text)
                        await_refusal(&client, text, size);
        }
        rp_client_close(&client);
}
