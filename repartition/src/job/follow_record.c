#include "job/follow_record.h"

#include "clock.h"
#include "decide/job_record.h"
#include "decide/waypoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        BYTES_PER_MS = 16,  /* of waypoints, as a mean: a long one is written the more rarely */
        BACK_OFF_MS = 10000 /* after brokers did not say where the target ends */
};

/* A partition that was given to us at some time. */
struct lane {
        int64_t first, epoch;
        char *note;
        struct rp_job_done done, added; /* in place: committed, and in the transaction that is open */
};

struct rp_follow_record {
        const struct rp_follow_record_config *config;
        struct lane *lanes;
        int32_t lane_cnt;
        struct rp_waypoint_lane *named; /* scratch */
        int64_t *ends;                  /* scratch */
        char *waypoint;                 /* for the transaction that is open; NULL: none */
        int32_t lowest;                 /* partition that it names */
        int64_t due_ms;                 /* monotonic: when the next one is due */
        size_t waypoint_len;            /* of the last one */
        bool is_described;              /* the description is committed ... */
        bool is_said;                   /* ... or in the open transaction, like the waypoint */
};

struct rp_follow_record *rp_follow_record_new(const struct rp_follow_record_config *config)
{
        struct rp_follow_record *record = calloc(1, sizeof(*record));

        if (!record || !(record->ends = calloc((size_t)config->target_cnt + 1, sizeof(*record->ends)))) {
                free(record);
                return NULL;
        }
        record->config = config;
        return record;
}

void rp_follow_record_free(struct rp_follow_record *record)
{
        if (!record)
                return;
        for (int32_t p = 0; p < record->lane_cnt; p++)
                free(record->lanes[p].note);
        free(record->lanes);
        free(record->named);
        free(record->ends);
        free(record->waypoint);
        free(record);
}

/* ---- partitions -------------------------------------------------------------------------------------------------- */

static bool reserve(struct rp_follow_record *record, int32_t cnt)
{
        struct rp_waypoint_lane *named;
        struct lane *lanes;

        if (cnt <= record->lane_cnt)
                return true;
        lanes = realloc(record->lanes, (size_t)cnt * sizeof(*lanes));
        if (lanes)
                record->lanes = lanes;
        named = realloc(record->named, (size_t)cnt * sizeof(*named));
        if (named)
                record->named = named;
        if (!lanes || !named)
                return false;
        for (; record->lane_cnt < cnt; record->lane_cnt++)
                lanes[record->lane_cnt] = (struct lane){ 0 };
        return true;
}

bool rp_follow_record_started(struct rp_follow_record *record, int32_t partition, int64_t next, const char *text)
{
        const struct rp_follow_record_config *config = record->config;
        struct rp_follow_note note = *config->note, stored;

        if (!reserve(record, partition + 1))
                return false;
        note.first = next;
        note.epoch = 0;
        note.done = (struct rp_job_done){ 0 };
        if (text) { /* where copying began is not known where nobody has written it down */
                bool is_known = rp_follow_note_parse(&stored, text);

                note.first = is_known ? stored.first : -1;
                note.epoch = is_known ? stored.epoch : 0;
                note.done = stored.done;
        }
        if (!note.epoch && config->descriptor)
                note.epoch = rp_wall_clock_ms();
        free(record->lanes[partition].note);
        record->lanes[partition] = (struct lane){ .first = note.first, .epoch = note.epoch, .done = note.done,
                                                  .note = rp_follow_note_print(&note) };
        record->due_ms = 0; /* what is known of it now is known for good */
        return record->lanes[partition].note;
}

void rp_follow_record_copies(struct rp_follow_record *record, const struct rp_record *rec, rp_class_t class)
{
        struct lane *lane = &record->lanes[rec->partition];

        lane->added.records[class]++;
        lane->added.bytes += rec->key_len + rec->value_len;
}

const char *rp_follow_record_note(const struct rp_follow_record *record, int32_t partition)
{
        return record->lanes[partition].note;
}

/* ---- transactions ------------------------------------------------------------------------------------------------ */

/*
 * Of a transaction's beginning, not of its end: where what comes next will lie is known without waiting for anything, and
 * however long nothing came, it is known at the very moment before the next record is copied.
 */
