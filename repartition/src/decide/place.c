#include "decide/place.h"

#include "decide/flow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Costs are stacked: any whole step of a higher rank outweighs everything of the lower ones. */
enum { WEIGHT_BITS = 44 }; /* all moved weights together, after scaling */
#define COST_MOVE ((rp_cost_t)1 << (WEIGHT_BITS + 1))

enum { SOURCE, SINK, FIRST_BROKER };

/* How many replicas of a partition a rack takes: at least min(level, its brokers), at most min(level + 1, its brokers). */
struct spread {
        int32_t level;
        int32_t surplus; /* replicas beyond what all racks take at least */
};

struct planner {
        struct rp_broker *brokers; /* by rising id, those without capacity included */
        size_t broker_cnt;
        struct rp_taker *takers;   /* the brokers with capacity, in the same order */
        size_t *broker_of;         /* by taker */
        size_t taker_cnt;
        int32_t *rack_sizes;       /* takers, by rack */
        size_t rack_cnt;
        const struct rp_assignment *current;
        struct rp_due *dues;         /* by taker: replicas */
        struct rp_due *leader_dues;  /* by taker */
        struct rp_placement *plan;
};

static int by_id(const void *a, const void *b)
{
        const struct rp_broker *x = a, *y = b;

        return (x->id > y->id) - (x->id < y->id);
}

static struct rp_broker *find_broker(const struct planner *planner, int32_t id)
{
        struct rp_broker key = { .id = id };

        return bsearch(&key, planner->brokers, planner->broker_cnt, sizeof(key), by_id);
}

static int32_t least_in_rack(const struct planner *planner, struct spread spread, size_t rack)
{
        return spread.level < planner->rack_sizes[rack] ? spread.level : planner->rack_sizes[rack];
}

static int32_t most_in_rack(const struct planner *planner, struct spread spread, size_t rack)
{
        return spread.level + 1 < planner->rack_sizes[rack] ? spread.level + 1 : planner->rack_sizes[rack];
}

/* The highest level that all racks together reach with this many replicas. */
static struct spread spread_of(const struct planner *planner, int32_t replica_cnt)
{
        struct spread spread = { 0, replica_cnt };

        for (;;) {
                int32_t taken = 0;

                for (size_t k = 0; k < planner->rack_cnt; k++)
                        taken += most_in_rack(planner, spread, k) - least_in_rack(planner, spread, k);
                if (!taken || taken > spread.surplus)
                        return spread;
                spread.level++;
                spread.surplus -= taken;
        }
}

/* ---- preparing -------------------------------------------------------------------------------------------------- */

static rp_err_t take_brokers(struct planner *planner, const struct rp_broker *brokers, size_t cnt, struct rp_error *err)
{
        planner->brokers = calloc(cnt + 1, sizeof(*planner->brokers));
        planner->takers = calloc(cnt + 1, sizeof(*planner->takers));
        planner->broker_of = calloc(cnt + 1, sizeof(*planner->broker_of));
        planner->rack_sizes = calloc(cnt + 1, sizeof(*planner->rack_sizes));
        planner->dues = calloc(cnt + 1, sizeof(*planner->dues));
        planner->leader_dues = calloc(cnt + 1, sizeof(*planner->leader_dues));
        if (!planner->brokers || !planner->takers || !planner->broker_of || !planner->rack_sizes || !planner->dues ||
            !planner->leader_dues)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < cnt; i++)
                planner->brokers[i] = brokers[i];
        planner->broker_cnt = cnt;
        if (cnt)
                qsort(planner->brokers, cnt, sizeof(*planner->brokers), by_id);
        for (size_t i = 0; i < cnt; i++) {
                const struct rp_broker *broker = &planner->brokers[i];
                size_t rack = planner->rack_cnt;

                if (i && broker->id == broker[-1].id)
                        return rp_fail(err, RP_ERR_USAGE, "broker %" PRId32 " is there twice", broker->id);
                if (!broker->capacity)
                        continue;
                for (size_t j = 0; j < planner->taker_cnt && rack == planner->rack_cnt; j++)
                        if (planner->brokers[planner->broker_of[j]].rack == broker->rack)
                                rack = planner->takers[j].rack;
                planner->rack_cnt += rack == planner->rack_cnt;
                planner->rack_sizes[rack]++;
                planner->takers[planner->taker_cnt] =
                        (struct rp_taker){ .capacity = broker->capacity, .most = planner->current->cnt, .rack = rack };
                planner->broker_of[planner->taker_cnt++] = i;
        }
        return RP_OK;
}

