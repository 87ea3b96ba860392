/** A governor's inside, shared by its two halves: governor.c (threads, and the loop's side) and governor_tell.c. */
#ifndef RP_GOVERNOR_STATE_H
#define RP_GOVERNOR_STATE_H

#include "io/control.h"
#include "io/group_lag.h"
#include "io/scrape.h"
#include "job/governor.h"

#include <pthread.h>

enum {
        RP_GOVERNOR_SAMPLES = 11,   /* so a rate is one of the last ten seconds */
        RP_GOVERNOR_STALL_SIZE = 600
};

struct rp_governor_sample {
        int64_t at_ms;
        uint64_t records, bytes, done;
};

struct rp_governor {
        struct rp_governor_config config;
        int64_t began_ms, began_wall_ms;
        char host[64];

        pthread_mutex_t lock;
        /* From here on under the lock. */
        struct rp_throttle throttle;
        struct rp_watched_group *groups;
        char (*group_names)[256], (*topic_names)[256]; /* never change once set */
        int64_t transaction_ms;
        char flag_trouble[100];
        char stopper[400];            /* "": nobody wants it to stop */
        rp_hold_reason_t held;        /* what is told; lingers where rates hold */
        char why[400];
        int64_t held_since_ms, held_seen_ms;
        uint64_t records, bytes;      /* written */
        int64_t heard_ms;             /* of the loop */
        struct rp_pulse pulse;
        bool has_pulse;
        struct rp_counter counters[RP_COUNTERS_MAX];
        char trouble[512];
        char stall[RP_GOVERNOR_STALL_SIZE]; /* why it stands still; "": it does not, or nobody knows */
        int64_t stalled_since_ms;     /* wall clock */
        struct rp_governor_sample samples[RP_GOVERNOR_SAMPLES]; /* a ring */
        size_t sample_cnt;
        bool is_news;                 /* the files are to be written soon */
        struct rp_error complaint;
        bool has_complaint;
        bool is_over;
        pthread_cond_t over;          /* for the threads that ask brokers */
        const char *end_state;        /* NULL: it runs */
        int exit_code;
        json_t *result;

        /* The loop's alone. */
        uint64_t loop_bytes, loop_records; /* written, and not yet charged */
        int64_t unseen_bytes, unseen_records; /* may be written without a look */
        bool loop_looked;
        int64_t loop_transaction_ms;
        char loop_why[400];

        /* Of the thread that watches; of whoever ends it afterwards. */
        struct rp_control *control;
        struct rp_scrape *scrape;
        bool is_status_failing, is_metrics_failing;

        struct rp_group_lag *lag;     /* of the thread that asks for it */
        pthread_t watch_thread, lag_thread, stall_thread;
        bool has_watch_thread, has_lag_thread, has_stall_thread;
        int wake_fd;
};

/** The thread that notices when the job stands still, and finds out why. */
void *rp_governor_watch_for_stalls(void *governor);

/** Under the lock: remembers the figures of this moment, for rates. */
void rp_governor_take_sample(struct rp_governor *governor, int64_t now_ms);

/** Writes the files there are. What fails becomes a complaint, once until it has worked again. */
void rp_governor_write_files(struct rp_governor *governor);

/** What the control socket and the web server answer; any thread. Forms of io/control.h and io/scrape.h. */
char *rp_governor_answer(void *governor, const char *line);
struct rp_page rp_governor_serve_page(void *governor, const char *path);

#endif
