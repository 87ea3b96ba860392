#include "job/audit.h"

#include "io/reader.h"

#include <stdlib.h>

enum { WAIT_MS = 200 }; /* between two ticks */

static rp_err_t fix_ranges(const struct rp_audit_job *job, struct rp_range *ranges, struct rp_error *err)
{
        rp_err_t rc = job->source->ops->bounds(job->source, ranges, err);

        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < job->source->partition_cnt; p++) {
                struct rp_coverage *cover = &job->coverage[p];

                if (cover->skipped)
                        ranges[p] = (struct rp_range){ 0 };
                cover->first = cover->next = ranges[p].first;
                cover->end = ranges[p].end;
        }
        return RP_OK;
}

static void note_positions(const struct rp_audit_job *job, const struct rp_reader *reader)
{
        for (int32_t p = 0; p < job->source->partition_cnt; p++)
                if (job->coverage[p].first < job->coverage[p].end)
                        job->coverage[p].next = rp_reader_position(reader, p);
}

/* Goes on where the log now begins. The error stays one when it was not retention that took something. */
static rp_err_t skip_lost(const struct rp_audit_job *job, struct rp_reader *reader, struct rp_range *ranges,
                          struct rp_error *err)
{
        struct rp_error ignored;
        bool lost_any = false;

        note_positions(job, reader);
        if (job->source->ops->bounds(job->source, ranges, &ignored) != RP_OK)
                return err->code;
        for (int32_t p = 0; p < job->source->partition_cnt; p++) {
                struct rp_coverage *cover = &job->coverage[p];
                int64_t low = ranges[p].first < cover->end ? ranges[p].first : cover->end;

                if (cover->next < low) {
                        cover->lost += low - cover->next;
                        cover->next = low;
                        lost_any = true;
                }
                ranges[p] = (struct rp_range){ cover->next, cover->end };
        }
        return lost_any ? rp_reader_start(reader, ranges, err) : err->code;
}

static void tick(const struct rp_audit_job *job, const struct rp_reader *reader, int64_t total)
{
        int64_t done, left;

        if (!job->tick)
                return;
        rp_reader_progress(reader, &done, &left);
        job->tick(job->arg, (uint64_t)(total - left + done), (uint64_t)total);
}

static rp_err_t take_run(const struct rp_audit_job *job, const struct rp_run *run, struct rp_error *err)
{
        for (size_t i = 0; i < run->cnt; i++)
                if (rp_audit_add(job->audit, &run->records[i], err) != RP_OK)
                        return err->code;
        return RP_OK;
}

static rp_err_t read_all(const struct rp_audit_job *job, struct rp_reader *reader, struct rp_range *ranges,
                         struct rp_error *err)
{
        rp_err_t rc = rp_reader_start(reader, ranges, err);
        int64_t done, total;

        rp_reader_progress(reader, &done, &total);
        for (struct rp_run run = { 0 }; rc == RP_OK && !run.done;) {
                rc = rp_reader_next(reader, WAIT_MS, &run, err);
                if (rc == RP_ERR_INCOMPLETE)
                        rc = skip_lost(job, reader, ranges, err);
                else if (rc == RP_OK)
                        rc = take_run(job, &run, err);
                tick(job, reader, total);
        }
        note_positions(job, reader);
        return rc;
}

rp_err_t rp_audit_run(const struct rp_audit_job *job, struct rp_error *err)
{
        struct rp_range *ranges = calloc((size_t)job->source->partition_cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(job->source, RP_READ_ANY);
        rp_err_t rc;

        if (!ranges || !reader)
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else if ((rc = fix_ranges(job, ranges, err)) == RP_OK)
                rc = read_all(job, reader, ranges, err);
        rp_reader_free(reader);
        free(ranges);
        return rc;
}
