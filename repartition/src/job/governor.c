#include "clock.h"
#include "job/governor_state.h"
#include "report/hold.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        LOOK_MS = 100,    /* between two looks at flag files */
        SAMPLE_MS = 1000, /* between two looks at the counters, and two writings of the files */
        LAG_MS = 1000,    /* between two questions for the lag */
        LAG_PATIENCE_MS = 10000,
        UNSEEN_RECORDS = 256, /* most that is written without a look, while no rate is to be kept */
        UNSEEN_BYTES = 256 << 10,
        HELD_LINGERS_MS = 1500 /* a rate holds for some ms at a time: it is told until it did not for so long */
};

/* ---- watching ----------------------------------------------------------------------------------------------------- */

/* Whether there is a file of that name; one that cannot be looked for counts as there, and *trouble says why. */
static bool flag_is_up(const char *path, char *trouble, size_t size)
{
        struct stat st;

        *trouble = '\0';
        if (!lstat(path, &st))
                return true;
        if (errno == ENOENT || errno == ENOTDIR)
                return false;
        snprintf(trouble, size, "%s", strerror(errno));
        return true;
}

static void look_for_flags(struct rp_governor *governor)
{
        const struct rp_governor_config *config = &governor->config;
        char trouble[100] = "", ignored[100];
        const char *up = NULL;
        bool panics = config->panic_file && flag_is_up(config->panic_file, ignored, sizeof(ignored));

        for (size_t i = 0; i < config->flag_file_cnt && !up; i++)
                if (flag_is_up(config->flag_files[i], trouble, sizeof(trouble)))
                        up = config->flag_files[i];
        pthread_mutex_lock(&governor->lock);
        governor->is_news |= up != governor->throttle.flag_file;
        governor->throttle.flag_file = up;
        snprintf(governor->flag_trouble, sizeof(governor->flag_trouble), "%s", trouble);
        governor->throttle.flag_trouble = *trouble ? governor->flag_trouble : NULL;
        if (panics && !*governor->stopper)
                snprintf(governor->stopper, sizeof(governor->stopper), "the panic flag file %.300s exists", config->panic_file);
        pthread_mutex_unlock(&governor->lock);
}

static void *watch(void *arg)
{
        struct rp_governor *governor = arg;
        int64_t sample_ms = rp_clock_ms() + SAMPLE_MS;

        for (;;) {
                struct pollfd wake = { .fd = governor->wake_fd, .events = POLLIN };
                bool is_over, is_due, is_news;

                if (governor->control)
                        rp_control_serve(governor->control, LOOK_MS, governor->wake_fd);
                else
                        poll(&wake, 1, LOOK_MS);
                look_for_flags(governor);
                is_due = rp_clock_ms() >= sample_ms;
                pthread_mutex_lock(&governor->lock);
                is_over = governor->is_over;
                is_news = governor->is_news;
                if (is_due)
                        rp_governor_take_sample(governor, rp_clock_ms());
                pthread_mutex_unlock(&governor->lock);
                if (is_over)
                        return NULL;
                if (is_due)
                        sample_ms = rp_clock_ms() + SAMPLE_MS;
                if (is_due || is_news)
                        rp_governor_write_files(governor);
        }
}

/* @returns the first error. */
static rp_err_t ask_for_lags(struct rp_governor *governor, int timeout_ms, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; i < governor->config.group_cnt; i++) {
                const char *topic = *governor->topic_names[i] ? governor->topic_names[i] : NULL;
                struct rp_error one;
                int64_t lag = -1;
                rp_err_t asked = rp_group_lag_ask(governor->lag, governor->group_names[i], topic, timeout_ms, &lag, &one);

                pthread_mutex_lock(&governor->lock);
                rp_watched_group_set(&governor->groups[i], asked == RP_OK ? lag : -1, rp_wall_clock_ms(), one.text);
                pthread_mutex_unlock(&governor->lock);
                if (asked != RP_OK && rc == RP_OK) {
                        rc = asked;
                        *err = one;
                }
        }
        return rc;
}

