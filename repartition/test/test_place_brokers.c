/* decide/place: against every other plan there is, as far as small clusters go, and by its rules on larger ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next_random(uint32_t *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 8;
}

enum { BROKER_MAX = 64, REPLICA_MAX = 8 };

struct cluster {
        struct rp_broker brokers[BROKER_MAX];
        size_t broker_cnt;
        struct rp_assignment current;
};

static void add(struct cluster *cluster, int32_t partition, uint64_t weight, int32_t cnt, const int32_t *replicas)
{
        assert_true(rp_assignment_add(&cluster->current, "t", partition, replicas, cnt, weight));
}

/* Replicas on brokers at random, also on those that have no capacity. */
static void add_random(struct cluster *cluster, int32_t partition, uint64_t weight, int32_t cnt, uint32_t *seed)
{
        int32_t ids[BROKER_MAX], replicas[REPLICA_MAX];

        for (size_t b = 0; b < cluster->broker_cnt; b++)
                ids[b] = cluster->brokers[b].id;
        for (int32_t r = 0; r < cnt; r++) {
                size_t at = (size_t)r + next_random(seed) % (cluster->broker_cnt - (size_t)r);

                replicas[r] = ids[at];
                ids[at] = ids[r];
        }
        add(cluster, partition, weight, cnt, replicas);
}

static void plan_of(struct cluster *cluster, struct rp_placement *plan)
{
        struct rp_error err = { 0 };

        assert_int_equal(rp_assignment_sort(&cluster->current, &err), RP_OK);
        if (rp_place_brokers(cluster->brokers, cluster->broker_cnt, &cluster->current, plan, &err) != RP_OK)
                fail_msg("%s", err.text);
        assert_int_equal(plan->next.cnt, cluster->current.cnt);
}

static const struct rp_broker *broker(const struct cluster *cluster, int32_t id)
{
        for (size_t b = 0; b < cluster->broker_cnt; b++)
                if (cluster->brokers[b].id == id)
                        return &cluster->brokers[b];
        fail_msg("no broker %d", id);
        return NULL;
}

/* Distinct brokers with capacity, as many as before, racks no more uneven than their sizes make them. */
static void assert_valid(const struct cluster *cluster, const struct rp_placement *plan)
{
        for (size_t p = 0; p < plan->next.cnt; p++) {
                const struct rp_holding *holding = &plan->next.items[p];

                assert_int_equal(holding->replica_cnt, cluster->current.items[p].replica_cnt);
                for (int32_t r = 0; r < holding->replica_cnt; r++) {
                        assert_true(broker(cluster, holding->replicas[r])->capacity);
                        for (int32_t s = 0; s < r; s++)
                                assert_int_not_equal(holding->replicas[r], holding->replicas[s]);
                }
        }
        assert_int_equal(plan->crowded, 0);
        assert_true(plan->moves >= plan->moves_least);
}

/* ---- every plan there is ---------------------------------------------------------------------------------------- */

enum { SMALL_BROKERS = 4, SMALL_PARTITIONS = 4 };

/* A plan as bit sets: which of the brokers hold each partition. */
struct small {
        unsigned sets[SMALL_PARTITIONS];
};

static int bits(unsigned set)
{
        return __builtin_popcount(set);
}

static bool is_even_over_racks(const struct cluster *cluster, unsigned set)
{
        unsigned best = 0;
        int least = 0;

        /* By definition: no other set of this size puts fewer into its fullest rack, or leaves fewer racks short. */
        for (unsigned other = 1; other < 1u << cluster->broker_cnt; other++) {
                int counts[BROKER_MAX] = { 0 }, squares = 0;
                bool usable = bits(other) == bits(set);

                for (size_t b = 0; b < cluster->broker_cnt; b++)
                        if (other >> b & 1) {
                                counts[cluster->brokers[b].rack]++;
                                usable = usable && cluster->brokers[b].capacity;
                        }
                for (int k = 0; k < BROKER_MAX; k++)
                        squares += counts[k] * counts[k];
                if (usable && (!best || squares < least)) {
                        best = other;
                        least = squares;
                }
        }
        {
                int counts[BROKER_MAX] = { 0 }, squares = 0;

                for (size_t b = 0; b < cluster->broker_cnt; b++)
                        counts[cluster->brokers[b].rack] += set >> b & 1;
                for (int k = 0; k < BROKER_MAX; k++)
                        squares += counts[k] * counts[k];
                return squares == least;
        }
}

