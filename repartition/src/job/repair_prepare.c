#include "job/repair_prepare.h"

#include "clock.h"
#include "decide/repair_pass.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"
#include "job/prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ADMIN_MS = 10000, CLUSTER_ID_MS = 5000, TAIL_BYTES = 4 << 20 };

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

/* ---- the record of the job ------------------------------------------------------------------------------------------ */

static rp_err_t describe(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                         struct rp_error *err)
{
        struct rp_job_descriptor *descriptor = &preparation->descriptor;
        struct rp_client *client = rp_kafka_source_client(preparation->source);
        const struct rp_repair_facts *facts = &preparation->facts;
        char cluster[RP_CLUSTER_ID_SIZE];
        rp_err_t rc;

        rp_cluster_id(client, CLUSTER_ID_MS, cluster);
        *descriptor = (struct rp_job_descriptor){ .version = KR_VERSION, .source_cnt = 1, .marks = facts->mark };
        snprintf(descriptor->kind, sizeof(descriptor->kind), "%s", facts->tombstones ? RP_KIND_TOMBSTONES : "repair");
        snprintf(descriptor->identity, sizeof(descriptor->identity), "repair %s, %" PRId32 " partitions, policy %s",
                 config->topic, preparation->source->partition_cnt, kr_rule_fingerprint(config->rule));
        rp_job_descriptor_set_rule(descriptor, config->rule);
        if (!facts->tombstones)
                rp_classes_print(descriptor->include, facts->include);
        snprintf(descriptor->by, sizeof(descriptor->by), "%s", config->by);
        rc = rp_job_end_fill(&descriptor->target, client, config->topic, cluster, preparation->source->partition_cnt, true,
                             config->timeout_ms, err);
        descriptor->sources[0] = descriptor->target;
        return rc;
}

rp_err_t rp_repair_prepare_record(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                                  struct rp_error *err)
{
        rp_err_t rc;

        if (!strcmp(config->jobs_topic, "none"))
                return RP_OK;
        if (!rp_job_name_is_legal(config->job))
                return rp_job_fail_name(config->job, err);
        rc = rp_jobs_topic_open(&preparation->jobs, config->client, config->jobs_topic, config->timeout_ms, err);
        if (rc == RP_OK && !rp_jobs_topic_is_possible(preparation->jobs)) {
                rp_jobs_topic_close(preparation->jobs);
                preparation->jobs = NULL;
                return RP_OK;
        }
        if (rc == RP_OK)
                rc = rp_jobs_topic_create(preparation->jobs, preparation->facts.topic.replication_factor, err);
        return rc == RP_OK ? describe(preparation, config, err) : rp_jobs_topic_offer_none(err);
}

void rp_repair_preparation_release(struct rp_repair_preparation *preparation)
{
        rp_settings_release(&preparation->settings);
        rp_progress_release(&preparation->progress);
        rp_jobs_topic_close(preparation->jobs);
        if (preparation->tail)
                preparation->tail->ops->free(preparation->tail);
        if (preparation->source)
                preparation->source->ops->free(preparation->source);
        *preparation = (struct rp_repair_preparation){ 0 };
}
