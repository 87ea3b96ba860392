#include "decide/checkpoint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHECKPOINT_VERSION = 1 };

uint64_t rp_anchor_digest(const struct rp_record *rec)
{
        /* Lengths first, -1 for what is NULL: no two different records have one encoding. */
        int64_t head[3] = { rec->key ? (int64_t)rec->key_len : -1, rec->value ? (int64_t)rec->value_len : -1,
                            rec->timestamp_ms };
        uint64_t digest = XXH3_64bits(head, sizeof(head));

        if (rec->key_len)
                digest = XXH3_64bits_withSeed(rec->key, rec->key_len, digest);
        if (rec->value_len)
                digest = XXH3_64bits_withSeed(rec->value, rec->value_len, digest);
        return digest;
}

static int64_t *fresh(int32_t cnt)
{
        int64_t *items = malloc(((size_t)cnt + 1) * sizeof(*items));

        for (int32_t i = 0; items && i < cnt; i++)
                items[i] = -1;
        return items;
}

static struct rp_anchor *fresh_anchors(int32_t cnt)
{
        struct rp_anchor *anchors = malloc(((size_t)cnt + 1) * sizeof(*anchors));

        for (int32_t i = 0; anchors && i < cnt; i++)
                anchors[i] = (struct rp_anchor){ .offset = -1 };
        return anchors;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

bool rp_checkpoint_log_init(struct rp_checkpoint_log *log, int32_t source_cnt, int32_t target_cnt, int64_t first_seq)
{
        *log = (struct rp_checkpoint_log){
                .source_cnt = source_cnt, .target_cnt = target_cnt, .positions = fresh(source_cnt),
                .ends = fresh(target_cnt), .told_positions = fresh(source_cnt), .told_ends = fresh(target_cnt),
                .anchors = fresh_anchors(source_cnt), .seq = first_seq, .since_full = -1,
        };
        return log->positions && log->ends && log->told_positions && log->told_ends && log->anchors;
}

void rp_checkpoint_log_release(struct rp_checkpoint_log *log)
{
        free(log->positions);
        free(log->ends);
        free(log->told_positions);
        free(log->told_ends);
        free(log->anchors);
        *log = (struct rp_checkpoint_log){ 0 };
}

void rp_checkpoint_log_restart(struct rp_checkpoint_log *log, const struct rp_progress *stored, const int64_t *ends)
{
        for (int32_t p = 0; p < log->source_cnt; p++)
                log->positions[p] = p < stored->cnt && (!log->is_mine || log->is_mine[p]) ? stored->marks[p].next : -1;
        for (int32_t q = 0; q < log->target_cnt; q++)
                log->ends[q] = ends[q];
        for (int32_t p = 0; p < log->source_cnt; p++)
                log->anchors[p].offset = -1;
        log->since_full = -1;
}

static bool is_full_due(const struct rp_checkpoint_log *log)
{
        return log->since_full < 0 || log->since_full >= RP_CHECKPOINT_FULL_EVERY - 1;
}

bool rp_checkpoint_log_wants_anchors(const struct rp_checkpoint_log *log)
{
        return is_full_due(log);
}

/* topics: of the source; NULL: one, or the target. */
static void print_pairs(FILE *out, const char *name, const struct rp_topics *topics, int32_t cnt, const int64_t *now,
                        const int64_t *before)
{
        const char *comma = "";

        fprintf(out, ",\"%s\":[", name);
        for (int32_t i = 0; i < cnt; i++) {
                if (now[i] < 0 || (before && now[i] == before[i]))
                        continue;
                /* One that was not known before counts from 0. */
                fprintf(out, "%s%" PRId64 ",%" PRId64, comma, rp_topics_code(topics, i),
                        before && before[i] > 0 ? now[i] - before[i] : now[i]);
                comma = ",";
        }
        fputc(']', out);
}

char *rp_checkpoint_log_print(struct rp_checkpoint_log *log, const struct rp_mark *marks, size_t cnt)
{
        bool is_full = is_full_due(log);
        const char *comma = "";
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        if (!out)
                return NULL;
        for (size_t i = 0; i < cnt; i++)
                if (marks[i].partition >= 0 && marks[i].partition < log->source_cnt)
                        log->positions[marks[i].partition] = marks[i].next;
        fprintf(out, "{\"keyroute\":%d,\"epoch\":%" PRId64 ",\"seq\":%" PRId64 ",\"full\":%s", CHECKPOINT_VERSION,
                log->epoch, log->seq, is_full ? "true" : "false");
        print_pairs(out, "source", log->topics, log->source_cnt, log->positions, is_full ? NULL : log->told_positions);
        print_pairs(out, "target", NULL, log->target_cnt, log->ends, is_full ? NULL : log->told_ends);
        if (is_full) {
                fputs(",\"anchors\":[", out);
                for (int32_t p = 0; p < log->source_cnt; p++) {
                        if (log->anchors[p].offset < 0)
                                continue;
                        fprintf(out, "%s%" PRId64 ",%" PRId64 ",\"%016" PRIx64 "\"", comma, rp_topics_code(log->topics, p),
                                log->anchors[p].offset, log->anchors[p].digest);
                        comma = ",";
                }
                fputc(']', out);
        }
        fputc('}', out);
        if (fclose(out) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

void rp_checkpoint_log_told(struct rp_checkpoint_log *log)
{
        bool is_full = is_full_due(log);

        memcpy(log->told_positions, log->positions, (size_t)log->source_cnt * sizeof(*log->positions));
        memcpy(log->told_ends, log->ends, (size_t)log->target_cnt * sizeof(*log->ends));
        for (int32_t p = 0; is_full && p < log->source_cnt; p++)
                log->anchors[p].offset = -1;
        log->since_full = is_full ? 0 : log->since_full + 1;
        log->seq++;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

bool rp_checkpoint_state_init(struct rp_checkpoint_state *state, int32_t source_cnt, int32_t target_cnt)
{
        *state = (struct rp_checkpoint_state){
                .source_cnt = source_cnt, .target_cnt = target_cnt, .positions = fresh(source_cnt),
                .ends = fresh(target_cnt), .anchors = fresh_anchors(source_cnt), .seq = -1,
        };
        return state->positions && state->ends && state->anchors;
}

void rp_checkpoint_state_release(struct rp_checkpoint_state *state)
{
        free(state->positions);
        free(state->ends);
        free(state->anchors);
        *state = (struct rp_checkpoint_state){ 0 };
}

static bool apply_pairs(const json_t *pairs, const struct rp_topics *topics, int64_t *items, int32_t cnt, bool is_delta)
{
        size_t size = json_array_size(pairs);

        if (!json_is_array(pairs) || size % 2)
                return false;
        for (size_t i = 0; i < size; i += 2) {
                const json_t *at = json_array_get(pairs, i), *number = json_array_get(pairs, i + 1);
                int32_t index = rp_topics_place(topics, json_integer_value(at), cnt);

                if (!json_is_integer(at) || !json_is_integer(number) || index < 0 ||
                    __builtin_add_overflow(is_delta && items[index] > 0 ? items[index] : 0, json_integer_value(number),
                                           &items[index]) || items[index] < 0)
                        return false;
        }
        return true;
}

static bool apply_anchors(const json_t *list, const struct rp_topics *topics, struct rp_anchor *anchors, int32_t cnt)
{
        size_t size = json_array_size(list);

        if (!json_is_array(list) || size % 3)
                return false;
        for (size_t i = 0; i < size; i += 3) {
                const json_t *at = json_array_get(list, i), *offset = json_array_get(list, i + 1);
                const char *digest = json_string_value(json_array_get(list, i + 2));
                int32_t index = rp_topics_place(topics, json_integer_value(at), cnt);

                if (!json_is_integer(at) || !json_is_integer(offset) || json_integer_value(offset) < 0 || !digest || index < 0)
                        return false;
                anchors[index] = (struct rp_anchor){ .offset = json_integer_value(offset),
                                                     .digest = strtoull(digest, NULL, 16) };
        }
        return true;
}

/* Whoever goes on counts from the highest number that was read, so one that has no successor is none of ours. */
static bool is_seq(json_int_t seq)
{
        return seq >= 0 && seq < INT64_MAX / 2;
}

static void forget(struct rp_checkpoint_state *state)
{
        for (int32_t p = 0; p < state->source_cnt; p++)
                state->positions[p] = -1;
        for (int32_t q = 0; q < state->target_cnt; q++)
                state->ends[q] = -1;
        state->seq = -1;
}

bool rp_checkpoint_state_apply(struct rp_checkpoint_state *state, const char *text)
{
        json_t *root = json_loads(text, 0, NULL);
        json_t *source, *target;
        json_int_t seq, epoch;
        int version, is_full;
        bool is_valid = false;

        if (!root || json_unpack(root, "{s:i, s:I, s:I, s:b, s:o, s:o}", "keyroute", &version, "epoch", &epoch, "seq", &seq,
                                 "full", &is_full, "source", &source, "target", &target) != 0 ||
            version != CHECKPOINT_VERSION || epoch != state->epoch || !is_seq(seq))
                goto out;
        if (!is_full && (state->seq < 0 || seq != state->seq + 1))
                goto out; /* and whatever builds upon it has a gap as well, up to the next full one */
        if (is_full)
                forget(state);
        is_valid = apply_pairs(source, state->topics, state->positions, state->source_cnt, !is_full) &&
                   apply_pairs(target, NULL, state->ends, state->target_cnt, !is_full) &&
                   (!is_full || apply_anchors(json_object_get(root, "anchors"), state->topics, state->anchors,
                                              state->source_cnt));
        if (is_valid)
                state->seq = seq;
        else
                forget(state);
out:
        json_decref(root);
        return is_valid;
}

int64_t rp_checkpoint_seq(const char *text, bool *is_full)
{
        json_t *root = json_loads(text, 0, NULL);
        json_int_t seq = -1;
        int full = 0;

        if (!root || json_unpack(root, "{s:I, s:b}", "seq", &seq, "full", &full) != 0 || !is_seq(seq))
                seq = -1;
        *is_full = full;
        json_decref(root);
        return seq;
}