static unsigned set_of(const struct cluster *cluster, const struct rp_holding *holding)
{
        unsigned set = 0;

        for (size_t b = 0; b < cluster->broker_cnt; b++)
                set |= (unsigned)rp_holding_has(holding, cluster->brokers[b].id) << b;
        return set;
}

/* What a plan costs, in the order in which it counts. */
struct cost {
        int64_t distance; /* sum of squares from the dues, times the square of the capacities' sum */
        uint64_t moves, weight;
};

static struct cost cost_of(const struct cluster *cluster, const struct small *plan)
{
        struct cost cost = { 0 };
        int64_t held[SMALL_BROKERS] = { 0 }, sum = 0, total = 0;

        for (size_t p = 0; p < cluster->current.cnt; p++) {
                int added = bits(plan->sets[p] & ~set_of(cluster, &cluster->current.items[p]));

                total += bits(plan->sets[p]);
                cost.moves += (uint64_t)added;
                cost.weight += (uint64_t)added * cluster->current.items[p].weight;
                for (size_t b = 0; b < cluster->broker_cnt; b++)
                        held[b] += plan->sets[p] >> b & 1;
        }
        for (size_t b = 0; b < cluster->broker_cnt; b++)
                sum += (int64_t)cluster->brokers[b].capacity;
        for (size_t b = 0; b < cluster->broker_cnt; b++) {
                int64_t off = held[b] * sum - total * (int64_t)cluster->brokers[b].capacity;

                cost.distance += off * off;
        }
        return cost;
}

static int compare(const struct cost *a, const struct cost *b)
{
        if (a->distance != b->distance)
                return a->distance < b->distance ? -1 : 1;
        if (a->moves != b->moves)
                return a->moves < b->moves ? -1 : 1;
        return (a->weight > b->weight) - (a->weight < b->weight);
}

static bool counts_are_same(const struct cluster *cluster, const struct small *a, const struct small *b)
{
        for (size_t i = 0; i < cluster->broker_cnt; i++) {
                int difference = 0;

                for (size_t p = 0; p < cluster->current.cnt; p++)
                        difference += (int)(a->sets[p] >> i & 1) - (int)(b->sets[p] >> i & 1);
                if (difference)
                        return false;
        }
        return true;
}

struct best {
        struct cost of_all;         /* the best plan there is */
        struct cost of_same_counts; /* among plans with the numbers of replicas of the one that is judged */
        bool any_within_one;        /* some plan has every broker less than one away from its due */
};

static bool is_within_one(const struct cluster *cluster, const struct small *plan)
{
        int64_t sum = 0, total = 0;

        for (size_t b = 0; b < cluster->broker_cnt; b++)
                sum += (int64_t)cluster->brokers[b].capacity;
        for (size_t p = 0; p < cluster->current.cnt; p++)
                total += bits(plan->sets[p]);
        for (size_t b = 0; b < cluster->broker_cnt; b++) {
                int64_t held = 0, off;

                for (size_t p = 0; p < cluster->current.cnt; p++)
                        held += plan->sets[p] >> b & 1;
                off = held * sum - total * (int64_t)cluster->brokers[b].capacity;
                if (off >= sum || off <= -sum)
                        return false;
        }
        return true;
}

static bool is_due_by_capacity_alone(const struct cluster *cluster, const struct rp_placement *plan)
{
        uint64_t sum = 0;

        for (size_t b = 0; b < cluster->broker_cnt; b++)
                sum += cluster->brokers[b].capacity;
        for (size_t b = 0; b < plan->broker_cnt; b++) {
                const struct rp_broker_share *share = &plan->shares[b];

                if (share->due_hundredths != (plan->replica_cnt * share->broker.capacity * 200 + sum) / (2 * sum))
                        return false;
        }
        return true;
}

