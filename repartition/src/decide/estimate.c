#include "decide/estimate.h"

#include "decide/chance.h"
#include "decide/growth.h"
#include "decide/rebalance.h"

#include <stdlib.h>
#include <string.h>

/* How even a grown table shall be: full evenness costs far more moves than it is worth. */
static const double TABLE_TARGET = 1.05;

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* What is placed as a whole, and where: one partition a unit. For placements as given, one a row. */
struct placement {
        const struct rp_units *units;
        int32_t *place; /* below 0: refused */
        uint64_t *loads;
        uint64_t total;
};

static void route_units(const struct rp_units *units, const kr_rule_t *rule, int32_t partition_cnt, int32_t *place)
{
        for (size_t i = 0; i < units->cnt; i++)
                place[i] = kr_rule_partition(rule, units->list[i].data, units->list[i].len, partition_cnt);
}

static bool place_all(const struct rp_strategy *strategy, const struct rp_demand *demand, struct placement *placement,
                      struct rp_estimate *estimate)
{
        const struct rp_units *units = strategy->by_group ? rp_demand_groups(demand) : &demand->keys;
        size_t cnt = strategy->place == RP_PLACE_AS_GIVEN ? demand->cnt : units->cnt;

        placement->units = units;
        placement->place = malloc((cnt + 1) * sizeof(*placement->place));
        placement->loads = calloc((size_t)strategy->partition_cnt, sizeof(*placement->loads));
        if (!placement->place || !placement->loads)
                return false;
        if (strategy->place == RP_PLACE_BY_TABLE && !rp_spread(units, strategy->partition_cnt, placement->place))
                return false;
        if (strategy->place == RP_PLACE_BY_RULE)
                route_units(units, strategy->rule, strategy->partition_cnt, placement->place);
        for (size_t i = 0; i < cnt; i++) {
                uint64_t weight = strategy->place == RP_PLACE_AS_GIVEN ? demand->rows[i].weight : units->list[i].weight;

                if (strategy->place == RP_PLACE_AS_GIVEN)
                        placement->place[i] = demand->rows[i].partition;
                if (placement->place[i] < 0) {
                        estimate->refused++;
                        continue;
                }
                placement->loads[placement->place[i]] += weight;
                placement->total += weight;
        }
        return true;
}

/* The sum over what one group's query reads, taken group by group. */
struct reading {
        uint64_t weight;
        double touched, scanned; /* times weight */
        struct rp_estimate *estimate;
};

static void read_group(struct reading *reading, uint64_t weight, int32_t touched, double scanned)
{
        struct rp_estimate *estimate = reading->estimate;

        estimate->touched_max = touched > estimate->touched_max ? touched : estimate->touched_max;
        estimate->scanned_max = scanned > estimate->scanned_max ? scanned : estimate->scanned_max;
        reading->weight += weight;
        reading->touched += (double)touched * (double)weight;
        reading->scanned += scanned * (double)weight;
}

