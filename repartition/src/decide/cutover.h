/**
 * Where a consumer group goes on in the target of copying jobs so that it skips nothing. Pure.
 *
 * For each source partition the newest checkpoint, or waypoint of a follow, is taken whose position does not lie past the
 * group's: everything that the group has not read of that partition then lies at or past the checkpoint's ends. The group's
 * start in a target partition is the least of those ends. Without such a checkpoint it is the beginning of the target.
 */
#ifndef RP_CUTOVER_H
#define RP_CUTOVER_H

#include "decide/job_record.h"

/** All that is known of where copies lie. */
struct rp_cutover_facts {
        const struct rp_job_fold *fold;     /* of the job that came first: a rewrite */
        const struct rp_job_fold *followed; /* of the follow that has gone on from there; NULL: none */
        const int64_t *epochs;              /* of that one: by source partition, as stored beside its offset, 0: none */
        /** One more checkpoint: how far everything is copied at the moment, and where the target ends. NULL: not known. */
        const int64_t *positions, *ends;
        int32_t source_cnt, target_cnt;
};

/** One group: where it stands in the source, and where it shall go on in the target. */
struct rp_cutover_group {
        const int64_t *positions; /* by source partition: the next offset that the group would read; -1: nothing to read there,
                                     now or earlier, so that it does not matter */
        int64_t *starts;          /* by target partition; filled in. -1: the beginning of that partition */
        uint64_t used;            /* checkpoints that the starts come from */
        int32_t from_beginning;   /* source partitions for which there was no checkpoint early enough */
};

/** @returns false when out of memory. */
bool rp_cutover_starts(const struct rp_cutover_facts *facts, struct rp_cutover_group *groups, size_t group_cnt);

/**
 * The last valid state of all shards together: the newest anchor of each source partition, and how far the job had come in
 * it. Both have source_cnt elements; -1 where nothing is known. false when out of memory.
 */
struct rp_anchor;
bool rp_job_fold_anchors(const struct rp_job_fold *fold, int32_t source_cnt, int32_t target_cnt, struct rp_anchor *anchors,
                         int64_t *positions);

#endif