static rp_err_t check(const struct planner *planner, struct rp_error *err)
{
        if (planner->broker_cnt > RP_PLACE_BROKER_MAX ||
            planner->current->cnt * (planner->taker_cnt + 1) > RP_PLACE_CELL_MAX)
                return rp_fail(err, RP_ERR_USAGE,
                               "%zu partitions on %zu brokers are more than can be planned at once (%d brokers, %d for "
                               "partitions times brokers); name fewer topics", planner->current->cnt,
                               planner->broker_cnt, RP_PLACE_BROKER_MAX, RP_PLACE_CELL_MAX);
        for (size_t p = 0; p < planner->current->cnt; p++) {
                const struct rp_holding *holding = &planner->current->items[p];

                if (holding->replica_cnt < 1 || (size_t)holding->replica_cnt > planner->taker_cnt)
                        return rp_fail(err, RP_ERR_USAGE,
                                       "partition %" PRId32 " of topic \"%.100s\" has %" PRId32 " replicas, and there are "
                                       "%zu brokers with capacity to put them on", holding->partition, holding->topic,
                                       holding->replica_cnt, planner->taker_cnt);
                for (int32_t r = 0; r < holding->replica_cnt; r++)
                        if (!find_broker(planner, holding->replicas[r]))
                                return rp_fail(err, RP_ERR_USAGE,
                                               "broker %" PRId32 " holds partition %" PRId32 " of topic \"%.100s\" and has "
                                               "no capacity; 0 empties a broker", holding->replicas[r],
                                               holding->partition, holding->topic);
        }
        return RP_OK;
}

static bool find_replica_dues(struct planner *planner)
{
        struct rp_rack_bounds *bounds = calloc(planner->rack_cnt, sizeof(*bounds));
        bool ok;

        if (!bounds)
                return false;
        for (size_t p = 0; p < planner->current->cnt; p++) {
                struct spread spread = spread_of(planner, planner->current->items[p].replica_cnt);

                for (size_t k = 0; k < planner->rack_cnt; k++) {
                        bounds[k].least += (uint64_t)least_in_rack(planner, spread, k);
                        bounds[k].most += (uint64_t)most_in_rack(planner, spread, k);
                }
        }
        ok = rp_dues(planner->takers, planner->taker_cnt, bounds, planner->rack_cnt, planner->plan->replica_cnt,
                     planner->dues);
        free(bounds);
        return ok;
}

/* ---- the network ------------------------------------------------------------------------------------------------ */

/*
 * What a broker takes, from its node to the sink: its whole due for nothing, then unit by unit at a rising price, the
 * first such unit cheapest for the largest fraction. The cheapest total is therefore the largest-remainder quota; where
 * that cannot be had, the nearest to it. The first of these arcs is the free one.
 */
static size_t add_units(struct rp_flow *flow, size_t node, const struct rp_due *due, uint64_t most, size_t taker_cnt,
                        rp_cost_t unit)
{
        size_t first = rp_flow_arc(flow, node, SINK, (int64_t)due->whole, 0);
        int64_t room = 1;
        rp_cost_t price = due->rank + 1;

        /* Far from the due the steps double: nobody is there but where racks leave no choice. */
        for (uint64_t taken = due->whole, step = 0; taken < most; step++, taken += (uint64_t)room) {
                room = step < 16 ? 1 : room * 2;
                rp_flow_arc(flow, node, SINK, room, price * unit);
                price += (rp_cost_t)(taker_cnt + 1) * room;
        }
        return first;
}

