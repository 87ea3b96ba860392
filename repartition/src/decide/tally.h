/**
 * What one partition holds, as sums that add up: over partitions, threads and machines. Two topics of which every
 * partition is tallied can be compared without any table of keys: content is a multiset; and as long as every key lives
 * in one partition a side, the order of all keys is a multiset too, of (key, chain of its records). Pure.
 */
#ifndef RP_TALLY_H
#define RP_TALLY_H

#include "decide/digest.h"
#include "mark.h"

struct rp_tally {
        struct rp_range range; /* offsets that were, or shall be, read */
        bool is_wanted;        /* shall be read */
        bool is_done;
        uint64_t records, keyless, bytes;
        uint64_t keys;           /* distinct ones of this partition */
        uint64_t mispartitioned; /* target only: keyed records that belong elsewhere */
        struct rp_digest content;
        struct rp_digest order;  /* sum over its keys, see rp_order_sum() */
};

/** Adds the figures of one to another, the range left aside. */
void rp_tally_add(struct rp_tally *sum, const struct rp_tally *tally);

typedef enum {
        RP_TALLY_EQUAL,     /* proven: same records, each key's in the same order, every one in its place    */
        RP_TALLY_DIFFERENT, /* proven to differ                                                              */
        RP_TALLY_UNDECIDED  /* same records, but the order of keys that live in several partitions is not known */
} rp_tally_verdict_t;

/**
 * @param source, target  sums over all partitions of either side
 * @param split           places that keys have beyond their first one, where that is known (content is equal and nothing
 *                        is mispartitioned); else 0
 */
rp_tally_verdict_t rp_tally_judge(const struct rp_tally *source, const struct rp_tally *target, uint64_t *split);

#endif
