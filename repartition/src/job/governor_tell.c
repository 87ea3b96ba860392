#include "clock.h"
#include "decide/wish.h"
#include "io/file.h"
#include "job/governor_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        RATE_MS = 1000,     /* no rate is told of a shorter time */
        SILENCE_MS = 120000 /* a loop that was not heard of for so long hangs */
};

/* ---- status ------------------------------------------------------------------------------------------------------- */

void rp_governor_take_sample(struct rp_governor *governor, int64_t now_ms)
{
        governor->samples[governor->sample_cnt++ % RP_GOVERNOR_SAMPLES] =
                (struct rp_governor_sample){ now_ms, governor->records, governor->bytes, governor->pulse.done };
}

static int64_t per_second(uint64_t before, uint64_t after, int64_t span_ms)
{
        return after < before ? 0 : (int64_t)((double)(after - before) * 1000 / (double)span_ms);
}

static void fill_rates(const struct rp_governor *governor, struct rp_status *status, int64_t now_ms)
{
        const struct rp_governor_sample *oldest;
        double span_ms, done;

        status->records_per_second = status->bytes_per_second = status->eta_ms = -1;
        if (!governor->sample_cnt)
                return;
        oldest = &governor->samples[governor->sample_cnt < RP_GOVERNOR_SAMPLES ? 0 : governor->sample_cnt % RP_GOVERNOR_SAMPLES];
        span_ms = (double)(now_ms - oldest->at_ms);
        if (span_ms < RATE_MS)
                return;
        status->records_per_second = per_second(oldest->records, governor->records, (int64_t)span_ms);
        status->bytes_per_second = per_second(oldest->bytes, governor->bytes, (int64_t)span_ms);
        done = (double)governor->pulse.done - (double)oldest->done;
        /* Not before one percent is done: what comes first is rarely like the rest. */
        if (done > 0 && governor->pulse.done < governor->pulse.total && governor->pulse.done >= governor->pulse.total / 100)
                status->eta_ms = (int64_t)((double)(governor->pulse.total - governor->pulse.done) * span_ms / done);
}

/* A loop that is stuck no longer asks whether it may go on: what held it last does not hold it now. */
static rp_hold_reason_t held_now(const struct rp_governor *governor)
{
        return governor->end_state || *governor->stall ? RP_HOLD_NONE : governor->held;
}

static const char *state_of(const struct rp_governor *governor)
{
        if (governor->end_state)
                return governor->end_state;
        if (*governor->stopper)
                return "stopping";
        if (governor->throttle.is_paused)
                return governor->throttle.hold.reason == RP_HOLD_PAUSED && !governor->pulse.uncommitted ? "paused" : "pausing";
        return held_now(governor) ? "throttled" : "running";
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
                .held = held_now(governor), .why = governor->why,
                .held_since_ms = governor->held_since_ms, .held_ms = governor->throttle.held_ms,
                .bytes_limit = governor->throttle.bytes.per_second, .records_limit = governor->throttle.records.per_second,
                .lag_max = governor->throttle.lag_max, .transaction_ms = governor->transaction_ms,
                .groups = governor->groups, .group_cnt = config->group_cnt,
                .counters = governor->counters, .counter_cnt = governor->pulse.counter_cnt,
                .stalled = *governor->stall && !governor->end_state ? governor->stall : NULL,
                .stalled_since_ms = governor->stalled_since_ms,
                .last_error = *governor->trouble ? governor->trouble : NULL,
                .exit_code = governor->exit_code, .result = governor->result,
        };
        fill_rates(governor, status, now);
}

/* @returns text, the caller's to free(); NULL when out of memory. */
static char *metrics_text(struct rp_governor *governor)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        struct rp_status status;

        if (!out)
                return NULL;
        pthread_mutex_lock(&governor->lock);
        fill_status(governor, &status);
        rp_status_metrics(&status, out);
        pthread_mutex_unlock(&governor->lock);
        fclose(out);
        return text;
}

static char *status_text(struct rp_governor *governor)
{
        struct rp_status status;
        char *text, *line;
        json_t *json;

        pthread_mutex_lock(&governor->lock);
        fill_status(governor, &status);
        json = rp_status_json(&status);
        pthread_mutex_unlock(&governor->lock);
        line = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        if (!line || asprintf(&text, "%s\n", line) < 0)
                text = NULL;
        json_decref(json);
        free(line);
        return text;
}

/* What failed is told once, until it has worked again. */
static void write_file(struct rp_governor *governor, const char *path, const char *text, bool *is_failing)
{
        struct rp_error err;
        bool failed = !text || rp_file_refresh(path, text, strlen(text), &err) != RP_OK;

        if (failed && text && !*is_failing) {
                pthread_mutex_lock(&governor->lock);
                governor->complaint = err;
                governor->has_complaint = true;
                pthread_mutex_unlock(&governor->lock);
        }
        *is_failing = failed;
}

void rp_governor_write_files(struct rp_governor *governor)
{
        const struct rp_governor_config *config = &governor->config;
        char *status = NULL, *metrics = NULL;

        pthread_mutex_lock(&governor->lock);
        governor->is_news = false;
        pthread_mutex_unlock(&governor->lock);
        if (config->status_path) {
                status = status_text(governor);
                write_file(governor, config->status_path, status, &governor->is_status_failing);
        }
        if (config->metrics_path) {
                metrics = metrics_text(governor);
                write_file(governor, config->metrics_path, metrics, &governor->is_metrics_failing);
        }
        free(status);
        free(metrics);
}

struct rp_page rp_governor_serve_page(void *arg, const char *path)
{
        struct rp_governor *governor = arg;
        int64_t silent_ms;

        if (!strcmp(path, "/metrics"))
                return (struct rp_page){ 200, "text/plain; version=0.0.4", metrics_text(governor) };
        if (!strcmp(path, "/status"))
                return (struct rp_page){ 200, "application/json", status_text(governor) };
        if (strcmp(path, "/healthz"))
                return (struct rp_page){ 404, "text/plain", strdup("there are /metrics, /status and /healthz\n") };
        pthread_mutex_lock(&governor->lock);
        silent_ms = rp_clock_ms() - governor->heard_ms;
        pthread_mutex_unlock(&governor->lock);
        return silent_ms < SILENCE_MS ? (struct rp_page){ 200, "text/plain", strdup("ok\n") }
                                      : (struct rp_page){ 503, "text/plain", strdup("the job does not answer\n") };
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

char *rp_governor_answer(void *arg, const char *line)
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
