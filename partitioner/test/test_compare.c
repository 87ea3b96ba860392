#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kr_comparison compare(const kr_policy_t *a, int32_t a_cnt, const kr_policy_t *b, int32_t b_cnt)
{
        struct kr_comparison out;
        struct kr_error err;

        if (!kr_rule_compare(rule_of(a), a_cnt, rule_of(b), b_cnt, &out, &err))
                fail_msg("%s", err.text);
        return out;
}

static void assert_near(double got, double want, double error)
{
        if (fabs(got - want) > error)
                fail_msg("got %.12g, expected %.12g", got, want);
}

static double flow_share(const struct kr_comparison *c, int32_t from, int32_t to)
{
        for (size_t i = 0; i < c->flow_cnt; i++)
                if (c->flows[i].from == from && c->flows[i].to == to)
                        return c->flows[i].share;
        return 0;
}

/* Compares two rules whose maps repeat with the hash, with a count over every hash of one common period. */
static void check_by_counting(const kr_policy_t *a, int32_t a_cnt, const kr_policy_t *b, int32_t b_cnt, uint64_t period)
{
        struct kr_comparison c = compare(a, a_cnt, b, b_cnt);
        double *want = calloc((size_t)a_cnt * (size_t)b_cnt, sizeof(*want));
        double moved = 0;

        assert_int_equal(c.basis, KR_EXACT);
        for (uint64_t h = 0; h < period; h++) {
                int32_t from = kr_map_partition_of(&rule_of(a)->map, h, a_cnt);
                int32_t to = kr_map_partition_of(&rule_of(b)->map, h, b_cnt);

                want[from * b_cnt + to] += 1 / (double)period;
                moved += from != to;
        }
        assert_near(c.moved, moved / (double)period, 1e-9);
        for (int32_t p = 0; p < a_cnt; p++)
                for (int32_t q = 0; q < b_cnt; q++)
                        if (p != q)
                                assert_near(flow_share(&c, p, q), want[p * b_cnt + q], 1e-9);
        for (size_t i = 1; i < c.flow_cnt; i++)
                assert_true(c.flows[i - 1].share >= c.flows[i].share);
        free(want);
        kr_comparison_release(&c);
}

static void test_modulo_keeps_min_over_lcm(void **state)
{
        static const int32_t counts[][2] = { { 12, 16 }, { 10, 12 }, { 12, 12 }, { 7, 5 }, { 1, 30 }, { 30, 1 }, { 6, 12 } };

        (void)state;
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                int32_t x = counts[i][0], y = counts[i][1], lcm = x, least = x < y ? x : y;
                kr_policy_t *a = policy_of("'partitions':%d", x), *b = policy_of("'partitions':%d", y);
                struct kr_comparison c = compare(a, x, b, y);

                while (lcm % y)
                        lcm += x;
                assert_near(c.moved, 1 - (double)least / lcm, 1e-12);
                kr_comparison_release(&c);
                check_by_counting(a, x, b, y, (uint64_t)lcm);
                kr_policy_free(a);
                kr_policy_free(b);
        }
}

static kr_policy_t *grown(const kr_policy_t *from, int32_t partitions)
{
        struct kr_error err;
        char *text = kr_policy_compile(file_write("next.json", "{'keyroute':1,'topics':{'t':{'partitions':%d,'map':"
                                                  "{'kind':'slots'}}}}", partitions), from, false, &err);
        kr_policy_t *policy;

        if (!text)
                fail_msg("%s", err.text);
        policy = file_load(file_write("grown.json", "%s", text));
        free(text);
        return policy;
}

