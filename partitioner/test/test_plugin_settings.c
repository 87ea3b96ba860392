/* The plugin's properties: what is accepted, what is refused, and with which words. No cluster is needed. */
#include "plugin_host.h"

#define ORDERS "{\"keyroute\":1,\"topics\":{\"orders\":{\"partitions\":12}}}"

static void test_exports_conf_init_and_links_no_librdkafka(void **state)
{
        char command[600], line[512] = "";
        FILE *pipe;

        (void)state;
        snprintf(command, sizeof(command), "nm -D --defined-only %s | cut -d' ' -f3 | tr '\\n' ' '", plugin_path());
        pipe = popen(command, "r");
        assert_non_null(pipe);
        assert_non_null(fgets(line, sizeof(line), pipe));
        assert_int_equal(pclose(pipe), 0);
        assert_string_equal(line, "conf_init ");

        snprintf(command, sizeof(command), "readelf -d %s", plugin_path());
        pipe = popen(command, "r");
        assert_non_null(pipe);
        for (int nodelete = 0, needed = 0;;) {
                if (!fgets(line, sizeof(line), pipe)) {
                        assert_true(nodelete);
                        assert_true(needed);
                        break;
                }
                nodelete |= strstr(line, "NODELETE") != NULL;
                needed |= strstr(line, "(NEEDED)") != NULL;
                assert_null(strstr(line, "rdkafka"));
        }
        assert_int_equal(pclose(pipe), 0);
}

static void test_wrong_values_name_property_and_reason(void **state)
{
        static const struct {
                const char *name, *value, *says;
        } cases[] = {
                { "keyroute.policy", "/nowhere/p.json",
                  "keyroute.policy: /nowhere/p.json: cannot read the policy file" },
                { "keyroute.policy", "/tmp", "keyroute.policy: /tmp: expected a policy file" },
                { "keyroute.hash", "murmr2", "keyroute.hash: no hash \"murmr2\"; did you mean \"murmur2\"?" },
                { "keyroute.hash", "sha256-of-the-whole", "for Java's rule write \"murmur2\"" },
                { "keyroute.topics.force", "orders,,clicks", "keyroute.topics.force: \"\" is no topic name" },
                { "keyroute.topics.force", "orders*", "keyroute.topics.force: \"orders*\" is no topic name" },
                { "keyroute.witness", "loud", "keyroute.witness: expected warn or off, not \"loud\"" },
                { "keyroute.polcy", "x", "no property \"keyroute.polcy\"; did you mean \"keyroute.policy\"?" },
                { "keyroute.partitioner.weights", "x",
                  "no property \"keyroute.partitioner.weights\"; expected one of:" },
        };
        rd_kafka_conf_t *conf = conf_with_plugin();

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_says(set_fails(conf, cases[i].name, cases[i].value), cases[i].says);
        rd_kafka_conf_destroy(conf);
}

/* Go's binding gives 128 bytes for it, in which the remedy would be lost. */
static void test_an_error_that_the_host_has_no_room_for_is_logged_whole(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char small[40];

        (void)state;
        log_capture();
        assert_int_equal(rd_kafka_conf_set(conf, "keyroute.witness", "loud", small, sizeof(small)), RD_KAFKA_CONF_INVALID);
        assert_int_equal(strlen(small), sizeof(small) - 1);
        assert_says(log_captured(), "|KEYROUTE|configuration| keyroute.witness: expected warn or off, not \"loud\"\n");

        log_capture();
        assert_says(set_fails(conf, "keyroute.witness", "loud"), "expected warn or off");
        assert_string_equal(log_captured(), "");
        rd_kafka_conf_destroy(conf);
}

static void test_broken_policies_name_file_and_path(void **state)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "{", "line 1" },
                { "{\"keyroute\":1,\"topics\":{\"orders\":{\"hash\":\"murmr2\"}}}", ": topics.orders.hash: no hash" },
                { "{\"keyroute\":1,\"topics\":{\"orders\":{\"partitions\":0}}}",
                  ": topics.orders.partitions: expected" },
                { "{\"keyroute\":2,\"topics\":{\"orders\":{}}}", ": keyroute: expected 1" },
        };
        char path[64];

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                rd_kafka_conf_t *conf = conf_with_plugin();
                const char *said;

                policy_write(path, cases[i].text);
                said = set_fails(conf, "keyroute.policy", path);
                assert_says(said, "keyroute.policy: /tmp/keyroute-test-");
                assert_says(said, cases[i].says);
                rd_kafka_conf_destroy(conf);
                /* The same from the environment: the plugin itself cannot be set then. */
                setenv("KEYROUTE_POLICY", path, 1);
                conf = rd_kafka_conf_new();
                said = set_fails(conf, "plugin.library.paths", plugin_path());
                assert_says(said, "KEYROUTE_POLICY: /tmp/keyroute-test-");
                assert_says(said, cases[i].says);
                unsetenv("KEYROUTE_POLICY");
                /* Nothing of the failed attempt is left: with the cause gone the same object works. */
                set(conf, "plugin.library.paths", plugin_path());
                set(conf, "keyroute.hash", "murmur2");
                rd_kafka_conf_destroy(conf);
                unlink(path);
        }
}