static void search(const struct cluster *cluster, const struct small *judged, struct small *plan, size_t p,
                   bool allowed[][1u << SMALL_BROKERS], struct best *best)
{
        struct cost cost;

        if (p < cluster->current.cnt) {
                for (unsigned set = 1; set < 1u << cluster->broker_cnt; set++)
                        if (allowed[cluster->current.items[p].replica_cnt][set]) {
                                plan->sets[p] = set;
                                search(cluster, judged, plan, p + 1, allowed, best);
                        }
                return;
        }
        cost = cost_of(cluster, plan);
        if (compare(&cost, &best->of_all) < 0)
                best->of_all = cost;
        if (counts_are_same(cluster, plan, judged) && compare(&cost, &best->of_same_counts) < 0)
                best->of_same_counts = cost;
        best->any_within_one = best->any_within_one || is_within_one(cluster, plan);
}

/* Which replica of each partition leads; counts through all choices like the digits of a number. */
static bool next_leaders(int32_t *at, const struct rp_assignment *plan)
{
        for (size_t p = 0; p < plan->cnt; p++) {
                if (++at[p] < plan->items[p].replica_cnt)
                        return true;
                at[p] = 0;
        }
        return false;
}

/* No other choice of leaders among the same holders is nearer to the dues, and none as near changes fewer. */
static void assert_leaders_are_best(const struct cluster *cluster, const struct rp_placement *plan)
{
        int32_t at[SMALL_PARTITIONS] = { 0 };
        int64_t distance_best = INT64_MAX, distance_ours = 0;
        uint64_t changes_best = UINT64_MAX;

        /* The first choice is the plan's own. */
        do {
                int64_t distance = 0;
                uint64_t changes = 0;

                for (size_t b = 0; b < plan->broker_cnt; b++) {
                        int64_t led = 0, off;

                        for (size_t p = 0; p < plan->next.cnt; p++)
                                led += plan->next.items[p].replicas[at[p]] == plan->shares[b].broker.id;
                        off = led * 100 - (int64_t)plan->shares[b].leaders_due_hundredths;
                        distance += off * off;
                }
                for (size_t p = 0; p < plan->next.cnt; p++)
                        changes += plan->next.items[p].replicas[at[p]] != cluster->current.items[p].replicas[0];
                if (distance_best == INT64_MAX)
                        distance_ours = distance;
                if (distance < distance_best || (distance == distance_best && changes < changes_best)) {
                        distance_best = distance;
                        changes_best = changes;
                }
        } while (next_leaders(at, &plan->next));
        /* Hundredths round, so what differs by less than a few of them is as near. */
        assert_true(distance_ours - distance_best < 800);
        if (distance_ours == distance_best)
                assert_int_equal(plan->leader_changes, changes_best);
}

static void random_cluster(struct cluster *cluster, uint32_t *seed, size_t broker_cnt, size_t rack_cnt,
                           uint32_t capacity_max, bool drains)
{
        *cluster = (struct cluster){ .broker_cnt = broker_cnt };
        for (size_t b = 0; b < broker_cnt; b++)
                cluster->brokers[b] = (struct rp_broker){ .id = (int32_t)(b * 7 % 11 + 1),
                                                          .rack = (int32_t)(next_random(seed) % rack_cnt),
                                                          .capacity = next_random(seed) % capacity_max + 1 };
        if (drains && broker_cnt > 2)
                cluster->brokers[next_random(seed) % broker_cnt].capacity = 0;
}

