#include "job/verify_topics.h"

#include "io/cluster.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_TRIES = 20, STABLE_MS = 20000, LOOK_MS = 10000 };

/* What both sides, and all threads, have in common. */
static struct rp_kafka_source_config side_config(const struct rp_verify_topics_config *want, int side)
{
        struct rp_kafka_source_config config = { .client = want->source_client, .topics = want->sources,
                                                 .topic_cnt = want->source_cnt, .headers = true,
                                                 .timeout_ms = want->timeout_ms };

        if (side) {
                config.client = want->target_client;
                config.topic = want->target;
                config.topic_cnt = 0;
        }
        return config;
}

static rp_err_t open_side(struct rp_source **source, const struct rp_verify_topics_config *want, int side,
                          struct rp_range **bounds, struct rp_error *err)
{
        struct rp_kafka_source_config config = side_config(want, side);
        rp_err_t rc;

        if (!side)
                config.group = want->job;
        rc = rp_kafka_source_new(source, &config, err);

        if (rc != RP_OK)
                return rc;
        *bounds = calloc((size_t)(*source)->partition_cnt, sizeof(**bounds));
        return *bounds ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static bool is_same_progress(const struct rp_progress *a, const struct rp_progress *b)
{
        for (int32_t p = 0; p < a->cnt; p++)
                if (a->marks[p].next != b->marks[p].next)
                        return false;
        return true;
}

/* The progress and the target's end belong together only if the job committed nothing in between. */
static rp_err_t settle(struct rp_verify_topics *topics, struct rp_error *err)
{
        const struct rp_verify_topics_config *config = topics->config;
        rp_err_t rc = rp_kafka_source_await_stable(topics->target, config->target_client, STABLE_MS, err);

        if (rc == RP_OK)
                rc = topics->source->ops->bounds(topics->source, topics->source_bounds, err);
        if (rc == RP_OK)
                rc = rp_job_store_progress(&topics->store, &topics->progress, config->timeout_ms, err);
        for (int i = 0; rc == RP_OK && i < SETTLE_TRIES; i++) {
                struct rp_progress again = { 0 };
                bool is_settled;

                rc = topics->target->ops->bounds(topics->target, topics->target_bounds, err);
                if (rc == RP_OK && !rp_progress_init(&again, topics->source->partition_cnt))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                if (rc == RP_OK)
                        rc = rp_job_store_progress(&topics->store, &again, config->timeout_ms, err);
                if (rc != RP_OK) {
                        rp_progress_release(&again);
                        return rc;
                }
                is_settled = is_same_progress(&topics->progress, &again);
                rp_progress_release(&topics->progress);
                topics->progress = again;
                if (is_settled)
                        return RP_OK;
        }
        if (rc == RP_OK)
                rc = rp_fail(err, RP_ERR_RETRY, "the job \"%s\" is running: verify when it is done", config->job);
        return rc;
}

/* ---- mode ------------------------------------------------------------------------------------------------------------ */

typedef enum { NOT_COMPACTED, COMPACTED, UNKNOWN } compaction_t;

static compaction_t is_compacted(struct rp_source *source, const char *topic, char *policy, size_t size)
{
        struct rp_client *client = rp_kafka_source_client(source);
        struct rp_settings settings = { 0 };
        struct rp_error ignored;
        compaction_t found = UNKNOWN;

        if (rp_cluster_is_administrable(client, LOOK_MS) &&
            rp_cluster_settings(client, topic, LOOK_MS, &settings, &ignored) == RP_OK) {
                const char *value = rp_settings_get(&settings, "cleanup.policy");

                if (value) {
                        found = strstr(value, "compact") ? COMPACTED : NOT_COMPACTED;
                        snprintf(policy, size, "%s", value);
                }
        }
        rp_settings_release(&settings);
        return found;
}

static void choose_mode(struct rp_verify_topics *topics)
{
        const struct rp_verify_topics_config *config = topics->config;
        bool is_unknown = false;

        topics->mode = RP_COMPARE_ALL;
        if (config->mode) {
                topics->mode = !strcmp(config->mode, "latest") ? RP_COMPARE_LATEST : RP_COMPARE_ALL;
                snprintf(topics->mode_reason, sizeof(topics->mode_reason), "as asked for");
                return;
        }
        for (int32_t s = 0; s <= config->source_cnt; s++) {
                bool is_target = s == config->source_cnt;
                const char *name = is_target ? config->target : config->sources[s];
                char policy[64] = "";
                compaction_t found = is_compacted(is_target ? topics->target : topics->source, name, policy, sizeof(policy));

                if (found == COMPACTED) {
                        topics->mode = RP_COMPARE_LATEST;
                        snprintf(topics->mode_reason, sizeof(topics->mode_reason), "cleanup.policy of %s is %s", name,
                                 policy);
                        return;
                }
                is_unknown |= found == UNKNOWN;
        }
        snprintf(topics->mode_reason, sizeof(topics->mode_reason), "%s",
                 is_unknown ? "the topics' cleanup.policy is not known" : "neither topic is compacted");
}

/* A topic that was made anew, or lies in another cluster, is not the one that a state has read. */
static rp_err_t name_state(struct rp_verify_topics *topics, struct rp_error *err)
{
        const struct rp_verify_topics_config *config = topics->config;
        size_t size = sizeof(topics->state_name);
        size_t len = (size_t)snprintf(topics->state_name, size, "%s, clusters %s %s, topics", config->job,
                                      topics->store.source_cluster, topics->store.target_cluster);

        for (int32_t s = 0; s <= config->source_cnt; s++) {
                bool is_target = s == config->source_cnt;
                struct rp_client *client = rp_kafka_source_client(is_target ? topics->target : topics->source);
                char id[RP_TOPIC_ID_SIZE];

                if (rp_topic_id(client, is_target ? config->target : config->sources[s], config->timeout_ms, id, err) != RP_OK)
                        return err->code;
                if (len < size)
                        len += (size_t)snprintf(topics->state_name + len, size - len, " %s", id);
        }
        return RP_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------------- */

rp_err_t rp_verify_topics_open(struct rp_verify_topics *topics, const struct rp_verify_topics_config *config,
                               struct rp_error *err)
{
        struct rp_job_store_config store = { .target = config->target_client, .job = config->job, .topic = config->jobs_topic,
                                             .timeout_ms = config->timeout_ms };
        int32_t pin = kr_rule_partitions(config->rule);
        rp_err_t rc;

        *topics = (struct rp_verify_topics){ .config = config };
        rc = open_side(&topics->source, config, 0, &topics->source_bounds, err);
        if (rc == RP_OK)
                rc = open_side(&topics->target, config, 1, &topics->target_bounds, err);
        store.source = topics->source;
        if (rc == RP_OK)
                rc = rp_job_store_open(&topics->store, &store, err);
        for (int32_t s = 0; rc == RP_OK && !topics->store.is_apart && s < config->source_cnt; s++)
                if (!strcmp(config->sources[s], config->target))
                        rc = rp_fail(err, RP_ERR_USAGE, "source and target are both \"%s\": a topic proves nothing about itself",
                                     config->target);
        if (rc == RP_OK && pin && pin != topics->target->partition_cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "the policy is made for %" PRId32 " partitions, topic \"%s\" has %" PRId32, pin,
                             config->target, topics->target->partition_cnt);
        if (rc == RP_OK && !rp_progress_init(&topics->progress, topics->source->partition_cnt))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = settle(topics, err);
        if (rc == RP_OK && config->is_kept)
                rc = name_state(topics, err);
        if (rc == RP_OK)
                choose_mode(topics);
        return rc;
}

/* For a thread that reads one partition at a time. */
static rp_err_t open_more(void *arg, int side, struct rp_source **source, struct rp_error *err)
{
        const struct rp_verify_topics *topics = arg;
        struct rp_kafka_source_config config = side_config(topics->config, side);
        rp_err_t rc;

        config.partitions_at_once = 1;
        rc = rp_kafka_source_new(source, &config, err);
        if (rc == RP_OK && !side && !rp_topics_equal((*source)->topics, topics->source->topics))
                rc = rp_fail(err, RP_ERR_INCOMPLETE, "topic \"%s\" has other partitions by now", (*source)->topic);
        return rc;
}

void rp_verify_topics_fill(struct rp_verify_topics *topics, struct rp_verify *verify)
{
        verify->source = topics->source;
        verify->target = topics->target;
        verify->rule = topics->config->rule;
        verify->progress = &topics->progress;
        verify->source_bounds = topics->source_bounds;
        verify->target_bounds = topics->target_bounds;
        verify->mode = topics->mode;
        verify->state_name = topics->state_name;
        verify->open = open_more;
        verify->open_arg = topics;
        verify->thread_cnt = topics->config->thread_cnt;
}

void rp_verify_topics_release(struct rp_verify_topics *topics)
{
        rp_progress_release(&topics->progress);
        rp_job_store_close(&topics->store);
        free(topics->source_bounds);
        free(topics->target_bounds);
        if (topics->source)
                topics->source->ops->free(topics->source);
        if (topics->target)
                topics->target->ops->free(topics->target);
        *topics = (struct rp_verify_topics){ 0 };
}
