#include "job/governor.h"

#include "clock.h"
#include "decide/wish.h"
#include "io/control.h"
#include "io/file.h"
#include "io/group_lag.h"
#include "report/hold.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        LOOK_MS = 100,        /* between two looks at flag files */
        SAMPLE_MS = 1000,     /* between two looks at the counters, and two writings of the files */
        LAG_MS = 1000,        /* between two questions for the lag */
        LAG_PATIENCE_MS = 10000,
        SAMPLES = 11,         /* so a rate is one of the last ten seconds */
        HELD_LINGERS_MS = 1500 /* a rate holds for some ms at a time: it is told until it did not for so long */
};

struct sample {
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
        struct rp_pulse pulse;
        bool has_pulse;
        struct rp_counter counters[RP_COUNTERS_MAX];
        char trouble[512];
        struct sample samples[SAMPLES]; /* a ring */
        size_t sample_cnt;
        bool is_news;                 /* the files are to be written soon */
        struct rp_error complaint;
        bool has_complaint;
        bool is_over;
        pthread_cond_t over;          /* for the thread that asks for the lag */
        const char *end_state;        /* NULL: it runs */
        int exit_code;
        json_t *result;

        /* The loop's alone. */
        int64_t loop_transaction_ms;
        char loop_why[400];

        /* Of the thread that watches; of whoever ends it afterwards. */
        struct rp_control *control;
        bool is_status_failing, is_metrics_failing;

        struct rp_group_lag *lag;     /* of the thread that asks for it */
        pthread_t watch_thread, lag_thread;
        bool has_watch_thread, has_lag_thread;
        int wake_fd;
};

/* ---- status ------------------------------------------------------------------------------------------------------- */

static void take_sample(struct rp_governor *governor, int64_t now_ms)
{
        governor->samples[governor->sample_cnt++ % SAMPLES] =
                (struct sample){ now_ms, governor->records, governor->bytes, governor->pulse.done };
}

static int64_t per_second(uint64_t before, uint64_t after, int64_t span_ms)
{
        return after < before ? 0 : (int64_t)((double)(after - before) * 1000 / (double)span_ms);
}

static void fill_rates(const struct rp_governor *governor, struct rp_status *status, int64_t now_ms)
{
        const struct sample *oldest;
        double span_ms, done;

        status->records_per_second = status->bytes_per_second = status->eta_ms = -1;
        if (!governor->sample_cnt)
                return;
        oldest = &governor->samples[governor->sample_cnt < SAMPLES ? 0 : governor->sample_cnt % SAMPLES];
        span_ms = (double)(now_ms - oldest->at_ms);
        if (span_ms < SAMPLE_MS)
                return;
        status->records_per_second = per_second(oldest->records, governor->records, (int64_t)span_ms);
        status->bytes_per_second = per_second(oldest->bytes, governor->bytes, (int64_t)span_ms);
        done = (double)governor->pulse.done - (double)oldest->done;
        /* Not before one percent is done: what comes first is rarely like the rest. */
        if (done > 0 && governor->pulse.done < governor->pulse.total && governor->pulse.done >= governor->pulse.total / 100)
                status->eta_ms = (int64_t)((double)(governor->pulse.total - governor->pulse.done) * span_ms / done);
}

static const char *state_of(const struct rp_governor *governor)
{
        if (governor->end_state)
                return governor->end_state;
        if (*governor->stopper)
                return "stopping";
        if (governor->throttle.is_paused)
                return governor->throttle.hold.reason == RP_HOLD_PAUSED && !governor->pulse.uncommitted ? "paused" : "pausing";
        return governor->held ? "throttled" : "running";
}

/* Borrows from the governor; to be used under the lock. */
static void fill_status(const struct rp_governor *governor, struct rp_status *status)
{
        const struct rp_governor_config *config = &governor->config;
        int64_t now = rp_clock_ms();

        *status = (struct rp_status){
                .kind = config->kind, .job = config->job, .source = config->source, .target = config->target,
                .host = governor->host, .state = state_of(governor), .librdkafka = rp_client_version(), .pid = getpid(),
                .started_ms = governor->began_wall_ms, .updated_ms = rp_wall_clock_ms(),
                .elapsed_ms = now - governor->began_ms,
                .done = governor->pulse.done, .total = governor->pulse.total, .uncommitted = governor->pulse.uncommitted,
                .held = governor->end_state ? RP_HOLD_NONE : governor->held, .why = governor->why,
                .held_since_ms = governor->held_since_ms, .held_ms = governor->throttle.held_ms,
                .bytes_limit = governor->throttle.bytes.per_second, .records_limit = governor->throttle.records.per_second,
                .lag_max = governor->throttle.lag_max, .transaction_ms = governor->transaction_ms,
                .groups = governor->groups, .group_cnt = config->group_cnt,
                .counters = governor->counters, .counter_cnt = governor->pulse.counter_cnt,
                .last_error = *governor->trouble ? governor->trouble : NULL,
                .exit_code = governor->exit_code, .result = governor->result,
        };
        fill_rates(governor, status, now);
}

/* What failed is told once, until it has worked again. */
static void write_file(struct rp_governor *governor, const char *path, const char *text, size_t len, bool *is_failing)
{
        struct rp_error err;
        bool failed = !text || rp_file_refresh(path, text, len, &err) != RP_OK;

        if (failed && text && !*is_failing) {
                pthread_mutex_lock(&governor->lock);
                governor->complaint = err;
                governor->has_complaint = true;
                pthread_mutex_unlock(&governor->lock);
        }
        *is_failing = failed;
}

