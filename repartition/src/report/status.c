#include "report/status.h"

#include "report/json.h"

#include <keyroute.h>

#include <string.h>

const char *const rp_status_states[] = { "running", "throttled", "pausing", "paused", "stopping", "finished", "stopped",
                                         "failed", "fenced", NULL };

static json_t *number_or_null(int64_t value, int64_t none)
{
        return value == none ? json_null() : json_integer(value);
}

static json_t *text_or_null(const char *text)
{
        json_t *json = text ? json_string(text) : json_null();

        return json ? json : json_string("(not UTF-8)");
}

static double share_done(const struct rp_status *status)
{
        return status->done < status->total ? (double)status->done / (double)status->total : 1;
}

/* "transactions_total" with outcome="rolled-back" is transactions_rolled_back. */
static void counter_name(char *name, size_t size, const struct rp_counter *counter)
{
        size_t len = strlen(counter->name), tail = strlen("_total");

        if (len > tail && !strcmp(counter->name + len - tail, "_total"))
                len -= tail;
        snprintf(name, size, "%.*s%s%s", (int)len, counter->name, counter->label ? "_" : "",
                 counter->label ? counter->value_of_label : "");
        for (char *c = name; *c; c++)
                if (*c == '-')
                        *c = '_';
}

static json_t *progress_json(const struct rp_status *status)
{
        json_t *json = json_object();

        json_object_set_new(json, "offsets_done", json_integer((json_int_t)status->done));
        json_object_set_new(json, "offsets_total", status->total ? json_integer((json_int_t)status->total) : json_null());
        json_object_set_new(json, "share", status->total ? rp_json_share(share_done(status)) : json_null());
        json_object_set_new(json, "uncommitted", json_integer((json_int_t)status->uncommitted));
        json_object_set_new(json, "records_per_second", number_or_null(status->records_per_second, -1));
        json_object_set_new(json, "bytes_per_second", number_or_null(status->bytes_per_second, -1));
        json_object_set_new(json, "eta_ms", number_or_null(status->eta_ms, -1));
        return json;
}

static json_t *throttle_json(const struct rp_status *status)
{
        json_t *json = json_object(), *held = json_object(), *groups = json_array();

        json_object_set_new(json, "reason", status->held ? json_string(rp_hold_name(status->held)) : json_null());
        json_object_set_new(json, "why", status->held ? text_or_null(status->why) : json_null());
        json_object_set_new(json, "since", status->held ? rp_json_time(status->held_since_ms) : json_null());
        for (int reason = RP_HOLD_NONE + 1; reason < RP_HOLD_REASON_CNT; reason++)
                json_object_set_new(held, rp_hold_name((rp_hold_reason_t)reason), json_integer(status->held_ms[reason]));
        json_object_set_new(json, "held_ms", held);
        for (size_t i = 0; i < status->group_cnt; i++) {
                const struct rp_watched_group *group = &status->groups[i];
                json_t *row = json_object();

                json_object_set_new(row, "group", text_or_null(group->group));
                json_object_set_new(row, "topic", text_or_null(group->topic));
                json_object_set_new(row, "lag", number_or_null(group->lag, -1));
                json_object_set_new(row, "asked_at", group->asked_at_ms ? rp_json_time(group->asked_at_ms) : json_null());
                json_object_set_new(row, "trouble", text_or_null(*group->trouble ? group->trouble : NULL));
                json_array_append_new(groups, row);
        }
        json_object_set_new(json, "control_groups", groups);
        return json;
}

json_t *rp_status_json(const struct rp_status *status)
{
        json_t *json = json_object(), *limits = json_object(), *counters = json_object();

        json_object_set_new(json, "kind", json_string(status->kind));
        json_object_set_new(json, "job", text_or_null(status->job));
        json_object_set_new(json, "source", text_or_null(status->source));
        json_object_set_new(json, "target", text_or_null(status->target));
        json_object_set_new(json, "state", json_string(status->state));
        json_object_set_new(json, "host", text_or_null(status->host));
        json_object_set_new(json, "pid", json_integer(status->pid));
        json_object_set_new(json, "version", json_string(kr_version()));
        json_object_set_new(json, "librdkafka", json_string(status->librdkafka));
        json_object_set_new(json, "started_at", rp_json_time(status->started_ms));
        json_object_set_new(json, "updated_at", rp_json_time(status->updated_ms));
        json_object_set_new(json, "elapsed_ms", json_integer(status->elapsed_ms));
        json_object_set_new(json, "progress", progress_json(status));
        json_object_set_new(json, "throttle", throttle_json(status));
        json_object_set_new(limits, "throttle_bytes", number_or_null(status->bytes_limit, 0));
        json_object_set_new(limits, "throttle_records", number_or_null(status->records_limit, 0));
        json_object_set_new(limits, "max_lag", status->group_cnt ? json_integer(status->lag_max) : json_null());
        json_object_set_new(limits, "transaction_ms", json_integer(status->transaction_ms));
        json_object_set_new(json, "limits", limits);
        for (size_t i = 0; i < status->counter_cnt; i++) {
                char name[120];

                counter_name(name, sizeof(name), &status->counters[i]);
                json_object_set_new(counters, name, json_integer((json_int_t)status->counters[i].value));
        }
        json_object_set_new(json, "counters", counters);
        json_object_set_new(json, "stalled", status->stalled ? json_pack("{s:o, s:o}", "why", text_or_null(status->stalled), "since",
                                                                         rp_json_time(status->stalled_since_ms)) : json_null());
        json_object_set_new(json, "last_error", text_or_null(status->last_error));
        json_object_set_new(json, "exit_code", number_or_null(status->exit_code, -1));
        json_object_set(json, "result", status->result ? status->result : json_null());
        return json;
}
