/**
 * The order of each key's records as one number a key: a chain h = H(h, record digest). Two topics hold every key in the
 * same order exactly if their tables are equal. 24 bytes a slot; when the memory is used up, only the keys whose hash is
 * below a limit are kept, and the limit falls as far as it must, so what is checked is a fair sample of the keys. Pure.
 */
#ifndef RP_ORDER_H
#define RP_ORDER_H

#include "decide/digest.h"

struct rp_order_slot {
        uint64_t group; /* rp_digest_group(); 0: empty */
        uint64_t chain;
        uint64_t cnt;
};

struct rp_order {
        struct rp_order_slot *slots;
        size_t slot_cnt; /* a power of two */
        size_t key_cnt;
        size_t memory_bytes;
        uint64_t limit;  /* groups up to this one are kept */
};

/** @param memory_bytes  upper bound, also while the table is rebuilt. false when out of memory. */
bool rp_order_init(struct rp_order *order, size_t memory_bytes);
void rp_order_release(struct rp_order *order);

/** The next record of the group. false when out of memory. */
bool rp_order_add(struct rp_order *order, uint64_t group, struct rp_digest digest);

/** @returns the group's slot, or NULL. */
const struct rp_order_slot *rp_order_find(const struct rp_order *order, uint64_t group);

/**
 * Compares what both tables know. Calls differs(arg, group) for each key whose chain is not the same on both sides.
 * @returns the number of keys that were compared; keys above the lower limit of the two are not.
 */
size_t rp_order_compare(const struct rp_order *a, const struct rp_order *b, void (*differs)(void *arg, uint64_t group),
                        void *arg);

/** @returns the share of all possible keys that both tables keep, 0 to 1. */
double rp_order_share(const struct rp_order *a, const struct rp_order *b);

#endif
