#include "decide/copy.h"

#include "decide/lead.h"
#include "decide/note.h"
#include "decide/pass.h"
#include "decide/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        TICK_MS = 100,        /* the loop wants to look after its other duties that often */
        RECOVERIES_MAX = 5,   /* in a row without a commit in between; each waits as long as the sink is patient */
        IDLE_STORE_MS = 5000  /* progress over records that are not written is stored that often */
};

/* Why a LOOK, BEGIN or COMMIT was asked for. */
enum { TO_RECOVER, TO_NAME_WINNER, TO_JOIN, TO_REWIND, TO_APPEND, TO_COMMIT };

bool rp_copy_init(struct rp_copy *copy, const struct rp_copy_config *config)
{
        size_t cnt = (size_t)config->partition_cnt;
        bool has_progress;

        *copy = (struct rp_copy){ .config = *config };
        copy->bounds = calloc(cnt, sizeof(*copy->bounds));
        copy->ranges = calloc(cnt, sizeof(*copy->ranges));
        copy->lanes = calloc(cnt, sizeof(*copy->lanes));
        copy->marks = calloc(cnt, sizeof(*copy->marks));
        has_progress = rp_progress_init(&copy->seen, config->partition_cnt);
        has_progress &= rp_progress_init(&copy->stored, config->partition_cnt);
        if (!has_progress || !copy->bounds || !copy->ranges || !copy->lanes || !copy->marks) {
                rp_copy_release(copy);
                return false;
        }
        for (size_t p = 0; p < cnt; p++) {
                copy->lanes[p].position = -1;
                copy->lanes[p].is_held = config->form == RP_COPY_PASSES && (!config->is_mine || config->is_mine[p]);
        }
        return true;
}

void rp_copy_release(struct rp_copy *copy)
{
        for (int32_t p = 0; copy->lanes && p < copy->config.partition_cnt; p++)
                free(copy->lanes[p].note);
        rp_progress_release(&copy->seen);
        rp_progress_release(&copy->stored);
        free(copy->bounds);
        free(copy->ranges);
        free(copy->lanes);
        free(copy->marks);
        *copy = (struct rp_copy){ 0 };
}

static bool grow(void **array, size_t size, int32_t from, int32_t to)
{
        char *grown = realloc(*array, size * (size_t)to);

        if (!grown)
                return false;
        memset(grown + size * (size_t)from, 0, size * (size_t)(to - from));
        *array = grown;
        return true;
}

bool rp_copy_grow(struct rp_copy *copy, int32_t cnt)
{
        int32_t from = copy->config.partition_cnt;

        if (cnt <= from)
                return true;
        if (!grow((void **)&copy->bounds, sizeof(*copy->bounds), from, cnt) ||
            !grow((void **)&copy->ranges, sizeof(*copy->ranges), from, cnt) ||
            !grow((void **)&copy->lanes, sizeof(*copy->lanes), from, cnt) ||
            !grow((void **)&copy->marks, sizeof(*copy->marks), from, cnt) || !rp_progress_grow(&copy->seen, cnt) ||
            !rp_progress_grow(&copy->stored, cnt))
                return false;
        for (int32_t p = from; p < cnt; p++)
                copy->lanes[p].position = -1;
        copy->config.partition_cnt = cnt;
        return true;
}

bool rp_copy_is_held(const struct rp_copy *copy, int32_t partition)
{
        return copy->lanes[partition].is_held;
}

