/* Rates over every window, hysteresis, who is named: by a clock that the test turns. */
#include "decide/throttle.h"
#include "report/hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static uint64_t any(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

/* ---- a rate ------------------------------------------------------------------------------------------------------ */

enum { TAKINGS = 400 };

struct taking {
        int64_t at_ms;
        uint64_t amount;
};

/*
 * A caller that takes whenever it may, works for a while at times and waits as told. Between any two of its takings, both
 * counted, no more may go than the bound says; and it must never be kept waiting longer than what it took is worth.
 */
static void check_rate(int64_t per_second, uint64_t amount_max)
{
        static struct taking takings[TAKINGS];
        struct rp_bucket bucket = { 0 };
        int64_t now = 0;

        rp_bucket_set(&bucket, per_second);
        for (size_t i = 0; i < TAKINGS; i++) {
                int64_t wait, work = any(4) ? (int64_t)any(20) : (int64_t)any(3000);

                rp_bucket_pass(&bucket, work);
                now += work;
                wait = rp_bucket_wait_ms(&bucket);
                if (wait) {
                        assert_true((double)wait <= (double)amount_max * 1000 / (double)per_second + 2);
                        rp_bucket_pass(&bucket, wait - 1);
                        assert_int_equal(rp_bucket_wait_ms(&bucket), 1);
                        rp_bucket_pass(&bucket, 1);
                        now += wait;
                }
                assert_int_equal(rp_bucket_wait_ms(&bucket), 0);
                takings[i] = (struct taking){ now, any(10) ? 1 + any(amount_max) : amount_max };
                rp_bucket_take(&bucket, takings[i].amount);
        }
        for (size_t from = 0; from < TAKINGS; from++) {
                uint64_t sum = 0;

                for (size_t to = from; to < TAKINGS; to++) {
                        double span_ms = (double)(takings[to].at_ms - takings[from].at_ms + RP_BUCKET_BURST_MS);

                        /* The last one is the taking that the bound lets go beyond. One millisecond for rounding up. */
                        if ((double)sum > (double)per_second * (span_ms + 1) / 1000)
                                fail_msg("%llu taken within %.0f ms at %lld/s", (unsigned long long)sum, span_ms,
                                         (long long)per_second);
                        sum += takings[to].amount;
                }
        }
}

static void test_rate_is_kept_in_every_window(void **state)
{
        static const int64_t rates[] = { 1, 7, 1000, 999983, 1000000, 123456789, RP_RATE_MAX };

        (void)state;
        random_state = 88172645463325252;
        for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
                for (unsigned share = 0; share < 6; share++) {
                        static const unsigned thousandths[] = { 1, 10, 100, 500, 1000, 10000 };
                        uint64_t amount = (uint64_t)rates[i] * thousandths[share] / 1000;

                        check_rate(rates[i], amount < 1 ? 1 : amount > RP_TAKING_MAX ? RP_TAKING_MAX : amount);
                }
}

/* A busy caller gets all of the rate: rounding must not eat it. 10^6 takings of one, at a rate that divides nothing. */
static void test_rate_is_used_up(void **state)
{
        struct rp_bucket bucket = { 0 };
        int64_t now = 0;

        (void)state;
        rp_bucket_set(&bucket, 999983);
        for (int i = 0; i < 1000000; i++) {
                int64_t wait = rp_bucket_wait_ms(&bucket);

                rp_bucket_pass(&bucket, wait);
                now += wait;
                rp_bucket_take(&bucket, 1);
        }
        assert_in_range(now, 1000, 1001); /* and 17 thousandths of a millisecond */
}

static void test_idle_time_is_made_up_for_within_bounds(void **state)
{
        struct rp_bucket bucket = { 0 };

        (void)state;
        rp_bucket_set(&bucket, 1000);
        rp_bucket_pass(&bucket, INT64_MAX);
        rp_bucket_take(&bucket, 1000); /* one second's worth, no more */
        assert_int_equal(rp_bucket_wait_ms(&bucket), 0);
        rp_bucket_take(&bucket, 1);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 1);
        rp_bucket_pass(&bucket, -5);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 1);
}

