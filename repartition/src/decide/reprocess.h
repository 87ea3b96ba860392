/**
 * From where on a topic with misplaced records must be read again, once it was repaired in place: in each partition from
 * before the first record that should not be there, and from before the time of the first record that should have been.
 * Pure.
 */
#ifndef RP_REPROCESS_H
#define RP_REPROCESS_H

#include "record.h"

#include <keyroute.h>

struct rp_reprocess {
        const kr_rule_t *rule; /* borrowed */
        int32_t partition_cnt;
        struct rp_reprocess_partition {
                int64_t first_misplaced; /* offset of the first record here that belongs elsewhere; -1: none */
                int64_t missed_ms;       /* earliest time of a record elsewhere that belongs here; -1: none has a time */
                uint64_t misplaced, missed, missed_timeless;
        } *partitions;
        uint64_t records, misplaced;
};

bool rp_reprocess_init(struct rp_reprocess *reprocess, const kr_rule_t *rule, int32_t partition_cnt);
void rp_reprocess_release(struct rp_reprocess *reprocess);

/** Takes a record in, in any order. Keys that the rule refuses and records without a key are in nobody's wrong place. */
void rp_reprocess_add(struct rp_reprocess *reprocess, const struct rp_record *rec);

/**
 * @param at_time  the offset of the partition's first record of missed_ms or later; -1: there is none that new
 * @param first    where the partition begins: what was missed without a time may be anywhere
 * @returns the offset from which on the partition must be read again; -1: it need not be
 */
int64_t rp_reprocess_from(const struct rp_reprocess_partition *partition, int64_t at_time, int64_t first);

#endif
