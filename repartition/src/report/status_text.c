#include "report/status.h"

#include "report/text.h"

#include <string.h>

static const json_t *at(const json_t *json, const char *object, const char *name)
{
        return json_object_get(object ? json_object_get(json, object) : json, name);
}

static int64_t whole(const json_t *json)
{
        int64_t value = json_integer_value(json);

        return value < 0 ? 0 : value;
}

/* A text that came from elsewhere: nothing in it may drive a terminal. */
static void print_text(FILE *out, const json_t *json)
{
        if (json_is_string(json))
                rp_text_key(out, json_string_value(json), json_string_length(json), 300);
        else
                fputc('?', out);
}

/* One that we know, so that it can be printed as it is. */
static const char *known_state(const char *state)
{
        for (size_t i = 0; state && rp_status_states[i]; i++)
                if (!strcmp(state, rp_status_states[i]))
                        return rp_status_states[i];
        return "?";
}

static void print_state(const json_t *status, FILE *out)
{
        const json_t *why = at(status, "throttle", "why"), *error = json_object_get(status, "last_error");
        const char *state = known_state(json_string_value(json_object_get(status, "state")));

        print_text(out, json_object_get(status, "kind"));
        fputs("    ", out);
        print_text(out, json_object_get(status, "source"));
        if (json_is_string(json_object_get(status, "target"))) {
                fputs(" to ", out);
                print_text(out, json_object_get(status, "target"));
        }
        fputs("\njob        ", out);
        print_text(out, json_object_get(status, "job"));
        fputs("\nprocess    ", out);
        fprintf(out, "%lld on ", (long long)whole(json_object_get(status, "pid")));
        print_text(out, json_object_get(status, "host"));
        fputs(", since ", out);
        print_text(out, json_object_get(status, "started_at"));
        fputs("\nstate      ", out);
        if (!json_is_string(why) || strncmp(json_string_value(why), state, strlen(state)))
                fprintf(out, "%s%s", state, json_is_string(why) ? ", " : "");
        if (json_is_string(why)) {
                print_text(out, why);
                fputs(", since ", out);
                print_text(out, at(status, "throttle", "since"));
        }
        fputc('\n', out);
        if (json_is_string(at(status, "stalled", "why"))) {
                fputs("stalled    ", out);
                print_text(out, at(status, "stalled", "why"));
                fputs(", since ", out);
                print_text(out, at(status, "stalled", "since"));
                fputc('\n', out);
        }
        if (json_is_string(error)) {
                fputs("last error ", out);
                print_text(out, error);
                fputc('\n', out);
        }
}

static void print_progress(const json_t *status, FILE *out)
{
        const json_t *share = at(status, "progress", "share"), *records = at(status, "progress", "records_per_second");
        const json_t *bytes = at(status, "progress", "bytes_per_second"), *eta = at(status, "progress", "eta_ms");

        fputs("progress   ", out);
        if (json_is_number(share))
                fprintf(out, "%s  ", rp_text_share(json_number_value(share)).s);
        if (json_is_integer(records))
                fprintf(out, "%s records/s  ", rp_text_count((uint64_t)whole(records)).s);
        if (json_is_integer(bytes))
                fprintf(out, "%s/s  ", rp_text_bytes((uint64_t)whole(bytes)).s);
        if (json_is_integer(eta))
                fprintf(out, "%s left  ", rp_text_duration(whole(eta)).s);
        fprintf(out, "%s records not committed yet\n",
                rp_text_count((uint64_t)whole(at(status, "progress", "uncommitted"))).s);
}

static void print_limits(const json_t *status, FILE *out)
{
        const json_t *bytes = at(status, "limits", "throttle_bytes"), *records = at(status, "limits", "throttle_records");
        const json_t *lag = at(status, "limits", "max_lag");

        fputs("limits     ", out);
        if (json_is_integer(bytes))
                fprintf(out, "%s/s, ", rp_text_bytes((uint64_t)whole(bytes)).s);
        if (json_is_integer(records))
                fprintf(out, "%s records/s, ", rp_text_count((uint64_t)whole(records)).s);
        if (json_is_integer(lag))
                fprintf(out, "groups may lag by %s, ", rp_text_count((uint64_t)whole(lag)).s);
        fprintf(out, "transactions of up to %s\n", rp_text_duration(whole(at(status, "limits", "transaction_ms"))).s);
}

static void print_throttle(const json_t *status, FILE *out)
{
        const json_t *groups = at(status, "throttle", "control_groups"), *held = at(status, "throttle", "held_ms"), *value;
        const char *name, *gap = "waited     ";
        size_t i;

        for (void *at_ = json_object_iter((json_t *)held); at_; at_ = json_object_iter_next((json_t *)held, at_)) {
                name = json_object_iter_key(at_);
                value = json_object_iter_value(at_);
                if (!whole(value))
                        continue;
                fprintf(out, "%s%s: %s", gap, name, rp_text_duration(whole(value)).s);
                gap = ", ";
        }
        if (*gap == ',')
                fputc('\n', out);
        json_array_foreach (groups, i, value) {
                fputs("group      ", out);
                print_text(out, json_object_get(value, "group"));
                if (json_is_string(json_object_get(value, "topic"))) {
                        fputs(" in ", out);
                        print_text(out, json_object_get(value, "topic"));
                }
                if (json_is_integer(json_object_get(value, "lag"))) {
                        fprintf(out, " lags %s\n", rp_text_count((uint64_t)whole(json_object_get(value, "lag"))).s);
                        continue;
                }
                fputs(": ", out);
                print_text(out, json_object_get(value, "trouble"));
                fputc('\n', out);
        }
}

static void print_counters(const json_t *status, FILE *out)
{
        const json_t *counters = json_object_get(status, "counters");
        struct rp_table *table = rp_table_new("lr");

        for (void *at_ = json_object_iter((json_t *)counters); at_; at_ = json_object_iter_next((json_t *)counters, at_)) {
                char name[120];

                snprintf(name, sizeof(name), "%s", json_object_iter_key(at_));
                for (char *c = name; *c; c++)
                        if (*c == '_')
                                *c = ' ';
                rp_table_cell(table, "%s", name);
                rp_table_cell(table, "%s", rp_text_count((uint64_t)whole(json_object_iter_value(at_))).s);
        }
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
}

void rp_status_print(const json_t *status, FILE *out)
{
        print_state(status, out);
        print_progress(status, out);
        print_limits(status, out);
        print_throttle(status, out);
        print_counters(status, out);
}
