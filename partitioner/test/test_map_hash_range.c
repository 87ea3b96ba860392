#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t owner(const kr_policy_t *policy, uint64_t hash)
{
        const kr_rule_t *rule = rule_of(policy);

        return kr_map_partition_of(&rule->map, hash, rule->partition_cnt);
}

static void test_a_bound_belongs_to_the_range_that_it_starts(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':4,'map':{'kind':'hash-range','bounds':[1,100,'0x40000000'],"
                                        "'owners':[3,1,2,0]}");
        static const struct {
                uint64_t hash;
                int32_t want;
        } cases[] = { { 0, 3 }, { 1, 1 }, { 99, 1 }, { 100, 2 }, { 0x3fffffff, 2 }, { 0x40000000, 0 }, { 0x7fffffff, 0 },
                      { 0x80000000, 0 } };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_int_equal(owner(policy, cases[i].hash), cases[i].want);
        kr_policy_free(policy);
}

/* Every number of bounds takes another path through the search. */
static void test_the_search_finds_every_range(void **state)
{
        (void)state;
        for (int cnt = 1; cnt <= 40; cnt++) {
                char bounds[400] = "", owners[400] = "0";
                kr_policy_t *policy;

                for (int i = 1; i < cnt; i++) {
                        snprintf(bounds + strlen(bounds), 12, "%s%d", i > 1 ? "," : "", 10 * i);
                        snprintf(owners + strlen(owners), 12, ",%d", i);
                }
                policy = policy_of("'partitions':40,'map':{'kind':'hash-range','bounds':[%s],'owners':[%s]}", bounds,
                                   owners);
                for (uint64_t h = 0; h < 10 * (uint64_t)cnt + 5; h++)
                        assert_int_equal(owner(policy, h), h / 10 < (uint64_t)cnt ? h / 10 : (uint64_t)cnt - 1);
                kr_policy_free(policy);
        }
}

static void test_without_bounds_the_hash_is_cut_evenly(void **state)
{
        static const struct {
                const char *hash;
                unsigned bits;
        } hashes[] = { { "murmur2", 31 }, { "crc32", 32 }, { "crc16", 16 }, { "cassandra-token", 64 } };

        (void)state;
        for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
                for (int n = 1; n <= 100; n++) {
                        kr_policy_t *policy = policy_of("'partitions':%d,'hash':'%s','map':{'kind':'hash-range'}", n,
                                                        hashes[i].hash);
                        uint64_t max = UINT64_MAX >> (64 - hashes[i].bits);

                        for (int j = 0; j < n; j++) {
                                /* The first hash h with h * n / 2^bits >= j, by a formula that needs only 64 bits. */
                                uint64_t bound = max / (uint64_t)n * (uint64_t)j +
                                                 (max % (uint64_t)n * (uint64_t)j + (uint64_t)j + (uint64_t)n - 1) /
                                                         (uint64_t)n;

                                assert_int_equal(owner(policy, bound), j);
                                if (j)
                                        assert_int_equal(owner(policy, bound - 1), j - 1);
                        }
                        assert_int_equal(owner(policy, max), n - 1);
                        kr_policy_free(policy);
                }
}

static void test_splitting_a_range_moves_that_range_only(void **state)
{
        kr_policy_t *before = policy_of("'partitions':3,'map':{'kind':'hash-range','bounds':['0x20000000','0x60000000'],"
                                        "'owners':[0,1,2]}");
        kr_policy_t *after = policy_of("'partitions':4,'map':{'kind':'hash-range','bounds':['0x20000000','0x40000000',"
                                       "'0x60000000'],'owners':[0,1,3,2]}");

        (void)state;
        for (uint64_t h = 0; h < 0x80000000; h += 65521) {
                if (h >= 0x40000000 && h < 0x60000000)
                        assert_int_equal(owner(after, h), 3);
                else
                        assert_int_equal(owner(after, h), owner(before, h));
        }
        kr_policy_free(before);
        kr_policy_free(after);
}

static void test_neighbours_of_one_owner_are_one_range(void **state)
{
        kr_policy_t *a = policy_of("'partitions':2,'map':{'kind':'hash-range','bounds':[7,9,11],'owners':[0,1,1,0]}");
        kr_policy_t *b = policy_of("'partitions':2,'map':{'owners':[0,1,0],'kind':'hash-range','bounds':['0x7','0xB']}");

        (void)state;
        assert_string_equal(kr_rule_fingerprint(rule_of(a)), kr_rule_fingerprint(rule_of(b)));
        for (uint64_t h = 0; h < 20; h++)
                assert_int_equal(owner(a, h), owner(b, h));
        kr_policy_free(a);
        kr_policy_free(b);
}