enum { UNIT_ARC_MAX = 80 };

/* Weights as they stand in costs: all that could move together stays below 2^WEIGHT_BITS. */
static unsigned weight_shift(const struct planner *planner)
{
        rp_cost_t total = 0;
        unsigned shift = 0;

        for (size_t p = 0; p < planner->current->cnt; p++)
                total += (rp_cost_t)planner->current->items[p].weight * planner->current->items[p].replica_cnt;
        while (total >> shift >> WEIGHT_BITS)
                shift++;
        return shift;
}

/* Where the arcs and nodes of a partition begin; every partition has the same number of each. */
struct layout {
        size_t first_node;
        size_t nodes, arcs; /* per partition */
        size_t first_arc;
        size_t least, extra, hold; /* arcs from the partition's first: to each rack, beyond the least, to each broker */
};

static struct layout lay_out(const struct planner *planner, size_t first_arc)
{
        size_t racks = planner->rack_cnt;

        return (struct layout){ .first_node = FIRST_BROKER + planner->taker_cnt,
                                .nodes = 2 + racks,
                                .arcs = 2 + 2 * racks + planner->taker_cnt,
                                .first_arc = first_arc,
                                .least = 2,
                                .extra = 2 + racks,
                                .hold = 2 + 2 * racks };
}

/*
 * source -> partition -> rack (what it takes at least) -> broker -> sink, and a second way from the partition over its
 * surplus to what racks take beyond the least. All replicas get through only if every rack has its least.
 */
static void add_partition(const struct planner *planner, struct rp_flow *flow, const struct layout *layout, size_t p,
                          unsigned shift)
{
        const struct rp_holding *holding = &planner->current->items[p];
        struct spread spread = spread_of(planner, holding->replica_cnt);
        size_t node = layout->first_node + p * layout->nodes, surplus = node + 1, rack = node + 2;

        rp_flow_arc(flow, SOURCE, node, holding->replica_cnt, 0);
        rp_flow_arc(flow, node, surplus, spread.surplus, 0);
        for (size_t k = 0; k < planner->rack_cnt; k++)
                rp_flow_arc(flow, node, rack + k, least_in_rack(planner, spread, k), 0);
        for (size_t k = 0; k < planner->rack_cnt; k++)
                rp_flow_arc(flow, surplus, rack + k,
                            most_in_rack(planner, spread, k) - least_in_rack(planner, spread, k), 0);
        for (size_t t = 0; t < planner->taker_cnt; t++)
                rp_flow_arc(flow, rack + planner->takers[t].rack, FIRST_BROKER + t, 1,
                            rp_holding_has(holding, planner->brokers[planner->broker_of[t]].id)
                                    ? 0
                                    : COST_MOVE + (rp_cost_t)(holding->weight >> shift));
}

static size_t taker_of(const struct planner *planner, int32_t id)
{
        for (size_t t = 0; t < planner->taker_cnt; t++)
                if (planner->brokers[planner->broker_of[t]].id == id)
                        return t;
        return SIZE_MAX;
}

