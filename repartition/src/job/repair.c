#include "job/repair.h"

#include "crash.h"
#include "decide/note.h"
#include "decide/repair_pass.h"
#include "io/reader.h"
#include "job/copier.h"
#include "job/repair_sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        WAIT_MS = 100,
        STABLE_BEFORE_MS = 3000, /* for what a killed run left open to be settled */
        STABLE_AFTER_MS = 10000, /* for what was written to be seen by whoever looks next */
        ATTEMPTS_MAX = 5 /* to read a range while retention takes records from under it, or copies become readable */
};

/* What an earlier run has stored. */
struct stored {
        bool exists;
        char identity[RP_NOTE_JOB_SIZE];
        struct rp_repair_pass pass;
        struct rp_range *left; /* by partition: what it had still to go through; the end is where it was judged up to */
        bool is_interrupted, resumes;
};

struct run {
        const struct rp_repair_job *job;
        struct rp_repair_report *report;
        rp_repair_t *repair;
        struct rp_reader *reader;
        struct rp_range *judged;  /* what the pass is judged by */
        struct rp_range *asked;   /* what it goes through to write */
        struct rp_range *scratch;
        struct stored stored;
        struct rp_repair_pass pass;
        bool is_resumed_pass;
        struct rp_sink *sink;     /* of the pass that is being written */
        uint64_t written_before, bytes_before; /* by earlier passes of this run */
};

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static bool tick(struct run *run)
{
        if (run->job->tick && !run->job->tick(run->job->arg, run->report))
                run->report->is_stopped = true;
        return !run->report->is_stopped;
}

/* ---- what is stored -------------------------------------------------------------------------------------------------- */

/* Takes the latest pass that the marks tell of. */
static rp_err_t read_stored(const struct rp_repair_job *job, const struct rp_progress *progress, struct stored *stored,
                            struct rp_error *err)
{
        struct rp_note *note = malloc(sizeof(*note));
        rp_err_t rc = note ? RP_OK : out_of_memory(err);

        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++) {
                const struct rp_mark *mark = &progress->marks[p];
                struct rp_repair_pass pass;

                if (mark->next < 0)
                        continue;
                if (!rp_note_parse(note, mark->note) || !note->pass_cnt || !rp_repair_pass_parse(&pass, note->job) ||
                    strcmp(pass.topic, job->source->topic)) {
                        rc = rp_fail(err, RP_ERR_USAGE, "the stored offsets were not written by a repair of \"%s\" (partition "
                                     "%" PRId32 "): choose another --job", job->source->topic, p);
                        break;
                }
                if (!stored->exists || pass.number > stored->pass.number) {
                        stored->pass = pass;
                        memcpy(stored->identity, note->job, sizeof(stored->identity));
                        stored->is_interrupted = false;
                }
                stored->exists = true;
                if (pass.number != stored->pass.number)
                        continue;
                stored->left[p] = (struct rp_range){ mark->next, note->ends[note->pass_cnt - 1] };
                stored->is_interrupted |= stored->left[p].first < stored->left[p].end;
        }
        free(note);
        return rc;
}

static struct rp_repair_pass wanted_pass(const struct rp_repair_job *job)
{
        struct rp_repair_pass pass = { .partition_cnt = job->source->partition_cnt, .include = job->config.include,
                                       .tombstones = job->config.tombstones, .mark = job->mark, .high = UINT64_MAX };

        if (pass.tombstones)
                pass.include = 0;
        pass.mark &= !pass.tombstones;
        snprintf(pass.topic, sizeof(pass.topic), "%s", job->source->topic);
        snprintf(pass.fingerprint, sizeof(pass.fingerprint), "%s", kr_rule_fingerprint(job->config.rule));
        return pass;
}

