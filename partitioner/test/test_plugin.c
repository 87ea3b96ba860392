/* The plugin in a C host against librdkafka's embedded cluster: where records land. Design, section 3, row by row. */
#include "plugin_host.h"

#include "keyroute-rdkafka.h"

/* One rule for each of the three functions that differ, and topics without a rule beside them. */
#define POLICY                                                                                        \
        "{\"keyroute\":1,\"topics\":{\"orders\":{\"partitions\":12},\"clicks\":{\"hash\":\"crc32\"}," \
        "\"sales-*\":{\"hash\":\"fnv1a-abs\"},\"pinned\":{\"partitions\":12},"                        \
        "\"fields\":{\"key\":{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1,\"missing\":\"reject\"}}}}"
#define UNKNOWN_PARTITION RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION

static char policy_path[64];

static int setup(void **state)
{
        (void)state;
        cluster_start();
        cluster_topic("orders", 12);
        cluster_topic("clicks", 12);
        cluster_topic("sales-eu", 12);
        cluster_topic("pinned", 16); /* the policy says 12 */
        cluster_topic("fields", 12);
        cluster_topic("other", 12);
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

/* The rules apply, and topics without a rule stay as they are by default. Takes the configuration over. */
static void assert_policy_rules(rd_kafka_conf_t *conf)
{
        rd_kafka_t *rk = producer_new(conf);

        assert_routed(rk, "orders", by_murmur2, 12);
        assert_routed(rk, "clicks", by_crc32, 12);
        assert_routed(rk, "sales-eu", by_fnv1a, 12);
        assert_routed(rk, "other", by_crc32, 12);
        rd_kafka_destroy(rk);
}

static void test_every_topic_by_its_rule(void **state)
{
        const char *said;
        size_t distinct = 0;

        (void)state;
        for (size_t i = 0; i < KEY_CNT; i++) {
                distinct += by_murmur2(keys[i], 12) != by_crc32(keys[i], 12);
                distinct += by_murmur2(keys[i], 12) != by_fnv1a(keys[i], 12);
                distinct += by_fnv1a(keys[i], 12) != by_crc32(keys[i], 12);
        }
        assert_true(distinct >= KEY_CNT); /* else the keys could not tell the functions apart */
        assert_int_equal(by_murmur2("TT0124", 15), 10);

        log_capture();
        assert_policy_rules(conf_with_policy());
        said = log_captured();
        /* One line a topic: the function in effect, the fingerprint, the count. */
        assert_int_equal(count_of(said, "|KEYROUTE|"), 4);
        assert_says(said, "%6|");
        assert_says(said, "topic orders: murmur2 modulo, policy ");
        assert_says(said, policy_path);
        assert_says(said, "topic clicks: crc32 modulo, policy ");
        assert_says(said, "topic sales-eu: fnv1a-abs modulo, policy ");
        assert_says(said, "topic other: not named by keyroute.policy=");
        assert_says(said, "librdkafka's consistent_random decides, 12 partitions");
}

static void test_log_level_is_the_clients(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();

        (void)state;
        set(conf, "log_level", "5");
        log_capture();
        assert_policy_rules(conf);
        assert_int_equal(count_of(log_captured(), "|KEYROUTE|"), 0);
}

static void test_hash_and_environment(void **state)
{
        rd_kafka_conf_t *conf;
        rd_kafka_t *rk;

        (void)state;
        conf = conf_with_plugin();
        set(conf, "keyroute.hash", "fnv1a-abs");
        rk = producer_new(conf);
        assert_routed(rk, "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk);

        setenv("KEYROUTE_HASH", "fnv1a-abs", 1);
        rk = producer_new(conf_with_plugin());
        assert_routed(rk, "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk);
        unsetenv("KEYROUTE_HASH");

        setenv("KEYROUTE_POLICY", policy_path, 1);
        assert_policy_rules(conf_with_plugin());
        /* A property wins, whichever kind, and the environment counts again when it is taken back. */
        conf = conf_with_plugin();
        set(conf, "keyroute.hash", "fnv1a-abs");
        rk = producer_new(conf);
        assert_routed(rk, "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk);
        conf = conf_with_plugin();
        set(conf, "keyroute.hash", "fnv1a-abs");
        set(conf, "keyroute.hash", NULL);
        assert_policy_rules(conf);
        setenv("KEYROUTE_POLICY", "", 1);
        assert_policy_rules(conf_with_policy());
        unsetenv("KEYROUTE_POLICY");
}

/* ---- no policy: refused, never placed by chance ------------------------------------------------------------- */

static void assert_refuses(rd_kafka_conf_t *conf, const char *says)
{
        rd_kafka_t *rk;
        const char *said;

        /* Sticky, so that records without a key would not even be shown to a partitioner. */
        set(conf, "sticky.partitioning.linger.ms", "900000");
        log_capture();
        rk = producer_new(conf);
        assert_int_equal(send_text(rk, "orders", "order-42"), UNKNOWN_PARTITION);
        assert_int_equal(send_text(rk, "other", "order-42"), UNKNOWN_PARTITION);
        assert_int_equal(send_to(rk, "orders", NULL, 0), UNKNOWN_PARTITION);
        assert_int_equal(send_to(rk, "orders", "", 0), UNKNOWN_PARTITION);
        said = log_captured();
        rd_kafka_destroy(rk);
        assert_int_equal(count_of(said, "all records of this producer are refused: "), 1);
        assert_says(said, says);
}

static void test_without_a_policy_all_is_refused(void **state)
{
        rd_kafka_conf_t *conf;

        (void)state;
        assert_refuses(conf_with_plugin(), "no policy is set; set keyroute.policy=FILE or keyroute.hash=NAME");
        /* A host that goes on after a failed setting: it must not fall back to something that it did not ask for. */
        conf = conf_with_plugin();
        set_fails(conf, "keyroute.policy", "/nowhere/p.json");
        assert_refuses(conf, "keyroute.policy: /nowhere/p.json: cannot read");
        setenv("KEYROUTE_POLICY", policy_path, 1);
        conf = conf_with_plugin();
        set_fails(conf, "keyroute.policy", "/nowhere/p.json");
        assert_refuses(conf, "keyroute.policy: /nowhere/p.json: cannot read");
        unsetenv("KEYROUTE_POLICY");
        /* With a log queue, the client's own log does not exist yet when this is said. */
        conf = conf_with_plugin();
        set(conf, "log.queue", "true");
        assert_refuses(conf, "no policy is set");
        conf = conf_with_plugin();
        set(conf, "keyroute.policy", policy_path);
        set(conf, "keyroute.policy", "");
        assert_refuses(conf, "no policy is set");
}

static void log_to_opaque(const rd_kafka_t *rk, int level, const char *fac, const char *line)
{
        if (!strcmp(fac, "ICFAIL"))
                snprintf(rd_kafka_opaque(rk), 512, "%d %s", level, line);
}

static void test_a_missing_policy_reaches_the_clients_own_log(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char logged[512] = "";

        (void)state;
        rd_kafka_conf_set_log_cb(conf, log_to_opaque);
        rd_kafka_conf_set_opaque(conf, logged);
        rd_kafka_destroy(producer_new(conf));
        assert_says(logged, "all records of this producer are refused: no policy is set");
}

/* ---- default topic configurations --------------------------------------------------------------------------- */

static void test_topic_properties_stay(void **state)
{
        static const char *const orders[] = { "before", "after" };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                rd_kafka_conf_t *conf = rd_kafka_conf_new();
                const rd_kafka_topic_conf_t *topic_conf;
                char acks[16];
                size_t size = sizeof(acks);
                rd_kafka_t *rk;

                if (!strcmp(orders[i], "before"))
                        set(conf, "acks", "1");
                set(conf, "plugin.library.paths", plugin_path());
                set(conf, "keyroute.policy", policy_path);
                if (!strcmp(orders[i], "after"))
                        set(conf, "topic.acks", "1");
                rk = producer_new(conf);
                topic_conf = rd_kafka_conf_get_default_topic_conf((rd_kafka_conf_t *)rd_kafka_conf(rk));
                assert_int_equal(rd_kafka_topic_conf_get(topic_conf, "acks", acks, &size), RD_KAFKA_CONF_OK);
                assert_string_equal(acks, "1");
                assert_routed(rk, "orders", by_murmur2, 12);
                rd_kafka_destroy(rk);
        }
}

static void test_default_topic_conf_replaced_afterwards(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_topic_conf_new();
        const char *said;

        (void)state;
        assert_int_equal(rd_kafka_topic_conf_set(topic_conf, "acks", "1", NULL, 0), RD_KAFKA_CONF_OK);
        rd_kafka_conf_set_default_topic_conf(conf, topic_conf);
        log_capture();
        assert_policy_rules(conf);
        said = log_captured();
        assert_int_equal(count_of(said, "CONFWARN"), 0);

        conf = conf_with_policy();
        rd_kafka_conf_set_default_topic_conf(conf, NULL);
        assert_policy_rules(conf);

        /* A partitioner in there was not seen by on_conf_set: the policy wins, and says so. */
        conf = conf_with_policy();
        topic_conf = rd_kafka_topic_conf_new();
        assert_int_equal(rd_kafka_topic_conf_set(topic_conf, "partitioner", "fnv1a_random", NULL, 0), RD_KAFKA_CONF_OK);
        rd_kafka_conf_set_default_topic_conf(conf, topic_conf);
        log_capture();
        {
                rd_kafka_t *rk = producer_new(conf);

                assert_routed(rk, "orders", by_murmur2, 12);
                assert_routed(rk, "other", by_fnv1a, 12);
                rd_kafka_destroy(rk);
        }
        assert_says(log_captured(), "partitioner=fnv1a_random contradicts the policy's rule for topic \"");
}

static int32_t to_the_last(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t partition_cnt,
                           void *opaque, void *msg_opaque)
{
        (void)rkt, (void)key, (void)key_len, (void)msg_opaque;
        ++*(int *)opaque;
        return partition_cnt - 1;
}

static void test_an_applications_own_callback(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_topic_conf_new();
        rd_kafka_t *rk;
        int called = 0;

        (void)state;
        rd_kafka_topic_conf_set_partitioner_cb(topic_conf, to_the_last);
        rd_kafka_topic_conf_set_opaque(topic_conf, &called);
        rd_kafka_conf_set_default_topic_conf(conf, topic_conf);
        log_capture();
        rk = producer_new(conf);
        assert_routed(rk, "orders", by_murmur2, 12);
        assert_int_equal(called, 0);
        assert_int_equal(send_text(rk, "other", "order-42"), 11);
        assert_int_equal(called, 1);
        assert_says(log_captured(), "the application's own partitioner callback is left in force only where ");
        rd_kafka_destroy(rk);
}

static void test_a_partitioner_that_agrees(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char path[64];
        rd_kafka_t *rk;

        (void)state;
        policy_write(path, "{\"keyroute\":1,\"topics\":{\"orders\":{}}}");
        set(conf, "keyroute.policy", path);
        set(conf, "partitioner", "murmur2_random");
        log_capture();
        rk = producer_new(conf);
        assert_routed(rk, "orders", by_murmur2, 12);
        assert_routed(rk, "other", by_murmur2, 12);
        assert_says(log_captured(), "topic other: not named by keyroute.policy=");
        rd_kafka_destroy(rk);
        unlink(path);
}

/* ---- topic configurations of their own ---------------------------------------------------------------------- */

/* As `kcat -P` and older C programs: a topic configuration goes with the topic. */
static int32_t send_with_own_topic_conf(rd_kafka_t *rk, rd_kafka_topic_conf_t *topic_conf, const char *key)
{
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, "orders", topic_conf);
        int32_t where = RD_KAFKA_RESP_ERR__FAIL;

        assert_non_null(rkt);
        if (rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, "v", 1, key, strlen(key), &where))
                where = rd_kafka_last_error();
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        rd_kafka_topic_destroy(rkt);
        return where;
}

static void test_own_topic_conf_bypasses_unless_forced(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        rd_kafka_t *rk = producer_new(conf);

        (void)state;
        for (size_t i = 0; i < KEY_CNT; i++)
                assert_int_equal(send_with_own_topic_conf(rk, rd_kafka_topic_conf_new(), keys[i]),
                                 by_crc32(keys[i], 12));
        rd_kafka_destroy(rk);

        conf = conf_with_policy();
        set(conf, "keyroute.topics.force", "orders,clicks");
        log_capture();
        rk = producer_new(conf);
        assert_says(log_captured(), "2 topics are forced: topic configurations of the program are dropped for them");
        for (size_t i = 0; i < KEY_CNT; i++)
                assert_int_equal(send_with_own_topic_conf(rk, rd_kafka_topic_conf_new(), keys[i]),
                                 by_murmur2(keys[i], 12));
        assert_routed(rk, "clicks", by_crc32, 12);
        rd_kafka_destroy(rk);

        /* Forcing without a policy refuses there as well. */
        conf = conf_with_plugin();
        set(conf, "keyroute.topics.force", "orders");
        rk = producer_new(conf);
        assert_int_equal(send_with_own_topic_conf(rk, rd_kafka_topic_conf_new(), "a"), UNKNOWN_PARTITION);
        rd_kafka_destroy(rk);
}

/* The callback of keyroute-rdkafka.h, without the plugin. */
static void test_own_topic_conf_with_the_c_function(void **state)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_load(policy_path, &err);
        rd_kafka_topic_conf_t *topic_conf;
        rd_kafka_t *rk = producer_new(rd_kafka_conf_new());

        (void)state;
        assert_non_null(policy);
        for (size_t i = 0; i < KEY_CNT; i++) {
                topic_conf = rd_kafka_topic_conf_new();
                rd_kafka_topic_conf_set_partitioner_cb(topic_conf, kr_rdkafka_partition);
                rd_kafka_topic_conf_set_opaque(topic_conf, (void *)kr_policy_rule(policy, "orders"));
                assert_int_equal(send_with_own_topic_conf(rk, topic_conf, keys[i]), by_murmur2(keys[i], 12));
        }
        rd_kafka_destroy(rk);
        assert_int_equal(kr_rdkafka_partition(NULL, "x", 1, 16, (void *)kr_policy_rule(policy, "pinned"), NULL), 16);
        kr_policy_free(policy);
}

