#include "job/verify_topics.h"

#include "decide/followed.h"
#include "decide/job_name.h"
#include "io/cluster.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        SETTLE_TRIES = 20,
        FOLLOWED_TRIES = 3, /* each waits for what is open */
        STABLE_MS = 20000,
        LOOK_MS = 10000
};

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

static rp_err_t open_side(struct rp_source **source, const struct rp_verify_topics_config *want, int side, const char *group,
                          struct rp_range **bounds, struct rp_error *err)
{
        struct rp_kafka_source_config config = side_config(want, side);
        rp_err_t rc;

        config.group = group;
        rc = rp_kafka_source_new(source, &config, err);

        if (rc != RP_OK)
                return rc;
        *bounds = calloc((size_t)(*source)->partition_cnt, sizeof(**bounds));
        return *bounds ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* ---- which jobs ---------------------------------------------------------------------------------------------------------- */

static void close_followed(struct rp_verify_topics *topics)
{
        if (topics->followed.source)
                topics->followed.source->ops->free(topics->followed.source);
        topics->followed.source = NULL;
        rp_progress_release(&topics->followed.progress);
        topics->followed.has_any = false;
}

/* What follow has stored. A job that this user may not see is none: verify then finds its records unexpected. */
static rp_err_t read_followed(struct rp_verify_topics *topics, struct rp_error *err)
{
        rp_err_t rc;

        if (!topics->followed.source)
                return RP_OK;
        rc = rp_kafka_progress(topics->followed.source, &topics->followed.progress, topics->config->timeout_ms, err);
        topics->followed.has_any = rc == RP_OK && rp_followed_has_any(&topics->followed.progress);
        if (rc == RP_ERR_USAGE) {
                close_followed(topics);
                rc = RP_OK;
        }
        return rc;
}

static rp_err_t open_followed(struct rp_verify_topics *topics, const char *job, struct rp_error *err)
{
        struct rp_kafka_source_config config = side_config(topics->config, 0);
        rp_err_t rc;

        snprintf(topics->followed.job, sizeof(topics->followed.job), "%s", job);
        config.group = topics->followed.job;
        rc = rp_kafka_source_new(&topics->followed.source, &config, err);
        if (rc == RP_OK && !rp_progress_init(&topics->followed.progress, topics->followed.source->partition_cnt))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rc == RP_OK ? read_followed(topics, err) : rc;
}

/*
 * What a follow copied is no rewrite's progress, but goes on from it. Which of the two the name is tells what is stored under
 * it; but for the default names only a follow's own progress does. @param rewrite  filled in: the other one's name
 */
static rp_err_t find_jobs(struct rp_verify_topics *topics, char *rewrite, size_t size, struct rp_error *err)
{
        const struct rp_verify_topics_config *config = topics->config;
        char name[600];
        rp_err_t rc;

        rp_rewrite_default_name(rewrite, size, config->source, config->target);
        rp_follow_default_name(name, sizeof(name), config->source, config->target);
        if (config->source_cnt == 1 && !strcmp(config->job, rewrite))
                return open_followed(topics, name, err);
        rc = config->source_cnt == 1 ? open_followed(topics, config->job, err) : RP_OK;
        if (rc != RP_OK || topics->followed.has_any)
                return rc;
        close_followed(topics);
        snprintf(rewrite, size, "%s", config->job);
        return RP_OK;
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

/* ---- how far ------------------------------------------------------------------------------------------------------------- */

static bool is_same_progress(const struct rp_progress *a, const struct rp_progress *b)
{
        for (int32_t p = 0; p < a->cnt; p++)
                if (a->marks[p].next != b->marks[p].next)
                        return false;
        return true;
}

static rp_err_t read_progress(struct rp_verify_topics *topics, struct rp_progress *own, struct rp_error *err)
{
        rp_progress_release(own);
        if (!rp_progress_init(own, topics->source->partition_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rp_job_store_progress(&topics->store, own, topics->config->timeout_ms, err);
}

/* Whether neither job has stored anything between two looks. */
static rp_err_t read_again(struct rp_verify_topics *topics, bool *is_settled, struct rp_error *err)
{
        struct rp_progress own = topics->progress, followed = topics->followed.progress;
        bool had_any = topics->followed.has_any;
        rp_err_t rc;

        topics->progress = topics->followed.progress = (struct rp_progress){ 0 };
        if (!rp_progress_init(&topics->followed.progress, followed.cnt ? followed.cnt : 1))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else
                rc = read_progress(topics, &topics->progress, err);
        if (rc == RP_OK)
                rc = read_followed(topics, err);
        *is_settled = rc == RP_OK && had_any == topics->followed.has_any && is_same_progress(&own, &topics->progress) &&
                      (!had_any || is_same_progress(&followed, &topics->followed.progress));
        rp_progress_release(&own);
        rp_progress_release(&followed);
        return rc;
}

/*
 * Records beyond the bounds may be of the progress, whose transactions were decided while an earlier one was open, but none
 * below them is not: whatever was decided by then has its offsets in the progress that is read after that.
 */
static rp_err_t settle_for_less(struct rp_verify_topics *topics, struct rp_error *err)
{
        const struct rp_verify_topics_config *config = topics->config;
        bool ignored;
        rp_err_t rc = topics->target->ops->bounds(topics->target, topics->target_bounds, err);

        if (rc == RP_OK)
                rc = read_again(topics, &ignored, err);
        if (rc == RP_OK)
                rc = rp_kafka_source_await_stable(topics->target, config->target_client, STABLE_MS, err);
        topics->late_bounds = calloc((size_t)topics->target->partition_cnt, sizeof(*topics->late_bounds));
        if (rc == RP_OK && !topics->late_bounds)
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = topics->target->ops->bounds(topics->target, topics->late_bounds, err);
        topics->target_lags = true;
        return rc;
}

static rp_err_t join(struct rp_verify_topics *topics, struct rp_error *err)
{
        rp_err_t rc;

        if (!topics->followed.has_any)
                return RP_OK;
        rc = topics->source->ops->bounds(topics->source, topics->source_bounds, err); /* it may have come further since */
        return rc != RP_OK ? rc : rp_followed_join(&topics->progress, &topics->followed.progress, topics->source_bounds, err);
}

/*
 * The progress and the target's end belong together only if nothing was committed in between; and what the progress speaks
 * of must be seen there: what was being written when it was read is waited for.
 */
static rp_err_t settle(struct rp_verify_topics *topics, struct rp_error *err)
{
        const struct rp_verify_topics_config *config = topics->config;
        bool is_settled = false;
        rp_err_t rc = rp_kafka_source_await_stable(topics->target, config->target_client, STABLE_MS, err);

        if (rc == RP_OK)
                rc = topics->source->ops->bounds(topics->source, topics->source_bounds, err);
        if (rc == RP_OK)
                rc = read_progress(topics, &topics->progress, err);
        if (rc == RP_OK)
                rc = read_followed(topics, err);
        for (int i = 0; rc == RP_OK && i < (topics->followed.has_any ? FOLLOWED_TRIES : SETTLE_TRIES); i++) {
                if (topics->followed.has_any)
                        rc = rp_kafka_source_await_stable(topics->target, config->target_client, STABLE_MS, err);
                if (rc == RP_OK)
                        rc = topics->target->ops->bounds(topics->target, topics->target_bounds, err);
                if (rc == RP_OK)
                        rc = read_again(topics, &is_settled, err);
                if (rc == RP_OK && is_settled)
                        return join(topics, err);
        }
        if (rc == RP_OK && topics->followed.has_any && topics->mode == RP_COMPARE_ALL) {
                rc = settle_for_less(topics, err);
                return rc == RP_OK ? join(topics, err) : rc;
        }
        if (rc == RP_OK && topics->followed.has_any)
                rc = rp_fail(err, RP_ERR_RETRY, "the job \"%s\" is copying all the while: stop it, or hold it with \"repartition "
                             "ctl SOCKET pause\", until this has begun to read", topics->followed.job);
        else if (rc == RP_OK)
                rc = rp_fail(err, RP_ERR_RETRY, "the job \"%s\" is running: verify when it is done", config->job);
        return rc;
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
        char rewrite[600];
        struct rp_job_store_config store = { .target = config->target_client, .job = rewrite, .topic = config->jobs_topic,
                                             .timeout_ms = config->timeout_ms };
        int32_t pin = kr_rule_partitions(config->rule);
        rp_err_t rc;

        *topics = (struct rp_verify_topics){ .config = config };
        rc = find_jobs(topics, rewrite, sizeof(rewrite), err);
        if (rc == RP_OK)
                rc = open_side(&topics->source, config, 0, rewrite, &topics->source_bounds, err);
        if (rc == RP_OK)
                rc = open_side(&topics->target, config, 1, NULL, &topics->target_bounds, err);
        store.source = topics->source;
        if (rc == RP_OK && config->followed && topics->followed.source) {
                store.beside = config->followed;
                if (!rp_job_fold_init(store.beside, topics->followed.job))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        if (rc == RP_OK)
                rc = rp_job_store_open(&topics->store, &store, err);
        for (int32_t s = 0; rc == RP_OK && !topics->store.is_apart && s < config->source_cnt; s++)
                if (!strcmp(config->sources[s], config->target))
                        rc = rp_fail(err, RP_ERR_USAGE, "source and target are both \"%s\": a topic proves nothing about itself",
                                     config->target);
        if (rc == RP_OK && pin && pin != topics->target->partition_cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "the policy is made for %" PRId32 " partitions, topic \"%s\" has %" PRId32, pin,
                             config->target, topics->target->partition_cnt);
        if (topics->store.is_apart)
                close_followed(topics); /* follow works within one cluster */
        if (rc == RP_OK && topics->followed.source && topics->followed.source->partition_cnt != topics->source->partition_cnt)
                rc = rp_fail(err, RP_ERR_RETRY, "topic \"%s\" has other partitions than a moment ago: run this again",
                             config->source);
        if (rc == RP_OK)
                choose_mode(topics);
        if (rc == RP_OK)
                rc = settle(topics, err);
        if (rc == RP_OK && config->is_kept)
                rc = name_state(topics, err);
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
        verify->target_lags = topics->target_lags;
        verify->mode = topics->mode;
        verify->state_name = topics->state_name;
        verify->open = open_more;
        verify->open_arg = topics;
        verify->thread_cnt = topics->config->thread_cnt;
}

const char *rp_verify_topics_job(const struct rp_verify_topics *topics)
{
        return topics->followed.has_any ? topics->followed.job : topics->config->job;
}

void rp_verify_topics_release(struct rp_verify_topics *topics)
{
        close_followed(topics);
        rp_progress_release(&topics->progress);
        rp_job_store_close(&topics->store);
        free(topics->source_bounds);
        free(topics->target_bounds);
        free(topics->late_bounds);
        if (topics->source)
                topics->source->ops->free(topics->source);
        if (topics->target)
                topics->target->ops->free(topics->target);
        *topics = (struct rp_verify_topics){ 0 };
}