/* An interrupted pass is taken up when it does what we do and all that it has not seen yet is still there. */
static rp_err_t decide_resuming(const struct rp_repair_job *job, struct stored *stored, struct rp_error *err)
{
        struct rp_repair_pass wanted = wanted_pass(job);
        struct rp_range *bounds = calloc((size_t)job->source->partition_cnt, sizeof(*bounds));
        rp_err_t rc = bounds ? job->source->ops->bounds(job->source, bounds, err) : out_of_memory(err);

        stored->resumes = rc == RP_OK && stored->is_interrupted && rp_repair_pass_is_alike(&stored->pass, &wanted);
        for (int32_t p = 0; stored->resumes && p < job->source->partition_cnt; p++) {
                const struct rp_range *left = &stored->left[p];

                if (left->first < left->end && left->first < bounds[p].first)
                        stored->resumes = false;
                if (left->end > bounds[p].end)
                        rc = rp_fail(err, RP_ERR_INCOMPLETE,
                                     "partition %" PRId32 " of topic \"%s\" ends at offset %" PRId64 ", but was read up to %" PRId64
                                     " before: it lost records or was made anew; with another --job everything is judged anew",
                                     p, job->source->topic, bounds[p].end, left->end);
        }
        free(bounds);
        return rc;
}

static rp_err_t look_back(const struct rp_repair_job *job, const struct rp_progress *progress, struct stored *stored,
                          struct rp_repair_report *report, struct rp_error *err)
{
        rp_err_t rc = read_stored(job, progress, stored, err);

        if (rc == RP_OK && stored->is_interrupted)
                rc = decide_resuming(job, stored, err);
        report->is_interrupted = stored->is_interrupted;
        report->resumes = stored->resumes;
        return rc;
}

rp_err_t rp_repair_look_back(const struct rp_repair_job *job, const struct rp_progress *progress,
                             struct rp_repair_report *report, struct rp_error *err)
{
        struct stored *stored = calloc(1, sizeof(*stored));
        rp_err_t rc;

        if (!stored || !(stored->left = calloc((size_t)progress->cnt, sizeof(*stored->left))))
                rc = out_of_memory(err);
        else
                rc = look_back(job, progress, stored, report, err);
        if (stored)
                free(stored->left);
        free(stored);
        return rc;
}

/* ---- judging --------------------------------------------------------------------------------------------------------- */

static rp_err_t read_once(struct run *run, bool first, struct rp_error *err)
{
        struct rp_repair_report *report = run->report;
        struct rp_run records = { 0 };
        rp_err_t rc = rp_reader_start(run->reader, run->judged, err);
        bool counts = first && (run->pass.low == 0 || run->is_resumed_pass);
        uint64_t read = 0, keyed = 0;
        int64_t done, total;

        while (rc == RP_OK && !records.done && tick(run)) {
                rc = rp_reader_next(run->reader, WAIT_MS, &records, err);
                for (size_t i = 0; rc == RP_OK && i < records.cnt; i++) {
                        read++;
                        keyed += records.records[i].key != NULL;
                        if (first)
                                rc = rp_repair_note(run->repair, &records.records[i], err);
                        else
                                rp_repair_meet(run->repair, &records.records[i]);
                }
                rp_reader_progress(run->reader, &done, &total);
                report->seen += records.cnt;
                report->done = (uint64_t)(first ? done : done + total);
                report->total = 2 * (uint64_t)total;
        }
        if (counts && (records.done || read > report->records)) { /* one that was stopped tells less than one before it */
                report->records = read;
                report->keyed = keyed;
        }
        return rc;
}

/* Fixes what the pass is judged by. */
static rp_err_t fix_bounds(struct run *run, struct rp_error *err)
{
        rp_err_t rc = run->job->source->ops->bounds(run->job->source, run->judged, err);

        for (int32_t p = 0; rc == RP_OK && run->is_resumed_pass && p < run->job->source->partition_cnt; p++)
                run->judged[p].end = run->stored.left[p].end;
        return rc;
}

/* ---- copies behind what was judged --------------------------------------------------------------------------------------- */

/*
 * A copy that lies behind what was judged, although the pass would write it: our own of a moment ago, whose commit was
 * answered before it could be read, or one behind somebody's open transaction. *is_outdated: it can be read by now.
 */
static void look_behind(struct run *run, const struct rp_record *rec, int64_t stable, bool *is_outdated)
{
        struct rp_unstable *unstable = &run->report->unstable;
        int32_t partition;
        int64_t offset;

        if (unstable->exists || !rp_repair_is_copy(run->repair, rec, &partition, &offset))
                return;
        if (run->is_resumed_pass && offset < run->stored.left[partition].first)
                return; /* written by the pass itself */
        if (rec->offset < stable)
                *is_outdated = true;
        else
                *unstable = (struct rp_unstable){ .exists = true, .partition = rec->partition, .offset = rec->offset,
                                                  .stable = stable, .of_partition = partition, .of_offset = offset };
}

