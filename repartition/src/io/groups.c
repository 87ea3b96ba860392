#define RP_WITH_RDKAFKA
#include "io/groups.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        TRY_MS = 10000,
        REQUEST_MS = 3600000 /* the longest that librdkafka allows */
};

/* Sends one request. Its event is the caller's; NULL with *err. */
struct request {
        struct rp_client *client;
        const char *name;
        const char *what; /* for messages: "cannot describe group" */
        void (*send)(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue);
        void *arg;
};

/* Coordinators move and load: what may pass is tried again. */
static rp_err_t judge(const struct request *request, rd_kafka_resp_err_t kerr, const char *more, struct rp_error *err)
{
        rp_client_serve(request->client, 0);
        if (kerr == RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP || kerr == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
            kerr == RD_KAFKA_RESP_ERR_GROUP_SUBSCRIBED_TO_TOPIC)
                return rp_fail(err, RP_ERR_USAGE, "%s \"%s\": it is active; stop its consumers first", request->what,
                               request->name);
        rp_fail_resp(err, request->client, kerr, "%s \"%s\"%s%s", request->what, request->name, more ? ": " : "",
                     more ? more : "");
        return err->code;
}

/*
 * When such a request times out while its coordinator is away, librdkafka, whatever its version, frees half of it and uses that
 * as soon as the coordinator is back, which ends the process by an assertion (in rd_kafka_enq_once_del_source_return; its pull
 * request 5397). One that has not timed out by then is sent, and its answer, when nobody waits for it any more, dropped.
 */
rd_kafka_AdminOptions_t *rp_group_request_options(struct rp_client *client, rd_kafka_admin_op_t op)
{
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, op);
        char text[128];

        rd_kafka_AdminOptions_set_request_timeout(options, REQUEST_MS, text, sizeof(text));
        return options;
}

static rd_kafka_event_t *ask(const struct request *request, rd_kafka_queue_t **queue, int timeout_ms, struct rp_error *err)
{
        rd_kafka_AdminOptions_t *options = rp_group_request_options(request->client, RD_KAFKA_ADMIN_OP_ANY);
        rd_kafka_event_t *event;

        *queue = rd_kafka_queue_new(request->client->rk);
        request->send(request, options, *queue);
        rd_kafka_AdminOptions_destroy(options);
        event = rd_kafka_queue_poll(*queue, timeout_ms);
        if (event && !rd_kafka_event_error(event))
                return event;
        judge(request, event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT, NULL, err);
        if (event)
                rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(*queue);
        *queue = NULL;
        return NULL;
}

/* For those who try again until their time is over. */
static int one_try_ms(int timeout_ms)
{
        return timeout_ms < TRY_MS ? timeout_ms : TRY_MS;
}

/* ---- who is in it ------------------------------------------------------------------------------------------------- */

static void send_describe(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
        const char *names[1] = { request->name };

        rd_kafka_DescribeConsumerGroups(request->client->rk, names, 1, options, queue);
}

enum { ERR_GROUP_ID_NOT_FOUND = 69 };

static rp_err_t take_description(const struct request *request, const rd_kafka_ConsumerGroupDescription_t *description,
                                 struct rp_roster *group, struct rp_error *err)
{
        const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(description);
        rd_kafka_consumer_group_state_t state = rd_kafka_ConsumerGroupDescription_state(description);
        int kerr = rd_kafka_error_code(error);

        if (kerr && kerr != ERR_GROUP_ID_NOT_FOUND)
                return judge(request, kerr, NULL, err);
        group->exists = !kerr && state != RD_KAFKA_CONSUMER_GROUP_STATE_DEAD;
        snprintf(group->state, sizeof(group->state), "%s", rd_kafka_consumer_group_state_name(state));
        if (!group->exists)
                return RP_OK;
        group->member_cnt = rd_kafka_ConsumerGroupDescription_member_count(description);
        group->members = calloc(group->member_cnt + 1, sizeof(*group->members));
        if (!group->members)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < group->member_cnt; i++) {
                const rd_kafka_MemberDescription_t *member = rd_kafka_ConsumerGroupDescription_member(description, i);

                snprintf(group->members[i].client_id, sizeof(group->members[i].client_id), "%s",
                         rd_kafka_MemberDescription_client_id(member));
                snprintf(group->members[i].host, sizeof(group->members[i].host), "%s",
                         rd_kafka_MemberDescription_host(member));
        }
        return RP_OK;
}

