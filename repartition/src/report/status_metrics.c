#include "report/status.h"

#include <keyroute.h>

#include <inttypes.h>
#include <string.h>

/* One family after the other: its help and type once, then its samples, all with the job's label. */
struct metrics {
        FILE *out;
        const char *job;
        const char *family;
};

static void print_label_value(FILE *out, const char *value)
{
        fputc('"', out);
        for (; *value; value++) {
                if (*value == '\n')
                        fputs("\\n", out);
                else if (*value == '"' || *value == '\\')
                        fprintf(out, "\\%c", *value);
                else
                        fputc(*value, out);
        }
        fputc('"', out);
}

/* The sample up to its value. Without a type it belongs to the family before. */
static void begin(struct metrics *metrics, const char *name, const char *type, const char *help, const char *label,
                  const char *value_of_label)
{
        if (!metrics->family || strcmp(metrics->family, name)) {
                fprintf(metrics->out, "# HELP keyroute_%s %s\n# TYPE keyroute_%s %s\n", name, help, name, type);
                metrics->family = name;
        }
        fprintf(metrics->out, "keyroute_%s{job=", name);
        print_label_value(metrics->out, metrics->job);
        if (label) {
                fprintf(metrics->out, ",%s=", label);
                print_label_value(metrics->out, value_of_label);
        }
        fputs("} ", metrics->out);
}

static void print_whole(struct metrics *metrics, const char *name, const char *type, const char *help, const char *label,
                        const char *value_of_label, uint64_t value)
{
        begin(metrics, name, type, help, label, value_of_label);
        fprintf(metrics->out, "%" PRIu64 "\n", value);
}

/* A time or a rate: milli is a thousandth of the unit. */
static void print_milli(struct metrics *metrics, const char *name, const char *type, const char *help, const char *label,
                        const char *value_of_label, int64_t milli)
{
        begin(metrics, name, type, help, label, value_of_label);
        fprintf(metrics->out, "%" PRId64 ".%03d\n", milli / 1000, (int)(milli % 1000));
}

static void print_job(struct metrics *metrics, const struct rp_status *status)
{
        fputs("# HELP keyroute_build_info The versions that run, as labels\n# TYPE keyroute_build_info gauge\n"
              "keyroute_build_info{job=", metrics->out); /* with the job: two jobs' files are read together */
        print_label_value(metrics->out, status->job);
        fprintf(metrics->out, ",version=\"%s\",librdkafka=\"%s\"} 1\n", kr_version(), status->librdkafka);
        fputs("# HELP keyroute_job_info What the job copies, as labels\n# TYPE keyroute_job_info gauge\n"
              "keyroute_job_info{job=", metrics->out);
        print_label_value(metrics->out, status->job);
        fprintf(metrics->out, ",kind=\"%s\",source=", status->kind);
        print_label_value(metrics->out, status->source);
        fputs(",target=", metrics->out);
        print_label_value(metrics->out, status->target ? status->target : status->source);
        fputs("} 1\n", metrics->out);
        for (size_t i = 0; rp_status_states[i]; i++)
                print_whole(metrics, "state", "gauge", "1 for the state that the job is in", "state", rp_status_states[i],
                            !strcmp(status->state, rp_status_states[i]));
        print_milli(metrics, "start_time_seconds", "gauge", "When this run began, since 1970", NULL, NULL, status->started_ms);
        print_milli(metrics, "last_update_time_seconds", "gauge", "When these figures were taken, since 1970", NULL, NULL,
                    status->updated_ms);
}

static bool is_total(const char *name)
{
        size_t len = strlen(name), tail = strlen("_total");

        return len > tail && !strcmp(name + len - tail, "_total");
}

static void print_progress(struct metrics *metrics, const struct rp_status *status)
{
        if (status->total) {
                uint64_t left = status->done < status->total ? status->total - status->done : 0;

                begin(metrics, "progress_ratio", "gauge", "Offsets that were read of those to read", NULL, NULL);
                fprintf(metrics->out, "%.6f\n", 1 - (double)left / (double)status->total);
                print_whole(metrics, "source_lag_records", "gauge", "Offsets of the source that are still to be read", NULL,
                            NULL, left);
        }
        print_whole(metrics, "uncommitted_records", "gauge", "Records in the open transaction", NULL, NULL,
                    status->uncommitted);
        for (size_t i = 0; i < status->counter_cnt; i++) {
                const struct rp_counter *counter = &status->counters[i];

                print_whole(metrics, counter->name, is_total(counter->name) ? "counter" : "gauge", counter->help, counter->label,
                            counter->value_of_label, counter->value);
        }
}

static void print_throttle(struct metrics *metrics, const struct rp_status *status)
{
        for (int reason = RP_HOLD_NONE + 1; reason < RP_HOLD_REASON_CNT; reason++)
                print_milli(metrics, "throttled_seconds_total", "counter", "Time that the job was made to wait", "reason",
                            rp_hold_name((rp_hold_reason_t)reason), status->held_ms[reason]);
        print_whole(metrics, "throttled", "gauge", "1 while the job is made to wait", NULL, NULL, status->held != RP_HOLD_NONE);
        print_whole(metrics, "stalled", "gauge", "1 while the job stands still and the reason is known", NULL, NULL,
                    status->stalled != NULL);
        if (status->bytes_limit)
                print_whole(metrics, "throttle_limit_bytes_per_second", "gauge", "The limit in force", NULL, NULL,
                            (uint64_t)status->bytes_limit);
        if (status->records_limit)
                print_whole(metrics, "throttle_limit_records_per_second", "gauge", "The limit in force", NULL, NULL,
                            (uint64_t)status->records_limit);
        for (size_t i = 0; i < status->group_cnt; i++) {
                const struct rp_watched_group *group = &status->groups[i];
                char name[600];

                if (group->lag < 0)
                        continue;
                snprintf(name, sizeof(name), "%s%s%s", group->group, group->topic ? ":" : "", group->topic ? group->topic : "");
                print_whole(metrics, "control_group_lag_records", "gauge", "How far a group lags that the job is careful of",
                            "group", name, (uint64_t)group->lag);
        }
}

void rp_status_metrics(const struct rp_status *status, FILE *out)
{
        struct metrics metrics = { .out = out, .job = status->job };

        print_job(&metrics, status);
        print_progress(&metrics, status);
        print_throttle(&metrics, status);
}