/* A pass that is taken up must be judged up to its old ends: there, only what cannot be read yet is looked at. */
static rp_err_t find_behind(struct run *run, bool *is_outdated, struct rp_error *err)
{
        struct rp_source *source = run->job->source, *tail = run->job->tail;
        struct rp_range *stable = run->asked, *ranges = run->scratch;
        struct rp_reader *reader = rp_reader_new(tail, RP_READ_ANY);
        struct rp_run records = { 0 };
        bool is_any = false;
        rp_err_t rc = reader ? tail->ops->bounds(tail, ranges, err) : out_of_memory(err);

        *is_outdated = false;
        if (rc == RP_OK)
                rc = source->ops->bounds(source, stable, err);
        for (int32_t p = 0; rc == RP_OK && p < source->partition_cnt; p++) {
                int64_t from = run->is_resumed_pass ? stable[p].end : run->judged[p].end;

                if (ranges[p].first < from)
                        ranges[p].first = from;
                is_any |= ranges[p].first < ranges[p].end;
        }
        if (rc == RP_OK && is_any)
                rc = rp_reader_start(reader, ranges, err);
        while (rc == RP_OK && is_any && !records.done && tick(run)) {
                rc = rp_reader_next(reader, WAIT_MS, &records, err);
                for (size_t i = 0; rc == RP_OK && i < records.cnt; i++)
                        look_behind(run, &records.records[i], stable[records.records[i].partition].end, is_outdated);
        }
        rp_reader_free(reader);
        return rc;
}

/* ---- judging a pass -------------------------------------------------------------------------------------------------- */

static rp_err_t judge_once(struct run *run, bool *is_outdated, struct rp_error *err)
{
        rp_err_t rc = fix_bounds(run, err);

        *is_outdated = false;
        run->report->seen = 0;
        run->report->unstable.exists = false;
        rp_repair_begin(run->repair, run->pass.low, run->pass.high);
        if (rc == RP_OK)
                rc = read_once(run, true, err);
        if (rc == RP_OK)
                rc = rp_repair_turn(run->repair, err);
        if (rc == RP_OK)
                rc = read_once(run, false, err);
        if (rc == RP_OK && !run->report->is_stopped && run->job->tail)
                rc = find_behind(run, is_outdated, err);
        return rc;
}

static rp_err_t judge(struct run *run, struct rp_error *err)
{
        rp_err_t rc = RP_OK;
        bool is_outdated = true;

        run->report->is_writing = false;
        for (int i = 0; i < ATTEMPTS_MAX && (rc == RP_ERR_INCOMPLETE || is_outdated) && !run->report->is_stopped; i++)
                rc = judge_once(run, &is_outdated, err);
        if (rc != RP_OK || run->report->is_stopped)
                return rc;
        if (is_outdated)
                return rp_fail(err, RP_ERR_INCOMPLETE, "copies of misplaced records were written to \"%s\" again and again while "
                               "it was read", run->job->source->topic);
        if (run->is_resumed_pass && rp_repair_high(run->repair) != run->pass.high)
                return rp_fail(err, RP_ERR_USAGE, "an interrupted repair was begun with more memory than this run may use: allow "
                               "more (--max-memory)");
        run->pass.high = rp_repair_high(run->repair);
        rp_repair_conclude(run->repair);
        run->report->counts = *rp_repair_counts(run->repair);
        return RP_OK;
}

