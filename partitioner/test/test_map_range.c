#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t route(const kr_policy_t *policy, const void *key, size_t len)
{
        return kr_rule_partition(rule_of(policy), key, len, kr_rule_partitions(rule_of(policy)));
}

static void test_keys_go_by_their_bytes(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':5,'map':{'kind':'range','bounds':['g','gh','n',{'hex':'ff00'}]}");
        static const struct {
                const char *key;
                size_t len;
                int32_t want;
        } cases[] = {
                { "", 0, 0 },          { "f", 1, 0 },     { "fzzzzzzzzzzzzzzzz", 17, 0 }, { "g", 1, 1 },
                { "g\0", 2, 1 },       { "gg", 2, 1 },    { "gh", 2, 2 },                 { "ghost-writer", 12, 2 },
                { "m\xff\xff", 3, 2 }, { "n", 1, 3 },     { "\xc3\xa9", 2, 3 },           { "\xff", 1, 3 },
                { "\xff\0", 2, 4 },    { "\xff\0\0", 3, 4 }, { "\xff\xff", 2, 4 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (route(policy, cases[i].key, cases[i].len) != cases[i].want)
                        fail_msg("key %zu: %d, expected %d", i, (int)route(policy, cases[i].key, cases[i].len),
                                 (int)cases[i].want);
        kr_policy_free(policy);
}

/* Heads of eight equal bytes, and heads that only look equal because zeros fill them up. */
static void test_heads_that_say_nothing(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':6,'map':{'kind':'range','bounds':['customer',{'hex':"
                                        "'637573746f6d657200'},'customer-b','customer-bb',{'hex':'64'}]}");
        static const struct {
                const char *key;
                size_t len;
                int32_t want;
        } cases[] = {
                { "custome", 7, 0 },         { "custome\0", 8, 0 },    { "customer", 8, 1 },    { "customer\0", 9, 2 },
                { "customer-a", 10, 2 },     { "customer-azzzz", 14, 2 }, { "customer-b", 10, 3 }, { "customer-b\0", 11, 3 },
                { "customer-bb", 11, 4 },    { "customf", 7, 4 },      { "d", 1, 5 },           { "d\0", 2, 5 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (route(policy, cases[i].key, cases[i].len) != cases[i].want)
                        fail_msg("key %zu: %d, expected %d", i, (int)route(policy, cases[i].key, cases[i].len),
                                 (int)cases[i].want);
        kr_policy_free(policy);
}

static int by_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
        int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

        return order ? order : a_len < b_len ? -1 : a_len > b_len;
}

/* Against a walk over all bounds, with keys of a small alphabet so that many are close. */
static void test_the_search_agrees_with_a_walk(void **state)
{
        static const char *const bounds[] = { "a", "aa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "ab", "abaaaaaaaaaaa", "b",
                                              "ba", "bbbbbbbbb" };
        enum { CNT = sizeof(bounds) / sizeof(bounds[0]) };
        char list[400] = "";
        kr_policy_t *policy;
        uint32_t random = 1;

        (void)state;
        for (int i = 0; i < CNT; i++)
                snprintf(list + strlen(list), 40, "%s'%s'", i ? "," : "", bounds[i]);
        policy = policy_of("'partitions':%d,'map':{'kind':'range','bounds':[%s]}", CNT + 1, list);
        for (int n = 0; n < 20000; n++) {
                char key[16];
                size_t len;
                int32_t want = 0;

                random = random * 1664525u + 1013904223u;
                len = (random >> 8) % 14;
                for (size_t i = 0; i < len; i++) {
                        random = random * 1664525u + 1013904223u;
                        key[i] = "aab"[(random >> 8) % 3];
                }
                for (int i = 0; i < CNT; i++)
                        want += by_bytes(bounds[i], strlen(bounds[i]), key, len) <= 0;
                assert_int_equal(route(policy, key, len), want);
        }
        kr_policy_free(policy);
}

static void test_what_routes_alike_has_one_fingerprint(void **state)
{
        kr_policy_t *a = policy_of("'partitions':2,'map':{'kind':'range','bounds':['b','c','d'],'owners':[0,1,1,0]}");
        kr_policy_t *b = policy_of("'partitions':2,'map':{'kind':'range','bounds':[{'hex':'62'},'d'],'owners':[0,1,0]}");
        kr_policy_t *c = policy_of("'partitions':2,'map':{'kind':'range','bounds':['b','e'],'owners':[0,1,0]}");

        (void)state;
        assert_string_equal(kr_rule_fingerprint(rule_of(a)), kr_rule_fingerprint(rule_of(b)));
        assert_string_not_equal(kr_rule_fingerprint(rule_of(a)), kr_rule_fingerprint(rule_of(c)));
        kr_policy_free(a);
        kr_policy_free(b);
        kr_policy_free(c);
}

static void test_only_the_routing_bytes_count(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':2,'key':{'use':'tag'},'map':{'kind':'range','bounds':['m']}");

        (void)state;
        assert_int_equal(route(policy, "z{a}z", 5), 0);
        assert_int_equal(route(policy, "a{z}a", 5), 1);
        kr_policy_free(policy);
}

static void test_malformed_ranges_are_told_where(void **state)
{
#define RANGE(more) "'partitions':3,'map':{'kind':'range'" more "}"
        static const struct {
                const char *rule, *want;
        } cases[] = {
                { "'map':{'kind':'range','bounds':['a']}", "topics.t.map: this map names partitions" },
                { RANGE(""), "topics.t.map: expected \"bounds\": an array of the first keys" },
                { RANGE(",'bounds':'a'"), "topics.t.map.bounds: expected \"bounds\": an array" },
                { RANGE(",'bounds':['a']"), "topics.t.map: \"owners\" is missing: 2 ranges for 3 partitions" },
                { RANGE(",'bounds':['a','a']"), "topics.t.map.bounds[1]: bounds must rise" },
                { RANGE(",'bounds':['b','a']"), "topics.t.map.bounds[1]: bounds must rise" },
                { RANGE(",'bounds':['a',7]"), "topics.t.map.bounds[1]: expected the first key of a range" },
                { RANGE(",'bounds':['','a']"), "topics.t.map.bounds[0]: expected a key of 1 to 32767 bytes" },
                { RANGE(",'bounds':['a',{'hex':'zz'}]"), "topics.t.map.bounds[1].hex: expected pairs of hex digits" },
                { RANGE(",'bounds':['a',{'hex':'abc'}]"), "topics.t.map.bounds[1].hex: expected pairs of hex digits" },
                { RANGE(",'bounds':['a',{'hex':''}]"), "topics.t.map.bounds[1]: expected a key of 1" },
                { RANGE(",'bounds':['a',{'hex':7}]"), "topics.t.map.bounds[1].hex: expected a string, found a whole number" },
                { RANGE(",'bounds':['a',{}]"), "topics.t.map.bounds[1].hex: expected a string, found nothing" },
                { RANGE(",'bounds':['a',{'text':'b'}]"), "topics.t.map.bounds[1]: unknown field \"text\"" },
                { RANGE(",'bounds':['a','b'],'owners':[0,1]"), "topics.t.map.owners: expected an array of 3 partitions" },
                { RANGE(",'bounds':['a','b'],'owners':[0,1,3]"), "topics.t.map.owners[2]: expected a whole number from 0 to 2" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (!strstr(error_of(cases[i].rule), cases[i].want))
                        fail_msg("%s\nexpected \"%s\"\ngot      \"%s\"", cases[i].rule, cases[i].want,
                                 error_of(cases[i].rule));
}

static void test_too_many_bounds(void **state)
{
        enum { CNT = 1 << 20, EACH = 10 };
        char *list = malloc(CNT * EACH + 200), *at = list;

        (void)state;
        at += sprintf(at, "'partitions':3,'map':{'kind':'range','bounds':[");
        for (int i = 1; i <= CNT; i++)
                at += sprintf(at, "%s'%07d'", i > 1 ? "," : "", i);
        strcpy(at, "]}");
        assert_non_null(strstr(error_of(list), "topics.t.map.bounds: expected at most 1048575 bounds"));
        free(list);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_keys_go_by_their_bytes),
                cmocka_unit_test(test_heads_that_say_nothing),
                cmocka_unit_test(test_the_search_agrees_with_a_walk),
                cmocka_unit_test(test_what_routes_alike_has_one_fingerprint),
                cmocka_unit_test(test_only_the_routing_bytes_count),
                cmocka_unit_test(test_malformed_ranges_are_told_where),
                cmocka_unit_test(test_too_many_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
