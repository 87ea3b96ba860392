#include "capacity/apportion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next_random(uint32_t *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 8;
}

static void test_weights_are_exact_decimals(void **state)
{
        static const struct {
                const char *text;
                uint64_t millionths;
        } good[] = {
                { "0", 0 }, { "1", 1000000 }, { "1.5", 1500000 }, { "0.000001", 1 }, { "0.1", 100000 },
                { "1000000", 1000000000000 }, { "1000000.000000", 1000000000000 }, { "007.50", 7500000 },
        };
        static const char *const bad[] = { "",     "-1",  "+1",        "1.",       ".5",  "1e3", "1,5", " 1", "1 ", "0x1",
                                           "1..5", "1.0000001", "1000000.000001", "1000001", "99999999999999999999", "x" };
        uint64_t weight;

        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                assert_true(kr_decimal_parse(good[i].text, 1000000, &weight));
                assert_int_equal(weight, good[i].millionths);
        }
        weight = 42;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                if (kr_decimal_parse(bad[i], 1000000, &weight) || weight != 42)
                        fail_msg("\"%s\" was taken as a weight", bad[i]);
        assert_true(kr_decimal_parse("1000000000000", 1000000000000, &weight)); /* the largest limit there is */
        assert_int_equal(weight, UINT64_C(1000000000000000000));
        assert_false(kr_decimal_parse("1000000000000.000001", 1000000000000, &weight));
        assert_false(kr_decimal_parse("9999999999999", 1000000000000, &weight));
}

/* The decimal that was written, not the double next to it: with 0.1 + 0.2 a double would be off. */
static void test_json_decimals_are_read_as_written(void **state)
{
        struct kr_error err;

        (void)state;
        for (uint32_t millionths = 0; millionths < 3000000; millionths += 7) {
                char text[32];
                struct kr_json root = { .file = "w" };
                uint64_t weight;

                snprintf(text, sizeof(text), "%u.%06u", millionths / 1000000, millionths % 1000000);
                root.value = json_loads(text, JSON_DECODE_ANY, NULL);
                assert_true(kr_weight_parse(&root, &weight, &err));
                assert_int_equal(weight, millionths);
                json_decref(root.value);
        }
}

static void apportion(const uint64_t *weights, size_t cnt, uint64_t total, const uint64_t *held, uint64_t *quotas)
{
        assert_true(kr_apportion(weights, cnt, total, held, quotas));
}

static void test_quotas_by_largest_remainder(void **state)
{
        /* The textbook case of Hamilton's method: six parties, ten seats. */
        const uint64_t votes[] = { 47000, 16000, 15900, 12000, 6000, 3100 };
        const uint64_t want[] = { 5, 2, 1, 1, 1, 0 };
        uint64_t quotas[6];

        (void)state;
        apportion(votes, 6, 10, NULL, quotas);
        assert_memory_equal(quotas, want, sizeof(want));
        apportion((const uint64_t[]){ 6, 6, 3 }, 3, 30, NULL, quotas);
        assert_memory_equal(quotas, ((const uint64_t[]){ 12, 12, 6 }), 3 * sizeof(*quotas));
        apportion((const uint64_t[]){ 0, 1, 0, 1 }, 4, 3, NULL, quotas);
        assert_memory_equal(quotas, ((const uint64_t[]){ 0, 2, 0, 1 }), 4 * sizeof(*quotas));
        /* A tie: whoever holds the unit keeps it, else the lower index. */
        apportion((const uint64_t[]){ 1, 1, 1 }, 3, 4, (const uint64_t[]){ 1, 1, 2 }, quotas);
        assert_memory_equal(quotas, ((const uint64_t[]){ 1, 1, 2 }), 3 * sizeof(*quotas));
        apportion((const uint64_t[]){ 1, 1, 1 }, 3, 4, (const uint64_t[]){ 4, 0, 0 }, quotas);
        assert_memory_equal(quotas, ((const uint64_t[]){ 2, 1, 1 }), 3 * sizeof(*quotas));
}

