/**
 * Everything about a running job, as one JSON object (--status-file, ctl), for Prometheus (--metrics-file), and as text.
 * One snapshot feeds all three, and one row a counter names it in all of them. Pure.
 */
#ifndef RP_STATUS_H
#define RP_STATUS_H

#include "decide/throttle.h"

#include <jansson.h>
#include <stdio.h>

/**
 * One of a job's own counters. Names are Prometheus' without the prefix keyroute_, such as "transactions_total" with the
 * label outcome="committed"; the status says transactions_committed. All with one name stand together. One whose name does
 * not end in _total may fall as well.
 */
struct rp_counter {
        const char *name, *help; /* static storage, as all of these */
        const char *label, *value_of_label; /* NULL: none */
        uint64_t value;
};

/** Rows of every job that writes in transactions, for an initializer of struct rp_counter []. */
#define RP_TRANSACTION_COUNTERS(committed, aborted, indeterminate, recreations)                                       \
        { "transactions_total", "Transactions by what became of them", "outcome", "committed", (committed) },         \
        { "transactions_total", "", "outcome", "aborted", (aborted) },                                                \
        { "transactions_total", "", "outcome", "indeterminate", (indeterminate) },                                    \
        { "producer_recreations_total", "Producers made anew after an uncertain outcome", NULL, NULL, (recreations) }

struct rp_status {
        const char *kind, *job, *source;
        const char *target;      /* NULL: in place */
        const char *host;
        const char *state;       /* one of rp_status_states */
        const char *librdkafka;
        int64_t pid, started_ms, updated_ms; /* wall clock */
        int64_t elapsed_ms;

        uint64_t done, total;    /* offsets of what is being read now; total 0: there is no end */
        uint64_t uncommitted;    /* records in the open transaction */
        int64_t records_per_second, bytes_per_second; /* of the last ten seconds; -1: not known yet */
        int64_t eta_ms;          /* -1: not known */

        rp_hold_reason_t held;   /* RP_HOLD_NONE: goes on */
        const char *why;         /* as rp_hold_text() says */
        int64_t held_since_ms;   /* wall clock */
        const int64_t *held_ms;  /* RP_HOLD_REASON_CNT of them */

        int64_t bytes_limit, records_limit; /* a second; 0: none */
        int64_t lag_max, transaction_ms;
        const struct rp_watched_group *groups;
        size_t group_cnt;

        const struct rp_counter *counters;
        size_t counter_cnt;

        const char *stalled;     /* why it stands still though nobody told it to; NULL: it does not, or the reason is not known */
        int64_t stalled_since_ms; /* wall clock */
        const char *last_error;  /* NULL: none */
        int exit_code;           /* -1: it runs */
        json_t *result;          /* what the command prints with --output json; NULL: none. Borrowed */
};

/** running, throttled, pausing, paused, stopping; then finished, stopped, failed or fenced. NULL-terminated. */
extern const char *const rp_status_states[];

/** @returns the object; new reference. */
json_t *rp_status_json(const struct rp_status *status);

/** Prints the text exposition format of Prometheus. */
void rp_status_metrics(const struct rp_status *status, FILE *out);

/** Prints a status that rp_status_json() made, maybe in another process of another version: what is missing is left out. */
void rp_status_print(const json_t *status, FILE *out);

#endif