static void test_nothing_overflows(void **state)
{
        struct rp_bucket bucket = { 0 };

        (void)state;
        rp_bucket_take(&bucket, UINT64_MAX);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 0); /* no limit */
        rp_bucket_set(&bucket, 1);
        for (int i = 0; i < 10000; i++)
                rp_bucket_take(&bucket, UINT64_MAX);
        assert_true(rp_bucket_wait_ms(&bucket) > 0);
        rp_bucket_set(&bucket, RP_RATE_MAX);
        for (int i = 0; i < 10; i++)
                rp_bucket_take(&bucket, (1u << 31) + (uint64_t)i);
        assert_true(rp_bucket_wait_ms(&bucket) >= 0);
        rp_bucket_pass(&bucket, INT64_MAX);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 0);
}

static void test_new_rate_takes_effect_at_once(void **state)
{
        struct rp_bucket bucket = { 0 };

        (void)state;
        rp_bucket_set(&bucket, 1000);
        rp_bucket_take(&bucket, 60000);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 60000);
        rp_bucket_set(&bucket, 1000000); /* what is owed stays, but is soon paid */
        assert_int_equal(rp_bucket_wait_ms(&bucket), 60);
        rp_bucket_set(&bucket, 10); /* the past is not charged at a rate that did not hold then */
        assert_int_equal(rp_bucket_wait_ms(&bucket), 60);
        rp_bucket_take(&bucket, 1);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 160);
        rp_bucket_set(&bucket, 0);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 0);
        rp_bucket_take(&bucket, 1000000);
        rp_bucket_set(&bucket, 10);
        assert_int_equal(rp_bucket_wait_ms(&bucket), 0);
}

/* ---- all reasons together ---------------------------------------------------------------------------------------- */

static void assert_why(struct rp_throttle *throttle, int64_t now_ms, rp_hold_reason_t reason, int64_t wait_ms, const char *why)
{
        const struct rp_hold *hold = rp_throttle_ask(throttle, now_ms);
        char text[300];

        assert_string_equal(rp_hold_text(text, sizeof(text), hold), why);
        assert_int_equal(hold->reason, reason);
        assert_int_equal(hold->wait_ms, wait_ms);
}

static void test_lag_has_hysteresis(void **state)
{
        struct rp_watched_group groups[2] = { { .group = "billing", .lag = -1 }, { .group = "search", .lag = 0 } };
        struct rp_throttle throttle = { .lag_max = 10000, .groups = groups, .group_cnt = 2 };

        (void)state;
        assert_why(&throttle, 0, RP_HOLD_LAG_UNKNOWN, RP_HOLD_OPEN_MS, "throttled: the lag of group billing is not known yet");
        rp_watched_group_set(&groups[0], 10000, 1, NULL);
        assert_why(&throttle, 1, RP_HOLD_NONE, 0, "");
        rp_watched_group_set(&groups[0], 120412, 2, NULL);
        assert_why(&throttle, 2, RP_HOLD_LAG, RP_HOLD_OPEN_MS, "throttled: group billing lags 120,412 > 10,000");
        rp_watched_group_set(&groups[0], 9999, 3, NULL);
        assert_why(&throttle, 3, RP_HOLD_LAG, RP_HOLD_OPEN_MS,
                   "throttled: group billing lags 9,999 > 7,500, where it may go on");
        rp_watched_group_set(&groups[0], -1, 4, "no broker answers");
        assert_why(&throttle, 4, RP_HOLD_LAG_UNKNOWN, RP_HOLD_OPEN_MS,
                   "throttled: the lag of group billing is not known: no broker answers");
        rp_watched_group_set(&groups[0], 7501, 5, NULL); /* not knowing did not let it go on */
        assert_why(&throttle, 5, RP_HOLD_LAG, RP_HOLD_OPEN_MS,
                   "throttled: group billing lags 7,501 > 7,500, where it may go on");
        rp_watched_group_set(&groups[0], 7500, 6, NULL);
        assert_why(&throttle, 6, RP_HOLD_NONE, 0, "");
        rp_watched_group_set(&groups[0], 9999, 7, NULL);
        assert_why(&throttle, 7, RP_HOLD_NONE, 0, "");
        rp_watched_group_set(&groups[0], -1, 8, "gone");
        rp_watched_group_set(&groups[1], 10001, 8, NULL); /* the worse reason is told */
        assert_why(&throttle, 8, RP_HOLD_LAG, RP_HOLD_OPEN_MS, "throttled: group search lags 10,001 > 10,000");
        rp_watched_group_set(&groups[0], 0, 9, NULL);
        rp_throttle_set_lag_max(&throttle, 10000); /* the same: nothing is forgotten */
        rp_watched_group_set(&groups[1], 9999, 9, NULL);
        assert_why(&throttle, 9, RP_HOLD_LAG, RP_HOLD_OPEN_MS,
                   "throttled: group search lags 9,999 > 7,500, where it may go on");
        rp_watched_group_set(&groups[1], 10001, 9, NULL);
        rp_throttle_set_lag_max(&throttle, 10001); /* a new limit, at once */
        assert_why(&throttle, 9, RP_HOLD_NONE, 0, "");
        rp_throttle_set_lag_max(&throttle, 0); /* and none at all is allowed */
        assert_why(&throttle, 10, RP_HOLD_LAG, RP_HOLD_OPEN_MS, "throttled: group search lags 10,001 > 0");
        rp_watched_group_set(&groups[1], 0, 11, NULL);
        assert_why(&throttle, 11, RP_HOLD_NONE, 0, "");
}

