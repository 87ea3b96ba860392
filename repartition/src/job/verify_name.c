/*
 * The second look. What differed is read again, and only what still does is a difference. A part that is not the same as
 * it was at the first reading was changed by retention or compaction meanwhile, so nothing is said of it but that.
 */
#include "job/verification.h"

#include <stdlib.h>
#include <string.h>

struct entries {
        struct rp_entry *items;
        size_t cnt, cap;
        bool is_late; /* the records that are read now */
};

struct second_look {
        struct rp_verification *v;
        struct entries entries[2];
        size_t most; /* entries of both sides together */
        struct rp_part_sum (*again)[2]; /* by part: what it holds now */
};

/* As many differing parts as fit into the memory; all of them, unless very much is wrong. */
static void choose_parts(struct second_look *look)
{
        struct rp_verification *v = look->v;
        size_t used = 0;

        for (size_t i = 0; i < RP_PART_CNT; i++) {
                struct rp_part *part = &v->parts[i];

                if (!part->differs)
                        continue;
                v->report->parts_differing++;
                part->is_chosen = used + part->all[0].cnt + part->all[1].cnt <= look->most;
                if (part->is_chosen)
                        used += part->all[0].cnt + part->all[1].cnt;
                else
                        v->report->parts_unnamed++;
        }
}

/* Grows like any array, but never beyond what both sides may have together. */
static bool make_room(struct second_look *look, struct entries *entries)
{
        size_t cap = entries->cap ? entries->cap * 2 : 256;
        struct rp_entry *grown;

        if (look->entries[0].cnt + look->entries[1].cnt >= look->most)
                return false;
        cap = cap < look->most ? cap : look->most;
        grown = realloc(entries->items, cap * sizeof(*grown));
        if (!grown)
                return false;
        entries->items = grown;
        entries->cap = cap;
        return true;
}

static void take_entry(struct second_look *look, int s, const struct rp_record *rec)
{
        struct entries *entries = &look->entries[s];
        uint64_t group = rp_digest_group(rec);
        struct rp_part *part = &look->v->parts[rp_part_of(group)];
        struct rp_digest digest;

        if (!part->is_chosen)
                return;
        digest = rp_digest_record(rec);
        if (!entries->is_late) {
                struct rp_part_sum *sum = &look->again[rp_part_of(group)][s];

                rp_digest_add(&sum->content, digest);
                sum->cnt++;
        }
        if (entries->cnt == entries->cap && !make_room(look, entries)) {
                part->is_moved |= !entries->is_late; /* more than there were: not the topic that was read before */
                return;
        }
        entries->items[entries->cnt] = (struct rp_entry){
                .group = group, .digest = digest, .turn = entries->cnt, .offset = rec->offset, .partition = rec->partition,
                .is_keyed = rec->key, .is_live = rec->value, .is_late = entries->is_late,
        };
        entries->cnt++;
}

/* After records of the ranges were deleted: goes on where the log begins now. Their parts will be found changed. */
static rp_err_t skip_deleted(struct rp_source *source, struct rp_reader *reader, struct rp_range *ranges,
                             struct rp_error *err)
{
        struct rp_range *now = calloc((size_t)source->partition_cnt, sizeof(*now));
        struct rp_error ignored;
        bool lost_any = false;

        if (!now || source->ops->bounds(source, now, &ignored) != RP_OK) {
                free(now);
                return err->code;
        }
        for (int32_t p = 0; p < source->partition_cnt; p++) {
                int64_t next = rp_reader_position(reader, p);

                lost_any |= next < ranges[p].end && next < now[p].first;
                ranges[p].first = next < now[p].first ? now[p].first : next;
        }
        free(now);
        return lost_any ? rp_reader_start(reader, ranges, err) : err->code;
}

static rp_err_t read_ranges(struct second_look *look, int s, struct rp_reader *reader, struct rp_range *ranges,
                            struct rp_error *err)
{
        struct rp_verification *v = look->v;
        uint64_t before = v->done;
        struct rp_run run = { 0 };
        rp_err_t rc = rp_reader_start(reader, ranges, err);

        while (rc == RP_OK && !run.done && !v->report->is_stopped) {
                int64_t here, all;

                rc = rp_reader_next(reader, RP_VERIFY_TICK_MS, &run, err);
                if (rc == RP_ERR_INCOMPLETE)
                        rc = skip_deleted(v->sides[s].source, reader, ranges, err);
                else if (rc == RP_OK)
                        for (size_t i = 0; i < run.cnt; i++)
                                take_entry(look, s, &run.records[i]);
                v->records += run.cnt;
                rp_reader_progress(reader, &here, &all);
                v->done = before + (uint64_t)here;
                rp_verification_tick(v, v->done);
        }
        return rc;
}

/* What came after the ends that were fixed: a record that only seemed to be missing may be on its way. */
static rp_err_t read_late(struct second_look *look, int s, struct rp_reader *reader, struct rp_range *ranges,
                          struct rp_error *err)
{
        const struct rp_verify_reading *side = &look->v->sides[s];
        const struct rp_range *last = side->passes[side->pass_cnt - 1];
        rp_err_t rc = side->source->ops->bounds(side->source, ranges, err);

        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < side->source->partition_cnt; p++)
                if (ranges[p].first < last[p].end)
                        ranges[p].first = last[p].end;
        look->entries[s].is_late = true;
        return read_ranges(look, s, reader, ranges, err);
}

