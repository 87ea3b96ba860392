#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kr_policy_t *parse(const char *json, struct kr_error *err)
{
        return kr_policy_parse(json, strlen(json), "p.json", err);
}

static kr_policy_t *must_parse(const char *json)
{
        struct kr_error err;
        kr_policy_t *policy = parse(json, &err);

        if (!policy)
                fail_msg("%s\n%s", err.text, json);
        return policy;
}

/* One line that a terminal and a log can take, whatever the file held. */
static void assert_one_line(const char *text)
{
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                if (*c < 0x20 || *c == 0x7f)
                        fail_msg("byte 0x%02x in \"%s\"", *c, text);
}

static void assert_refused(const char *json, size_t len, const char *message)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_parse(json, len, "p.json", &err);

        if (policy)
                fail_msg("taken: %s", json);
        if (!strstr(err.text, message))
                fail_msg("\"%s\"\ndoes not say \"%s\"\nof %s", err.text, message, json);
        assert_int_equal(strncmp(err.text, "p.json: ", 8), 0);
        assert_one_line(err.text);
}

static void test_default_is_java(void **state)
{
        kr_policy_t *policy = must_parse("{\"keyroute\":1,\"topics\":{\"orders\":{}}}");
        const kr_rule_t *rule = kr_policy_rule(policy, "orders");

        (void)state;
        assert_int_equal(kr_rule_partition(rule, "TT0124", 6, 15), 10);
        assert_int_equal(kr_rule_partitions(rule), 0);
        assert_string_equal(kr_hash_name(kr_rule_hash(rule)), "murmur2");
        assert_string_equal(kr_rule_describe(rule), "murmur2 modulo");
        assert_null(kr_policy_rule(policy, "other"));
        kr_policy_free(policy);
}

static void test_all_fields(void **state)
{
        kr_policy_t *policy = must_parse(
                "{\"comment\": \"c\", \"keyroute\": 1, \"topics\": {\"orders\": {\"comment\": \"c\", \"partitions\": 30,"
                " \"key\": {\"use\": \"bytes\", \"comment\": \"c\"}, \"hash\": \"crc32\","
                " \"map\": {\"kind\": \"modulo\", \"comment\": \"c\"},"
                " \"locations\": {\"24-29\": \"c\", \"0-11\": \"a\", \"12\": \"b\"}}}}");
        const kr_rule_t *rule = kr_policy_rule(policy, "orders");
        struct kr_routing routing;

        (void)state;
        assert_int_equal(kr_rule_partitions(rule), 30);
        assert_string_equal(kr_rule_topic(rule), "orders");
        assert_string_equal(kr_rule_location(rule, 0), "a");
        assert_string_equal(kr_rule_location(rule, 11), "a");
        assert_string_equal(kr_rule_location(rule, 12), "b");
        assert_null(kr_rule_location(rule, 13));
        assert_string_equal(kr_rule_location(rule, 29), "c");
        assert_null(kr_rule_location(rule, 30));
        assert_null(kr_rule_location(rule, -1));
        kr_rule_route(rule, "example-record-id", 17, 30, &routing);
        assert_int_equal(routing.partition, 15);
        assert_null(routing.location);
        assert_int_equal(kr_rule_partition(rule, "x", 1, 12), KR_ERR_PARTITION_COUNT);
        assert_int_equal(kr_rule_partition(rule, "x", 1, 0), KR_ERR_PARTITION_COUNT);
        kr_policy_free(policy);
}

#define TOPIC(rule) "{\"keyroute\":1,\"topics\":{\"orders\":" rule "}}"
#define KEY(key)    TOPIC("{\"key\":" key "}")
#define LOCATIONS(object) TOPIC("{\"partitions\":12,\"locations\":" object "}")

