/**
 * Which target offsets belong to which source positions. With each transaction a job writes one checkpoint: how far it
 * has come in its source, and where each target partition ended after its last record. A checkpoint says, for ever:
 *
 *         of what was copied from source partition p, everything that lies before ends[q] in target partition q
 *         comes from before positions[p].
 *
 * So a consumer that has read p up to an offset at or past positions[p], for every p, and goes on in the target at ends[q],
 * skips nothing. Later transactions only append, which is why an old checkpoint stays true.
 *
 * Most are deltas against the one before; every RP_CHECKPOINT_FULL_EVERYth and the first after each new producer is full.
 * A delta counts only when the one that it builds upon was read too (by its number): whatever is lost, compacted or
 * aborted, the next full one starts afresh. A job that begins anew (its progress was deleted) has a new epoch, and those of
 * another epoch do not count: they speak of another target. Full ones carry an anchor per source partition: a digest of one record that was
 * copied from it, by which a later run notices that the topic is another one, or has lost records.
 *
 * Pure. JSON of flat arrays, in which source partitions go by rp_topics_code(). For 1,000 source and 1,000 target
 * partitions: at most 75 KB for a full one, 20 KB for a delta in which everything moved; a common one of 12 and 30 partitions
 * takes about 300 bytes.
 */
#ifndef RP_CHECKPOINT_H
#define RP_CHECKPOINT_H

#include "decide/topics.h"
#include "mark.h"
#include "record.h"

enum { RP_CHECKPOINT_FULL_EVERY = 64 };

/** A record that was copied. offset -1: none is known. */
struct rp_anchor {
        int64_t offset;
        uint64_t digest; /* see rp_anchor_digest() */
};

/** Of key, value and timestamp. Headers are left out: a copying source does not list them. */
uint64_t rp_anchor_digest(const struct rp_record *rec);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/** What one producer has to say. The arrays are its own; all of them are of int64_t, -1 for what is not known. */
struct rp_checkpoint_log {
        int32_t source_cnt, target_cnt;
        int64_t *positions, *ends;           /* with what is open now */
        int64_t *told_positions, *told_ends; /* as of the last checkpoint */
        struct rp_anchor *anchors;           /* by source partition */
        const struct rp_topics *topics;      /* of the source, NULL: one. The caller's to set; borrowed */
        const bool *is_mine;                 /* by source partition, NULL: all. Where another producer's records come to lie
                                                is not known here. The caller's to set; borrowed */
        int64_t epoch;                       /* of the job, see struct rp_job_descriptor; the caller's to set */
        int64_t seq;                         /* of the next checkpoint */
        int since_full;                      /* deltas since; -1: the next one must be full */
};

/** @param first_seq  above every number that this job has used. false when out of memory. */
bool rp_checkpoint_log_init(struct rp_checkpoint_log *log, int32_t source_cnt, int32_t target_cnt, int64_t first_seq);
void rp_checkpoint_log_release(struct rp_checkpoint_log *log);

/**
 * After a new producer: nothing is open, and these are the positions stored and the ends of the target now.
 * @param ends  target_cnt of them; lower than true ones are safe
 */
void rp_checkpoint_log_restart(struct rp_checkpoint_log *log, const struct rp_progress *stored, const int64_t *ends);

/** True when the next checkpoint will be full, so that it wants anchors. */
bool rp_checkpoint_log_wants_anchors(const struct rp_checkpoint_log *log);

/** A record was written: at that offset of that target partition. Offsets may come in any order; negative ones are ignored. */
static inline void rp_checkpoint_log_wrote(struct rp_checkpoint_log *log, int32_t target_partition, int64_t offset)
{
        if (target_partition < log->target_cnt && offset >= log->ends[target_partition])
                log->ends[target_partition] = offset + 1;
}

/** @returns the text of the next checkpoint, after these marks; the caller's to free(). NULL when out of memory. */
char *rp_checkpoint_log_print(struct rp_checkpoint_log *log, const struct rp_mark *marks, size_t cnt);

/** The checkpoint printed last is in the topic, or on its way in the same transaction as everything else. */
void rp_checkpoint_log_told(struct rp_checkpoint_log *log);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/** Follows one producer's checkpoints in the order in which they were written. */
struct rp_checkpoint_state {
        int32_t source_cnt, target_cnt;
        int64_t *positions, *ends;  /* -1: not known: not this producer's, or nothing was written there */
        struct rp_anchor *anchors;
        const struct rp_topics *topics; /* of the source, NULL: one. The caller's to set; borrowed */
        int64_t epoch;              /* those of another one are left aside; the caller's to set */
        int64_t seq;                /* -1: no valid state */
};

bool rp_checkpoint_state_init(struct rp_checkpoint_state *state, int32_t source_cnt, int32_t target_cnt);
void rp_checkpoint_state_release(struct rp_checkpoint_state *state);

/**
 * Takes the next text. Partitions that the state has no room for make it invalid.
 * @returns true when the state is now that checkpoint; false when the text is none, or builds upon one that is missing.
 */
bool rp_checkpoint_state_apply(struct rp_checkpoint_state *state, const char *text);

/** @returns the number of a checkpoint's text, and whether it is full; -1 when it is none. */
int64_t rp_checkpoint_seq(const char *text, bool *is_full);

#endif
