/* What a comparison knows, in a file. Everything that a state holds was learnt within ranges that stand in it as well. */
#include "job/verification.h"

#include "clock.h"
#include "io/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { NAME_SIZE = 4800, COST_FACTOR = 20 }; /* writing takes at most one part in so many of the time */

/* What must be the same for a state to be of any use. Two builds lay their structs out alike only by chance. */
static void print_name(const struct rp_verification *v, char *out)
{
        const struct rp_verify *job = v->job;
        int32_t cnt = v->sides[0].source->partition_cnt, other = v->sides[1].source->partition_cnt;
        uint64_t chosen = job->chosen ? XXH3_64bits(job->chosen, (size_t)(cnt > other ? cnt : other) * sizeof(bool)) : 0;

        snprintf(out, NAME_SIZE, "%s (%" PRId32 ") and %s (%" PRId32 "), policy %s, mode %d%s, sample %" PRIu64 ", part %" PRIx64
                 ", by %s %zu/%zu/%zu%s%s", v->sides[0].source->topic, cnt, v->sides[1].source->topic, other,
                 kr_rule_fingerprint(job->rule), (int)job->mode, v->is_tallied ? " by partition" : "", job->sample_keys, chosen,
                 kr_version(), sizeof(struct rp_verify_report), sizeof(struct rp_part), sizeof(struct rp_tally),
                 job->state_name ? ", job " : "", job->state_name ? job->state_name : "");
}

bool rp_verify_is_due(const struct rp_verification *v)
{
        int64_t wait = v->job->state_interval_ms;

        if (!v->job->state_file)
                return false;
        if (v->report->is_stopped)
                return true;
        wait = wait > COST_FACTOR * v->keeping_ms ? wait : COST_FACTOR * v->keeping_ms;
        return rp_clock_ms() - v->kept_ms >= wait;
}

/* ---- one way for both directions ------------------------------------------------------------------------------------ */

struct stream {
        struct rp_state_file *file;
        bool is_written, is_whole;
};

static void pass(struct stream *stream, void *data, size_t len)
{
        if (stream->is_written)
                rp_state_put(stream->file, data, len);
        else
                stream->is_whole = stream->is_whole && rp_state_get(stream->file, data, len);
}

/* Pointers in a report are only good in the process that made it. */
static void pass_report(struct stream *stream, struct rp_verify_report *report)
{
        struct rp_verify_report copy = *report;

        for (size_t i = 0; i < RP_EXAMPLE_MAX; i++)
                copy.examples[i].key = NULL;
        copy.is_stopped = false;
        pass(stream, &copy, sizeof(copy));
        if (stream->is_written || !stream->is_whole)
                return;
        memcpy(copy.tallies, report->tallies, sizeof(copy.tallies));
        memcpy(copy.ranges, report->ranges, sizeof(copy.ranges));
        copy.is_resumed = true;
        *report = copy;
}

static void pass_ranges(struct stream *stream, struct rp_verify_reading *side)
{
        uint64_t cnt = side->pass_cnt;

        pass(stream, &cnt, sizeof(cnt));
        if (!stream->is_written && stream->is_whole)
                stream->is_whole = cnt < 1 << 20 && rp_verify_make_passes(side, cnt);
        for (size_t i = 0; i < cnt && stream->is_whole; i++)
                pass(stream, side->passes[i], (size_t)side->source->partition_cnt * sizeof(**side->passes));
}

static void pass_positions(struct stream *stream, struct rp_verification *v)
{
        pass(stream, &v->position_cnt, sizeof(v->position_cnt));
        if (!stream->is_written && stream->is_whole && v->position_cnt) {
                stream->is_whole = v->side < 2 && v->position_cnt == v->sides[v->side].source->partition_cnt;
                if (stream->is_whole)
                        v->positions = calloc((size_t)v->position_cnt, sizeof(*v->positions));
                stream->is_whole = stream->is_whole && v->positions;
        }
        if (v->position_cnt && stream->is_whole)
                pass(stream, v->positions, (size_t)v->position_cnt * sizeof(*v->positions));
}

static void pass_order(struct stream *stream, struct rp_order *order)
{
        uint64_t cnt = order->key_cnt, cursor = 0, after = order->after, limit = order->limit;
        struct rp_order_slot slot;
        const struct rp_order_slot *next;

        pass(stream, &after, sizeof(after));
        pass(stream, &limit, sizeof(limit));
        pass(stream, &cnt, sizeof(cnt));
        if (stream->is_written) {
                while ((next = rp_order_next(order, &cursor))) {
                        slot = *next;
                        pass(stream, &slot, sizeof(slot));
                }
                return;
        }
        rp_order_restart(order, after);
        order->limit = limit;
        for (uint64_t i = 0; i < cnt && stream->is_whole; i++) {
                pass(stream, &slot, sizeof(slot));
                stream->is_whole = stream->is_whole && rp_order_put(order, &slot);
        }
}

