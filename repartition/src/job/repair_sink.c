#include "job/repair_sink.h"

#include "crash.h"
#include "decide/note.h"
#include "io/reader.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 100 };

/* A record that waits for the commit, all of its bytes in one block. */
struct held {
        struct rp_record rec;
        int32_t to;
};

struct repair_sink {
        struct rp_sink base;
        struct rp_repair_sink_config config;
        struct rp_reader *reader;
        struct rp_range *tail;   /* first: up to where was looked */
        struct rp_range *ranges; /* scratch for a look */
        struct held **held;
        size_t held_cnt, held_cap;
        uint64_t tried, tried_bytes;     /* by the last commit */
        uint64_t tried_classes[RP_CLASS_CNT];
        uint64_t written, written_bytes; /* committed */
};

static struct repair_sink *self(struct rp_sink *base)
{
        return (struct repair_sink *)base;
}

static void drop_held(struct repair_sink *sink)
{
        for (size_t i = 0; i < sink->held_cnt; i++)
                free(sink->held[i]);
        sink->held_cnt = 0;
}

/* ---- progress ------------------------------------------------------------------------------------------------------- */

/*
 * What earlier passes stored is none of ours, and begins with nothing stored. Progress that is neither theirs nor ours:
 * another run has begun a pass of its own.
 */
static bool hide_earlier(const struct repair_sink *sink, struct rp_progress *progress)
{
        struct rp_note *note = malloc(sizeof(*note));
        bool is_ours = note;

        for (int32_t p = 0; note && p < progress->cnt; p++) {
                struct rp_mark *mark = &progress->marks[p];

                if (mark->next < 0 || (rp_note_parse(note, mark->note) && !strcmp(note->job, sink->config.identity)))
                        continue;
                if (mark->note && *note->job && strcmp(note->job, sink->config.previous)) {
                        mark->next = INT64_MAX; /* nothing that this run stored: it sees itself replaced */
                        is_ours = false;
                } else {
                        mark->next = -1;
                }
        }
        free(note);
        return is_ours;
}

static rp_err_t sink_stored(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct repair_sink *sink = self(base);
        rp_err_t rc = sink->config.inner->ops->stored(sink->config.inner, progress, err);

        if (rc == RP_OK)
                hide_earlier(sink, progress);
        return rc;
}

static rp_err_t sink_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct repair_sink *sink = self(base);
        rp_err_t rc = sink->config.inner->ops->recover(sink->config.inner, progress, err);

        drop_held(sink);
        if (rc == RP_OK && !hide_earlier(sink, progress))
                return rp_fail(err, RP_ERR_FENCED, "fenced: another repair of \"%s\" has begun", sink->config.topic);
        return rc;
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

static const void *store(char **at, const void *data, size_t len)
{
        char *to = *at;

        if (!data)
                return NULL;
        if (len)
                memcpy(to, data, len);
        *at += len;
        return to;
}

/* A copy of the record, with one more header if that has a name. NULL when memory is out. */
static struct held *hold(const struct rp_record *rec, struct rp_header extra)
{
        size_t header_cnt = rec->header_cnt + (extra.name != NULL), size = sizeof(struct held) + rec->key_len + rec->value_len;
        struct rp_header *headers;
        struct held *held;
        char *at;

        for (size_t i = 0; i < header_cnt; i++) {
                const struct rp_header *header = i < rec->header_cnt ? &rec->headers[i] : &extra;

                size += sizeof(*header) + strlen(header->name) + 1 + header->value_len;
        }
        held = malloc(size);
        if (!held)
                return NULL;
        headers = (struct rp_header *)(held + 1);
        at = (char *)(headers + header_cnt);
        held->rec = *rec;
        held->rec.native = NULL; /* the source's own memory */
        held->rec.headers = headers;
        held->rec.header_cnt = header_cnt;
        held->rec.key = store(&at, rec->key, rec->key_len);
        held->rec.value = store(&at, rec->value, rec->value_len);
        for (size_t i = 0; i < header_cnt; i++) {
                const struct rp_header *header = i < rec->header_cnt ? &rec->headers[i] : &extra;

                headers[i].name = store(&at, header->name, strlen(header->name) + 1);
                headers[i].value = store(&at, header->value, header->value_len);
                headers[i].value_len = header->value_len;
        }
        return held;
}

