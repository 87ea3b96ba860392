/**
 * Where a consumer group goes on in the target of a copying job so that it skips nothing. Pure.
 *
 * For each source partition the newest checkpoint is taken whose position does not lie past the group's: everything that
 * the group has not read of that partition then lies at or past the checkpoint's ends. The group's start in a target
 * partition is the least of those ends. Without such a checkpoint it is the beginning of the target.
 */
#ifndef RP_CUTOVER_H
#define RP_CUTOVER_H

#include "decide/job_record.h"

/** One group: where it stands in the source, and where it shall go on in the target. */
struct rp_cutover_group {
        const int64_t *positions; /* by source partition: the next offset that the group would read; -1: nothing to read there,
                                     now or earlier, so that it does not matter */
        int64_t *starts;          /* by target partition; filled in. -1: the beginning of that partition */
        uint64_t used;            /* checkpoints that the starts come from */
        int32_t from_beginning;   /* source partitions for which there was no checkpoint early enough */
};

/** @returns false when out of memory. */
bool rp_cutover_starts(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt,
                       struct rp_cutover_group *groups, size_t group_cnt);

/**
 * The last valid state of all shards together: the newest anchor of each source partition, and how far the job had come in
 * it. Both have source_cnt elements; -1 where nothing is known. false when out of memory.
 */
struct rp_anchor;
bool rp_job_fold_anchors(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt, struct rp_anchor *anchors,
                         int64_t *positions);

#endif