static void test_what_a_person_did_is_named_first(void **state)
{
        struct rp_watched_group group = { .group = "billing", .lag = 5 };
        struct rp_throttle throttle = { .groups = &group, .group_cnt = 1, .is_paused = true, .flag_file = "/run/all" };

        (void)state;
        rp_bucket_set(&throttle.bytes, 1000000);
        rp_bucket_set(&throttle.records, 1000);
        assert_int_equal(rp_throttle_ask(&throttle, 0)->reason, RP_HOLD_PAUSED);
        rp_throttle_copied(&throttle, 2000000, 1500);
        assert_why(&throttle, 0, RP_HOLD_PAUSED, RP_HOLD_OPEN_MS, "paused: waits for resume");
        throttle.is_paused = false;
        assert_why(&throttle, 0, RP_HOLD_FLAG_FILE, RP_HOLD_OPEN_MS, "throttled: flag file /run/all exists");
        throttle.flag_trouble = "Permission denied";
        assert_why(&throttle, 0, RP_HOLD_FLAG_FILE, RP_HOLD_OPEN_MS,
                   "throttled: cannot look for flag file /run/all: Permission denied");
        throttle.flag_file = NULL;
        assert_why(&throttle, 0, RP_HOLD_LAG, RP_HOLD_OPEN_MS, "throttled: group billing lags 5 > 0");
        group.lag = 0;
        assert_why(&throttle, 0, RP_HOLD_BYTES, 2000, "throttled to 1.0 MB/s");
        rp_bucket_set(&throttle.bytes, 0);
        assert_why(&throttle, 500, RP_HOLD_RECORDS, 1000, "throttled to 1,000 records/s");
        assert_why(&throttle, 1500, RP_HOLD_NONE, 0, "");
        for (int reason = 0; reason < RP_HOLD_REASON_CNT; reason++)
                for (int other = 0; other < reason; other++)
                        assert_string_not_equal(rp_hold_name((rp_hold_reason_t)reason), rp_hold_name((rp_hold_reason_t)other));
}

static void test_time_held_is_counted_by_reason(void **state)
{
        struct rp_throttle throttle = { 0 };

        (void)state;
        rp_bucket_set(&throttle.records, 10);
        rp_throttle_ask(&throttle, 5000); /* what was before is nobody's */
        rp_throttle_copied(&throttle, 0, 10);
        assert_int_equal(rp_throttle_ask(&throttle, 5000)->wait_ms, 1000);
        rp_throttle_ask(&throttle, 5400);
        rp_throttle_ask(&throttle, 7000); /* late: 600 ms were asked for, the rest is not the throttle's doing */
        throttle.is_paused = true;
        rp_throttle_ask(&throttle, 7000);
        rp_throttle_ask(&throttle, 7000 + RP_HOLD_OPEN_MS / 2);
        rp_throttle_ask(&throttle, 7000); /* a clock that jumps back adds nothing */
        assert_int_equal(throttle.held_ms[RP_HOLD_RECORDS], 1000);
        assert_int_equal(throttle.held_ms[RP_HOLD_PAUSED], RP_HOLD_OPEN_MS / 2);
        assert_int_equal(throttle.held_ms[RP_HOLD_NONE], 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rate_is_kept_in_every_window),
                cmocka_unit_test(test_rate_is_used_up),
                cmocka_unit_test(test_idle_time_is_made_up_for_within_bounds),
                cmocka_unit_test(test_nothing_overflows),
                cmocka_unit_test(test_new_rate_takes_effect_at_once),
                cmocka_unit_test(test_lag_has_hysteresis),
                cmocka_unit_test(test_what_a_person_did_is_named_first),
                cmocka_unit_test(test_time_held_is_counted_by_reason),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
