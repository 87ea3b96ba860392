#include "io/sandbox.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>

struct rp_sandbox {
        rd_kafka_t *rk; /* whose thread the brokers run on */
        rd_kafka_mock_cluster_t *cluster;
        int broker_cnt;
};

struct rp_sandbox *rp_sandbox_new(int broker_cnt, struct rp_error *err)
{
        struct rp_sandbox *sandbox = calloc(1, sizeof(*sandbox));
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[256] = "out of memory";

        if (sandbox) {
                sandbox->broker_cnt = broker_cnt;
                rd_kafka_conf_set(conf, "client.id", "sandbox", text, sizeof(text));
                rd_kafka_conf_set(conf, "log_level", "3", text, sizeof(text)); /* errors only: notes are noise here */
                sandbox->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        }
        if (!sandbox || !sandbox->rk) {
                rd_kafka_conf_destroy(conf);
                free(sandbox);
                rp_fail(err, RP_ERR_FATAL, "cannot start the sandbox: %s", text);
                return NULL;
        }
        sandbox->cluster = rd_kafka_mock_cluster_new(sandbox->rk, broker_cnt);
        if (!sandbox->cluster) {
                rd_kafka_destroy(sandbox->rk);
                free(sandbox);
                rp_fail(err, RP_ERR_FATAL, "cannot start the sandbox: %d brokers found no port to listen on",
                        broker_cnt);
                return NULL;
        }
        return sandbox;
}

rp_err_t rp_sandbox_create_topic(struct rp_sandbox *sandbox, const char *topic, int32_t partition_cnt,
                                 struct rp_error *err)
{
        rd_kafka_resp_err_t kerr =
                rd_kafka_mock_topic_create(sandbox->cluster, topic, partition_cnt, sandbox->broker_cnt);

        if (kerr)
                return rp_fail(err, RP_ERR_USAGE, "cannot make topic \"%.100s\": %s", topic, rd_kafka_err2str(kerr));
        return RP_OK;
}

const char *rp_sandbox_bootstrap(const struct rp_sandbox *sandbox)
{
        return rd_kafka_mock_cluster_bootstraps(sandbox->cluster);
}

void rp_sandbox_free(struct rp_sandbox *sandbox)
{
        if (!sandbox)
                return;
        rd_kafka_mock_cluster_destroy(sandbox->cluster);
        rd_kafka_destroy(sandbox->rk);
        free(sandbox);
}
