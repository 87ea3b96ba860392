/* The published strategy table: 4,000 groups with weights i^-0.9, placed, grown and rebalanced. */
#include "decide/chance.h"
#include "decide/rebalance.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GROUPS = 4000, PARTS = 30, RECORDS = 12000000 };

static void add(struct rp_demand *demand, const char *name, double weight)
{
        assert_true(rp_demand_add(demand, name, strlen(name), NULL, 0, weight, -1));
}

/* parts > 1: the first group is there in that many parts, which share its weight. */
static void fill(struct rp_demand *demand, double exponent, double first_factor, int parts)
{
        double sum = first_factor, first;
        char name[32];

        *demand = (struct rp_demand){ 0 };
        for (int i = 2; i <= GROUPS; i++)
                sum += pow(i, -exponent);
        first = first_factor / sum;
        for (int i = 0; i < parts; i++) {
                snprintf(name, sizeof(name), "g0001|%02d", i);
                add(demand, name, first / parts);
        }
        for (int i = 2; i <= GROUPS; i++) {
                snprintf(name, sizeof(name), "g%04d", i);
                add(demand, name, pow(i, -exponent) / sum);
        }
        assert_true(rp_demand_seal(demand));
}

static double ratio_of(const struct rp_demand *demand, const int32_t *place, int32_t cnt, uint64_t *max)
{
        uint64_t loads[64];

        rp_loads(&demand->keys, place, cnt, loads);
        *max = 0;
        for (int32_t p = 0; p < cnt; p++)
                *max = loads[p] > *max ? loads[p] : *max;
        return (double)*max * cnt / (double)demand->total;
}

static void assert_near(double got, double want, double tolerance)
{
        if (!(fabs(got - want) <= tolerance))
                fail_msg("got %.6f, expected %.6f within %g", got, want, tolerance);
}

static void test_shares_of_the_heaviest_groups(void **state)
{
        struct rp_demand demand;
        uint64_t eight = 0;

        (void)state;
        fill(&demand, 0.9, 1, 1);
        for (size_t i = 0; i < 8; i++)
                eight += demand.keys.list[i].weight;
        assert_near((double)rp_units_heaviest(&demand.keys) / (double)demand.total, 0.0741, 0.00005);
        assert_near((double)eight / (double)demand.total, 0.2192, 0.00005);
        rp_demand_release(&demand);
}

static void test_a_table_spreads_evenly_until_the_heaviest_group_is_the_floor(void **state)
{
        static const struct {
                int32_t cnt;
                double ratio;
                long long scanned;
        } cases[] = {
                { 8, 1.00, 1500137 },
                { 16, 1.19, 889566 },
        };
        struct rp_demand demand;
        int32_t place[GROUPS];

        (void)state;
        fill(&demand, 0.9, 1, 1);
        for (size_t i = 0; i < 2; i++) {
                uint64_t max;

                assert_true(rp_spread(&demand.keys, cases[i].cnt, place));
                assert_near(ratio_of(&demand, place, cases[i].cnt, &max), cases[i].ratio, 0.005);
                assert_int_equal(llround((double)max / (double)demand.total * RECORDS), cases[i].scanned);
        }
        rp_demand_release(&demand);
}

static void test_floors_by_exponent(void **state)
{
        static const struct {
                double exponent, floor;
        } cases[] = { { 0.9, 1.00 }, { 1.1, 1.29 }, { 1.3, 2.19 } };

        (void)state;
        for (size_t i = 0; i < 3; i++) {
                struct rp_demand demand;

                fill(&demand, cases[i].exponent, 1, 1);
                assert_near(rp_floor(rp_units_heaviest(&demand.keys), demand.total, 8), cases[i].floor, 0.005);
                rp_demand_release(&demand);
        }
}

/* Where the groups are before the first one triples. */
static void place_before(int32_t *place)
{
        struct rp_demand before;

        fill(&before, 0.9, 1, 1);
        assert_true(rp_spread(&before.keys, 8, place));
        rp_demand_release(&before);
}

