/* io/unanswered: a request that was never answered is noticed, although librdkafka asks again and reports success. */
#define RP_WITH_RDKAFKA
#include "io/unanswered.h"

#include <librdkafka/rdkafka_mock.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>

enum { ADD_PARTITIONS = 24, END_TXN = 26, PATIENT_MS = 30000 };

static rd_kafka_t *host; /* owns the mock cluster */
static rd_kafka_mock_cluster_t *mock;
static rd_kafka_t *producer;
static struct rp_unanswered *unanswered;

static void transact(void)
{
        assert_null(rd_kafka_begin_transaction(producer));
        assert_int_equal(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("v", 1), RD_KAFKA_V_END), 0);
        assert_null(rd_kafka_commit_transaction(producer, PATIENT_MS));
}

static int open_producer(void **state)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        struct rp_error err;
        char text[256];

        (void)state;
        host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text, sizeof(text));
        mock = rd_kafka_mock_cluster_new(host, 1);
        rd_kafka_mock_topic_create(mock, "t", 1, 1);
        rd_kafka_conf_set_log_cb(conf, NULL);
        rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), text, sizeof(text));
        rd_kafka_conf_set(conf, "transactional.id", "id", text, sizeof(text));
        unanswered = rp_unanswered_install(conf, &err);
        assert_non_null(unanswered);
        producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
        assert_non_null(producer);
        assert_null(rd_kafka_init_transactions(producer, PATIENT_MS));
        return 0;
}

static int close_producer(void **state)
{
        (void)state;
        rd_kafka_destroy(producer);
        free(unanswered);
        rd_kafka_mock_cluster_destroy(mock);
        rd_kafka_destroy(host);
        return 0;
}

/* Also when the coordinator answers that it cannot now, and librdkafka asks again: those answers say what became of it. */
static void test_answers_of_every_kind_count(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++)
                transact();
        assert_int_equal(rp_unanswered_count(unanswered), 0);
        rd_kafka_mock_push_request_errors(mock, ADD_PARTITIONS, 2, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
                                          RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS);
        rd_kafka_mock_push_request_errors(mock, END_TXN, 1, RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
        transact();
        assert_int_equal(rp_unanswered_count(unanswered), 0);
}

/* The mock closes the connection without an answer; what librdkafka then says is "committed". */
static void test_a_broken_connection_leaves_one_behind(void **state)
{
        (void)state;
        transact();
        rd_kafka_mock_push_request_errors(mock, END_TXN, 1, RD_KAFKA_RESP_ERR__TRANSPORT);
        transact();
        assert_int_equal(rp_unanswered_count(unanswered), 1);
        transact();
        assert_int_equal(rp_unanswered_count(unanswered), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_answers_of_every_kind_count, open_producer, close_producer),
                cmocka_unit_test_setup_teardown(test_a_broken_connection_leaves_one_behind, open_producer, close_producer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