rp_err_t rp_group_describe(struct rp_client *client, const char *name, const char *right, int timeout_ms,
                           struct rp_roster *group, struct rp_error *err)
{
        struct request request = { .client = client, .name = name, .what = "cannot describe group", .send = send_describe };
        int64_t deadline = rp_clock_ms() + timeout_ms;
        rp_err_t rc;

        rp_client_needs(client, RP_RESOURCE_GROUP, right, name);
        do {
                rd_kafka_queue_t *queue;
                rd_kafka_event_t *event = ask(&request, &queue, one_try_ms(timeout_ms), err);
                size_t cnt = 0;

                *group = (struct rp_roster){ 0 };
                rc = event ? RP_OK : err->code;
                if (event) {
                        const rd_kafka_ConsumerGroupDescription_t **groups = rd_kafka_DescribeConsumerGroups_result_groups(
                                rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);

                        if (cnt == 1)
                                rc = take_description(&request, groups[0], group, err);
                        rd_kafka_event_destroy(event);
                        rd_kafka_queue_destroy(queue);
                }
                if (rc == RP_ERR_RETRY)
                        rp_client_serve(client, 100);
        } while (rc == RP_ERR_RETRY && rp_clock_ms() < deadline);
        if (rc != RP_OK)
                rp_roster_release(group);
        return rc;
}

void rp_roster_release(struct rp_roster *group)
{
        free(group->members);
        *group = (struct rp_roster){ 0 };
}

/* ---- where it stands ------------------------------------------------------------------------------------------------ */

