#include "job/copy_loop.h"

#include "clock.h"
#include "crash.h"

#ifdef RP_CRASH_POINTS
static const char *const names[] = {
        [RP_COPY_LOOK] = "look",     [RP_COPY_RECOVER] = "recover", [RP_COPY_BOUNDS] = "bounds",   [RP_COPY_READ] = "read",
        [RP_COPY_TAKE] = "take",     [RP_COPY_BEGIN] = "begin",     [RP_COPY_APPEND] = "append",   [RP_COPY_COMMIT] = "commit",
        [RP_COPY_ABORT] = "abort",   [RP_COPY_RELEASE] = "release", [RP_COPY_HOLD] = "hold",
};
#endif

static bool is_between(const struct rp_copy *copy, const struct rp_copy_action *action, const struct rp_copy_answer *answer)
{
        if (answer->code != RP_OK || answer->needs_transaction)
                return false;
        switch (action->what) {
        case RP_COPY_APPEND:
        case RP_COPY_HOLD:
                return true;
        case RP_COPY_TAKE:
                return !answer->cnt;
        case RP_COPY_READ: /* in a group it is a part of a rebalance, which is not held up */
                return copy->config.form == RP_COPY_PASSES;
        default:
                return false;
        }
}

rp_err_t rp_copy_loop_run(const struct rp_copy_loop *loop, struct rp_error *err)
{
        struct rp_copy *copy = loop->copy;
        int64_t now_ms = rp_clock_ms();
        struct rp_copy_action action = rp_copy_begin(copy, now_ms);

        for (;;) {
                struct rp_copy_answer answer = { .code = RP_OK, .err = err };

                if (action.fate != RP_COPY_PENDING && loop->settled)
                        loop->settled(loop->arg, action.fate == RP_COPY_COMMITTED);
                if (action.what == RP_COPY_END)
                        break;
                RP_CRASH_POINT(names[action.what], "before");
                loop->perform(loop->self, &action, &answer);
                RP_CRASH_POINT(names[action.what], "after");
                /* While records flow, one look at the clock a run is enough. */
                if (action.what != RP_COPY_TAKE || !answer.cnt)
                        now_ms = rp_clock_ms();
                answer.now_ms = now_ms;
                if (is_between(copy, &action, &answer))
                        loop->look_around(loop->self, &answer);
                action = rp_copy_answer(copy, &answer);
        }
        if (copy->error.code != RP_OK)
                *err = copy->error;
        return copy->error.code;
}