/* ---- ring ---- */

/* The definition, word by word: the nearest point at or above the hash, round the ring, the lowest partition on ties. */
static int32_t nearest(const int *points, int partitions, unsigned bits, uint64_t hash)
{
        uint64_t best = UINT64_MAX;
        int32_t owner = -1;

        for (int p = 0; p < partitions; p++)
                for (int i = 0; i < points[p]; i++) {
                        char name[32];
                        uint64_t at = kr_murmur2_unsigned(name, (size_t)snprintf(name, sizeof(name), "%d-%d", p, i));
                        uint64_t way;

                        at = bits >= 32 ? at << (bits - 32) : at >> (32 - bits);
                        way = bits == 64 ? at - hash : (at - hash) & (((uint64_t)1 << bits) - 1);
                        if (owner < 0 || way < best) {
                                best = way;
                                owner = p;
                        }
                }
        return owner;
}

static void test_a_ring_is_its_definition(void **state)
{
        static const struct {
                const char *hash;
                unsigned bits;
        } hashes[] = { { "murmur2", 31 }, { "crc32", 32 }, { "crc16", 16 }, { "cassandra-token", 64 }, { "couchbase", 15 } };
        static const int points[] = { 20, 10, 0, 5, 13 }; /* 12.5 rounds up */

        (void)state;
        for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
                kr_policy_t *policy = policy_of("'partitions':5,'hash':'%s','map':{'kind':'ring','points':10,"
                                                "'weights':{'0':2,'1':1,'2':0,'3':'0.5','4':1.25}}", hashes[i].hash);
                uint64_t max = UINT64_MAX >> (64 - hashes[i].bits);
                uint64_t step = max / 1009;

                for (uint64_t h = 0; h <= max - step; h += step)
                        assert_int_equal(owner(policy, h), nearest(points, 5, hashes[i].bits, h));
                assert_int_equal(owner(policy, max), nearest(points, 5, hashes[i].bits, max));
                for (int p = 0; p < 5; p++)
                        for (int j = 0; j < points[p]; j++) {
                                char name[32];
                                uint64_t at = kr_murmur2_unsigned(name, (size_t)snprintf(name, sizeof(name), "%d-%d", p, j));

                                at = hashes[i].bits >= 32 ? at << (hashes[i].bits - 32) : at >> (32 - hashes[i].bits);
                                assert_int_equal(owner(policy, at), nearest(points, 5, hashes[i].bits, at));
                                assert_int_equal(owner(policy, (at + 1) & max),
                                                 nearest(points, 5, hashes[i].bits, (at + 1) & max));
                        }
                kr_policy_free(policy);
        }
}

/* Few places and many points: most fall together with others, and the lowest partition has them. */
static void test_points_that_fall_together(void **state)
{
        static const int points[] = { 3000, 3000, 3000 };
        kr_policy_t *policy = policy_of("'partitions':3,'hash':'couchbase','map':{'kind':'ring','points':3000}");

        (void)state;
        for (uint64_t h = 0; h < 1 << 15; h += 29)
                assert_int_equal(owner(policy, h), nearest(points, 3, 15, h));
        kr_policy_free(policy);
}

static void test_a_new_partition_takes_from_all_and_nothing_else_moves(void **state)
{
        kr_policy_t *before = policy_of("'partitions':12,'map':{'kind':'ring','weights':{'0-3':2,'*':1}}");
        kr_policy_t *after = policy_of("'partitions':13,'map':{'kind':'ring','weights':{'0-3':2,'*':1}}");
        unsigned moved = 0, all = 0, share = 0;

        (void)state;
        for (uint64_t h = 0; h < 0x80000000; h += 65521, all++) {
                int32_t a = owner(before, h), b = owner(after, h);

                moved += a != b;
                share += a < 4;
                if (a != b)
                        assert_int_equal(b, 12);
        }
        /* 4 * 2 of 16 weights, and 1 of 17: with 256 points for weight 1 a share is within some 6 % of itself. */
        assert_in_range(share, all / 2 - all / 25, all / 2 + all / 25);
        assert_in_range(moved, all / 17 - all / 100, all / 17 + all / 100);
        kr_policy_free(before);
        kr_policy_free(after);
}

