#include "decide/cutover.h"

#include "decide/waypoint.h"

#include <stdlib.h>
#include <string.h>

/*
 * Goes through all that is known, in the order in which it was written: the checkpoints, each shard's in a state of its own,
 * then the waypoints of a follow, then how things are now.
 */
struct replay {
        const struct rp_cutover_facts *facts;
        struct rp_checkpoint_state *states; /* by shard; the last one is for the others */
        size_t at;
};

static bool replay_init(struct replay *replay, const struct rp_cutover_facts *facts)
{
        const struct rp_job_fold *fold = facts->fold;
        int64_t epoch = rp_job_fold_epoch(fold);
        bool is_well = true;

        *replay = (struct replay){ .facts = facts, .states = calloc((size_t)fold->shard_cnt + 1, sizeof(*replay->states)) };
        for (int s = 0; replay->states && s <= fold->shard_cnt; s++) {
                is_well &= rp_checkpoint_state_init(&replay->states[s], facts->source_cnt, facts->target_cnt);
                replay->states[s].epoch = epoch;
                replay->states[s].topics = fold->topics;
        }
        return replay->states && is_well;
}

static void replay_release(struct replay *replay)
{
        for (int s = 0; replay->states && s <= replay->facts->fold->shard_cnt; s++)
                rp_checkpoint_state_release(&replay->states[s]);
        free(replay->states);
}

/* @returns the state that the one at this place leads to; NULL when that one does not count. */
static const struct rp_checkpoint_state *replay_one(struct replay *replay, size_t at)
{
        const struct rp_cutover_facts *facts = replay->facts;
        const struct rp_job_fold *fold = facts->fold;
        struct rp_checkpoint_state *other = &replay->states[fold->shard_cnt];

        if (at < fold->checkpoint_cnt) {
                const struct rp_job_checkpoint *checkpoint = &fold->checkpoints[at];
                struct rp_checkpoint_state *state = &replay->states[checkpoint->shard];

                return rp_checkpoint_state_apply(state, checkpoint->text) ? state : NULL;
        }
        at -= fold->checkpoint_cnt;
        if (facts->followed && at < facts->followed->waypoint_cnt) {
                const char *text = facts->followed->waypoints[at].text;

                return text && rp_waypoint_apply(other, facts->epochs, text) ? other : NULL;
        }
        memcpy(other->positions, facts->positions, (size_t)facts->source_cnt * sizeof(*other->positions));
        memcpy(other->ends, facts->ends, (size_t)facts->target_cnt * sizeof(*other->ends));
        return other;
}

/* @returns the state that the next valid one leads to; *index is its place. NULL at the end. */
static const struct rp_checkpoint_state *replay_next(struct replay *replay, size_t *index)
{
        const struct rp_cutover_facts *facts = replay->facts;
        size_t cnt = facts->fold->checkpoint_cnt + (facts->followed ? facts->followed->waypoint_cnt : 0) +
                     (facts->positions != NULL);

        while (replay->at < cnt) {
                const struct rp_checkpoint_state *state = replay_one(replay, *index = replay->at++);

                if (state)
                        return state;
        }
        return NULL;
}

/* First reading: chosen[g * source_cnt + p] is the newest one that is early enough for p, or SIZE_MAX. */
static bool choose(const struct rp_cutover_facts *facts, const struct rp_cutover_group *groups, size_t group_cnt,
                   size_t *chosen)
{
        size_t source_cnt = (size_t)facts->source_cnt, index;
        struct replay replay;
        const struct rp_checkpoint_state *state;
        bool is_well = replay_init(&replay, facts);

        while (is_well && (state = replay_next(&replay, &index)))
                for (size_t g = 0; g < group_cnt; g++)
                        for (size_t p = 0; p < source_cnt; p++)
                                if (state->positions[p] >= 0 && state->positions[p] <= groups[g].positions[p])
                                        chosen[g * source_cnt + p] = index;
        replay_release(&replay);
        return is_well;
}

/* Second reading: the least of the chosen ones' ends. */
static bool take_ends(const struct rp_cutover_facts *facts, struct rp_cutover_group *groups, size_t group_cnt,
                      const size_t *chosen)
{
        size_t source_cnt = (size_t)facts->source_cnt, index;
        struct replay replay;
        const struct rp_checkpoint_state *state;
        bool is_well = replay_init(&replay, facts);

        while (is_well && (state = replay_next(&replay, &index)))
                for (size_t g = 0; g < group_cnt; g++) {
                        bool is_chosen = false;

                        for (size_t p = 0; p < source_cnt && !is_chosen; p++)
                                is_chosen = chosen[g * source_cnt + p] == index;
                        if (!is_chosen || groups[g].from_beginning)
                                continue;
                        for (int32_t q = 0; q < facts->target_cnt; q++)
                                if (state->ends[q] < 0 || !groups[g].used || state->ends[q] < groups[g].starts[q])
                                        groups[g].starts[q] = groups[g].used && groups[g].starts[q] < 0 ? -1 : state->ends[q];
                        groups[g].used++;
                }
        replay_release(&replay);
        return is_well;
}

bool rp_cutover_starts(const struct rp_cutover_facts *facts, struct rp_cutover_group *groups, size_t group_cnt)
{
        size_t source_cnt = (size_t)facts->source_cnt, cnt = group_cnt * source_cnt;
        size_t *chosen = malloc((cnt + 1) * sizeof(*chosen));
        bool is_well = chosen;

        for (size_t i = 0; is_well && i < cnt; i++)
                chosen[i] = SIZE_MAX;
        is_well = is_well && choose(facts, groups, group_cnt, chosen);
        for (size_t g = 0; is_well && g < group_cnt; g++) {
                groups[g].used = 0;
                groups[g].from_beginning = 0;
                for (size_t p = 0; p < source_cnt; p++)
                        groups[g].from_beginning += groups[g].positions[p] >= 0 && chosen[g * source_cnt + p] == SIZE_MAX;
                for (int32_t q = 0; q < facts->target_cnt; q++)
                        groups[g].starts[q] = -1;
        }
        is_well = is_well && take_ends(facts, groups, group_cnt, chosen);
        free(chosen);
        return is_well;
}

bool rp_job_fold_anchors(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt, struct rp_anchor *anchors,
                         int64_t *positions)
{
        const struct rp_cutover_facts facts = { .fold = fold, .source_cnt = source_cnt, .target_cnt = target_cnt };
        struct replay replay;
        const struct rp_checkpoint_state *state;
        size_t index;
        bool is_well = replay_init(&replay, &facts);

        for (int32_t p = 0; p < source_cnt; p++) {
                anchors[p] = (struct rp_anchor){ .offset = -1 };
                positions[p] = -1;
        }
        while (is_well && (state = replay_next(&replay, &index)))
                for (int32_t p = 0; p < source_cnt; p++) {
                        if (state->anchors[p].offset > anchors[p].offset)
                                anchors[p] = state->anchors[p];
                        if (state->positions[p] > positions[p])
                                positions[p] = state->positions[p];
                }
        replay_release(&replay);
        return is_well;
}
