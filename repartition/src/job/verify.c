#include "job/verify.h"

#include "decide/note.h"
#include "decide/order.h"
#include "io/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PART_CNT = 4096, PART_SHIFT = 52, TICK_MS = 100 };

/* Records whose group has the same upper 12 bits. */
struct part {
        struct rp_digest content[2]; /* source, target */
        uint64_t cnt[2];
        bool differs, is_chosen;
};

struct side {
        struct rp_source *source;
        struct rp_verify_side *report;
        struct rp_order order;
        /* The ranges to read one after the other: one element a pass, each with an array by partition. */
        struct rp_range **passes;
        size_t pass_cnt;
};

struct entries {
        struct rp_entry *items;
        size_t cnt, cap;
};

struct state {
        const struct rp_verify *job;
        struct rp_verify_report *report;
        struct side sides[2];
        struct part *parts;
        struct entries entries[2];
        uint64_t done, total, records;
};

static size_t part_of(uint64_t group)
{
        return (size_t)(group >> PART_SHIFT);
}

/* ---- what to read ----------------------------------------------------------------------------------------------- */

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static bool make_passes(struct side *side, size_t cnt)
{
        side->passes = calloc(cnt, sizeof(*side->passes));
        if (!side->passes)
                return false;
        side->pass_cnt = cnt;
        for (size_t i = 0; i < cnt; i++) {
                side->passes[i] = calloc((size_t)side->source->partition_cnt, sizeof(**side->passes));
                if (!side->passes[i])
                        return false;
        }
        return true;
}

/*
 * The source as the job read it: pass by pass. A partition that came later took part in the last passes only, so
 * passes are counted from the end.
 */
static rp_err_t plan_by_progress(struct state *state, struct side *side, struct rp_error *err)
{
        const struct rp_progress *progress = state->job->progress;
        struct rp_note *note = malloc(sizeof(*note));
        size_t pass_cnt = 0;
        rp_err_t rc = note ? RP_OK : out_of_memory(err);

        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++)
                if (progress->marks[p].next >= 0) {
                        if (!rp_note_parse(note, progress->marks[p].note) || !note->pass_cnt)
                                rc = rp_fail(err, RP_ERR_USAGE, "the stored offsets were not written by this tool "
                                             "(partition %" PRId32 "): name the --job that copied", p);
                        else if (note->pass_cnt > pass_cnt)
                                pass_cnt = note->pass_cnt;
                }
        if (rc == RP_OK && !make_passes(side, pass_cnt))
                rc = out_of_memory(err);
        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++) {
                const struct rp_mark *mark = &progress->marks[p];
                int64_t from;

                if (mark->next < 0)
                        continue;
                rp_note_parse(note, mark->note);
                from = note->first;
                state->report->passes_are_forgotten |= note->forgotten > 0;
                for (size_t i = 0; i < note->pass_cnt; i++) {
                        int64_t end = note->ends[i] < mark->next ? note->ends[i] : mark->next;

                        side->passes[pass_cnt - note->pass_cnt + i][p] = (struct rp_range){ .first = from, .end = end };
                        from = end;
                }
                if (state->job->source_bounds[p].first > note->first && mark->next > note->first)
                        rc = rp_fail(err, RP_ERR_INCOMPLETE,
                                     "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                                     " were copied, but are deleted by now: there is nothing left to compare them with",
                                     p, side->source->topic, note->first, state->job->source_bounds[p].first - 1);
        }
        free(note);
        return rc;
}

