/**
 * Whether a copying job may go on now, how long it should wait otherwise, and why. Rates by two buckets, other groups'
 * lag, flag files, a pause: whatever holds longest is the answer.
 *
 * Pure: no clock, file or Kafka; the caller tells what it saw and what time it is. Belongs to one thread at a time.
 */
#ifndef RP_THROTTLE_H
#define RP_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a rate ------------------------------------------------------------------------------------------------------ */

enum {
        RP_BUCKET_BURST_MS = 1000, /* unused time that may be made up for */
        RP_HOLD_OPEN_MS = 60000    /* the wait that is told where nobody knows how long it will be */
};

/** Most that a rate may be, and most that one taking is charged for. */
#define RP_RATE_MAX (INT64_C(1) << 40)
#define RP_TAKING_MAX (UINT64_C(1) << 42)

/**
 * A rate kept by looking back: what was taken is charged as the time that it is worth, and time that passes pays for it.
 * In any span of T ms no more is taken than per_second x (T + RP_BUCKET_BURST_MS) / 1000 and one last taking, if the
 * caller takes only while rp_bucket_wait_ms() is 0. After waiting for that long it is 0, however large the taking was.
 * Exact: what a division leaves over is carried on.
 */
struct rp_bucket {
        int64_t per_second; /* 0: no limit */
        int64_t debt_us;    /* time still to be waited for; below 0: time to be made up for */
        int64_t rest;       /* of the last division, in millionths of one */
};

/** Sets the rate, from now on. A debt is kept as an amount when the rate rises, as a time when it falls. */
void rp_bucket_set(struct rp_bucket *bucket, int64_t per_second);
void rp_bucket_take(struct rp_bucket *bucket, uint64_t amount);
void rp_bucket_pass(struct rp_bucket *bucket, int64_t ms);
int64_t rp_bucket_wait_ms(const struct rp_bucket *bucket);

/* ---- all reasons together ---------------------------------------------------------------------------------------- */

/** Why a job waits. In the order in which one is named when several apply: what a person did comes first. */
typedef enum {
        RP_HOLD_NONE,
        RP_HOLD_PAUSED,
        RP_HOLD_FLAG_FILE,
        RP_HOLD_LAG_UNKNOWN, /* a watched group cannot be asked, or was not yet */
        RP_HOLD_LAG,
        RP_HOLD_BYTES,
        RP_HOLD_RECORDS,
        RP_HOLD_REASON_CNT
} rp_hold_reason_t;

/** "paused", "flag-file", "lag-unknown", "lag", "bytes", "records"; "none". Static storage. */
const char *rp_hold_name(rp_hold_reason_t reason);

struct rp_hold {
        rp_hold_reason_t reason;
        int64_t wait_ms;       /* 0: go on; RP_HOLD_OPEN_MS: until something changes */
        const char *subject;   /* the flag file or the group; borrowed from the throttle */
        const char *trouble;   /* RP_HOLD_LAG_UNKNOWN, RP_HOLD_FLAG_FILE: what went wrong, or NULL; borrowed */
        int64_t value, limit;  /* RP_HOLD_LAG: records; RP_HOLD_BYTES, RP_HOLD_RECORDS: the limit a second */
        bool is_settling;      /* RP_HOLD_LAG: it was above the maximum, and is not yet below the limit to go on */
};

/** A consumer group whose lag the job must not raise. */
struct rp_watched_group {
        const char *group; /* borrowed */
        const char *topic; /* only this topic's lag counts; NULL: all that the group has committed offsets of */
        int64_t lag;       /* records, over all partitions; -1: not known */
        int64_t asked_at_ms; /* wall clock of the last answer, for reports; 0: none */
        bool is_over;      /* held for, until the lag is well below the maximum */
        char trouble[200]; /* why the lag is not known; "" when it is */
};

struct rp_throttle {
        struct rp_bucket bytes, records;
        int64_t lag_max;                  /* of each watched group */
        struct rp_watched_group *groups;  /* borrowed */
        size_t group_cnt;
        bool is_paused;
        const char *flag_file;            /* one that is there; NULL: none is. Borrowed */
        const char *flag_trouble;         /* it cannot be told whether it is there; borrowed, or NULL */

        struct rp_hold hold;              /* the last answer */
        int64_t held_ms[RP_HOLD_REASON_CNT]; /* time spent waiting, by reason */
        int64_t now_ms;
        bool is_started;
};

/** The lag that a group must come down to once it was above the maximum: three quarters of it. */
int64_t rp_lag_release(int64_t lag_max);

/** Tells a group's lag, -1 with a trouble when it cannot be asked. */
void rp_watched_group_set(struct rp_watched_group *group, int64_t lag, int64_t asked_at_ms, const char *trouble);

/** A new maximum, judged by anew: who lags no more than that does not hold the job, whatever was before. */
void rp_throttle_set_lag_max(struct rp_throttle *throttle, int64_t lag_max);

/** What was copied since the last call, committed or not. */
void rp_throttle_copied(struct rp_throttle *throttle, uint64_t bytes, uint64_t records);

/** @param now_ms  monotonic. @returns what holds the job now, for how long. */
const struct rp_hold *rp_throttle_ask(struct rp_throttle *throttle, int64_t now_ms);

#endif