static rp_err_t fail_unstable(const struct run *run, struct rp_error *err)
{
        const struct rp_unstable *unstable = &run->report->unstable;

        return rp_fail(err, RP_ERR_INCOMPLETE,
                       "the copy at partition %" PRId32 ", offset %" PRId64 " (of partition %" PRId32 ", offset %" PRId64
                       ") cannot be read committed yet: somebody's transaction is open since offset %" PRId64
                       ". Try again when it has ended (kafka-transactions.sh find-hanging)", unstable->partition,
                       unstable->offset, unstable->of_partition, unstable->of_offset, unstable->stable);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static int32_t decide(void *arg, const struct rp_record *rec, struct rp_error *err)
{
        struct run *run = arg;

        (void)err;
        return rp_repair_decide(run->repair, rec); /* RP_REPAIR_SKIP is RP_SKIP */
}

static void settled(void *arg, bool is_committed)
{
        struct run *run = arg;
        uint64_t bytes;

        rp_repair_sink_settle(run->sink, is_committed);
        run->report->written = run->written_before + rp_repair_sink_written(run->sink, &bytes);
        run->report->written_bytes = run->bytes_before + bytes;
}

static bool on_copy(void *arg, const struct rp_copy_stats *stats, uint64_t done, uint64_t total)
{
        struct run *run = arg;

        run->report->done = done;
        run->report->total = total;
        run->report->seen = run->report->written + stats->uncommitted;
        run->report->uncommitted = stats->uncommitted;
        run->report->trouble = *stats->trouble.text ? stats->trouble.text : NULL;
        return tick(run);
}

/* From the first record to be written to the end of what was judged: the ends are what a later run goes by. */
static void ask(struct run *run)
{
        for (int32_t p = 0; p < run->job->source->partition_cnt; p++) {
                struct rp_repair_span span = rp_repair_span(run->repair, p);
                int64_t end = run->judged[p].end;

                run->asked[p] = (struct rp_range){ .first = span.end ? span.first : end, .end = end };
        }
}

static uint64_t pending_now(const struct run *run)
{
        uint64_t cnt = 0;

        for (int32_t p = 0; p < run->job->source->partition_cnt; p++)
                cnt += rp_repair_pending_from(run->repair, p, run->is_resumed_pass ? run->stored.left[p].first : 0);
        return cnt;
}

static void count(struct run *run, const struct rp_copy_stats *stats, uint64_t pending)
{
        struct rp_repair_report *report = run->report;
        uint64_t overtaken = rp_repair_overtaken(run->repair);
        uint64_t written = report->written - run->written_before;

        report->transactions += stats->transactions;
        report->rolled_back += stats->rolled_back;
        report->uncertain += stats->uncertain;
        report->recoveries += stats->recoveries;
        report->overtaken += overtaken;
        report->uncommitted = 0;
        report->trouble = NULL;
        if (pending > written + overtaken)
                report->gone += pending - written - overtaken;
        run->written_before = report->written;
        run->bytes_before = report->written_bytes;
}

static rp_err_t write_pass(struct run *run, struct rp_error *err)
{
        const struct rp_repair_job *job = run->job;
        char identity[RP_NOTE_JOB_SIZE];
        struct rp_repair_sink_config sink = {
                .inner = job->sink, .tail = job->tail, .from = run->judged, .repair = run->repair,
                .topic = job->source->topic, .identity = identity, .previous = run->stored.identity,
                .tombstones = job->config.tombstones, .mark = job->mark, .record = job->record, .unchanged = job->unchanged,
                .arg = job->arg,
        };
        struct rp_copier copier = {
                .source = job->source, .order = RP_READ_MERGED,
                .config = { .identity = identity, .by = job->by, .asked = run->asked,
                            .transaction_ms = job->transaction_ms, .transaction_bytes = job->transaction_bytes },
                .decide = decide, .settled = settled, .tick = on_copy, .arg = run,
                .hold = job->hold, .hold_arg = job->hold_arg, .transaction_ms = job->transaction_ms_now,
        };
        struct rp_copy_stats stats = { 0 };
        uint64_t pending = pending_now(run);
        rp_err_t rc;

        rp_repair_pass_print(identity, &run->pass);
        ask(run);
        run->report->passes++;
        run->report->is_writing = true;
        if (!rp_repair_record_pass(job->record, run->judged, job->source->partition_cnt))
                return out_of_memory(err);
        run->sink = copier.sink = rp_repair_sink_new(&sink);
        if (!copier.sink)
                return out_of_memory(err);
        rc = rp_copier_run(&copier, &stats, err);
        copier.sink->ops->free(copier.sink);
        run->report->is_stopped |= stats.is_stopped;
        count(run, &stats, rc == RP_OK && !run->report->is_stopped ? pending : 0);
        snprintf(run->stored.identity, sizeof(run->stored.identity), "%s", identity);
        return rc;
}

/* ---- all together ------------------------------------------------------------------------------------------------------ */

static rp_err_t run_pass(struct run *run, struct rp_error *err)
{
        const struct rp_repair_job *job = run->job;
        rp_err_t rc = judge(run, err);

        RP_CRASH_POINT("judge", "after");
        if (rc != RP_OK || run->report->is_stopped)
                return rc;
        if (job->check)
                rc = job->check(job->arg, run->report, err);
        if (rc != RP_OK || !job->sink)
                return rc;
        if (run->report->unstable.exists)
                return fail_unstable(run, err);
        if (!pending_now(run) && !run->is_resumed_pass)
                return RP_OK;
        rc = write_pass(run, err);
        RP_CRASH_POINT("pass", "after");
        return rc;
}

static bool renew(struct run *run)
{
        struct rp_repair_config config = run->job->config;

        config.partition_cnt = run->job->source->partition_cnt;
        config.topic = run->job->source->topic;
        rp_repair_free(run->repair);
        run->repair = rp_repair_new(&config);
        return run->repair;
}

/* An interrupted pass first, as it was begun; then everything, which gives figures of the whole and finds what is new. */
static rp_err_t run_passes(struct run *run, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        if (run->stored.resumes) {
                run->is_resumed_pass = true;
                run->pass = run->stored.pass;
                rc = run_pass(run, err);
                run->is_resumed_pass = false;
                if (rc != RP_OK || run->report->is_stopped)
                        return rc;
                if (!renew(run))
                        return out_of_memory(err);
                if (run->job->await_stable)
                        rc = run->job->await_stable(run->job->arg, STABLE_AFTER_MS, err);
                if (rc != RP_OK)
                        return rc;
        }
        run->pass = wanted_pass(run->job);
        run->pass.number = run->stored.pass.number;
        do {
                run->pass.number++;
                run->pass.high = UINT64_MAX;
                rc = run_pass(run, err);
                run->pass.low = run->pass.high + 1;
        } while (rc == RP_OK && !run->report->is_stopped && run->pass.high != UINT64_MAX);
        return rc;
}

/* Fences whoever ran before, which also ends what a killed run left open; then looks at what is stored. */
static rp_err_t take_over(struct run *run, struct rp_error *err)
{
        const struct rp_repair_job *job = run->job;
        struct rp_progress progress = { 0 };
        rp_err_t rc;

        if (!rp_progress_init(&progress, job->source->partition_cnt))
                return out_of_memory(err);
        RP_CRASH_POINT("take over", "before");
        rc = job->sink->ops->recover(job->sink, &progress, err);
        RP_CRASH_POINT("take over", "after");
        if (rc == RP_OK && job->await_stable)
                rc = job->await_stable(job->arg, STABLE_BEFORE_MS, err);
        if (rc == RP_OK)
                rc = look_back(job, &progress, &run->stored, run->report, err);
        if (rc == RP_OK)
                rc = rp_repair_record_begin(job->record, err);
        rp_progress_release(&progress);
        return rc;
}

rp_err_t rp_repair_run(const struct rp_repair_job *job, struct rp_repair_report *report, struct rp_error *err)
{
        size_t cnt = (size_t)job->source->partition_cnt;
        struct run *run = calloc(1, sizeof(*run));
        rp_err_t rc = RP_OK;

        *report = (struct rp_repair_report){ 0 };
        if (!run)
                return out_of_memory(err);
        run->job = job;
        run->report = report;
        run->reader = rp_reader_new(job->source, RP_READ_ANY);
        run->judged = calloc(cnt, sizeof(*run->judged));
        run->asked = calloc(cnt, sizeof(*run->asked));
        run->scratch = calloc(cnt, sizeof(*run->scratch));
        run->stored.left = calloc(cnt, sizeof(*run->stored.left));
        if (!run->reader || !run->judged || !run->asked || !run->scratch || !run->stored.left || !renew(run))
                rc = out_of_memory(err);
        if (rc == RP_OK && job->sink)
                rc = take_over(run, err);
        if (rc == RP_OK)
                rc = run_passes(run, err);
        if (rc == RP_OK && job->sink && !report->is_stopped)
                rc = rp_repair_record_finish(job->record, job->sink, job->source->partition_cnt, err);
        if (rc == RP_OK && report->written && job->await_stable)
                rc = job->await_stable(job->arg, STABLE_AFTER_MS, err);
        rp_repair_free(run->repair);
        rp_reader_free(run->reader);
        free(run->judged);
        free(run->asked);
        free(run->scratch);
        free(run->stored.left);
        free(run);
        return rc;
}
