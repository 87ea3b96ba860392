#include "job/plan.h"

#include "io/reader.h"

#include <stdlib.h>

enum { WAIT_MS = 200 }; /* between two ticks */

static rp_err_t read_all(struct rp_plan_job *job, struct rp_reader *reader, struct rp_error *err)
{
        struct rp_run run = { 0 };
        rp_err_t rc = RP_OK;

        while (rc == RP_OK && !run.done && !job->is_stopped) {
                int64_t done, total;

                rc = rp_reader_next(reader, WAIT_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        rp_growth_add(job->growth, &run.records[i]);
                rp_reader_progress(reader, &done, &total);
                if (job->tick && !job->tick(job->arg, (uint64_t)done, (uint64_t)total, job->growth->records))
                        job->is_stopped = true;
        }
        return rc;
}

rp_err_t rp_plan_run(struct rp_plan_job *job, struct rp_error *err)
{
        struct rp_range *ranges = calloc((size_t)job->source->partition_cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(job->source, RP_READ_ANY);
        rp_err_t rc = ranges && reader ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (rc == RP_OK)
                rc = job->source->ops->bounds(job->source, ranges, err);
        if (rc == RP_OK)
                rc = rp_reader_start(reader, ranges, err);
        if (rc == RP_OK)
                rc = read_all(job, reader, err);
        rp_reader_free(reader);
        free(ranges);
        return rc;
}
