/*
 * The Kafka edges against librdkafka's mock cluster: what they make of errors. (What transactions promise cannot be
 * shown there: it keeps no transactional offsets and hides no aborted records. interop-tests do that on a real Kafka.)
 */
#define RP_WITH_RDKAFKA
#include "clock.h"
#include "io/cluster.h"
#include "io/groups.h"
#include "io/kafka_sink.h"
#include "io/kafka_source.h"
#include "io/reader.h"

#include <librdkafka/rdkafka_mock.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 3, RECORDS = 300, PATIENT_MS = 30000, HASTY_MS = 1500 };
enum { PRODUCE = 0, FETCH = 1, LIST_OFFSETS = 2, METADATA = 3, FIND_COORDINATOR = 10, INIT_PRODUCER_ID = 22, ADD_PARTITIONS = 24, END_TXN = 26 };

static rd_kafka_t *host; /* owns the mock cluster */
static rd_kafka_mock_cluster_t *mock;
static struct rp_client_config config;
static struct rp_error error;
static struct rp_source *source;
static struct rp_sink *sink;

static void produce_to(const char *topic, int partition_cnt)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[128];
        rd_kafka_t *rk;

        rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), text, sizeof(text));
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        assert_non_null(rk);
        for (int i = 0; i < RECORDS; i++) {
                int len = snprintf(text, sizeof(text), "%d", i);

                assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(i % partition_cnt),
                                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(text, (size_t)len),
                                                   RD_KAFKA_V_KEY("k", 1), RD_KAFKA_V_TIMESTAMP(1000 + i), RD_KAFKA_V_END), 0);
        }
        assert_int_equal(rd_kafka_flush(rk, PATIENT_MS), 0);
        rd_kafka_destroy(rk);
}

static void produce(const char *topic)
{
        produce_to(topic, PARTITIONS);
}

static rp_err_t open_source(const char *topic, int timeout_ms)
{
        struct rp_kafka_source_config wanted = { .client = &config, .topic = topic, .group = "job",
                                                 .timeout_ms = timeout_ms };

        return rp_kafka_source_new(&source, &wanted, &error);
}

static rp_err_t read_all(size_t *cnt)
{
        struct rp_range ranges[PARTITIONS];
        struct rp_reader *reader = rp_reader_new(source, RP_READ_MERGED);
        struct rp_run run = { 0 };
        rp_err_t rc = source->ops->bounds(source, ranges, &error);

        *cnt = 0;
        if (rc == RP_OK)
                rc = rp_reader_start(reader, ranges, &error);
        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, 100, &run, &error);
                for (size_t i = 0; i < run.cnt; i++, (*cnt)++)
                        assert_int_equal(run.records[i].timestamp_ms, 1000 + *cnt); /* merged by time */
        }
        rp_reader_free(reader);
        return rc;
}

/* ---- source --------------------------------------------------------------------------------------------------------- */

static void test_reads_everything_twice(void **state)
{
        size_t cnt;

        (void)state;
        produce("source");
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        assert_int_equal(source->partition_cnt, PARTITIONS);
        for (int round = 0; round < 2; round++) { /* start() rewinds */
                assert_int_equal(read_all(&cnt), RP_OK);
                assert_int_equal(cnt, RECORDS);
        }
        assert_non_null(strstr(rp_kafka_source_regime(source), rd_kafka_version_str()));
}

static void test_passing_trouble_is_sat_out(void **state)
{
        static const int16_t requests[] = { FETCH, LIST_OFFSETS };
        size_t cnt;

        (void)state;
        produce("source");
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
                rd_kafka_mock_push_request_errors(mock, requests[i], 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                                  RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR__TRANSPORT);
                if (read_all(&cnt) != RP_OK)
                        fail_msg("request %d: %s", requests[i], error.text);
                assert_int_equal(cnt, RECORDS);
        }
}

