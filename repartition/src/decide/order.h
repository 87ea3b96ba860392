/**
 * What is known of each key on two sides, as one number a side, in memory that is bounded. Pure.
 *
 *   RP_ORDER_CHAIN   a chain h = H(h, digest) over the key's records: two sides hold a key in the same order exactly if
 *                    their chains are equal
 *   RP_ORDER_LATEST  the digest of the key's last record alone; a key whose last record is a tombstone is as one that is
 *                    not there, which is what a compacted topic promises
 *
 * 24 bytes a key, of which 64 % to 80 % of the table are in use: at most 38 MB a million keys. When the memory is used
 * up, only the keys whose hash is below a limit are kept, and the limit falls as far as it must. The caller then reads
 * once more, after that limit, until the last key has had its turn; or is content with a fair sample of the keys.
 */
#ifndef RP_ORDER_H
#define RP_ORDER_H

#include "decide/digest.h"

enum {
        RP_ORDER_SHARDS = 64,
        RP_ORDER_MEMORY_MIN = 512 << 10,           /* less is taken for this */
        RP_ORDER_BYTES_PER_MILLION_KEYS = 38000000 /* at most, once there are many keys */
};

typedef enum { RP_ORDER_CHAIN, RP_ORDER_LATEST } rp_order_kind_t;

struct rp_order_slot {
        uint64_t group;    /* rp_digest_group(); 0: empty */
        uint64_t value[2]; /* by side; 0: nothing there */
};

struct rp_order {
        /* Each grows by itself and a little at a time, so that old and new never stand side by side as a whole. */
        struct rp_order_shard {
                struct rp_order_slot *slots;
                uint32_t slot_cnt, used;
        } shards[RP_ORDER_SHARDS];
        rp_order_kind_t kind;
        size_t memory_bytes;
        size_t bytes, peak_bytes; /* in use now, and most at any moment */
        uint64_t key_cnt, max_keys;
        uint64_t after, limit;    /* groups in (after, limit] are kept */
};

/**
 * Allocates nothing yet.
 * @param memory_bytes  upper bound, also while the table grows
 * @param max_keys      keys to keep at most, for a sample; 0: as many as there is memory for
 */
void rp_order_init(struct rp_order *order, rp_order_kind_t kind, size_t memory_bytes, uint64_t max_keys);
void rp_order_release(struct rp_order *order);

/** Forgets all keys and begins with those after that group; the limit is the highest again. */
void rp_order_restart(struct rp_order *order, uint64_t after);

/** The next record of the group on side 0 or 1. is_live: has a value. false when out of memory. */
bool rp_order_add(struct rp_order *order, int side, uint64_t group, struct rp_digest digest, bool is_live);

/** Puts a slot back that rp_order_next() gave, for who stores a table. false when out of memory. */
bool rp_order_put(struct rp_order *order, const struct rp_order_slot *slot);

/** Goes through the slots in use. *cursor starts as 0. @returns NULL after the last. */
const struct rp_order_slot *rp_order_next(const struct rp_order *order, uint64_t *cursor);

/**
 * Calls differs(arg, group) for each key that is not the same on both sides.
 * @returns the number of keys that were compared.
 */
uint64_t rp_order_compare(const struct rp_order *order, void (*differs)(void *arg, uint64_t group), void *arg);

/**
 * Adds what one side has to *sum, in a way that does not depend on the order of keys; sums of disjoint sets of keys add
 * up (rp_digest_add). @returns the number of keys that are there.
 */
uint64_t rp_order_sum(const struct rp_order *order, int side, struct rp_digest *sum);

#endif
