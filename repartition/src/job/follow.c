#include "job/follow.h"

#include "clock.h"
#include "crash.h"

#include <stdlib.h>
#include <string.h>

enum {
        SLICE_MS = 100,   /* of a wait, between two ticks */
        STATUS_MS = 200,  /* between two looks at positions */
        LEAVE_MS = 3000
};

struct loop {
        const struct rp_follow *job;
        struct rp_copy copy;
        struct rp_group_event event; /* taken last */
        size_t at;                   /* first record of it that is not yet dealt with */
        int32_t *verdicts;           /* of its records, once they are judged */
        size_t verdict_cap;
        bool is_judged;
        struct rp_mark *marks;       /* scratch */
        struct rp_follow_partition *partitions;
        int32_t partition_cap;
        struct rp_follow_status status;
        int64_t looked_ms;
        struct rp_error *err;
        struct rp_error stop; /* why tick() stopped us */
};

static rp_err_t reserve(struct loop *loop, int32_t partition_cnt)
{
        struct rp_mark *marks;
        struct rp_follow_partition *partitions;

        if (partition_cnt <= loop->partition_cap)
                return RP_OK;
        marks = realloc(loop->marks, (size_t)partition_cnt * sizeof(*marks));
        if (marks)
                loop->marks = marks;
        partitions = realloc(loop->partitions, (size_t)partition_cnt * sizeof(*partitions));
        if (partitions)
                loop->partitions = partitions;
        if (!marks || !partitions || !rp_copy_grow(&loop->copy, partition_cnt))
                return rp_fail(loop->err, RP_ERR_FATAL, "out of memory for %d partitions", (int)partition_cnt);
        loop->partition_cap = partition_cnt;
        return RP_OK;
}

/* ---- actions ------------------------------------------------------------------------------------------------------- */

static void take_rebalance(struct loop *loop, struct rp_copy_answer *answer)
{
        const struct rp_group_event *event = &loop->event;
        int32_t highest = 0;

        loop->status.rebalances++;
        if (event->what == RP_GROUP_ASSIGNED)
                loop->status.assigned += event->partition_cnt;
        else if (event->what == RP_GROUP_REVOKED)
                loop->status.revoked += event->partition_cnt;
        else
                loop->status.lost += event->partition_cnt;
        for (size_t i = 0; i < event->partition_cnt; i++)
                if (event->partitions[i] > highest)
                        highest = event->partitions[i];
        answer->code = reserve(loop, highest + 1);
        answer->rebalance = event->what == RP_GROUP_ASSIGNED ? RP_COPY_ASSIGNED
                            : event->what == RP_GROUP_REVOKED ? RP_COPY_REVOKED : RP_COPY_LOST;
        answer->partitions = event->partitions;
        answer->partition_cnt = event->partition_cnt;
        /* What was skipped of lost partitions will be read by whoever has them now. */
        if (event->what == RP_GROUP_LOST && !rp_copy_is_open(&loop->copy) && loop->job->settled)
                loop->job->settled(loop->job->arg, false);
}

static void take(struct loop *loop, const struct rp_copy_action *action, struct rp_copy_answer *answer)
{
        struct rp_group *group = loop->job->group;
        struct rp_group_event *event = &loop->event;

        answer->code = group->ops->poll(group, (int)action->wait_ms, event, loop->err);
        loop->at = 0;
        loop->is_judged = false;
        if (answer->code != RP_OK)
                return;
        if (event->what != RP_GROUP_RECORDS) {
                take_rebalance(loop, answer);
                return;
        }
        answer->cnt = event->cnt;
        answer->has_moved = !event->cnt && event->partition >= 0;
        answer->partition = event->partition;
        answer->next = event->next;
}

/* Nothing is read meanwhile, but a member that is not heard of would be taken for dead. */
static void hold(struct loop *loop, const struct rp_copy_action *action, struct rp_copy_answer *answer)
{
        struct rp_group *group = loop->job->group;
        int wait_ms = (int)(action->wait_ms < SLICE_MS ? action->wait_ms : SLICE_MS);

        answer->code = group->ops->serve(group, wait_ms, &loop->event, loop->err);
        if (answer->code == RP_OK && loop->event.what != RP_GROUP_RECORDS)
                take_rebalance(loop, answer);
}

static rp_err_t judge(struct loop *loop)
{
        size_t cnt = loop->event.cnt;

        if (cnt > loop->verdict_cap) {
                int32_t *grown = realloc(loop->verdicts, cnt * sizeof(*grown));

                if (!grown)
                        return rp_fail(loop->err, RP_ERR_FATAL, "out of memory");
                loop->verdicts = grown;
                loop->verdict_cap = cnt;
        }
        RP_CRASH_POINT("judge", "before");
        return loop->job->judge(loop->job->arg, loop->event.records, cnt, loop->verdicts, loop->err);
}

