/* decide/dues: shares are proportional but where a bound holds them, and every bound that holds is one that has to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/dues.h"

#include <stdlib.h>

enum { TAKER_MAX = 8, RACK_MAX = 3 };

static uint32_t next_random(uint32_t *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 8;
}

static double value(const struct rp_due *due)
{
        return (double)due->whole + (double)due->part / (double)due->of;
}

static bool is_less(double a, double b)
{
        return a < b - 1e-9;
}

static void test_in_proportion_to_capacity(void **state)
{
        const struct rp_taker takers[] = { { 6, 30, 0 }, { 6, 30, 0 }, { 3, 30, 0 }, { 1, 30, 0 } };
        struct rp_due dues[4];

        (void)state;
        assert_true(rp_dues(takers, 3, NULL, 0, 30, dues));
        assert_int_equal(dues[0].whole, 12);
        assert_int_equal(dues[2].whole, 6);
        assert_int_equal(dues[2].part, 0);
        assert_true(rp_dues(takers, 4, NULL, 0, 10, dues));
        assert_int_equal(rp_due_hundredths(&dues[0]), 375);
        assert_int_equal(rp_due_hundredths(&dues[2]), 188);
        assert_int_equal(rp_due_hundredths(&dues[3]), 63);
        /* Fractions .75 .75 .875 .625: the third comes first, the first two tie. */
        assert_int_equal(dues[2].rank, 0);
        assert_int_equal(dues[0].rank, 1);
        assert_int_equal(dues[1].rank, 1);
        assert_int_equal(dues[3].rank, 3);
}

/*
 * What makes shares fair under bounds: somebody who gets less for his capacity than another is full himself, or his rack
 * is, or the other's rack would otherwise have less than its least.
 */
static void test_every_bound_that_holds_has_to(void **state)
{
        uint32_t seed = 31;
        int rounds = 0, bound = 0;

        (void)state;
        while (rounds < 3000) {
                struct rp_taker takers[TAKER_MAX];
                struct rp_rack_bounds racks[RACK_MAX] = { { 0, 0 } };
                struct rp_due dues[TAKER_MAX];
                size_t cnt = 1 + next_random(&seed) % TAKER_MAX, rack_cnt = 1 + next_random(&seed) % RACK_MAX;
                uint64_t room[RACK_MAX] = { 0 }, least = 0, most = 0, total;
                double sum = 0, held[RACK_MAX] = { 0 };

                for (size_t i = 0; i < cnt; i++) {
                        takers[i] = (struct rp_taker){ 1 + next_random(&seed) % 9, 1 + next_random(&seed) % 12,
                                                       i < rack_cnt ? i : next_random(&seed) % rack_cnt };
                        room[takers[i].rack] += takers[i].most;
                }
                for (size_t k = 0; k < rack_cnt; k++) {
                        racks[k].most = next_random(&seed) % (room[k] + 1);
                        racks[k].least = next_random(&seed) % (racks[k].most + 1);
                        least += racks[k].least;
                        most += racks[k].most;
                }
                total = least + next_random(&seed) % (most - least + 1);
                if (!total)
                        continue;
                rounds++;
                assert_true(rp_dues(takers, cnt, racks, rack_cnt, total, dues));
                for (size_t i = 0; i < cnt; i++) {
                        sum += value(&dues[i]);
                        held[takers[i].rack] += value(&dues[i]);
                        assert_true(dues[i].part < dues[i].of);
                        assert_false(is_less((double)takers[i].most, value(&dues[i])));
                }
                assert_false(is_less(sum, (double)total) || is_less((double)total, sum));
                for (size_t k = 0; k < rack_cnt; k++) {
                        assert_false(is_less(held[k], (double)racks[k].least));
                        assert_false(is_less((double)racks[k].most, held[k]));
                }
                for (size_t i = 0; i < cnt; i++)
                        for (size_t j = 0; j < cnt; j++) {
                                size_t mine = takers[i].rack, his = takers[j].rack;

                                if (!is_less(value(&dues[i]) / (double)takers[i].capacity,
                                             value(&dues[j]) / (double)takers[j].capacity))
                                        continue;
                                bound++;
                                if (!is_less(value(&dues[i]), (double)takers[i].most))
                                        continue;
                                if (mine != his && !is_less(held[mine], (double)racks[mine].most))
                                        continue;
                                assert_true(mine != his && !is_less((double)racks[his].least, held[his]));
                        }
        }
        assert_true(bound > 1000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_in_proportion_to_capacity),
                cmocka_unit_test(test_every_bound_that_holds_has_to),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
