#include "decide/rebalance.h"

#include <stdlib.h>
#include <string.h>

/* qsort() takes no context; ranks are short-lived and hold what they are sorted by. */
struct ranked {
        const struct rp_unit *unit;
        uint32_t number;
};

static int by_rank(const void *a, const void *b)
{
        const struct ranked *x = a, *y = b;

        return rp_unit_compare(x->unit, y->unit);
}

static struct ranked *rank_units(const struct rp_units *units)
{
        struct ranked *ranked = malloc((units->cnt + 1) * sizeof(*ranked));

        for (size_t i = 0; ranked && i < units->cnt; i++)
                ranked[i] = (struct ranked){ &units->list[i], (uint32_t)i };
        if (ranked)
                qsort(ranked, units->cnt, sizeof(*ranked), by_rank);
        return ranked;
}

/* A heap of partitions, the emptiest on top; of equally full ones the lowest number. */
struct bin {
        uint64_t load;
        int32_t partition;
};

static bool is_before(const struct bin *a, const struct bin *b)
{
        return a->load < b->load || (a->load == b->load && a->partition < b->partition);
}

static void sink_top(struct bin *heap, size_t cnt)
{
        struct bin top = heap[0];
        size_t at = 0;

        for (size_t child; (child = 2 * at + 1) < cnt; at = child) {
                if (child + 1 < cnt && is_before(&heap[child + 1], &heap[child]))
                        child++;
                if (!is_before(&heap[child], &top))
                        break;
                heap[at] = heap[child];
        }
        heap[at] = top;
}

bool rp_spread(const struct rp_units *units, int32_t partition_cnt, int32_t *place)
{
        struct ranked *ranked = rank_units(units);
        struct bin *heap = malloc((size_t)partition_cnt * sizeof(*heap));

        if (ranked && heap) {
                for (int32_t p = 0; p < partition_cnt; p++)
                        heap[p] = (struct bin){ 0, p };
                for (size_t i = 0; i < units->cnt; i++) {
                        place[ranked[i].number] = heap[0].partition;
                        heap[0].load += ranked[i].unit->weight;
                        sink_top(heap, (size_t)partition_cnt);
                }
        }
        free(ranked);
        free(heap);
        return ranked && heap;
}

void rp_loads(const struct rp_units *units, const int32_t *place, int32_t partition_cnt, uint64_t *loads)
{
        memset(loads, 0, (size_t)partition_cnt * sizeof(*loads));
        for (size_t i = 0; i < units->cnt; i++)
                loads[place[i]] += units->list[i].weight;
}

double rp_floor(uint64_t heaviest, uint64_t total, int32_t partition_cnt)
{
        double floor = total ? (double)heaviest * partition_cnt / (double)total : 1;

        return floor > 1 ? floor : 1;
}

/* The groups of one partition by rank, the heaviest first. */
struct shelf {
        uint32_t *ranks;
        size_t cnt, size;
        bool is_closed; /* it has no group that fits anywhere */
};

static bool put(struct shelf *shelf, uint32_t rank)
{
        size_t low = 0, high = shelf->cnt;

        if (shelf->cnt == shelf->size) {
                size_t size = shelf->size ? 2 * shelf->size : 16;
                uint32_t *ranks = realloc(shelf->ranks, size * sizeof(*ranks));

                if (!ranks)
                        return false;
                shelf->ranks = ranks;
                shelf->size = size;
        }
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (shelf->ranks[middle] < rank)
                        low = middle + 1;
                else
                        high = middle;
        }
        memmove(shelf->ranks + low + 1, shelf->ranks + low, (shelf->cnt - low) * sizeof(*shelf->ranks));
        shelf->ranks[low] = rank;
        shelf->cnt++;
        return true;
}

/* Takes the heaviest group below `limit` off the shelf; false when there is none, or none that weighs anything. */
static bool take_below(struct shelf *shelf, const struct ranked *ranked, uint64_t limit, uint32_t *rank)
{
        size_t low = 0, high = shelf->cnt;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (ranked[shelf->ranks[middle]].unit->weight >= limit)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == shelf->cnt || !ranked[shelf->ranks[low]].unit->weight)
                return false;
        *rank = shelf->ranks[low];
        shelf->cnt--;
        memmove(shelf->ranks + low, shelf->ranks + low + 1, (shelf->cnt - low) * sizeof(*shelf->ranks));
        return true;
}

/*
 * goes_on: a partition that cannot give is closed, not the end, and the target is for the others. It never could later,
 * since the emptiest only gets fuller.
 */
static bool move_all(const struct ranked *ranked, struct shelf *shelves, uint64_t *loads, int32_t partition_cnt,
                     double target, bool goes_on, int32_t *place, struct rp_rebalance *result)
{
        for (;;) {
                int32_t full = -1, empty = 0, open_cnt = 0;
                uint64_t open = 0;
                uint32_t rank;

                for (int32_t p = 0; p < partition_cnt; p++) {
                        empty = loads[p] < loads[empty] ? p : empty;
                        if (shelves[p].is_closed)
                                continue;
                        full = full < 0 || loads[p] > loads[full] ? p : full;
                        open += loads[p];
                        open_cnt++;
                }
                if (full < 0 || (double)loads[full] * open_cnt <= target * (double)open)
                        return true;
                /* Every move brings two loads closer together, so this ends. */
                if (!take_below(&shelves[full], ranked, loads[full] - loads[empty], &rank)) {
                        result->is_stuck = true;
                        shelves[full].is_closed = true;
                        if (goes_on)
                                continue;
                        return true;
                }
                if (!put(&shelves[empty], rank))
                        return false;
                loads[full] -= ranked[rank].unit->weight;
                loads[empty] += ranked[rank].unit->weight;
                place[ranked[rank].number] = empty;
                result->move_cnt++;
                result->moved += ranked[rank].unit->weight;
        }
}

static bool rebalance(const struct rp_units *units, int32_t partition_cnt, double target, bool goes_on, int32_t *place,
                      struct rp_rebalance *result)
{
        struct ranked *ranked = rank_units(units);
        struct shelf *shelves = calloc((size_t)partition_cnt, sizeof(*shelves));
        uint64_t *loads = calloc((size_t)partition_cnt, sizeof(*loads));
        bool ok = ranked && shelves && loads;

        *result = (struct rp_rebalance){ 0 };
        for (size_t r = 0; ok && r < units->cnt; r++) {
                ok = put(&shelves[place[ranked[r].number]], (uint32_t)r);
                result->total += ranked[r].unit->weight;
        }
        if (ok) {
                rp_loads(units, place, partition_cnt, loads);
                for (int32_t p = 0; p < partition_cnt; p++)
                        result->max_before = loads[p] > result->max_before ? loads[p] : result->max_before;
                ok = move_all(ranked, shelves, loads, partition_cnt, target, goes_on, place, result);
        }
        for (int32_t p = 0; ok && p < partition_cnt; p++)
                result->max_after = loads[p] > result->max_after ? loads[p] : result->max_after;
        for (int32_t p = 0; shelves && p < partition_cnt; p++)
                free(shelves[p].ranks);
        free(ranked);
        free(shelves);
        free(loads);
        return ok;
}

bool rp_rebalance(const struct rp_units *units, int32_t partition_cnt, double target, int32_t *place,
                  struct rp_rebalance *result)
{
        return rebalance(units, partition_cnt, target, false, place, result);
}

bool rp_rebalance_grown(const struct rp_units *units, int32_t partition_cnt, double target, int32_t *place,
                        struct rp_rebalance *result)
{
        return rebalance(units, partition_cnt, target, true, place, result);
}
