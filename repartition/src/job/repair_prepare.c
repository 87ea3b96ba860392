#include "job/repair_prepare.h"

#include "clock.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "job/prepare.h"

#include <inttypes.h>

enum { ADMIN_MS = 10000, TAIL_BYTES = 4 << 20 };

static rp_err_t ask_topic(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                          struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(preparation->source);
        struct rp_topic_info info;
        bool knows = rp_cluster_is_administrable(client, ADMIN_MS);
        rp_err_t rc = rp_cluster_topic(client, config->topic, config->timeout_ms, &info, err);

        if (rc == RP_OK && knows)
                rc = rp_cluster_settings(client, config->topic, config->timeout_ms, &preparation->settings, err);
        if (rc != RP_OK)
                return rc;
        preparation->facts = (struct rp_repair_facts){ .topic = rp_topic_facts(config->topic, &info, &preparation->settings),
                                                       .settings_are_known = knows, .job = config->job,
                                                       .now_ms = rp_wall_clock_ms(),
                                                       .library = rp_client_version_number(),
                                                       .library_name = rp_client_version() };
        return RP_OK;
}

rp_err_t rp_repair_prepare(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                           struct rp_error *err)
{
        struct rp_kafka_source_config source = { .client = config->client, .topic = config->topic, .group = config->job,
                                                 .headers = true, .timeout_ms = config->timeout_ms };
        int32_t pin = kr_rule_partitions(config->rule);
        rp_err_t rc;

        *preparation = (struct rp_repair_preparation){ 0 };
        rc = rp_kafka_source_new(&preparation->source, &source, err);
        if (rc != RP_OK)
                return rc;
        if (pin && pin != preparation->source->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has %" PRId32 " partitions, the policy is made for %" PRId32
                               ": nothing was judged. To change the count of a topic is another task: repartition rewrite",
                               config->topic, preparation->source->partition_cnt, pin);
        source.group = NULL;
        source.is_uncommitted = true;
        source.memory_bytes = TAIL_BYTES;
        rc = rp_kafka_source_new(&preparation->tail, &source, err);
        if (rc == RP_OK)
                rc = ask_topic(preparation, config, err);
        if (rc == RP_OK && !rp_progress_init(&preparation->progress, preparation->source->partition_cnt))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = rp_kafka_progress_now(preparation->source, config->job, &preparation->progress, config->timeout_ms, err);
        return rc;
}

void rp_repair_preparation_release(struct rp_repair_preparation *preparation)
{
        rp_settings_release(&preparation->settings);
        rp_progress_release(&preparation->progress);
        if (preparation->tail)
                preparation->tail->ops->free(preparation->tail);
        if (preparation->source)
                preparation->source->ops->free(preparation->source);
        *preparation = (struct rp_repair_preparation){ 0 };
}
