#include "job/audit.h"

#include "io/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

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
        job->tick(job->arg, (uint64_t)(total - left + done), (uint64_t)total, job->audit->records);
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

/* ---- several threads ------------------------------------------------------------------------------------------------ */

struct worker {
        const struct rp_audit_job *job;
        struct rp_range *ranges;      /* its share; the others' are empty */
        struct rp_coverage *coverage; /* of its share */
        struct rp_audit audit;
        struct rp_error err;
        rp_err_t rc;
        pthread_t thread;
        _Atomic uint64_t done, records;
        atomic_bool has_ended;
};

static void count(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        struct worker *worker = arg;

        (void)total;
        atomic_store(&worker->done, done);
        atomic_store(&worker->records, records);
}

static void *work(void *arg)
{
        struct worker *worker = arg;
        struct rp_audit_job job = *worker->job;
        struct rp_reader *reader = NULL;

        job.source = NULL;
        job.audit = &worker->audit;
        job.coverage = worker->coverage;
        job.tick = count;
        job.arg = worker;
        worker->rc = worker->job->open(worker->job->arg, &job.source, &worker->err);
        if (worker->rc == RP_OK && job.source->partition_cnt != worker->job->source->partition_cnt)
                worker->rc = rp_fail(&worker->err, RP_ERR_INCOMPLETE, "topic \"%s\" has another number of partitions by now",
                                     job.source->topic);
        if (worker->rc == RP_OK && !(reader = rp_reader_new(job.source, RP_READ_ANY)))
                worker->rc = rp_fail(&worker->err, RP_ERR_FATAL, "out of memory");
        if (worker->rc == RP_OK)
                worker->rc = read_all(&job, reader, worker->ranges, &worker->err);
        rp_reader_free(reader);
        if (job.source)
                job.source->ops->free(job.source);
        atomic_store(&worker->has_ended, true);
        return NULL;
}

/* The next partition goes to whom the least was given so far. */
static void share_out(const struct rp_audit_job *job, const struct rp_range *ranges, struct worker *workers, size_t cnt)
{
        int64_t loads[RP_AUDIT_THREADS_MAX] = { 0 };

        for (int32_t p = 0; p < job->source->partition_cnt; p++) {
                size_t least = 0;

                for (size_t i = 1; i < cnt; i++)
                        if (loads[i] < loads[least])
                                least = i;
                if (ranges[p].first >= ranges[p].end)
                        continue;
                workers[least].ranges[p] = ranges[p];
                workers[least].coverage[p] = job->coverage[p];
                loads[least] += ranges[p].end - ranges[p].first;
        }
}

static void watch(const struct rp_audit_job *job, struct worker *workers, size_t cnt, uint64_t total)
{
        for (bool is_running = true; is_running;) {
                const struct timespec pause = { .tv_nsec = WAIT_MS / 4 * 1000000L };
                uint64_t done = 0, records = 0;

                nanosleep(&pause, NULL);
                is_running = false;
                for (size_t i = 0; i < cnt; i++) {
                        done += atomic_load(&workers[i].done);
                        records += atomic_load(&workers[i].records);
                        is_running |= !atomic_load(&workers[i].has_ended);
                }
                if (job->tick)
                        job->tick(job->arg, done, total, records);
        }
}

static rp_err_t read_by_threads(const struct rp_audit_job *job, const struct rp_range *ranges, struct rp_error *err)
{
        size_t cnt = (size_t)job->thread_cnt < RP_AUDIT_THREADS_MAX ? (size_t)job->thread_cnt : RP_AUDIT_THREADS_MAX;
        size_t started = 0, partition_cnt = (size_t)job->source->partition_cnt;
        struct worker *workers = calloc(cnt, sizeof(*workers));
        uint64_t total = 0;
        rp_err_t rc = workers ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                workers[i].job = job;
                workers[i].ranges = calloc(partition_cnt, sizeof(*workers[i].ranges));
                workers[i].coverage = calloc(partition_cnt, sizeof(*workers[i].coverage));
                rc = workers[i].ranges && workers[i].coverage
                             ? rp_audit_init(&workers[i].audit, job->audit->rule, job->audit->partition_cnt,
                                             job->audit->sample_keys, err)
                             : rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        if (rc == RP_OK)
                share_out(job, ranges, workers, cnt);
        for (size_t p = 0; p < partition_cnt; p++)
                total += ranges[p].end > ranges[p].first ? (uint64_t)(ranges[p].end - ranges[p].first) : 0;
        for (; rc == RP_OK && started < cnt; started++)
                if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
                        rc = rp_fail(err, RP_ERR_FATAL, "cannot start thread %zu of %zu", started + 1, cnt);
        if (started)
                watch(job, workers, started, total);
        for (size_t i = 0; i < started; i++) {
                pthread_join(workers[i].thread, NULL);
                for (size_t p = 0; p < partition_cnt; p++)
                        if (workers[i].coverage[p].first < workers[i].coverage[p].end)
                                job->coverage[p] = workers[i].coverage[p];
                /* What was read is true, also where a thread did not come to its end. */
                if (rp_audit_merge(job->audit, &workers[i].audit, &workers[i].err) != RP_OK)
                        workers[i].rc = RP_ERR_FATAL;
                if (rc == RP_OK && workers[i].rc != RP_OK) {
                        rc = workers[i].rc;
                        *err = workers[i].err;
                }
        }
        for (size_t i = 0; workers && i < cnt; i++) {
                rp_audit_release(&workers[i].audit);
                free(workers[i].ranges);
                free(workers[i].coverage);
        }
        free(workers);
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
                rc = job->thread_cnt > 1 ? read_by_threads(job, ranges, err) : read_all(job, reader, ranges, err);
        rp_reader_free(reader);
        free(ranges);
        return rc;
}
