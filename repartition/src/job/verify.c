#include "job/verification.h"

#include "clock.h"
#include "decide/note.h"
#include "job/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what to read ----------------------------------------------------------------------------------------------- */

/*
 * The source as the job read it: pass by pass. A partition that came later took part in the last passes only, so
 * passes are counted from the end.
 */
static rp_err_t plan_by_progress(struct rp_verification *v, struct rp_verify_reading *side, struct rp_error *err)
{
        const struct rp_progress *progress = v->job->progress;
        struct rp_note *note = malloc(sizeof(*note));
        size_t pass_cnt = 0;
        rp_err_t rc = note ? RP_OK : rp_out_of_memory(err);

        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++)
                if (progress->marks[p].next >= 0) {
                        if (!rp_note_parse(note, progress->marks[p].note) || !note->pass_cnt)
                                rc = rp_fail(err, RP_ERR_USAGE, "the stored offsets were not written by this tool "
                                             "(partition %" PRId32 "): name the --job that copied",
                                             rp_source_partition(side->source, p));
                        else if (note->pass_cnt > pass_cnt)
                                pass_cnt = note->pass_cnt;
                }
        if (rc == RP_OK && !rp_verify_make_passes(side, pass_cnt))
                rc = rp_out_of_memory(err);
        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++) {
                const struct rp_mark *mark = &progress->marks[p];
                int64_t from;

                if (mark->next < 0)
                        continue;
                rp_note_parse(note, mark->note);
                from = note->first;
                v->report->passes_are_forgotten |= note->forgotten > 0;
                for (size_t i = 0; i < note->pass_cnt; i++) {
                        int64_t end = note->ends[i] < mark->next ? note->ends[i] : mark->next;

                        side->passes[pass_cnt - note->pass_cnt + i][p] = (struct rp_range){ .first = from, .end = end };
                        from = end;
                }
                if (v->job->source_bounds[p].first > note->first && mark->next > note->first)
                        rc = rp_fail(err, RP_ERR_INCOMPLETE,
                                     "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                                     " were copied, but are deleted by now: there is nothing left to compare them with",
                                     rp_source_partition(side->source, p), rp_source_topic(side->source, p), note->first,
                                     v->job->source_bounds[p].first - 1);
        }
        free(note);
        return rc;
}

static rp_err_t plan_reading(struct rp_verification *v, struct rp_error *err)
{
        const struct rp_verify *job = v->job;
        struct rp_verify_reading *source = &v->sides[0], *target = &v->sides[1];
        bool has_progress = false;
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; p < job->progress->cnt; p++)
                has_progress |= job->progress->marks[p].next >= 0;
        v->report->is_bounded_by_progress = has_progress;
        if (has_progress)
                rc = plan_by_progress(v, source, err);
        else if (rp_verify_make_passes(source, 1))
                memcpy(source->passes[0], job->source_bounds,
                       (size_t)source->source->partition_cnt * sizeof(struct rp_range));
        else
                rc = rp_out_of_memory(err);
        if (rc == RP_OK && !rp_verify_make_passes(target, 1))
                rc = rp_out_of_memory(err);
        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < target->source->partition_cnt; p++) {
                target->passes[0][p] = job->target_bounds[p];
                target->report->deleted += (uint64_t)job->target_bounds[p].first;
        }
        for (int32_t p = 0; p < source->source->partition_cnt; p++)
                source->report->deleted += (uint64_t)job->source_bounds[p].first;
        return RP_OK;
}