/* Lets replicas stay where that costs nothing, so that only the others need to be searched for. */
static uint64_t keep(const struct planner *planner, struct rp_flow *flow, const struct layout *layout,
                     const size_t *unit_arcs)
{
        uint64_t kept = 0;

        for (size_t p = 0; p < planner->current->cnt; p++) {
                const struct rp_holding *holding = &planner->current->items[p];
                size_t base = layout->first_arc + p * layout->arcs;

                for (int32_t r = 0; r < holding->replica_cnt; r++) {
                        size_t t = taker_of(planner, holding->replicas[r]), rack;

                        if (t == SIZE_MAX || !rp_flow_room(flow, unit_arcs[t]) ||
                            !rp_flow_room(flow, base + layout->hold + t))
                                continue;
                        rack = planner->takers[t].rack;
                        if (rp_flow_room(flow, base + layout->least + rack)) {
                                rp_flow_push(flow, base + layout->least + rack);
                        } else if (rp_flow_room(flow, base + 1) && rp_flow_room(flow, base + layout->extra + rack)) {
                                rp_flow_push(flow, base + 1);
                                rp_flow_push(flow, base + layout->extra + rack);
                        } else {
                                continue;
                        }
                        rp_flow_push(flow, base);
                        rp_flow_push(flow, base + layout->hold + t);
                        rp_flow_push(flow, unit_arcs[t]);
                        kept++;
                }
        }
        return kept;
}

/* The new holders: those that stay in their old order, then the new ones by rising id. */
static rp_err_t read_replicas(const struct planner *planner, const struct rp_flow *flow, const struct layout *layout,
                              struct rp_error *err)
{
        int32_t *replicas = calloc(planner->taker_cnt + 1, sizeof(*replicas));
        rp_err_t rc = RP_OK;