static void test_missing_topic_is_not_made(void **state)
{
        struct rp_topic_info info;

        (void)state;
        assert_int_equal(open_source("nowhere", PATIENT_MS), RP_ERR_USAGE);
        assert_string_equal(error.text, "topic \"nowhere\" does not exist");
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        assert_int_equal(rp_cluster_topic(rp_kafka_source_client(source), "nowhere", PATIENT_MS, &info, &error), RP_OK);
        assert_false(info.exists);
        assert_int_equal(rp_cluster_topic(rp_kafka_source_client(source), "source", PATIENT_MS, &info, &error), RP_OK);
        assert_true(info.exists);
        assert_int_equal(info.partition_cnt, PARTITIONS);
        assert_int_equal(info.leaderless_cnt, 0);
}

static void test_partitions_without_leaders_are_not_unknown(void **state)
{
        struct rp_range ranges[PARTITIONS];

        (void)state;
        assert_int_equal(open_source("source", HASTY_MS), RP_OK);
        for (int p = 0; p < PARTITIONS; p++)
                rd_kafka_mock_partition_set_leader(mock, "source", p, -1);
        assert_int_equal(source->ops->bounds(source, ranges, &error), RP_ERR_RETRY);
        for (int p = 0; p < PARTITIONS; p++)
                rd_kafka_mock_partition_set_leader(mock, "source", p, 1);
        if (source->ops->bounds(source, ranges, &error) != RP_OK)
                fail_msg("%s", error.text);
}

/* However long it was away: what a broker that has just started does not know yet is no word about the topic. */
static void test_broker_that_is_starting_is_given_time(void **state)
{
        struct rp_range ranges[PARTITIONS];

        (void)state;
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        rd_kafka_mock_broker_push_request_error_rtts(mock, 1, LIST_OFFSETS, 6, RD_KAFKA_RESP_ERR_NO_ERROR, 11000,
                                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, 0,
                                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, 0,
                                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, 0,
                                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, 0,
                                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, 0);
        if (source->ops->bounds(source, ranges, &error) != RP_OK)
                fail_msg("%s", error.text);
}

static void test_silent_broker_is_waited_for_and_told(void **state)
{
        size_t cnt;

        (void)state;
        produce("source");
        assert_int_equal(open_source("source", HASTY_MS), RP_OK);
        rd_kafka_mock_broker_set_down(mock, 1);
        assert_int_equal(read_all(&cnt), RP_ERR_RETRY);
        assert_non_null(strstr(error.text, "source"));
        rd_kafka_mock_broker_set_up(mock, 1);
        assert_int_equal(read_all(&cnt), RP_OK);
        assert_int_equal(cnt, RECORDS);
}

static void test_deleted_records_are_a_gap(void **state)
{
        struct rp_range ranges[PARTITIONS] = { { 0, 100 }, { 0, 0 }, { 5000, 6000 } };
        struct rp_batch batch = { 0 };
        rp_err_t rc = RP_OK;

        (void)state;
        produce("source");
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        /* Beyond the end of the log is what a log that was truncated looks like. */
        assert_int_equal(source->ops->start(source, ranges, &error), RP_OK);
        for (int i = 0; rc == RP_OK && i < 300; i++)
                rc = source->ops->fetch(source, 2, 100, &batch, &error);
        assert_int_equal(rc, RP_ERR_INCOMPLETE);
        assert_non_null(strstr(error.text, "partition 2"));
        assert_int_equal(batch.cnt, 0);
}

/* Their broker may be gone for good; what they gave before waits here for the merge, and that waits for the last one. */
static void test_partitions_that_fell_silent_do_not_keep_another_from_being_read(void **state)
{
        enum { SILENT = 4, EACH = RECORDS / (SILENT + 1) };
        struct rp_range ranges[SILENT + 1] = { { 0, 0 } };
        struct rp_batch batch = { 0 };

        (void)state;
        assert_int_equal(rd_kafka_mock_topic_create(mock, "wide", SILENT + 1, 1), 0);
        produce_to("wide", SILENT + 1);
        assert_int_equal(open_source("wide", PATIENT_MS), RP_OK);
        for (int p = 0; p <= SILENT; p++) /* more than there is, but of the last one */
                ranges[p].end = p < SILENT ? 2 * EACH : EACH;
        assert_int_equal(source->ops->start(source, ranges, &error), RP_OK);
        for (int p = 0; p < SILENT; p++) {
                batch.cnt = 0;
                for (int i = 0; i < 300 && !batch.cnt; i++)
                        assert_int_equal(source->ops->fetch(source, p, 100, &batch, &error), RP_OK);
                assert_int_equal(batch.cnt, EACH);
        }
        batch.cnt = 0;
        for (int i = 0; i < 300 && !batch.cnt; i++) {
                rp_clock_sleep_ms(20);
                assert_int_equal(source->ops->fetch(source, SILENT, 100, &batch, &error), RP_OK);
        }
        assert_int_equal(batch.cnt, EACH);
}