/* ---- copies, several clients, several settings -------------------------------------------------------------- */

static void test_copies_of_configurations(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy(), *copy, *copy_of_copy;
        rd_kafka_t *rk;

        (void)state;
        copy = rd_kafka_conf_dup(conf);
        rd_kafka_conf_destroy(conf);
        copy_of_copy = rd_kafka_conf_dup(copy);
        assert_policy_rules(copy);
        assert_policy_rules(rd_kafka_conf_dup(copy_of_copy));
        /* A running client's configuration carries its callback and opaque, both of which the copy must not use. */
        rk = producer_new(copy_of_copy);
        conf = rd_kafka_conf_dup(rd_kafka_conf(rk));
        rd_kafka_destroy(rk);
        assert_policy_rules(conf);

        /* Settings on the copy are the copy's. */
        conf = conf_with_policy();
        copy = rd_kafka_conf_dup(conf);
        set(copy, "keyroute.policy", NULL);
        set(copy, "keyroute.hash", "fnv1a-abs");
        rk = producer_new(copy);
        assert_routed(rk, "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk);
        assert_policy_rules(conf);
}

static void test_a_copy_without_its_policy_refuses(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin(), *copy;
        char path[64];

        (void)state;
        policy_write(path, POLICY);
        set(conf, "keyroute.policy", path);
        unlink(path);
        copy = rd_kafka_conf_dup(conf);
        rd_kafka_conf_destroy(conf);
        assert_refuses(copy, "cannot read the policy file");

        /* librdkafka hides from the caller that conf_init fails while it copies. */
        policy_write(path, POLICY);
        setenv("KEYROUTE_POLICY", path, 1);
        conf = conf_with_plugin();
        unlink(path);
        copy = rd_kafka_conf_dup(conf);
        rd_kafka_conf_destroy(conf);
        unsetenv("KEYROUTE_POLICY");
        assert_refuses(copy, "KEYROUTE_POLICY: ");
}

static void test_a_copy_may_leave_the_plugin_out(void **state)
{
        const char *filter[] = { "plugin." };
        rd_kafka_conf_t *conf = conf_with_policy();
        rd_kafka_conf_t *copy = rd_kafka_conf_dup_filter(conf, 1, filter);
        rd_kafka_t *rk;

        (void)state;
        rd_kafka_conf_destroy(conf);
        rk = producer_new(copy);
        assert_routed(rk, "orders", by_crc32, 12);
        rd_kafka_destroy(rk);
}

static void test_several_producers_in_one_process(void **state)
{
        static const char *const hashes[] = { "murmur2", "crc32", "fnv1a-abs" };
        rd_kafka_t *rk[3];

        (void)state;
        for (size_t i = 0; i < 3; i++) {
                rd_kafka_conf_t *conf = conf_with_plugin();

                set(conf, "keyroute.hash", hashes[i]);
                rk[i] = producer_new(conf);
        }
        assert_routed(rk[0], "orders", by_murmur2, 12);
        assert_routed(rk[1], "orders", by_crc32, 12);
        assert_routed(rk[2], "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk[1]);
        assert_routed(rk[0], "orders", by_murmur2, 12);
        assert_routed(rk[2], "orders", by_fnv1a, 12);
        rd_kafka_destroy(rk[0]);
        rd_kafka_destroy(rk[2]);
}

static void test_plugin_set_again_or_taken_away(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        char twice[1100], bare[512];

        (void)state;
        set(conf, "plugin.library.paths", plugin_path());
        assert_policy_rules(conf);

        /* Two names of one file: with and without the extension. */
        snprintf(bare, sizeof(bare), "%.*s", (int)(strlen(plugin_path()) - 3), plugin_path());
        snprintf(twice, sizeof(twice), "%s;%s", bare, plugin_path());
        conf = rd_kafka_conf_new();
        set(conf, "plugin.library.paths", twice);
        set(conf, "keyroute.policy", policy_path);
        assert_policy_rules(conf);

        /* librdkafka closes the object now, and its interceptors stay. */
        conf = conf_with_policy();
        set(conf, "plugin.library.paths", "");
        assert_policy_rules(rd_kafka_conf_dup(conf));
        assert_policy_rules(conf);
}

static void test_consumers_are_left_alone(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        char errstr[512];
        rd_kafka_t *rk;

        (void)state;
        set(conf, "group.id", "g");
        set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster));
        log_capture();
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
        assert_non_null(rk);
        rd_kafka_destroy(rk);
        conf = conf_with_plugin(); /* without a policy */
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
        assert_non_null(rk);
        rd_kafka_destroy(rk);
        assert_int_equal(count_of(log_captured(), "refused"), 0);
}

