#include "job/copier.h"

#include "clock.h"
#include "crash.h"

enum { SLICE_MS = 100 /* of a wait, between two ticks */ };

struct loop {
        const struct rp_copier *job;
        struct rp_copy copy;
        struct rp_reader *reader;
        struct rp_run run;       /* taken last */
        size_t at;               /* first record of it that is not yet dealt with */
        bool is_decided;         /* about that one; `to` says what */
        int32_t to;
        struct rp_error *err;
};

static void take(struct loop *loop, const struct rp_copy_action *action, struct rp_copy_answer *answer)
{
        answer->code = rp_reader_next(loop->reader, (int)action->wait_ms, &loop->run, loop->err);
        loop->at = 0;
        if (answer->code != RP_OK)
                return;
        answer->cnt = loop->run.cnt;
        answer->is_done = loop->run.done;
        if (answer->cnt) {
                answer->partition = loop->run.records->partition;
                answer->next = rp_reader_position(loop->reader, answer->partition);
        }
}

static void append(struct loop *loop, struct rp_copy_answer *answer)
{
        const struct rp_copier *job = loop->job;
        bool is_open = rp_copy_is_open(&loop->copy);

        for (; answer->code == RP_OK && loop->at < loop->run.cnt; loop->at++) {
                const struct rp_record *rec = &loop->run.records[loop->at];

                if (!loop->is_decided)
                        loop->to = job->decide(job->arg, rec, loop->err);
                loop->is_decided = false;
                if (loop->to >= 0 && is_open) {
                        answer->records++;
                        answer->bytes += rec->key_len + rec->value_len;
                        answer->code = job->sink->ops->append(job->sink, rec, loop->to, loop->err);
                        RP_CRASH_POINT("append", "between");
                } else if (loop->to >= 0) {
                        loop->is_decided = answer->needs_transaction = true;
                        return;
                } else if (loop->to == RP_REFUSE) {
                        answer->code = loop->err->code;
                }
        }
}

static void perform(void *self, const struct rp_copy_action *action, struct rp_copy_answer *answer)
{
        struct loop *loop = self;
        const struct rp_copier *job = loop->job;
        struct rp_source *source = job->source;
        struct rp_sink *sink = job->sink;
        struct rp_copy *copy = &loop->copy;

        switch (action->what) {
        case RP_COPY_BOUNDS:
                answer->code = source->ops->bounds(source, copy->bounds, loop->err);
                break;
        case RP_COPY_LOOK:
                answer->code = sink->ops->stored(sink, &copy->seen, loop->err);
                break;
        case RP_COPY_RECOVER:
                answer->code = sink->ops->recover(sink, &copy->seen, loop->err);
                if (answer->code == RP_OK && job->confirm)
                        answer->code = job->confirm(job->confirm_arg, loop->err);
                break;
        case RP_COPY_READ:
                loop->is_decided = false;
                answer->code = rp_reader_start(loop->reader, copy->ranges, loop->err);
                break;
        case RP_COPY_TAKE:
                take(loop, action, answer);
                break;
        case RP_COPY_BEGIN:
                answer->code = sink->ops->begin(sink, loop->err);
                break;
        case RP_COPY_APPEND:
                append(loop, answer);
                break;
        case RP_COPY_COMMIT:
                answer->code = sink->ops->commit(sink, action->marks, action->mark_cnt, loop->err);
                break;
        case RP_COPY_HOLD:
                rp_clock_sleep_ms(action->wait_ms < SLICE_MS ? action->wait_ms : SLICE_MS);
                break;
        default: /* asked for in groups only, whose loop this is not */
                answer->code = rp_fail(loop->err, RP_ERR_FATAL, "the job cannot do this (%d)", (int)action->what);
        }
}

/* Before the first run and between two: whoever governs the pace, and whoever may want to stop, is asked. */
static void look_around(void *self, struct rp_copy_answer *answer)
{
        struct loop *loop = self;
        const struct rp_copier *job = loop->job;
        int64_t done, total;

        if (job->hold)
                answer->hold_ms = job->hold(job->hold_arg, answer->bytes, answer->records);
        if (job->transaction_ms)
                answer->transaction_ms = *job->transaction_ms;
        if (!job->tick)
                return;
        rp_reader_progress(loop->reader, &done, &total);
        answer->wants_stop = !job->tick(job->arg, &loop->copy.stats, (uint64_t)done, (uint64_t)total);
}

rp_err_t rp_copier_run(const struct rp_copier *copier, struct rp_copy_stats *stats, struct rp_error *err)
{
        struct loop loop = { .job = copier, .err = err };
        const struct rp_copy_loop hands = { .copy = &loop.copy, .perform = perform, .look_around = look_around, .self = &loop,
                                            .settled = copier->settled, .arg = copier->arg };
        struct rp_copy_config config = copier->config;
        rp_err_t rc;

        config.form = RP_COPY_PASSES;
        config.partition_cnt = copier->source->partition_cnt;
        config.topic = copier->source->topic;
        config.topics = copier->source->topics;
        loop.reader = rp_reader_new(copier->source, copier->order);
        if (!loop.reader || !rp_copy_init(&loop.copy, &config))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory for %d partitions", (int)config.partition_cnt);
        else
                rc = rp_copy_loop_run(&hands, err);
        *stats = loop.copy.stats;
        rp_copy_release(&loop.copy);
        rp_reader_free(loop.reader);
        return rc;
}