/* ---- sink ------------------------------------------------------------------------------------------------------------ */

static struct rp_progress progress;

static void open_sink(int timeout_ms)
{
        struct rp_kafka_sink_config wanted = { .client = &config, .job = "job", .topic = "target",
                                               .partition_cnt = PARTITIONS, .timeout_ms = timeout_ms };

        assert_int_equal(open_source("source", timeout_ms), RP_OK);
        wanted.source = source;
        assert_int_equal(rp_kafka_sink_new(&sink, &wanted, &error), RP_OK);
        assert_true(rp_progress_init(&progress, PARTITIONS));
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
}

static rp_err_t write_one(const char *value, size_t len)
{
        static const struct rp_header headers[] = { { "h", NULL, 0 } };
        struct rp_record rec = { .partition = 2, .offset = 41, .key = "", .value = value, .value_len = len,
                                 .headers = headers, .header_cnt = 1, .timestamp_ms = 0 };
        struct rp_mark mark = { .partition = 2, .next = 42, .note = (char *)"note" };
        rp_err_t rc = sink->ops->begin(sink, &error);

        if (rc == RP_OK)
                rc = sink->ops->append(sink, &rec, 1, &error);
        if (rc == RP_OK)
                rc = sink->ops->commit(sink, &mark, 1, &error);
        return rc;
}

/* The request may still arrive, and end a later transaction of this producer in its middle. */
static void test_an_abort_that_was_told_by_a_second_answer_is_uncertain(void **state)
{
        static const struct rp_record rec = { .partition = 2, .offset = 41, .key = "", .value = "v", .value_len = 1 };

        (void)state;
        open_sink(PATIENT_MS);
        for (int i = 0; i < 2; i++) {
                if (i)
                        rd_kafka_mock_push_request_errors(mock, END_TXN, 1, RD_KAFKA_RESP_ERR__TRANSPORT);
                assert_int_equal(sink->ops->begin(sink, &error), RP_OK);
                assert_int_equal(sink->ops->append(sink, &rec, 1, &error), RP_OK);
                assert_int_equal(sink->ops->flush(sink, &error), RP_OK); /* else there is nothing for the cluster to end */
                assert_int_equal(sink->ops->abort(sink, &error), i ? RP_ERR_ABORT_BATCH : RP_OK);
        }
        assert_non_null(strstr(error.text, "never answered"));
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one("v", 1), RP_OK);
}

/* ---- long values, which are not copied ------------------------------------------------------------------------------- */

enum { LONG = 8000, LONG_CNT = 90 };

static void fill_long(char *value, int i)
{
        memset(value, 'a' + i % 26, LONG);
        memcpy(value, &i, sizeof(i));
}

static void produce_long(void)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[128], value[LONG];
        rd_kafka_t *rk;

        assert_int_equal(rd_kafka_mock_topic_create(mock, "long", PARTITIONS, 1), 0);
        rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), text, sizeof(text));
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        assert_non_null(rk);
        for (int i = 0; i < LONG_CNT; i++) {
                fill_long(value, i);
                assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("long"), RD_KAFKA_V_PARTITION(i % PARTITIONS),
                                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(value, LONG),
                                                   RD_KAFKA_V_END), 0);
        }
        assert_int_equal(rd_kafka_flush(rk, PATIENT_MS), 0);
        rd_kafka_destroy(rk);
}