/* ---- keys --------------------------------------------------------------------------------------------------- */

enum { NULL_CNT = 200 };

/* Sends records without a key. @returns over how many partitions they were spread; *first is one of those. */
static size_t spread_of_null_keys(rd_kafka_t *rk, const char *topic, int32_t *first)
{
        int32_t where[NULL_CNT];
        bool seen[16] = { false };
        size_t cnt = 0;

        send_text(rk, topic, "a"); /* partitions are known from here on */
        for (size_t i = 0; i < NULL_CNT; i++)
                send_start(rk, topic, NULL, 0, 1, &where[i]);
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        for (size_t i = 0; i < NULL_CNT; i++) {
                assert_in_range(where[i], 0, 11);
                cnt += !seen[where[i]];
                seen[where[i]] = true;
        }
        *first = where[0];
        return cnt;
}

static void test_null_and_empty_keys(void **state)
{
        rd_kafka_conf_t *conf = conf_with_policy();
        rd_kafka_t *rk;
        int32_t where;

        (void)state;
        /* A sticky partition that outlives the test: all NULL keys together, whatever the policy. */
        set(conf, "sticky.partitioning.linger.ms", "900000");
        rk = producer_new(conf);
        assert_int_equal(spread_of_null_keys(rk, "orders", &where), 1);
        assert_int_equal(send_to(rk, "orders", "", 0), by_murmur2("", 12));
        assert_int_equal(send_to(rk, "clicks", "", 0), by_crc32("", 12));
        assert_int_equal(send_to(rk, "sales-eu", "", 0), by_fnv1a("", 12));
        rd_kafka_destroy(rk);

        /* Stickiness taken away by the user: as librdkafka's own *_random partitioners, not as the empty key. */
        conf = conf_with_policy();
        set(conf, "sticky.partitioning.linger.ms", "0");
        rk = producer_new(conf);
        assert_true(spread_of_null_keys(rk, "orders", &where) > 1);
        assert_true(spread_of_null_keys(rk, "other", &where) > 1);
        assert_int_equal(send_to(rk, "orders", "", 0), by_murmur2("", 12));
        rd_kafka_destroy(rk);

        /* With partitioner=murmur2 librdkafka hashes NULL keys too. The policy is about keys, so that stays. */
        conf = conf_with_plugin();
        set(conf, "sticky.partitioning.linger.ms", "900000");
        set(conf, "partitioner", "murmur2");
        set(conf, "keyroute.hash", "murmur2");
        rk = producer_new(conf);
        assert_int_equal(spread_of_null_keys(rk, "orders", &where), 1);
        assert_int_equal(where, by_murmur2("", 12));
        rd_kafka_destroy(rk);
}