static rp_err_t plan_reading(struct state *state, struct rp_error *err)
{
        const struct rp_verify *job = state->job;
        struct side *source = &state->sides[0], *target = &state->sides[1];
        bool has_progress = false;
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; p < job->progress->cnt; p++)
                has_progress |= job->progress->marks[p].next >= 0;
        state->report->is_bounded_by_progress = has_progress;
        if (has_progress)
                rc = plan_by_progress(state, source, err);
        else if (make_passes(source, 1))
                memcpy(source->passes[0], job->source_bounds,
                       (size_t)source->source->partition_cnt * sizeof(struct rp_range));
        else
                rc = out_of_memory(err);
        if (rc == RP_OK && !make_passes(target, 1))
                rc = out_of_memory(err);
        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < target->source->partition_cnt; p++) {
                target->passes[0][p] = job->target_bounds[p];
                target->report->deleted += (uint64_t)job->target_bounds[p].first;
        }
        for (int32_t p = 0; p < source->source->partition_cnt; p++)
                source->report->deleted += (uint64_t)job->source_bounds[p].first;
        for (int s = 0; s < 2; s++)
                for (size_t i = 0; i < state->sides[s].pass_cnt; i++)
                        for (int32_t p = 0; p < state->sides[s].source->partition_cnt; p++)
                                if (state->sides[s].passes[i][p].end > state->sides[s].passes[i][p].first)
                                        state->total += (uint64_t)(state->sides[s].passes[i][p].end -
                                                                   state->sides[s].passes[i][p].first);
        return RP_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

typedef rp_err_t take_fn(struct state *state, int s, const struct rp_record *rec, struct rp_error *err);

static rp_err_t read_pass(struct state *state, int s, struct rp_reader *reader, const struct rp_range *ranges, take_fn *take,
                          struct rp_error *err)
{
        struct rp_run run = { 0 };
        int64_t here = 0, all;
        rp_err_t rc = rp_reader_start(reader, ranges, err);

        while (rc == RP_OK && !run.done && !state->report->is_stopped) {
                rc = rp_reader_next(reader, TICK_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        rc = take(state, s, &run.records[i], err);
                state->records += run.cnt;
                rp_reader_progress(reader, &here, &all);
                if (state->job->tick && !state->job->tick(state->job->arg, state->done + (uint64_t)here, state->total,
                                                          state->records))
                        state->report->is_stopped = true;
        }
        state->done += (uint64_t)here;
        return rc;
}

static rp_err_t read_side(struct state *state, int s, take_fn *take, struct rp_error *err)
{
        struct side *side = &state->sides[s];
        struct rp_reader *reader = rp_reader_new(side->source, RP_READ_MERGED);
        rp_err_t rc = reader ? RP_OK : out_of_memory(err);

        for (size_t i = 0; rc == RP_OK && i < side->pass_cnt; i++)
                rc = read_pass(state, s, reader, side->passes[i], take, err);
        rp_reader_free(reader);
        return rc;
}

static struct rp_verify_example *add_example(struct rp_verify_report *report, rp_difference_t kind)
{
        struct rp_verify_example *example;

