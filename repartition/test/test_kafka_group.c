/*
 * Membership of a group against librdkafka's mock cluster: who holds what, where reading begins and goes on, what is
 * dropped. (The mock fences no generations and keeps no transactional offsets: a real Kafka shows those, in interop-tests.)
 */
#define RP_WITH_RDKAFKA
#include "io/kafka_group.h"

#include <librdkafka/rdkafka_mock.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 4, RECORDS = 400, PATIENT_MS = 60000, ROUNDS = 3000 };

static rd_kafka_t *host; /* owns the mock cluster */
static rd_kafka_mock_cluster_t *mock;
static struct rp_client_config config;
static struct rp_error error;

static void produce(int first, int cnt)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[128];
        rd_kafka_t *rk;

        rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), text, sizeof(text));
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        assert_non_null(rk);
        for (int i = first; i < first + cnt; i++) {
                int len = snprintf(text, sizeof(text), "%d", i);

                assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_PARTITION(i % PARTITIONS),
                                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(text, (size_t)len),
                                                   RD_KAFKA_V_HEADER("n", text, len), RD_KAFKA_V_END), 0);
        }
        assert_int_equal(rd_kafka_flush(rk, PATIENT_MS), 0);
        rd_kafka_destroy(rk);
}

/* A member that does what a caller has to do, and counts what it was given. */
struct member {
        struct rp_group *group;
        struct rp_progress progress;
        bool held[PARTITIONS];
        int64_t next[PARTITIONS]; /* offset of the next record that may come */
        int cnt, assigned;
};

static void join(struct member *member)
{
        struct rp_kafka_group_config wanted = { .client = &config, .topic = "t", .group = "g", .headers = true,
                                                .timeout_ms = PATIENT_MS };

        *member = (struct member){ 0 };
        assert_true(rp_progress_init(&member->progress, PARTITIONS));
        if (rp_kafka_group_new(&member->group, &wanted, &error) != RP_OK)
                fail_msg("%s", error.text);
        assert_int_equal(member->group->partition_cnt, PARTITIONS);
}

static void check_records(struct member *member, const struct rp_group_event *event)
{
        for (size_t i = 0; i < event->cnt; i++) {
                const struct rp_record *rec = &event->records[i];
                int p = rec->partition, number;
                char text[32];

                assert_int_equal(p, event->partition);
                assert_true(member->held[p]);
                assert_int_equal(rec->offset, member->next[p]); /* none lost, none twice, in order */
                member->next[p]++;
                snprintf(text, sizeof(text), "%.*s", (int)rec->value_len, (const char *)rec->value);
                number = atoi(text);
                assert_int_equal(number % PARTITIONS, p);
                assert_int_equal(number / PARTITIONS, rec->offset);
                assert_int_equal(rec->header_cnt, 1);
                assert_string_equal(rec->headers[0].name, "n");
                assert_memory_equal(rec->headers[0].value, rec->value, rec->value_len);
                member->cnt++;
        }
        if (event->partition >= 0)
                assert_int_equal(event->next, member->next[event->partition]);
}

static void answer_rebalance(struct member *member, const struct rp_group_event *event)
{
        struct rp_mark marks[PARTITIONS];
        size_t cnt = event->partition_cnt;

        assert_true(cnt > 0);
        if (event->what != RP_GROUP_ASSIGNED) {
                for (size_t i = 0; i < cnt; i++) {
                        assert_true(member->held[event->partitions[i]]);
                        member->held[event->partitions[i]] = false;
                }
                assert_int_equal(member->group->ops->give(member->group, &error), RP_OK);
                return;
        }
        if (member->group->ops->stored(member->group, &member->progress, PATIENT_MS, &error) != RP_OK)
                fail_msg("%s", error.text);
        for (size_t i = 0; i < cnt; i++) {
                int32_t p = event->partitions[i];
                int64_t stored = member->progress.marks[p].next;

                assert_false(member->held[p]);
                member->held[p] = true;
                member->next[p] = stored >= 0 ? stored : 0;
                marks[i] = (struct rp_mark){ .partition = p, .next = member->next[p] };
        }
        member->assigned += (int)cnt;
        if (member->group->ops->start(member->group, marks, cnt, &error) != RP_OK)
                fail_msg("%s", error.text);
}

static void turn(struct member *member, int timeout_ms)
{
        struct rp_group_event event;

        if (member->group->ops->poll(member->group, timeout_ms, &event, &error) != RP_OK)
                fail_msg("%s", error.text);
        if (event.what == RP_GROUP_RECORDS)
                check_records(member, &event);
        else
                answer_rebalance(member, &event);
}

/*
 * The life of one member, in order: the mock cluster takes seconds for every rebalance, so one has to do. (Several members
 * meet on a real Kafka, in interop-tests.)
 */
static struct member one;