rp_err_t rp_follow_record_begun(struct rp_follow_record *record, const struct rp_mark *held, size_t cnt, struct rp_error *err)
{
        const struct rp_follow_record_config *config = record->config;
        struct rp_error ignored;

        free(record->waypoint);
        record->waypoint = NULL;
        if (!config->descriptor || config->in_place || !cnt || rp_clock_ms() < record->due_ms)
                return RP_OK;
        if (config->ends(config->arg, record->ends, &ignored) != RP_OK) {
                record->due_ms = rp_clock_ms() + BACK_OFF_MS;
                return RP_OK;
        }
        for (size_t i = 0; i < cnt; i++)
                record->named[i] = (struct rp_waypoint_lane){ .partition = held[i].partition, .next = held[i].next,
                                                              .epoch = record->lanes[held[i].partition].epoch };
        record->lowest = held[0].partition;
        record->waypoint = rp_waypoint_print(record->named, cnt, record->ends, config->target_cnt);
        return record->waypoint ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* What is refused before this is about the copies, which are in the log by then, and what is refused later about the record. */
static rp_err_t describe(struct rp_follow_record *record, struct rp_error *err)
{
        struct rp_sink *sink = record->config->sink;
        rp_err_t rc = sink->ops->flush ? sink->ops->flush(sink, err) : RP_OK;

        return rc == RP_OK ? sink->ops->say(sink, record->config->job, record->config->descriptor, err) : rc;
}

/* false when out of memory; the note is as it was then. */
static bool renew_note(const struct rp_follow_record *record, struct lane *lane, const struct rp_job_done *done)
{
        struct rp_follow_note note = *record->config->note;
        char *text;

        note.first = lane->first;
        note.epoch = lane->epoch;
        note.done = *done;
        text = rp_follow_note_print(&note);
        if (text) {
                free(lane->note);
                lane->note = text;
        }
        return text;
}

/* The note is stored with the records, so it tells the sum as it will be once they are committed. */
static rp_err_t say_done(struct rp_follow_record *record, int32_t partition, struct rp_error *err)
{
        const struct rp_follow_record_config *config = record->config;
        struct lane *lane = &record->lanes[partition];
        struct rp_job_done done = lane->done;
        char key[RP_JOB_KEY_SIZE], what[16], *text;
        rp_err_t rc;

        done.since_ms = config->note->born_ms;
        rp_job_done_add(&done, &lane->added);
        snprintf(what, sizeof(what), "%" PRId32, partition);
        rp_job_saying_key(key, config->job, "done", what);
        text = renew_note(record, lane, &done) ? rp_job_done_print(&done) : NULL;
        rc = text ? config->sink->ops->say(config->sink, key, text, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        free(text);
        return rc;
}

/* Where nothing was copied nothing is said: who has only to look needs no right on the topic of jobs. */
static rp_err_t say_all_done(struct rp_follow_record *record, struct rp_error *err)
{
        bool is_any = false;
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; p < record->lane_cnt; p++)
                is_any |= rp_job_done_records(&record->lanes[p].added) > 0;
        if (!is_any)
                return RP_OK;
        if (!record->is_described)
                rc = describe(record, err);
        for (int32_t p = 0; rc == RP_OK && p < record->lane_cnt; p++)
                if (rp_job_done_records(&record->lanes[p].added))
                        rc = say_done(record, p, err);
        record->is_said = rc == RP_OK;
        return rc;
}

static void settle_done(struct rp_follow_record *record, bool is_committed)
{
        for (int32_t p = 0; p < record->lane_cnt; p++) {
                struct lane *lane = &record->lanes[p];

                if (!rp_job_done_records(&lane->added))
                        continue;
                if (is_committed && record->is_said)
                        rp_job_done_add(&lane->done, &lane->added);
                else
                        renew_note(record, lane, &lane->done); /* it must not tell of what is void */
                lane->added = (struct rp_job_done){ 0 };
        }
}

rp_err_t rp_follow_record_committing(struct rp_follow_record *record, size_t offset_cnt, struct rp_error *err)
{
        const struct rp_follow_record_config *config = record->config;
        struct rp_sink *sink = config->sink;
        char key[RP_JOB_KEY_SIZE];
        rp_err_t rc = RP_OK;

        record->is_said = false;
        if (!offset_cnt || !sink->ops->say || !config->descriptor)
                return RP_OK;
        if (config->in_place)
                return say_all_done(record, err);
        if (!record->is_described)
                rc = describe(record, err);
        if (rc == RP_OK && record->waypoint) {
                rp_job_waypoint_key(key, config->job, record->lowest, rp_waypoint_slot(rp_wall_clock_ms()));
                rc = sink->ops->say(sink, key, record->waypoint, err);
                record->waypoint_len = strlen(record->waypoint);
        }
        record->is_said = rc == RP_OK;
        return rc;
}

void rp_follow_record_settled(struct rp_follow_record *record, bool is_committed)
{
        const struct rp_follow_record_config *config = record->config;

        if (config->in_place)
                settle_done(record, is_committed);
        if (is_committed && record->is_said) {
                int64_t pace_ms = (int64_t)record->waypoint_len / BYTES_PER_MS;

                record->is_described = true;
                if (record->waypoint)
                        record->due_ms = rp_clock_ms() + (pace_ms > config->pace_ms ? pace_ms : config->pace_ms);
        }
        record->is_said = false;
        free(record->waypoint);
        record->waypoint = NULL;
}