static rp_err_t read_again(struct second_look *look, int s, struct rp_error *err)
{
        struct rp_verification *v = look->v;
        const struct rp_verify_reading *side = &v->sides[s];
        size_t size = (size_t)side->source->partition_cnt * sizeof(struct rp_range);
        struct rp_reader *reader = rp_reader_new(side->source, RP_READ_MERGED);
        struct rp_range *ranges = malloc(size);
        rp_err_t rc = reader && ranges ? RP_OK : rp_out_of_memory(err);

        for (size_t i = 0; rc == RP_OK && i < side->pass_cnt && !v->report->is_stopped; i++) {
                memcpy(ranges, side->passes[i], size);
                rc = read_ranges(look, s, reader, ranges, err);
        }
        if (rc == RP_OK && side->pass_cnt && (!v->report->is_bounded_by_progress || (s && v->job->target_lags)) &&
            !v->report->is_stopped)
                rc = read_late(look, s, reader, ranges, err);
        rp_reader_free(reader);
        free(ranges);
        return rc;
}

static void find_moved_parts(struct second_look *look)
{
        struct rp_verification *v = look->v;

        for (size_t i = 0; i < RP_PART_CNT; i++) {
                struct rp_part *part = &v->parts[i];

                for (int s = 0; part->is_chosen && s < 2; s++)
                        part->is_moved |= look->again[i][s].cnt != part->all[s].cnt ||
                                          !rp_digest_equals(look->again[i][s].content, part->all[s].content);
                v->report->parts_moved += part->is_moved;
        }
}

static void on_difference(void *arg, rp_difference_t kind, const struct rp_entry *source, const struct rp_entry *target)
{
        struct rp_verification *v = arg;
        struct rp_verify_example *example;

        if (kind == RP_IN_FLIGHT) {
                v->report->in_flight++;
                return;
        }
        if (v->parts[rp_part_of((source ? source : target)->group)].is_moved) {
                v->report->unsettled++;
                return;
        }
        example = rp_verify_add_example(v->report, kind);
        if (example && source)
                example->source = (struct rp_verify_place){ source->partition, source->offset };
        if (example && target)
                example->target = (struct rp_verify_place){ target->partition, target->offset };
}

/* Equal after all, if the second look found nothing and knows why the first one did. */
static void judge(struct rp_verify_report *report)
{
        uint64_t sum = report->unsettled + report->parts_unnamed;

        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                sum += report->counts[kind];
        report->is_equal = !sum && (report->in_flight || report->parts_moved);
}

static rp_err_t differ(struct second_look *look, struct rp_error *err)
{
        struct rp_verification *v = look->v;
        bool latest = v->job->mode == RP_COMPARE_LATEST;
        struct entries *a = &look->entries[0], *b = &look->entries[1];

        find_moved_parts(look);
        if (latest) {
                a->cnt = rp_entries_keep_latest(a->items, a->cnt);
                b->cnt = rp_entries_keep_latest(b->items, b->cnt);
        }
        if (!rp_differ(a->items, a->cnt, b->items, b->cnt, latest, on_difference, v))
                return rp_out_of_memory(err);
        judge(v->report);
        return RP_OK;
}

rp_err_t rp_verify_name(struct rp_verification *v, struct rp_error *err)
{
        /* Half for differ's own work. An array that grows has its old self beside it for a moment. */
        struct second_look look = { .v = v, .most = v->job->memory_bytes / (2 * sizeof(struct rp_entry)),
                                    .again = calloc(RP_PART_CNT, sizeof(*look.again)) };
        rp_err_t rc = look.again ? RP_OK : rp_out_of_memory(err);

        if (rc == RP_OK)
                choose_parts(&look);
        v->total += v->once;
        for (int s = 0; rc == RP_OK && s < 2 && !v->report->is_stopped; s++)
                rc = read_again(&look, s, err);
        if (rc == RP_OK && !v->report->is_stopped)
                rc = differ(&look, err);
        for (int s = 0; s < 2; s++)
                free(look.entries[s].items);
        free(look.again);
        return rc;
}

/* ---- keys of examples ----------------------------------------------------------------------------------------------- */

static rp_err_t fetch_key(struct rp_verification *v, int s, struct rp_verify_place place, struct rp_verify_example *example,
                          struct rp_error *err)
{
        struct rp_source *source = v->sides[s].source;
        struct rp_range *ranges = calloc((size_t)source->partition_cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(source, RP_READ_ANY);
        struct rp_run run = { 0 };
        rp_err_t rc = ranges && reader ? RP_OK : rp_out_of_memory(err);

        if (rc == RP_OK) {
                ranges[place.partition] = (struct rp_range){ place.offset, place.offset + 1 };
                rc = rp_reader_start(reader, ranges, err);
        }
        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, RP_VERIFY_TICK_MS, &run, err);
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
        return rc == RP_ERR_INCOMPLETE ? RP_OK : rc; /* deleted by now: its key stays unknown */
}

rp_err_t rp_verify_fetch_keys(struct rp_verification *v, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < v->report->example_cnt; i++) {
                struct rp_verify_example *example = &v->report->examples[i];

                if (example->source.partition >= 0)
                        rc = fetch_key(v, 0, example->source, example, err);
                else
                        rc = fetch_key(v, 1, example->target, example, err);
        }
        return rc;
}