/* @returns how many records there are; all are as they were made. With `appends` they go into the target. */
static size_t go_through(struct rp_source *from, bool appends)
{
        struct rp_reader *reader = rp_reader_new(from, RP_READ_ANY);
        struct rp_range ranges[PARTITIONS];
        struct rp_run run = { 0 };
        char value[LONG];
        size_t cnt = 0;
        int i;

        assert_int_equal(from->ops->bounds(from, ranges, &error), RP_OK);
        assert_int_equal(rp_reader_start(reader, ranges, &error), RP_OK);
        while (!run.done) {
                assert_int_equal(rp_reader_next(reader, 100, &run, &error), RP_OK);
                for (size_t r = 0; r < run.cnt; r++, cnt++) {
                        assert_int_equal(run.records[r].value_len, LONG);
                        memcpy(&i, run.records[r].value, sizeof(i));
                        fill_long(value, i);
                        assert_memory_equal(run.records[r].value, value, LONG);
                        if (appends && sink->ops->append(sink, &run.records[r], i % PARTITIONS, &error) != RP_OK)
                                fail_msg("%s", error.text);
                }
        }
        rp_reader_free(reader);
        return cnt;
}

static void test_long_values_live_until_they_are_sent(void **state)
{
        struct rp_kafka_source_config wanted = { .client = &config, .topic = "long", .timeout_ms = PATIENT_MS };
        struct rp_mark mark = { .partition = 0, .next = 1 };
        struct rp_source *from, *back;

        (void)state;
        produce_long();
        open_sink(PATIENT_MS);
        assert_int_equal(rp_kafka_source_new(&from, &wanted, &error), RP_OK);
        for (int round = 0; round < 4; round++) {
                rd_kafka_mock_push_request_errors(mock, PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                                  RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
                assert_int_equal(sink->ops->begin(sink, &error), RP_OK);
                assert_int_equal(go_through(from, true), LONG_CNT);
                if (round == 0) /* purged on their way */
                        assert_int_equal(sink->ops->abort(sink, &error), RP_OK);
                else if (round == 1)
                        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
                else
                        assert_int_equal(sink->ops->commit(sink, &mark, 1, &error), RP_OK);
        }
        from->ops->free(from);
        wanted.topic = "target";
        assert_int_equal(rp_kafka_source_new(&back, &wanted, &error), RP_OK);
        assert_true(go_through(back, false) >= 2 * LONG_CNT); /* the mock shows what was aborted as well */
        back->ops->free(back);
}

static void test_writes_what_it_was_given(void **state)
{
        struct rp_kafka_source_config wanted = { .client = &config, .topic = "target", .headers = true,
                                                 .timeout_ms = PATIENT_MS };
        struct rp_range ranges[PARTITIONS];
        struct rp_batch batch = { 0 };
        struct rp_source *back;

        (void)state;
        open_sink(PATIENT_MS);
        assert_int_equal(write_one(NULL, 0), RP_OK);
        assert_int_equal(rp_kafka_source_new(&back, &wanted, &error), RP_OK);
        assert_int_equal(back->ops->bounds(back, ranges, &error), RP_OK);
        assert_int_equal(back->ops->start(back, ranges, &error), RP_OK);
        for (int i = 0; !batch.cnt && i < 300; i++)
                assert_int_equal(back->ops->fetch(back, 1, 100, &batch, &error), RP_OK);
        assert_int_equal(batch.cnt, 1);
        assert_non_null(batch.records[0].key); /* empty, not none */
        assert_int_equal(batch.records[0].key_len, 0);
        assert_null(batch.records[0].value);
        assert_int_equal(batch.records[0].timestamp_ms, 0); /* not the present time */
        assert_int_equal(batch.records[0].header_cnt, 1);
        assert_string_equal(batch.records[0].headers[0].name, "h");
        assert_null(batch.records[0].headers[0].value);
        back->ops->free(back);
}

static void assert_then_recovers(rp_err_t want, int16_t request, rd_kafka_resp_err_t kerr, size_t cnt)
{
        open_sink(PATIENT_MS);
        for (size_t i = 0; i < cnt; i++)
                rd_kafka_mock_push_request_errors(mock, request, 1, kerr);
        assert_int_equal(write_one("v", 1), want);
        rd_kafka_mock_clear_request_errors(mock, request);
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one("v", 1), RP_OK);
}