/* The published figures: slots against plain modulo. */
static void test_growth_by_slots_and_by_modulo(void **state)
{
        kr_policy_t *twelve = policy_of("'partitions':12"), *sixteen = policy_of("'partitions':16");
        kr_policy_t *grown_sixteen = grown(twelve, 16);
        kr_policy_t *ten = policy_of("'partitions':10,'map':{'kind':'slots','slots':1024,'runs':[[0,103],[1,103],[2,103],"
                                     "[3,103],[4,102],[5,102],[6,102],[7,102],[8,102],[9,102]]}");
        kr_policy_t *grown_twelve = grown(ten, 12), *plain_ten = policy_of("'partitions':10");
        struct kr_comparison c;

        (void)state;
        c = compare(twelve, 12, sixteen, 16);
        assert_near(c.moved, 0.75, 0);
        kr_comparison_release(&c);
        c = compare(twelve, 12, grown_sixteen, 16);
        assert_int_equal(c.basis, KR_EXACT);
        assert_near(c.moved, 0.25, 0);
        for (size_t i = 0; i < c.flow_cnt; i++)
                assert_in_range(c.flows[i].to, 12, 15);
        kr_comparison_release(&c);
        c = compare(plain_ten, 10, twelve, 12);
        assert_near(c.moved, 0.833, 0.0005);
        kr_comparison_release(&c);
        c = compare(ten, 10, grown_twelve, 12);
        assert_near(c.moved, 0.166, 0.0005);
        kr_comparison_release(&c);
        kr_policy_free(twelve);
        kr_policy_free(sixteen);
        kr_policy_free(grown_sixteen);
        kr_policy_free(ten);
        kr_policy_free(grown_twelve);
        kr_policy_free(plain_ten);
}

static void test_slots_of_any_periods(void **state)
{
        kr_policy_t *a = policy_of("'partitions':5,'map':{'kind':'slots','slots':35,'weights':{'0':3,'4':0,'*':1}}");
        kr_policy_t *b = policy_of("'partitions':6,'map':{'kind':'slots','slots':24,'weights':{'2':2,'*':'1.5'}}");
        kr_policy_t *c = policy_of("'partitions':5,'map':{'kind':'slots','slots':50,'weights':{'0':3,'3':0,'*':1}}");
        kr_policy_t *java = policy_of("'partitions':5");

        (void)state;
        check_by_counting(a, 5, b, 6, 840);
        check_by_counting(b, 6, a, 5, 840);
        check_by_counting(a, 5, c, 5, 350);
        check_by_counting(a, 5, java, 5, 35);
        check_by_counting(a, 5, a, 5, 35);
        kr_policy_free(a);
        kr_policy_free(b);
        kr_policy_free(c);
        kr_policy_free(java);
}

static void test_stretches_are_cut_at_every_bound(void **state)
{
        kr_policy_t *a = policy_of("'partitions':3,'map':{'kind':'hash-range','bounds':['0x10000000','0x40000000']}");
        kr_policy_t *b = policy_of("'partitions':4,'map':{'kind':'hash-range','bounds':['0x10000000','0x30000000',"
                                   "'0x60000000'],'owners':[0,1,3,2]}");
        struct kr_comparison c = compare(a, 3, b, 4);

        (void)state;
        assert_int_equal(c.basis, KR_EXACT);
        assert_int_equal(c.flow_cnt, 2);
        assert_near(flow_share(&c, 1, 3), 1 / 8.0, 0);
        assert_near(flow_share(&c, 2, 3), 2 / 8.0, 0);
        assert_near(c.moved, 3 / 8.0, 0);
        kr_comparison_release(&c);
        kr_policy_free(a);
        kr_policy_free(b);
}

/* Hashes h < end with h mod period == r, by a formula that the code under test does not use. */
static double residues_below(uint64_t end, uint64_t period, uint64_t r)
{
        return end <= r ? 0 : (double)((end - r - 1) / period + 1);
}

static void check_mixed(const char *hash, unsigned bits, uint64_t first, uint64_t second)
{
        kr_policy_t *a = policy_of("'partitions':7,'hash':'%s','map':{'kind':'hash-range','bounds':['0x%llx','0x%llx'],"
                                   "'owners':[6,1,2]}", hash, (unsigned long long)first, (unsigned long long)second);
        kr_policy_t *b = policy_of("'partitions':7,'hash':'%s'", hash);
        struct kr_comparison there = compare(a, 7, b, 7), back = compare(b, 7, a, 7);
        const int32_t owners[] = { 6, 1, 2 };
        double space = ldexp(1, (int)bits);

        assert_int_equal(there.basis, KR_EXACT);
        for (int i = 0; i < 3; i++)
                for (int32_t r = 0; r < 7; r++) {
                        uint64_t starts[] = { 0, first, second, bits == 64 ? UINT64_MAX : (uint64_t)1 << bits };
                        double want = residues_below(starts[i + 1], 7, (uint64_t)r) -
                                      residues_below(starts[i], 7, (uint64_t)r);

                        if (owners[i] == r)
                                continue;
                        assert_near(flow_share(&there, owners[i], r), want / space, 1e-15);
                        assert_near(flow_share(&back, r, owners[i]), want / space, 1e-15);
                }
        kr_comparison_release(&there);
        kr_comparison_release(&back);
        kr_policy_free(a);
        kr_policy_free(b);
}

