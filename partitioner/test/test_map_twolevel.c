#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t route(const kr_policy_t *policy, const char *key)
{
        return kr_rule_partition(rule_of(policy), key, strlen(key), kr_rule_partitions(rule_of(policy)));
}

static uint64_t hash(const char *name, const char *key, size_t len)
{
        return kr_hash_value(kr_hash_find(name), key, len);
}

static void check(const kr_policy_t *policy, const char *name, int fanout, const char *key, size_t first_len,
                  const char *rest)
{
        uint64_t start = hash(name, key, first_len) % 96, offset = hash(name, rest, strlen(rest)) % (uint64_t)fanout;

        if (route(policy, key) != (int32_t)((start + offset) % 96))
                fail_msg("%s: %s, fanout %d", key, name, fanout);
}

static void test_first_part_starts_and_rest_picks(void **state)
{
        static const char *const names[] = { "murmur2", "crc32", "cassandra-token" };
        static const int fanouts[] = { 1, 8, 95, 96 };

        (void)state;
        for (size_t n = 0; n < 3; n++)
                for (size_t f = 0; f < 4; f++) {
                        kr_policy_t *policy = policy_of("'partitions':96,'hash':'%s','map':{'kind':'two-level',"
                                                        "'delimiter':'|','fanout':%d}", names[n], fanouts[f]);

                        check(policy, names[n], fanouts[f], "tenant|user|time", 6, "user|time");
                        check(policy, names[n], fanouts[f], "tenant|", 6, "");
                        check(policy, names[n], fanouts[f], "tenant", 6, "");
                        check(policy, names[n], fanouts[f], "|user", 0, "user");
                        check(policy, names[n], fanouts[f], "", 0, "");
                        for (int i = 0; i < 100; i++) {
                                char key[40];

                                snprintf(key, sizeof(key), "t%d|u%d", i, 7 * i);
                                check(policy, names[n], fanouts[f], key, (size_t)(strchr(key, '|') - key),
                                      strchr(key, '|') + 1);
                        }
                        kr_policy_free(policy);
                }
}

static void test_ways_to_split(void **state)
{
        kr_policy_t *two = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'::','first':2,'fanout':8}");
        kr_policy_t *fixed = policy_of("'partitions':96,'map':{'kind':'two-level','first-bytes':4,'fanout':8}");

        (void)state;
        check(two, "murmur2", 8, "eu::acme::7::8", 8, "7::8");
        check(two, "murmur2", 8, "eu::acme", 8, "");
        check(two, "murmur2", 8, "eu:::acme::7", 9, "7"); /* "eu", then ":acme" */
        check(two, "murmur2", 8, "::::x", 2, "x");
        check(two, "murmur2", 8, "eu:acme", 7, "");
        check(fixed, "murmur2", 8, "abcdefg", 4, "efg");
        check(fixed, "murmur2", 8, "abcd", 4, "");
        check(fixed, "murmur2", 8, "abc", 3, "");
        kr_policy_free(two);
        kr_policy_free(fixed);
}

static void test_the_prefix_lists_every_partition_that_holds_a_key(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':8}");
        int32_t out[8], plain[16];

        (void)state;
        for (int t = 0; t < 50; t++) {
                unsigned used = 0;
                char key[40];
                int len = snprintf(key, sizeof(key), "tenant-%d", t);

                assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), key, (size_t)len, 96, out, 8), 8);
                for (int i = 0; i < 400; i++) {
                        int32_t p, at = 0;

                        snprintf(key + len, sizeof(key) - (size_t)len, "|%d", i);
                        p = route(policy, key);
                        while (at < 8 && out[at] != p)
                                at++;
                        assert_in_range(at, 0, 7);
                        used |= 1u << at;
                }
                assert_int_equal(used, 0xff);
        }
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "x", 1, 12, out, 8), KR_ERR_PARTITION_COUNT);
        kr_policy_free(policy);
        policy = policy_of("'partitions':12");
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "x", 1, 12, plain, 16), 12);
        for (int p = 0; p < 12; p++)
                assert_int_equal(plain[p], p);
        kr_policy_free(policy);
}

/* Fanout N: every key of one first part may be anywhere; fanout 1: all in one partition, that of the first part alone. */
static void test_fanout_one_and_all(void **state)
{
        kr_policy_t *one = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':1}");
        kr_policy_t *all = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':96}");
        kr_policy_t *java = policy_of("'partitions':96");
        bool seen[96] = { false };
        unsigned cnt = 0;

        (void)state;
        for (int i = 0; i < 2000; i++) {
                char key[40];
                int32_t p;

                snprintf(key, sizeof(key), "tenant|%d", i);
                assert_int_equal(route(one, key), route(java, "tenant"));
                p = route(all, key);
                cnt += !seen[p];
                seen[p] = true;
        }
        assert_int_equal(cnt, 96);
        kr_policy_free(one);
        kr_policy_free(all);
        kr_policy_free(java);
}

/* The hash of the whole key is not computed, so it is not told either. */
static void test_no_hash_of_the_whole_key_is_reported(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':8}");
        struct kr_routing routing;

        (void)state;
        kr_rule_route(rule_of(policy), "a|b", 3, 96, &routing);
        assert_int_equal(routing.hash, 0);
        assert_int_equal(routing.partition, route(policy, "a|b"));
        kr_policy_free(policy);
}

static void test_malformed_maps_are_told_where(void **state)
{
#define TWO(more) "'partitions':3,'map':{'kind':'two-level'" more "}"
        static const struct {
                const char *rule, *want;
        } cases[] = {
                { "'map':{'kind':'two-level','delimiter':'|','fanout':1}", "topics.t.map: this map names partitions" },
                { TWO(",'delimiter':'|'"), "topics.t.map: \"fanout\" is missing" },
                { TWO(",'fanout':2"), "topics.t.map: expected \"delimiter\"" },
                { TWO(",'delimiter':'|','fanout':0"), "topics.t.map.fanout: expected a whole number from 1 to 3, found 0" },
                { TWO(",'delimiter':'|','fanout':4"), "topics.t.map.fanout: expected a whole number from 1 to 3, found 4" },
                { TWO(",'delimiter':7,'fanout':1"), "topics.t.map.delimiter: expected a string" },
                { TWO(",'delimeter':'|','fanout':1"), "topics.t.map: unknown field \"delimeter\"; did you mean \"delimiter\"?" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (!strstr(error_of(cases[i].rule), cases[i].want))
                        fail_msg("%s\nexpected \"%s\"\ngot      \"%s\"", cases[i].rule, cases[i].want,
                                 error_of(cases[i].rule));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first_part_starts_and_rest_picks),
                cmocka_unit_test(test_ways_to_split),
                cmocka_unit_test(test_the_prefix_lists_every_partition_that_holds_a_key),
                cmocka_unit_test(test_fanout_one_and_all),
                cmocka_unit_test(test_no_hash_of_the_whole_key_is_reported),
                cmocka_unit_test(test_malformed_maps_are_told_where),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