static void test_fenced(void **state)
{
        (void)state;
        assert_then_recovers(RP_ERR_FENCED, END_TXN, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, 1);
}

static void test_commit_that_must_abort(void **state)
{
        (void)state;
        assert_then_recovers(RP_ERR_ABORT_BATCH, END_TXN, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, 1);
}

static void test_lost_sequence(void **state)
{
        (void)state;
        assert_then_recovers(RP_ERR_ABORT_BATCH, PRODUCE, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, 1);
}

static void test_coordinator_that_is_busy_is_sat_out(void **state)
{
        (void)state;
        open_sink(PATIENT_MS);
        rd_kafka_mock_push_request_errors(mock, ADD_PARTITIONS, 2, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
                                          RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
        rd_kafka_mock_push_request_errors(mock, END_TXN, 2, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                          RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
        assert_int_equal(write_one("v", 1), RP_OK);
}

static void test_no_right_to_the_id(void **state)
{
        (void)state;
        open_sink(PATIENT_MS);
        rd_kafka_mock_push_request_errors(mock, INIT_PRODUCER_ID, 1,
                                          RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "\"job\""));
}

/*
 * The refusal arrives while the progress is being added: after the coordinator has taken the group, before the group is
 * asked.
 */
static void test_reason_of_a_transaction_that_fails_meanwhile(void **state)
{
        (void)state;
        open_sink(PATIENT_MS);
        rd_kafka_mock_broker_push_request_error_rtts(mock, 1, ADD_PARTITIONS, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 200);
        rd_kafka_mock_broker_push_request_error_rtts(mock, 1, FIND_COORDINATOR, 1, RD_KAFKA_RESP_ERR_NO_ERROR, 600);
        assert_int_equal(write_one("v", 1), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "Topic authorization failed"));
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one("v", 1), RP_OK);
}

static void test_refused_record_is_named(void **state)
{
        (void)state;
        open_sink(PATIENT_MS);
        rd_kafka_mock_push_request_errors(mock, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        assert_int_equal(write_one("v", 1), RP_ERR_BAD_RECORD);
        assert_non_null(strstr(error.text, "partition 2, offset 41"));
}

/* The queue counts bytes before they are compressed; the topic's limit does not. */
static void test_record_longer_than_the_queue(void **state)
{
        static char value[9 << 20];

        (void)state;
        open_sink(PATIENT_MS);
        assert_int_equal(write_one(value, sizeof(value)), RP_ERR_ABORT_BATCH);
        assert_non_null(strstr(error.text, "partition 2, offset 41"));
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one(value, sizeof(value)), RP_OK);
}

static void test_record_longer_than_the_queue_of_the_user(void **state)
{
        static const char *const small[] = { "queue.buffering.max.kbytes=1024" };
        static char value[9 << 20];

        (void)state;
        rp_client_config_release(&config);
        assert_int_equal(rp_client_config_read(&config, NULL, small, 1, rd_kafka_mock_cluster_bootstraps(mock), &error), RP_OK);
        open_sink(PATIENT_MS);
        assert_int_equal(write_one(value, sizeof(value)), RP_ERR_ABORT_BATCH);
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one(value, sizeof(value)), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "-X queue.buffering.max.kbytes=18433"));
}

/* librdkafka forgets the time-out of this call while the group's coordinator is down: the job must not hang with it. */
static void test_coordinator_that_is_gone_does_not_hold_the_job(void **state)
{
        (void)state;
        open_sink(HASTY_MS);
        rd_kafka_mock_coordinator_set(mock, "group", "job", 2);
        rd_kafka_mock_broker_set_down(mock, 2);
        assert_int_equal(write_one("v", 1), RP_ERR_ABORT_BATCH);
        rd_kafka_mock_broker_set_up(mock, 2);
        assert_int_equal(sink->ops->recover(sink, &progress, &error), RP_OK);
        assert_int_equal(write_one("v", 1), RP_OK);
}

