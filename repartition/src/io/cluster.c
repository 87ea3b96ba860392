#define RP_WITH_RDKAFKA
#include "io/cluster.h"

#include "clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TRY_MS = 3000 };

rp_err_t rp_cluster_metadata(struct rp_client *client, int timeout_ms, const struct rd_kafka_metadata **metadata,
                             struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + timeout_ms;

        for (;;) {
                int64_t left = deadline - rp_clock_ms();
                rd_kafka_resp_err_t kerr = rd_kafka_metadata(client->rk, 1, NULL, metadata, left > TRY_MS ? TRY_MS : (int)left);

                if (!kerr)
                        return RP_OK;
                rp_client_serve(client, 0); /* the reason may be waiting to be told */
                if (client->is_unwelcome || rp_err_from_kafka(kerr) != RP_ERR_RETRY || left <= TRY_MS)
                        return rp_fail_resp(err, client, kerr, "cannot ask the cluster for its topics");
        }
}

rp_err_t rp_cluster_topic(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                          struct rp_error *err)
{
        const struct rd_kafka_metadata *metadata;
        rp_err_t rc = rp_cluster_metadata(client, timeout_ms, &metadata, err);

        *info = (struct rp_topic_info){ 0 };
        if (rc != RP_OK)
                return rc;
        info->broker_cnt = metadata->broker_cnt;
        for (int t = 0; t < metadata->topic_cnt; t++) {
                const struct rd_kafka_metadata_topic *topic = &metadata->topics[t];

                if (strcmp(topic->topic, name))
                        continue;
                info->exists = true;
                info->partition_cnt = topic->partition_cnt;
                for (int p = 0; p < topic->partition_cnt; p++) {
                        info->leaderless_cnt += topic->partitions[p].leader < 0;
                        if (p == 0 || topic->partitions[p].replica_cnt < info->replication_factor)
                                info->replication_factor = topic->partitions[p].replica_cnt;
                        if (p == 0 || topic->partitions[p].isr_cnt < info->in_sync_cnt)
                                info->in_sync_cnt = topic->partitions[p].isr_cnt;
                }
        }
        rd_kafka_metadata_destroy(metadata);
        return RP_OK;
}

rp_err_t rp_cluster_may_see(struct rp_client *client, const char *name, int timeout_ms, struct rp_error *err)
{
        rd_kafka_topic_t *rkt;
        const struct rd_kafka_metadata *metadata = NULL;
        rd_kafka_resp_err_t kerr;
        rp_err_t rc = RP_OK;

        /* Only where rights can be the reason: brokers that do not heed allow.auto.create.topics would make the topic. */
        if (!rp_client_is_secured(client))
                return RP_OK;
        rkt = rd_kafka_topic_new(client->rk, name, NULL);
        kerr = rkt ? rd_kafka_metadata(client->rk, 0, rkt, &metadata, timeout_ms) : rd_kafka_last_error();
        if (!kerr && metadata->topic_cnt == 1)
                kerr = metadata->topics[0].err;
        rp_client_needs(client, RP_RESOURCE_TOPIC, "Describe", name);
        if (rp_is_refused(kerr))
                rc = rp_fail_resp(err, client, kerr, "cannot see topic \"%s\"", name);
        if (metadata)
                rd_kafka_metadata_destroy(metadata);
        if (rkt)
                rd_kafka_topic_destroy(rkt);
        return rc;
}

rp_err_t rp_cluster_fail_absent(struct rp_client *client, const char *name, int timeout_ms, struct rp_error *err)
{
        rp_err_t rc = rp_cluster_may_see(client, name, timeout_ms, err);

        return rc == RP_OK ? rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist", name) : rc;
}

bool rp_cluster_is_administrable(struct rp_client *client, int timeout_ms)
{
        int32_t controller = rd_kafka_controllerid(client->rk, timeout_ms);
        const struct rd_kafka_metadata *metadata;
        bool exists = false;

        /* librdkafka's mock cluster names a controller, 0, which is none of its brokers. */
        if (controller < 0 || rd_kafka_metadata(client->rk, 0, NULL, &metadata, timeout_ms))
                return false;
        for (int b = 0; b < metadata->broker_cnt; b++)
                exists |= metadata->brokers[b].id == controller;
        rd_kafka_metadata_destroy(metadata);
        return exists;
}

/* ---- settings ------------------------------------------------------------------------------------------------- */

static struct rp_setting *find(const struct rp_settings *settings, const char *name)
{
        for (size_t i = 0; i < settings->cnt; i++)
                if (!strcmp(settings->items[i].name, name))
                        return &settings->items[i];
        return NULL;
}

const char *rp_settings_get(const struct rp_settings *settings, const char *name)
{
        const struct rp_setting *setting = find(settings, name);

        return setting ? setting->value : NULL;
}

