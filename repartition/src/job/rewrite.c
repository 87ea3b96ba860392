#include "job/rewrite.h"

#include "clock.h"
#include "decide/note.h"
#include "decide/target.h"
#include "io/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        TICK_MS = 100,
        RECOVERIES_MAX = 5 /* in a row without a commit in between; each waits as long as the sink is patient */
};

/* What happened since the last commit; becomes part of the report once it is committed. */
struct tally {
        uint64_t records, bytes, keyless, moved, misplaced;
};

struct run {
        const struct rp_rewrite *job;
        struct rp_rewrite_report *report;
        struct rp_reader *reader;
        int32_t partition_cnt;       /* of the source */
        struct rp_range *bounds;     /* of the source, when the run began */
        struct rp_range *ranges;     /* of the pass */
        struct rp_progress progress; /* as stored: the truth */
        struct rp_progress pending;  /* what the last commit tried to store */
        struct rp_mark *marks;       /* scratch for a commit; notes are borrowed from `notes` */
        char **notes;                /* of the pass, by partition; NULL where it has no part in it */
        bool carries_all;            /* the next commit stores every partition's mark, changed or not */
        bool is_open;                /* a transaction is open */
        bool is_pending;             /* a commit was tried and its outcome is unknown */
        int64_t opened_ms, commit_ms;
        uint64_t opened_bytes;
        int recoveries_in_a_row;
        bool is_fence_told;          /* the error already says who fenced us */
        struct tally tally;
};

/* ---- planning a pass ------------------------------------------------------------------------------------------ */

static rp_err_t fail_gap(const struct run *run, int32_t p, int64_t next, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_INCOMPLETE,
                       "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                       " were deleted (retention or DeleteRecords) before they were copied",
                       p, run->job->source->topic, next, run->bounds[p].first - 1);
}

static rp_err_t check_note(const struct run *run, int32_t p, struct rp_note *note, struct rp_error *err)
{
        const struct rp_mark *mark = &run->progress.marks[p];

        if (!rp_note_parse(note, mark->note))
                return rp_fail(err, RP_ERR_USAGE,
                               "the stored offsets were not written by this tool (partition %" PRId32
                               "): choose another --job", p);
        if (strcmp(note->job, run->job->identity))
                return rp_fail(err, RP_ERR_USAGE,
                               "the stored progress belongs to another job (%.180s), this one is: %.180s; choose another "
                               "--job, or the same policy and partition count", note->job, run->job->identity);
        if (!note->pass_cnt || mark->next < note->first || mark->next > note->ends[note->pass_cnt - 1])
                return rp_fail(err, RP_ERR_FATAL, "the stored progress of partition %" PRId32 " contradicts itself", p);
        if (mark->next > run->bounds[p].end)
                return rp_fail(err, RP_ERR_INCOMPLETE,
                               "partition %" PRId32 " of topic \"%s\" ends at offset %" PRId64 ", but up to %" PRId64
                               " was copied from it before: it lost records or was made anew",
                               p, run->job->source->topic, run->bounds[p].end, mark->next);
        return RP_OK;
}

