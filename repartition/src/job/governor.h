/**
 * What makes a copying job a good neighbour, and tells about it: limits, other groups' lag, flag files, a control socket,
 * a status file, metrics. For every loop that copies: it says how much it has written and is told how long to wait.
 *
 * A thread of its own looks for flag files, serves the socket and writes the files; another one asks for the lag. So
 * nothing but a lock stands in the loop's way. Functions without "any thread" are for the loop's thread.
 */
#ifndef RP_GOVERNOR_H
#define RP_GOVERNOR_H

#include "error.h"
#include "io/client.h"
#include "io/outage.h"
#include "report/status.h"

#include <stdbool.h>

enum { RP_COUNTERS_MAX = 24 };

/** One of the clusters that the job needs, and what of it; looked at when the job stands still. */
struct rp_governor_side {
        const struct rp_client_config *client;
        const struct rp_outage_topic *topics;
        size_t topic_cnt;
};

/** All strings and arrays are borrowed while the governor lives. */
struct rp_governor_config {
        const char *kind, *job, *source, *target; /* target NULL: in place */
        const struct rp_client_config *client;    /* of the cluster that the watched groups read from */
        int64_t bytes_per_second, records_per_second; /* 0: no limit */
        const char *const *groups; /* "G", or "G:TOPIC" to look at one topic alone */
        size_t group_cnt;
        int64_t lag_max;
        int64_t transaction_ms;
        const char *const *flag_files; /* while one of them exists, the job waits */
        size_t flag_file_cnt;
        const char *panic_file;    /* when it exists, the job commits and ends; NULL: none */
        const char *control_path, *status_path, *metrics_path; /* NULL: none */
        const char *metrics_address; /* for HTTP, see io/scrape.h; NULL: none */
        int timeout_ms;            /* for the brokers' answer about the lag */
        const struct rp_governor_side *sides;
        size_t side_cnt;           /* 0: it is nobody's business whether it stands still */
        void (*say)(void *arg, const char *text); /* that it does, and why, and that it goes on; from another thread. NULL: nothing */
        void *say_arg;
};

struct rp_governor;

/**
 * Looks at everything once and begins to serve.
 * @returns RP_OK; RP_ERR_USAGE when the panic file exists, a group has committed no offsets, or a path cannot be used;
 *          RP_ERR_RETRY when no broker tells the lag of a group.
 */
rp_err_t rp_governor_new(struct rp_governor **governor, const struct rp_governor_config *config, struct rp_error *err);

/**
 * Charges what was written since the last call, committed or not, and tells how long to wait, in ms. 0: go on. While it is
 * more, ask again at least every 100 ms: the answer may change. A wait is never longer than RP_HOLD_OPEN_MS, which stands
 * for "until something changes": commit first what is open. The form of the hook of job/copier.h.
 */
int64_t rp_governor_hold(void *governor, uint64_t bytes, uint64_t records);

/**
 * A run of records may hold but one, so rp_governor_hold() looks around only once in some hundred records, or in a
 * millisecond's worth of a limit. @returns whether its last call did: then is the time to tell.
 */
bool rp_governor_looked(const struct rp_governor *governor);

/** The longest time that a transaction may stay open, now. Changes only within rp_governor_hold(). */
const int64_t *rp_governor_transaction_ms(const struct rp_governor *governor);

/** @returns the port that metrics_address led to; 0: none. */
int rp_governor_metrics_port(const struct rp_governor *governor);

/** What a loop tells of itself, as often as it likes. */
struct rp_pulse {
        uint64_t done, total;  /* offsets; total 0: there is no end */
        uint64_t uncommitted;  /* records in the open transaction */
        const char *trouble;   /* the last thing that went wrong and was overcome; NULL: nothing. Copied */
        const struct rp_counter *counters; /* at most RP_COUNTERS_MAX; copied */
        size_t counter_cnt;
};

/** Takes the pulse. @returns false when the job shall commit what is open and end: asked to, or by the panic file. */
bool rp_governor_tell(struct rp_governor *governor, const struct rp_pulse *pulse);

/** Why the loop waits, for its progress line; "" when it does not. Valid until the next call of rp_governor_hold(). */
const char *rp_governor_why(const struct rp_governor *governor);

/** Who wanted the job to stop, once rp_governor_tell() said so or the end was told; NULL: nobody. */
const char *rp_governor_stopper(const struct rp_governor *governor);

/** A complaint to be shown once, such as that a file cannot be written: the job goes on. @returns false: there is none. */
bool rp_governor_take_complaint(struct rp_governor *governor, struct rp_error *complaint);

/**
 * The last word: how it ended and what the command prints. Written to the files; the socket is closed.
 * @param err     why it failed, or NULL
 * @param result  the command's JSON, or NULL; taken over
 */
void rp_governor_end(struct rp_governor *governor, const char *state, int exit_code, const struct rp_error *err,
                     json_t *result);

/** Ends the threads. NULL is allowed. Without rp_governor_end() the files stay as they were last written. */
void rp_governor_free(struct rp_governor *governor);

#endif
