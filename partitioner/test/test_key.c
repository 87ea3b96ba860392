/* Key uses: which bytes of a key route. Each case says so by naming the plain key that must land in the same place. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 997 }; /* a prime, so that two keys hardly ever meet by chance */

static kr_policy_t *policy_with(const char *key, struct kr_error *err)
{
        char json[1024];

        snprintf(json, sizeof(json), "{\"keyroute\":1,\"topics\":{\"t\":{\"key\":%s}}}", key);
        return kr_policy_parse(json, strlen(json), "p.json", err);
}

static void assert_routes_as(const char *key_use, const char *key, size_t key_len, const char *same, size_t same_len,
                             kr_key_outcome_t outcome)
{
        struct kr_error err = { "" };
        kr_policy_t *policy = policy_with(key_use, &err);
        kr_policy_t *plain = kr_policy_from_hash("murmur2", &err);
        struct kr_routing routing;

        if (!policy)
                fail_msg("%s: %s", key_use, err.text);
        kr_rule_route(kr_policy_rule(policy, "t"), key, key_len, N, &routing);
        assert_int_equal(routing.outcome, outcome);
        assert_int_equal(routing.partition, kr_rule_partition(kr_policy_rule(plain, "t"), same, same_len, N));
        kr_policy_free(policy);
        kr_policy_free(plain);
}

#define ROUTES_AS(use, key, same) \
        assert_routes_as(use, key, sizeof(key) - 1, same, sizeof(same) - 1, KR_KEY_PROJECTED)
#define MISSES(use, key) assert_routes_as(use, key, sizeof(key) - 1, key, sizeof(key) - 1, KR_KEY_MISSING)

static void assert_rejected(const char *key_use, const char *key)
{
        struct kr_error err = { "" };
        kr_policy_t *policy = policy_with(key_use, &err);

        assert_non_null(policy);
        assert_int_equal(kr_rule_partition(kr_policy_rule(policy, "t"), key, strlen(key), N), KR_ERR_KEY_REJECTED);
        kr_policy_free(policy);
}

static void assert_error(const char *key_use, const char *expected)
{
        struct kr_error err = { "" };
        kr_policy_t *policy = policy_with(key_use, &err);

        assert_null(policy);
        if (!strstr(err.text, expected))
                fail_msg("%s: expected \"%s\" in: %s", key_use, expected, err.text);
}

static void test_field(void **state)
{
        (void)state;
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0}", "tenant|user|time", "tenant");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1}", "tenant|user|time", "user");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-1}", "tenant|user|time", "time");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-3}", "tenant|user|time", "tenant");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1}", "a||c", "");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-1}", "a|", "");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0}", "", "");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"::\",\"index\":1}", "a:::b", ":b");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0}", "no-delimiter", "no-delimiter");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1}", "a|b\0c|d", "b\0c");
}

static void test_field_several(void **state)
{
        (void)state;
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,1]}", "tenant|user|time", "tenant|user");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,2]}", "tenant|user|time", "tenant|time");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[-1,0]}", "tenant|user|time", "time|tenant");
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[1,1]}", "tenant|user|time", "user|user");
}

static void test_field_missing(void **state)
{
        (void)state;
        MISSES("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":3}", "tenant|user|time");
        MISSES("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-4}", "tenant|user|time");
        MISSES("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,9]}", "tenant|user|time");
        assert_rejected("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":3,\"missing\":\"reject\"}", "tenant|user|time");
}

static void test_field_longer_than_the_scratch(void **state)
{
        static char key[10000];

        (void)state;
        memset(key, 'x', sizeof(key));
        key[5000] = '|';
        key[5010] = '|';
        /* Not side by side and too long to put together: the whole key routes. */
        assert_routes_as("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,2]}", key, sizeof(key), key, sizeof(key),
                         KR_KEY_MISSING);
        assert_routes_as("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,1]}", key, sizeof(key), key, 5010,
                         KR_KEY_PROJECTED);
}

static void test_tag(void **state)
{
        static const char use[] = "{\"use\":\"tag\"}";

        (void)state;
        ROUTES_AS(use, "{user1000}.following", "user1000");
        ROUTES_AS(use, "foo{}{bar}", "foo{}{bar}");
        ROUTES_AS(use, "foo{{bar}}zap", "{bar");
        ROUTES_AS(use, "foo{bar}{zap}", "bar");
        ROUTES_AS(use, "foo}{bar}", "bar");
        ROUTES_AS(use, "{}bar", "{}bar");
        ROUTES_AS(use, "{bar", "{bar");
        ROUTES_AS(use, "", "");
        ROUTES_AS("{\"use\":\"tag\",\"open\":\"<\",\"close\":\">\"}", "a<b>{c}", "b");
        ROUTES_AS("{\"use\":\"tag\",\"open\":\"#\",\"close\":\"#\"}", "a#b#c", "b");
}

