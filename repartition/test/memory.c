#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool faults_hit(struct faults *faults, bool *happens, struct rp_error *err)
{
        *happens = true;
        if (!faults)
                return false;
        faults->calls++;
        if (!faults->dead && (!faults->nth || faults->calls < faults->nth || faults->calls > faults->nth + faults->more))
                return false;
        faults->fired = true;
        faults->dead |= faults->kind == FAULT_CRASH;
        *happens = !faults->dead && faults->kind == FAULT_LATE;
        rp_fail(err, faults->dead ? RP_ERR_FATAL : faults->code, "injected fault at call %u", faults->calls);
        return true;
}

/* ---- topics ----------------------------------------------------------------------------------------------------- */

static void *copy(const void *data, size_t len)
{
        char *out;

        if (!data)
                return NULL;
        out = malloc(len + 1);
        assert(out);
        if (len)
                memcpy(out, data, len);
        out[len] = '\0';
        return out;
}

static struct rp_record record_copy(const struct rp_record *rec)
{
        struct rp_record out = *rec;
        struct rp_header *headers = rec->header_cnt ? calloc(rec->header_cnt, sizeof(*headers)) : NULL;

        out.key = copy(rec->key, rec->key_len);
        out.value = copy(rec->value, rec->value_len);
        for (size_t i = 0; i < rec->header_cnt; i++) {
                headers[i] = rec->headers[i];
                headers[i].name = copy(rec->headers[i].name, strlen(rec->headers[i].name));
                headers[i].value = copy(rec->headers[i].value, rec->headers[i].value_len);
        }
        out.headers = headers;
        out.native = NULL;
        return out;
}

static void record_release(struct rp_record *rec)
{
        for (size_t i = 0; i < rec->header_cnt; i++) {
                free((void *)rec->headers[i].name);
                free((void *)rec->headers[i].value);
        }
        free((void *)rec->headers);
        free((void *)rec->key);
        free((void *)rec->value);
}

void memory_topic_init(struct memory_topic *topic, int32_t partition_cnt)
{
        topic->partition_cnt = partition_cnt;
        topic->logs = calloc((size_t)partition_cnt, sizeof(*topic->logs));
        assert(topic->logs);
}

static void log_clear(struct memory_log *log)
{
        for (size_t i = 0; i < log->cnt; i++)
                record_release(&log->records[i]);
        free(log->records);
        *log = (struct memory_log){ 0 };
}

void memory_topic_release(struct memory_topic *topic)
{
        for (int32_t p = 0; p < topic->partition_cnt; p++)
                log_clear(&topic->logs[p]);
        free(topic->logs);
}

static void log_push(struct memory_log *log, struct rp_record rec, int32_t partition, int64_t gap)
{
        if (log->cnt == log->cap) {
                log->cap = log->cap ? 2 * log->cap : 16;
                log->records = realloc(log->records, log->cap * sizeof(*log->records));
                assert(log->records);
        }
        rec.partition = partition;
        rec.offset = log->end + gap;
        log->end = rec.offset + 1;
        log->records[log->cnt++] = rec;
}

void memory_topic_add(struct memory_topic *topic, int32_t partition, const struct rp_record *rec, int64_t gap)
{
        log_push(&topic->logs[partition], record_copy(rec), partition, gap);
}

void memory_topic_remove(struct memory_topic *topic, int32_t partition, int64_t offset)
{
        struct memory_log *log = &topic->logs[partition];

        for (size_t i = 0; i < log->cnt; i++)
                if (log->records[i].offset == offset) {
                        record_release(&log->records[i]);
                        memmove(&log->records[i], &log->records[i + 1], (--log->cnt - i) * sizeof(*log->records));
                }
}

/* ---- source ----------------------------------------------------------------------------------------------------- */

struct memory_source {
        struct rp_source base;
        const struct memory_topic *topic;
        struct faults *faults;
        struct rp_range *ranges; /* first moves on while reading */
        struct rp_record **lent_by_partition;
        unsigned random;
};

static unsigned next_random(unsigned *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 16;
}

static rp_err_t source_bounds(struct rp_source *base, struct rp_range *ranges, struct rp_error *err)
{
        struct memory_source *source = (struct memory_source *)base;
        bool happens;

        if (faults_hit(source->faults, &happens, err))
                return err->code;
        for (int32_t p = 0; p < base->partition_cnt; p++)
                ranges[p] = (struct rp_range){ .first = source->topic->logs[p].low, .end = source->topic->logs[p].end };
        return RP_OK;
}

static rp_err_t source_start(struct rp_source *base, const struct rp_range *ranges, struct rp_error *err)
{
        struct memory_source *source = (struct memory_source *)base;
        bool happens;

        memcpy(source->ranges, ranges, (size_t)base->partition_cnt * sizeof(*ranges));
        return faults_hit(source->faults, &happens, err) ? err->code : RP_OK;
}