static rp_err_t set_note(struct run *run, int32_t p, struct rp_note *note, struct rp_error *err)
{
        snprintf(note->job, sizeof(note->job), "%s", run->job->identity);
        snprintf(note->by, sizeof(note->by), "%s", run->job->by);
        run->notes[p] = rp_note_print(note);
        return run->notes[p] ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* Fixes ranges and notes of the next pass from the stored progress. *has_work is false when nothing is left to copy. */
static rp_err_t plan_pass(struct run *run, bool *has_work, struct rp_error *err)
{
        struct rp_note *note = malloc(sizeof(*note));
        bool is_unfinished = false;
        rp_err_t rc = note ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (int32_t p = 0; p < run->partition_cnt; p++) {
                free(run->notes[p]);
                run->notes[p] = NULL;
        }
        for (int32_t p = 0; rc == RP_OK && p < run->partition_cnt; p++) {
                if (run->progress.marks[p].next < 0)
                        continue;
                rc = check_note(run, p, note, err);
                if (rc == RP_OK)
                        is_unfinished |= run->progress.marks[p].next < note->ends[note->pass_cnt - 1];
        }
        *has_work = false;
        for (int32_t p = 0; rc == RP_OK && p < run->partition_cnt; p++) {
                int64_t next = run->progress.marks[p].next;
                struct rp_range *range = &run->ranges[p];

                *range = (struct rp_range){ 0 };
                if (next < 0) {
                        if (is_unfinished)
                                continue; /* a partition that the source got since: it is for the next pass */
                        *note = (struct rp_note){ .first = run->bounds[p].first };
                        next = note->first;
                } else {
                        rp_note_parse(note, run->progress.marks[p].note);
                }
                if (!is_unfinished)
                        rp_note_add_pass(note, run->bounds[p].end);
                *range = (struct rp_range){ .first = next, .end = note->ends[note->pass_cnt - 1] };
                *has_work |= range->first < range->end;
                if (range->first < range->end && range->first < run->bounds[p].first)
                        rc = fail_gap(run, p, next, err);
                else
                        rc = set_note(run, p, note, err);
        }
        run->carries_all = true;
        free(note);
        return rc;
}

/* ---- transactions ---------------------------------------------------------------------------------------------- */

static void count_committed(struct run *run)
{
        struct rp_rewrite_report *report = run->report;

        report->records += run->tally.records;
        report->bytes += run->tally.bytes;
        report->keyless += run->tally.keyless;
        report->moved += run->tally.moved;
        report->misplaced += run->tally.misplaced;
        report->transactions++;
        run->tally = (struct tally){ 0 };
}

static rp_err_t begin(struct run *run, struct rp_error *err)
{
        rp_err_t rc = run->job->sink->ops->begin(run->job->sink, err);

        run->is_open = true; /* also on failure: nobody knows */
        run->opened_ms = rp_clock_ms();
        run->opened_bytes = 0;
        return rc;
}

/* Positions that differ from what is stored. */
static size_t collect_marks(struct run *run)
{
        size_t cnt = 0;

        for (int32_t p = 0; p < run->partition_cnt; p++) {
                int64_t next = rp_reader_position(run->reader, p);

                if (!run->notes[p] || (!run->carries_all && next == run->progress.marks[p].next))
                        continue;
                run->marks[cnt++] = (struct rp_mark){ .partition = p, .next = next, .note = run->notes[p] };
        }
        return cnt;
}

static rp_err_t set_marks(struct rp_progress *progress, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        for (size_t i = 0; i < cnt; i++)
                if (!rp_progress_set(progress, marks[i].partition, marks[i].next, marks[i].note))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return RP_OK;
}

static rp_err_t commit(struct run *run, struct rp_error *err)
{
        size_t cnt = collect_marks(run);
        int64_t began = rp_clock_ms();
        rp_err_t rc;

        if (!run->is_open) {
                if (!cnt)
                        return RP_OK;
                rc = begin(run, err);
                if (rc != RP_OK)
                        return rc;
        }
        rc = set_marks(&run->pending, run->progress.marks, (size_t)run->partition_cnt, err);
        if (rc == RP_OK)
                rc = set_marks(&run->pending, run->marks, cnt, err);
        if (rc != RP_OK)
                return rc;
        run->is_pending = true;
        rc = run->job->sink->ops->commit(run->job->sink, run->marks, cnt, err);
        if (rc != RP_OK)
                return rc;
        run->is_pending = run->is_open = run->carries_all = false;
        run->recoveries_in_a_row = 0;
        run->commit_ms = (3 * run->commit_ms + (rp_clock_ms() - began)) / 4;
        count_committed(run);
        return set_marks(&run->progress, run->marks, cnt, err);
}

/* ---- when something went wrong ---------------------------------------------------------------------------------- */

static bool equals(const struct rp_progress *a, const struct rp_progress *b)
{
        for (int32_t p = 0; p < a->cnt; p++)
                if (a->marks[p].next != b->marks[p].next)
                        return false;
        return true;
}

/* A mark beyond what we stored or may have stored: somebody else went on. NULL when there is none. */
static const struct rp_mark *find_foreign(const struct run *run, const struct rp_progress *stored)
{
        for (int32_t p = 0; p < stored->cnt; p++) {
                int64_t next = stored->marks[p].next;

                if (next > run->progress.marks[p].next && !(run->is_pending && next == run->pending.marks[p].next))
                        return &stored->marks[p];
        }
        return NULL;
}

static rp_err_t fail_fenced(struct run *run, const struct rp_mark *foreign, struct rp_error *err)
{
        struct rp_note note = { 0 };

        run->is_fence_told = true;
        if (foreign && rp_note_parse(&note, foreign->note))
                return rp_fail(err, RP_ERR_FENCED,
                               "fenced: another run of this job has taken over (%s). Nothing that this run left open will "
                               "be seen; let the other one finish", note.by);
        return rp_fail(err, RP_ERR_FENCED,
                       "fenced: another run of this job has taken over. Nothing that this run left open will be seen; look "
                       "for a second repartition with the same --job, and let one of them finish");
}

/*
 * After an uncertain outcome. First a look that disturbs nobody: when the job went on without us, the other run must
 * win. Then the producer is made anew, and what is stored after that can no longer change behind our back.
 */
static rp_err_t recover(struct run *run, struct rp_error *err)
{
        struct rp_sink *sink = run->job->sink;
        struct rp_progress stored = { 0 };
        struct rp_error cause = *err;
        rp_err_t rc;

        if (++run->recoveries_in_a_row > RECOVERIES_MAX)
                return rp_fail(err, RP_ERR_FATAL, "gave up after %d new starts without a commit: %.400s", RECOVERIES_MAX,
                               cause.text);
        run->report->recoveries++;
        run->report->uncertain += run->is_pending;
        if (!rp_progress_init(&stored, run->partition_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (sink->ops->stored(sink, &stored, err) == RP_OK && find_foreign(run, &stored))
                rc = fail_fenced(run, find_foreign(run, &stored), err);
        else
                rc = sink->ops->recover(sink, &stored, err);
        for (int32_t p = 0; rc == RP_OK && p < run->partition_cnt; p++)
                if (stored.marks[p].next < run->progress.marks[p].next)
                        rc = rp_fail(err, RP_ERR_FATAL,
                                     "the cluster lost the job's progress: partition %" PRId32 " was at %" PRId64
                                     ", now %" PRId64 " (after: %.200s)", p, run->progress.marks[p].next,
                                     stored.marks[p].next, cause.text);
        if (rc != RP_OK) {
                rp_progress_release(&stored);
                return rc;
        }
        if (run->is_pending && equals(&stored, &run->pending))
                count_committed(run);
        else
                run->report->rolled_back += run->is_open;
        run->tally = (struct tally){ 0 };
        run->is_open = run->is_pending = false;
        rp_progress_release(&run->progress);
        run->progress = stored;
        return RP_OK;
}

/* Whether a new start can mend it. */
static bool is_recoverable(rp_err_t rc)
{
        return rc == RP_ERR_RETRY || rc == RP_ERR_ABORT_BATCH || rc == RP_ERR_FATAL;
}

/* ---- copying --------------------------------------------------------------------------------------------------- */

static rp_err_t copy_record(struct run *run, const struct rp_record *rec, struct rp_error *err)
{
        const struct rp_rewrite *job = run->job;
        int32_t target_cnt = job->sink->partition_cnt;
        int32_t to = rp_target(job->rule, rec, target_cnt);
        rp_err_t rc;

        if (to < 0)
                return rp_fail(err, RP_ERR_BAD_RECORD,
                               "record at partition %" PRId32 ", offset %" PRId64 " of topic \"%s\" has no place: %s",
                               rec->partition, rec->offset, job->source->topic, kr_strerror(to));
        run->tally.records++;
        run->tally.bytes += rec->key_len + rec->value_len;
        run->opened_bytes += rec->key_len + rec->value_len;
        if (!rec->key) {
                run->tally.keyless++;
        } else {
                run->tally.moved += to != rec->partition;
                if (target_cnt == run->partition_cnt)
                        run->tally.misplaced += to != rec->partition;
                else if (run->report->misplaced_is_known)
                        run->tally.misplaced +=
                                kr_rule_partition(job->rule, rec->key, rec->key_len, run->partition_cnt) != rec->partition;
        }
        rc = job->sink->ops->append(job->sink, rec, to, err);
        return rc;
}

static rp_err_t copy_run(struct run *run, const struct rp_run *records, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        if (records->cnt && !run->is_open)
                rc = begin(run, err);
        for (size_t i = 0; rc == RP_OK && i < records->cnt; i++)
                rc = copy_record(run, &records->records[i], err);
        return rc;
}

static bool is_due(const struct run *run)
{
        return run->is_open &&
               (run->opened_bytes >= (uint64_t)run->job->transaction_bytes ||
                rp_clock_ms() - run->opened_ms >= rp_transaction_pace_ms(run->commit_ms, run->job->transaction_ms));
}

/* From the stored progress to the end of the pass. *is_sink_trouble tells whose error it was. */
static rp_err_t copy_pass(struct run *run, bool *is_sink_trouble, struct rp_error *err)
{
        struct rp_run records = { 0 };
        rp_err_t rc;

        *is_sink_trouble = false;
        rc = rp_reader_start(run->reader, run->ranges, err);
        while (rc == RP_OK && !records.done) {
                int64_t done, total;
                bool goes_on;

                rc = rp_reader_next(run->reader, TICK_MS, &records, err);
                if (rc != RP_OK)
                        return rc;
                rp_reader_progress(run->reader, &done, &total);
                run->report->done = (uint64_t)done;
                run->report->total = (uint64_t)total;
                run->report->uncommitted = run->tally.records;
                *is_sink_trouble = true;
                rc = copy_run(run, &records, err);
                goes_on = !run->job->tick || run->job->tick(run->job->arg, run->report);
                if (rc == RP_OK && (records.done || !goes_on || is_due(run)))
                        rc = commit(run, err);
                if (rc == RP_OK && !goes_on) {
                        run->report->is_stopped = true;
                        return RP_OK;
                }
                *is_sink_trouble = rc != RP_OK;
        }
        return rc;
}

static rp_err_t run_passes(struct run *run, struct rp_error *err)
{
        struct rp_sink *sink = run->job->sink;
        bool has_work = true;
        rp_err_t rc = run->job->source->ops->bounds(run->job->source, run->bounds, err);

        if (rc == RP_OK)
                rc = sink->ops->recover(sink, &run->progress, err);
        for (int32_t p = 0; rc == RP_OK && p < run->partition_cnt; p++)
                run->report->is_resumed |= run->progress.marks[p].next >= 0;
        while (rc == RP_OK && !run->report->is_stopped) {
                bool is_sink_trouble = false;

                rc = plan_pass(run, &has_work, err);
                if (rc != RP_OK || !has_work)
                        break;
                if (!run->recoveries_in_a_row)
                        run->report->passes++;
                rc = copy_pass(run, &is_sink_trouble, err);
                if (is_sink_trouble && is_recoverable(rc))
                        do
                                rc = recover(run, err);
                        while (rc == RP_ERR_RETRY || rc == RP_ERR_ABORT_BATCH);
        }
        if (rc == RP_ERR_FENCED && !run->is_fence_told) {
                struct rp_progress stored = { 0 };
                struct rp_error ignored;

                if (rp_progress_init(&stored, run->partition_cnt) &&
                    sink->ops->stored(sink, &stored, &ignored) == RP_OK)
                        rc = fail_fenced(run, find_foreign(run, &stored), err);
                rp_progress_release(&stored);
        }
        return rc;
}

rp_err_t rp_rewrite_run(const struct rp_rewrite *rewrite, struct rp_rewrite_report *report, struct rp_error *err)
{
        int32_t pin = kr_rule_partitions(rewrite->rule);
        size_t cnt = (size_t)rewrite->source->partition_cnt;
        struct run run = { .job = rewrite, .report = report, .partition_cnt = rewrite->source->partition_cnt };
        rp_err_t rc;

        *report = (struct rp_rewrite_report){ 0 };
        report->misplaced_is_known = !pin || pin == rewrite->source->partition_cnt;
        run.reader = rp_reader_new(rewrite->source, RP_READ_MERGED);
        run.bounds = calloc(cnt, sizeof(*run.bounds));
        run.ranges = calloc(cnt, sizeof(*run.ranges));
        run.marks = calloc(cnt, sizeof(*run.marks));
        run.notes = calloc(cnt, sizeof(*run.notes));
        if (!rp_progress_init(&run.progress, run.partition_cnt) || !rp_progress_init(&run.pending, run.partition_cnt) ||
            !run.reader || !run.bounds || !run.ranges || !run.marks || !run.notes)
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory for %" PRId32 " partitions", run.partition_cnt);
        else
                rc = run_passes(&run, err);
        for (size_t p = 0; run.notes && p < cnt; p++)
                free(run.notes[p]);
        free(run.notes);
        free(run.marks);
        free(run.ranges);
        free(run.bounds);
        rp_progress_release(&run.progress);
        rp_progress_release(&run.pending);
        rp_reader_free(run.reader);
        return rc;
}
