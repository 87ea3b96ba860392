/* The plugin as a witness in a C host against librdkafka's embedded cluster: which interceptors see what. */
#include "plugin_host.h"

#include <stdbool.h>

#define POLICY                                                                                                        \
        "{\"keyroute\":1,\"topics\":{\"orders\":{\"partitions\":12},\"clicks\":{\"partitions\":12},\"clean\":{\"partitions\":12}," \
        "\"free\":{}}}"

enum { SENT_CNT = 40 };

static char policy_path[64];

static int setup(void **state)
{
        (void)state;
        cluster_start();
        cluster_topic("orders", 12);
        cluster_topic("clicks", 12);
        cluster_topic("free", 12);
        cluster_topic("clean", 12);
        policy_write(policy_path, POLICY);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        unlink(policy_path);
        cluster_stop();
        return 0;
}

static rd_kafka_conf_t *conf_with_policy(void)
{
        rd_kafka_conf_t *conf = conf_with_plugin();

        set(conf, "keyroute.policy", policy_path);
        return conf;
}

static void key_write(char key[32], size_t i)
{
        snprintf(key, 32, "secret-%zu", i);
}

static size_t misplaced_by_crc32(size_t cnt)
{
        size_t misplaced = 0;

        for (size_t i = 0; i < cnt; i++) {
                char key[32];

                key_write(key, i);
                misplaced += by_crc32(key, 12) != by_murmur2(key, 12);
        }
        return misplaced;
}

/* Sends the keys and flushes: with a topic configuration of the program's own, or into partitions that it names. */
static void send_many(rd_kafka_t *rk, const char *topic, rd_kafka_topic_conf_t *topic_conf, bool by_partition)
{
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, topic_conf);
        int32_t where[SENT_CNT];

        assert_non_null(rkt);
        for (size_t i = 0; i < SENT_CNT; i++) {
                char key[32];

                key_write(key, i);
                assert_int_equal(rd_kafka_produce(rkt, by_partition ? by_crc32(key, 12) : RD_KAFKA_PARTITION_UA,
                                                  RD_KAFKA_MSG_F_COPY, "v", 1, key, strlen(key), &where[i]), 0);
        }
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        rd_kafka_topic_destroy(rkt);
}

static void assert_says_in_all(const char *said, const char *before, size_t cnt)
{
        char part[200];

        snprintf(part, sizeof(part), "%s elsewhere than the policy says: %zu in all; they look like crc32 (", before, cnt);
        assert_says(said, part);
        assert_int_equal(count_of(said, "secret"), 0); /* no key is ever told */
}

/* What a producer that sends the keys like this has said by its end. Takes the configuration over. */
static const char *said_when_sending(rd_kafka_conf_t *conf, const char *topic, bool has_topic_conf, bool by_partition)
{
        rd_kafka_t *rk;

        log_capture();
        rk = producer_new(conf);
        send_many(rk, topic, has_topic_conf ? rd_kafka_topic_conf_new() : NULL, by_partition);
        rd_kafka_destroy(rk);
        return log_captured();
}

/* What a consumer has said by its end that read SENT_CNT records of the topic. Takes the configuration over. */
static const char *said_when_reading(rd_kafka_conf_t *conf, const char *topic)
{
        rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(12);
        char errstr[512];
        rd_kafka_t *rk;

        set(conf, "group.id", "g");
        set(conf, "enable.partition.eof", "true"); /* not a record, and not to be taken for one */
        set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster));
        log_capture();
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
        assert_non_null(rk);
        for (int32_t p = 0; p < 12; p++)
                rd_kafka_topic_partition_list_add(all, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
        assert_int_equal(rd_kafka_assign(rk, all), 0);
        rd_kafka_topic_partition_list_destroy(all);
        for (size_t read = 0; read < SENT_CNT;) {
                rd_kafka_message_t *record = rd_kafka_consumer_poll(rk, 20000);

                assert_non_null(record);
                read += !record->err;
                rd_kafka_message_destroy(record);
        }
        assert_int_equal(rd_kafka_consumer_close(rk), 0);
        rd_kafka_destroy(rk);
        return log_captured();
}