bool rp_settings_set(struct rp_settings *settings, const char *name, const char *value)
{
        struct rp_setting *setting = find(settings, name);
        char *copy = strdup(value);

        if (!copy)
                return false;
        if (!setting) {
                struct rp_setting *grown = realloc(settings->items, (settings->cnt + 1) * sizeof(*grown));

                if (grown)
                        settings->items = grown;
                if (!grown || !(grown[settings->cnt].name = strdup(name))) {
                        free(copy);
                        return false;
                }
                setting = &grown[settings->cnt++];
                setting->value = NULL;
        }
        free(setting->value);
        setting->value = copy;
        setting->is_own = true;
        return true;
}

void rp_settings_release(struct rp_settings *settings)
{
        for (size_t i = 0; i < settings->cnt; i++) {
                free(settings->items[i].name);
                free(settings->items[i].value);
        }
        free(settings->items);
        *settings = (struct rp_settings){ 0 };
}

/* ---- admin requests ------------------------------------------------------------------------------------------- */

static rd_kafka_AdminOptions_t *make_options(struct rp_client *client, rd_kafka_admin_op_t op, int timeout_ms)
{
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, op);
        char text[128];

        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
        return options;
}

/* The one result of an admin request. NULL with *err when it failed as a whole. The caller destroys it. */
static rd_kafka_event_t *wait_result(struct rp_client *client, rd_kafka_queue_t *queue, int timeout_ms, const char *what,
                                     const char *topic, struct rp_error *err)
{
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms + 1000);

        if (event && !rd_kafka_event_error(event))
                return event;
        rp_client_serve(client, 0);
        rp_fail_resp(err, client, event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT, "%s \"%s\"", what,
                     topic);
        if (event)
                rd_kafka_event_destroy(event);
        return NULL;
}

static rp_err_t take_settings(const rd_kafka_ConfigResource_t *resource, struct rp_settings *settings,
                              struct rp_error *err)
{
        size_t cnt;
        const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &cnt);

        for (size_t i = 0; i < cnt; i++) {
                const char *name = rd_kafka_ConfigEntry_name(entries[i]);
                const char *value = rd_kafka_ConfigEntry_value(entries[i]);

                if (!value)
                        continue; /* sensitive */
                if (!rp_settings_set(settings, name, value))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                find(settings, name)->is_own =
                        rd_kafka_ConfigEntry_source(entries[i]) == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
        }
        return RP_OK;
}

rp_err_t rp_cluster_settings(struct rp_client *client, const char *topic, int timeout_ms, struct rp_settings *settings,
                             struct rp_error *err)
{
        static const char what[] = "cannot read the settings of topic";
        rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
        rd_kafka_AdminOptions_t *options = make_options(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout_ms);
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
        rd_kafka_event_t *event;
        rp_err_t rc = RP_OK;

        *settings = (struct rp_settings){ 0 };
        rp_client_needs(client, RP_RESOURCE_TOPIC, "DescribeConfigs", topic);
        rd_kafka_DescribeConfigs(client->rk, &resource, 1, options, queue);
        event = wait_result(client, queue, timeout_ms, what, topic, err);
        if (!event) {
                rc = err->code;
        } else {
                size_t cnt;
                const rd_kafka_ConfigResource_t **results =
                        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);

                if (cnt != 1 || rd_kafka_ConfigResource_error(results[0]))
                        rc = rp_fail_resp(err, client,
                                          cnt ? rd_kafka_ConfigResource_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL,
                                          "%s \"%s\"", what, topic);
                else
                        rc = take_settings(results[0], settings, err);
                rd_kafka_event_destroy(event);
        }
        if (rc != RP_OK)
                rp_settings_release(settings);
        rd_kafka_queue_destroy(queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_ConfigResource_destroy(resource);
        return rc;
}

/* Until it has this number of partitions and all have leaders. Not every broker knows a new topic at once. */
static rp_err_t await_leaders(struct rp_client *client, const char *topic, int32_t partition_cnt, int timeout_ms,
                              struct rp_error *err)
{
        int64_t begun = rp_clock_ms();

        for (;;) {
                struct rp_topic_info info;
                rp_err_t rc = rp_cluster_topic(client, topic, 5000, &info, err);
                int64_t waited = rp_clock_ms() - begun;
                bool is_over = waited >= timeout_ms, is_propagated = is_over || waited >= RP_PROPAGATED_MS;

                if (rc != RP_OK) {
                        if (rc != RP_ERR_RETRY || is_over)
                                return rc;
                } else if (!info.exists) {
                        if (rp_client_is_secured(client) ? is_propagated : is_over)
                                return rp_cluster_fail_absent(client, topic, 5000, err);
                } else if (info.partition_cnt != partition_cnt) {
                        if (is_propagated)
                                return rp_fail(err, RP_ERR_USAGE, "cannot create topic \"%s\" with %" PRId32 " partitions: it "
                                               "was created meanwhile with %" PRId32, topic, partition_cnt, info.partition_cnt);
                } else if (!info.leaderless_cnt) {
                        return RP_OK;
                } else if (is_over) {
                        return rp_fail(err, RP_ERR_RETRY, "topic \"%s\" was created, but %" PRId32 " of its partitions have "
                                       "no leader after %d s", topic, info.leaderless_cnt, timeout_ms / 1000);
                }
                rp_client_serve(client, 100);
        }
}

