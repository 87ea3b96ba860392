/* Digests tell apart what differs, and orders and differences are named as they are. */
#include "decide/differ.h"
#include "decide/digest.h"
#include "decide/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_no_two_records_share_a_digest(void **state)
{
        static const struct rp_header one[] = { { "a", "1", 1 } }, other_value[] = { { "a", "2", 1 } },
                                      null_value[] = { { "a", NULL, 0 } }, empty_value[] = { { "a", "", 0 } },
                                      two[] = { { "a", "1", 1 }, { "b", "2", 1 } },
                                      swapped[] = { { "b", "2", 1 }, { "a", "1", 1 } },
                                      twice[] = { { "a", "1", 1 }, { "a", "1", 1 } }, shifted[] = { { "a1", "", 0 } };
        const struct rp_record records[] = {
                { 0 },
                { .key = "" },
                { .value = "" },
                { .key = "", .value = "" },
                { .key = "ab", .key_len = 2, .value = "c", .value_len = 1 },
                { .key = "a", .key_len = 1, .value = "bc", .value_len = 2 },
                { .key = "abc", .key_len = 3 },
                { .value = "abc", .value_len = 3 },
                { .timestamp_ms = 1 },
                { .timestamp_ms = -1 },
                { .headers = one, .header_cnt = 1 },
                { .headers = other_value, .header_cnt = 1 },
                { .headers = null_value, .header_cnt = 1 },
                { .headers = empty_value, .header_cnt = 1 },
                { .headers = two, .header_cnt = 2 },
                { .headers = swapped, .header_cnt = 2 },
                { .headers = twice, .header_cnt = 2 },
                { .headers = shifted, .header_cnt = 1 },
        };
        size_t cnt = sizeof(records) / sizeof(*records);

        (void)state;
        for (size_t i = 0; i < cnt; i++)
                for (size_t j = 0; j < cnt; j++)
                        assert_int_equal(rp_digest_equals(rp_digest_record(&records[i]), rp_digest_record(&records[j])),
                                         i == j);
}

static void test_place_is_not_content(void **state)
{
        struct rp_record a = { .key = "k", .key_len = 1, .partition = 1, .offset = 2 };
        struct rp_record b = { .key = "k", .key_len = 1, .partition = 3, .offset = 4, .log_append_time = true };

        (void)state;
        assert_true(rp_digest_equals(rp_digest_record(&a), rp_digest_record(&b)));
}

/* Written down once, so that a change of the encoding, or another machine, is noticed: digests may be kept. */
static void test_digest_is_pinned(void **state)
{
        static const struct rp_header headers[] = { { "h", NULL, 0 }, { "h", "x", 1 } };
        struct rp_record rec = { .key = "key", .key_len = 3, .value = "value", .value_len = 5, .timestamp_ms = 1700000000000,
                                 .headers = headers, .header_cnt = 2 };
        char text[RP_DIGEST_TEXT_SIZE];

        (void)state;
        rp_digest_print(rp_digest_record(&rec), text);
        assert_string_equal(text, "b333fba8fb60e88a3475340f0e1795cb");
}

