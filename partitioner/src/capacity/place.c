#include "apportion.h"

#include "keyroute.h"

#include <stdlib.h>
#include <string.h>

/* Loads times capacities need more than 64 bits, and what is missing is negative. */
__extension__ typedef __int128 wide;

enum { NOWHERE = -1 };

struct placement {
        const uint64_t *capacities;
        size_t location_cnt;
        const uint64_t *weights;
        int32_t *owners;
        size_t partition_cnt;
        uint32_t *order;     /* partitions by falling weight, then rising number */
        uint64_t *loads;     /* by location */
        uint64_t *lightest;  /* by location: its smallest weight above 0; UINT64_MAX when there is none */
        uint64_t *cnts;      /* by location: partitions */
        uint64_t total;      /* of all weights */
        uint64_t capacity;   /* of all locations */
};

/* ---- partitions that count alike ------------------------------------------------------------------------------- */

/*
 * The fewest moves for given quotas: who has too much gives that and no more. The highest partitions go, so that what
 * stays together is one stretch, and receivers are filled by rising number.
 */
static void reassign(int32_t *owners, size_t partition_cnt, const uint64_t *quotas, uint64_t *held, size_t location_cnt)
{
        size_t to = 0;

        for (size_t p = partition_cnt; p-- > 0;) {
                int32_t owner = owners[p];

                if (owner != NOWHERE && held[owner] > quotas[owner]) {
                        held[owner]--;
                        owners[p] = NOWHERE;
                }
        }
        for (size_t p = 0; p < partition_cnt; p++) {
                if (owners[p] != NOWHERE)
                        continue;
                while (to < location_cnt && held[to] >= quotas[to])
                        to++;
                held[to]++;
                owners[p] = (int32_t)to;
        }
}

static bool place_alike(const uint64_t *capacities, size_t location_cnt, int32_t *owners, size_t partition_cnt)
{
        uint64_t *held = calloc(2 * location_cnt, sizeof(*held));
        bool ok;

        if (!held)
                return false;
        for (size_t p = 0; p < partition_cnt; p++)
                if (owners[p] != NOWHERE)
                        held[owners[p]]++;
        ok = kr_apportion(capacities, location_cnt, partition_cnt, held, held + location_cnt);
        if (ok)
                reassign(owners, partition_cnt, held + location_cnt, held, location_cnt);
        free(held);
        return ok;
}

/* ---- partitions with weights ----------------------------------------------------------------------------------- */

/* What a location holds above its due (below: negative), times the sum of the capacities, so that it is a whole number. */
static wide excess(const struct placement *placement, size_t location)
{
        return (wide)placement->loads[location] * placement->capacity -
               (wide)placement->total * placement->capacities[location];
}

static wide scaled(const struct placement *placement, uint64_t weight)
{
        return (wide)weight * placement->capacity;
}

static void find_lightest(struct placement *placement, size_t location)
{
        uint64_t least = UINT64_MAX;

        for (size_t p = 0; p < placement->partition_cnt; p++)
                if (placement->owners[p] == (int32_t)location && placement->weights[p] && placement->weights[p] < least)
                        least = placement->weights[p];
        placement->lightest[location] = least;
}

static void move(struct placement *placement, size_t partition, size_t to)
{
        uint64_t weight = placement->weights[partition];
        int32_t from = placement->owners[partition];

        placement->owners[partition] = (int32_t)to;
        placement->loads[to] += weight;
        placement->cnts[to]++;
        if (weight && weight < placement->lightest[to])
                placement->lightest[to] = weight;
        if (from == NOWHERE)
                return;
        placement->loads[from] -= weight;
        placement->cnts[from]--;
        if (weight == placement->lightest[from])
                find_lightest(placement, (size_t)from);
}

/* The location that lacks most; a tie goes to the one with fewer partitions for its size, then to the lower index. */
static size_t neediest(const struct placement *placement)
{
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < placement->location_cnt; i++) {
                wide d;

                if (!placement->capacities[i])
                        continue;
                if (best == SIZE_MAX) {
                        best = i;
                        continue;
                }
                d = excess(placement, i) - excess(placement, best);
                if (!d)
                        d = (wide)placement->cnts[i] * placement->capacities[best] -
                            (wide)placement->cnts[best] * placement->capacities[i];
                if (d < 0)
                        best = i;
        }
        return best;
}

