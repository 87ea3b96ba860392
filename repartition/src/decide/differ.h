/**
 * Names the differences between two lists of records of the same groups, as they were read on either side. Pure.
 *
 *   missing       in the source, not in the target
 *   duplicate     in the target more often than in the source
 *   corrupt       one of each that has no counterpart, in the same group: taken for the same record, changed
 *   unexpected    in the target, not in the source
 *   out-of-order  on both sides, but in the target before a record that it followed in the source
 *   mispartitioned is not found here but by looking at one record alone
 *
 * Late entries stand beyond the end that was fixed for their side. They differ from nothing, but what is missing and has
 * a counterpart among them is merely on its way.
 */
#ifndef RP_DIFFER_H
#define RP_DIFFER_H

#include "decide/digest.h"

typedef enum {
        RP_MISSING,
        RP_DUPLICATE,
        RP_CORRUPT,
        RP_OUT_OF_ORDER,
        RP_MISPARTITIONED,
        RP_UNEXPECTED,
        RP_DIFFERENCE_CNT,
        RP_IN_FLIGHT = RP_DIFFERENCE_CNT /* told like one, but it is none: one of the two is late */
} rp_difference_t;

/** @returns the word for it, such as "out-of-order"; not for RP_IN_FLIGHT. */
const char *rp_difference_word(rp_difference_t kind);

struct rp_entry {
        uint64_t group;
        struct rp_digest digest;
        uint64_t turn;     /* position in the stream of its side */
        int64_t offset;
        int32_t partition;
        bool is_keyed;     /* records without a key have no order */
        bool is_live;      /* has a value */
        bool is_late;
};

/** One difference; source or target is NULL where that side has none. */
typedef void rp_on_difference_t(void *arg, rp_difference_t kind, const struct rp_entry *source,
                                const struct rp_entry *target);

/**
 * Leaves of each keyed group the last entry that is not late, unless it is a tombstone, and all late ones. Sorts.
 * @returns how many are left
 */
size_t rp_entries_keep_latest(struct rp_entry *entries, size_t cnt);

/**
 * Both arrays are sorted by group and turn in the process. Late entries have later turns than all others of their side.
 * @param latest  the entries were left by rp_entries_keep_latest()
 * @returns false when out of memory.
 */
bool rp_differ(struct rp_entry *source, size_t source_cnt, struct rp_entry *target, size_t target_cnt, bool latest,
               rp_on_difference_t *on_difference, void *arg);

#endif