enum { LENT_MAX = 7 };

static rp_err_t source_fetch(struct rp_source *base, int32_t partition, int timeout_ms, struct rp_batch *batch,
                             struct rp_error *err)
{
        struct memory_source *source = (struct memory_source *)base;
        const struct memory_log *log = &source->topic->logs[partition];
        struct rp_range *range = &source->ranges[partition];
        size_t most = next_random(&source->random) % (LENT_MAX + 1);
        size_t at = 0, end = log->cnt;
        bool happens;

        (void)timeout_ms;
        free(source->lent_by_partition[partition]);
        source->lent_by_partition[partition] = NULL;
        *batch = (struct rp_batch){ .next = range->first };
        if (faults_hit(source->faults, &happens, err))
                return err->code;
        if (range->first < log->low)
                return rp_fail(err, RP_ERR_INCOMPLETE, "partition %d lost records", partition);
        if (!most || range->first >= range->end)
                return RP_OK; /* nothing yet */
        source->lent_by_partition[partition] = malloc(LENT_MAX * sizeof(struct rp_record));
        while (at < end) {
                size_t middle = (at + end) / 2;

                if (log->records[middle].offset < range->first)
                        at = middle + 1;
                else
                        end = middle;
        }
        for (; at < log->cnt && batch->cnt < most && log->records[at].offset < range->end; at++) {
                source->lent_by_partition[partition][batch->cnt++] = log->records[at];
                range->first = log->records[at].offset + 1;
        }
        if (at == log->cnt || log->records[at].offset >= range->end)
                range->first = range->end; /* what is left of the range are gaps */
        batch->records = source->lent_by_partition[partition];
        batch->next = range->first;
        return RP_OK;
}

static void source_free(struct rp_source *base)
{
        struct memory_source *source = (struct memory_source *)base;

        for (int32_t p = 0; p < base->partition_cnt; p++)
                free(source->lent_by_partition[p]);
        free(source->lent_by_partition);
        free(source->ranges);
        free(source);
}

static const struct rp_source_ops memory_source_ops = { source_bounds, source_start, source_fetch, source_free };

struct rp_source *memory_source_new(const struct memory_topic *topic, struct faults *faults, unsigned seed)
{
        struct memory_source *source = calloc(1, sizeof(*source));

        assert(source);
        source->base = (struct rp_source){ &memory_source_ops, "source", topic->partition_cnt, NULL };
        source->topic = topic;
        source->faults = faults;
        source->random = seed;
        source->ranges = calloc((size_t)topic->partition_cnt, sizeof(*source->ranges));
        source->lent_by_partition = calloc((size_t)topic->partition_cnt, sizeof(*source->lent_by_partition));
        return &source->base;
}

/* ---- sink ------------------------------------------------------------------------------------------------------- */

struct memory_sink {
        struct rp_sink base;
        struct memory_cluster *cluster;
        struct faults *faults;
        struct memory_topic open; /* what the open transaction holds */
        bool is_open;
        int *holder;              /* the epoch that counts for its id */
        bool is_doomed;           /* an earlier call failed: only recover() helps */
        int epoch;
};

void memory_cluster_init(struct memory_cluster *cluster, int32_t source_cnt, int32_t target_cnt)
{
        *cluster = (struct memory_cluster){ .lock = PTHREAD_MUTEX_INITIALIZER };
        memory_topic_init(&cluster->target, target_cnt);
        rp_progress_init(&cluster->progress, source_cnt);
}

void memory_cluster_release(struct memory_cluster *cluster)
{
        memory_topic_release(&cluster->target);
        rp_progress_release(&cluster->progress);
}

static void drop_open(struct memory_sink *sink)
{
        for (int32_t p = 0; p < sink->open.partition_cnt; p++)
                log_clear(&sink->open.logs[p]);
        sink->is_open = false;
}

static rp_err_t read_progress(struct memory_sink *sink, struct rp_progress *progress)
{
        for (int32_t p = 0; p < progress->cnt; p++)
                rp_progress_set(progress, p, sink->cluster->progress.marks[p].next,
                                sink->cluster->progress.marks[p].note);
        return RP_OK;
}

static rp_err_t sink_stored(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens;

        return faults_hit(sink->faults, &happens, err) ? err->code : read_progress(sink, progress);
}

static rp_err_t sink_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens, hit = faults_hit(sink->faults, &happens, err);

        if (happens) {
                drop_open(sink);
                sink->epoch = ++*sink->holder;
                sink->is_doomed = hit;
        }
        return hit ? err->code : read_progress(sink, progress);
}