static void *watch_lag(void *arg)
{
        struct rp_governor *governor = arg;
        struct rp_error ignored;
        bool is_over = false;

        while (!is_over) {
                struct timespec until;

                ask_for_lags(governor, LAG_PATIENCE_MS, &ignored);
                clock_gettime(CLOCK_MONOTONIC, &until);
                until.tv_sec += LAG_MS / 1000;
                pthread_mutex_lock(&governor->lock);
                while (!governor->is_over && pthread_cond_timedwait(&governor->over, &governor->lock, &until) != ETIMEDOUT)
                        ;
                is_over = governor->is_over;
                pthread_mutex_unlock(&governor->lock);
        }
        return NULL;
}

/* ---- the loop's side ---------------------------------------------------------------------------------------------- */

/* A millisecond's worth of what is limited, so that rates stay smooth. */
static int64_t unseen(const struct rp_bucket *bucket, int64_t most)
{
        int64_t share = bucket->per_second / 1000;

        return bucket->per_second && share < most ? share : most;
}

static void set_unseen(struct rp_governor *governor)
{
        governor->unseen_bytes = unseen(&governor->throttle.bytes, UNSEEN_BYTES);
        governor->unseen_records = unseen(&governor->throttle.records, UNSEEN_RECORDS);
}

int64_t rp_governor_hold(void *arg, uint64_t bytes, uint64_t records)
{
        struct rp_governor *governor = arg;
        const struct rp_hold *hold;
        int64_t now, wait_ms;

        governor->loop_bytes += bytes;
        governor->loop_records += records;
        governor->loop_looked = !records || governor->loop_records > (uint64_t)governor->unseen_records ||
                                governor->loop_bytes > (uint64_t)governor->unseen_bytes;
        if (!governor->loop_looked)
                return 0;
        now = rp_clock_ms();
        pthread_mutex_lock(&governor->lock);
        governor->heard_ms = now;
        governor->bytes += governor->loop_bytes;
        governor->records += governor->loop_records;
        rp_throttle_copied(&governor->throttle, governor->loop_bytes, governor->loop_records);
        governor->loop_bytes = governor->loop_records = 0;
        hold = rp_throttle_ask(&governor->throttle, now);
        if (hold->reason) {
                if (hold->reason != governor->held)
                        governor->held_since_ms = rp_wall_clock_ms();
                governor->held = hold->reason;
                governor->held_seen_ms = now;
                rp_hold_text(governor->why, sizeof(governor->why), hold);
        } else if (governor->held < RP_HOLD_BYTES || now - governor->held_seen_ms > HELD_LINGERS_MS) {
                governor->held = RP_HOLD_NONE;
                *governor->why = '\0';
        }
        set_unseen(governor);
        governor->loop_transaction_ms = governor->transaction_ms;
        memcpy(governor->loop_why, governor->why, sizeof(governor->loop_why));
        wait_ms = hold->wait_ms;
        pthread_mutex_unlock(&governor->lock);
        return wait_ms;
}

bool rp_governor_looked(const struct rp_governor *governor)
{
        return governor->loop_looked;
}

const int64_t *rp_governor_transaction_ms(const struct rp_governor *governor)
{
        return &governor->loop_transaction_ms;
}

bool rp_governor_tell(struct rp_governor *governor, const struct rp_pulse *pulse)
{
        size_t cnt = pulse->counter_cnt < RP_COUNTERS_MAX ? pulse->counter_cnt : RP_COUNTERS_MAX;
        bool goes_on;

        pthread_mutex_lock(&governor->lock);
        governor->heard_ms = rp_clock_ms();
        governor->pulse = *pulse;
        governor->pulse.counter_cnt = cnt;
        governor->pulse.counters = governor->counters;
        memcpy(governor->counters, pulse->counters, cnt * sizeof(*governor->counters));
        if (pulse->trouble)
                snprintf(governor->trouble, sizeof(governor->trouble), "%s", pulse->trouble);
        goes_on = !*governor->stopper;
        governor->is_news |= !governor->has_pulse;
        governor->has_pulse = true;
        pthread_mutex_unlock(&governor->lock);
        return goes_on;
}