static void test_a_compiled_ring_is_ranges_of_the_hash(void **state)
{
        static const char *const hashes[] = { "murmur2", "cassandra-token" };

        (void)state;
        for (int i = 0; i < 2; i++) {
                const char *path = file_write("ring.json", "{'keyroute':1,'topics':{'t':{'partitions':7,'hash':'%s','map':"
                                              "{'kind':'ring'}}}}", hashes[i]);
                struct kr_error err;
                char *text = kr_policy_compile(path, NULL, false, &err);
                kr_policy_t *ring = file_load(path), *compiled;

                if (!text)
                        fail_msg("%s", err.text);
                assert_non_null(strstr(text, "\"hash-range\""));
                compiled = file_load(file_write("ranges.json", "%s", text));
                assert_string_equal(kr_rule_fingerprint(rule_of(ring)), kr_rule_fingerprint(rule_of(compiled)));
                for (uint64_t h = 1; h < UINT64_MAX / 31; h *= 31)
                        assert_int_equal(owner(ring, h), owner(compiled, h));
                free(text);
                kr_policy_free(ring);
                kr_policy_free(compiled);
        }
}

static void test_malformed_ranges_are_told_where(void **state)
{
#define RANGE(more) "'partitions':3,'map':{'kind':'hash-range'" more "}"
#define RING(more) "'partitions':3,'map':{'kind':'ring'" more "}"
        static const struct {
                const char *rule, *want;
        } cases[] = {
                { "'map':{'kind':'hash-range'}", "topics.t.map: this map names partitions" },
                { RANGE(",'bounds':7"), "topics.t.map.bounds: expected an array of rising hash values" },
                { RANGE(",'owners':[0,1,2]"), "topics.t.map: \"bounds\" is missing" },
                { RANGE(",'bounds':[5]"), "topics.t.map: \"owners\" is missing: 2 ranges for 3 partitions" },
                { RANGE(",'bounds':[5,5]"), "topics.t.map.bounds[1]: bounds must rise: 5 comes after 5" },
                { RANGE(",'bounds':[5,4]"), "topics.t.map.bounds[1]: bounds must rise: 4 comes after 5" },
                { RANGE(",'bounds':[0,4]"), "topics.t.map.bounds[0]: expected a hash value from 1 to 2147483647" },
                { RANGE(",'bounds':[4,2147483648]"), "topics.t.map.bounds[1]: expected a hash value" },
                { RANGE(",'bounds':['x',7]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':['0x',7]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':['0x7g',7]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':['0x00000000000000007',8]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':[-1,7]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':[1.5,7]"), "topics.t.map.bounds[0]: expected a hash value" },
                { RANGE(",'bounds':[1,7],'owners':[0,1]"), "topics.t.map.owners: expected an array of 3 partitions" },
                { RANGE(",'bounds':[1,7],'owners':7"), "topics.t.map.owners: expected an array of 3 partitions" },
                { RANGE(",'bounds':[1,7],'owners':[0,1,3]"), "topics.t.map.owners[2]: expected a whole number from 0 to 2" },
                { "'partitions':70000,'hash':'crc16','map':{'kind':'hash-range'}", "the hash has 16 bits, too few" },
                { "'map':{'kind':'ring'}", "topics.t.map: this map names partitions" },
                { RING(",'points':0"), "topics.t.map.points: expected a whole number from 1 to 65536, found 0" },
                { RING(",'weights':{'0':1}"), "topics.t.map.weights: partition 1 has no weight" },
                { RING(",'weights':{'*':'0.001'}"), "expected a ring of 1 to 1048575 points, these weights give none" },
                { RING(",'weights':{'*':1000000}"), "expected a ring of 1 to 1048575 points, these weights give more" },
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
        at += sprintf(at, "'partitions':3,'map':{'kind':'hash-range','bounds':[");
        for (int i = 1; i <= CNT; i++)
                at += sprintf(at, "%s%d", i > 1 ? "," : "", i);
        strcpy(at, "]}");
        assert_non_null(strstr(error_of(list), "topics.t.map.bounds: expected at most 1048575 bounds"));
        free(list);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_bound_belongs_to_the_range_that_it_starts),
                cmocka_unit_test(test_the_search_finds_every_range),
                cmocka_unit_test(test_without_bounds_the_hash_is_cut_evenly),
                cmocka_unit_test(test_splitting_a_range_moves_that_range_only),
                cmocka_unit_test(test_neighbours_of_one_owner_are_one_range),
                cmocka_unit_test(test_a_ring_is_its_definition),
                cmocka_unit_test(test_points_that_fall_together),
                cmocka_unit_test(test_a_new_partition_takes_from_all_and_nothing_else_moves),
                cmocka_unit_test(test_a_compiled_ring_is_ranges_of_the_hash),
                cmocka_unit_test(test_malformed_ranges_are_told_where),
                cmocka_unit_test(test_too_many_bounds),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
