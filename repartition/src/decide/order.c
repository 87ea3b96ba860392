#include "decide/order.h"

#include <stdlib.h>
#include <xxhash.h>

enum { FIRST_SLOT_CNT = 1024 };

bool rp_order_init(struct rp_order *order, size_t memory_bytes)
{
        *order = (struct rp_order){ .slot_cnt = FIRST_SLOT_CNT, .memory_bytes = memory_bytes, .limit = UINT64_MAX };
        order->slots = calloc(order->slot_cnt, sizeof(*order->slots));
        return order->slots;
}

void rp_order_release(struct rp_order *order)
{
        free(order->slots);
        *order = (struct rp_order){ 0 };
}

/* The slot of the group, or the empty one where it would go. The low bits place, the high ones are the limit's. */
static struct rp_order_slot *probe(struct rp_order_slot *slots, size_t slot_cnt, uint64_t group)
{
        size_t at = (size_t)group & (slot_cnt - 1);

        while (slots[at].group && slots[at].group != group)
                at = (at + 1) & (slot_cnt - 1);
        return &slots[at];
}

static bool rebuild(struct rp_order *order, size_t slot_cnt)
{
        struct rp_order_slot *slots = calloc(slot_cnt, sizeof(*slots));

        if (!slots)
                return false;
        order->key_cnt = 0;
        for (size_t i = 0; i < order->slot_cnt; i++)
                if (order->slots[i].group && order->slots[i].group <= order->limit) {
                        *probe(slots, slot_cnt, order->slots[i].group) = order->slots[i];
                        order->key_cnt++;
                }
        free(order->slots);
        order->slots = slots;
        order->slot_cnt = slot_cnt;
        return true;
}

/* Doubles the table; where old and new do not fit into the memory together, halves the keys instead. */
static bool make_room(struct rp_order *order)
{
        if (3 * order->slot_cnt * sizeof(*order->slots) <= order->memory_bytes)
                return rebuild(order, 2 * order->slot_cnt);
        order->limit /= 2;
        return rebuild(order, order->slot_cnt);
}

bool rp_order_add(struct rp_order *order, uint64_t group, struct rp_digest digest)
{
        struct rp_order_slot *slot;
        uint64_t link[3];

        if (group > order->limit)
                return true;
        slot = probe(order->slots, order->slot_cnt, group);
        if (!slot->group) {
                if (order->key_cnt * 3 >= order->slot_cnt * 2) {
                        if (!make_room(order))
                                return false;
                        return rp_order_add(order, group, digest);
                }
                slot->group = group;
                order->key_cnt++;
        }
        link[0] = slot->chain;
        link[1] = digest.high;
        link[2] = digest.low;
        slot->chain = XXH3_64bits(link, sizeof(link));
        slot->cnt++;
        return true;
}

const struct rp_order_slot *rp_order_find(const struct rp_order *order, uint64_t group)
{
        const struct rp_order_slot *slot = probe(order->slots, order->slot_cnt, group);

        return slot->group ? slot : NULL;
}

size_t rp_order_compare(const struct rp_order *a, const struct rp_order *b, void (*differs)(void *arg, uint64_t group),
                        void *arg)
{
        uint64_t limit = a->limit < b->limit ? a->limit : b->limit;
        size_t cnt = 0;

        for (size_t i = 0; i < a->slot_cnt; i++) {
                const struct rp_order_slot *mine = &a->slots[i], *other;

                if (!mine->group || mine->group > limit)
                        continue;
                cnt++;
                other = rp_order_find(b, mine->group);
                if (!other || other->chain != mine->chain || other->cnt != mine->cnt)
                        differs(arg, mine->group);
        }
        for (size_t i = 0; i < b->slot_cnt; i++)
                if (b->slots[i].group && b->slots[i].group <= limit && !rp_order_find(a, b->slots[i].group)) {
                        cnt++;
                        differs(arg, b->slots[i].group);
                }
        return cnt;
}

double rp_order_share(const struct rp_order *a, const struct rp_order *b)
{
        return (double)(a->limit < b->limit ? a->limit : b->limit) / (double)UINT64_MAX;
}