static void count_offsets(struct rp_verification *v)
{
        for (int s = 0; s < 2; s++)
                for (size_t i = 0; i < v->sides[s].pass_cnt; i++)
                        for (int32_t p = 0; p < v->sides[s].source->partition_cnt; p++) {
                                const struct rp_range *range = &v->sides[s].passes[i][p];

                                if (range->end > range->first)
                                        v->once += (uint64_t)(range->end - range->first);
                        }
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static rp_err_t remember_positions(struct rp_verification *v, int s, const struct rp_reader *reader, struct rp_error *err)
{
        int32_t cnt = v->sides[s].source->partition_cnt;
        int64_t *positions = realloc(v->positions, (size_t)cnt * sizeof(*positions));

        if (!positions)
                return rp_out_of_memory(err);
        for (int32_t p = 0; p < cnt; p++)
                positions[p] = rp_reader_position(reader, p);
        v->positions = positions;
        v->position_cnt = cnt;
        return RP_OK;
}

static rp_err_t read_pass(struct rp_verification *v, struct rp_reader *reader, rp_take_fn *take, struct rp_error *err)
{
        int s = v->side;
        struct rp_verify_reading *side = &v->sides[s];
        size_t size = (size_t)side->source->partition_cnt * sizeof(struct rp_range);
        struct rp_range *ranges = malloc(size);
        struct rp_run run = { 0 };
        uint64_t before = v->done;
        int64_t here = 0, all;
        rp_err_t rc;

        if (!ranges)
                return rp_out_of_memory(err);
        memcpy(ranges, side->passes[v->pass], size);
        for (int32_t p = 0; p < v->position_cnt; p++) /* goes on where it was broken off */
                ranges[p].first = v->positions[p];
        v->position_cnt = 0;
        rc = rp_reader_start(reader, ranges, err);
        while (rc == RP_OK && !run.done && !v->report->is_stopped) {
                rc = rp_reader_next(reader, RP_VERIFY_TICK_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        rc = take(v, s, &run.records[i], err);
                v->records += run.cnt;
                rp_reader_progress(reader, &here, &all);
                v->done = before + (uint64_t)here;
                rp_verification_tick(v, v->done);
                if (rc == RP_OK && rp_verify_is_due(v)) {
                        rc = remember_positions(v, s, reader, err);
                        if (rc == RP_OK)
                                rc = rp_verify_keep(v, err);
                        v->position_cnt = 0;
                }
        }
        free(ranges);
        return rc;
}

/* All passes of both sides, from where v stands. */
static rp_err_t read_both(struct rp_verification *v, rp_take_fn *take, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (; rc == RP_OK && v->side < 2 && !v->report->is_stopped;) {
                struct rp_reader *reader = rp_reader_new(v->sides[v->side].source, RP_READ_MERGED);

                rc = reader ? RP_OK : rp_out_of_memory(err);
                while (rc == RP_OK && v->pass < v->sides[v->side].pass_cnt && !v->report->is_stopped) {
                        rc = read_pass(v, reader, take, err);
                        if (rc == RP_OK && !v->report->is_stopped)
                                v->pass++;
                }
                rp_reader_free(reader);
                if (rc == RP_OK && !v->report->is_stopped) {
                        v->side++;
                        v->pass = 0;
                }
        }
        return rc;
}

static rp_err_t judge_place(struct rp_verification *v, const struct rp_record *rec, struct rp_error *err)
{
        const struct rp_source *target = v->job->target;
        struct rp_verify_example *example;
        int32_t wanted;

        if (rp_tally_home(v->job->rule, target->topic, target->partition_cnt, rec, &wanted, err) != RP_OK)
                return err->code;
        if (wanted == rec->partition)
                return RP_OK;
        example = rp_verify_add_example(v->report, RP_MISPARTITIONED);
        if (example) {
                example->target = (struct rp_verify_place){ rec->partition, rec->offset };
                example->wanted = wanted;
        }
        return RP_OK;
}

static void add_to_part(struct rp_part_sum *sum, struct rp_digest digest)
{
        rp_digest_add(&sum->content, digest);
        sum->cnt++;
}

/* All that is learnt from a record in the first reading. */
static rp_err_t count_record(struct rp_verification *v, int s, const struct rp_record *rec, uint64_t group,
                             struct rp_digest digest, struct rp_error *err)
{
        struct rp_verify_side *side = v->sides[s].report;
        struct rp_part *part = &v->parts[rp_part_of(group)];

        side->records++;
        side->bytes += rec->key_len + rec->value_len;
        side->keyless += !rec->key;
        add_to_part(&part->all[s], digest);
        if (!rec->key)
                add_to_part(&part->keyless[s], digest);
        if (!rec->key || v->job->mode == RP_COMPARE_ALL)
                rp_digest_add(&side->content, digest);
        return rec->key && s == 1 ? judge_place(v, rec, err) : RP_OK;
}

static rp_err_t take_record(struct rp_verification *v, int s, const struct rp_record *rec, struct rp_error *err)
{
        uint64_t group = rp_digest_group(rec);
        bool is_first = !v->order.after;
        struct rp_digest digest;

        if (!is_first && (!rec->key || group <= v->order.after || group > v->order.limit))
                return RP_OK;
        digest = rp_digest_record(rec);
        if (is_first && count_record(v, s, rec, group, digest, err) != RP_OK)
                return err->code;
        if (rec->key && !rp_order_add(&v->order, s, group, digest, rec->value))
                return rp_out_of_memory(err);
        return RP_OK;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static void mark_part(void *arg, uint64_t group)
{
        struct rp_verification *v = arg;

        v->parts[rp_part_of(group)].differs = true;
        v->report->keys_differing++;
}

/* What the keys of one range of hashes had to tell. */
static void compare_keys(struct rp_verification *v)
{
        struct rp_verify_report *report = v->report;

        report->readings++;
        report->keys_compared += rp_order_compare(&v->order, mark_part, v);
        if (v->order.peak_bytes > report->peak_bytes)
                report->peak_bytes = v->order.peak_bytes;
        for (int s = 0; s < 2 && v->job->mode == RP_COMPARE_LATEST; s++)
                v->sides[s].report->live_keys += rp_order_sum(&v->order, s, &v->sides[s].report->content);
}

/* Range by range of the keys' hashes, as many as fit into the memory at a time; nearly always that is all. */
static rp_err_t read_all(struct rp_verification *v, struct rp_error *err)
{
        for (;;) {
                rp_err_t rc = read_both(v, take_record, err);
                uint64_t limit = v->order.limit;

                if (rc != RP_OK || v->report->is_stopped)
                        return rc;
                if (limit == v->order.after)
                        return rp_fail(err, RP_ERR_FATAL, "the memory is too small for the keys");
                compare_keys(v);
                if (limit == UINT64_MAX || v->job->sample_keys) {
                        v->report->keys_share = (double)limit / (double)UINT64_MAX;
                        return RP_OK;
                }
                rp_order_restart(&v->order, limit);
                v->side = 0;
                v->total += v->once;
        }
}

static bool differs(const struct rp_part_sum sums[2])
{
        return sums[0].cnt != sums[1].cnt || !rp_digest_equals(sums[0].content, sums[1].content);
}

static rp_err_t compare(struct rp_verification *v, struct rp_error *err)
{
        struct rp_verify_report *report = v->report;
        bool latest = v->job->mode == RP_COMPARE_LATEST;
        rp_err_t rc = v->step == RP_STEP_READ ? read_all(v, err) : RP_OK;

        if (rc != RP_OK || report->is_stopped)
                return rc;
        for (size_t i = 0; i < RP_PART_CNT; i++) {
                struct rp_part *part = &v->parts[i];

                part->differs |= differs(latest ? part->keyless : part->all);
                v->differs |= part->differs;
        }
        rp_order_release(&v->order); /* what it held is needed no more, its memory is */
        report->is_equal = !v->differs && !report->counts[RP_MISPARTITIONED];
        if (v->differs) {
                v->step = RP_STEP_NAME;
                v->side = 0;
                rc = rp_verify_keep(v, err);
                if (rc == RP_OK)
                        rc = rp_verify_name(v, err);
        }
        if (rc == RP_OK && v->job->shows_keys && !report->is_stopped)
                rc = rp_verify_fetch_keys(v, err);
        return rc;
}

/* ---- by partition --------------------------------------------------------------------------------------------------- */

/* A partition as a whole: passes follow each other. */
static struct rp_range whole_range(const struct rp_verify_reading *side, int32_t partition)
{
        struct rp_range whole = { 0 };

        for (size_t i = 0; i < side->pass_cnt; i++) {
                const struct rp_range *range = &side->passes[i][partition];

                if (range->end <= range->first)
                        continue;
                if (whole.end <= whole.first)
                        whole.first = range->first;
                whole.end = range->end;
        }
        return whole;
}

static rp_err_t note_ranges(struct rp_verification *v, struct rp_error *err)
{
        for (int s = 0; s < 2; s++) {
                int32_t cnt = v->sides[s].source->partition_cnt;

                v->report->ranges[s] = calloc((size_t)cnt, sizeof(struct rp_range));
                if (!v->report->ranges[s])
                        return rp_out_of_memory(err);
                for (int32_t p = 0; p < cnt; p++)
                        v->report->ranges[s][p] = whole_range(&v->sides[s], p);
        }
        return RP_OK;
}

static rp_err_t plan_tallies(struct rp_verification *v, struct rp_error *err)
{
        for (int s = 0; s < 2; s++) {
                int32_t cnt = v->sides[s].source->partition_cnt;

                v->report->tallies[s] = calloc((size_t)cnt, sizeof(struct rp_tally));
                if (!v->report->tallies[s])
                        return rp_out_of_memory(err);
                v->report->partition_cnts[s] = cnt;
                for (int32_t p = 0; p < cnt; p++)
                        v->report->tallies[s][p] = (struct rp_tally){
                                .range = whole_range(&v->sides[s], p), .is_wanted = !v->job->chosen || v->job->chosen[p],
                        };
        }
        return RP_OK;
}

static rp_err_t open_one(void *arg, int side, struct rp_source **source, struct rp_error *err)
{
        const struct rp_verification *v = arg;

        return v->job->open(v->job->open_arg, side, source, err);
}

static bool tick_tally(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        const struct rp_verification *v = arg;

        return !v->job->tick || v->job->tick(v->job->arg, done, total, records);
}

static rp_err_t keep_tally(void *arg, struct rp_error *err)
{
        return rp_verify_is_due(arg) ? rp_verify_keep(arg, err) : RP_OK;
}

/* Sums of partitions, by several threads. *decided: there is nothing left to be read. */
static rp_err_t compare_tallies(struct rp_verification *v, bool *decided, struct rp_error *err)
{
        struct rp_verify_report *report = v->report;
        struct rp_tally_job job = {
                .rule = v->job->rule, .memory_bytes = v->job->memory_bytes, .thread_cnt = v->job->thread_cnt,
                .open = open_one, .tick = tick_tally, .keep = keep_tally, .arg = v,
        };
        struct rp_tally sums[2] = { 0 };
        rp_err_t rc;

        for (int s = 0; s < 2; s++)
                job.sides[s] = (struct rp_tally_side){ report->tallies[s], report->partition_cnts[s] };
        rc = rp_tally_run(&job, err);
        report->is_stopped = job.is_stopped;
        if (job.is_stopped && rc == RP_OK)
                rc = rp_verify_keep(v, err);
        *decided = true;
        if (rc != RP_OK || report->is_stopped)
                return rc;
        for (int s = 0; s < 2; s++) {
                struct rp_verify_side *side = v->sides[s].report;

                for (int32_t p = 0; p < report->partition_cnts[s]; p++)
                        if (report->tallies[s][p].is_done)
                                rp_tally_add(&sums[s], &report->tallies[s][p]);
                *side = (struct rp_verify_side){ .records = sums[s].records, .keyless = sums[s].keyless,
                                                 .bytes = sums[s].bytes, .content = sums[s].content,
                                                 .deleted = side->deleted };
        }
        report->peak_bytes = job.peak_bytes;
        report->readings = 1;
        report->is_by_partition = true;
        if (v->job->chosen) {
                report->counts[RP_MISPARTITIONED] = sums[1].mispartitioned;
                return RP_OK;
        }
        *decided = rp_tally_judge(&sums[0], &sums[1], &report->split_pieces) == RP_TALLY_EQUAL;
        if (*decided) {
                report->is_equal = true;
                report->keys_compared = sums[1].keys;
                report->keys_share = 1;
                return RP_OK;
        }
        /* What differs, or in which order split keys stand, is for the merged streams to say. */
        report->is_by_partition = false;
        report->readings = 0;
        for (int s = 0; s < 2; s++)
                *v->sides[s].report = (struct rp_verify_side){ .deleted = v->sides[s].report->deleted };
        return RP_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

static rp_err_t run(struct rp_verification *v, struct rp_error *err)
{
        rp_err_t rc = plan_reading(v, err);
        bool decided = false;

        if (rc == RP_OK && v->step == RP_STEP_TALLY)
                rc = plan_tallies(v, err);
        if (rc == RP_OK)
                rc = rp_verify_resume(v, err);
        if (rc == RP_OK)
                rc = note_ranges(v, err);
        if (rc != RP_OK)
                return rc;
        count_offsets(v);
        if (v->step == RP_STEP_TALLY) {
                rc = compare_tallies(v, &decided, err);
                if (rc != RP_OK || decided)
                        return rc;
                v->step = RP_STEP_READ;
        }
        v->total = v->once * (v->report->readings + (v->step == RP_STEP_NAME ? 0 : 1));
        return compare(v, err);
}

rp_err_t rp_verify_run(const struct rp_verify *verify, struct rp_verify_report *report, struct rp_error *err)
{
        struct rp_verification v = { .job = verify, .report = report, .step = RP_STEP_READ };
        rp_err_t rc;

        *report = (struct rp_verify_report){
                .mode = verify->mode,
                .partition_cnts = { verify->source->partition_cnt, verify->target->partition_cnt },
        };
        v.is_tallied = verify->open && verify->mode == RP_COMPARE_ALL && !verify->sample_keys &&
                       (verify->chosen || verify->thread_cnt > 1);
        if (verify->chosen && !v.is_tallied)
                return rp_fail(err, RP_ERR_USAGE, "a part of the partitions can only be compared record by record, whole: "
                               "the last record of a key may be in another part");
        v.sides[0] = (struct rp_verify_reading){ .source = verify->source, .report = &report->source };
        v.sides[1] = (struct rp_verify_reading){ .source = verify->target, .report = &report->target };
        v.kept_ms = rp_clock_ms();
        rp_order_init(&v.order, verify->mode == RP_COMPARE_LATEST ? RP_ORDER_LATEST : RP_ORDER_CHAIN,
                      verify->memory_bytes, verify->sample_keys);
        if (v.is_tallied)
                v.step = RP_STEP_TALLY;
        v.parts = calloc(RP_PART_CNT, sizeof(*v.parts));
        rc = v.parts ? run(&v, err) : rp_out_of_memory(err);
        if (rc == RP_OK && !report->is_stopped)
                rp_verify_forget(&v);
        for (int s = 0; s < 2; s++)
                rp_verify_free_passes(&v.sides[s]);
        rp_order_release(&v.order);
        free(v.positions);
        free(v.parts);
        return rc;
}

void rp_verify_report_release(struct rp_verify_report *report)
{
        for (size_t i = 0; i < report->example_cnt; i++)
                free(report->examples[i].key);
        report->example_cnt = 0;
        for (int s = 0; s < 2; s++) {
                free(report->ranges[s]);
                free(report->tallies[s]);
                report->ranges[s] = NULL;
                report->tallies[s] = NULL;
        }
}