int64_t rp_copy_position(const struct rp_copy *copy, int32_t partition)
{
        return copy->lanes[partition].position;
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

static struct rp_copy_action ask(struct rp_copy *copy, rp_copy_do_t what)
{
        rp_copy_fate_t fate = copy->asked.fate;

        copy->asked = (struct rp_copy_action){ .what = what, .fate = fate };
        return copy->asked;
}

static struct rp_copy_action ask_because(struct rp_copy *copy, rp_copy_do_t what, int reason)
{
        copy->reason = reason;
        return ask(copy, what);
}

static struct rp_copy_action ask_wait(struct rp_copy *copy, rp_copy_do_t what, int64_t wait_ms)
{
        ask(copy, what);
        copy->asked.wait_ms = wait_ms < 0 ? 0 : wait_ms;
        return copy->asked;
}

/* Over. copy->error says why, unless the code is RP_OK. */
static struct rp_copy_action end(struct rp_copy *copy, rp_err_t code)
{
        copy->error.code = code;
        copy->stats.is_stopped = code == RP_OK && copy->is_stopping;
        return ask(copy, RP_COPY_END);
}

static struct rp_copy_action end_without_memory(struct rp_copy *copy)
{
        return end(copy, rp_fail(&copy->error, RP_ERR_FATAL, "out of memory for %" PRId32 " partitions",
                                 copy->config.partition_cnt));
}

static struct rp_copy_action next_pass(struct rp_copy *copy)
{
        bool has_work;
        rp_err_t rc = rp_pass_plan(copy, &has_work);

        copy->is_done = false;
        copy->is_stopping &= has_work; /* what is finished was not stopped */
        if (rc != RP_OK || !has_work || copy->is_stopping)
                return end(copy, rc);
        copy->is_dirty = copy->carries_all = true;
        copy->dirty_ms = copy->now_ms;
        if (!copy->recoveries_in_a_row)
                copy->stats.passes++;
        return ask(copy, RP_COPY_READ);
}

/* ---- transactions ----------------------------------------------------------------------------------------------- */

/* How much longer the open transaction may stay open. */
static int64_t left_ms(const struct rp_copy *copy)
{
        return rp_transaction_pace_ms(copy->commit_ms, copy->config.transaction_ms) - (copy->now_ms - copy->opened_ms);
}

static bool is_due(const struct rp_copy *copy)
{
        const struct rp_copy_config *config = &copy->config;

        if (!copy->is_open)
                return copy->is_dirty && copy->now_ms - copy->dirty_ms >= IDLE_STORE_MS;
        return left_ms(copy) <= 0 || (config->transaction_bytes && copy->opened_bytes >= config->transaction_bytes) ||
               (config->transaction_records && copy->opened_records >= config->transaction_records);
}

/* What became of the records in the transaction that was open. */
static void settle(struct rp_copy *copy, rp_copy_fate_t fate)
{
        if (fate == RP_COPY_COMMITTED) {
                copy->stats.records += copy->opened_records;
                copy->stats.bytes += copy->opened_bytes;
                copy->stats.transactions++;
        } else {
                copy->stats.rolled_back++;
        }
        copy->asked.fate = fate;
        copy->opened_records = copy->opened_bytes = copy->stats.uncommitted = 0;
        copy->is_open = copy->is_pending = false;
}

/* Positions that differ from what is stored; and what is stored if that is committed. */
static size_t collect_marks(struct rp_copy *copy)
{
        size_t cnt = 0;

        for (int32_t p = 0; p < copy->config.partition_cnt; p++) {
                struct rp_copy_lane *lane = &copy->lanes[p];
                int64_t stored = copy->stored.marks[p].next;

                lane->pending = stored;
                if (lane->position < 0 || (lane->position == stored && !(copy->carries_all && lane->note)))
                        continue;
                lane->pending = lane->position;
                copy->marks[cnt++] = (struct rp_mark){ .partition = p, .next = lane->position, .note = lane->note };
        }
        return cnt;
}

static struct rp_copy_action ask_begin(struct rp_copy *copy, int reason)
{
        copy->is_open = true; /* from now on nobody knows, until the answer is a good one */
        copy->opened_records = copy->opened_bytes = 0;
        return ask_because(copy, RP_COPY_BEGIN, reason);
}

static struct rp_copy_action ask_commit(struct rp_copy *copy)
{
        size_t cnt = collect_marks(copy);

        copy->is_pending = true;
        ask(copy, RP_COPY_COMMIT);
        copy->asked.marks = copy->marks;
        copy->asked.mark_cnt = cnt;
        return copy->asked;
}

static bool keep_marks(struct rp_copy *copy)
{
        for (size_t i = 0; i < copy->asked.mark_cnt; i++) {
                const struct rp_mark *mark = &copy->marks[i];
                struct rp_mark *stored = &copy->stored.marks[mark->partition];

                stored->next = mark->next;
                if (mark->note && (!stored->note || strcmp(stored->note, mark->note)) &&
                    !rp_progress_set(&copy->stored, mark->partition, mark->next, mark->note))
                        return false;
        }
        return true;
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

static bool holds_any(const struct rp_copy *copy)
{
        for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                if (copy->lanes[p].is_held)
                        return true;
        return false;
}

/* What comes next while all is well: nothing is uncertain, and the run taken last is dealt with. */
static struct rp_copy_action proceed(struct rp_copy *copy)
{
        bool must_store = copy->is_open || copy->is_dirty;
        int64_t wait_ms = TICK_MS;

        if (copy->rebalance == RP_COPY_LOST)
                return ask(copy, copy->is_open ? RP_COPY_ABORT : RP_COPY_RELEASE);
        if (must_store && (copy->is_done || copy->is_stopping || copy->rebalance == RP_COPY_REVOKED || is_due(copy))) {
                if (copy->is_open)
                        return ask_commit(copy);
                if (collect_marks(copy))
                        return ask_begin(copy, TO_COMMIT);
                copy->is_dirty = copy->carries_all = false;
        }
        if (copy->rebalance == RP_COPY_REVOKED)
                return ask(copy, RP_COPY_RELEASE);
        if (copy->is_done)
                return next_pass(copy);
        if (copy->is_stopping)
                return end(copy, RP_OK);
        if (copy->is_open && left_ms(copy) < wait_ms)
                wait_ms = left_ms(copy);
        if (copy->hold_ms <= 0)
                return ask_wait(copy, RP_COPY_TAKE, wait_ms);
        if (copy->is_open && copy->hold_ms >= left_ms(copy))
                return ask_commit(copy); /* rather than to keep it open while nothing is done */
        return ask_wait(copy, RP_COPY_HOLD, copy->hold_ms < wait_ms ? copy->hold_ms : wait_ms);
}

static void mark_dirty(struct rp_copy *copy)
{
        if (!copy->is_dirty)
                copy->dirty_ms = copy->now_ms;
        copy->is_dirty = true;
}

/* ---- when something went wrong ------------------------------------------------------------------------------------ */

/* What the pending commit would have stored. The note tells it from what another run stored that came to the same place. */
static bool is_pending_mark(const struct rp_copy *copy, int32_t p)
{
        const struct rp_copy_lane *lane = &copy->lanes[p];
        const struct rp_mark *seen = &copy->seen.marks[p];

        return copy->is_pending && seen->next == lane->pending &&
               (!lane->note || (seen->note && !strcmp(seen->note, lane->note)));
}

/* A mark beyond what we stored or may have stored: somebody else went on. NULL when there is none. */
static const struct rp_mark *find_foreign(const struct rp_copy *copy)
{
        for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                if (copy->lanes[p].is_held && copy->seen.marks[p].next > copy->stored.marks[p].next &&
                    !is_pending_mark(copy, p))
                        return &copy->seen.marks[p];
        return NULL;
}

/* Whether the commit whose outcome was not known has taken place. */
static bool has_taken_place(const struct rp_copy *copy)
{
        for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                if (copy->lanes[p].is_held && copy->lanes[p].pending != copy->stored.marks[p].next &&
                    !is_pending_mark(copy, p))
                        return false;
        return copy->is_pending;
}

static struct rp_copy_action end_fenced(struct rp_copy *copy, const struct rp_mark *foreign)
{
        struct rp_note *note = malloc(sizeof(*note));

        rp_lead_fail_fenced(&copy->error, note && foreign && rp_note_parse(note, foreign->note) ? note->by : NULL);
        free(note);
        return end(copy, RP_ERR_FENCED);
}

/* The end, for this reason. Of a fence the winner is named, if the stored progress knows it. */
static struct rp_copy_action give_up(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        if (answer->err && answer->err != &copy->error)
                copy->error = *answer->err;
        if (answer->code == RP_ERR_FENCED && copy->config.form == RP_COPY_PASSES)
                return ask_because(copy, RP_COPY_LOOK, TO_NAME_WINNER);
        return end(copy, answer->code);
}

/*
 * After an uncertain outcome. First a look that disturbs nobody: when the job went on without us, the other run must
 * win. (In a group nobody else has our producer's name: whoever is fenced there was so by a time-out.) Then the producer is
 * made anew, and what is stored after that can no longer change behind our back.
 */
static struct rp_copy_action recover(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        struct rp_error cause = { .text = "" };

        bool is_mendable = answer->code == RP_ERR_RETRY || answer->code == RP_ERR_ABORT_BATCH ||
                           answer->code == RP_ERR_FATAL;

        if (!is_mendable &&
            !(answer->code == RP_ERR_FENCED && copy->config.form == RP_COPY_GROUP && !copy->config.is_named))
                return give_up(copy, answer);
        if (answer->err)
                cause = *answer->err;
        copy->error = copy->stats.trouble = cause;
        if (++copy->recoveries_in_a_row > RECOVERIES_MAX)
                return end(copy, rp_fail(&copy->error, RP_ERR_FATAL, "gave up after %d new starts without a commit: %.400s",
                                         RECOVERIES_MAX, cause.text));
        copy->stats.recoveries++;
        copy->stats.uncertain += copy->is_pending;
        if (copy->config.form == RP_COPY_GROUP)
                return ask(copy, RP_COPY_RECOVER);
        return ask_because(copy, RP_COPY_LOOK, TO_RECOVER);
}

/* Progress never goes back, unless the cluster lost it. */
static rp_err_t check_progress_kept(struct rp_copy *copy)
{
        struct rp_error cause = copy->error;

        for (int32_t p = 0; copy->config.form == RP_COPY_PASSES && p < copy->config.partition_cnt; p++)
                if (copy->lanes[p].is_held && copy->seen.marks[p].next < copy->stored.marks[p].next)
                        return rp_fail(&copy->error, RP_ERR_FATAL,
                                       "the cluster lost the job's progress: partition %" PRId32 " of topic \"%s\" was at %"
                                       PRId64 ", now %" PRId64 " (after: %.200s)",
                                       rp_topics_partition(copy->config.topics, p),
                                       rp_topics_name(copy->config.topics, copy->config.topic, p),
                                       copy->stored.marks[p].next, copy->seen.marks[p].next, cause.text);
        return RP_OK;
}

static void believe_seen(struct rp_copy *copy)
{
        struct rp_progress old = copy->stored;

        copy->stored = copy->seen;
        copy->seen = old;
}

/* GROUP: to the stored positions, of all partitions that are held, or of those that join. */
static struct rp_copy_action rewind_to_stored(struct rp_copy *copy, bool joining_only)
{
        for (int32_t p = 0; p < copy->config.partition_cnt; p++) {
                struct rp_copy_lane *lane = &copy->lanes[p];
                int64_t next = copy->seen.marks[p].next;

                copy->ranges[p] = (struct rp_range){ 0 };
                if (!lane->is_held || (joining_only && !lane->joins))
                        continue;
                copy->stored.marks[p].next = lane->position = next;
                copy->ranges[p] = (struct rp_range){ .first = next, .end = INT64_MAX };
                lane->joins = false;
        }
        if (!joining_only)
                copy->is_dirty = false;
        return ask(copy, RP_COPY_READ);
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

static struct rp_copy_action on_looked(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        switch (copy->reason) {
        case TO_NAME_WINNER:
                return answer->code == RP_OK ? end_fenced(copy, find_foreign(copy)) : end(copy, RP_ERR_FENCED);
        case TO_RECOVER:
                if (answer->code == RP_OK && find_foreign(copy))
                        return end_fenced(copy, find_foreign(copy));
                return ask(copy, RP_COPY_RECOVER);
        default:
                if (answer->code != RP_OK)
                        return recover(copy, answer);
                return rewind_to_stored(copy, copy->reason == TO_JOIN);
        }
}

static struct rp_copy_action on_recovered(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        bool is_first = !copy->is_started;

        if (answer->code == RP_ERR_RETRY || answer->code == RP_ERR_ABORT_BATCH)
                return is_first ? give_up(copy, answer) : recover(copy, answer);
        if (answer->code != RP_OK)
                return give_up(copy, answer);
        if (check_progress_kept(copy) != RP_OK)
                return end(copy, copy->error.code);
        if (copy->is_open)
                settle(copy, has_taken_place(copy) ? RP_COPY_COMMITTED : RP_COPY_VOID);
        copy->is_started = true;
        if (copy->config.form == RP_COPY_GROUP) {
                copy->is_dirty = false;
                for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                        copy->lanes[p].position = -1; /* what is held is read again from what is stored, below */
                if (copy->rebalance != RP_COPY_KEEPS)
                        return ask(copy, RP_COPY_RELEASE);
                return holds_any(copy) ? rewind_to_stored(copy, false) : proceed(copy);
        }
        believe_seen(copy);
        for (int32_t p = 0; is_first && p < copy->config.partition_cnt; p++)
                copy->stats.is_resumed |= copy->lanes[p].is_held && copy->stored.marks[p].next >= 0;
        /* Only now: another run may have copied what came after an earlier look at the bounds. */
        return ask(copy, RP_COPY_BOUNDS);
}

/* GROUP: where the loop chose to begin is stored soon, so that another member or a new start makes the same choice. */
static struct rp_copy_action on_reading(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        if (answer->code != RP_OK)
                return give_up(copy, answer);
        for (int32_t p = 0; copy->config.form == RP_COPY_GROUP && p < copy->config.partition_cnt; p++) {
                struct rp_copy_lane *lane = &copy->lanes[p];

                if (!lane->is_held || lane->position >= 0 || copy->ranges[p].first < 0)
                        continue;
                lane->position = copy->ranges[p].first;
                mark_dirty(copy);
        }
        return proceed(copy);
}

static struct rp_copy_action on_rebalance(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        copy->recoveries_in_a_row = 0;
        for (size_t i = 0; i < answer->partition_cnt; i++) {
                struct rp_copy_lane *lane = &copy->lanes[answer->partitions[i]];

                if (answer->rebalance == RP_COPY_ASSIGNED) {
                        *lane = (struct rp_copy_lane){ .position = -1, .is_held = true, .joins = true };
                        copy->stored.marks[answer->partitions[i]].next = -1;
                } else {
                        lane->leaves = true;
                }
        }
        if (answer->rebalance == RP_COPY_ASSIGNED)
                return ask_because(copy, RP_COPY_LOOK, TO_JOIN);
        copy->rebalance = answer->rebalance;
        return proceed(copy);
}

static struct rp_copy_action on_taken(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        if (answer->code != RP_OK)
                return give_up(copy, answer);
        if (answer->cnt) {
                copy->run_partition = answer->partition;
                copy->run_next = answer->next;
                return ask(copy, RP_COPY_APPEND);
        }
        if (answer->rebalance != RP_COPY_KEEPS)
                return on_rebalance(copy, answer);
        if (answer->has_moved) {
                copy->lanes[answer->partition].position = answer->next;
                mark_dirty(copy);
        }
        if (answer->is_done) {
                copy->is_done = true;
                for (int32_t p = 0; p < copy->config.partition_cnt; p++) /* past control records at the ends, too */
                        if (copy->lanes[p].note && copy->lanes[p].position != copy->ranges[p].end) {
                                copy->lanes[p].position = copy->ranges[p].end;
                                mark_dirty(copy);
                        }
        }
        return proceed(copy);
}

static struct rp_copy_action on_appended(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        copy->opened_records += answer->records;
        copy->opened_bytes += answer->bytes;
        copy->stats.uncommitted = copy->opened_records;
        if (answer->code != RP_OK)
                return recover(copy, answer);
        if (answer->needs_transaction)
                return ask_begin(copy, TO_APPEND);
        copy->lanes[copy->run_partition].position = copy->run_next;
        mark_dirty(copy);
        return proceed(copy);
}

static struct rp_copy_action on_committed(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        int64_t took_ms = answer->now_ms - copy->now_ms;

        copy->now_ms = answer->now_ms;
        if (answer->code != RP_OK)
                return recover(copy, answer);
        if (!keep_marks(copy))
                return end_without_memory(copy);
        settle(copy, RP_COPY_COMMITTED);
        copy->is_dirty = copy->carries_all = false;
        copy->recoveries_in_a_row = 0;
        copy->commit_ms = (3 * copy->commit_ms + took_ms) / 4;
        return proceed(copy);
}

static struct rp_copy_action on_aborted(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        if (answer->code != RP_OK)
                return recover(copy, answer);
        settle(copy, RP_COPY_VOID);
        for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                copy->lanes[p].position = -1;
        return ask(copy, RP_COPY_RELEASE);
}

static struct rp_copy_action on_released(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        bool must_rewind = false;

        if (answer->code != RP_OK)
                return give_up(copy, answer);
        copy->rebalance = RP_COPY_KEEPS;
        for (int32_t p = 0; p < copy->config.partition_cnt; p++) {
                struct rp_copy_lane *lane = &copy->lanes[p];

                if (lane->leaves)
                        *lane = (struct rp_copy_lane){ .position = -1 };
                must_rewind |= lane->is_held && lane->position < 0;
        }
        return must_rewind ? ask_because(copy, RP_COPY_LOOK, TO_REWIND) : proceed(copy);
}

struct rp_copy_action rp_copy_begin(struct rp_copy *copy, int64_t now_ms)
{
        copy->now_ms = now_ms;
        return ask(copy, RP_COPY_RECOVER);
}

struct rp_copy_action rp_copy_answer(struct rp_copy *copy, const struct rp_copy_answer *answer)
{
        rp_copy_do_t what = copy->asked.what;

        copy->asked.fate = RP_COPY_PENDING; /* the loop has heard it with the action that it answers now */
        copy->is_stopping |= answer->wants_stop;
        if (answer->transaction_ms > 0)
                copy->config.transaction_ms = answer->transaction_ms;
        if (what == RP_COPY_COMMIT)
                return on_committed(copy, answer);
        copy->now_ms = answer->now_ms;
        if (what == RP_COPY_READ || what == RP_COPY_TAKE || what == RP_COPY_APPEND || what == RP_COPY_HOLD)
                copy->hold_ms = answer->hold_ms;
        switch (what) {
        case RP_COPY_TAKE:
                return on_taken(copy, answer);
        case RP_COPY_APPEND:
                return on_appended(copy, answer);
        case RP_COPY_BOUNDS:
                return answer->code == RP_OK ? next_pass(copy) : give_up(copy, answer);
        case RP_COPY_LOOK:
                return on_looked(copy, answer);
        case RP_COPY_RECOVER:
                return on_recovered(copy, answer);
        case RP_COPY_READ:
                return on_reading(copy, answer);
        case RP_COPY_BEGIN:
                copy->opened_ms = copy->now_ms;
                if (answer->code != RP_OK)
                        return recover(copy, answer);
                return copy->reason == TO_APPEND ? ask(copy, RP_COPY_APPEND) : ask_commit(copy);
        case RP_COPY_ABORT:
                return on_aborted(copy, answer);
        case RP_COPY_RELEASE:
                return on_released(copy, answer);
        default: /* HOLD */
                return answer->rebalance == RP_COPY_KEEPS ? proceed(copy) : on_rebalance(copy, answer);
        }
}