        if (report->counts[kind]++ >= RP_EXAMPLES_PER_KIND)
                return NULL;
        example = &report->examples[report->example_cnt++];
        *example = (struct rp_verify_example){
                .kind = kind, .source = { -1, -1 }, .target = { -1, -1 }, .wanted = -1,
        };
        return example;
}

static rp_err_t judge_place(struct state *state, const struct rp_record *rec, struct rp_error *err)
{
        int32_t wanted = kr_rule_partition(state->job->rule, rec->key, rec->key_len, state->job->target->partition_cnt);
        struct rp_verify_example *example;

        if (wanted == rec->partition)
                return RP_OK;
        if (wanted == KR_ERR_KEY_UNRESOLVED)
                return rp_fail(err, RP_ERR_INCOMPLETE,
                               "record at partition %" PRId32 ", offset %" PRId64 " of topic \"%s\" cannot be judged: %s",
                               rec->partition, rec->offset, state->job->target->topic, kr_strerror(wanted));
        example = add_example(state->report, RP_MISPARTITIONED);
        if (example) {
                example->target = (struct rp_place){ rec->partition, rec->offset };
                example->wanted = wanted;
        }
        return RP_OK;
}

static rp_err_t take_digest(struct state *state, int s, const struct rp_record *rec, struct rp_error *err)
{
        struct side *side = &state->sides[s];
        struct rp_digest digest = rp_digest_record(rec);
        uint64_t group = rp_digest_group(rec);
        struct part *part = &state->parts[part_of(group)];

        side->report->records++;
        side->report->bytes += rec->key_len + rec->value_len;
        side->report->keyless += !rec->key;
        rp_digest_add(&side->report->content, digest);
        rp_digest_add(&part->content[s], digest);
        part->cnt[s]++;
        if (rec->key && s == 1 && judge_place(state, rec, err) != RP_OK)
                return err->code;
        if (rec->key && !rp_order_add(&side->order, group, digest))
                return out_of_memory(err);
        return RP_OK;
}

static rp_err_t take_entry(struct state *state, int s, const struct rp_record *rec, struct rp_error *err)
{
        struct entries *entries = &state->entries[s];
        uint64_t group = rp_digest_group(rec);

        (void)err;
        if (!state->parts[part_of(group)].is_chosen)
                return RP_OK;
        if (entries->cnt == entries->cap) /* more than there were a moment ago: a topic that is still written to */
                return rp_fail(err, RP_ERR_INCOMPLETE, "topic \"%s\" gave other records when it was read again",
                               state->sides[s].source->topic);
        entries->items[entries->cnt] = (struct rp_entry){
                .group = group, .digest = rp_digest_record(rec), .turn = entries->cnt, .offset = rec->offset,
                .partition = rec->partition, .is_keyed = rec->key,
        };
        entries->cnt++;
        return RP_OK;
}

/* ---- naming differences ------------------------------------------------------------------------------------------- */

static void mark_part(void *arg, uint64_t group)
{
        struct state *state = arg;

        state->parts[part_of(group)].differs = true;
        state->report->keys_differing++;
}

/* As many differing parts as fit into the memory; all of them, unless very much is wrong. */
static rp_err_t choose_parts(struct state *state, struct rp_error *err)
{
        size_t most = state->job->memory_bytes / (2 * sizeof(struct rp_entry)); /* half for differ's own work */
        size_t used = 0;

        for (size_t i = 0; i < PART_CNT; i++) {
                struct part *part = &state->parts[i];

                if (!part->differs)
                        continue;
                state->report->parts_differing++;
                part->is_chosen = used + part->cnt[0] + part->cnt[1] <= most;
                if (!part->is_chosen) {
                        state->report->parts_unnamed++;
                        continue;
                }
                used += part->cnt[0] + part->cnt[1];
                for (int s = 0; s < 2; s++)
                        state->entries[s].cap += part->cnt[s];
        }
        for (int s = 0; s < 2; s++) {
                state->entries[s].items = malloc((state->entries[s].cap + 1) * sizeof(struct rp_entry));
                if (!state->entries[s].items)
                        return out_of_memory(err);
        }
        return RP_OK;
}

static void on_difference(void *arg, rp_difference_t kind, const struct rp_entry *source, const struct rp_entry *target)
{
        struct state *state = arg;
        struct rp_verify_example *example = add_example(state->report, kind);

        if (example && source)
                example->source = (struct rp_place){ source->partition, source->offset };
        if (example && target)
                example->target = (struct rp_place){ target->partition, target->offset };
}

static rp_err_t name_differences(struct state *state, struct rp_error *err)
{
        rp_err_t rc = choose_parts(state, err);

        for (int s = 0; s < 2; s++)
                rp_order_release(&state->sides[s].order); /* what it held is needed no more, its memory is */
        state->total *= 2;
        for (int s = 0; rc == RP_OK && s < 2; s++)
                rc = read_side(state, s, take_entry, err);
        if (rc != RP_OK || state->report->is_stopped)
                return rc;
        if (!rp_differ(state->entries[0].items, state->entries[0].cnt, state->entries[1].items, state->entries[1].cnt,
                       on_difference, state))
                return out_of_memory(err);
        return RP_OK;
}

/* ---- keys of examples ----------------------------------------------------------------------------------------------- */

static rp_err_t fetch_key(struct state *state, int s, struct rp_place place, struct rp_verify_example *example,
                          struct rp_error *err)
{
        struct rp_source *source = state->sides[s].source;
        struct rp_range *ranges = calloc((size_t)source->partition_cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(source, RP_READ_ANY);
        struct rp_run run = { 0 };
        rp_err_t rc = ranges && reader ? RP_OK : out_of_memory(err);

        if (rc == RP_OK) {
                ranges[place.partition] = (struct rp_range){ place.offset, place.offset + 1 };
                rc = rp_reader_start(reader, ranges, err);
        }
        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, TICK_MS, &run, err);
                if (rc == RP_OK && run.cnt == 1) {
                        example->has_key = true;
                        example->key_len = run.records[0].key_len;
                        example->key = run.records[0].key ? malloc(example->key_len + 1) : NULL;
                        if (example->key)
                                memcpy(example->key, run.records[0].key, example->key_len);
                }
        }
        rp_reader_free(reader);
        free(ranges);
        return rc;
}