static void test_payload(void **state)
{
        static const char use[] = "{\"use\":\"payload\"}";
        static const char guid[] = "\x01\x12\x34\x56\x78\x12\x34\x41\x23\x81\x23\x12\x34\x56\x78\x90\xab"
                                   "alice";

        (void)state;
        ROUTES_AS(use, "\0\0\0\0\x01\x0c" "user42", "\x0c" "user42");
        ROUTES_AS(use, "\0\0\x01\x86\xca\x0c" "user42", "\x0c" "user42");
        ROUTES_AS(use, "\0\0\0\0\x01", "");
        ROUTES_AS(use, guid, "alice");
        assert_routes_as(use, "plain", 5, "plain", 5, KR_KEY_UNFRAMED);
        assert_routes_as(use, "", 0, "", 0, KR_KEY_UNFRAMED);
        assert_routes_as(use, "\0\0\0\0", 4, "\0\0\0\0", 4, KR_KEY_UNFRAMED);
        assert_routes_as(use, "\0\0\0\0\0abc", 8, "\0\0\0\0\0abc", 8, KR_KEY_UNFRAMED);
        assert_routes_as(use, "\0\xff\xff\xff\xff" "abc", 8, "\0\xff\xff\xff\xff" "abc", 8, KR_KEY_UNFRAMED);
        ROUTES_AS("{\"use\":\"payload\",\"known-ids\":[7,1]}", "\0\0\0\0\x07" "abc", "abc");
        assert_routes_as("{\"use\":\"payload\",\"known-ids\":[7,1]}", "\0\0\0\0\x02" "abc", 8, "\0\0\0\0\x02" "abc", 8,
                         KR_KEY_UNFRAMED);
        ROUTES_AS("{\"use\":\"payload\",\"id-bytes\":8}", "\0\0\0\0\0\0\0\0\x05" "abc", "abc");
}

/* The field report of issue 5's first figure: 10 partitions, schema ids 1 and 100042. */
static void test_frame_proof_key(void **state)
{
        static const char first[] = "\0\0\0\0\x01\x0c" "user42", second[] = "\0\0\x01\x86\xca\x0c" "user42";
        struct kr_error err;
        kr_policy_t *plain = kr_policy_from_hash("murmur2", &err);
        kr_policy_t *payload = policy_with("{\"use\":\"payload\"}", &err);

        (void)state;
        assert_int_equal(kr_rule_partition(kr_policy_rule(plain, "t"), first, sizeof(first) - 1, 10), 2);
        assert_int_equal(kr_rule_partition(kr_policy_rule(plain, "t"), second, sizeof(second) - 1, 10), 7);
        assert_int_equal(kr_rule_partition(kr_policy_rule(payload, "t"), first, sizeof(first) - 1, 10), 6);
        assert_int_equal(kr_rule_partition(kr_policy_rule(payload, "t"), second, sizeof(second) - 1, 10), 6);
        kr_policy_free(plain);
        kr_policy_free(payload);
}

static void test_windowed(void **state)
{
        (void)state;
        ROUTES_AS("{\"use\":\"windowed\"}", "alice\0\0\x01\x8b\xcf\xe5\x68\x7b", "alice");
        ROUTES_AS("{\"use\":\"windowed\",\"form\":\"store\"}", "alice\0\0\x01\x8b\xcf\xe5\x68\x7b\0\0\0\x01", "alice");
        ROUTES_AS("{\"use\":\"windowed\",\"form\":\"session\"}", "a1234567812345678", "a");
        MISSES("{\"use\":\"windowed\"}", "short");
}

static void test_over(void **state)
{
        static const char tag_over[] = "{\"use\":\"tag\",\"over\":\"payload\"}";

        (void)state;
        ROUTES_AS(tag_over, "\0\0\0\0\x01{alice}.x", "alice");
        assert_routes_as(tag_over, "{alice}.x", 9, "alice", 5, KR_KEY_UNFRAMED);
        ROUTES_AS("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,2],\"over\":{\"use\":\"windowed\",\"over\":"
                  "{\"use\":\"payload\",\"known-ids\":[1]}}}", "\0\0\0\0\x01" "a|b|c12345678", "a|c");
        /* What one step misses is missing for all: the record's whole key routes, frame included. */
        MISSES("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":5,\"over\":\"payload\"}", "\0\0\0\0\x01" "a|b");
}