static void test_quotas_do_not_overflow(void **state)
{
        size_t cnt = 1000000;
        uint64_t *weights = calloc(cnt, sizeof(*weights));
        uint64_t *quotas = calloc(cnt, sizeof(*quotas));
        uint64_t sum = 0;

        (void)state;
        for (size_t i = 0; i < cnt; i++)
                weights[i] = KR_WEIGHT_MAX - i % 3;
        apportion(weights, cnt, 1u << 24, NULL, quotas);
        for (size_t i = 0; i < cnt; i++) {
                assert_in_range(quotas[i], 16, 17);
                sum += quotas[i];
        }
        assert_int_equal(sum, 1u << 24);
        free(weights);
        free(quotas);
}

/* ---- minimality, judged by trying every table there is ---- */

enum { SLOT_MAX = 6, PARTY_MAX = 3 };

/* Whether these counts are an outcome of the largest remainder method, whatever way ties go. */
static bool is_fair(const uint64_t *weights, int parties, int slots, const int *counts)
{
        uint64_t sum = 0;

        for (int p = 0; p < parties; p++)
                sum += weights[p];
        for (int p = 0; p < parties; p++) {
                int64_t extra_p = counts[p] - (int64_t)(weights[p] * (uint64_t)slots / sum);

                if (extra_p < 0 || extra_p > 1)
                        return false;
                for (int q = 0; q < parties; q++) {
                        int64_t extra_q = counts[q] - (int64_t)(weights[q] * (uint64_t)slots / sum);

                        if (extra_p == 1 && extra_q == 0 &&
                            weights[p] * (uint64_t)slots % sum < weights[q] * (uint64_t)slots % sum)
                                return false;
                }
        }
        return true;
}

static void decode(int code, int parties, int slots, int32_t *table)
{
        for (int s = 0; s < slots; s++, code /= parties)
                table[s] = code % parties;
}

static int power(int base, int exponent)
{
        return exponent ? base * power(base, exponent - 1) : 1;
}

static int distance(const int32_t *a, const int32_t *b, int slots)
{
        int moved = 0;

        for (int s = 0; s < slots; s++)
                moved += a[s] != b[s];
        return moved;
}

static void check_minimal(const int32_t *start, const uint64_t *weights, int parties, int slots)
{
        uint64_t held[PARTY_MAX] = { 0 }, quotas[PARTY_MAX];
        int32_t end[SLOT_MAX], other[SLOT_MAX];
        int counts[PARTY_MAX] = { 0 };
        int best = SLOT_MAX + 1;

        for (int s = 0; s < slots; s++)
                if (start[s] < parties)
                        held[start[s]]++;
        memcpy(end, start, sizeof(end));
        apportion(weights, (size_t)parties, (uint64_t)slots, held, quotas);
        assert_true(kr_reassign(end, (size_t)slots, quotas, parties));
        for (int s = 0; s < slots; s++) {
                assert_in_range(end[s], 0, parties - 1);
                counts[end[s]]++;
        }
        for (int p = 0; p < parties; p++)
                assert_int_equal(counts[p], quotas[p]);
        assert_true(is_fair(weights, parties, slots, counts));
        for (int code = 0; code < power(parties, slots); code++) {
                int tried[PARTY_MAX] = { 0 };

                decode(code, parties, slots, other);
                for (int s = 0; s < slots; s++)
                        tried[other[s]]++;
                if (is_fair(weights, parties, slots, tried) && distance(start, other, slots) < best)
                        best = distance(start, other, slots);
        }
        assert_int_equal(distance(start, end, slots), best);
}

static void test_no_other_table_moves_fewer_slots(void **state)
{
        static const uint64_t weights[][PARTY_MAX] = {
                { 1, 1, 1 }, { 2, 1, 1 }, { 0, 1, 1 }, { 1, 0, 0 }, { 5, 3, 1 }, { 1, 2, 4 }, { 3, 3, 2 }, { 1, 10, 10 },
        };

        (void)state;
        for (int parties = 2; parties <= PARTY_MAX; parties++)
                for (int slots = 1; slots <= SLOT_MAX - (parties == PARTY_MAX); slots++)
                        for (size_t w = 0; w < sizeof(weights) / sizeof(weights[0]); w++)
                                /* One owner more than there are parties: one of them is gone. */
                                for (int code = 0; code < power(parties + 1, slots); code++) {
                                        int32_t start[SLOT_MAX] = { 0 };

                                        decode(code, parties + 1, slots, start);
                                        check_minimal(start, weights[w], parties, slots);
                                }
}

