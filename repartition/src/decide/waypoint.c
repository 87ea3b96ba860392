#include "decide/waypoint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAYPOINT_VERSION = 1, TICK_MS = 1000 };

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Lanes by epoch: as a rule there is one for all. */
static void print_lanes(FILE *out, const struct rp_waypoint_lane *lanes, size_t cnt)
{
        const char *group = "";

        for (size_t i = 0; i < cnt; i++) {
                bool is_first = true;

                for (size_t j = 0; j < i && is_first; j++)
                        is_first = lanes[j].epoch != lanes[i].epoch;
                if (!is_first)
                        continue;
                fprintf(out, "%s[%" PRId64, group, lanes[i].epoch);
                for (size_t j = i; j < cnt; j++)
                        if (lanes[j].epoch == lanes[i].epoch)
                                fprintf(out, ",%" PRId32 ",%" PRId64, lanes[j].partition, lanes[j].next);
                fputc(']', out);
                group = ",";
        }
}

char *rp_waypoint_print(const struct rp_waypoint_lane *lanes, size_t cnt, const int64_t *ends, int32_t target_cnt)
{
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        if (!out)
                return NULL;
        fprintf(out, "{\"keyroute\":%d,\"source\":[", WAYPOINT_VERSION);
        print_lanes(out, lanes, cnt);
        fputs("],\"target\":[", out);
        for (int32_t q = 0; q < target_cnt; q++)
                fprintf(out, "%s%" PRId64, q ? "," : "", ends[q]);
        fputs("]}", out);
        if (fclose(out) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

int32_t rp_waypoint_slot(int64_t now_ms)
{
        uint64_t tick = (uint64_t)now_ms / TICK_MS;
        int level = 0;

        while (level < RP_WAYPOINT_LEVELS - 1 && !(tick >> level & 1))
                level++;
        /* All ticks of a level but the last are odd multiples of its step. */
        return level * RP_WAYPOINT_LEVEL_SLOTS +
               (int32_t)(tick >> (level < RP_WAYPOINT_LEVELS - 1 ? level + 1 : level)) % RP_WAYPOINT_LEVEL_SLOTS;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static bool apply_lanes(struct rp_checkpoint_state *state, const int64_t *epochs, const json_t *group)
{
        size_t size = json_array_size(group);
        int64_t epoch = json_integer_value(json_array_get(group, 0));

        if (size % 2 == 0 || epoch <= 0)
                return false;
        for (size_t i = 1; i < size; i += 2) {
                const json_t *at = json_array_get(group, i), *next = json_array_get(group, i + 1);
                json_int_t p = json_integer_value(at);

                if (!json_is_integer(at) || !json_is_integer(next) || json_integer_value(next) < 0 || p < 0 ||
                    p >= state->source_cnt)
                        return false;
                if (epochs[p] == epoch)
                        state->positions[p] = json_integer_value(next);
        }
        return true;
}

bool rp_waypoint_apply(struct rp_checkpoint_state *state, const int64_t *epochs, const char *text)
{
        json_t *root = json_loads(text, 0, NULL), *source, *target;
        int version;
        bool is_valid = root && json_unpack(root, "{s:i, s:o, s:o}", "keyroute", &version, "source", &source, "target",
                                            &target) == 0 &&
                        version == WAYPOINT_VERSION && json_is_array(source) &&
                        json_array_size(target) == (size_t)state->target_cnt;

        for (int32_t p = 0; p < state->source_cnt; p++)
                state->positions[p] = -1;
        for (size_t i = 0; is_valid && i < json_array_size(source); i++)
                is_valid = apply_lanes(state, epochs, json_array_get(source, i));
        for (int32_t q = 0; is_valid && q < state->target_cnt; q++) {
                const json_t *end = json_array_get(target, (size_t)q);

                is_valid = json_is_integer(end) && json_integer_value(end) >= 0;
                state->ends[q] = json_integer_value(end);
        }
        json_decref(root);
        return is_valid;
}
