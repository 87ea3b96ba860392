/**
 * Counts exactly which keys live in more than one partition, in bounded memory: what does not fit into the table is left
 * for another pass over the same records, a range of the keys' 64-bit hash at a time. Two keys with one hash would be
 * taken for one, which can only make a key look split that is not (with a billion keys, about once in 36 topics). Pure.
 *
 *         do {
 *                 for each record with a key: rp_split_add(...)
 *         } while (rp_split_next_pass(&split));
 */
#ifndef RP_SPLIT_H
#define RP_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_split_slot {
        uint64_t hash;     /* 0: empty */
        int32_t partition; /* the first one seen */
        uint32_t cnt;      /* records; its top bit: seen in another partition, too */
};

struct rp_split {
        uint64_t keys, split_keys; /* of all passes that are over; after the last one: of all */
        uint64_t split_records;    /* records with split keys; at most 2^31 - 1 counted of one key */
        unsigned passes;           /* that are over */

        struct rp_split_slot *slots;
        size_t slot_cnt, used, slot_max; /* powers of two, but for used */
        uint64_t floor, limit;     /* hashes in floor .. limit are looked at in this pass */
};

/** @param memory_bytes  upper bound of the table, also while it grows; at least some KiB are used. false: out of memory */
bool rp_split_init(struct rp_split *split, size_t memory_bytes);
void rp_split_release(struct rp_split *split);

/** @param key  may be NULL when key_len is 0. false when out of memory. */
bool rp_split_add(struct rp_split *split, const void *key, size_t key_len, int32_t partition);

/** Ends a pass. @returns true when all records must be given once more. */
bool rp_split_next_pass(struct rp_split *split);

#endif