static void test_sum_ignores_order_and_counts(void **state)
{
        struct rp_digest a = { UINT64_MAX, UINT64_MAX }, b = { 5, 7 }, ab = { 0 }, ba = { 0 }, abb = { 0 };

        (void)state;
        rp_digest_add(&ab, a);
        rp_digest_add(&ab, b);
        rp_digest_add(&ba, b);
        rp_digest_add(&ba, a);
        assert_true(rp_digest_equals(ab, ba));
        assert_int_equal(ab.low, 6); /* the carry went over */
        assert_int_equal(ab.high, 5);
        abb = ab;
        rp_digest_add(&abb, b);
        assert_false(rp_digest_equals(ab, abb));
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

static size_t differing;
static uint64_t last_differing;

static void count_differing(void *arg, uint64_t group)
{
        (void)arg;
        differing++;
        last_differing = group;
}

static uint64_t group_of(unsigned key)
{
        char text[16];
        struct rp_record rec = { .key = text, .key_len = (size_t)snprintf(text, sizeof(text), "key-%u", key) };

        return rp_digest_group(&rec);
}

static struct rp_digest digest_of(unsigned value)
{
        struct rp_record rec = { .value = &value, .value_len = sizeof(value) };

        return rp_digest_record(&rec);
}

/* Two records of each key on one side, one key's the other way round. */
static void fill(struct rp_order *order, int side, unsigned keys, unsigned swapped_key)
{
        for (unsigned round = 0; round < 2; round++)
                for (unsigned key = 0; key < keys; key++)
                        assert_true(rp_order_add(order, side, group_of(key), digest_of(key == swapped_key ? 1 - round : round),
                                                 true));
}

static void test_order_sees_one_swap(void **state)
{
        struct rp_order order;

        (void)state;
        rp_order_init(&order, RP_ORDER_CHAIN, 64 << 20, 0);
        fill(&order, 0, 5000, UINT32_MAX);
        fill(&order, 1, 5000, 4321);
        differing = 0;
        assert_int_equal(rp_order_compare(&order, count_differing, NULL), 5000);
        assert_int_equal(differing, 1);
        assert_int_equal(last_differing, group_of(4321));
        assert_true(order.limit == UINT64_MAX);
        rp_order_release(&order);
        assert_int_equal(order.bytes, 0);
}

static void test_order_sees_keys_of_one_side(void **state)
{
        struct rp_order order;

        (void)state;
        rp_order_init(&order, RP_ORDER_CHAIN, 1 << 20, 0);
        fill(&order, 0, 100, UINT32_MAX);
        fill(&order, 1, 102, UINT32_MAX);
        differing = 0;
        assert_int_equal(rp_order_compare(&order, count_differing, NULL), 102);
        assert_int_equal(differing, 2);
        rp_order_release(&order);
}

/* Range after range, every key is compared once, and nothing that was only dropped is taken for a difference. */
static void test_order_takes_several_ranges_when_memory_is_short(void **state)
{
        enum { KEYS = 100000, SWAPPED = 77777 };
        struct rp_order order;
        uint64_t after = 0, compared = 0;
        unsigned ranges = 0;

        (void)state;
        rp_order_init(&order, RP_ORDER_CHAIN, 1 << 20, 0);
        differing = 0;
        do {
                rp_order_restart(&order, after);
                fill(&order, 0, KEYS, UINT32_MAX);
                fill(&order, 1, KEYS, SWAPPED);
                compared += rp_order_compare(&order, count_differing, NULL);
                assert_true(order.limit > after);
                after = order.limit;
                ranges++;
        } while (after != UINT64_MAX);
        assert_int_equal(compared, KEYS);
        assert_int_equal(differing, 1);
        assert_int_equal(last_differing, group_of(SWAPPED));
        assert_in_range(ranges, 4, 12);
        assert_true(order.peak_bytes <= 1 << 20);
        rp_order_release(&order);
}

static void test_order_memory_of_a_million_keys(void **state)
{
        enum { KEYS = 1000000 };
        struct rp_order order;

        (void)state;
        rp_order_init(&order, RP_ORDER_CHAIN, 1 << 30, 0);
        for (unsigned key = 0; key < KEYS; key++)
                assert_true(rp_order_add(&order, key & 1, group_of(key), digest_of(key), true));
        assert_int_equal(order.key_cnt, KEYS);
        assert_true(order.limit == UINT64_MAX);
        assert_true(order.peak_bytes <= RP_ORDER_BYTES_PER_MILLION_KEYS + RP_ORDER_BYTES_PER_MILLION_KEYS / 50);
        assert_true(order.bytes > 24 * KEYS);
        rp_order_release(&order);
}

static void test_order_sample_has_a_limit(void **state)
{
        struct rp_order order;

        (void)state;
        rp_order_init(&order, RP_ORDER_CHAIN, 64 << 20, 1000);
        fill(&order, 0, 20000, UINT32_MAX);
        fill(&order, 1, 20000, UINT32_MAX);
        differing = 0;
        assert_in_range(rp_order_compare(&order, count_differing, NULL), 300, 1000);
        assert_int_equal(differing, 0);
        assert_true(order.limit < UINT64_MAX / 16);
        rp_order_release(&order);
}

static void test_order_knows_the_latest(void **state)
{
        struct rp_order order;
        struct rp_digest sums[2] = { { 0 } };

        (void)state;
        rp_order_init(&order, RP_ORDER_LATEST, 1 << 20, 0);
        for (unsigned key = 1; key < 100; key++) {
                assert_true(rp_order_add(&order, 0, group_of(key), digest_of(1), true)); /* compacted away on the other side */
                assert_true(rp_order_add(&order, 0, group_of(key), digest_of(2), true));
                assert_true(rp_order_add(&order, 1, group_of(key), digest_of(2), true));
        }
        assert_true(rp_order_add(&order, 0, group_of(7), digest_of(9), false)); /* a tombstone here, */
        assert_true(rp_order_add(&order, 1, group_of(8), digest_of(9), false)); /* and there,        */
        assert_true(rp_order_add(&order, 0, group_of(500), digest_of(9), false)); /* and one of a key that is gone there */
        differing = 0;
        assert_int_equal(rp_order_compare(&order, count_differing, NULL), 100);
        assert_int_equal(differing, 2);
        assert_int_equal(rp_order_sum(&order, 0, &sums[0]), 98);
        assert_int_equal(rp_order_sum(&order, 1, &sums[1]), 98);
        assert_false(rp_digest_equals(sums[0], sums[1]));
        rp_order_release(&order);
}

/* What next() gives and put() takes is the whole table; sums do not depend on the order of insertion. */
static void test_order_can_be_stored(void **state)
{
        struct rp_order a, b;
        const struct rp_order_slot *slot;
        struct rp_digest sums[2] = { { 0 } };
        uint64_t cnt = 0;

        (void)state;
        rp_order_init(&a, RP_ORDER_CHAIN, 64 << 20, 0);
        rp_order_init(&b, RP_ORDER_CHAIN, 64 << 20, 0);
        fill(&a, 0, 30000, UINT32_MAX);
        fill(&a, 1, 30000, 5);
        for (uint64_t cursor = 0; (slot = rp_order_next(&a, &cursor)); cnt++)
                assert_true(rp_order_put(&b, slot));
        assert_int_equal(cnt, 30000);
        differing = 0;
        assert_int_equal(rp_order_compare(&b, count_differing, NULL), 30000);
        assert_int_equal(differing, 1);
        assert_int_equal(rp_order_sum(&a, 0, &sums[0]), 30000);
        assert_int_equal(rp_order_sum(&b, 0, &sums[1]), 30000);
        assert_true(rp_digest_equals(sums[0], sums[1]));
        rp_order_release(&a);
        rp_order_release(&b);
}

/* ---- differences ----------------------------------------------------------------------------------------------------- */

struct found {
        rp_difference_t kind;
        int64_t source, target;
};

static struct found found[64];
static size_t found_cnt;

static void on_difference(void *arg, rp_difference_t kind, const struct rp_entry *source, const struct rp_entry *target)
{
        (void)arg;
        assert_true(found_cnt < 64);
        found[found_cnt++] = (struct found){ kind, source ? source->offset : -1, target ? target->offset : -1 };
}

/*
 * Letters are records: the same letter has the same content, and a capital one is a tombstone. All of one key unless a
 * digit switches to another. What follows a bar is late.
 */
static size_t entries(const char *letters, struct rp_entry *out, bool is_keyed)
{
        size_t cnt = 0;
        unsigned key = 0;
        bool is_late = false;

        for (; *letters; letters++) {
                if (*letters == '|') {
                        is_late = true;
                        continue;
                }
                if (*letters >= '0' && *letters <= '9') {
                        key = (unsigned)*letters;
                        continue;
                }
                out[cnt] = (struct rp_entry){ .group = group_of(key), .digest = digest_of((unsigned)*letters),
                                              .turn = cnt, .offset = (int64_t)cnt, .is_keyed = is_keyed,
                                              .is_live = *letters >= 'a', .is_late = is_late };
                cnt++;
        }
        return cnt;
}

static void differ(const char *source, const char *target, bool is_keyed)
{
        struct rp_entry a[64], b[64];
        size_t a_cnt = entries(source, a, is_keyed), b_cnt = entries(target, b, is_keyed);

        found_cnt = 0;
        assert_true(rp_differ(a, a_cnt, b, b_cnt, false, on_difference, NULL));
}

static void test_differences_are_named(void **state)
{
        static const struct {
                const char *source, *target;
                size_t cnt;
                struct found first;
        } cases[] = {
                { "", "", 0, { 0 } },
                { "abc", "abc", 0, { 0 } },
                { "aab", "aab", 0, { 0 } },
                { "abc", "ac", 1, { RP_MISSING, 1, -1 } },
                { "aab", "ab", 1, { RP_MISSING, 1, -1 } },
                { "", "a", 1, { RP_UNEXPECTED, -1, 0 } },
                { "abc", "abcx", 1, { RP_UNEXPECTED, -1, 3 } },
                { "abc", "abbc", 1, { RP_DUPLICATE, 1, 2 } },
                { "abc", "axc", 1, { RP_CORRUPT, 1, 1 } },
                { "abc", "bac", 1, { RP_OUT_OF_ORDER, 1, 0 } },
                { "abcdef", "fabcde", 1, { RP_OUT_OF_ORDER, 5, 0 } },
                { "1ab2cd", "2cd1ab", 0, { 0 } }, /* between keys there is no order */
                { "1ab2cd", "2dc1ab", 1, { RP_OUT_OF_ORDER, 3, 0 } },
                { "1a2b", "1a1b", 2, { RP_UNEXPECTED, -1, 1 } }, /* under another key: both sides are told */
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                bool is_found = !cases[i].cnt;

                differ(cases[i].source, cases[i].target, true);
                if (found_cnt != cases[i].cnt)
                        fail_msg("%s / %s: %zu differences", cases[i].source, cases[i].target, found_cnt);
                for (size_t f = 0; f < found_cnt; f++)
                        is_found |= found[f].kind == cases[i].first.kind && found[f].source == cases[i].first.source &&
                                    found[f].target == cases[i].first.target;
                if (!is_found)
                        fail_msg("%s / %s: found %s %d %d", cases[i].source, cases[i].target,
                                 rp_difference_word(found[0].kind), (int)found[0].source, (int)found[0].target);
        }
        differ("abc", "cba", false); /* without a key there is no order */
        assert_int_equal(found_cnt, 0);
}

static void count_kinds(const char *source, const char *target, bool latest, size_t differences, size_t in_flight)
{
        struct rp_entry a[64], b[64];
        size_t a_cnt = entries(source, a, true), b_cnt = entries(target, b, true), flying = 0;

        if (latest) {
                a_cnt = rp_entries_keep_latest(a, a_cnt);
                b_cnt = rp_entries_keep_latest(b, b_cnt);
        }
        found_cnt = 0;
        assert_true(rp_differ(a, a_cnt, b, b_cnt, latest, on_difference, NULL));
        for (size_t i = 0; i < found_cnt; i++)
                flying += found[i].kind == RP_IN_FLIGHT;
        if (found_cnt - flying != differences || flying != in_flight)
                fail_msg("%s / %s: %zu differences and %zu in flight, not %zu and %zu", source, target, found_cnt - flying,
                         flying, differences, in_flight);
}

static void test_late_records_are_no_differences(void **state)
{
        (void)state;
        count_kinds("abc", "ab|c", false, 0, 1);   /* on its way */
        count_kinds("ab|c", "abc", false, 0, 1);   /* the source's end was fixed a moment before */
        count_kinds("abc", "ab|d", false, 1, 0);   /* what came is something else */
        count_kinds("abc|d", "abc", false, 0, 0);  /* new on one side alone */
        count_kinds("abc|d", "abc|d", false, 0, 0);
        count_kinds("abb", "ab|b", false, 0, 1);
        count_kinds("ab", "abb|b", false, 1, 0);   /* twice is still twice */
        count_kinds("abc", "ac|b", false, 1, 1);   /* but it comes in the wrong order */
}

static void test_latest_of_each_key(void **state)
{
        (void)state;
        count_kinds("abc1xy", "c1y", true, 0, 0);
        count_kinds("abc", "ab", true, 1, 0);
        count_kinds("abC", "", true, 0, 0);        /* a tombstone is as good as nothing */
        count_kinds("abC", "ab", true, 1, 0);
        count_kinds("ab1X", "b1xX", true, 0, 0);
        count_kinds("ab", "a|b", true, 0, 1);      /* the newer state is on its way */
        count_kinds("a|b", "a", true, 0, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_two_records_share_a_digest),
                cmocka_unit_test(test_place_is_not_content),
                cmocka_unit_test(test_digest_is_pinned),
                cmocka_unit_test(test_sum_ignores_order_and_counts),
                cmocka_unit_test(test_order_sees_one_swap),
                cmocka_unit_test(test_order_sees_keys_of_one_side),
                cmocka_unit_test(test_order_takes_several_ranges_when_memory_is_short),
                cmocka_unit_test(test_order_memory_of_a_million_keys),
                cmocka_unit_test(test_order_sample_has_a_limit),
                cmocka_unit_test(test_order_knows_the_latest),
                cmocka_unit_test(test_order_can_be_stored),
                cmocka_unit_test(test_differences_are_named),
                cmocka_unit_test(test_late_records_are_no_differences),
                cmocka_unit_test(test_latest_of_each_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