/* Where several tables are as near, the one that sends more keys where Java does is taken. */
static void test_slots_that_move_move_home(void **state)
{
        int32_t owners[12 * 48];
        uint64_t quotas[16];
        int moved = 0, home = 0;

        (void)state;
        for (int s = 0; s < 12 * 48; s++)
                owners[s] = s % 12;
        for (int p = 0; p < 16; p++)
                quotas[p] = 12 * 48 / 16;
        assert_true(kr_reassign(owners, 12 * 48, quotas, 16));
        for (int s = 0; s < 12 * 48; s++) {
                moved += owners[s] != s % 12;
                home += owners[s] == s % 16;
        }
        assert_int_equal(moved * 4, 12 * 48);
        assert_int_equal(home * 2, 12 * 48); /* the quarter that moved, and the quarter where 12 and 16 agree */
}

/* Fixed-point weights of any size: the table after adding and removing a party has the loads it had before. */
static void test_adding_and_removing_comes_back_to_the_same_loads(void **state)
{
        uint32_t random = 7;

        (void)state;
        for (int round = 0; round < 200; round++) {
                enum { SLOTS = 5040, MAX = 12 };
                size_t parties = 2 + next_random(&random) % (MAX - 2);
                uint64_t weights[MAX + 1], before[MAX + 1], quotas[MAX + 1], held[MAX + 1];
                int32_t owners[SLOTS];
                bool tie = false;

                for (size_t p = 0; p <= parties; p++)
                        weights[p] = round % 2 ? KR_WEIGHT_ONE : 1 + next_random(&random);
                for (int s = 0; s < SLOTS; s++)
                        owners[s] = (int32_t)((size_t)s % parties);
                apportion(weights, parties, SLOTS, NULL, before);
                assert_true(kr_reassign(owners, SLOTS, before, (int32_t)parties));
                apportion(weights, parties + 1, SLOTS, before, quotas);
                assert_true(kr_reassign(owners, SLOTS, quotas, (int32_t)parties + 1));
                apportion(weights, parties, SLOTS, quotas, held);
                assert_true(kr_reassign(owners, SLOTS, held, (int32_t)parties));
                for (size_t p = 0; p < parties; p++)
                        for (size_t q = 0; q < p; q++)
                                tie = tie || weights[p] == weights[q];
                memset(held, 0, sizeof(held));
                for (int s = 0; s < SLOTS; s++)
                        held[owners[s]]++;
                for (size_t p = 0; p < parties; p++)
                        /* Equal weights may trade the odd slot among each other. */
                        assert_in_range(held[p], before[p] - tie, before[p] + tie);
        }
}

static void test_ten_to_twelve_nodes_in_1024_slots(void **state)
{
        int32_t owners[1024];
        uint64_t weights[12], held[12] = { 0 }, quotas[12];
        int moved = 0;

        (void)state;
        for (int p = 0; p < 12; p++)
                weights[p] = 1;
        for (int s = 0; s < 1024; s++) {
                owners[s] = s % 10;
                held[owners[s]]++;
        }
        apportion(weights, 12, 1024, held, quotas);
        assert_true(kr_reassign(owners, 1024, quotas, 12));
        for (int s = 0; s < 1024; s++)
                moved += owners[s] != s % 10;
        assert_int_equal(moved, 170); /* 16.6 % */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_weights_are_exact_decimals),
                cmocka_unit_test(test_json_decimals_are_read_as_written),
                cmocka_unit_test(test_quotas_by_largest_remainder),
                cmocka_unit_test(test_quotas_do_not_overflow),
                cmocka_unit_test(test_no_other_table_moves_fewer_slots),
                cmocka_unit_test(test_slots_that_move_move_home),
                cmocka_unit_test(test_adding_and_removing_comes_back_to_the_same_loads),
                cmocka_unit_test(test_ten_to_twelve_nodes_in_1024_slots),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