static void test_a_group_that_triples_cannot_be_mended_by_moving_groups(void **state)
{
        struct rp_demand demand;
        struct rp_rebalance done;
        int32_t place[GROUPS];
        uint64_t max;

        (void)state;
        place_before(place);
        fill(&demand, 0.9, 3, 1);
        assert_near((double)rp_units_heaviest(&demand.keys) / (double)demand.total, 0.1937, 0.00005);
        assert_near(ratio_of(&demand, place, 8, &max), 1.904, 0.0005);
        assert_true(rp_rebalance(&demand.keys, 8, 1.2, place, &done));
        assert_true(done.max_before == max);
        assert_near(ratio_of(&demand, place, 8, &max), 1.549, 0.0005);
        assert_true(done.max_after == max);
        assert_true(done.is_stuck);
        assert_int_equal(done.move_cnt, 468);
        assert_near((double)done.moved / (double)demand.total, 0.0443, 0.00005);
        rp_demand_release(&demand);
}

static void test_split_into_parts_it_can(void **state)
{
        struct rp_demand demand;
        struct rp_rebalance done;
        int32_t before[GROUPS], place[GROUPS - 1 + PARTS];
        bool touched[8] = { false };
        int touched_cnt = 0;
        uint64_t max;

        (void)state;
        place_before(before);
        fill(&demand, 0.9, 3, PARTS);
        assert_int_equal(demand.keys.cnt, 4029);
        for (int i = 0; i < PARTS; i++)
                place[i] = before[0];
        memcpy(place + PARTS, before + 1, (GROUPS - 1) * sizeof(*place));
        assert_true(rp_rebalance(&demand.keys, 8, 1.2, place, &done));
        assert_near(ratio_of(&demand, place, 8, &max), 1.181, 0.0005);
        assert_false(done.is_stuck);
        assert_int_equal(done.move_cnt, 14);
        assert_near((double)done.moved / (double)demand.total, 0.0904, 0.00005);
        for (int i = 0; i < PARTS; i++) {
                touched_cnt += !touched[place[i]];
                touched[place[i]] = true;
        }
        assert_int_equal(touched_cnt, 8);
        rp_demand_release(&demand);
}

/* The same decisions by definition: no shelves, no heap. */
static void rebalance_by_definition(const struct rp_units *units, int32_t cnt, double target, int32_t *place,
                                    struct rp_rebalance *done)
{
        uint64_t loads[64];

        *done = (struct rp_rebalance){ 0 };
        for (size_t i = 0; i < units->cnt; i++)
                done->total += units->list[i].weight;
        for (;;) {
                int32_t full = 0, empty = 0;
                size_t best = SIZE_MAX;

                rp_loads(units, place, cnt, loads);
                for (int32_t p = 1; p < cnt; p++) {
                        full = loads[p] > loads[full] ? p : full;
                        empty = loads[p] < loads[empty] ? p : empty;
                }
                if ((double)loads[full] * cnt <= target * (double)done->total)
                        return;
                for (size_t i = 0; i < units->cnt; i++)
                        if (place[i] == full && units->list[i].weight &&
                            loads[empty] + units->list[i].weight < loads[full] &&
                            (best == SIZE_MAX || rp_unit_compare(&units->list[i], &units->list[best]) < 0))
                                best = i;
                if (best == SIZE_MAX)
                        return;
                place[best] = empty;
                done->move_cnt++;
                done->moved += units->list[best].weight;
        }
}

