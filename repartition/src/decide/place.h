/**
 * Replicas and leaders on brokers of unequal capacity: a better assignment, and what it costs to get there. Pure: no
 * cluster is asked and none is changed. In falling importance, and exactly, the plan
 *
 *   1. never puts two replicas of a partition on one broker, and none on a broker of capacity 0;
 *   2. spreads each partition over racks as evenly as their numbers of brokers allow;
 *   3. gives each broker its due number of replicas: in proportion to capacity, by largest remainder, so less than one
 *      away from it; where 1 and 2 forbid that, as near as they allow;
 *   4. moves the fewest replicas, and among those plans the one that moves the least weight;
 *   5. then, among the brokers that hold a partition, chooses leaders in the same proportion, changing the fewest.
 *
 * The order of brokers and partitions in the input changes nothing.
 */
#ifndef RP_PLACE_H
#define RP_PLACE_H

#include "assignment.h"
#include "decide/dues.h"

/** More would be a plan for a planner that does not hold it all in memory. */
enum { RP_PLACE_BROKER_MAX = 1000, RP_PLACE_CELL_MAX = 4000000 /* partitions times brokers */ };

struct rp_broker {
        int32_t id;
        int32_t rack;      /* brokers in one rack have the same number */
        uint64_t capacity; /* in any unit, at most 10^15; 0: shall hold nothing */
};

/** What a broker has before and after. */
struct rp_broker_share {
        struct rp_broker broker;
        uint64_t replicas_before, replicas;
        uint64_t leaders_before, leaders;
        uint64_t weight_before, weight;
        uint64_t due_hundredths;         /* of replicas, in hundredths of one */
        uint64_t leaders_due_hundredths;
};

struct rp_placement {
        struct rp_assignment next;      /* sorted, one item for each of the current ones */
        struct rp_broker_share *shares; /* by rising id */
        size_t broker_cnt;
        uint64_t replica_cnt;
        uint64_t moves;                 /* replicas that go to a broker that does not hold the partition */
        uint64_t moves_least;           /* no plan with these numbers of replicas could do with fewer */
        uint64_t weight_moved;
        uint64_t leader_changes;        /* partitions whose preferred leader becomes another */
        uint64_t changed_cnt;           /* partitions whose list changes in any way */
        uint64_t crowded_before;        /* partitions that are not spread over racks as evenly as could be */
        uint64_t crowded;
};

/**
 * @param current  sorted (rp_assignment_sort()); every broker that it names is among `brokers`
 * @returns RP_OK and *plan, the caller's to rp_placement_release(); RP_ERR_USAGE with *err when there are too few brokers,
 *          one that is not known, or more of everything than can be planned at once.
 */
rp_err_t rp_place_brokers(const struct rp_broker *brokers, size_t broker_cnt, const struct rp_assignment *current,
                          struct rp_placement *plan, struct rp_error *err);
void rp_placement_release(struct rp_placement *plan);

#endif
