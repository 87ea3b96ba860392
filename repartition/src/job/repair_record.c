#include "job/repair_record.h"

#include "clock.h"
#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 5 }; /* to say that all is done; the copies are committed by then */

struct rp_repair_record {
        const struct rp_repair_record_config *config;
        const char *what;         /* it writes, as in the keys */
        struct rp_job_done done;  /* committed, by this run and earlier ones */
        struct rp_job_done tried; /* in the transaction that is being committed */
        bool exists;              /* something was ever said ... */
        bool is_described;        /* ... by this run */
        bool is_said;             /* it is in the transaction that is being committed */
        char *judged;             /* of the pass, still to be said; NULL: it is */
};

struct rp_repair_record *rp_repair_record_new(const struct rp_repair_record_config *config)
{
        struct rp_repair_record *record = calloc(1, sizeof(*record));

        if (!record)
                return NULL;
        record->config = config;
        record->what = strcmp(config->descriptor->kind, RP_KIND_TOMBSTONES) ? RP_DONE_COPIES : RP_DONE_TOMBSTONES;
        return record;
}

void rp_repair_record_free(struct rp_repair_record *record)
{
        if (record)
                free(record->judged);
        free(record);
}

/* What was said of a topic that has since been made anew is of another epoch. */
static void take_up(struct rp_repair_record *record, const struct rp_job_fold *fold)
{
        struct rp_job_descriptor *now = record->config->descriptor, *stored = malloc(sizeof(*stored));
        bool is_copies = !strcmp(record->what, RP_DONE_COPIES);
        char text[480], key[64];

        snprintf(key, sizeof(key), "done|%s", record->what);
        if (stored &&
            rp_job_descriptor_parse(stored, is_copies ? fold->descriptor : rp_job_fold_said(fold, RP_KIND_TOMBSTONES)) &&
            !strcmp(stored->target.topic, now->target.topic) && !rp_job_descriptor_differs(stored, now, text, sizeof(text))) {
                now->since_ms = stored->since_ms;
                record->exists = rp_job_done_parse(&record->done, rp_job_fold_said(fold, key)) &&
                                 record->done.since_ms == now->since_ms;
        }
        if (!record->exists)
                record->done = (struct rp_job_done){ .since_ms = now->since_ms };
        free(stored);
}

rp_err_t rp_repair_record_begin(struct rp_repair_record *record, struct rp_error *err)
{
        const struct rp_repair_record_config *config = record ? record->config : NULL;
        struct rp_job_fold fold;
        rp_err_t rc = RP_OK;

        if (!record)
                return RP_OK;
        if (!rp_job_fold_init(&fold, config->job))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        config->descriptor->since_ms = rp_wall_clock_ms();
        fold.is_brief = true;
        if (config->read)
                rc = config->read(config->arg, &fold, err);
        if (rc == RP_OK)
                take_up(record, &fold);
        rp_job_fold_release(&fold);
        return rc;
}

bool rp_repair_record_pass(struct rp_repair_record *record, const struct rp_range *judged, int32_t cnt)
{
        if (!record)
                return true;
        free(record->judged);
        record->judged = rp_job_judged_print(judged, cnt);
        return record->judged;
}

/* ---- transactions ------------------------------------------------------------------------------------------------ */

static rp_err_t say(struct rp_repair_record *record, struct rp_sink *sink, const char *kind, const char *text,
                    struct rp_error *err)
{
        char key[RP_JOB_KEY_SIZE];

        rp_job_saying_key(key, record->config->job, kind, record->what);
        return sink->ops->say(sink, key, text, err);
}

static rp_err_t say_done(struct rp_repair_record *record, struct rp_sink *sink, const struct rp_job_done *done,
                         struct rp_error *err)
{
        char *text = rp_job_done_print(done);
        rp_err_t rc = text ? say(record, sink, "done", text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");

        free(text);
        return rc;
}

static rp_err_t describe(struct rp_repair_record *record, struct rp_sink *sink, struct rp_error *err)
{
        const struct rp_repair_record_config *config = record->config;
        char *text = rp_job_descriptor_print(config->descriptor), key[RP_JOB_KEY_SIZE];
        bool is_copies = !strcmp(record->what, RP_DONE_COPIES);
        rp_err_t rc;

        snprintf(key, sizeof(key), "%s%s%s", config->job, is_copies ? "" : "|", is_copies ? "" : RP_KIND_TOMBSTONES);
        rc = text ? sink->ops->say(sink, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        free(text);
        return rc;
}

rp_err_t rp_repair_record_committing(struct rp_repair_record *record, struct rp_sink *sink, const uint64_t *records,
                                     uint64_t bytes, struct rp_error *err)
{
        uint64_t before;
        rp_err_t rc = RP_OK;

        if (!record || !sink->ops->say)
                return RP_OK;
        record->is_said = false;
        record->tried = record->done;
        record->tried.is_finished = false;
        record->tried.bytes += bytes;
        before = rp_job_done_records(&record->tried);
        for (int class = 0; class < RP_CLASS_CNT; class++)
                record->tried.records[class] += records[class];
        if (rp_job_done_records(&record->tried) == before) /* progress alone is no news to people */
                return RP_OK;
        if (!record->is_described)
                rc = describe(record, sink, err);
        if (rc == RP_OK && record->judged)
                rc = say(record, sink, "judged", record->judged, err);
        if (rc == RP_OK)
                rc = say_done(record, sink, &record->tried, err);
        record->is_said = rc == RP_OK;
        return rc;
}

void rp_repair_record_settled(struct rp_repair_record *record, bool is_committed)
{
        if (!record)
                return;
        if (is_committed && record->is_said) {
                record->done = record->tried;
                record->exists = record->is_described = true;
                free(record->judged);
                record->judged = NULL;
        }
        record->is_said = false;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

rp_err_t rp_repair_record_finish(struct rp_repair_record *record, struct rp_sink *sink, int32_t partition_cnt,
                                 struct rp_error *err)
{
        struct rp_job_done done;
        struct rp_progress progress = { 0 };
        rp_err_t rc;

        if (!record || !sink->ops->say || !record->exists || record->done.is_finished)
                return RP_OK;
        done = record->done;
        done.is_finished = true;
        if (!rp_progress_init(&progress, partition_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        RP_CRASH_POINT("finish", "before");
        for (int i = 0; i < TRIES_MAX; i++) {
                rc = sink->ops->begin(sink, err);
                if (rc == RP_OK)
                        rc = say_done(record, sink, &done, err);
                if (rc == RP_OK)
                        rc = sink->ops->commit(sink, NULL, 0, err);
                if (rc != RP_ERR_RETRY && rc != RP_ERR_ABORT_BATCH)
                        break;
                /* Whatever became of it: said twice is said once. */
                if (i + 1 < TRIES_MAX && (rc = sink->ops->recover(sink, &progress, err)) != RP_OK)
                        break;
        }
        RP_CRASH_POINT("finish", "after");
        rp_progress_release(&progress);
        if (rc == RP_OK)
                record->done = done;
        return rc;
}
