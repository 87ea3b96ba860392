#include "job/workers.h"

#include "clock.h"
#include "decide/lead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        CONFIRMS_MAX = 5,  /* new starts of the lead's producer for one confirmation */
        LOOK_EVERY_MS = 10 /* the common governor is asked that often, by whichever worker comes by */
};

struct team {
        const struct rp_workers *job;
        struct worker *workers;

        pthread_mutex_t lead_lock; /* for the lead's sink; never taken together with the other one */
        struct rp_progress seen;
        char *note;                /* ours */

        pthread_mutex_t lock;      /* for all below, and for the reports that workers have handed in */
        uint64_t bytes, records;   /* written since the governor was asked */
        int64_t looked_ms, hold_until_ms;
        bool must_stop;
};

struct worker {
        struct team *team;
        int number;
        pthread_t thread;
        bool *is_mine;
        struct rp_source *source;
        struct rp_sink *sink;
        int64_t transaction_ms;           /* in force, for its own thread */
        struct rp_rewrite_report report;  /* its thread's */
        struct rp_rewrite_report handed_in;
        rp_err_t rc;
        struct rp_error err;
};

/* ---- the lead ------------------------------------------------------------------------------------------------------ */

static rp_err_t fail_fenced(const struct team *team, struct rp_error *err)
{
        struct rp_lead_note note;
        bool is_named = rp_lead_note_parse(&note, team->seen.marks[0].note) && strcmp(team->seen.marks[0].note, team->note);

        return rp_lead_fail_fenced(err, is_named ? note.by : NULL);
}

static rp_err_t write_note(struct team *team, struct rp_error *err)
{
        struct rp_sink *lead = team->job->lead;
        struct rp_mark mark = { .partition = 0, .next = 0, .note = team->note };
        rp_err_t rc = lead->ops->begin(lead, err);

        return rc == RP_OK ? lead->ops->commit(lead, &mark, 1, err) : rc;
}

static bool is_ours(const struct team *team)
{
        return team->seen.marks[0].note && !strcmp(team->seen.marks[0].note, team->note);
}

/* Whether this run still holds the job. After trouble the lead's producer is made anew, unless another run is named. */
static rp_err_t confirm_locked(struct team *team, struct rp_error *err)
{
        struct rp_sink *lead = team->job->lead;
        rp_err_t rc = write_note(team, err);

        for (int i = 0; i < CONFIRMS_MAX && (rc == RP_ERR_RETRY || rc == RP_ERR_ABORT_BATCH || rc == RP_ERR_FATAL); i++) {
                struct rp_error ignored;

                if (lead->ops->stored(lead, &team->seen, &ignored) == RP_OK && !is_ours(team))
                        return fail_fenced(team, err);
                rc = lead->ops->recover(lead, &team->seen, err);
                if (rc == RP_OK && !is_ours(team))
                        return fail_fenced(team, err); /* it was taken between the look and the new producer */
                if (rc == RP_OK)
                        rc = write_note(team, err);
        }
        if (rc == RP_ERR_FENCED) {
                struct rp_error ignored;

                lead->ops->stored(lead, &team->seen, &ignored);
                return fail_fenced(team, err);
        }
        return rc;
}

static rp_err_t confirm(void *arg, struct rp_error *err)
{
        struct worker *worker = arg;
        rp_err_t rc;

        pthread_mutex_lock(&worker->team->lead_lock);
        rc = confirm_locked(worker->team, err);
        pthread_mutex_unlock(&worker->team->lead_lock);
        return rc;
}

/*
 * A single worker has the lead's own id, which fences whoever leads, but no workers of theirs. So once it has made its producer
 * anew, and nobody can take the lead unnoticed, it looks who has.
 */
static rp_err_t confirm_alone(void *arg, struct rp_error *err)
{
        struct team *team = arg;
        struct rp_sink *lead = team->job->lead;
        rp_err_t rc = RP_ERR_RETRY;

        for (int i = 0; i < CONFIRMS_MAX && rc == RP_ERR_RETRY; i++)
                rc = lead->ops->stored(lead, &team->seen, err);
        return rc != RP_OK || is_ours(team) ? rc : fail_fenced(team, err);
}