static void test_a_bypassed_partitioner_is_noticed(void **state)
{
        const char *said = said_when_sending(conf_with_policy(), "orders", true, false);

        (void)state;
        assert_says_in_all(said, "topic orders: records delivered", misplaced_by_crc32(SENT_CNT));
        assert_int_equal(count_of(said, "%4|"), 3); /* the first, the tenth, and all */
        assert_int_equal(count_of(said, "; they look like crc32 (librdkafka's default: "), 2);
        assert_says(said, "says: 1 so far (murmur2 modulo, policy ");
        assert_says(said, "then set keyroute.topics.force=orders; or it names partitions itself");
}

static void test_partitions_that_the_program_names(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        const char *said;

        (void)state;
        set(conf, "keyroute.topics.force", "orders");
        said = said_when_sending(conf, "orders", true, true);
        assert_says_in_all(said, "topic orders: records delivered", misplaced_by_crc32(SENT_CNT));
        assert_says(said, "This program names partitions itself: let it leave them out");
        /* Where nothing says how many partitions there are, there is nothing to compare with. */
        assert_int_equal(count_of(said_when_sending(conf_with_policy(), "free", false, true), "elsewhere"), 0);
}

static void test_a_count_is_learnt_from_the_partitioner(void **state)
{
        const char *said;
        rd_kafka_t *rk;

        (void)state;
        log_capture();
        rk = producer_new(conf_with_policy());
        assert_int_equal(send_text(rk, "free", "order-42"), by_murmur2("order-42", 12));
        send_many(rk, "free", NULL, true);
        rd_kafka_destroy(rk);
        said = log_captured();
        assert_says_in_all(said, "topic free: records delivered", misplaced_by_crc32(SENT_CNT));
}

static void test_a_consumer_notices_what_others_wrote(void **state)
{
        const char *said;

        (void)state;
        said_when_sending(rd_kafka_conf_new(), "clicks", false, false);
        said = said_when_reading(conf_with_policy(), "clicks");
        assert_says_in_all(said, "topic clicks: records consumed from", misplaced_by_crc32(SENT_CNT));
        assert_int_equal(count_of(said, "|KEYROUTE|"), 3);
        assert_says(said, "; they look like crc32 (librdkafka's default: ");
        assert_says(said, "Their producers do not follow the policy: repartition audit finds which");

        /* Off, by either way; and the property over the environment, also in a copy. */
        setenv("KEYROUTE_WITNESS", "off", 1);
        assert_int_equal(count_of(said_when_reading(conf_with_policy(), "clicks"), "|KEYROUTE|"), 0);
        {
                rd_kafka_conf_t *conf = conf_with_policy(), *copy;

                set(conf, "keyroute.witness", "warn");
                copy = rd_kafka_conf_dup(conf);
                assert_int_equal(count_of(said_when_reading(copy, "clicks"), "|KEYROUTE|"), 3);
                set(conf, "keyroute.witness", NULL);
                assert_int_equal(count_of(said_when_reading(conf, "clicks"), "|KEYROUTE|"), 0);
        }
        unsetenv("KEYROUTE_WITNESS");
}

static void test_off_is_silent(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();

        (void)state;
        set(conf, "keyroute.witness", "off");
        assert_int_equal(count_of(said_when_sending(rd_kafka_conf_dup(conf), "orders", true, false), "|KEYROUTE|"), 0);
        assert_int_equal(count_of(said_when_reading(conf, "clicks"), "|KEYROUTE|"), 0);
}

static void test_clean_topics_are_silent(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        const char *said = said_when_sending(rd_kafka_conf_dup(conf), "clean", false, false);

        (void)state;
        assert_int_equal(count_of(said, "|KEYROUTE|"), 1);
        assert_says(said, "topic clean: murmur2 modulo, policy ");
        assert_int_equal(count_of(said_when_reading(conf, "clean"), "|KEYROUTE|"), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                log_test(test_a_bypassed_partitioner_is_noticed),
                log_test(test_partitions_that_the_program_names),
                log_test(test_a_count_is_learnt_from_the_partitioner),
                log_test(test_a_consumer_notices_what_others_wrote),
                log_test(test_off_is_silent),
                log_test(test_clean_topics_are_silent),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