static void append(struct loop *loop, struct rp_copy_answer *answer)
{
        struct rp_sink *sink = loop->job->sink;
        bool is_open = rp_copy_is_open(&loop->copy);

        if (!loop->is_judged)
                answer->code = judge(loop);
        loop->is_judged = answer->code == RP_OK;
        for (; answer->code == RP_OK && loop->at < loop->event.cnt; loop->at++) {
                const struct rp_record *rec = &loop->event.records[loop->at];
                int32_t to = loop->verdicts[loop->at];

                if (to >= 0 && !is_open) {
                        answer->needs_transaction = true;
                        return;
                }
                if (to >= 0) {
                        answer->records++;
                        answer->bytes += rec->key_len + rec->value_len;
                        if (loop->job->dress)
                                rec = loop->job->dress(loop->job->arg, rec);
                        answer->code = rec ? sink->ops->append(sink, rec, to, loop->err)
                                           : rp_fail(loop->err, RP_ERR_FATAL, "out of memory");
                        RP_CRASH_POINT("append", "between");
                } else if (to == RP_REFUSE) {
                        answer->code = loop->err->code;
                }
        }
}

/* From what is stored, and where nothing is, from where the job says. */
static rp_err_t start(struct loop *loop)
{
        struct rp_group *group = loop->job->group;
        struct rp_copy *copy = &loop->copy;
        size_t cnt = 0, new_cnt = 0;
        rp_err_t rc = RP_OK;

        loop->is_judged = false;
        loop->event.cnt = 0;
        for (int32_t p = 0; p < copy->config.partition_cnt; p++)
                if (copy->ranges[p].end && copy->ranges[p].first < 0)
                        loop->marks[new_cnt++] = (struct rp_mark){ .partition = p, .next = -1 };
        if (new_cnt)
                rc = loop->job->begin_at(loop->job->arg, loop->marks, new_cnt, loop->err);
        for (size_t i = 0; rc == RP_OK && i < new_cnt; i++)
                copy->ranges[loop->marks[i].partition].first = loop->marks[i].next;
        for (int32_t p = 0; rc == RP_OK && p < copy->config.partition_cnt; p++) {
                if (!copy->ranges[p].end)
                        continue;
                loop->marks[cnt++] = (struct rp_mark){ .partition = p, .next = copy->ranges[p].first };
                if (!loop->job->started(loop->job->arg, p, copy->ranges[p].first,
                                        copy->seen.marks[p].next >= 0 ? copy->seen.marks[p].note : NULL))
                        rc = rp_fail(loop->err, RP_ERR_FATAL, "out of memory");
        }
        return rc == RP_OK ? group->ops->start(group, loop->marks, cnt, loop->err) : rc;
}

static rp_err_t begin(struct loop *loop)
{
        const struct rp_follow *job = loop->job;
        rp_err_t rc = job->sink->ops->begin(job->sink, loop->err);
        size_t cnt = 0;

        for (int32_t p = 0; rc == RP_OK && job->begun && p < loop->copy.config.partition_cnt; p++)
                if (rp_copy_is_held(&loop->copy, p) && rp_copy_position(&loop->copy, p) >= 0)
                        loop->marks[cnt++] = (struct rp_mark){ .partition = p, .next = rp_copy_position(&loop->copy, p) };
        return rc == RP_OK && job->begun ? job->begun(job->arg, loop->marks, cnt, loop->err) : rc;
}

static rp_err_t commit(struct loop *loop, const struct rp_copy_action *action)
{
        const struct rp_follow *job = loop->job;
        struct rp_sink *sink = job->sink;
        rp_err_t rc = job->committing ? job->committing(job->arg, action->mark_cnt, loop->err) : RP_OK;

        if (rc != RP_OK)
                return rc;
        for (size_t i = 0; i < action->mark_cnt; i++) {
                loop->marks[i] = action->marks[i];
                loop->marks[i].note = (char *)job->note(job->arg, action->marks[i].partition);
        }
        return sink->ops->commit(sink, loop->marks, action->mark_cnt, loop->err);
}