static void test_stretches_against_a_period(void **state)
{
        (void)state;
        check_mixed("murmur2", 31, 5, 11);
        check_mixed("murmur2", 31, 1000000007, 2000000011);
        check_mixed("crc32", 32, 7, 4294967290);
        check_mixed("crc16", 16, 4000, 65530);
        check_mixed("cassandra-token", 64, (uint64_t)1 << 62, (uint64_t)3 << 62);
}

static void test_shares(void **state)
{
        double shares[12];
        kr_policy_t *policy = policy_of("'partitions':4,'map':{'kind':'slots','slots':16,'weights':{'0':2,'1':1,'2':1,'3':0}}");

        (void)state;
        assert_int_equal(kr_rule_shares(rule_of(policy), 4, shares), KR_EXACT);
        for (int p = 0; p < 4; p++)
                assert_near(shares[p], ((const double[]){ 0.5, 0.25, 0.25, 0 })[p], 1e-12);
        kr_policy_free(policy);
        policy = policy_of("'partitions':2,'hash':'cassandra-token','map':{'kind':'table','keys':{'a':1},'else':{"
                           "'kind':'hash-range','bounds':['0x4000000000000000']}}");
        assert_int_equal(kr_rule_shares(rule_of(policy), 2, shares), KR_EXACT);
        assert_near(shares[0], 0.25, 1e-12);
        assert_near(shares[1], 0.75, 1e-12);
        kr_policy_free(policy);
        policy = policy_of("'partitions':12,'map':{'kind':'two-level','delimiter':'|','fanout':5}");
        assert_int_equal(kr_rule_shares(rule_of(policy), 12, shares), KR_EXACT);
        assert_near(shares[7], 1 / 12.0, 1e-12);
        kr_policy_free(policy);
        policy = policy_of("'partitions':2,'map':{'kind':'range','bounds':['m']}");
        assert_int_equal(kr_rule_shares(rule_of(policy), 2, shares), KR_UNKNOWN);
        assert_near(shares[0] + shares[1], 0, 0);
        kr_policy_free(policy);
}

static void test_what_cannot_be_computed_is_sampled(void **state)
{
        kr_policy_t *four = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':4}");
        kr_policy_t *eight = policy_of("'partitions':96,'map':{'kind':'two-level','delimiter':'|','fanout':8}");
        kr_policy_t *crc = policy_of("'partitions':96,'hash':'crc32'"), *java = policy_of("'partitions':96");
        kr_policy_t *sign = policy_of("'partitions':97,'hash':'murmur2-unsigned'"), *java97 = policy_of("'partitions':97");
        kr_policy_t *part = policy_of("'partitions':96,'key':{'use':'field','delimiter':'|','index':0}");
        struct kr_comparison c = compare(four, 96, eight, 96), again = compare(four, 96, eight, 96);

        (void)state;
        assert_int_equal(c.basis, KR_SAMPLED);
        assert_near(c.moved, 0.5, 0.003); /* half of the second parts pick the upper half of eight */
        assert_near(c.moved, again.moved, 0);
        kr_comparison_release(&c);
        kr_comparison_release(&again);
        c = compare(crc, 96, java, 96);
        assert_int_equal(c.basis, KR_SAMPLED);
        assert_near(c.moved, 95 / 96.0, 0.001);
        kr_comparison_release(&c);
        c = compare(sign, 97, java97, 97); /* the half of the hashes without the sign bit stays */
        assert_near(c.moved, 0.5, 0.003);
        kr_comparison_release(&c);
        c = compare(part, 96, java, 96);
        assert_int_equal(c.basis, KR_INDEPENDENT);
        assert_near(c.moved, 95 / 96.0, 1e-9);
        kr_comparison_release(&c);
        c = compare(part, 96, part, 96);
        assert_int_equal(c.basis, KR_EXACT);
        assert_near(c.moved, 0, 0);
        kr_comparison_release(&c);
        kr_policy_free(four);
        kr_policy_free(eight);
        kr_policy_free(crc);
        kr_policy_free(java);
        kr_policy_free(sign);
        kr_policy_free(java97);
        kr_policy_free(part);
}

