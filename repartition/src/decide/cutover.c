#include "decide/cutover.h"

#include "decide/checkpoint.h"

#include <stdlib.h>

/* Goes through all checkpoints in the order of the topic, each shard's in a state of its own. */
struct replay {
        const struct rp_job_fold *fold;
        struct rp_checkpoint_state *states; /* by shard */
        size_t at;
};

static bool replay_init(struct replay *replay, const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt)
{
        int64_t epoch = rp_job_fold_epoch(fold);
        bool is_well = true;

        *replay = (struct replay){ .fold = fold, .states = calloc((size_t)fold->shard_cnt + 1, sizeof(*replay->states)) };
        for (int s = 0; replay->states && s < fold->shard_cnt; s++) {
                is_well &= rp_checkpoint_state_init(&replay->states[s], source_cnt, target_cnt);
                replay->states[s].epoch = epoch;
                replay->states[s].topics = fold->topics;
        }
        return replay->states && is_well;
}

static void replay_release(struct replay *replay)
{
        for (int s = 0; replay->states && s < replay->fold->shard_cnt; s++)
                rp_checkpoint_state_release(&replay->states[s]);
        free(replay->states);
}

/* @returns the state that the next valid checkpoint leads to; *index is its place. NULL at the end. */
static const struct rp_checkpoint_state *replay_next(struct replay *replay, size_t *index)
{
        while (replay->at < replay->fold->checkpoint_cnt) {
                const struct rp_job_checkpoint *checkpoint = &replay->fold->checkpoints[replay->at];

                *index = replay->at++;
                if (rp_checkpoint_state_apply(&replay->states[checkpoint->shard], checkpoint->text))
                        return &replay->states[checkpoint->shard];
        }
        return NULL;
}

/* First reading: chosen[g * source_cnt + p] is the newest checkpoint that is early enough for p, or SIZE_MAX. */
static bool choose(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt,
                   const struct rp_cutover_group *groups, size_t group_cnt, size_t *chosen)
{
        struct replay replay;
        const struct rp_checkpoint_state *state;
        size_t index;
        bool is_well = replay_init(&replay, fold, source_cnt, target_cnt);

        while (is_well && (state = replay_next(&replay, &index)))
                for (size_t g = 0; g < group_cnt; g++)
                        for (int32_t p = 0; p < source_cnt; p++)
                                if (state->positions[p] >= 0 && state->positions[p] <= groups[g].positions[p])
                                        chosen[g * (size_t)source_cnt + (size_t)p] = index;
        replay_release(&replay);
        return is_well;
}

/* Second reading: the least of the chosen checkpoints' ends. */
static bool take_ends(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt,
                      struct rp_cutover_group *groups, size_t group_cnt, const size_t *chosen)
{
        struct replay replay;
        const struct rp_checkpoint_state *state;
        size_t index;
        bool is_well = replay_init(&replay, fold, source_cnt, target_cnt);

        while (is_well && (state = replay_next(&replay, &index)))
                for (size_t g = 0; g < group_cnt; g++) {
                        bool is_chosen = false;

                        for (int32_t p = 0; p < source_cnt && !is_chosen; p++)
                                is_chosen = chosen[g * (size_t)source_cnt + (size_t)p] == index;
                        if (!is_chosen || groups[g].from_beginning)
                                continue;
                        for (int32_t q = 0; q < target_cnt; q++)
                                if (state->ends[q] < 0 || !groups[g].used || state->ends[q] < groups[g].starts[q])
                                        groups[g].starts[q] = groups[g].used && groups[g].starts[q] < 0 ? -1 : state->ends[q];
                        groups[g].used++;
                }
        replay_release(&replay);
        return is_well;
}

bool rp_cutover_starts(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt,
                       struct rp_cutover_group *groups, size_t group_cnt)
{
        size_t cnt = group_cnt * (size_t)source_cnt;
        size_t *chosen = malloc((cnt + 1) * sizeof(*chosen));
        bool is_well = chosen;

        for (size_t i = 0; is_well && i < cnt; i++)
                chosen[i] = SIZE_MAX;
        is_well = is_well && choose(fold, source_cnt, target_cnt, groups, group_cnt, chosen);
        for (size_t g = 0; is_well && g < group_cnt; g++) {
                groups[g].used = 0;
                groups[g].from_beginning = 0;
                for (int32_t p = 0; p < source_cnt; p++)
                        groups[g].from_beginning +=
                                groups[g].positions[p] >= 0 && chosen[g * (size_t)source_cnt + (size_t)p] == SIZE_MAX;
                for (int32_t q = 0; q < target_cnt; q++)
                        groups[g].starts[q] = -1;
        }
        is_well = is_well && take_ends(fold, source_cnt, target_cnt, groups, group_cnt, chosen);
        free(chosen);
        return is_well;
}

bool rp_job_fold_anchors(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt, struct rp_anchor *anchors,
                         int64_t *positions)
{
        struct replay replay;
        const struct rp_checkpoint_state *state;
        size_t index;
        bool is_well = replay_init(&replay, fold, source_cnt, target_cnt);

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
