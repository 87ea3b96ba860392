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

static void fill(struct rp_order *order, unsigned keys, unsigned swapped_key, size_t memory)
{
        assert_true(rp_order_init(order, memory));
        for (unsigned round = 0; round < 2; round++)
                for (unsigned key = 0; key < keys; key++)
                        assert_true(rp_order_add(order, group_of(key), digest_of(key == swapped_key ? 1 - round : round)));
}

static void test_order_sees_one_swap(void **state)
{
        struct rp_order a, b;

        (void)state;
        fill(&a, 5000, UINT32_MAX, 64 << 20);
        fill(&b, 5000, 4321, 64 << 20);
        differing = 0;
        assert_int_equal(rp_order_compare(&a, &b, count_differing, NULL), 5000);
        assert_int_equal(differing, 1);
        assert_int_equal(last_differing, group_of(4321));
        assert_true(rp_order_share(&a, &b) == 1.0);
        differing = 0;
        rp_order_compare(&a, &a, count_differing, NULL);
        assert_int_equal(differing, 0);
        rp_order_release(&a);
        rp_order_release(&b);
}

static void test_order_sees_keys_of_one_side(void **state)
{
        struct rp_order a, b;

        (void)state;
        fill(&a, 100, UINT32_MAX, 1 << 20);
        fill(&b, 102, UINT32_MAX, 1 << 20);
        differing = 0;
        assert_int_equal(rp_order_compare(&a, &b, count_differing, NULL), 102);
        assert_int_equal(differing, 2);
        rp_order_release(&a);
        rp_order_release(&b);
}

/* Sides of different memory: what both kept is compared, and nothing is taken for a difference that was only dropped. */
static void test_order_falls_back_to_a_sample(void **state)
{
        struct rp_order a, b;
        size_t compared;

        (void)state;
        fill(&a, 50000, UINT32_MAX, 64 << 20);
        fill(&b, 50000, UINT32_MAX, 400 << 10);
        assert_true(b.slot_cnt * sizeof(*b.slots) * 2 <= 400 << 10);
        differing = 0;
        compared = rp_order_compare(&a, &b, count_differing, NULL);
        assert_int_equal(differing, 0);
        assert_true(compared > 1000 && compared < 50000);
        assert_true(rp_order_share(&a, &b) < 0.26);
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

/* Letters are records: the same letter has the same content. All of one key unless a digit switches to another. */
static size_t entries(const char *letters, struct rp_entry *out, bool is_keyed)
{
        size_t cnt = 0;
        unsigned key = 0;

        for (; *letters; letters++) {
                if (*letters >= '0' && *letters <= '9') {
                        key = (unsigned)*letters;
                        continue;
                }
                out[cnt] = (struct rp_entry){ .group = group_of(key), .digest = digest_of((unsigned)*letters),
                                              .turn = cnt, .offset = (int64_t)cnt, .is_keyed = is_keyed };
                cnt++;
        }
        return cnt;
}

static void differ(const char *source, const char *target, bool is_keyed)
{
        struct rp_entry a[64], b[64];
        size_t a_cnt = entries(source, a, is_keyed), b_cnt = entries(target, b, is_keyed);

        found_cnt = 0;
        assert_true(rp_differ(a, a_cnt, b, b_cnt, on_difference, NULL));
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_two_records_share_a_digest),
                cmocka_unit_test(test_place_is_not_content),
                cmocka_unit_test(test_digest_is_pinned),
                cmocka_unit_test(test_sum_ignores_order_and_counts),
                cmocka_unit_test(test_order_sees_one_swap),
                cmocka_unit_test(test_order_sees_keys_of_one_side),
                cmocka_unit_test(test_order_falls_back_to_a_sample),
                cmocka_unit_test(test_differences_are_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
