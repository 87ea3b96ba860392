#define RP_WITH_RDKAFKA
#include "io/replicas.h"

#include "io/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
        const struct rp_live_broker *x = a, *y = b;

        return (x->id > y->id) - (x->id < y->id);
}

static rp_err_t take_topic(struct rp_live *live, const struct rd_kafka_metadata_topic *topic, struct rp_error *err)
{
        for (int p = 0; p < topic->partition_cnt; p++) {
                const struct rd_kafka_metadata_partition *partition = &topic->partitions[p];

                if (!rp_assignment_add(&live->assignment, topic->topic, partition->id, partition->replicas,
                                       partition->replica_cnt, 0))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        return RP_OK;
}

static rp_err_t take_metadata(struct rp_live *live, const struct rp_live_request *request,
                              const struct rd_kafka_metadata *metadata, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        live->brokers = calloc((size_t)metadata->broker_cnt + 1, sizeof(*live->brokers));
        if (!live->brokers)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int b = 0; b < metadata->broker_cnt; b++)
                live->brokers[live->broker_cnt++].id = metadata->brokers[b].id;
        qsort(live->brokers, live->broker_cnt, sizeof(*live->brokers), by_id);
        for (size_t i = 0; rc == RP_OK && i < request->topic_cnt; i++) {
                const struct rd_kafka_metadata_topic *found = NULL;

                for (int t = 0; t < metadata->topic_cnt && !found; t++)
                        if (!strcmp(metadata->topics[t].topic, request->topics[i]))
                                found = &metadata->topics[t];
                if (!found || !found->partition_cnt)
                        rc = rp_fail(err, RP_ERR_USAGE, "there is no topic \"%.200s\" that this user may Describe", request->topics[i]);
                else
                        rc = take_topic(live, found, err);
        }
        return rc == RP_OK ? rp_assignment_sort(&live->assignment, err) : rc;
}

/* A broker answers for itself alone, so each is asked on its own, all at the same time. */
static rp_err_t read_racks(struct rp_client *client, struct rp_live *live, int timeout_ms, struct rp_error *err)
{
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
        char text[128];
        rp_err_t rc = RP_OK;

        rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof(text));
        rp_client_needs(client, RP_RESOURCE_CLUSTER, "DescribeConfigs", NULL);
        for (size_t b = 0; b < live->broker_cnt; b++) {
                rd_kafka_ConfigResource_t *resource;

                snprintf(text, sizeof(text), "%" PRId32, live->brokers[b].id);
                resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, text);
                rd_kafka_DescribeConfigs(client->rk, &resource, 1, options, queue);
                rd_kafka_ConfigResource_destroy(resource);
        }
        for (size_t b = 0; b < live->broker_cnt && rc == RP_OK; b++) {
                rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms + 1000);
                rd_kafka_resp_err_t kerr = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
                const rd_kafka_ConfigResource_t **resources = NULL;
                size_t cnt = 0;

                if (!kerr)
                        resources = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event),
                                                                              &cnt);
                if (!kerr && cnt)
                        kerr = rd_kafka_ConfigResource_error(resources[0]);
                if (kerr || !cnt) {
                        rp_client_serve(client, 0);
                        rc = rp_fail_resp(err, client, kerr, "cannot read the brokers' racks (give them by --racks, or "
                                          "--ignore-racks)");
                } else {
                        struct rp_live_broker key = { .id = (int32_t)atoi(rd_kafka_ConfigResource_name(resources[0])) };
                        struct rp_live_broker *broker = bsearch(&key, live->brokers, live->broker_cnt, sizeof(key), by_id);
                        const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resources[0], &cnt);

                        for (size_t i = 0; broker && !broker->rack && i < cnt; i++) {
                                const char *value = rd_kafka_ConfigEntry_value(entries[i]);

                                if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), "broker.rack") || !value || !*value)
                                        continue;
                                broker->rack = strdup(value);
                                if (!broker->rack)
                                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                        }
                }
                if (event)
                        rd_kafka_event_destroy(event);
        }
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_queue_destroy(queue);
        return rc;
}

static rp_err_t count_records(struct rp_client *client, struct rp_live *live, int timeout_ms, struct rp_error *err)
{
        for (size_t p = 0; p < live->assignment.cnt; p++) {
                struct rp_holding *holding = &live->assignment.items[p];
                int64_t low = 0, high = 0;
                rd_kafka_resp_err_t kerr;

                rp_client_needs(client, RP_RESOURCE_TOPIC, "Describe", holding->topic);
                kerr = rd_kafka_query_watermark_offsets(client->rk, holding->topic, holding->partition, &low, &high, timeout_ms);

                if (!kerr) {
                        holding->weight = high > low ? (uint64_t)(high - low) : 0;
                } else if (kerr == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
                        live->uncounted_cnt++; /* it can be planned all the same; only its size is not known */
                } else {
                        rp_client_serve(client, 0);
                        return rp_fail_resp(err, client, kerr, "cannot count the records of partition %" PRId32
                                            " of topic \"%.100s\"", holding->partition, holding->topic);
                }
        }
        return RP_OK;
}

rp_err_t rp_live_read(struct rp_live *live, const struct rp_live_request *request, struct rp_error *err)
{
        rd_kafka_conf_t *conf = rp_client_conf(request->client, err);
        const struct rd_kafka_metadata *metadata = NULL;
        struct rp_client client = { 0 };
        rp_err_t rc;

        *live = (struct rp_live){ 0 };
        if (!conf)
                return err->code;
        rc = rp_client_open(&client, RD_KAFKA_PRODUCER, conf, err);
        if (rc != RP_OK)
                return rc;
        /* All topics: asking for one by name makes a broker with auto-creation create it. */
        rc = rp_cluster_metadata(&client, request->timeout_ms, &metadata, err);
        if (rc != RP_OK) {
                rc = rp_client_judge_silence(&client, err);
        } else {
                rc = take_metadata(live, request, metadata, err);
                rd_kafka_metadata_destroy(metadata);
        }
        if (rc == RP_OK && request->racks)
                rc = read_racks(&client, live, request->timeout_ms, err);
        if (rc == RP_OK && request->records)
                rc = count_records(&client, live, request->timeout_ms, err);
        rp_client_close(&client);
        if (rc != RP_OK)
                rp_live_release(live);
        return rc;
}

void rp_live_release(struct rp_live *live)
{
        for (size_t b = 0; b < live->broker_cnt; b++)
                free(live->brokers[b].rack);
        free(live->brokers);
        rp_assignment_release(&live->assignment);
        *live = (struct rp_live){ 0 };
}