static rp_err_t sink_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        struct repair_sink *sink = self(base);
        struct rp_record out = *rec;
        struct rp_header extra = { 0 };
        char origin[RP_ORIGIN_SIZE];

        if (sink->config.tombstones) {
                out.value = NULL;
                out.value_len = out.header_cnt = 0;
                extra = (struct rp_header){ RP_TOMBSTONE_HEADER, "repair", strlen("repair") };
        } else if (sink->config.mark) {
                size_t len = rp_origin_print(origin, sink->config.topic, rec->partition, rec->offset);

                extra = (struct rp_header){ RP_ORIGIN_HEADER, origin, len };
        }
        if (sink->held_cnt == sink->held_cap) {
                size_t cap = sink->held_cap ? 2 * sink->held_cap : 256;
                struct held **grown = realloc(sink->held, cap * sizeof(*grown));

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                sink->held = grown;
                sink->held_cap = cap;
        }
        sink->held[sink->held_cnt] = hold(&out, extra);
        if (!sink->held[sink->held_cnt])
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        sink->held[sink->held_cnt++]->to = to;
        return RP_OK;
}

/* ---- what arrived since ------------------------------------------------------------------------------------------------- */

/* Sets the ranges to what is new. *is_any is false when nothing is. */
static rp_err_t find_new(struct repair_sink *sink, bool *is_any, struct rp_error *err)
{
        rp_err_t rc = sink->config.tail->ops->bounds(sink->config.tail, sink->ranges, err);

        *is_any = false;
        for (int32_t p = 0; rc == RP_OK && p < sink->config.tail->partition_cnt; p++) {
                if (sink->ranges[p].first < sink->tail[p].first)
                        sink->ranges[p].first = sink->tail[p].first;
                *is_any |= sink->ranges[p].first < sink->ranges[p].end;
        }
        return rc;
}

