#include "job/tally.h"

#include "decide/order.h"
#include "io/reader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_MS = 100 };

struct crew {
        struct rp_tally_job *job;
        pthread_mutex_t lock; /* of all that follows, and of the tallies */
        pthread_cond_t changed;
        int side;             /* who is next */
        int32_t partition;
        int running;
        rp_err_t rc;
        struct rp_error err;
        atomic_bool stop;
        _Atomic uint64_t done, records;
};

struct worker {
        struct crew *crew;
        struct rp_source *sources[2];
        struct rp_reader *readers[2];
        struct rp_range *ranges[2];
        struct rp_order order;
        pthread_t thread;
};

/* ---- one partition ----------------------------------------------------------------------------------------------- */

rp_err_t rp_tally_home(const kr_rule_t *rule, const char *topic, int32_t partition_cnt, const struct rp_record *rec,
                       int32_t *home, struct rp_error *err)
{
        *home = kr_rule_partition(rule, rec->key, rec->key_len, partition_cnt);
        if (*home != KR_ERR_KEY_UNRESOLVED)
                return RP_OK;
        return rp_fail(err, RP_ERR_INCOMPLETE,
                       "record at partition %" PRId32 ", offset %" PRId64 " of topic \"%s\" cannot be judged: %s",
                       rec->partition, rec->offset, topic, kr_strerror(*home));
}

static rp_err_t judge_place(const struct worker *worker, const struct rp_record *rec, struct rp_tally *tally,
                            struct rp_error *err)
{
        const struct rp_tally_job *job = worker->crew->job;
        int32_t home;

        if (rp_tally_home(job->rule, worker->sources[1]->topic, job->sides[1].cnt, rec, &home, err) != RP_OK)
                return err->code;
        tally->mispartitioned += home != rec->partition;
        return RP_OK;
}

static rp_err_t take(struct worker *worker, int side, const struct rp_record *rec, bool is_first, struct rp_tally *tally,
                     struct rp_error *err)
{
        uint64_t group = rec->key ? rp_digest_group(rec) : 0;
        struct rp_digest digest;

        if (!is_first && (group <= worker->order.after || group > worker->order.limit))
                return RP_OK;
        digest = rp_digest_record(rec);
        if (is_first) {
                tally->records++;
                tally->keyless += !rec->key;
                tally->bytes += rec->key_len + rec->value_len;
                rp_digest_add(&tally->content, digest);
                if (rec->key && side == 1 && judge_place(worker, rec, tally, err) != RP_OK)
                        return err->code;
        }
        if (group && !rp_order_add(&worker->order, 0, group, digest, rec->value))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return RP_OK;
}

/* Reads the partition once. The progress counts the first reading alone, so that it ends where it was said to. */
static rp_err_t read_partition(struct worker *worker, int side, int32_t partition, struct rp_tally *tally,
                               struct rp_error *err)
{
        struct crew *crew = worker->crew;
        bool is_first = !worker->order.after;
        int64_t before = 0, here, all;
        rp_err_t rc;

        worker->ranges[side][partition] = tally->range;
        rc = rp_reader_start(worker->readers[side], worker->ranges[side], err);
        for (struct rp_run run = { 0 }; rc == RP_OK && !run.done && !atomic_load(&crew->stop);) {
                rc = rp_reader_next(worker->readers[side], TICK_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        rc = take(worker, side, &run.records[i], is_first, tally, err);
                rp_reader_progress(worker->readers[side], &here, &all);
                if (is_first)
                        atomic_fetch_add(&crew->done, (uint64_t)(here - before));
                atomic_fetch_add(&crew->records, run.cnt);
                before = here;
        }
        worker->ranges[side][partition] = (struct rp_range){ 0 };
        return rc;
}

static rp_err_t tally_partition(struct worker *worker, int side, int32_t partition, struct rp_tally *tally,
                                struct rp_error *err)
{
        uint64_t after = 0;
        rp_err_t rc = RP_OK;