static rp_err_t fetch_keys(struct state *state, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < state->report->example_cnt; i++) {
                struct rp_verify_example *example = &state->report->examples[i];

                if (example->source.partition >= 0)
                        rc = fetch_key(state, 0, example->source, example, err);
                else
                        rc = fetch_key(state, 1, example->target, example, err);
        }
        return rc;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

static rp_err_t compare(struct state *state, struct rp_error *err)
{
        struct rp_verify_report *report = state->report;
        rp_err_t rc = RP_OK;
        bool differs = false;

        for (int s = 0; rc == RP_OK && s < 2; s++)
                rc = read_side(state, s, take_digest, err);
        if (rc != RP_OK || report->is_stopped)
                return rc;
        report->keys_compared =
                rp_order_compare(&state->sides[0].order, &state->sides[1].order, mark_part, state);
        report->keys_share = rp_order_share(&state->sides[0].order, &state->sides[1].order);
        for (size_t i = 0; i < PART_CNT; i++) {
                struct part *part = &state->parts[i];

                part->differs |= part->cnt[0] != part->cnt[1] || !rp_digest_equals(part->content[0], part->content[1]);
                differs |= part->differs;
        }
        report->is_equal = !differs && !report->counts[RP_MISPARTITIONED];
        if (differs)
                rc = name_differences(state, err);
        if (rc == RP_OK && state->job->shows_keys && !report->is_stopped)
                rc = fetch_keys(state, err);
        return rc;
}

rp_err_t rp_verify_run(const struct rp_verify *verify, struct rp_verify_report *report, struct rp_error *err)
{
        struct state state = { .job = verify, .report = report };
        rp_err_t rc = RP_OK;

        *report = (struct rp_verify_report){ 0 };
        state.sides[0] = (struct side){ .source = verify->source, .report = &report->source };
        state.sides[1] = (struct side){ .source = verify->target, .report = &report->target };
        state.parts = calloc(PART_CNT, sizeof(*state.parts));
        for (int s = 0; s < 2; s++)
                if (!rp_order_init(&state.sides[s].order, verify->memory_bytes / 2))
                        rc = out_of_memory(err);
        if (!state.parts)
                rc = out_of_memory(err);
        if (rc == RP_OK)
                rc = plan_reading(&state, err);
        if (rc == RP_OK)
                rc = compare(&state, err);
        for (int s = 0; s < 2; s++) {
                for (size_t i = 0; i < state.sides[s].pass_cnt; i++)
                        free(state.sides[s].passes[i]);
                free(state.sides[s].passes);
                rp_order_release(&state.sides[s].order);
                free(state.entries[s].items);
        }
        free(state.parts);
        return rc;
}

void rp_verify_report_release(struct rp_verify_report *report)
{
        for (size_t i = 0; i < report->example_cnt; i++)
                free(report->examples[i].key);
        report->example_cnt = 0;
}