static rp_err_t create(struct rp_client *client, const char *topic, int32_t partition_cnt, int32_t replication_factor,
                       const struct rp_settings *settings, int timeout_ms, bool is_trial, bool *exists, struct rp_error *err)
{
        static const char what[] = "cannot create topic";
        rd_kafka_resp_err_t kerr;
        char text[256] = "";
        rd_kafka_NewTopic_t *fresh = rd_kafka_NewTopic_new(topic, partition_cnt, replication_factor, text, sizeof(text));
        rd_kafka_AdminOptions_t *options;
        rd_kafka_queue_t *queue;
        rd_kafka_event_t *event;
        rp_err_t rc = RP_OK;

        if (!fresh)
                return rp_fail(err, RP_ERR_USAGE, "%s \"%s\": %s", what, topic, text);
        for (size_t i = 0; i < settings->cnt; i++)
                if (settings->items[i].is_own)
                        rd_kafka_NewTopic_set_config(fresh, settings->items[i].name, settings->items[i].value);
        options = make_options(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout_ms);
        if (is_trial)
                rd_kafka_AdminOptions_set_validate_only(options, 1, text, sizeof(text));
        queue = rd_kafka_queue_new(client->rk);
        rp_client_needs(client, RP_RESOURCE_TOPIC, "Create", topic);
        rp_client_needs(client, RP_RESOURCE_CLUSTER, "Create", NULL);
        rd_kafka_CreateTopics(client->rk, &fresh, 1, options, queue);
        event = wait_result(client, queue, timeout_ms, what, topic, err);
        if (!event) {
                rc = err->code;
        } else {
                size_t cnt;
                const rd_kafka_topic_result_t **results =
                        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &cnt);

                kerr = cnt == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR_NO_ERROR;
                if (rp_is_refused(kerr))
                        rc = rp_fail_resp(err, client, kerr, "%s \"%s\"", what, topic);
                else if (kerr == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
                        *exists = true;
                else if (kerr)
                        rc = rp_fail(err, RP_ERR_USAGE, "%s \"%s\": %s", what, topic,
                                     rd_kafka_topic_result_error_string(results[0])
                                             ? rd_kafka_topic_result_error_string(results[0])
                                             : rd_kafka_err2str(kerr));
                rd_kafka_event_destroy(event);
        }
        rd_kafka_queue_destroy(queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_NewTopic_destroy(fresh);
        return rc;
}

rp_err_t rp_cluster_try_create(struct rp_client *client, const char *topic, int32_t partition_cnt,
                               int32_t replication_factor, const struct rp_settings *settings, int timeout_ms,
                               struct rp_error *err)
{
        bool exists = false;
        rp_err_t rc = create(client, topic, partition_cnt, replication_factor, settings, timeout_ms, true, &exists, err);

        return rc == RP_OK && exists ? rp_fail(err, RP_ERR_RETRY, "topic \"%s\" has just been created by somebody else: run this "
                                               "again", topic) : rc;
}

/* The controller knows. To create the topic, on trial and of the simplest kind, is a question that goes there. */
static bool is_unlisted(struct rp_client *client, const char *name, int timeout_ms)
{
        static const struct rp_settings none;
        struct rp_error ignored;
        bool exists = false;

        create(client, name, 1, 1, &none, timeout_ms, true, &exists, &ignored);
        return exists;
}

rp_err_t rp_cluster_find(struct rp_client *client, const char *name, int timeout_ms, struct rp_topic_info *info,
                         struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + (timeout_ms < RP_PROPAGATED_MS ? timeout_ms : RP_PROPAGATED_MS);
        rp_err_t rc = rp_cluster_topic(client, name, timeout_ms, info, err);

        if (rc != RP_OK || info->exists || !rp_cluster_is_administrable(client, TRY_MS) || !is_unlisted(client, name, TRY_MS))
                return rc;
        while (rc == RP_OK && !info->exists && rp_clock_ms() < deadline) {
                rp_client_serve(client, 100);
                rc = rp_cluster_topic(client, name, timeout_ms, info, err);
        }
        return rc;
}

rp_err_t rp_cluster_create(struct rp_client *client, const char *topic, int32_t partition_cnt, int32_t replication_factor,
                           const struct rp_settings *settings, int timeout_ms, struct rp_error *err)
{
        bool exists; /* another run was faster, or our own first request has only lost its answer */
        rp_err_t rc = create(client, topic, partition_cnt, replication_factor, settings, timeout_ms, false, &exists, err);

        return rc == RP_OK ? await_leaders(client, topic, partition_cnt, timeout_ms, err) : rc;
}