        for (size_t p = 0; replicas && rc == RP_OK && p < planner->current->cnt; p++) {
                const struct rp_holding *old = &planner->current->items[p];
                size_t hold = layout->first_arc + p * layout->arcs + layout->hold;
                int32_t cnt = 0;

                for (int32_t r = 0; r < old->replica_cnt; r++) {
                        size_t t = taker_of(planner, old->replicas[r]);

                        if (t != SIZE_MAX && rp_flow_taken(flow, hold + t))
                                replicas[cnt++] = old->replicas[r];
                }
                for (size_t t = 0; t < planner->taker_cnt; t++) {
                        int32_t id = planner->brokers[planner->broker_of[t]].id;

                        if (rp_flow_taken(flow, hold + t) && !rp_holding_has(old, id))
                                replicas[cnt++] = id;
                }
                if (!rp_assignment_add(&planner->plan->next, old->topic, old->partition, replicas, cnt, old->weight))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        free(replicas);
        return replicas ? rc : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static rp_err_t place_replicas(struct planner *planner, struct rp_error *err)
{
        size_t cnt = planner->current->cnt, takers = planner->taker_cnt;
        struct layout layout = lay_out(planner, 0);
        rp_cost_t unit = COST_MOVE * 2 * (rp_cost_t)(planner->plan->replica_cnt + 1);
        struct rp_flow *flow = rp_flow_new(layout.first_node + cnt * layout.nodes,
                                           cnt * layout.arcs + takers * UNIT_ARC_MAX);
        size_t *unit_arcs = calloc(takers + 1, sizeof(*unit_arcs));
        unsigned shift = weight_shift(planner);
        rp_err_t rc;
        uint64_t placed;

        if (!flow || !unit_arcs || !find_replica_dues(planner)) {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                goto out;
        }
        for (size_t p = 0; p < cnt; p++)
                add_partition(planner, flow, &layout, p, shift);
        for (size_t t = 0; t < takers; t++)
                unit_arcs[t] = add_units(flow, FIRST_BROKER + t, &planner->dues[t], planner->takers[t].most, takers,
                                         unit);
        placed = keep(planner, flow, &layout, unit_arcs);
        placed += (uint64_t)rp_flow_run(flow, SOURCE, SINK);
        if (placed != planner->plan->replica_cnt)
                abort(); /* spread_of() promised more than the racks hold */
        rc = read_replicas(planner, flow, &layout, err);
out:
        rp_flow_free(flow);
        free(unit_arcs);
        return rc;
}

/* ---- leaders ---------------------------------------------------------------------------------------------------- */

static bool find_leader_dues(struct planner *planner)
{
        struct rp_taker *takers = calloc(planner->taker_cnt, sizeof(*takers));
        bool ok;

        if (!takers)
                return false;
        for (size_t t = 0; t < planner->taker_cnt; t++)
                takers[t] = (struct rp_taker){ .capacity = planner->takers[t].capacity };
        for (size_t p = 0; p < planner->plan->next.cnt; p++)
                for (int32_t r = 0; r < planner->plan->next.items[p].replica_cnt; r++)
                        takers[taker_of(planner, planner->plan->next.items[p].replicas[r])].most++;
        ok = rp_dues(takers, planner->taker_cnt, NULL, 0, planner->plan->next.cnt, planner->leader_dues);
        for (size_t t = 0; t < planner->taker_cnt; t++)
                planner->takers[t].most = takers[t].most;
        free(takers);
        return ok;
}

/* Puts the replica at `at` first; the others keep their order. */
static void lead(struct rp_holding *holding, int32_t at)
{
        int32_t leader = holding->replicas[at];

        memmove(&holding->replicas[1], &holding->replicas[0], (size_t)at * sizeof(*holding->replicas));
        holding->replicas[0] = leader;
}

/* Leading stays where it is, else it goes to a broker that has the data already, else to a new one. */
static rp_cost_t leading_cost(const struct rp_holding *old, int32_t id)
{
        return old->replicas[0] == id ? 0 : rp_holding_has(old, id) ? 2 : 3;
}

static rp_err_t place_leaders(struct planner *planner, struct rp_error *err)
{
        struct rp_assignment *next = &planner->plan->next;
        size_t takers = planner->taker_cnt;
        struct rp_flow *flow = rp_flow_new(FIRST_BROKER + takers + next->cnt,
                                           next->cnt + planner->plan->replica_cnt + takers * UNIT_ARC_MAX);
        size_t *unit_arcs = calloc(takers + 1, sizeof(*unit_arcs));
        rp_cost_t unit = 4 * (rp_cost_t)(next->cnt + 1);
        size_t arc = 0;
        rp_err_t rc = RP_OK;

        if (!flow || !unit_arcs || !find_leader_dues(planner)) {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                goto out;
        }
        for (size_t p = 0; p < next->cnt; p++) {
                size_t node = FIRST_BROKER + takers + p;

                rp_flow_arc(flow, SOURCE, node, 1, 0);
                for (int32_t r = 0; r < next->items[p].replica_cnt; r++) {
                        int32_t id = next->items[p].replicas[r];

                        rp_flow_arc(flow, node, FIRST_BROKER + taker_of(planner, id), 1,
                                    leading_cost(&planner->current->items[p], id));
                }
        }
        for (size_t t = 0; t < takers; t++)
                unit_arcs[t] = add_units(flow, FIRST_BROKER + t, &planner->leader_dues[t], planner->takers[t].most,
                                         takers, unit);
        for (size_t p = 0; p < next->cnt; arc += 1 + (size_t)next->items[p++].replica_cnt) {
                size_t t = taker_of(planner, next->items[p].replicas[0]);

                if (next->items[p].replicas[0] != planner->current->items[p].replicas[0] ||
                    !rp_flow_room(flow, unit_arcs[t]))
                        continue;
                rp_flow_push(flow, arc);
                rp_flow_push(flow, arc + 1);
                rp_flow_push(flow, unit_arcs[t]);
        }
        rp_flow_run(flow, SOURCE, SINK);
        arc = 0;
        for (size_t p = 0; p < next->cnt; p++) {
                int32_t leader = 0;

                for (int32_t r = 0; r < next->items[p].replica_cnt; r++)
                        if (rp_flow_taken(flow, arc + 1 + (size_t)r))
                                leader = r;
                arc += 1 + (size_t)next->items[p].replica_cnt;
                lead(&next->items[p], leader);
        }
out:
        rp_flow_free(flow);
        free(unit_arcs);
        return rc;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static bool is_crowded(const struct planner *planner, const struct rp_holding *holding)
{
        struct spread spread = spread_of(planner, holding->replica_cnt);

        for (size_t k = 0; k < planner->rack_cnt; k++) {
                int32_t cnt = 0;

                for (int32_t r = 0; r < holding->replica_cnt; r++) {
                        size_t t = taker_of(planner, holding->replicas[r]);

                        cnt += t != SIZE_MAX && planner->takers[t].rack == k;
                }
                if (cnt < least_in_rack(planner, spread, k) || cnt > most_in_rack(planner, spread, k))
                        return true;
        }
        return false;
}

static struct rp_broker_share *share_of(const struct planner *planner, int32_t id)
{
        return &planner->plan->shares[find_broker(planner, id) - planner->brokers];
}

static rp_err_t measure(struct planner *planner, struct rp_error *err)
{
        struct rp_placement *plan = planner->plan;

        plan->shares = calloc(planner->broker_cnt + 1, sizeof(*plan->shares));
        if (!plan->shares)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        plan->broker_cnt = planner->broker_cnt;
        for (size_t i = 0; i < planner->broker_cnt; i++)
                plan->shares[i].broker = planner->brokers[i];
        for (size_t t = 0; t < planner->taker_cnt; t++) {
                struct rp_broker_share *share = &plan->shares[planner->broker_of[t]];

                share->due_hundredths = rp_due_hundredths(&planner->dues[t]);
                share->leaders_due_hundredths = rp_due_hundredths(&planner->leader_dues[t]);
        }
        for (size_t p = 0; p < plan->next.cnt; p++) {
                const struct rp_holding *old = &planner->current->items[p], *new = &plan->next.items[p];

                for (int32_t r = 0; r < old->replica_cnt; r++) {
                        share_of(planner, old->replicas[r])->replicas_before++;
                        share_of(planner, old->replicas[r])->weight_before += old->weight;
                        share_of(planner, new->replicas[r])->replicas++;
                        share_of(planner, new->replicas[r])->weight += old->weight;
                        if (!rp_holding_has(old, new->replicas[r])) {
                                plan->moves++;
                                plan->weight_moved += old->weight;
                        }
                }
                share_of(planner, old->replicas[0])->leaders_before++;
                share_of(planner, new->replicas[0])->leaders++;
                plan->leader_changes += old->replicas[0] != new->replicas[0];
                plan->changed_cnt += !rp_holding_is_same(old, new);
                plan->crowded_before += is_crowded(planner, old);
                plan->crowded += is_crowded(planner, new);
        }
        for (size_t i = 0; i < plan->broker_cnt; i++)
                if (plan->shares[i].replicas > plan->shares[i].replicas_before)
                        plan->moves_least += plan->shares[i].replicas - plan->shares[i].replicas_before;
        return RP_OK;
}

rp_err_t rp_place_brokers(const struct rp_broker *brokers, size_t broker_cnt, const struct rp_assignment *current,
                          struct rp_placement *plan, struct rp_error *err)
{
        struct planner planner = { .current = current, .plan = plan };
        rp_err_t rc;

        *plan = (struct rp_placement){ 0 };
        for (size_t p = 0; p < current->cnt; p++)
                plan->replica_cnt += (uint64_t)current->items[p].replica_cnt;
        rc = take_brokers(&planner, brokers, broker_cnt, err);
        if (rc == RP_OK)
                rc = check(&planner, err);
        if (rc == RP_OK && current->cnt)
                rc = place_replicas(&planner, err);
        if (rc == RP_OK && current->cnt)
                rc = place_leaders(&planner, err);
        if (rc == RP_OK)
                rc = measure(&planner, err);
        free(planner.brokers);
        free(planner.takers);
        free(planner.broker_of);
        free(planner.rack_sizes);
        free(planner.dues);
        free(planner.leader_dues);
        if (rc != RP_OK)
                rp_placement_release(plan);
        return rc;
}

void rp_placement_release(struct rp_placement *plan)
{
        rp_assignment_release(&plan->next);
        free(plan->shares);
        *plan = (struct rp_placement){ 0 };
}
