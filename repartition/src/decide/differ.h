/**
 * Names the differences between two lists of records of the same groups, as they were read on either side. Pure.
 *
 *   missing       in the source, not in the target
 *   duplicate     in the target more often than in the source
 *   corrupt       one of each that has no counterpart, in the same group: taken for the same record, changed
 *   unexpected    in the target, not in the source
 *   out-of-order  on both sides, but in the target before a record that it followed in the source
 *   mispartitioned is not found here but by looking at one record alone
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
        RP_DIFFERENCE_CNT
} rp_difference_t;

/** @returns the word for it, such as "out-of-order". */
const char *rp_difference_word(rp_difference_t kind);

struct rp_entry {
        uint64_t group;
        struct rp_digest digest;
        uint64_t turn;     /* position in the stream of its side */
        int64_t offset;
        int32_t partition;
        bool is_keyed;     /* records without a key have no order */
};

/** One difference; source or target is NULL where that side has none. */
typedef void rp_on_difference_t(void *arg, rp_difference_t kind, const struct rp_entry *source,
                                const struct rp_entry *target);

/**
 * Both arrays are sorted by group and turn in the process.
 * @returns false when out of memory.
 */
bool rp_differ(struct rp_entry *source, size_t source_cnt, struct rp_entry *target, size_t target_cnt,
               rp_on_difference_t *on_difference, void *arg);

#endif
