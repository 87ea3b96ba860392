/**
 * Whether a job that is taken up again has the same topics before it as when it stopped. Four signs: ids of topics and
 * clusters (where they are known), stored positions beyond the end of the log (decide/copy.h), positions that are gone while
 * others are there, and anchors: single records that were copied, which must still be what they were, or be gone by retention
 * or compaction.
 */
#ifndef RP_CONTINUITY_H
#define RP_CONTINUITY_H

#include "decide/job_record.h"
#include "io/source.h"

/**
 * @param now     the job as it would go on; stored ones are in the fold
 * @param source  read at single offsets; the caller starts it anew for its own purposes
 * @param bounds  of the source, now
 * @param progress  of the source, as stored now
 * @returns RP_OK; RP_ERR_USAGE when the ids say that a topic is another one; RP_ERR_INCOMPLETE when a copied record is
 *          another one now, or a position is gone.
 */
rp_err_t rp_continuity_check(const struct rp_job_fold *fold, const struct rp_job_descriptor *now, struct rp_source *source,
                             const struct rp_range *bounds, const struct rp_progress *progress, int32_t target_cnt,
                             struct rp_error *err);

#endif