/* Heaviest first, each to the location that lacks most: so none gets above its due by more than its lightest. */
static void place_homeless(struct placement *placement)
{
        for (size_t i = 0; i < placement->partition_cnt; i++) {
                uint32_t p = placement->order[i];

                if (placement->owners[p] == NOWHERE || !placement->capacities[placement->owners[p]])
                        move(placement, p, neediest(placement));
        }
}

/* The heaviest partition of a location that weighs no more than limit; SIZE_MAX when there is none. */
static size_t heaviest_up_to(const struct placement *placement, size_t location, wide limit)
{
        for (size_t i = 0; i < placement->partition_cnt; i++) {
                uint32_t p = placement->order[i];

                if (placement->owners[p] == (int32_t)location && placement->weights[p] &&
                    scaled(placement, placement->weights[p]) <= limit)
                        return p;
        }
        return SIZE_MAX;
}

static size_t lightest_of(const struct placement *placement, size_t location)
{
        for (size_t p = 0; p < placement->partition_cnt; p++)
                if (placement->owners[p] == (int32_t)location && placement->weights[p] == placement->lightest[location])
                        return p;
        return SIZE_MAX;
}

/*
 * One move from a location that has too much to the one that lacks most, or false when nobody has too much: every
 * location is above its due by less than its lightest partition, and below it by less than the lightest partition of any
 * that is above. The sum of all distances from the due shrinks with each move, so this ends.
 */
static bool improve(struct placement *placement)
{
        size_t to = neediest(placement), from = SIZE_MAX, p = SIZE_MAX;
        wide lack = -excess(placement, to);

        /* Best: a partition that fits on both sides, from the fullest that has one. */
        for (size_t i = 0; i < placement->location_cnt; i++) {
                wide e = excess(placement, i);

                if (e <= 0 || placement->lightest[i] == UINT64_MAX)
                        continue;
                if (scaled(placement, placement->lightest[i]) > e && scaled(placement, placement->lightest[i]) > lack)
                        continue;
                if (from == SIZE_MAX || e > excess(placement, from))
                        from = i;
        }
        if (from == SIZE_MAX)
                return false;
        p = heaviest_up_to(placement, from, lack < excess(placement, from) ? lack : excess(placement, from));
        move(placement, p == SIZE_MAX ? lightest_of(placement, from) : p, to);
        return true;
}

static int by_weight(const void *a, const void *b, void *weights)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        const uint64_t *w = weights;

        if (w[x] != w[y])
                return w[x] > w[y] ? -1 : 1;
        return x < y ? -1 : x > y;
}

static bool place_weighed(struct placement *placement)
{
        size_t location_cnt = placement->location_cnt;
        void *memory = calloc(3 * location_cnt + placement->partition_cnt, sizeof(uint64_t));

        if (!memory)
                return false;
        placement->loads = memory;
        placement->lightest = placement->loads + location_cnt;
        placement->cnts = placement->lightest + location_cnt;
        placement->order = (uint32_t *)(placement->cnts + location_cnt);
        for (size_t i = 0; i < location_cnt; i++) {
                placement->lightest[i] = UINT64_MAX;
                placement->capacity += placement->capacities[i];
        }
        for (size_t p = 0; p < placement->partition_cnt; p++) {
                int32_t owner = placement->owners[p];
                uint64_t weight = placement->weights[p];

                placement->order[p] = (uint32_t)p;
                placement->total += weight;
                if (owner == NOWHERE)
                        continue;
                placement->loads[owner] += weight;
                placement->cnts[owner]++;
                if (weight && weight < placement->lightest[owner])
                        placement->lightest[owner] = weight;
        }
        qsort_r(placement->order, placement->partition_cnt, sizeof(*placement->order), by_weight,
                (void *)placement->weights);
        place_homeless(placement);
        while (improve(placement))
                ;
        free(memory);
        return true;
}

bool kr_place(const uint64_t *capacities, size_t location_cnt, const uint64_t *weights, int32_t *owners,
              size_t partition_cnt)
{
        struct placement placement = { .capacities = capacities,
                                       .location_cnt = location_cnt,
                                       .weights = weights,
                                       .owners = owners,
                                       .partition_cnt = partition_cnt };
        uint64_t total = 0;

        for (size_t p = 0; weights && p < partition_cnt; p++)
                total += weights[p];
        /* Nothing weighs anything: then they count alike. */
        return total ? place_weighed(&placement) : place_alike(capacities, location_cnt, owners, partition_cnt);
}