static void send_list(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
        rd_kafka_ListConsumerGroupOffsets_t *list = rd_kafka_ListConsumerGroupOffsets_new(request->name, request->arg);
        rd_kafka_error_t *error = rd_kafka_AdminOptions_set_require_stable_offsets(options, 1);

        if (error)
                rd_kafka_error_destroy(error);
        rd_kafka_ListConsumerGroupOffsets(request->client->rk, &list, 1, options, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy(list);
}

static void send_list_unstable(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
        rd_kafka_ListConsumerGroupOffsets_t *list = rd_kafka_ListConsumerGroupOffsets_new(request->name, NULL);

        rd_kafka_ListConsumerGroupOffsets(request->client->rk, &list, 1, options, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy(list);
}

static void send_alter(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
        rd_kafka_AlterConsumerGroupOffsets_t *alter = rd_kafka_AlterConsumerGroupOffsets_new(request->name, request->arg);

        rd_kafka_AlterConsumerGroupOffsets(request->client->rk, &alter, 1, options, queue);
        rd_kafka_AlterConsumerGroupOffsets_destroy(alter);
}

static void send_delete(const struct request *request, rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
        rd_kafka_DeleteConsumerGroupOffsets_t *forget = rd_kafka_DeleteConsumerGroupOffsets_new(request->name, request->arg);

        rd_kafka_DeleteConsumerGroupOffsets(request->client->rk, &forget, 1, options, queue);
        rd_kafka_DeleteConsumerGroupOffsets_destroy(forget);
}

typedef const rd_kafka_group_result_t **results_fn(rd_kafka_event_t *event, size_t *cnt);

static const rd_kafka_group_result_t **listed(rd_kafka_event_t *event, size_t *cnt)
{
        return rd_kafka_ListConsumerGroupOffsets_result_groups(rd_kafka_event_ListConsumerGroupOffsets_result(event), cnt);
}

static const rd_kafka_group_result_t **altered(rd_kafka_event_t *event, size_t *cnt)
{
        return rd_kafka_AlterConsumerGroupOffsets_result_groups(rd_kafka_event_AlterConsumerGroupOffsets_result(event), cnt);
}

static const rd_kafka_group_result_t **deleted(rd_kafka_event_t *event, size_t *cnt)
{
        return rd_kafka_DeleteConsumerGroupOffsets_result_groups(rd_kafka_event_DeleteConsumerGroupOffsets_result(event), cnt);
}

/* One group's answer, partition by partition. offsets: filled in; NULL: only errors count. */
static rp_err_t take_result(const struct request *request, const rd_kafka_group_result_t *result, int32_t partition_cnt,
                            int64_t *offsets, struct rp_error *err)
{
        const rd_kafka_error_t *error = rd_kafka_group_result_error(result);
        const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(result);

        if (error && rd_kafka_error_code(error))
                return judge(request, rd_kafka_error_code(error), NULL, err);
        for (int i = 0; list && i < list->cnt; i++) {
                const rd_kafka_topic_partition_t *at = &list->elems[i];
                char place[64];

                snprintf(place, sizeof(place), "partition %" PRId32, at->partition);
                if (at->err)
                        return judge(request, at->err, place, err);
                if (offsets && at->partition >= 0 && at->partition < partition_cnt)
                        offsets[at->partition] = at->offset >= 0 ? at->offset : -1;
        }
        return RP_OK;
}

static rp_err_t perform(const struct request *request, results_fn *results, int32_t partition_cnt, int64_t *offsets,
                        int timeout_ms, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + timeout_ms;
        rp_err_t rc;

        do {
                rd_kafka_queue_t *queue;
                rd_kafka_event_t *event = ask(request, &queue, one_try_ms(timeout_ms), err);
                size_t cnt = 0;

                rc = event ? RP_OK : err->code;
                if (event) {
                        const rd_kafka_group_result_t **groups = results(event, &cnt);

                        if (cnt == 1)
                                rc = take_result(request, groups[0], partition_cnt, offsets, err);
                        rd_kafka_event_destroy(event);
                        rd_kafka_queue_destroy(queue);
                }
                if (rc == RP_ERR_RETRY)
                        rp_client_serve(request->client, 100);
        } while (rc == RP_ERR_RETRY && rp_clock_ms() < deadline);
        return rc;
}

rp_err_t rp_group_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                          int timeout_ms, int64_t *offsets, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partition_cnt);
        struct request request = { .client = client, .name = name, .what = "cannot read the offsets of group",
                                   .send = send_list, .arg = list };
        rp_err_t rc;

        rp_client_needs(client, RP_RESOURCE_GROUP, "Describe", name);
        rp_client_needs(client, RP_RESOURCE_TOPIC, "Describe", topic);
        for (int32_t p = 0; p < partition_cnt; p++) {
                rd_kafka_topic_partition_list_add(list, topic, p);
                offsets[p] = -1;
        }
        rc = perform(&request, listed, partition_cnt, offsets, timeout_ms, err);
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

rp_err_t rp_group_committed(struct rp_client *client, const char *name, const char *what, int timeout_ms,
                            rd_kafka_topic_partition_list_t **list, struct rp_error *err)
{
        struct request request = { .client = client, .name = name, .what = what, .send = send_list_unstable };
        rd_kafka_queue_t *queue;
        rd_kafka_event_t *event = ask(&request, &queue, timeout_ms, err);
        const rd_kafka_group_result_t **groups;
        rp_err_t rc = RP_OK;
        size_t cnt = 0;

        *list = NULL;
        if (!event)
                return err->code;
        groups = listed(event, &cnt);
        if (cnt == 1 && rd_kafka_group_result_error(groups[0]))
                rc = judge(&request, rd_kafka_error_code(rd_kafka_group_result_error(groups[0])), NULL, err);
        else if (cnt == 1 && rd_kafka_group_result_partitions(groups[0]))
                *list = rd_kafka_topic_partition_list_copy(rd_kafka_group_result_partitions(groups[0]));
        if (rc == RP_OK && !*list)
                *list = rd_kafka_topic_partition_list_new(0);
        rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(queue);
        return rc;
}

/* What the group has stored for the partitions of the list, which it takes. right: the one on the group that this needs. */
static rp_err_t change(struct request *request, rd_kafka_topic_partition_list_t *list, const char *right, const char *topic,
                       results_fn *results, int timeout_ms, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        request->arg = list;
        rp_client_needs(request->client, RP_RESOURCE_GROUP, right, request->name);
        rp_client_needs(request->client, RP_RESOURCE_TOPIC, "Read", topic);
        if (list->cnt)
                rc = perform(request, results, 0, NULL, timeout_ms, err);
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

rp_err_t rp_group_set_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                              const int64_t *offsets, int timeout_ms, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partition_cnt);
        struct request request = { .client = client, .name = name, .what = "cannot store offsets for group",
                                   .send = send_alter };

        for (int32_t p = 0; p < partition_cnt; p++)
                if (offsets[p] >= 0)
                        rd_kafka_topic_partition_list_add(list, topic, p)->offset = offsets[p];
        return change(&request, list, "Read", topic, altered, timeout_ms, err);
}

rp_err_t rp_group_forget_offsets(struct rp_client *client, const char *name, const char *topic, int32_t partition_cnt,
                                 const bool *which, int timeout_ms, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partition_cnt);
        struct request request = { .client = client, .name = name, .what = "cannot take back the offsets of group",
                                   .send = send_delete };

        for (int32_t p = 0; p < partition_cnt; p++)
                if (which[p])
                        rd_kafka_topic_partition_list_add(list, topic, p);
        return change(&request, list, "Delete", topic, deleted, timeout_ms, err);
}
