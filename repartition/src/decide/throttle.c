#include "decide/throttle.h"

#include <stdio.h>

/* ---- a rate ------------------------------------------------------------------------------------------------------ */

enum { US_PER_MS = 1000, US_PER_SECOND = 1000000 };

/* With the largest taking at the lowest rate on top it stays in 63 bits. */
static const int64_t DEBT_MAX_US = INT64_C(1) << 61;

void rp_bucket_set(struct rp_bucket *bucket, int64_t per_second)
{
        if (per_second == bucket->per_second)
                return;
        if (bucket->debt_us > 0 && per_second > bucket->per_second)
                bucket->debt_us = (int64_t)((double)bucket->debt_us * (double)bucket->per_second / (double)per_second);
        if (!per_second || !bucket->per_second || bucket->debt_us < 0)
                bucket->debt_us = 0;
        bucket->rest = 0;
        bucket->per_second = per_second;
}

void rp_bucket_take(struct rp_bucket *bucket, uint64_t amount)
{
        int64_t charged;

        if (!bucket->per_second)
                return;
        charged = (int64_t)(amount > RP_TAKING_MAX ? RP_TAKING_MAX : amount) * US_PER_SECOND + bucket->rest;
        bucket->debt_us += charged / bucket->per_second;
        bucket->rest = charged % bucket->per_second;
        if (bucket->debt_us > DEBT_MAX_US)
                bucket->debt_us = DEBT_MAX_US;
}

void rp_bucket_pass(struct rp_bucket *bucket, int64_t ms)
{
        const int64_t burst_us = (int64_t)RP_BUCKET_BURST_MS * US_PER_MS;

        if (!bucket->per_second || ms <= 0)
                return;
        if (ms >= (bucket->debt_us + burst_us) / US_PER_MS)
                bucket->debt_us = -burst_us;
        else
                bucket->debt_us -= ms * US_PER_MS;
}

int64_t rp_bucket_wait_ms(const struct rp_bucket *bucket)
{
        return bucket->debt_us > 0 ? (bucket->debt_us + US_PER_MS - 1) / US_PER_MS : 0;
}

/* ---- all reasons together ---------------------------------------------------------------------------------------- */

const char *rp_hold_name(rp_hold_reason_t reason)
{
        static const char *const names[RP_HOLD_REASON_CNT] = {
                "none", "paused", "flag-file", "lag-unknown", "lag", "bytes", "records",
        };

        return names[reason];
}

int64_t rp_lag_release(int64_t lag_max)
{
        return lag_max - lag_max / 4;
}

void rp_watched_group_set(struct rp_watched_group *group, int64_t lag, int64_t asked_at_ms, const char *trouble)
{
        group->lag = lag;
        if (lag >= 0)
                group->asked_at_ms = asked_at_ms;
        snprintf(group->trouble, sizeof(group->trouble), "%s", lag < 0 && trouble ? trouble : "");
}

void rp_throttle_set_lag_max(struct rp_throttle *throttle, int64_t lag_max)
{
        for (size_t i = 0; lag_max != throttle->lag_max && i < throttle->group_cnt; i++)
                throttle->groups[i].is_over = false;
        throttle->lag_max = lag_max;
}

void rp_throttle_copied(struct rp_throttle *throttle, uint64_t bytes, uint64_t records)
{
        rp_bucket_take(&throttle->bytes, bytes);
        rp_bucket_take(&throttle->records, records);
}

/* Waiting that was asked for counts as such, the time that the caller worked on or was late does not. */
static void pass_time(struct rp_throttle *throttle, int64_t now_ms)
{
        int64_t passed = throttle->is_started ? now_ms - throttle->now_ms : 0;

        throttle->is_started = true;
        throttle->now_ms = now_ms;
        if (passed <= 0)
                return;
        rp_bucket_pass(&throttle->bytes, passed);
        rp_bucket_pass(&throttle->records, passed);
        throttle->held_ms[throttle->hold.reason] += passed < throttle->hold.wait_ms ? passed : throttle->hold.wait_ms;
}

/* One that is over its limit goes before one that merely cannot be asked. */
static bool find_lagging(struct rp_throttle *throttle, struct rp_hold *hold)
{
        const struct rp_watched_group *unknown = NULL, *over = NULL;

        for (size_t i = 0; i < throttle->group_cnt; i++) {
                struct rp_watched_group *group = &throttle->groups[i];

                if (group->lag < 0) {
                        unknown = unknown ? unknown : group; /* and whether it was over stays as it was */
                        continue;
                }
                group->is_over = group->lag > (group->is_over ? rp_lag_release(throttle->lag_max) : throttle->lag_max);
                if (group->is_over && (!over || group->lag > over->lag))
                        over = group;
        }
        if (over)
                *hold = (struct rp_hold){ .reason = RP_HOLD_LAG, .subject = over->group, .value = over->lag,
                                          .is_settling = over->lag <= throttle->lag_max };
        else if (unknown)
                *hold = (struct rp_hold){ .reason = RP_HOLD_LAG_UNKNOWN, .subject = unknown->group,
                                          .trouble = *unknown->trouble ? unknown->trouble : NULL };
        if (over)
                hold->limit = hold->is_settling ? rp_lag_release(throttle->lag_max) : throttle->lag_max;
        return over || unknown;
}

const struct rp_hold *rp_throttle_ask(struct rp_throttle *throttle, int64_t now_ms)
{
        struct rp_hold *hold = &throttle->hold;
        int64_t bytes_ms, records_ms;
        struct rp_hold lagging;

        pass_time(throttle, now_ms);
        bytes_ms = rp_bucket_wait_ms(&throttle->bytes);
        records_ms = rp_bucket_wait_ms(&throttle->records);
        if (throttle->is_paused)
                *hold = (struct rp_hold){ .reason = RP_HOLD_PAUSED, .wait_ms = RP_HOLD_OPEN_MS };
        else if (throttle->flag_file)
                *hold = (struct rp_hold){ .reason = RP_HOLD_FLAG_FILE, .wait_ms = RP_HOLD_OPEN_MS,
                                          .subject = throttle->flag_file, .trouble = throttle->flag_trouble };
        else if (find_lagging(throttle, &lagging)) {
                *hold = lagging;
                hold->wait_ms = RP_HOLD_OPEN_MS;
        } else if (bytes_ms && bytes_ms >= records_ms)
                *hold = (struct rp_hold){ .reason = RP_HOLD_BYTES, .wait_ms = bytes_ms,
                                          .limit = throttle->bytes.per_second };
        else if (records_ms)
                *hold = (struct rp_hold){ .reason = RP_HOLD_RECORDS, .wait_ms = records_ms,
                                          .limit = throttle->records.per_second };
        else
                *hold = (struct rp_hold){ .reason = RP_HOLD_NONE };
        return hold;
}