        do {
                rp_order_restart(&worker->order, after);
                rc = read_partition(worker, side, partition, tally, err);
                if (rc != RP_OK || atomic_load(&worker->crew->stop))
                        return rc;
                tally->keys += rp_order_sum(&worker->order, 0, &tally->order);
                if (worker->order.limit == after)
                        return rp_fail(err, RP_ERR_FATAL, "--max-memory is too small for the keys of one partition");
                after = worker->order.limit;
        } while (after != UINT64_MAX);
        return RP_OK;
}

/* ---- threads ------------------------------------------------------------------------------------------------------- */

static bool next_partition(struct crew *crew, int *side, int32_t *partition)
{
        for (; crew->side < 2; crew->side++, crew->partition = 0)
                while (crew->partition < crew->job->sides[crew->side].cnt) {
                        const struct rp_tally *tally = &crew->job->sides[crew->side].tallies[crew->partition];

                        *side = crew->side;
                        *partition = crew->partition++;
                        if (tally->is_wanted && !tally->is_done)
                                return true;
                }
        return false;
}

static rp_err_t open_side(struct worker *worker, int side, struct rp_error *err)
{
        const struct rp_tally_job *job = worker->crew->job;

        if (!worker->sources[side] && job->open(job->arg, side, &worker->sources[side], err) != RP_OK)
                return err->code;
        if (worker->sources[side]->partition_cnt != job->sides[side].cnt)
                return rp_fail(err, RP_ERR_INCOMPLETE, "topic \"%s\" has another number of partitions by now",
                               worker->sources[side]->topic);
        if (!worker->readers[side]) {
                worker->readers[side] = rp_reader_new(worker->sources[side], RP_READ_ANY);
                worker->ranges[side] = calloc((size_t)job->sides[side].cnt, sizeof(*worker->ranges[side]));
        }
        return worker->readers[side] && worker->ranges[side] ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static void *work(void *arg)
{
        struct worker *worker = arg;
        struct crew *crew = worker->crew;
        struct rp_error err;
        int side;
        int32_t partition;

        pthread_mutex_lock(&crew->lock);
        while (!atomic_load(&crew->stop) && next_partition(crew, &side, &partition)) {
                struct rp_tally *tally = &crew->job->sides[side].tallies[partition], found = { .range = tally->range };
                rp_err_t rc;

                pthread_mutex_unlock(&crew->lock);
                rc = open_side(worker, side, &err);
                if (rc == RP_OK)
                        rc = tally_partition(worker, side, partition, &found, &err);
                pthread_mutex_lock(&crew->lock);
                if (rc != RP_OK && crew->rc == RP_OK) {
                        crew->rc = rc;
                        crew->err = err;
                        atomic_store(&crew->stop, true);
                }
                if (rc == RP_OK && !atomic_load(&crew->stop)) {
                        found.is_wanted = found.is_done = true;
                        *tally = found;
                        pthread_cond_signal(&crew->changed);
                }
        }
        crew->running--;
        pthread_cond_signal(&crew->changed);
        pthread_mutex_unlock(&crew->lock);
        return NULL;
}

/* The caller's part: looks after progress, signals and the state while the others read. */
static void watch(struct crew *crew, uint64_t total)
{
        struct rp_tally_job *job = crew->job;

        pthread_mutex_lock(&crew->lock);
        while (crew->running) {
                struct timespec until;

                if (job->tick && !job->tick(job->arg, atomic_load(&crew->done), total, atomic_load(&crew->records))) {
                        job->is_stopped = true;
                        atomic_store(&crew->stop, true);
                }
                if (job->keep && crew->rc == RP_OK && job->keep(job->arg, &crew->err) != RP_OK) {
                        crew->rc = crew->err.code;
                        atomic_store(&crew->stop, true);
                }
                clock_gettime(CLOCK_MONOTONIC, &until);
                until.tv_nsec += TICK_MS * 1000000L;
                until.tv_sec += until.tv_nsec / 1000000000L;
                until.tv_nsec %= 1000000000L;
                pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
        }
        pthread_mutex_unlock(&crew->lock);
}

static void release_worker(struct worker *worker)
{
        for (int side = 0; side < 2; side++) {
                rp_reader_free(worker->readers[side]);
                free(worker->ranges[side]);
                if (worker->sources[side])
                        worker->sources[side]->ops->free(worker->sources[side]);
        }
        rp_order_release(&worker->order);
}

static uint64_t count_offsets(const struct rp_tally_job *job, uint64_t *done)
{
        uint64_t total = 0;

        for (int side = 0; side < 2; side++)
                for (int32_t p = 0; p < job->sides[side].cnt; p++) {
                        const struct rp_tally *tally = &job->sides[side].tallies[p];
                        uint64_t len = tally->is_wanted && tally->range.end > tally->range.first
                                               ? (uint64_t)(tally->range.end - tally->range.first) : 0;

                        total += len;
                        *done += tally->is_done ? len : 0;
                }
        return total;
}

rp_err_t rp_tally_run(struct rp_tally_job *job, struct rp_error *err)
{
        struct crew crew = { .job = job };
        size_t cnt = (size_t)(job->thread_cnt < 1 ? 1 : job->thread_cnt), started = 0;
        struct worker *workers = calloc(cnt, sizeof(*workers));
        pthread_condattr_t attr;
        uint64_t done = 0, total = count_offsets(job, &done);

        if (!workers)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        atomic_store(&crew.done, done);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&crew.changed, &attr);
        pthread_condattr_destroy(&attr);
        pthread_mutex_init(&crew.lock, NULL);
        for (; started < cnt; started++) {
                workers[started].crew = &crew;
                rp_order_init(&workers[started].order, RP_ORDER_CHAIN, job->memory_bytes / cnt, 0);
                pthread_mutex_lock(&crew.lock);
                crew.running++;
                pthread_mutex_unlock(&crew.lock);
                if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) {
                        pthread_mutex_lock(&crew.lock);
                        crew.running--;
                        crew.rc = rp_fail(&crew.err, RP_ERR_FATAL, "cannot start thread %zu of %zu", started + 1, cnt);
                        atomic_store(&crew.stop, true);
                        pthread_mutex_unlock(&crew.lock);
                        break;
                }
        }
        watch(&crew, total);
        job->peak_bytes = 0;
        for (size_t i = 0; i < started; i++) {
                pthread_join(workers[i].thread, NULL);
                job->peak_bytes += workers[i].order.peak_bytes;
                release_worker(&workers[i]);
        }
        pthread_mutex_destroy(&crew.lock);
        pthread_cond_destroy(&crew.changed);
        free(workers);
        if (crew.rc != RP_OK)
                *err = crew.err;
        return crew.rc;
}
