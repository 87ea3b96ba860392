/**
 * Placing weighted groups one by one, for maps that say where each group goes (table): from nothing, or by the fewest
 * moves from where the groups are. Loads are sums of integers, ties go by number, so the answer is the same everywhere.
 */
#ifndef RP_REBALANCE_H
#define RP_REBALANCE_H

#include "decide/demand.h"

/**
 * Places all groups anew: by falling weight (ties by bytes), each to the emptiest partition (ties: the lowest number).
 * @param place  units->cnt partitions, filled in
 * @returns false when memory is out
 */
bool rp_spread(const struct rp_units *units, int32_t partition_cnt, int32_t *place);

struct rp_rebalance {
        uint64_t total;
        uint64_t max_before, max_after; /* load of the fullest partition */
        uint64_t move_cnt;              /* one group may move more than once */
        uint64_t moved;                 /* weight over all moves */
        bool is_stuck;                  /* the target was not reached: no group fits any more */
};

/**
 * Moves groups until the fullest partition is at most `target` times the mean: always the heaviest group of the fullest
 * partition that still leaves the emptiest one below what the fullest was. Ends also when none fits.
 * @param place  units->cnt partitions, all below partition_cnt; changed in place
 * @returns false when memory is out
 */
bool rp_rebalance(const struct rp_units *units, int32_t partition_cnt, double target, int32_t *place,
                  struct rp_rebalance *result);

/**
 * The same for a topic that has grown: a partition that cannot give is left out, and the others go on until the fullest
 * of them is at most `target` times their mean, so that newcomers are filled even when one group is heavier than a
 * share.
 */
bool rp_rebalance_grown(const struct rp_units *units, int32_t partition_cnt, double target, int32_t *place,
                        struct rp_rebalance *result);

/**
 * The fullest over the mean partition that a group of this weight forces, wherever it is: max(1, share * N).
 */
double rp_floor(uint64_t heaviest, uint64_t total, int32_t partition_cnt);

/** Sums the weights by partition. loads: partition_cnt, filled in. */
void rp_loads(const struct rp_units *units, const int32_t *place, int32_t partition_cnt, uint64_t *loads);

#endif
