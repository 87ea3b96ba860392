/** How much goes from which partition to which: a sum for each pair that occurs. */
#ifndef KR_FLOWS_H
#define KR_FLOWS_H

#include "keyroute.h"

struct kr_flows {
        struct kr_flow *items; /* a hash table by (from, to); from < 0: free */
        size_t size, cnt;
        double total; /* of all that was added, also what stays */
};

/** Adds weight that goes from one partition to another, which may be the same one. False when memory is out. */
bool kr_flows_add(struct kr_flows *flows, int32_t from, int32_t to, double weight);

/**
 * Turns sums into shares of the total: what moves, by falling share, then by partitions. Releases the flows.
 * @param moved  set to the share that moves
 * @returns the array, the caller's to free(), of *cnt elements; or NULL when memory is out
 */
struct kr_flow *kr_flows_finish(struct kr_flows *flows, size_t *cnt, double *moved);

void kr_flows_release(struct kr_flows *flows);

#endif