static int by_value(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

/* As given, nothing but the rows themselves tells where a group is: at least there. */
static bool read_as_given(const struct rp_demand *demand, const struct placement *placement, struct reading *reading)
{
        const struct rp_units *groups = rp_demand_groups(demand);
        uint64_t *pairs = malloc((demand->cnt + 1) * sizeof(*pairs));

        if (!pairs)
                return false;
        for (size_t i = 0; i < demand->cnt; i++)
                pairs[i] = (uint64_t)rp_demand_group_of(demand, &demand->rows[i]) << 32 | (uint32_t)placement->place[i];
        qsort(pairs, demand->cnt, sizeof(*pairs), by_value);
        for (size_t i = 0; i < demand->cnt;) {
                uint64_t group = pairs[i] >> 32, load = 0;
                int32_t touched = 0;

                for (; i < demand->cnt && pairs[i] >> 32 == group; i++)
                        if (!i || pairs[i] != pairs[i - 1]) {
                                load += placement->loads[(uint32_t)pairs[i]];
                                touched++;
                        }
                read_group(reading, groups->list[group].weight, touched, (double)load / (double)placement->total);
        }
        free(pairs);
        return true;
}

/* True when the group alone routes to where each of its keys is, so that a query can do the same. */
static bool follows_group(const struct rp_strategy *strategy, const struct rp_demand *demand,
                          const struct placement *placement)
{
        bool has_many = false;

        for (size_t i = 0; i < demand->cnt; i++) {
                const struct rp_row *row = &demand->rows[i];
                const struct rp_unit *group = &demand->groups.list[row->group];

                has_many = has_many || demand->keys.cnt > demand->groups.cnt;
                if (placement->place[row->key] !=
                    kr_rule_partition(strategy->rule, group->data, group->len, strategy->partition_cnt))
                        return false;
        }
        return has_many;
}

static bool read_by_rule(const struct rp_strategy *strategy, const struct rp_demand *demand,
                         const struct placement *placement, struct reading *reading)
{
        const struct rp_units *groups = rp_demand_groups(demand);
        bool is_whole = strategy->by_group || !demand->groups.cnt;
        bool follows = !is_whole && follows_group(strategy, demand, placement);
        int32_t cnt = strategy->partition_cnt, *list = malloc((size_t)cnt * sizeof(*list));

        for (size_t g = 0; list && g < groups->cnt; g++) {
                const struct rp_unit *group = &groups->list[g];
                int32_t touched = cnt;
                uint64_t load = 0;

                if (is_whole) {
                        touched = 1;
                        list[0] = placement->place[g];
                } else if (follows) {
                        touched = 1;
                        list[0] = kr_rule_partition(strategy->rule, group->data, group->len, cnt);
                } else {
                        touched = kr_rule_partitions_of_prefix(strategy->rule, group->data, group->len, cnt, list, cnt);
                }
                if (touched < 0 || list[0] < 0)
                        continue;
                for (int32_t i = 0; i < touched; i++)
                        load += placement->loads[list[i]];
                read_group(reading, group->weight, touched, (double)load / (double)placement->total);
        }
        free(list);
        return list != NULL;
}

/* The table is filled up to evenness again from where its groups are; any other map is asked twice. */
static bool measure_growth(const struct rp_strategy *strategy, const struct placement *placement,
                           struct rp_estimate *estimate)
{
        const struct rp_units *units = placement->units;
        int32_t *place;
        uint64_t moved = 0;
        struct rp_rebalance done;
        bool ok = true;

        estimate->moved = -1;
        if (!strategy->grown_cnt || strategy->place == RP_PLACE_AS_GIVEN ||
            (strategy->place == RP_PLACE_BY_RULE && !strategy->grown))
                return true;
        place = malloc((units->cnt + 1) * sizeof(*place));
        if (!place)
                return false;
        if (strategy->place == RP_PLACE_BY_TABLE) {
                memcpy(place, placement->place, units->cnt * sizeof(*place));
                ok = rp_rebalance_grown(units, strategy->grown_cnt, TABLE_TARGET, place, &done);
        } else {
                route_units(units, strategy->grown, strategy->grown_cnt, place);
        }
        for (size_t i = 0; ok && i < units->cnt; i++)
                moved += placement->place[i] >= 0 && place[i] != placement->place[i] ? units->list[i].weight : 0;
        estimate->moved = (double)moved / (double)placement->total;
        if (strategy->place == RP_PLACE_BY_RULE)
                estimate->moved_hashes =
                        rp_moved_share(strategy->rule, strategy->partition_cnt, strategy->grown, strategy->grown_cnt);
        free(place);
        return ok;
}

static bool measure_chance(const struct rp_strategy *strategy, const struct rp_units *units,
                           struct rp_estimate *estimate)
{
        uint64_t *weights = malloc((units->cnt + 1) * sizeof(*weights));
        bool ok;

        if (!weights)
                return false;
        for (size_t i = 0; i < units->cnt; i++)
                weights[i] = units->list[i].weight;
        estimate->chance = rp_chance_ratio(units->cnt, strategy->partition_cnt);
        ok = rp_chance_simulate(weights, units->cnt, strategy->partition_cnt, &estimate->simulated);
        free(weights);
        return ok;
}

rp_err_t rp_estimate(const struct rp_strategy *strategy, const struct rp_demand *demand, struct rp_estimate *estimate,
                     struct rp_error *err)
{
        struct placement placement = { 0 };
        struct reading reading = { .estimate = estimate };
        uint64_t heaviest, max = 0;
        bool ok;

        *estimate = (struct rp_estimate){ .moved = -1, .moved_hashes = -1 };
        ok = place_all(strategy, demand, &placement, estimate);
        if (ok && placement.total) {
                for (int32_t p = 0; p < strategy->partition_cnt; p++)
                        max = placement.loads[p] > max ? placement.loads[p] : max;
                heaviest = rp_units_heaviest(placement.units);
                estimate->unit_cnt = placement.units->cnt;
                estimate->max_over_mean = (double)max * strategy->partition_cnt / (double)placement.total;
                estimate->heaviest_share = (double)heaviest / (double)demand->total;
                estimate->floor = rp_floor(heaviest, demand->total, strategy->partition_cnt);
                ok = (strategy->place == RP_PLACE_AS_GIVEN ? read_as_given(demand, &placement, &reading)
                                                           : read_by_rule(strategy, demand, &placement, &reading)) &&
                     measure_growth(strategy, &placement, estimate) &&
                     measure_chance(strategy, placement.units, estimate);
                if (reading.weight) {
                        estimate->touched_mean = reading.touched / (double)reading.weight;
                        estimate->scanned_mean = reading.scanned / (double)reading.weight;
                }
        }
        free(placement.place);
        free(placement.loads);
        return ok ? RP_OK : out_of_memory(err);
}