static void write_files(struct rp_governor *governor)
{
        const struct rp_governor_config *config = &governor->config;
        char *status_text = NULL, *metrics_text = NULL;
        size_t metrics_len = 0;
        struct rp_status status;
        json_t *json = NULL;
        FILE *out = config->metrics_path ? open_memstream(&metrics_text, &metrics_len) : NULL;

        pthread_mutex_lock(&governor->lock);
        governor->is_news = false;
        fill_status(governor, &status);
        if (config->status_path)
                json = rp_status_json(&status);
        if (out)
                rp_status_metrics(&status, out);
        pthread_mutex_unlock(&governor->lock);
        if (out)
                fclose(out);
        if (json) {
                char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

                if (text && asprintf(&status_text, "%s\n", text) < 0)
                        status_text = NULL;
                free(text);
                json_decref(json);
        }
        if (config->status_path)
                write_file(governor, config->status_path, status_text, status_text ? strlen(status_text) : 0,
                           &governor->is_status_failing);
        if (config->metrics_path)
                write_file(governor, config->metrics_path, metrics_text, metrics_len, &governor->is_metrics_failing);
        free(status_text);
        free(metrics_text);
}

/* ---- wishes ------------------------------------------------------------------------------------------------------- */

/* Under the lock. @returns false with *err when it is not understood. */
static bool obey(struct rp_governor *governor, char *line, struct rp_error *err)
{
        struct rp_throttle *throttle = &governor->throttle;
        struct rp_limits limits = { throttle->bytes.per_second, throttle->records.per_second, throttle->lag_max,
                                    governor->config.group_cnt > 0, governor->transaction_ms };
        rp_wish_t wish;

        if (rp_wish_parse(line, &wish, &limits, err) != RP_OK)
                return false;
        if (wish == RP_WISH_PAUSE || wish == RP_WISH_RESUME)
                throttle->is_paused = wish == RP_WISH_PAUSE;
        if (wish == RP_WISH_RESUME && governor->held == RP_HOLD_PAUSED)
                governor->held = RP_HOLD_NONE; /* told so at once, not when the loop comes to ask */
        if (wish == RP_WISH_STOP && !*governor->stopper)
                snprintf(governor->stopper, sizeof(governor->stopper), "ctl asked to stop");
        rp_bucket_set(&throttle->bytes, limits.bytes_per_second);
        rp_bucket_set(&throttle->records, limits.records_per_second);
        rp_throttle_set_lag_max(throttle, limits.lag_max);
        governor->transaction_ms = limits.transaction_ms;
        return true;
}

static char *answer(void *arg, const char *line)
{
        struct rp_governor *governor = arg;
        char wish[RP_CONTROL_LINE_MAX + 1], *text;
        struct rp_error err;
        struct rp_status status;
        json_t *json = json_object();

        snprintf(wish, sizeof(wish), "%s", line);
        for (char *c = wish; *c; c++) /* what is quoted back stays one line of text, whatever was sent */
                if (*c < ' ' || *c == 0x7f)
                        *c = *c == '\t' ? ' ' : '?';
        pthread_mutex_lock(&governor->lock);
        if (obey(governor, wish, &err)) {
                governor->is_news = true;
                fill_status(governor, &status);
                json_object_set_new(json, "ok", json_true());
                json_object_set_new(json, "status", rp_status_json(&status));
        } else {
                json_object_set_new(json, "ok", json_false());
                json_object_set_new(json, "error", json_string(err.text));
        }
        pthread_mutex_unlock(&governor->lock);
        text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
        json_decref(json);
        return text;
}

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
                        take_sample(governor, rp_clock_ms());
                pthread_mutex_unlock(&governor->lock);
                if (is_over)
                        return NULL;
                if (is_due)
                        sample_ms = rp_clock_ms() + SAMPLE_MS;
                if (is_due || is_news)
                        write_files(governor);
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

int64_t rp_governor_hold(void *arg, uint64_t bytes, uint64_t records)
{
        struct rp_governor *governor = arg;
        int64_t now = rp_clock_ms(), wait_ms;
        const struct rp_hold *hold;

        pthread_mutex_lock(&governor->lock);
        governor->bytes += bytes;
        governor->records += records;
        rp_throttle_copied(&governor->throttle, bytes, records);
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
        governor->loop_transaction_ms = governor->transaction_ms;
        memcpy(governor->loop_why, governor->why, sizeof(governor->loop_why));
        wait_ms = hold->wait_ms;
        pthread_mutex_unlock(&governor->lock);
        return wait_ms;
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
                rc = rp_group_lag_new(&governor->lag, config->client, err);
        if (rc == RP_OK)
                rc = ask_for_lags(governor, config->timeout_ms, err);
        return rc;
}

/* All threads leave signals to the loop's. */
static rp_err_t start_threads(struct rp_governor *governor, struct rp_error *err)
{
        const struct rp_governor_config *config = &governor->config;
        bool watches = config->control_path || config->status_path || config->metrics_path || config->flag_file_cnt ||
                       config->panic_file;
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (watches)
                governor->has_watch_thread = !pthread_create(&governor->watch_thread, NULL, watch, governor);
        if (config->group_cnt)
                governor->has_lag_thread = !pthread_create(&governor->lag_thread, NULL, watch_lag, governor);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (governor->has_watch_thread != watches || governor->has_lag_thread != (config->group_cnt > 0))
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
                rc = rp_control_new(&governor->control, config->control_path, answer, governor, err);
        if (rc == RP_OK)
                take_sample(governor, governor->began_ms);
        if (rc == RP_OK && (config->status_path || config->metrics_path)) {
                write_files(governor);
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
        pthread_mutex_init(&governor->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&governor->over, &attr);
        pthread_condattr_destroy(&attr);
        governor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
        governor->has_watch_thread = governor->has_lag_thread = false;
        rp_control_free(governor->control);
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
                write_files(governor);
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