static void test_file_and_hash_exclude_each_other(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char path[64];

        (void)state;
        policy_write(path, ORDERS);
        set(conf, "keyroute.policy", path);
        assert_says(set_fails(conf, "keyroute.hash", "crc32"), "keyroute.policy and keyroute.hash are both set");
        set(conf, "keyroute.policy", NULL);
        set(conf, "keyroute.hash", "crc32");
        assert_says(set_fails(conf, "keyroute.policy", path), "keyroute.policy and keyroute.hash are both set");
        rd_kafka_conf_destroy(conf);

        setenv("KEYROUTE_POLICY", path, 1);
        setenv("KEYROUTE_HASH", "crc32", 1);
        conf = rd_kafka_conf_new();
        assert_says(set_fails(conf, "plugin.library.paths", plugin_path()),
                    "KEYROUTE_POLICY and KEYROUTE_HASH are both set");
        rd_kafka_conf_destroy(conf);
        unsetenv("KEYROUTE_POLICY");
        setenv("KEYROUTE_HASH", "crc23", 1);
        conf = rd_kafka_conf_new();
        assert_says(set_fails(conf, "plugin.library.paths", plugin_path()), "KEYROUTE_HASH: no hash \"crc23\"");
        rd_kafka_conf_destroy(conf);
        unsetenv("KEYROUTE_HASH");
        unlink(path);
}

static void test_own_properties_are_unknown_before_the_plugin(void **state)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();

        (void)state;
        assert_says(set_fails(conf, "keyroute.hash", "murmur2"), "No such configuration property: \"keyroute.hash\"");
        set(conf, "plugin.library.paths", plugin_path());
        set(conf, "keyroute.hash", "murmur2");
        /* And other properties are none of ours, known to librdkafka or not. */
        assert_says(set_fails(conf, "keyroute", "x"), "No such configuration property: \"keyroute\"");
        assert_says(set_fails(conf, "ack", "x"), "No such configuration property: \"ack\"");
        set(conf, "client.id", "x");
        rd_kafka_conf_destroy(conf);
}

static void test_a_partitioner_beside_the_policy(void **state)
{
        static const char *const names[] = { "partitioner", "topic.partitioner" };
        rd_kafka_conf_t *conf;
        const char *said;
        char path[64];

        (void)state;
        policy_write(path, ORDERS);
        for (size_t i = 0; i < 2; i++) {
                /* After the policy. */
                conf = conf_with_plugin();
                set(conf, "keyroute.policy", path);
                said = set_fails(conf, names[i], "fnv1a_random");
                assert_says(said, "partitioner=fnv1a_random contradicts the policy's rule for topic \"orders\"");
                assert_says(said, "(murmur2 modulo)");
                assert_says(set_fails(conf, names[i], "consistent_random"),
                            "partitioner=consistent_random contradicts");
                assert_says(set_fails(conf, names[i], "random"), "partitioner=random contradicts");
                set(conf, names[i], "murmur2_random");
                set(conf, names[i], "murmur2");
                rd_kafka_conf_destroy(conf);
                /* Between plugin and policy. */
                conf = conf_with_plugin();
                set(conf, names[i], "consistent");
                said = set_fails(conf, "keyroute.policy", path);
                assert_says(
                        said,
                        "keyroute.policy: partitioner=consistent contradicts the policy's rule for topic \"orders\"");
                assert_says(set_fails(conf, "keyroute.hash", "murmur2"),
                            "keyroute.hash: partitioner=consistent contradicts");
                set(conf, names[i], "murmur2_random");
                set(conf, "keyroute.policy", path);
                rd_kafka_conf_destroy(conf);
                /* Before the plugin. */
                conf = rd_kafka_conf_new();
                set(conf, names[i], "fnv1a");
                set(conf, "plugin.library.paths", plugin_path());
                assert_says(set_fails(conf, "keyroute.policy", path), "partitioner=fnv1a contradicts");
                rd_kafka_conf_destroy(conf);
        }
        /* Before the plugin, which has its policy from the environment. */
        setenv("KEYROUTE_POLICY", path, 1);
        conf = rd_kafka_conf_new();
        set(conf, "partitioner", "random");
        assert_says(set_fails(conf, "plugin.library.paths", plugin_path()), "partitioner=random contradicts");
        rd_kafka_conf_destroy(conf);
        unsetenv("KEYROUTE_POLICY");
        unlink(path);

        /* Only the plain form of a rule is the same as one of librdkafka's. */
        policy_write(path, "{\"keyroute\":1,\"topics\":{\"orders\":{\"key\":{\"use\":\"tag\"}}}}");
        conf = conf_with_plugin();
        set(conf, "keyroute.policy", path);
        assert_says(set_fails(conf, "partitioner", "murmur2_random"),
                    "contradicts the policy's rule for topic \"orders\"");
        /* A name that librdkafka does not have is left for it to refuse. */
        assert_says(set_fails(conf, "partitioner", "murmur3"), "Invalid value");
        rd_kafka_conf_destroy(conf);
        unlink(path);

        conf = conf_with_plugin();
        set(conf, "keyroute.hash", "crc32");
        set(conf, "partitioner", "consistent_random");
        rd_kafka_conf_destroy(conf);
        conf = conf_with_plugin();
        set(conf, "keyroute.hash", "fnv1a-abs");
        set(conf, "partitioner", "fnv1a_random");
        rd_kafka_conf_destroy(conf);
}