static void pass_all(struct stream *stream, struct rp_verification *v)
{
        int32_t step = (int32_t)v->step, side = v->side;
        uint64_t numbers[] = { v->pass, v->done, v->total, v->records };

        pass_ranges(stream, &v->sides[0]);
        pass_ranges(stream, &v->sides[1]);
        pass_report(stream, v->report);
        pass(stream, &step, sizeof(step));
        pass(stream, &side, sizeof(side));
        pass(stream, numbers, sizeof(numbers));
        if (!stream->is_written && stream->is_whole) {
                v->step = (rp_verify_step_t)step;
                v->side = side;
                v->pass = (size_t)numbers[0];
                v->done = numbers[1];
                v->total = numbers[2];
                v->records = numbers[3];
        }
        for (int s = 0; s < 2 && v->step == RP_STEP_TALLY && v->report->tallies[s]; s++)
                pass(stream, v->report->tallies[s], (size_t)v->report->partition_cnts[s] * sizeof(struct rp_tally));
        if (v->step == RP_STEP_TALLY)
                return;
        pass(stream, v->parts, RP_PART_CNT * sizeof(*v->parts));
        pass_positions(stream, v);
        pass_order(stream, &v->order);
}

/* ---- the two directions --------------------------------------------------------------------------------------------- */

rp_err_t rp_verify_keep(struct rp_verification *v, struct rp_error *err)
{
        char name[NAME_SIZE] = "";
        int64_t began = rp_clock_ms();
        struct stream stream = { .is_written = true, .is_whole = true };
        rp_err_t rc;

        if (!v->job->state_file)
                return RP_OK;
        stream.file = rp_state_create(v->job->state_file, err);
        if (!stream.file)
                return err->code;
        print_name(v, name);
        pass(&stream, name, sizeof(name));
        pass_all(&stream, v);
        rc = rp_state_commit(stream.file, err);
        v->kept_ms = rp_clock_ms();
        v->keeping_ms = v->kept_ms - began;
        return rc;
}

/* A log that is shorter than what was read of it is not the same one. */
static rp_err_t check_ends(const struct rp_verification *v, int s, const struct rp_range *bounds, struct rp_error *err)
{
        const struct rp_verify_reading *side = &v->sides[s];

        for (size_t i = 0; i < side->pass_cnt; i++)
                for (int32_t p = 0; p < side->source->partition_cnt; p++)
                        if (side->passes[i][p].end > side->passes[i][p].first && side->passes[i][p].end > bounds[p].end)
                                return rp_fail(err, RP_ERR_USAGE, "state file \"%.200s\" has read partition %" PRId32
                                               " of topic \"%s\" up to offset %" PRId64 ", but it ends at %" PRId64
                                               ": remove the file to begin anew", v->job->state_file,
                                               rp_source_partition(side->source, p), rp_source_topic(side->source, p),
                                               side->passes[i][p].end, bounds[p].end);
        return RP_OK;
}

rp_err_t rp_verify_resume(struct rp_verification *v, struct rp_error *err)
{
        char name[NAME_SIZE] = "", wanted[NAME_SIZE] = "";
        struct stream stream = { .is_whole = true };
        rp_err_t rc;

        if (!v->job->state_file)
                return RP_OK;
        rc = rp_state_open(v->job->state_file, &stream.file, err);
        if (rc != RP_OK || !stream.file)
                return rc;
        print_name(v, wanted);
        pass(&stream, name, sizeof(name));
        if (stream.is_whole && memcmp(name, wanted, sizeof(name)) != 0) {
                name[NAME_SIZE - 1] = '\0';
                rc = rp_fail(err, RP_ERR_USAGE, "state file \"%.100s\" is of another comparison (%.330s): name another "
                             "--state, or remove it", v->job->state_file, name);
        } else {
                pass_all(&stream, v);
                if (!stream.is_whole)
                        rc = rp_fail(err, RP_ERR_USAGE, "state file \"%.200s\" is incomplete: remove it to begin anew",
                                     v->job->state_file);
        }
        rp_state_close(stream.file);
        if (rc == RP_OK)
                rc = check_ends(v, 0, v->job->source_bounds, err);
        return rc == RP_OK ? check_ends(v, 1, v->job->target_bounds, err) : rc;
}

void rp_verify_forget(const struct rp_verification *v)
{
        if (v->job->state_file)
                unlink(v->job->state_file);
}