/* *is_overtaken: something newer than a record in the open transaction is among it. */
static rp_err_t look(struct repair_sink *sink, bool *is_overtaken, struct rp_error *err)
{
        struct rp_run run = { 0 };
        bool is_any;
        rp_err_t rc = find_new(sink, &is_any, err);

        *is_overtaken = false;
        if (rc == RP_OK && is_any)
                rc = rp_reader_start(sink->reader, sink->ranges, err);
        while (rc == RP_OK && is_any && !run.done) {
                rc = rp_reader_next(sink->reader, WAIT_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        *is_overtaken |= !rp_repair_arrive(sink->config.repair, &run.records[i]);
        }
        for (int32_t p = 0; rc == RP_OK && p < sink->config.tail->partition_cnt; p++)
                if (sink->ranges[p].end > sink->tail[p].first)
                        sink->tail[p].first = sink->ranges[p].end;
        return rc;
}

/* ---- a transaction ------------------------------------------------------------------------------------------------------ */

static rp_err_t sink_begin(struct rp_sink *base, struct rp_error *err)
{
        (void)base, (void)err;
        return RP_OK; /* the real one is begun by the commit */
}

/* Begins a transaction with what is held and has not been overtaken. It lies in the log then, for the look that follows. */
static rp_err_t write_held(struct repair_sink *sink, struct rp_error *err)
{
        struct rp_sink *inner = sink->config.inner;
        rp_err_t rc = inner->ops->begin(inner, err);

        rp_repair_begin_transaction(sink->config.repair);
        sink->tried = sink->tried_bytes = 0;
        memset(sink->tried_classes, 0, sizeof(sink->tried_classes));
        for (size_t i = 0; rc == RP_OK && i < sink->held_cnt; i++) {
                const struct held *held = sink->held[i];
                rp_class_t class;

                if (rp_repair_decide(sink->config.repair, &held->rec) == RP_REPAIR_SKIP)
                        continue;
                rp_repair_append(sink->config.repair, &held->rec);
                rc = inner->ops->append(inner, &held->rec, held->to, err);
                RP_CRASH_POINT("write", "between");
                sink->tried++;
                if (rp_repair_class(sink->config.repair, held->rec.partition, held->rec.offset, &class))
                        sink->tried_classes[class]++;
                sink->tried_bytes += held->rec.key_len + held->rec.value_len;
        }
        return rc == RP_OK && sink->tried && inner->ops->flush ? inner->ops->flush(inner, err) : rc;
}

/* Each try leaves out what was overtaken during the one before, so it ends. */
static rp_err_t try_commit(struct repair_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct rp_sink *inner = sink->config.inner;
        bool is_overtaken = false;
        rp_err_t rc = look(sink, &is_overtaken, err);

        RP_CRASH_POINT("write", "before");
        for (uint64_t before = UINT64_MAX; rc == RP_OK; before = sink->tried) {
                rc = write_held(sink, err);
                RP_CRASH_POINT("write", "after");
                if (rc == RP_OK && sink->tried >= before)
                        return rp_fail(err, RP_ERR_ABORT_BATCH, "newer records arrive faster than a transaction can be committed");
                if (rc == RP_OK && sink->tried)
                        rc = look(sink, &is_overtaken, err);
                if (rc == RP_OK && sink->config.unchanged)
                        rc = sink->config.unchanged(sink->config.arg, err);
                if (rc == RP_OK && !(sink->tried && is_overtaken)) {
                        rc = rp_repair_record_committing(sink->config.record, inner, sink->tried_classes, sink->tried_bytes, err);
                        return rc == RP_OK ? inner->ops->commit(inner, marks, cnt, err) : rc;
                }
                if (rc == RP_OK)
                        rc = inner->ops->abort(inner, err);
        }
        return rc;
}

static rp_err_t sink_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct repair_sink *sink = self(base);
        rp_err_t rc = try_commit(sink, marks, cnt, err);

        drop_held(sink);
        return rc;
}

static rp_err_t sink_abort(struct rp_sink *base, struct rp_error *err)
{
        (void)err;
        drop_held(self(base));
        return RP_OK;
}

void rp_repair_sink_settle(struct rp_sink *base, bool is_committed)
{
        struct repair_sink *sink = self(base);

        rp_repair_record_settled(sink->config.record, is_committed);
        if (is_committed) {
                sink->written += sink->tried;
                sink->written_bytes += sink->tried_bytes;
        }
        sink->tried = sink->tried_bytes = 0;
}

uint64_t rp_repair_sink_written(const struct rp_sink *base, uint64_t *bytes)
{
        const struct repair_sink *sink = (const struct repair_sink *)base;

        *bytes = sink->written_bytes;
        return sink->written;
}

static void sink_free(struct rp_sink *base)
{
        struct repair_sink *sink = self(base);

        drop_held(sink);
        free(sink->held);
        rp_reader_free(sink->reader);
        free(sink->tail);
        free(sink->ranges);
        free(sink);
}

static const struct rp_sink_ops repair_sink_ops = { sink_stored, sink_recover, sink_begin, sink_append,
                                                    sink_commit, sink_abort, sink_free, NULL, NULL };

struct rp_sink *rp_repair_sink_new(const struct rp_repair_sink_config *config)
{
        struct repair_sink *sink = calloc(1, sizeof(*sink));
        size_t cnt = (size_t)config->tail->partition_cnt;

        if (!sink)
                return NULL;
        sink->base = (struct rp_sink){ &repair_sink_ops, config->inner->partition_cnt };
        sink->config = *config;
        sink->reader = rp_reader_new(config->tail, RP_READ_ANY);
        sink->tail = calloc(cnt, sizeof(*sink->tail));
        sink->ranges = calloc(cnt, sizeof(*sink->ranges));
        if (!sink->reader || !sink->tail || !sink->ranges) {
                sink_free(&sink->base);
                return NULL;
        }
        for (size_t p = 0; p < cnt; p++)
                sink->tail[p].first = config->from[p].end;
        return &sink->base;
}