/* librdkafka puts the key behind the payload, so the payload's length sets the key's alignment. */
static void test_keys_at_every_alignment(void **state)
{
        rd_kafka_t *rk = producer_new(conf_with_policy());
        int32_t where[9][KEY_CNT];

        (void)state;
        for (size_t payload_len = 0; payload_len <= 8; payload_len++)
                for (size_t i = 0; i < KEY_CNT; i++)
                        send_start(rk, "orders", keys[i], strlen(keys[i]), payload_len, &where[payload_len][i]);
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        for (size_t payload_len = 0; payload_len <= 8; payload_len++)
                for (size_t i = 0; i < KEY_CNT; i++)
                        assert_int_equal(where[payload_len][i], by_murmur2(keys[i], 12));
        rd_kafka_destroy(rk);
}

/* ---- refusals ----------------------------------------------------------------------------------------------- */

static void test_another_partition_count_is_refused(void **state)
{
        rd_kafka_t *rk;
        const char *said;

        (void)state;
        log_capture();
        rk = producer_new(conf_with_policy());
        for (size_t i = 0; i < KEY_CNT; i++)
                assert_int_equal(send_text(rk, "pinned", keys[i]), UNKNOWN_PARTITION);
        assert_routed(rk, "orders", by_murmur2, 12);
        rd_kafka_destroy(rk);
        said = log_captured();
        assert_int_equal(count_of(said, "topic pinned"), 2);
        assert_says(said, "%3|");
        assert_says(said, "topic pinned has 16 partitions, the policy (keyroute.policy=");
        assert_says(said, ") was made for 12: records are refused, not misplaced; ");
        assert_says(said, "topic pinned: 6 records were refused in all");
}