static void test_only_a_member_can_say_who_it_is(void **state)
{
        rd_kafka_consumer_group_metadata_t *metadata = NULL;

        (void)state;
        assert_int_equal(rp_kafka_group_metadata(one.group, &metadata, &error), RP_ERR_ABORT_BATCH);
        assert_null(metadata);
}

static void test_who_takes_nothing_hears_of_rebalances(void **state)
{
        struct rp_group_event event = { .partition = -1 };

        (void)state;
        for (int i = 0; i < ROUNDS && event.what == RP_GROUP_RECORDS; i++) {
                assert_int_equal(one.group->ops->serve(one.group, 50, &event, &error), RP_OK);
                assert_int_equal(event.cnt, 0);
        }
        assert_int_equal(event.what, RP_GROUP_ASSIGNED);
        answer_rebalance(&one, &event);
        assert_int_equal(one.assigned, PARTITIONS);
        for (int i = 0; i < 20; i++) {
                assert_int_equal(one.group->ops->serve(one.group, 10, &event, &error), RP_OK);
                assert_int_equal(event.what, RP_GROUP_RECORDS);
                assert_int_equal(event.cnt, 0);
        }
        while (!one.cnt) /* the first run: the rest of its batch stays in hand */
                turn(&one, 50);
        assert_in_range(one.cnt, 1, RECORDS - 1);
}

static void test_rewinding_drops_what_was_fetched(void **state)
{
        struct rp_mark back[PARTITIONS];

        (void)state;
        for (int p = 0; p < PARTITIONS; p++) {
                back[p] = (struct rp_mark){ .partition = p, .next = 5 };
                one.next[p] = 5;
        }
        one.cnt = 5 * PARTITIONS;
        assert_int_equal(one.group->ops->start(one.group, back, PARTITIONS, &error), RP_OK);
        for (int i = 0; i < ROUNDS && one.cnt < RECORDS; i++)
                turn(&one, 50);
        assert_int_equal(one.cnt, RECORDS);
        for (int p = 0; p < PARTITIONS; p++)
                assert_int_equal(one.group->ops->end(one.group, p), RECORDS / PARTITIONS);
}

static void test_some_go_back_while_newer_ones_come(void **state)
{
        struct rp_mark back[2] = { { .partition = 1, .next = 10 }, { .partition = 3, .next = 0 } };

        (void)state;
        produce(RECORDS, RECORDS);
        assert_int_equal(one.group->ops->start(one.group, back, 2, &error), RP_OK);
        one.cnt -= (int)(one.next[1] - 10 + one.next[3]);
        one.next[1] = 10;
        one.next[3] = 0;
        for (int i = 0; i < ROUNDS && one.cnt < 2 * RECORDS; i++)
                turn(&one, 50);
        assert_int_equal(one.cnt, 2 * RECORDS);
}

static void test_who_has_left_is_no_member(void **state)
{
        rd_kafka_consumer_group_metadata_t *metadata = NULL;

        (void)state;
        assert_int_equal(rp_kafka_group_metadata(one.group, &metadata, &error), RP_OK);
        assert_non_null(metadata);
        rd_kafka_consumer_group_metadata_destroy(metadata);
        one.group->ops->leave(one.group, 5000);
        assert_int_equal(rp_kafka_group_metadata(one.group, &metadata, &error), RP_ERR_ABORT_BATCH);
}

static void test_missing_topic_is_told(void **state)
{
        struct rp_kafka_group_config wanted = { .client = &config, .topic = "nowhere", .group = "g",
                                                .timeout_ms = PATIENT_MS };
        struct rp_group *group = NULL;

        (void)state;
        assert_int_equal(rp_kafka_group_new(&group, &wanted, &error), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "nowhere"));
}

static int setup(void **state)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        static const char *const pairs[] = { "session.timeout.ms=4000", "heartbeat.interval.ms=200", "fetch.wait.max.ms=10" };
        char text[128];

        (void)state;
        rd_kafka_conf_set_log_cb(conf, NULL);
        host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        mock = host ? rd_kafka_mock_cluster_new(host, 1) : NULL;
        if (!mock)
                return -1;
        rd_kafka_mock_topic_create(mock, "t", PARTITIONS, 1);
        if (rp_client_config_read(&config, NULL, pairs, sizeof(pairs) / sizeof(*pairs),
                                  rd_kafka_mock_cluster_bootstraps(mock), &error) != RP_OK)
                return -1;
        produce(0, RECORDS);
        join(&one);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        one.group->ops->free(one.group);
        rp_progress_release(&one.progress);
        rp_client_config_release(&config);
        rd_kafka_mock_cluster_destroy(mock);
        rd_kafka_destroy(host);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_only_a_member_can_say_who_it_is),
                cmocka_unit_test(test_who_takes_nothing_hears_of_rebalances),
                cmocka_unit_test(test_rewinding_drops_what_was_fetched),
                cmocka_unit_test(test_some_go_back_while_newer_ones_come),
                cmocka_unit_test(test_who_has_left_is_no_member),
                cmocka_unit_test(test_missing_topic_is_told),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