static void test_no_plan_is_better(void **state)
{
        uint32_t seed = 2026;
        size_t proportional = 0;

        (void)state;
        for (int round = 0; round < 800; round++) {
                struct cluster cluster;
                struct rp_placement plan;
                struct small ours = { 0 }, other = { 0 };
                struct best best = { { INT64_MAX, 0, 0 }, { INT64_MAX, 0, 0 }, false };
                struct cost cost;
                bool allowed[SMALL_BROKERS + 1][1u << SMALL_BROKERS] = { { false } };
                size_t eligible = 0, cnt = 1 + next_random(&seed) % SMALL_PARTITIONS;
                bool mixed = round % 4 == 3;
                int32_t replicas;

                random_cluster(&cluster, &seed, 2 + next_random(&seed) % 3, 1 + next_random(&seed) % 3, 5, round % 5 == 0);
                for (size_t b = 0; b < cluster.broker_cnt; b++)
                        eligible += cluster.brokers[b].capacity > 0;
                replicas = (int32_t)(1 + next_random(&seed) % eligible);
                for (size_t p = 0; p < cnt; p++)
                        add_random(&cluster, (int32_t)p, next_random(&seed) % 50,
                                   mixed ? (int32_t)(1 + next_random(&seed) % eligible) : replicas, &seed);
                plan_of(&cluster, &plan);
                assert_valid(&cluster, &plan);
                for (unsigned set = 1; set < 1u << cluster.broker_cnt; set++) {
                        bool usable = true;

                        for (size_t b = 0; b < cluster.broker_cnt; b++)
                                usable = usable && (!(set >> b & 1) || cluster.brokers[b].capacity);
                        allowed[bits(set)][set] = usable && is_even_over_racks(&cluster, set);
                }
                for (size_t p = 0; p < cnt; p++) {
                        ours.sets[p] = set_of(&cluster, &plan.next.items[p]);
                        assert_true(allowed[bits(ours.sets[p])][ours.sets[p]]);
                }
                if (!mixed && is_due_by_capacity_alone(&cluster, &plan))
                        assert_leaders_are_best(&cluster, &plan);
                search(&cluster, &ours, &other, 0, allowed, &best);
                cost = cost_of(&cluster, &ours);
                assert_int_equal(cost.moves, plan.moves);
                assert_int_equal(cost.weight, plan.weight_moved);
                assert_int_equal(cost.moves, best.of_same_counts.moves);
                assert_int_equal(cost.weight, best.of_same_counts.weight);
                /* Where racks leave the due shares alone, nothing is nearer to them, and nothing as near is cheaper. */
                if (best.any_within_one && is_due_by_capacity_alone(&cluster, &plan)) {
                        proportional++;
                        assert_true(is_within_one(&cluster, &ours));
                        assert_int_equal(cost.distance, best.of_all.distance);
                        assert_int_equal(cost.moves, best.of_all.moves);
                        assert_int_equal(cost.weight, best.of_all.weight);
                }
                rp_placement_release(&plan);
                rp_assignment_release(&cluster.current);
        }
        assert_true(proportional > 200);
}

/* ---- larger clusters -------------------------------------------------------------------------------------------- */

static void test_shares_are_within_one_of_what_is_due(void **state)
{
        uint32_t seed = 11;

        (void)state;
        for (int round = 0; round < 60; round++) {
                struct cluster cluster = { .broker_cnt = 3 + next_random(&seed) % 10 };
                struct rp_placement plan, again;
                size_t cnt = 20 + next_random(&seed) % 200;
                int32_t replicas = 1 + (int32_t)(next_random(&seed) % 3);

                /* Capacities 2 to 4: nobody is due more than one replica of each partition, and all is one rack. */
                for (size_t b = 0; b < cluster.broker_cnt; b++)
                        cluster.brokers[b] = (struct rp_broker){ (int32_t)b + 1, 0, 2 + next_random(&seed) % 3 };
                if (cluster.broker_cnt < 6)
                        replicas = 1;
                for (size_t p = 0; p < cnt; p++)
                        add_random(&cluster, (int32_t)p, next_random(&seed), replicas, &seed);
                plan_of(&cluster, &plan);
                assert_valid(&cluster, &plan);
                for (size_t b = 0; b < plan.broker_cnt; b++) {
                        const struct rp_broker_share *share = &plan.shares[b];

                        assert_in_range(share->replicas * 100, share->due_hundredths - 99, share->due_hundredths + 99);
                        assert_in_range(share->leaders * 100, share->leaders_due_hundredths - 99,
                                        share->leaders_due_hundredths + 99);
                }
                assert_int_equal(plan.moves, plan.moves_least);
                /* Done once, nothing is left to do. */
                rp_assignment_release(&cluster.current);
                cluster.current = plan.next;
                plan.next = (struct rp_assignment){ 0 };
                plan_of(&cluster, &again);
                assert_int_equal(again.changed_cnt, 0);
                rp_placement_release(&again);
                rp_placement_release(&plan);
                rp_assignment_release(&cluster.current);
        }
}