static void test_rejected_keys_are_refused(void **state)
{
        rd_kafka_t *rk;
        const char *said;

        (void)state;
        log_capture();
        rk = producer_new(conf_with_policy());
        assert_int_equal(send_text(rk, "fields", "eu|order-42|1"), by_murmur2("order-42", 12));
        assert_int_equal(send_text(rk, "fields", "secret-in-one-piece"), UNKNOWN_PARTITION);
        assert_int_equal(send_text(rk, "fields", "another-secret"), UNKNOWN_PARTITION);
        assert_int_equal(send_text(rk, "fields", "us|order-43|2"), by_murmur2("order-43", 12));
        rd_kafka_destroy(rk);
        said = log_captured();
        assert_int_equal(count_of(said, "topic fields: records are refused: "), 1);
        assert_says(said, "topic fields: 2 records were refused in all");
        assert_null(strstr(said, "secret")); /* keys may be personal data */
}

/* Records that wait for metadata are partitioned later, on librdkafka's main thread. */
static void test_records_queued_before_metadata(void **state)
{
        rd_kafka_t *rk;
        int32_t where[KEY_CNT], refused = 0;

        (void)state;
        rk = producer_new_unconnected(conf_with_policy());
        for (size_t i = 0; i < KEY_CNT; i++)
                send_start(rk, "orders", keys[i], strlen(keys[i]), 1, &where[i]);
        send_start(rk, "pinned", "a", 1, 1, &refused);
        assert_int_equal(rd_kafka_outq_len(rk), KEY_CNT + 1);
        assert_int_equal(rd_kafka_brokers_add(rk, rd_kafka_mock_cluster_bootstraps(cluster)), 1);
        assert_int_equal(rd_kafka_flush(rk, 20000), 0);
        for (size_t i = 0; i < KEY_CNT; i++)
                assert_int_equal(where[i], by_murmur2(keys[i], 12));
        assert_int_equal(refused, UNKNOWN_PARTITION);
        rd_kafka_destroy(rk);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                log_test(test_every_topic_by_its_rule),
                log_test(test_log_level_is_the_clients),
                log_test(test_hash_and_environment),
                log_test(test_without_a_policy_all_is_refused),
                log_test(test_a_missing_policy_reaches_the_clients_own_log),
                log_test(test_topic_properties_stay),
                log_test(test_default_topic_conf_replaced_afterwards),
                log_test(test_an_applications_own_callback),
                log_test(test_a_partitioner_that_agrees),
                log_test(test_own_topic_conf_bypasses_unless_forced),
                log_test(test_own_topic_conf_with_the_c_function),
                log_test(test_copies_of_configurations),
                log_test(test_a_copy_without_its_policy_refuses),
                log_test(test_a_copy_may_leave_the_plugin_out),
                log_test(test_several_producers_in_one_process),
                log_test(test_plugin_set_again_or_taken_away),
                log_test(test_consumers_are_left_alone),
                log_test(test_null_and_empty_keys),
                log_test(test_keys_at_every_alignment),
                log_test(test_another_partition_count_is_refused),
                log_test(test_rejected_keys_are_refused),
                log_test(test_records_queued_before_metadata),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