const char *rp_governor_why(const struct rp_governor *governor)
{
        return governor->loop_why;
}

const char *rp_governor_stopper(const struct rp_governor *governor)
{
        return *governor->stopper ? governor->stopper : NULL;
}

int rp_governor_metrics_port(const struct rp_governor *governor)
{
        return governor->scrape ? rp_scrape_port(governor->scrape) : 0;
}

bool rp_governor_take_complaint(struct rp_governor *governor, struct rp_error *complaint)
{
        bool has_one;

        pthread_mutex_lock(&governor->lock);
        has_one = governor->has_complaint;
        if (has_one)
                *complaint = governor->complaint;
        governor->has_complaint = false;
        pthread_mutex_unlock(&governor->lock);
        return has_one;
}

/* ---- beginning and end -------------------------------------------------------------------------------------------- */

/* "G:TOPIC", where TOPIC could be a topic's name; else all of it is a group's. */
static rp_err_t split_group(const char *text, char *group, char *topic, size_t size, struct rp_error *err)
{
        const char *colon = strrchr(text, ':');
        bool has_topic = colon && colon[1] && strspn(colon + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                                "0123456789._-") == strlen(colon + 1);
        size_t len = has_topic ? (size_t)(colon - text) : strlen(text);

        if (!len || len >= size || (has_topic && strlen(colon + 1) >= size))
                return rp_fail(err, RP_ERR_USAGE, "--throttle-control-group: expected GROUP or GROUP:TOPIC, got \"%.100s\"",
                               text);
        snprintf(group, size, "%.*s", (int)len, text);
        snprintf(topic, size, "%s", has_topic ? colon + 1 : "");
        return RP_OK;
}

static rp_err_t begin_with_groups(struct rp_governor *governor, struct rp_error *err)
{
        const struct rp_governor_config *config = &governor->config;
        rp_err_t rc = RP_OK;

        governor->groups = calloc(config->group_cnt, sizeof(*governor->groups));
        governor->group_names = calloc(config->group_cnt, sizeof(*governor->group_names));
        governor->topic_names = calloc(config->group_cnt, sizeof(*governor->topic_names));
        if (!governor->groups || !governor->group_names || !governor->topic_names)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < config->group_cnt && rc == RP_OK; i++) {
                rc = split_group(config->groups[i], governor->group_names[i], governor->topic_names[i],
                                 sizeof(governor->group_names[i]), err);
                governor->groups[i] = (struct rp_watched_group){
                        .group = governor->group_names[i], .lag = -1,
                        .topic = *governor->topic_names[i] ? governor->topic_names[i] : NULL,
                };
        }
        governor->throttle.groups = governor->groups;
        governor->throttle.group_cnt = config->group_cnt;
        if (rc == RP_OK)
                rc = (governor->lag = rp_group_lag_new(config->client)) ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = ask_for_lags(governor, config->timeout_ms, err);
        return rc;
}

/* All threads leave signals to the loop's. */
static rp_err_t start_threads(struct rp_governor *governor, struct rp_error *err)
{
        const struct rp_governor_config *config = &governor->config;
        bool watches = config->control_path || config->status_path || config->metrics_path || config->metrics_address ||
                       config->flag_file_cnt || config->panic_file;
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (watches)
                governor->has_watch_thread = !pthread_create(&governor->watch_thread, NULL, watch, governor);
        if (config->group_cnt)
                governor->has_lag_thread = !pthread_create(&governor->lag_thread, NULL, watch_lag, governor);
        if (config->side_cnt)
                governor->has_stall_thread = !pthread_create(&governor->stall_thread, NULL, rp_governor_watch_for_stalls, governor);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (governor->has_watch_thread != watches || governor->has_lag_thread != (config->group_cnt > 0) ||
            governor->has_stall_thread != (config->side_cnt > 0))
                return rp_fail(err, RP_ERR_FATAL, "cannot start a thread");
        return RP_OK;
}