static void test_forced_topics_need_a_rule(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char path[64];

        (void)state;
        policy_write(path, ORDERS);
        set(conf, "keyroute.topics.force", " orders , clicks ");
        assert_says(
                set_fails(conf, "keyroute.policy", path),
                "keyroute.policy: keyroute.topics.force names the topic \"clicks\", for which the policy has no rule");
        set(conf, "keyroute.topics.force", "orders");
        set(conf, "keyroute.policy", path);
        assert_says(set_fails(conf, "keyroute.topics.force", "clicks"), "for which the policy has no rule");
        rd_kafka_conf_destroy(conf);
        unlink(path);
}

static void test_a_wrong_witness_in_the_environment(void **state)
{
        rd_kafka_conf_t *conf = rd_kafka_conf_new();

        (void)state;
        setenv("KEYROUTE_WITNESS", "yes", 1);
        assert_says(set_fails(conf, "plugin.library.paths", plugin_path()),
                    "KEYROUTE_WITNESS: expected warn or off, not \"yes\"");
        unsetenv("KEYROUTE_WITNESS");
        rd_kafka_conf_destroy(conf);
}

/* Every property that the plugin knows is in its manual, and the manual's table has no others. */
static void test_the_manual_has_every_property(void **state)
{
        rd_kafka_conf_t *conf = conf_with_plugin();
        char list[512], manual[1 << 16], row[128];
        FILE *file = fopen("docs/plugin.md", "r");
        size_t len, cnt = 0;
        char *save = NULL;

        (void)state;
        assert_non_null(file);
        len = fread(manual, 1, sizeof(manual) - 1, file);
        fclose(file);
        manual[len] = '\0';
        snprintf(list, sizeof(list), "%s", set_fails(conf, "keyroute.xxxxxxxxxxxxxxxxxx", "x"));
        assert_non_null(strstr(list, "expected one of: "));
        for (char *name = strtok_r(strstr(list, "expected one of: ") + strlen("expected one of: "), ", ", &save); name;
             name = strtok_r(NULL, ", ", &save), cnt++) {
                snprintf(row, sizeof(row), "\n| `%s", name);
                assert_says(manual, row);
        }
        assert_true(cnt >= 3);
        assert_int_equal(count_of(manual, "\n| `keyroute."), cnt);
        rd_kafka_conf_destroy(conf);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exports_conf_init_and_links_no_librdkafka),
                cmocka_unit_test(test_wrong_values_name_property_and_reason),
                cmocka_unit_test(test_an_error_that_the_host_has_no_room_for_is_logged_whole),
                cmocka_unit_test(test_broken_policies_name_file_and_path),
                cmocka_unit_test(test_file_and_hash_exclude_each_other),
                cmocka_unit_test(test_own_properties_are_unknown_before_the_plugin),
                cmocka_unit_test(test_a_partitioner_beside_the_policy),
                cmocka_unit_test(test_forced_topics_need_a_rule),
                cmocka_unit_test(test_a_wrong_witness_in_the_environment),
                cmocka_unit_test(test_the_manual_has_every_property),
        };

        unsetenv("KEYROUTE_POLICY");
        unsetenv("KEYROUTE_HASH");
        unsetenv("KEYROUTE_WITNESS");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