static void test_moves_are_those_of_the_definition(void **state)
{
        uint64_t seed = 7;

        (void)state;
        for (int round = 0; round < 300; round++) {
                struct rp_demand demand = { 0 };
                struct rp_rebalance done, want;
                int32_t place[40], expected[40], cnt = 1 + round % 7;
                char name[16];

                for (int i = 0; i < 40; i++) {
                        seed = seed * 6364136223846793005u + 1442695040888963407u;
                        snprintf(name, sizeof(name), "k%d", (int)(seed >> 33) % 1000 * 100 + i);
                        add(&demand, name, (double)((seed >> 40) % 12)); /* many ties, and weights of 0 */
                        place[i] = expected[i] = (int32_t)((seed >> 50) % (uint64_t)cnt);
                }
                if (rp_demand_seal(&demand)) {
                        assert_true(rp_rebalance(&demand.keys, cnt, 1, place, &done));
                        rebalance_by_definition(&demand.keys, cnt, 1, expected, &want);
                        assert_memory_equal(place, expected, sizeof(place));
                        assert_true(done.move_cnt == want.move_cnt && done.moved == want.moved);
                }
                rp_demand_release(&demand);
        }
}

/* Turned round, the rows give every key the same partition. */
static void test_the_order_of_the_rows_makes_no_difference(void **state)
{
        struct rp_demand there = { 0 }, back = { 0 };
        int32_t place[100], other[100];
        char name[16];

        (void)state;
        for (int i = 0; i < 100; i++) {
                snprintf(name, sizeof(name), "%d", i);
                add(&there, name, 0.1 * (i % 5) + 0.3);
                snprintf(name, sizeof(name), "%d", 99 - i);
                add(&back, name, 0.1 * ((99 - i) % 5) + 0.3);
        }
        assert_true(rp_demand_seal(&there) && rp_demand_seal(&back));
        assert_int_equal(there.scale_bits, back.scale_bits);
        assert_true(there.total == back.total);
        assert_true(rp_spread(&there.keys, 7, place) && rp_spread(&back.keys, 7, other));
        for (int i = 0; i < 100; i++)
                assert_int_equal(place[i], other[99 - i]);
        rp_demand_release(&there);
        rp_demand_release(&back);
}

static void test_whole_weights_stay_exact_and_repeated_rows_add_up(void **state)
{
        struct rp_demand demand = { 0 };

        (void)state;
        add(&demand, "a", 3);
        add(&demand, "b", 1e15);
        add(&demand, "a", 4);
        assert_true(rp_demand_seal(&demand));
        assert_int_equal(demand.scale_bits, 0);
        assert_int_equal(demand.keys.cnt, 2);
        assert_true(demand.keys.list[0].weight == 7);
        assert_true(demand.total == 1000000000000007);
        rp_demand_release(&demand);
}

static void test_chance_of_64_partitions(void **state)
{
        static const struct {
                uint64_t each;
                double ratio;
        } cases[] = {
                { 1, 3.88 }, { 4, 2.44 }, { 16, 1.72 }, { 64, 1.36 }, { 256, 1.18 }, { 1024, 1.09 }, { 15600, 1.02 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                double simulated, ratio = rp_chance_ratio(64 * cases[i].each, 64);

                assert_near(ratio, cases[i].ratio, 0.005);
                assert_true(rp_chance_simulate(NULL, 64 * cases[i].each, 64, &simulated));
                /* The formula is for many keys each: there both must say the same. */
                if (cases[i].each >= 256)
                        assert_near((simulated - 1) / (ratio - 1), 0.85, 0.15);
                if (cases[i].each == 15600)
                        assert_near(simulated, cases[i].ratio, 0.005);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_shares_of_the_heaviest_groups),
                cmocka_unit_test(test_a_table_spreads_evenly_until_the_heaviest_group_is_the_floor),
                cmocka_unit_test(test_floors_by_exponent),
                cmocka_unit_test(test_a_group_that_triples_cannot_be_mended_by_moving_groups),
                cmocka_unit_test(test_split_into_parts_it_can),
                cmocka_unit_test(test_moves_are_those_of_the_definition),
                cmocka_unit_test(test_the_order_of_the_rows_makes_no_difference),
                cmocka_unit_test(test_whole_weights_stay_exact_and_repeated_rows_add_up),
                cmocka_unit_test(test_chance_of_64_partitions),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
