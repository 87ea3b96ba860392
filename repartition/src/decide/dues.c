#include "decide/dues.h"

#include <stdlib.h>

/* A total times a capacity needs more than 64 bits, and so does one fraction against another. */
__extension__ typedef unsigned __int128 wide;

/* Takers among whom one amount is shared in proportion: all racks without a bound together, or one rack at its bound. */
struct pool {
        uint64_t total;
        uint64_t left;     /* of it, for the takers that are not full */
        uint64_t capacity; /* of these */
};

struct sharing {
        const struct rp_taker *takers;
        size_t taker_cnt;
        const struct rp_rack_bounds *racks;
        size_t rack_cnt;
        bool *is_full;     /* by taker */
        bool *is_bound;    /* by rack: has a pool of its own */
        struct pool *pools; /* by rack; the last one is the common pool */
};

static struct pool *pool_of(const struct sharing *sharing, size_t taker)
{
        size_t rack = sharing->takers[taker].rack;

        return &sharing->pools[sharing->is_bound[rack] ? rack : sharing->rack_cnt];
}

static void add_up(struct sharing *sharing)
{
        for (size_t k = 0; k <= sharing->rack_cnt; k++) {
                sharing->pools[k].left = sharing->pools[k].total;
                sharing->pools[k].capacity = 0;
        }
        for (size_t i = 0; i < sharing->taker_cnt; i++) {
                struct pool *pool = pool_of(sharing, i);

                if (sharing->is_full[i])
                        pool->left -= sharing->takers[i].most;
                else
                        pool->capacity += sharing->takers[i].capacity;
        }
}

/* Takers whose proportional share is more than they can take are full, and then the others get more: until none is. */
static void fill(struct sharing *sharing)
{
        bool changed = true;

        while (changed) {
                changed = false;
                add_up(sharing);
                for (size_t i = 0; i < sharing->taker_cnt; i++) {
                        const struct pool *pool = pool_of(sharing, i);

                        if (sharing->is_full[i] || (wide)pool->left * sharing->takers[i].capacity <=
                                                           (wide)sharing->takers[i].most * pool->capacity)
                                continue;
                        sharing->is_full[i] = true;
                        changed = true;
                }
        }
}

/*
 * Racks outside their bounds get a pool of their own. When the surplus of those above outweighs the lack of those below,
 * the others will end with more than now, so only the racks above are certain to stay at their bound; and vice versa.
 */
static bool bind_racks(struct sharing *sharing)
{
        struct pool *common = &sharing->pools[sharing->rack_cnt];
        wide above = 0, below = 0;
        bool changed = false;

        for (int pass = 0; pass < 2; pass++)
                for (size_t k = 0; k < sharing->rack_cnt; k++) {
                        wide share = 0, least = (wide)sharing->racks[k].least * common->capacity,
                             most = (wide)sharing->racks[k].most * common->capacity;
                        bool over, under;

                        if (sharing->is_bound[k])
                                continue;
                        for (size_t i = 0; i < sharing->taker_cnt; i++)
                                if (sharing->takers[i].rack == k)
                                        share += sharing->is_full[i]
                                                         ? (wide)sharing->takers[i].most * common->capacity
                                                         : (wide)common->left * sharing->takers[i].capacity;
                        over = share > most;
                        under = share < least;
                        if (!pass) {
                                above += over ? share - most : 0;
                                below += under ? least - share : 0;
                        } else if (above >= below ? over : under) {
                                sharing->is_bound[k] = changed = true;
                                sharing->pools[k].total = over ? sharing->racks[k].most : sharing->racks[k].least;
                                /* The common pool's capacity stays as it was while this pass compares with it. */
                                common->total -= sharing->pools[k].total;
                        }
                }
        /* Who was full at the old level may not be at the new one. */
        for (size_t i = 0; changed && i < sharing->taker_cnt; i++)
                sharing->is_full[i] = false;
        return changed;
}

static int by_fraction(const void *a, const void *b, void *arg)
{
        const struct rp_due *dues = arg, *x = &dues[*(const uint32_t *)a], *y = &dues[*(const uint32_t *)b];
        wide left = (wide)x->part * y->of, right = (wide)y->part * x->of;

        return left > right ? -1 : left < right;
}

static void rank(struct rp_due *dues, uint32_t *order, size_t cnt)
{
        for (size_t i = 0; i < cnt; i++)
                order[i] = (uint32_t)i;
        qsort_r(order, cnt, sizeof(*order), by_fraction, dues);
        for (size_t i = 0; i < cnt; i++)
                dues[order[i]].rank = i && !by_fraction(&order[i - 1], &order[i], dues) ? dues[order[i - 1]].rank
                                                                                      : (uint32_t)i;
}

bool rp_dues(const struct rp_taker *takers, size_t taker_cnt, const struct rp_rack_bounds *racks, size_t rack_cnt,
             uint64_t total, struct rp_due *dues)
{
        struct sharing sharing = { .takers = takers, .taker_cnt = taker_cnt, .racks = racks, .rack_cnt = rack_cnt };
        uint32_t *order = calloc(taker_cnt, sizeof(*order));
        bool ok;

        sharing.is_full = calloc(taker_cnt, sizeof(bool));
        sharing.is_bound = calloc(rack_cnt + 1, sizeof(bool));
        sharing.pools = calloc(rack_cnt + 1, sizeof(*sharing.pools));
        ok = order && sharing.is_full && sharing.is_bound && sharing.pools;
        if (ok) {
                sharing.pools[rack_cnt].total = total;
                do
                        fill(&sharing);
                while (racks && bind_racks(&sharing));
                for (size_t i = 0; i < taker_cnt; i++) {
                        const struct pool *pool = pool_of(&sharing, i);
                        wide share = (wide)pool->left * takers[i].capacity;

                        dues[i] = sharing.is_full[i]
                                          ? (struct rp_due){ takers[i].most, 0, 1, 0 }
                                          : (struct rp_due){ (uint64_t)(share / pool->capacity),
                                                             (uint64_t)(share % pool->capacity), pool->capacity, 0 };
                }
                rank(dues, order, taker_cnt);
        }
        free(sharing.is_full);
        free(sharing.is_bound);
        free(sharing.pools);
        free(order);
        return ok;
}

uint64_t rp_due_hundredths(const struct rp_due *due)
{
        return due->whole * 100 + (uint64_t)(((wide)due->part * 200 + due->of) / ((wide)due->of * 2));
}