static void perform(void *self, const struct rp_copy_action *action, struct rp_copy_answer *answer)
{
        struct loop *loop = self;
        struct rp_group *group = loop->job->group;
        struct rp_sink *sink = loop->job->sink;

        switch (action->what) {
        case RP_COPY_LOOK:
                answer->code = sink->ops->stored(sink, &loop->copy.seen, loop->err);
                break;
        case RP_COPY_RECOVER:
                answer->code = sink->ops->recover(sink, &loop->copy.seen, loop->err);
                break;
        case RP_COPY_READ:
                answer->code = start(loop);
                break;
        case RP_COPY_TAKE:
                take(loop, action, answer);
                break;
        case RP_COPY_BEGIN:
                answer->code = begin(loop);
                break;
        case RP_COPY_APPEND:
                append(loop, answer);
                break;
        case RP_COPY_COMMIT:
                answer->code = commit(loop, action);
                break;
        case RP_COPY_ABORT:
                answer->code = sink->ops->abort(sink, loop->err);
                break;
        case RP_COPY_RELEASE:
                answer->code = group->ops->give(group, loop->err);
                break;
        case RP_COPY_HOLD:
                hold(loop, action, answer);
                break;
        default: /* asked for in passes only */
                answer->code = rp_fail(loop->err, RP_ERR_FATAL, "a group's loop cannot do this (%d)", (int)action->what);
        }
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

static void look_at_self(struct loop *loop)
{
        struct rp_group *group = loop->job->group;
        struct rp_follow_status *status = &loop->status;
        bool is_known = false;

        status->partition_cnt = 0;
        status->lag = 0;
        for (int32_t p = 0; p < loop->copy.config.partition_cnt; p++) {
                struct rp_follow_partition *one = &loop->partitions[status->partition_cnt];

                if (!rp_copy_is_held(&loop->copy, p))
                        continue;
                *one = (struct rp_follow_partition){ .partition = p, .next = rp_copy_position(&loop->copy, p),
                                                     .end = group->ops->end(group, p) };
                if (one->next >= 0 && one->end >= 0) {
                        is_known = true;
                        status->lag += one->end > one->next ? one->end - one->next : 0;
                }
                status->partition_cnt++;
        }
        if (!is_known)
                status->lag = -1;
        status->partitions = loop->partitions;
}

static void look_around(void *self, struct rp_copy_answer *answer)
{
        struct loop *loop = self;
        const struct rp_follow *job = loop->job;

        if (job->hold)
                answer->hold_ms = job->hold(job->hold_arg, answer->bytes, answer->records);
        if (job->transaction_ms_now)
                answer->transaction_ms = *job->transaction_ms_now;
        if (answer->now_ms - loop->looked_ms >= STATUS_MS) {
                look_at_self(loop);
                loop->looked_ms = answer->now_ms;
        }
        if (loop->stop.code == RP_OK)
                answer->wants_stop = !job->tick(job->arg, &loop->status, &loop->stop);
}

rp_err_t rp_follow_run(const struct rp_follow *follow, struct rp_copy_stats *stats, struct rp_error *err)
{
        struct loop loop = { .job = follow, .err = err, .stop = { .code = RP_OK } };
        struct rp_copy_config config = {
                .form = RP_COPY_GROUP, .partition_cnt = follow->group->partition_cnt, .topic = follow->group->topic,
                .transaction_ms = follow->transaction_ms, .transaction_bytes = follow->transaction_bytes,
                .transaction_records = follow->transaction_records, .is_named = follow->is_named,
        };
        const struct rp_copy_loop hands = { .copy = &loop.copy, .perform = perform, .look_around = look_around, .self = &loop,
                                            .settled = follow->settled, .arg = follow->arg };
        struct rp_error ignored;
        rp_err_t rc;

        loop.status = (struct rp_follow_status){ .copy = &loop.copy.stats, .lag = -1 };
        if (!rp_copy_init(&loop.copy, &config))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory for %d partitions", (int)config.partition_cnt);
        else
                rc = reserve(&loop, config.partition_cnt);
        if (rc == RP_OK)
                rc = rp_copy_loop_run(&hands, err);
        if (rc == RP_OK && loop.stop.code != RP_OK) {
                *err = loop.stop;
                rc = err->code;
        }
        if (rp_copy_is_open(&loop.copy))
                follow->sink->ops->abort(follow->sink, &ignored); /* committed readers of the target need not wait for it */
        RP_CRASH_POINT("leave", "before");
        follow->group->ops->leave(follow->group, LEAVE_MS);
        RP_CRASH_POINT("leave", "after");
        if (rc == RP_OK) {
                look_at_self(&loop);
                follow->tick(follow->arg, &loop.status, &ignored);
        }
        *stats = loop.copy.stats;
        rp_copy_release(&loop.copy);
        free(loop.verdicts);
        free(loop.marks);
        free(loop.partitions);
        return rc;
}