static void test_racks_come_before_shares(void **state)
{
        struct cluster cluster = { .broker_cnt = 4 };
        struct rp_placement plan;

        (void)state;
        /* Two big brokers in one rack: by capacity they would hold both replicas of many partitions. */
        for (int b = 0; b < 4; b++)
                cluster.brokers[b] = (struct rp_broker){ b + 1, b / 2, b < 2 ? 10 : 1 };
        for (int p = 0; p < 20; p++)
                add(&cluster, p, 1, 2, (const int32_t[]){ 1 + p % 2, 2 - p % 2 });
        plan_of(&cluster, &plan);
        assert_valid(&cluster, &plan);
        assert_int_equal(plan.crowded_before, 20);
        assert_int_equal(plan.moves, 20);
        for (int b = 0; b < 4; b++) {
                assert_int_equal(plan.shares[b].replicas, 10);
                assert_int_equal(plan.shares[b].due_hundredths, 1000);
        }
        /* Leaders are free to follow capacity: 20 * 10/22 are due to each big one, and each can lead what it holds. */
        assert_in_range(plan.shares[0].leaders, 9, 10);
        assert_in_range(plan.shares[1].leaders, 9, 10);
        assert_in_range(plan.shares[2].leaders, 0, 1);
        rp_placement_release(&plan);
        rp_assignment_release(&cluster.current);
}

static void test_a_broker_holds_no_partition_twice(void **state)
{
        struct cluster cluster = { .broker_cnt = 3 };
        struct rp_placement plan;

        (void)state;
        /* Broker 1 is due 20 of 24 replicas, but there are 12 partitions; the rest is shared 1 to 1. */
        for (int b = 0; b < 3; b++)
                cluster.brokers[b] = (struct rp_broker){ b + 1, 0, b ? 1 : 10 };
        for (int p = 0; p < 12; p++)
                add(&cluster, p, 1, 2, (const int32_t[]){ 2, 3 });
        plan_of(&cluster, &plan);
        assert_valid(&cluster, &plan);
        assert_int_equal(plan.shares[0].replicas, 12);
        assert_int_equal(plan.shares[1].replicas, 6);
        assert_int_equal(plan.shares[0].due_hundredths, 1200);
        assert_int_equal(plan.shares[1].due_hundredths, 600);
        assert_int_equal(plan.moves, 12);
        assert_int_equal(plan.shares[0].leaders, 10);
        rp_placement_release(&plan);
        rp_assignment_release(&cluster.current);
}

static void test_a_broker_is_emptied(void **state)
{
        struct cluster cluster = { .broker_cnt = 4 };
        struct rp_placement plan;

        (void)state;
        for (int b = 0; b < 4; b++)
                cluster.brokers[b] = (struct rp_broker){ b + 1, b, b == 3 ? 0 : 1 };
        for (int p = 0; p < 12; p++)
                add(&cluster, p, (uint64_t)p, 2, (const int32_t[]){ 1 + p % 4, 1 + (p + 1) % 4 });
        plan_of(&cluster, &plan);
        assert_valid(&cluster, &plan);
        assert_int_equal(plan.shares[3].replicas_before, 6);
        assert_int_equal(plan.shares[3].replicas, 0);
        assert_int_equal(plan.moves, 6);
        for (int b = 0; b < 3; b++) {
                assert_int_equal(plan.shares[b].replicas, 8);
                assert_int_equal(plan.shares[b].leaders, 4);
        }
        rp_placement_release(&plan);
        rp_assignment_release(&cluster.current);
}

static void test_the_order_of_the_input_is_nothing(void **state)
{
        uint32_t seed = 77;

        (void)state;
        for (int round = 0; round < 40; round++) {
                struct cluster cluster, shuffled;
                struct rp_placement plan, other;

                random_cluster(&cluster, &seed, 5, 1 + (size_t)round % 4, 4, round % 2);
                for (int p = 0; p < 17; p++)
                        add_random(&cluster, p, next_random(&seed) % 9, 2, &seed);
                shuffled = cluster;
                shuffled.current = (struct rp_assignment){ 0 };
                for (size_t i = cluster.current.cnt; i-- > 0;)
                        add(&shuffled, cluster.current.items[i].partition, cluster.current.items[i].weight,
                            cluster.current.items[i].replica_cnt, cluster.current.items[i].replicas);
                for (size_t b = 0; b < cluster.broker_cnt; b++) {
                        shuffled.brokers[b] = cluster.brokers[(b * 2 + 3) % 5];
                        shuffled.brokers[b].rack = 40 - shuffled.brokers[b].rack; /* other names for the same racks */
                }
                plan_of(&cluster, &plan);
                plan_of(&shuffled, &other);
                for (size_t p = 0; p < plan.next.cnt; p++)
                        assert_true(rp_holding_is_same(&plan.next.items[p], &other.next.items[p]));
                rp_placement_release(&plan);
                rp_placement_release(&other);
                rp_assignment_release(&cluster.current);
                rp_assignment_release(&shuffled.current);
        }
}