static void assert_range(const struct kr_key_range *range, const char *start, const char *end, int32_t from, int32_t to)
{
        assert_int_equal(range->start_len, strlen(start));
        if (*start)
                assert_memory_equal(range->start, start, strlen(start));
        if (end)
                assert_int_equal(range->end_len, strlen(end));
        if (end)
                assert_memory_equal(range->end, end, strlen(end));
        else
                assert_null(range->end);
        assert_int_equal(range->from, from);
        assert_int_equal(range->to, to);
}

static void test_ranges_of_keys_are_listed(void **state)
{
        kr_policy_t *a = policy_of("'partitions':4,'map':{'kind':'range','bounds':['g','n'],'owners':[0,1,2]}");
        kr_policy_t *b = policy_of("'partitions':4,'map':{'kind':'range','bounds':['c','g','p','t'],'owners':[3,0,1,2,3]}");
        struct kr_comparison c = compare(a, 4, b, 4);

        (void)state;
        assert_int_equal(c.basis, KR_UNKNOWN);
        assert_int_equal(c.range_cnt, 3);
        assert_range(&c.ranges[0], "", "c", 0, 3);
        assert_range(&c.ranges[1], "n", "p", 2, 1);
        assert_range(&c.ranges[2], "t", NULL, 2, 3);
        kr_comparison_release(&c);
        c = compare(a, 4, a, 4);
        assert_int_equal(c.range_cnt, 0);
        kr_comparison_release(&c);
        kr_policy_free(a);
        kr_policy_free(b);
}

static void test_pinned_keys_are_counted(void **state)
{
        kr_policy_t *a = policy_of("'partitions':4,'map':{'kind':'table','delimiter':'|','keys':{'same':1,'moved':2,"
                                   "'list':[1,2],'gone':3}}");
        kr_policy_t *b = policy_of("'partitions':4,'map':{'kind':'table','delimiter':'|','keys':{'same':1,'moved':3,"
                                   "'list':[2,1],'new':0,'new2':0}}");
        kr_policy_t *none = policy_of("'partitions':4");
        struct kr_comparison c = compare(a, 4, b, 4);

        (void)state;
        assert_int_equal(c.basis, KR_EXACT);
        assert_near(c.moved, 0, 0);
        assert_int_equal(c.pins_same, 1);
        assert_int_equal(c.pins_changed, 2);
        assert_int_equal(c.pins_removed, 1);
        assert_int_equal(c.pins_added, 2);
        kr_comparison_release(&c);
        c = compare(a, 4, none, 4);
        assert_int_equal(c.pins_removed, 4);
        assert_int_equal(c.pins_added, 0);
        kr_comparison_release(&c);
        kr_policy_free(a);
        kr_policy_free(b);
        kr_policy_free(none);
}

static void test_counts_that_a_rule_refuses(void **state)
{
        kr_policy_t *a = policy_of("'partitions':4"), *b = policy_of("'hash':'murmur2'");
        struct kr_comparison c;
        struct kr_error err;

        (void)state;
        assert_false(kr_rule_compare(rule_of(a), 5, rule_of(b), 5, &c, &err));
        assert_non_null(strstr(err.text, "partition count differs"));
        assert_false(kr_rule_compare(rule_of(b), 0, rule_of(a), 4, &c, &err));
        assert_true(kr_rule_compare(rule_of(a), 4, rule_of(b), 4, &c, &err));
        kr_comparison_release(&c);
        kr_policy_free(a);
        kr_policy_free(b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_modulo_keeps_min_over_lcm),
                cmocka_unit_test(test_growth_by_slots_and_by_modulo),
                cmocka_unit_test(test_slots_of_any_periods),
                cmocka_unit_test(test_stretches_are_cut_at_every_bound),
                cmocka_unit_test(test_stretches_against_a_period),
                cmocka_unit_test(test_shares),
                cmocka_unit_test(test_what_cannot_be_computed_is_sampled),
                cmocka_unit_test(test_ranges_of_keys_are_listed),
                cmocka_unit_test(test_pinned_keys_are_counted),
                cmocka_unit_test(test_counts_that_a_rule_refuses),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