/*
 * Of a coordinator's request that timed out librdkafka keeps the freed half, and uses it when the coordinator is there again
 * (its issue 5397), which ends the process.
 */
static void test_group_that_could_not_be_asked_is_asked_again(void **state)
{
        rd_kafka_topic_partition_list_t *list = NULL;
        struct rp_client *client;
        rp_err_t rc;

        (void)state;
        assert_int_equal(open_source("source", PATIENT_MS), RP_OK);
        client = rp_kafka_source_client(source);
        rd_kafka_mock_coordinator_set(mock, "group", "watched", 2);
        rd_kafka_mock_broker_set_down(mock, 2);
        for (int i = 0; i < 3; i++)
                assert_int_equal(rp_group_committed(client, "watched", "cannot ask", HASTY_MS / 3, &list, &error), RP_ERR_RETRY);
        rd_kafka_mock_broker_set_up(mock, 2);
        for (int i = 0; i < 20; i++) {
                rc = rp_group_committed(client, "watched", "cannot ask", HASTY_MS, &list, &error);
                if (list)
                        rd_kafka_topic_partition_list_destroy(list);
                rp_client_serve(client, 50);
        }
        if (rc != RP_OK)
                fail_msg("%s", error.text);
        rd_kafka_mock_broker_set_down(mock, 2); /* with a question on its way the client is closed */
        assert_int_equal(rp_group_committed(client, "watched", "cannot ask", HASTY_MS / 3, &list, &error), RP_ERR_RETRY);
}

/* Trouble is sat out with librdkafka's own pauses, shortened here. */
static const char *const quick[] = { "retry.backoff.ms=10", "fetch.error.backoff.ms=10", "reconnect.backoff.ms=10",
                                     "reconnect.backoff.max.ms=50" };

static int set_up_brokers(int cnt)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char text[128];

        host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        mock = host ? rd_kafka_mock_cluster_new(host, cnt) : NULL;
        source = NULL;
        sink = NULL;
        if (!mock || rd_kafka_mock_topic_create(mock, "source", PARTITIONS, 1) ||
            rd_kafka_mock_topic_create(mock, "target", PARTITIONS, 1))
                return -1;
        return rp_client_config_read(&config, NULL, quick, sizeof(quick) / sizeof(*quick),
                                     rd_kafka_mock_cluster_bootstraps(mock), &error) == RP_OK ? 0 : -1;
}

static int set_up(void **state)
{
        (void)state;
        return set_up_brokers(1);
}

static int set_up_two(void **state)
{
        (void)state;
        return set_up_brokers(2);
}

static int tear_down(void **state)
{
        (void)state;
        rp_progress_release(&progress);
        if (sink)
                sink->ops->free(sink);
        if (source)
                source->ops->free(source);
        rp_client_config_release(&config);
        rd_kafka_mock_cluster_destroy(mock);
        rd_kafka_destroy(host);
        return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                test(test_reads_everything_twice),
                test(test_passing_trouble_is_sat_out),
                test(test_missing_topic_is_not_made),
                test(test_partitions_without_leaders_are_not_unknown),
                test(test_broker_that_is_starting_is_given_time),
                test(test_silent_broker_is_waited_for_and_told),
                test(test_deleted_records_are_a_gap),
                test(test_partitions_that_fell_silent_do_not_keep_another_from_being_read),
                test(test_an_abort_that_was_told_by_a_second_answer_is_uncertain),
                test(test_long_values_live_until_they_are_sent),
                test(test_writes_what_it_was_given),
                test(test_fenced),
                test(test_commit_that_must_abort),
                test(test_lost_sequence),
                test(test_coordinator_that_is_busy_is_sat_out),
                test(test_no_right_to_the_id),
                test(test_refused_record_is_named),
                test(test_reason_of_a_transaction_that_fails_meanwhile),
                test(test_record_longer_than_the_queue),
                test(test_record_longer_than_the_queue_of_the_user),
                cmocka_unit_test_setup_teardown(test_coordinator_that_is_gone_does_not_hold_the_job, set_up_two, tear_down),
                cmocka_unit_test_setup_teardown(test_group_that_could_not_be_asked_is_asked_again, set_up_two, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