static void name_run(struct rp_lead_note *note, const struct rp_workers *job)
{
        *note = (struct rp_lead_note){ .workers = job->cnt };
        snprintf(note->by, sizeof(note->by), "%s", job->rewrite->by);
        snprintf(note->run, sizeof(note->run), "%llx.%lx.%llx", (unsigned long long)rp_wall_clock_ms(), (long)getpid(),
                 (unsigned long long)rp_clock_ms());
}

/* Takes the job, and makes sure that nobody writes on under its name. */
static rp_err_t take_lead(struct team *team, struct rp_error *err)
{
        const struct rp_workers *job = team->job;
        struct rp_lead_note note, former;
        int most = job->cnt;
        rp_err_t rc = job->lead->ops->recover(job->lead, &team->seen, err);

        if (rc != RP_OK)
                return rc;
        if (rp_lead_note_parse(&former, team->seen.marks[0].note) && former.workers > most)
                most = former.workers;
        /* Until all the former ids are fenced, whoever takes over from us has to fence them as well. */
        name_run(&note, job);
        note.workers = most;
        team->note = rp_lead_note_print(&note);
        if (!team->note)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = write_note(team, err);
        for (int worker = 1; rc == RP_OK && worker <= most; worker++)
                rc = job->fence(job->arg, worker, err);
        if (rc != RP_OK || most == job->cnt)
                return rc;
        free(team->note);
        note.workers = job->cnt;
        team->note = rp_lead_note_print(&note);
        return team->note ? write_note(team, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* ---- what the workers have in common ------------------------------------------------------------------------------------ */

static void add_report(struct rp_rewrite_report *sum, const struct rp_rewrite_report *one)
{
        sum->records += one->records;
        sum->bytes += one->bytes;
        sum->keyless += one->keyless;
        sum->moved += one->moved;
        sum->misplaced += one->misplaced;
        sum->misplaced_is_known = one->misplaced_is_known;
        sum->unordered += one->unordered;
        sum->transactions += one->transactions;
        sum->rolled_back += one->rolled_back;
        sum->uncertain += one->uncertain;
        sum->recoveries += one->recoveries;
        sum->passes = sum->passes > one->passes ? sum->passes : one->passes;
        sum->is_resumed |= one->is_resumed;
        sum->is_stopped |= one->is_stopped;
        sum->done += one->done;
        sum->total += one->total;
        sum->uncommitted += one->uncommitted;
        sum->trouble = one->trouble ? one->trouble : sum->trouble;
}

static struct rp_rewrite_report sum_up(const struct team *team)
{
        struct rp_rewrite_report sum = { 0 };

        for (int i = 0; i < team->job->cnt; i++)
                add_report(&sum, &team->workers[i].handed_in);
        return sum;
}

/* A worker's turn to look around for all: the governor's wish, and whether to stop. */
static int64_t hold(void *arg, uint64_t bytes, uint64_t records)
{
        struct worker *worker = arg;
        struct team *team = worker->team;
        const struct rp_rewrite *rewrite = team->job->rewrite;
        int64_t now = rp_clock_ms(), left;

        pthread_mutex_lock(&team->lock);
        team->bytes += bytes;
        team->records += records;
        if (now - team->looked_ms >= LOOK_EVERY_MS) {
                team->looked_ms = now;
                if (rewrite->hold)
                        team->hold_until_ms = now + rewrite->hold(rewrite->hold_arg, team->bytes, team->records);
                team->bytes = team->records = 0;
                if (rewrite->tick) {
                        struct rp_rewrite_report sum = sum_up(team);

                        team->must_stop |= !rewrite->tick(rewrite->arg, &sum);
                }
        }
        if (rewrite->transaction_ms_now)
                worker->transaction_ms = *rewrite->transaction_ms_now;
        left = team->hold_until_ms - now;
        pthread_mutex_unlock(&team->lock);
        return left > 0 ? left : 0;
}

static bool tick(void *arg, const struct rp_rewrite_report *report)
{
        struct worker *worker = arg;
        bool goes_on;

        pthread_mutex_lock(&worker->team->lock);
        worker->handed_in = *report;
        worker->handed_in.trouble = NULL; /* it is the worker's own text, which changes under others' eyes */
        goes_on = !worker->team->must_stop;
        pthread_mutex_unlock(&worker->team->lock);
        return goes_on;
}

/* ---- one worker ------------------------------------------------------------------------------------------------------------ */

static void *work(void *arg)
{
        struct worker *worker = arg;
        struct team *team = worker->team;
        struct rp_rewrite rewrite = *team->job->rewrite;

        worker->transaction_ms = rewrite.transaction_ms;
        rewrite.source = worker->source;
        rewrite.sink = worker->sink;
        rewrite.is_mine = worker->is_mine;
        rewrite.confirm = confirm;
        rewrite.tick = tick;
        rewrite.hold = hold;
        rewrite.arg = rewrite.hold_arg = rewrite.confirm_arg = worker;
        rewrite.transaction_ms_now = &worker->transaction_ms;
        worker->rc = rp_rewrite_run(&rewrite, &worker->report, &worker->err);
        pthread_mutex_lock(&team->lock);
        worker->handed_in = worker->report;
        team->must_stop |= worker->rc != RP_OK; /* then the others commit what they have, and stop */
        pthread_mutex_unlock(&team->lock);
        return NULL;
}

static rp_err_t open_worker(struct team *team, int number, struct rp_error *err)
{
        struct worker *worker = &team->workers[number - 1];
        int32_t cnt = team->job->partition_cnt;

        worker->team = team;
        worker->number = number;
        worker->is_mine = calloc((size_t)cnt, sizeof(*worker->is_mine));
        if (!worker->is_mine)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int32_t p = number - 1; p < cnt; p += team->job->cnt)
                worker->is_mine[p] = true;
        return team->job->open(team->job->arg, number, worker->is_mine, &worker->source, &worker->sink, err);
}

static void close_worker(struct worker *worker)
{
        if (worker->sink)
                worker->sink->ops->free(worker->sink);
        if (worker->source)
                worker->source->ops->free(worker->source);
        free(worker->is_mine);
}

/* Of several ends the one that tells most: that another run has taken over explains all the rest. */
static rp_err_t end_of(const struct team *team, struct rp_error *err)
{
        const struct worker *worst = NULL;

        for (int i = 0; i < team->job->cnt; i++) {
                const struct worker *worker = &team->workers[i];

                if (worker->rc != RP_OK && (!worst || worker->rc == RP_ERR_FENCED))
                        worst = worker;
        }
        if (!worst)
                return RP_OK;
        *err = worst->err;
        return worst->rc;
}

static rp_err_t run_alone(struct team *team, struct rp_rewrite_report *report, struct rp_error *err)
{
        struct rp_rewrite rewrite = *team->job->rewrite;

        rewrite.confirm = confirm_alone;
        rewrite.confirm_arg = team;
        return rp_rewrite_run(&rewrite, report, err);
}

static rp_err_t run_team(struct team *team, struct rp_rewrite_report *report, struct rp_error *err)
{
        int cnt = team->job->cnt, started = 0;
        rp_err_t rc = RP_OK;

        for (int number = 1; rc == RP_OK && number <= cnt; number++)
                rc = open_worker(team, number, err);
        for (; rc == RP_OK && started < cnt; started++)
                if (pthread_create(&team->workers[started].thread, NULL, work, &team->workers[started]) != 0) {
                        rc = rp_fail(err, RP_ERR_FATAL, "cannot start a thread for worker %d", started + 1);
                        pthread_mutex_lock(&team->lock);
                        team->must_stop = true;
                        pthread_mutex_unlock(&team->lock);
                        break;
                }
        for (int i = 0; i < started; i++)
                pthread_join(team->workers[i].thread, NULL);
        if (rc == RP_OK)
                rc = end_of(team, err);
        *report = sum_up(team);
        for (int i = 0; i < cnt; i++)
                close_worker(&team->workers[i]);
        return rc;
}

rp_err_t rp_workers_run(const struct rp_workers *workers, struct rp_rewrite_report *report, struct rp_error *err)
{
        struct team team = { .job = workers, .lead_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };
        rp_err_t rc;

        *report = (struct rp_rewrite_report){ 0 };
        team.workers = calloc((size_t)workers->cnt, sizeof(*team.workers));
        if (!team.workers || !rp_progress_init(&team.seen, workers->lead_cnt))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else
                rc = take_lead(&team, err);
        if (rc == RP_OK && workers->cnt == 1)
                rc = run_alone(&team, report, err);
        else if (rc == RP_OK)
                rc = run_team(&team, report, err);
        rp_progress_release(&team.seen);
        free(team.note);
        free(team.workers);
        return rc;
}