static rp_err_t begin(struct rp_governor *governor, struct rp_error *err)
{
        const struct rp_governor_config *config = &governor->config;
        rp_err_t rc = RP_OK;

        look_for_flags(governor);
        if (*governor->stopper)
                return rp_fail(err, RP_ERR_USAGE, "%s: remove it to let the job run", governor->stopper);
        if (config->group_cnt)
                rc = begin_with_groups(governor, err);
        if (rc == RP_OK && config->control_path)
                rc = rp_control_new(&governor->control, config->control_path, rp_governor_answer, governor, err);
        if (rc == RP_OK)
                rp_governor_take_sample(governor, governor->began_ms);
        if (rc == RP_OK && config->metrics_address)
                rc = rp_scrape_new(&governor->scrape, config->metrics_address, rp_governor_serve_page, governor, err);
        if (rc == RP_OK && (config->status_path || config->metrics_path)) {
                rp_governor_write_files(governor);
                if (rp_governor_take_complaint(governor, err))
                        rc = err->code;
        }
        return rc == RP_OK ? start_threads(governor, err) : rc;
}

rp_err_t rp_governor_new(struct rp_governor **out, const struct rp_governor_config *config, struct rp_error *err)
{
        struct rp_governor *governor = calloc(1, sizeof(*governor));
        pthread_condattr_t attr;
        rp_err_t rc;

        *out = NULL;
        if (!governor)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        governor->config = *config;
        governor->began_ms = rp_clock_ms();
        governor->began_wall_ms = rp_wall_clock_ms();
        governor->transaction_ms = governor->loop_transaction_ms = config->transaction_ms;
        governor->throttle.lag_max = config->lag_max;
        governor->exit_code = -1;
        gethostname(governor->host, sizeof(governor->host) - 1);
        rp_bucket_set(&governor->throttle.bytes, config->bytes_per_second);
        rp_bucket_set(&governor->throttle.records, config->records_per_second);
        set_unseen(governor);
        pthread_mutex_init(&governor->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&governor->over, &attr);
        pthread_condattr_destroy(&attr);
        governor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        governor->heard_ms = governor->began_ms;
        rc = begin(governor, err);
        if (rc != RP_OK)
                rp_governor_free(governor);
        else
                *out = governor;
        return rc;
}

static void stop_threads(struct rp_governor *governor)
{
        uint64_t one = 1;

        pthread_mutex_lock(&governor->lock);
        governor->is_over = true;
        pthread_cond_broadcast(&governor->over);
        pthread_mutex_unlock(&governor->lock);
        (void)!write(governor->wake_fd, &one, sizeof(one));
        if (governor->has_watch_thread)
                pthread_join(governor->watch_thread, NULL);
        if (governor->has_lag_thread)
                pthread_join(governor->lag_thread, NULL);
        if (governor->has_stall_thread)
                pthread_join(governor->stall_thread, NULL);
        governor->has_watch_thread = governor->has_lag_thread = governor->has_stall_thread = false;
        rp_scrape_free(governor->scrape);
        rp_control_free(governor->control);
        governor->scrape = NULL;
        governor->control = NULL;
}

void rp_governor_end(struct rp_governor *governor, const char *state, int exit_code, const struct rp_error *err,
                     json_t *result)
{
        stop_threads(governor);
        governor->end_state = state;
        governor->exit_code = exit_code;
        governor->result = result;
        if (err)
                snprintf(governor->trouble, sizeof(governor->trouble), "%s", err->text);
        if (governor->config.status_path || governor->config.metrics_path)
                rp_governor_write_files(governor);
}

void rp_governor_free(struct rp_governor *governor)
{
        if (!governor)
                return;
        stop_threads(governor);
        rp_group_lag_free(governor->lag);
        json_decref(governor->result);
        close(governor->wake_fd);
        pthread_cond_destroy(&governor->over);
        pthread_mutex_destroy(&governor->lock);
        free(governor->groups);
        free(governor->group_names);
        free(governor->topic_names);
        free(governor);
}