/* What the broker says to a producer that must not write. */
static rp_err_t check_alive(struct memory_sink *sink, struct rp_error *err)
{
        if (sink->epoch != *sink->holder)
                return rp_fail(err, RP_ERR_FENCED, "fenced");
        if (sink->is_doomed)
                return rp_fail(err, RP_ERR_FATAL, "used after an error without recover()");
        return RP_OK;
}

static rp_err_t sink_begin(struct rp_sink *base, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens, hit = faults_hit(sink->faults, &happens, err);
        rp_err_t rc;

        if (hit) {
                sink->is_doomed = true;
                return err->code;
        }
        rc = check_alive(sink, err);
        assert(rc != RP_OK || !sink->is_open);
        sink->is_open = true;
        return rc;
}

static rp_err_t sink_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens, hit = faults_hit(sink->faults, &happens, err);
        rp_err_t rc = hit ? err->code : check_alive(sink, err);

        sink->is_doomed |= rc != RP_OK;
        if (rc != RP_OK)
                return rc;
        assert(sink->is_open && to >= 0 && to < base->partition_cnt);
        memory_topic_add(&sink->open, to, rec, 0);
        return RP_OK;
}

static rp_err_t sink_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens, hit = faults_hit(sink->faults, &happens, err);
        rp_err_t rc = RP_OK;
        struct rp_error fenced;

        if (happens)
                rc = check_alive(sink, hit ? &fenced : err);
        if (happens && rc == RP_OK) {
                for (int32_t p = 0; p < base->partition_cnt; p++) {
                        struct memory_log *from = &sink->open.logs[p];

                        for (size_t i = 0; i < from->cnt; i++) /* hands the copies over */
                                log_push(&sink->cluster->target.logs[p], from->records[i], p, 0);
                        free(from->records);
                        *from = (struct memory_log){ 0 };
                }
                for (size_t i = 0; i < cnt; i++)
                        rp_progress_set(&sink->cluster->progress, marks[i].partition, marks[i].next, marks[i].note);
                sink->cluster->commits++;
                sink->is_open = false;
        }
        sink->is_doomed |= hit || rc != RP_OK;
        return hit ? err->code : rc;
}

static rp_err_t sink_abort(struct rp_sink *base, struct rp_error *err)
{
        struct memory_sink *sink = (struct memory_sink *)base;
        bool happens, hit = faults_hit(sink->faults, &happens, err);
        rp_err_t rc = hit ? err->code : check_alive(sink, err);

        sink->is_doomed |= rc != RP_OK;
        if (rc == RP_OK)
                drop_open(sink);
        return rc;
}

static void sink_free(struct rp_sink *base)
{
        struct memory_sink *sink = (struct memory_sink *)base;

        memory_topic_release(&sink->open);
        free(sink);
}

/* The cluster is one, whoever calls. */
#define LOCKED(call)                                                                                                   \
        struct memory_cluster *cluster = ((struct memory_sink *)base)->cluster;                                        \
        rp_err_t rc;                                                                                                   \
                                                                                                                       \
        pthread_mutex_lock(&cluster->lock);                                                                            \
        rc = call;                                                                                                     \
        pthread_mutex_unlock(&cluster->lock);                                                                          \
        return rc

static rp_err_t locked_stored(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        LOCKED(sink_stored(base, progress, err));
}

static rp_err_t locked_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        LOCKED(sink_recover(base, progress, err));
}

static rp_err_t locked_begin(struct rp_sink *base, struct rp_error *err)
{
        LOCKED(sink_begin(base, err));
}

static rp_err_t locked_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        LOCKED(sink_append(base, rec, to, err));
}

static rp_err_t locked_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        LOCKED(sink_commit(base, marks, cnt, err));
}

static rp_err_t locked_abort(struct rp_sink *base, struct rp_error *err)
{
        LOCKED(sink_abort(base, err));
}

static const struct rp_sink_ops memory_sink_ops = { locked_stored, locked_recover, locked_begin, locked_append,
                                                    locked_commit, locked_abort, sink_free, NULL, NULL };

struct rp_sink *memory_sink_new_as(struct memory_cluster *cluster, struct faults *faults, int id)
{
        struct memory_sink *sink = calloc(1, sizeof(*sink));

        assert(sink && id >= 0 && id < MEMORY_IDS);
        sink->base = (struct rp_sink){ &memory_sink_ops, cluster->target.partition_cnt };
        sink->cluster = cluster;
        sink->holder = id ? &cluster->epochs[id] : &cluster->epoch;
        sink->faults = faults;
        memory_topic_init(&sink->open, cluster->target.partition_cnt);
        return &sink->base;
}

struct rp_sink *memory_sink_new(struct memory_cluster *cluster, struct faults *faults)
{
        return memory_sink_new_as(cluster, faults, 0);
}