static void test_every_mistake_has_its_line(void **state)
{
        static const struct {
                const char *json;
                const char *message;
        } cases[] = {
                /* the document */
                { "", "p.json: line 1, column 0: '[' or '{' expected near end of file" },
                { "{", "p.json: line 1, column 1: string or '}' expected near end of file" },
                { "{\"keyroute\":1,\n \"topics\":{\"a\":{},\n \"a\":{}}}", "p.json: line 3, column 4: duplicate object key" },
                { TOPIC("{\"hash\":\"crc32\",\"hash\":\"crc32\"}"), "duplicate object key near '\"hash\"'" },
                { TOPIC("{}") "\n{}", "p.json: line 2, column 1: end of file expected near '{'" },
                { TOPIC("{\"partitions\":12,}"), "string or '}' expected" },
                { TOPIC("{'partitions':12}"), "p.json: line 1" },
                { "// policy\n" TOPIC("{}"), "'[' or '{' expected near '/'" },
                { "\"text\"", "'[' or '{' expected" },
                { "[]", "p.json: expected an object, found an array" },
                { "{}", "p.json: \"keyroute\": 1 is missing: the version of the policy format" },
                { "{\"topics\":{\"a\":{}}}", "p.json: \"keyroute\": 1 is missing" },
                { "{\"keyroute\":2,\"topics\":{\"a\":{}}}", "p.json: keyroute: expected 1, the only version" },
                { "{\"keyroute\":\"1\",\"topics\":{\"a\":{}}}", "p.json: keyroute: expected 1" },
                { "{\"keyroute\":1.0,\"topics\":{\"a\":{}}}", "p.json: keyroute: expected 1" },
                { "{\"keyroute\":true,\"topics\":{\"a\":{}}}", "p.json: keyroute: expected 1" },
                { "{\"keyroute\":1}", "p.json: expected \"topics\": an object with a rule for each topic name or pattern" },
                { "{\"keyroute\":1,\"topics\":[]}", "p.json: topics: expected \"topics\": an object" },
                { "{\"keyroute\":1,\"topics\":{}}", "p.json: topics: expected at least one topic; \"*\" stands for all" },
                { "{\"keyroute\":1,\"topic\":{}}", "p.json: unknown field \"topic\"; did you mean \"topics\"?" },
                { "{\"keyroute\":1,\"topics\":{\"a\":{}},\"x\":1}",
                  "p.json: unknown field \"x\"; expected one of: keyroute, topics" },
                { "{\"keyroute\":1,\"comment\":1,\"topics\":{\"a\":{}}}",
                  "p.json: comment: expected a string, found a whole number" },
                { "{\"keyroute\":1,\"a\\nb\":1,\"topics\":{\"a\":{}}}", "unknown field \"a?b\"" },
                { "{\"keyroute\":1,\"topics\":{\"a\":{}},\"n\\u0000l\":1}", "p.json: line 1" },

                /* the topic */
                { "{\"keyroute\":1,\"topics\":{\"\":{}}}", "a topic name has 1 to 249 characters" },
                { "{\"keyroute\":1,\"topics\":{\"or ders\":{}}}",
                  "p.json: topics[\"or ders\"]: a topic name holds letters, digits, '.', '_', '-', and in a pattern '*' and "
                  "'?'" },
                { "{\"keyroute\":1,\"topics\":{\"[ab]\":{}}}", "p.json: topics[\"[ab]\"]: a topic name holds letters" },
                { "{\"keyroute\":1,\"topics\":{\"\xc3\xa9t\xc3\xa9\":{}}}", "a topic name holds letters" },
                { "{\"keyroute\":1,\"topics\":{\".\":{}}}", "p.json: topics[\".\"]: Kafka allows no topic named \".\"" },
                { "{\"keyroute\":1,\"topics\":{\"..\":{}}}", "Kafka allows no topic named \"..\"" },
                { TOPIC("null"), "p.json: topics.orders: expected an object, found null" },
                { TOPIC("\"murmur2\""), "p.json: topics.orders: expected an object, found a string" },
                { TOPIC("{\"partitons\":12}"),
                  "p.json: topics.orders: unknown field \"partitons\"; did you mean \"partitions\"?" },
                { TOPIC("{\"weights\":12}"), "unknown field \"weights\"; expected one of: partitions, preset, key, hash, map, locations" },
                { TOPIC("{\"partitions\":0}"),
                  "p.json: topics.orders.partitions: expected a whole number from 1 to 1000000, found 0" },
                { TOPIC("{\"partitions\":-3}"), "found -3" },
                { TOPIC("{\"partitions\":1000001}"), "found 1000001" },
                { TOPIC("{\"partitions\":12.0}"), "found a decimal number" },
                { TOPIC("{\"partitions\":\"12\"}"), "found a string" },
                { TOPIC("{\"partitions\":null}"), "found null" },
                { TOPIC("{\"partitions\":true}"), "found true or false" },
                { TOPIC("{\"partitions\":99999999999999999999}"), "p.json: line 1" },

                /* the hash */
                { TOPIC("{\"hash\":\"murmur3\"}"), "p.json: topics.orders.hash: no hash \"murmur3\"; did you mean \"murmur2\"?" },
                { TOPIC("{\"hash\":\"CRC32\"}"), "no hash \"CRC32\"" },
                { TOPIC("{\"hash\":\"wholly-other-thing\"}"),
                  "no hash \"wholly-other-thing\"; repartition route --list-hashes lists them" },
                { TOPIC("{\"hash\":\"\"}"), "no hash \"\"" },
                { TOPIC("{\"hash\":2}"), "p.json: topics.orders.hash: expected a string, found a whole number" },
                { TOPIC("{\"hash\":\"mur\\nmur2\"}"), "no hash \"mur?mur2\"" },

                /* the key */
                { KEY("\"bytes\""), "p.json: topics.orders.key: expected an object such as {\"use\": \"bytes\"}" },
                { KEY("{}"), "p.json: topics.orders.key: \"use\" is missing; {\"use\": \"bytes\"} routes by the whole key" },
                { KEY("{\"use\":\"byte\"}"), "p.json: topics.orders.key.use: no key use \"byte\"; did you mean \"bytes\"?" },
                { KEY("{\"use\":\"quantum-foam\"}"), "no key use \"quantum-foam\"; expected" },
                { KEY("{\"use\":1}"), "p.json: topics.orders.key.use: expected a string" },
                { KEY("{\"use\":\"bytes\",\"missing\":\"reject\"}"), "p.json: topics.orders.key: unknown field \"missing\"" },
                { KEY("{\"use\":\"field\",\"index\":0}"), "\"delimiter\" is missing" },
                { KEY("{\"use\":\"tag\",\"open\":\"<<\"}"), "p.json: topics.orders.key.open: expected one character" },

                /* the map */
                { TOPIC("{\"map\":\"modulo\"}"), "p.json: topics.orders.map: expected an object such as {\"kind\": \"modulo\"}" },
                { TOPIC("{\"map\":{}}"), "p.json: topics.orders.map: \"kind\" is missing; {\"kind\": \"modulo\"}" },
                { TOPIC("{\"map\":{\"kind\":\"module\"}}"),
                  "p.json: topics.orders.map.kind: no map \"module\"; did you mean \"modulo\"?" },
                { TOPIC("{\"map\":{\"kind\":[]}}"), "p.json: topics.orders.map.kind: expected a string, found an array" },
                { TOPIC("{\"map\":{\"kind\":\"modulo\",\"slots\":1}}"), "p.json: topics.orders.map: unknown field \"slots\"" },

                /* the locations */
                { LOCATIONS("[]"), "p.json: topics.orders.locations: expected an object such as {\"0-11\": \"site-a\"}" },
                { LOCATIONS("{\"12-11\":\"a\"}"),
                  "p.json: topics.orders.locations[\"12-11\"]: a range must rise; did you mean \"11-12\"?" },
                { LOCATIONS("{\"12\":\"a\"}"), "locations[\"12\"]: partition 12 does not exist; the highest is 11" },
                { LOCATIONS("{\"0-12\":\"a\"}"), "partition 12 does not exist" },
                { LOCATIONS("{\"99999999999999999999\":\"a\"}"), "does not exist; the highest is 11" },
                { LOCATIONS("{\"\":\"a\"}"), "expected a partition such as \"7\" or a range such as \"0-11\"" },
                { LOCATIONS("{\"-1\":\"a\"}"), "expected a partition such as" },
                { LOCATIONS("{\"0-\":\"a\"}"), "expected a partition such as" },
                { LOCATIONS("{\"0-1-2\":\"a\"}"), "expected a partition such as" },
                { LOCATIONS("{\" 0\":\"a\"}"), "expected a partition such as" },
                { LOCATIONS("{\"0,1\":\"a\"}"), "expected a partition such as" },
                { LOCATIONS("{\"0-5\":\"a\",\"5-9\":\"b\"}"),
                  "p.json: topics.orders.locations: partition 5 has two locations, \"a\" and \"b\"" },
                { LOCATIONS("{\"5-9\":\"b\",\"0-11\":\"a\"}"), "partition 5 has two locations, \"a\" and \"b\"" },
                { LOCATIONS("{\"0\":1}"), "p.json: topics.orders.locations[\"0\"]: expected a string" },
                { LOCATIONS("{\"0\":\"\"}"), "a location is a name without tabs and line ends" },
                { LOCATIONS("{\"0\":\"a\\tb\"}"), "a location is a name without tabs and line ends" },
                { TOPIC("{\"locations\":{\"1000000\":\"a\"}}"), "partition 1000000 does not exist; the highest is 999999" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_refused(cases[i].json, strlen(cases[i].json), cases[i].message);
}

static void test_bytes_that_are_no_text(void **state)
{
        static const char nul[] = TOPIC("{}") "\0";
        char json[600];

        (void)state;
        assert_refused(nul, sizeof(nul) - 1, "end of file expected");
        assert_refused("{\"keyroute\":1,\"\xff\":1}", 18, "line 1");
        assert_refused("\xef\xbb\xbf" TOPIC("{}"), 3 + sizeof(TOPIC("{}")) - 1, "line 1");
        /* Kafka's longest name, and one more. */
        snprintf(json, sizeof(json), "{\"keyroute\":1,\"topics\":{\"%0249d\":{}}}", 0);
        kr_policy_free(must_parse(json));
        snprintf(json, sizeof(json), "{\"keyroute\":1,\"topics\":{\"%0250d\":{}}}", 0);
        assert_refused(json, strlen(json), "a topic name has 1 to 249 characters");
}

/* The mistake stands 2,000 levels down or has a megabyte: the message stays a line. */
static void test_monstrous_documents(void **state)
{
        enum { SIZE = 1 << 20 };
        char *json = malloc(SIZE + 100);
        size_t len;

        (void)state;
        memset(json, '[', SIZE);
        assert_refused(json, SIZE, "line 1");
        len = (size_t)sprintf(json, "{\"keyroute\":1,\"topics\":{\"orders\":{\"");
        memset(json + len, 'x', SIZE - len);
        memcpy(json + SIZE, "\":1}}}", 7);
        assert_refused(json, SIZE + 6, "unknown field \"xxx");
        len = (size_t)sprintf(json, "{\"keyroute\":1,\"topics\":{\"orders\":{\"hash\":\"");
        memset(json + len, 'y', SIZE - len);
        memcpy(json + SIZE, "\"}}}", 5);
        assert_refused(json, SIZE + 4, "no hash \"yyy");
        free(json);
}

static void test_many_topics(void **state)
{
        enum { CNT = 5000 };
        char *json = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&json, &size);
        kr_policy_t *policy;
        char topic[32];

        (void)state;
        fputs("{\"keyroute\":1,\"topics\":{", out);
        for (int i = CNT - 1; i >= 0; i--)
                fprintf(out, "\"t%d\":{\"partitions\":%d},", i, i + 1);
        fputs("\"*\":{\"partitions\":999999}}}", out);
        fclose(out);
        policy = must_parse(json);
        for (int i = 0; i < CNT; i++) {
                snprintf(topic, sizeof(topic), "t%d", i);
                assert_int_equal(kr_rule_partitions(kr_policy_rule(policy, topic)), i + 1);
        }
        assert_int_equal(kr_rule_partitions(kr_policy_rule(policy, "t5000")), 999999);
        kr_policy_free(policy);
        free(json);
}

static void test_precedence(void **state)
{
        static const struct {
                const char *topic;
                const char *rule;
        } cases[] = {
                { "orders", "orders" },        /* an exact name before every pattern */
                { "orders.eu", "orders.*" },   /* more literal characters before fewer */
                { "orders.eu.v1", "orders.*.v?" },
                { "orders.eu.v12", "orders.*" },
                { "order", "?rder" },          /* of "?rder" and "orde?" the one that sorts first */
                { "ordet", "orde?" },
                { "ordersX", "*" },
                { "a", "*" },
                { "ORDERS", "*" },             /* names are told apart by case */
        };
        kr_policy_t *policy = must_parse("{\"keyroute\":1,\"topics\":{\"*\":{},\"orders.*\":{},\"orde?\":{},\"orders\":{},"
                                         "\"?rder\":{},\"orders.*.v?\":{},\"zebra\":{},\"apple\":{}}}");
        static const char *const order[] = { "apple", "orders", "zebra", "orders.*.v?", "orders.*", "?rder", "orde?", "*" };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_string_equal(kr_rule_topic(kr_policy_rule(policy, cases[i].topic)), cases[i].rule);
        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
                assert_string_equal(kr_rule_topic(kr_policy_rule_at(policy, i)), order[i]);
        assert_null(kr_policy_rule_at(policy, sizeof(order) / sizeof(order[0])));
        kr_policy_free(policy);

        policy = must_parse("{\"keyroute\":1,\"topics\":{\"orders-?\":{},\"*-v2\":{}}}");
        assert_null(kr_policy_rule(policy, "orders-"));
        assert_null(kr_policy_rule(policy, "orders-12"));
        assert_null(kr_policy_rule(policy, "orders"));
        assert_null(kr_policy_rule(policy, ""));
        assert_string_equal(kr_rule_topic(kr_policy_rule(policy, "-v2")), "*-v2");
        kr_policy_free(policy);
}

/* The fingerprint of the topic "orders" in a document. */
static void fingerprint(const char *json, char out[KR_FINGERPRINT_SIZE])
{
        kr_policy_t *policy = must_parse(json);

        snprintf(out, KR_FINGERPRINT_SIZE, "%s", kr_rule_fingerprint(kr_policy_rule(policy, "orders")));
        assert_int_equal(strlen(out), KR_FINGERPRINT_SIZE - 1);
        assert_int_equal(strspn(out, "0123456789abcdef"), KR_FINGERPRINT_SIZE - 1);
        kr_policy_free(policy);
}

static void test_fingerprint_ignores_what_does_not_route(void **state)
{
        static const char *const same[] = {
                TOPIC("{\"partitions\":12,\"hash\":\"murmur2\"}"),
                TOPIC("{\"hash\":\"murmur2\",\"partitions\":12}"),
                "{ \"topics\" :\n\t{ \"orders\" : { \"partitions\" : 12 } } , \"keyroute\" : 1 }\n",
                TOPIC("{\"partitions\":12,\"comment\":\"why\",\"key\":{\"use\":\"bytes\"},\"map\":{\"kind\":\"modulo\"}}"),
                TOPIC("{\"partitions\":12,\"locations\":{\"0-11\":\"site-a\"}}"),
                "{\"keyroute\":1,\"topics\":{\"or*\":{\"partitions\":12},\"other\":{\"hash\":\"crc32\"}}}",
        };
        char first[KR_FINGERPRINT_SIZE], other[KR_FINGERPRINT_SIZE];

        (void)state;
        fingerprint(same[0], first);
        for (size_t i = 1; i < sizeof(same) / sizeof(same[0]); i++) {
                fingerprint(same[i], other);
                assert_string_equal(first, other);
        }
}

static void test_fingerprint_tells_all_that_routes(void **state)
{
        static const char *const different[] = {
                TOPIC("{}"),
                TOPIC("{\"partitions\":12}"),
                TOPIC("{\"partitions\":13}"),
                TOPIC("{\"hash\":\"crc32\"}"),
                TOPIC("{\"hash\":\"murmur2-abs\"}"),
                KEY("{\"use\":\"tag\"}"),
                KEY("{\"use\":\"tag\",\"open\":\"<\"}"),
                KEY("{\"use\":\"tag\",\"close\":\"<\"}"),
                KEY("{\"use\":\"payload\"}"),
                KEY("{\"use\":\"payload\",\"id-bytes\":8}"),
                KEY("{\"use\":\"payload\",\"known-ids\":[1]}"),
                KEY("{\"use\":\"payload\",\"known-ids\":[1,2]}"),
                KEY("{\"use\":\"payload\",\"missing\":\"reject\"}"),
                KEY("{\"use\":\"windowed\"}"),
                KEY("{\"use\":\"windowed\",\"form\":\"session\"}"),
                KEY("{\"use\":\"tag\",\"over\":\"payload\"}"),
                KEY("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0}"),
                KEY("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-1}"),
                KEY("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,1]}"),
                KEY("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[1,0]}"),
                KEY("{\"use\":\"field\",\"delimiter\":\"||\",\"index\":0}"),
        };
        enum { CNT = sizeof(different) / sizeof(different[0]) };
        char prints[CNT][KR_FINGERPRINT_SIZE];

        (void)state;
        for (size_t i = 0; i < CNT; i++) {
                fingerprint(different[i], prints[i]);
                for (size_t j = 0; j < i; j++)
                        if (!strcmp(prints[i], prints[j]))
                                fail_msg("one fingerprint for\n%s\n%s", different[i], different[j]);
        }
}

/*
 * Fingerprints stand in logs, reports and the progress of running jobs, so a release must not change what it says of a
 * rule that routes as before.
 */
static void test_fingerprint_is_forever(void **state)
{
        char text[KR_FINGERPRINT_SIZE];

        (void)state;
        fingerprint(TOPIC("{}"), text);
        assert_string_equal(text, "78759c44307866ea");
        fingerprint(TOPIC("{\"partitions\":30,\"hash\":\"crc32\"}"), text);
        assert_string_equal(text, "f6dad0f765e82e53");
}

static void test_from_hash(void **state)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_from_hash("crc32", &err);

        (void)state;
        assert_non_null(policy);
        assert_int_equal(kr_rule_partition(kr_policy_rule(policy, "any.topic-at_all"), "TT0124", 6, 15), 9);
        kr_policy_free(policy);
        for (size_t i = 0; kr_hash_at(i); i++) {
                policy = kr_policy_from_hash(kr_hash_name(kr_hash_at(i)), &err);
                assert_non_null(policy);
                assert_ptr_equal(kr_rule_hash(kr_policy_rule(policy, "x")), kr_hash_at(i));
                kr_policy_free(policy);
        }
        assert_null(kr_policy_from_hash("crc-32", &err));
        assert_string_equal(err.text, "no hash \"crc-32\"; did you mean \"crc32\"?");
        assert_null(kr_policy_from_hash("\"}, \"x\": {\"", &err));
        assert_null(kr_policy_from_hash("\xff\n", &err));
        kr_policy_free(NULL);
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

struct folder {
        char path[64];
        char file[96];
};

static int make_folder(void **state)
{
        static struct folder folder;

        strcpy(folder.path, "/tmp/test_policy.XXXXXX");
        if (!mkdtemp(folder.path))
                return -1;
        snprintf(folder.file, sizeof(folder.file), "%s/p.json", folder.path);
        *state = &folder;
        return 0;
}

static int remove_folder(void **state)
{
        struct folder *folder = *state;

        unlink(folder->file);
        rmdir(folder->file);
        return rmdir(folder->path);
}

static void write_file(const char *path, const char *text)
{
        FILE *out = fopen(path, "w");

        assert_non_null(out);
        fputs(text, out);
        fclose(out);
}

static void assert_load_fails(const char *path, const char *message)
{
        struct kr_error err;

        assert_null(kr_policy_load(path, &err));
        assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
        if (!strstr(err.text, message))
                fail_msg("\"%s\" does not say \"%s\"", err.text, message);
        assert_one_line(err.text);
}

static void test_load(void **state)
{
        const struct folder *folder = *state;
        struct kr_error err;
        kr_policy_t *policy;

        write_file(folder->file, TOPIC("{\"partitions\":15}"));
        policy = kr_policy_load(folder->file, &err);
        assert_non_null(policy);
        assert_int_equal(kr_rule_partition(kr_policy_rule(policy, "orders"), "TT0124", 6, 15), 10);
        kr_policy_free(policy);
        write_file(folder->file, TOPIC("{\"partitions\":0}"));
        assert_load_fails(folder->file, ": topics.orders.partitions: expected a whole number");
        write_file(folder->file, "{\n\n  nonsense");
        assert_load_fails(folder->file, ": line 3, column ");
        write_file(folder->file, "");
        assert_load_fails(folder->file, ": line 1, column 0: '[' or '{' expected near end of file");
}

static void test_load_what_is_no_policy_file(void **state)
{
        const struct folder *folder = *state;
        FILE *out;

        assert_load_fails(folder->file, "cannot read the policy file: No such file or directory");
        assert_load_fails(folder->path, "expected a policy file of at most 64 MiB, found a directory");
        assert_load_fails("/dev/null", "found something that is not a regular file");
        assert_int_equal(mkfifo(folder->file, 0600), 0); /* nobody writes: opening it would hang for ever */
        assert_load_fails(folder->file, "found something that is not a regular file");
        unlink(folder->file);

        out = fopen(folder->file, "w"); /* sparse: no byte of it is on the disk */
        assert_int_equal(ftruncate(fileno(out), (64 << 20) + 1), 0);
        assert_load_fails(folder->file, "expected a policy file of at most 64 MiB, found a larger one");
        assert_int_equal(ftruncate(fileno(out), 1 << 20), 0);
        assert_load_fails(folder->file, "line 1"); /* a megabyte of NULs */
        fclose(out);

        if (!geteuid())
                return; /* root reads every file */
        assert_int_equal(chmod(folder->file, 0), 0);
        assert_load_fails(folder->file, "cannot read the policy file: Permission denied");
}

static void test_location_file(void **state)
{
        const struct folder *folder = *state;
        struct kr_error err;
        kr_locations_t *locations;

        write_file(folder->file, "{\"comment\": \"x\"}");
        assert_null(kr_locations_load(folder->file, 0, &err));
        assert_non_null(strstr(err.text, "p.json: comment: expected a partition such as \"7\""));
        write_file(folder->file, "{\"0-11\":\"site-a\",\n\"12-23\":\"site-b\"}");
        locations = kr_locations_load(folder->file, 0, &err);
        assert_non_null(locations);
        assert_string_equal(kr_locations_name(locations, 11), "site-a");
        assert_string_equal(kr_locations_name(locations, 12), "site-b");
        assert_null(kr_locations_name(locations, 24));
        kr_locations_free(locations);
        assert_null(kr_locations_load(folder->file, 23, &err));
        assert_non_null(strstr(err.text, "p.json: [\"12-23\"]: partition 23 does not exist; the highest is 22"));
        write_file(folder->file, "[1]");
        assert_null(kr_locations_load(folder->file, 0, &err));
        assert_non_null(strstr(err.text, "p.json: expected an object such as"));
        write_file(folder->file, "{\"0\":\"a\",\"0\":\"b\"}");
        assert_null(kr_locations_load(folder->file, 0, &err));
        assert_non_null(strstr(err.text, "line 1, column 12: duplicate object key"));
        assert_null(kr_locations_load(folder->path, 0, &err));
        assert_non_null(strstr(err.text, "expected a location file of at most 64 MiB, found a directory"));
        kr_locations_free(NULL);
}

/* ---- json helpers ----------------------------------------------------------------------------------------------- */

static void test_closest(void **state)
{
        static const char *const names[] = { "murmur2", "crc32", "fnv1a-abs" };

        (void)state;
        assert_string_equal(kr_closest("murmur", names, 3), "murmur2");
        assert_string_equal(kr_closest("crc-32", names, 3), "crc32");
        assert_null(kr_closest("fnv1a-ab", names, 2));
        assert_null(kr_closest("something-else-entirely", names, 3));
        assert_null(kr_closest("", names, 3));
        assert_null(kr_closest("murmur2", names, 0));
}

static void test_path_of_a_nested_place(void **state)
{
        struct kr_error err;
        json_t *doc = kr_json_parse("{\"a b\":[{\"c\":1}]}", 17, "d.json", &err);
        struct kr_json root = { .file = "d.json", .value = doc };
        struct kr_json array = kr_json_member(&root, "a b");
        struct kr_json element = kr_json_element(&array, 0);
        struct kr_json member = kr_json_member(&element, "c");
        struct kr_json absent = kr_json_element(&array, 7);
        const char *text;
        int64_t number;

        (void)state;
        assert_null(absent.value);
        assert_false(kr_json_string(&member, &text, &err));
        assert_string_equal(err.text, "d.json: [\"a b\"][0].c: expected a string, found a whole number");
        assert_false(kr_json_integer(&member, 5, 9, &number, &err));
        assert_string_equal(err.text, "d.json: [\"a b\"][0].c: expected a whole number from 5 to 9, found 1");
        assert_true(kr_json_integer(&member, 1, 1, &number, &err));
        assert_false(kr_json_fail(&root, &err, "%s", "line\none\x01"));
        assert_string_equal(err.text, "d.json: line?one?");
        json_decref(doc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_default_is_java),
                cmocka_unit_test(test_all_fields),
                cmocka_unit_test(test_every_mistake_has_its_line),
                cmocka_unit_test(test_bytes_that_are_no_text),
                cmocka_unit_test(test_monstrous_documents),
                cmocka_unit_test(test_many_topics),
                cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_fingerprint_ignores_what_does_not_route),
                cmocka_unit_test(test_fingerprint_tells_all_that_routes),
                cmocka_unit_test(test_fingerprint_is_forever),
                cmocka_unit_test(test_from_hash),
                cmocka_unit_test_setup_teardown(test_load, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_load_what_is_no_policy_file, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_location_file, make_folder, remove_folder),
                cmocka_unit_test(test_closest),
                cmocka_unit_test(test_path_of_a_nested_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