static void test_bad_uses(void **state)
{
        (void)state;
        assert_error("{\"use\":\"feld\"}", "topics.t.key.use: no key use \"feld\"; did you mean \"field\"");
        assert_error("{\"use\":\"field\",\"index\":0}", "\"delimiter\" is missing");
        assert_error("{\"use\":\"field\",\"delimiter\":\"|\"}", "\"index\" is missing");
        assert_error("{\"use\":\"field\",\"delimiter\":\"\",\"index\":0}", "a delimiter has 1 to 16 bytes");
        assert_error("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[]}", "expected 1 to 16 indexes");
        assert_error("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":[0,\"1\"]}", "topics.t.key.index[1]: expected a whole number");
        assert_error("{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0,\"missing\":\"drop\"}", "expected \"whole-key\" or \"reject\"");
        assert_error("{\"use\":\"bytes\",\"missing\":\"reject\"}", "unknown field \"missing\"");
        assert_error("{\"use\":\"tag\",\"open\":\"{{\"}", "expected one character");
        assert_error("{\"use\":\"payload\",\"known-ids\":[0]}", "known-ids[0]: expected a whole number from 1");
        assert_error("{\"use\":\"payload\",\"id-bytes\":5}", "expected 4");
        assert_error("{\"use\":\"windowed\",\"form\":\"hopping\"}", "expected \"time\", \"store\" or \"session\"");
        assert_error("{\"use\":\"tag\",\"over\":\"nope\"}", "topics.t.key.over: no key use \"nope\"");
        assert_error("{\"use\":\"tag\",\"over\":{\"use\":\"payload\",\"missing\":\"reject\"}}", "belongs to the outermost");
        assert_error("{\"use\":\"tag\",\"over\":{\"use\":\"tag\",\"over\":{\"use\":\"tag\",\"over\":{\"use\":\"tag\",\"over\":"
                     "{\"use\":\"tag\",\"over\":\"tag\"}}}}}", "nest at most 4 deep");
}

static void test_fingerprints_differ(void **state)
{
        static const char *const uses[] = {
                "{\"use\":\"bytes\"}", "{\"use\":\"tag\"}", "{\"use\":\"tag\",\"open\":\"<\"}", "{\"use\":\"tag\",\"over\":\"payload\"}",
                "{\"use\":\"payload\"}", "{\"use\":\"payload\",\"known-ids\":[1]}", "{\"use\":\"windowed\"}",
                "{\"use\":\"windowed\",\"form\":\"store\"}", "{\"use\":\"windowed\",\"missing\":\"reject\"}",
                "{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1}", "{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-1}",
                "{\"use\":\"field\",\"delimiter\":\",\",\"index\":1}",
        };
        enum { CNT = sizeof(uses) / sizeof(uses[0]) };
        char fingerprints[CNT][17];
        struct kr_error err;

        (void)state;
        for (size_t i = 0; i < CNT; i++) {
                kr_policy_t *policy = policy_with(uses[i], &err);

                assert_non_null(policy);
                strcpy(fingerprints[i], kr_rule_fingerprint(kr_policy_rule(policy, "t")));
                for (size_t j = 0; j < i; j++)
                        assert_string_not_equal(fingerprints[i], fingerprints[j]);
                kr_policy_free(policy);
        }
}

#define JSON(paths) "{\"use\":\"json\",\"fields\":[" paths "]}"

static void test_json(void **state)
{
        (void)state;
        ROUTES_AS(JSON("\"id\""), "{\"id\":\"alice\",\"n\":1}", "alice");
        ROUTES_AS(JSON("\"id\""), " { \"n\" : 1, \"id\" : \"al\\u0069ce\" } ", "alice");
        ROUTES_AS(JSON("\"c.id\""), "{\"c\":{\"id\":\"\xc3\xa9\"}}", "\xc3\xa9");
        ROUTES_AS(JSON("\"c.id\""), "{\"c\":{\"id\":\"\\u00e9\\u0000\"}}", "\xc3\xa9\0");
        ROUTES_AS(JSON("\"id\""), "{\"id\":\"\"}", "");
        ROUTES_AS(JSON("\"id\""), "{\"id\":true}", "true");
        /* Of one number there is one text, whatever the serializer wrote. */
        ROUTES_AS(JSON("\"id\""), "{\"id\":42}", "42");
        ROUTES_AS(JSON("\"id\""), "{\"id\":42.0}", "42");
        ROUTES_AS(JSON("\"id\""), "{\"id\":4.2e1}", "42");
        ROUTES_AS(JSON("\"id\""), "{\"id\":-0.0}", "0");
        ROUTES_AS(JSON("\"id\""), "{\"id\":-9223372036854775808}", "-9223372036854775808");
        ROUTES_AS(JSON("\"id\""), "{\"id\":0.10}", "0.1");
        ROUTES_AS(JSON("\"id\""), "{\"id\":0.30000000000000004}", "0.30000000000000004");
        ROUTES_AS(JSON("\"id\""), "{\"id\":1e300}", "1e+300");
        ROUTES_AS(JSON("\"a\",\"b\""), "{\"b\":\"bc\",\"a\":\"a\"}", "\0\0\0\1a\0\0\0\2bc");
        ROUTES_AS(JSON("\"a\",\"b\""), "{\"b\":\"c\",\"a\":\"ab\"}", "\0\0\0\2ab\0\0\0\1c");
        ROUTES_AS("{\"use\":\"json\"}", "\"alice\"", "alice");
        ROUTES_AS("{\"use\":\"json\",\"over\":\"payload\"}", "\0\0\0\0\x07\"alice\"", "alice");
}

static void test_json_that_cannot_route(void **state)
{
        char deep[2 * 100 + 1], *large = malloc(70000);

        (void)state;
        MISSES(JSON("\"id\""), "");
        MISSES(JSON("\"id\""), "alice");
        MISSES(JSON("\"id\""), "{\"id\":\"alice\"");
        MISSES(JSON("\"id\""), "{\"id\":\"alice\"} x");
        MISSES(JSON("\"id\""), "{\"id\":null}");
        MISSES(JSON("\"id\""), "{\"id\":[1]}");
        MISSES(JSON("\"id\""), "{\"id\":{}}");
        MISSES(JSON("\"id\""), "{\"key\":1}");
        MISSES(JSON("\"id\""), "[{\"id\":1}]");
        MISSES(JSON("\"id.x\""), "{\"id\":1}");
        MISSES(JSON("\"id\""), "{\"id\":1,\"id\":2}");
        MISSES(JSON("\"id\""), "{\"id\":\"\xff\"}");
        MISSES(JSON("\"id\""), "{\"id\":9223372036854775808}");
        memset(deep, '[', 100);
        memset(deep + 100, ']', 101);
        assert_routes_as("{\"use\":\"json\"}", deep, 200, deep, 200, KR_KEY_MISSING);
        memset(large, 'x', 70000);
        large[0] = large[69999] = '"';
        assert_routes_as("{\"use\":\"json\"}", large, 70000, large, 70000, KR_KEY_MISSING);
        free(large);
        assert_rejected("{\"use\":\"json\",\"fields\":[\"id\"],\"missing\":\"reject\"}", "{}");
        assert_error(JSON(""), "expected a list of 1 to 16 paths");
        assert_error(JSON("\"a..b\""), "names with dots");
        assert_error(JSON("\"\""), "names with dots");
        assert_error(JSON("1"), "expected");
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() (void)0
#define __lsan_enable()  (void)0
#endif

/* A host may have set a locale that writes 0,5. scripts/run-unit-tests makes one and says where. */
static void test_json_numbers_in_any_locale(void **state)
{
        const char *folder = getenv("KEYROUTE_LOCALES");
        const char *set;

        (void)state;
        if (folder)
                setenv("LOCPATH", folder, 1);
        __lsan_disable(); /* glibc keeps what it makes of LOCPATH */
        set = setlocale(LC_ALL, "de_DE.UTF-8");
        __lsan_enable();
        unsetenv("LOCPATH");
        if (!set)
                skip();
        ROUTES_AS(JSON("\"id\""), "{\"id\":0.5}", "0.5");
        setlocale(LC_ALL, "C");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_field),
                cmocka_unit_test(test_field_several),
                cmocka_unit_test(test_field_missing),
                cmocka_unit_test(test_field_longer_than_the_scratch),
                cmocka_unit_test(test_tag),
                cmocka_unit_test(test_payload),
                cmocka_unit_test(test_frame_proof_key),
                cmocka_unit_test(test_windowed),
                cmocka_unit_test(test_over),
                cmocka_unit_test(test_bad_uses),
                cmocka_unit_test(test_fingerprints_differ),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_json_that_cannot_route),
                cmocka_unit_test(test_json_numbers_in_any_locale),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