/* Leaders change in as few partitions as the numbers of leaders allow. */
static void test_leaders_stay_where_they_can(void **state)
{
        struct cluster cluster = { .broker_cnt = 3 };
        struct rp_placement plan;

        (void)state;
        for (int b = 0; b < 3; b++)
                cluster.brokers[b] = (struct rp_broker){ b + 1, b, 1 };
        for (int p = 0; p < 9; p++)
                add(&cluster, p, 1, 3, p < 5 ? (const int32_t[]){ 1, 2, 3 } : (const int32_t[]){ 2, 3, 1 });
        plan_of(&cluster, &plan);
        assert_int_equal(plan.moves, 0);
        assert_int_equal(plan.leader_changes, 3);
        assert_int_equal(plan.changed_cnt, 3);
        for (int b = 0; b < 3; b++)
                assert_int_equal(plan.shares[b].leaders, 3);
        rp_placement_release(&plan);
        rp_assignment_release(&cluster.current);
}

static void test_the_lighter_partitions_move(void **state)
{
        struct cluster cluster = { .broker_cnt = 2 };
        struct rp_placement plan;

        (void)state;
        for (int b = 0; b < 2; b++)
                cluster.brokers[b] = (struct rp_broker){ b + 1, 0, 1 };
        for (int p = 0; p < 6; p++)
                add(&cluster, p, UINT64_C(1) << (50 - p), 1, (const int32_t[]){ 1 });
        plan_of(&cluster, &plan);
        assert_int_equal(plan.moves, 3);
        for (int p = 0; p < 6; p++)
                assert_int_equal(plan.next.items[p].replicas[0], p < 3 ? 1 : 2);
        rp_placement_release(&plan);
        rp_assignment_release(&cluster.current);
}

static void test_what_cannot_be_planned_is_said(void **state)
{
        struct cluster cluster = { .broker_cnt = 2 };
        struct rp_placement plan;
        struct rp_error err;

        (void)state;
        cluster.brokers[0] = (struct rp_broker){ 1, 0, 1 };
        cluster.brokers[1] = (struct rp_broker){ 2, 0, 0 };
        add(&cluster, 0, 1, 2, (const int32_t[]){ 1, 2 });
        assert_int_equal(rp_place_brokers(cluster.brokers, 2, &cluster.current, &plan, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "partition 0 of topic \"t\" has 2 replicas, and there are 1 brokers with capacity to "
                                      "put them on");
        cluster.brokers[1].capacity = 1;
        cluster.current.items[0].replicas[1] = 3;
        assert_int_equal(rp_place_brokers(cluster.brokers, 2, &cluster.current, &plan, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "broker 3 holds partition 0 of topic \"t\" and has no capacity; 0 empties a broker");
        cluster.brokers[1].id = 1;
        assert_int_equal(rp_place_brokers(cluster.brokers, 2, &cluster.current, &plan, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "broker 1 is there twice");
        add(&cluster, 0, 1, 1, (const int32_t[]){ 1 });
        assert_int_equal(rp_assignment_sort(&cluster.current, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "partition 0 of topic \"t\" is there twice");
        rp_assignment_release(&cluster.current);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_plan_is_better),
                cmocka_unit_test(test_shares_are_within_one_of_what_is_due),
                cmocka_unit_test(test_racks_come_before_shares),
                cmocka_unit_test(test_a_broker_holds_no_partition_twice),
                cmocka_unit_test(test_a_broker_is_emptied),
                cmocka_unit_test(test_the_order_of_the_input_is_nothing),
                cmocka_unit_test(test_leaders_stay_where_they_can),
                cmocka_unit_test(test_the_lighter_partitions_move),
                cmocka_unit_test(test_what_cannot_be_planned_is_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
