#define RP_WITH_RDKAFKA
#include "io/rights.h"

#include "io/groups.h"
#include "io/newer.h"

static void include_rights(rd_kafka_AdminOptions_t *options)
{
        rd_kafka_error_t *kerr = rd_kafka_AdminOptions_set_include_authorized_operations(options, 1);

        if (kerr)
                rd_kafka_error_destroy(kerr);
}

/*
 * Whether operation is among those that are allowed. Who may not even describe the thing may do nothing with it; an empty
 * list is no answer.
 */
static void judge(rd_kafka_resp_err_t kerr, const rd_kafka_AclOperation_t *allowed, size_t cnt,
                  rd_kafka_AclOperation_t operation, const char *name, enum rp_resource resource, const char *resource_name,
                  struct rp_denials *denials)
{
        if (!rp_is_refused(kerr) && (!allowed || !cnt)) {
                denials->is_known = false;
                return;
        }
        if (!allowed)
                cnt = 0;
        for (size_t i = 0; i < cnt; i++)
                if (allowed[i] == operation)
                        return;
        if (denials->cnt < sizeof(denials->texts) / sizeof(*denials->texts))
                rp_right_print(denials->texts[denials->cnt++], sizeof(*denials->texts), resource, name, resource_name);
}

static bool can_ask(struct rp_denials *denials)
{
        bool can = rd_kafka_DescribeTopics && rd_kafka_AdminOptions_set_include_authorized_operations &&
                   rd_kafka_ConsumerGroupDescription_authorized_operations;

        denials->is_known &= can;
        return can;
}

void rp_rights_begin(struct rp_denials *denials)
{
        *denials = (struct rp_denials){ .is_known = true };
}

static void ask_topic(struct rp_client *client, const char *topic, int timeout_ms, struct rp_denials *denials)
{
        rd_kafka_TopicCollection_t *topics = rd_kafka_TopicCollection_of_topic_names(&topic, 1);
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, RD_KAFKA_ADMIN_OP_ANY);
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
        rd_kafka_event_t *event;
        const rd_kafka_AclOperation_t *allowed = NULL;
        rd_kafka_resp_err_t kerr = RD_KAFKA_RESP_ERR_NO_ERROR;
        size_t cnt = 0;
        char text[128];

        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
        include_rights(options);
        rd_kafka_DescribeTopics(client->rk, topics, options, queue);
        event = rd_kafka_queue_poll(queue, timeout_ms + 1000);
        if (event && !rd_kafka_event_error(event)) {
                const rd_kafka_TopicDescription_t **found =
                        rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);

                if (cnt == 1)
                        kerr = rd_kafka_error_code(rd_kafka_TopicDescription_error(found[0]));
                if (cnt == 1 && !kerr)
                        allowed = rd_kafka_TopicDescription_authorized_operations(found[0], &cnt);
        }
        judge(kerr, allowed, cnt, RD_KAFKA_ACL_OPERATION_WRITE, "Write", RP_RESOURCE_TOPIC, topic, denials);
        /* What is there already is read. */
        judge(kerr, allowed, cnt, RD_KAFKA_ACL_OPERATION_READ, "Read", RP_RESOURCE_TOPIC, topic, denials);
        if (event)
                rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_TopicCollection_destroy(topics);
}

static void ask_group(struct rp_client *client, const char *group, int timeout_ms, struct rp_denials *denials)
{
        rd_kafka_AdminOptions_t *options = rp_group_request_options(client, RD_KAFKA_ADMIN_OP_ANY);
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
        rd_kafka_event_t *event;
        const rd_kafka_AclOperation_t *allowed = NULL;
        rd_kafka_resp_err_t kerr = RD_KAFKA_RESP_ERR_NO_ERROR;
        size_t cnt = 0;

        include_rights(options);
        rd_kafka_DescribeConsumerGroups(client->rk, &group, 1, options, queue);
        event = rd_kafka_queue_poll(queue, timeout_ms);
        if (event && !rd_kafka_event_error(event)) {
                const rd_kafka_ConsumerGroupDescription_t **found = rd_kafka_DescribeConsumerGroups_result_groups(
                        rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);

                if (cnt == 1)
                        kerr = rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(found[0]));
                if (cnt == 1 && !kerr)
                        allowed = rd_kafka_ConsumerGroupDescription_authorized_operations(found[0], &cnt);
        }
        judge(kerr, allowed, cnt, RD_KAFKA_ACL_OPERATION_READ, "Read", RP_RESOURCE_GROUP, group, denials);
        if (event)
                rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(queue);
        rd_kafka_AdminOptions_destroy(options);
}

void rp_rights_ask_topic(struct rp_client *client, const char *topic, int timeout_ms, struct rp_denials *denials)
{
        if (can_ask(denials))
                ask_topic(client, topic, timeout_ms, denials);
}

void rp_rights_ask_group(struct rp_client *client, const char *group, int timeout_ms, struct rp_denials *denials)
{
        if (can_ask(denials))
                ask_group(client, group, timeout_ms, denials);
}

rd_kafka_resp_err_t rp_rights_group_error(struct rp_client *client, int timeout_ms)
{
        rd_kafka_AdminOptions_t *options = rp_group_request_options(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
        const char *group = client->needs[RP_RESOURCE_GROUP].name;
        rd_kafka_resp_err_t kerr;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_DescribeConsumerGroups(client->rk, &group, 1, options, queue);
        event = rd_kafka_queue_poll(queue, timeout_ms);
        kerr = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
        if (!kerr) {
                const rd_kafka_ConsumerGroupDescription_t **found = rd_kafka_DescribeConsumerGroups_result_groups(
                        rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);

                if (cnt == 1)
                        kerr = rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(found[0]));
        }
        if (event)
                rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(queue);
        rd_kafka_AdminOptions_destroy(options);
        return kerr;
}

rp_err_t rp_rights_try_group(struct rp_client *client, const char *group, int timeout_ms, struct rp_error *err)
{
        rd_kafka_resp_err_t kerr;

        rp_client_needs(client, RP_RESOURCE_GROUP, "Read", group);
        kerr = rp_rights_group_error(client, timeout_ms);
        return rp_is_refused(kerr) ? rp_fail_resp(err, client, kerr, "cannot join group \"%.200s\"", group) : RP_OK;
}
