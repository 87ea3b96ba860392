/* Open addressing in shards, each in pages of its own from the system, so that what is given back is given back. */
#include "decide/order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

enum { PAGE = 4096, SHARD_BITS = 6 };
_Static_assert(1 << SHARD_BITS == RP_ORDER_SHARDS, "shards are chosen by the lowest bits");

void rp_order_init(struct rp_order *order, rp_order_kind_t kind, size_t memory_bytes, uint64_t max_keys)
{
        *order = (struct rp_order){
                .kind = kind, .limit = UINT64_MAX, .max_keys = max_keys,
                .memory_bytes = memory_bytes < RP_ORDER_MEMORY_MIN ? RP_ORDER_MEMORY_MIN : memory_bytes,
        };
}

static size_t pages_of(uint32_t slot_cnt)
{
        return ((size_t)slot_cnt * sizeof(struct rp_order_slot) + PAGE - 1) / PAGE;
}

static void release_shard(struct rp_order *order, struct rp_order_shard *shard)
{
        if (!shard->slots)
                return;
        munmap(shard->slots, pages_of(shard->slot_cnt) * PAGE);
        order->bytes -= pages_of(shard->slot_cnt) * PAGE;
        *shard = (struct rp_order_shard){ 0 };
}

void rp_order_release(struct rp_order *order)
{
        for (size_t i = 0; i < RP_ORDER_SHARDS; i++)
                release_shard(order, &order->shards[i]);
        order->key_cnt = 0;
}

void rp_order_restart(struct rp_order *order, uint64_t after)
{
        for (size_t i = 0; i < RP_ORDER_SHARDS; i++) {
                struct rp_order_shard *shard = &order->shards[i];

                shard->used = 0;
                if (shard->slots)
                        memset(shard->slots, 0, shard->slot_cnt * sizeof(*shard->slots));
        }
        order->key_cnt = 0;
        order->after = after;
        order->limit = UINT64_MAX;
}

/* The lowest bits choose the shard, those above them the place; the highest ones are the limit's. */
static size_t home(const struct rp_order_shard *shard, uint64_t group)
{
        return (size_t)((group >> SHARD_BITS & UINT32_MAX) * shard->slot_cnt >> 32);
}

/* The slot of the group, or the empty one where it would go. */
static struct rp_order_slot *probe(const struct rp_order_shard *shard, uint64_t group)
{
        size_t at = home(shard, group);

        while (shard->slots[at].group && shard->slots[at].group != group)
                at = at + 1 < shard->slot_cnt ? at + 1 : 0;
        return &shard->slots[at];
}

/* Takes one slot out and closes the gap: whoever stands behind it moves up unless that would be before its home. */
static void take_out(struct rp_order_shard *shard, size_t at)
{
        for (size_t next = at;;) {
                size_t from;

                next = next + 1 < shard->slot_cnt ? next + 1 : 0;
                if (!shard->slots[next].group)
                        break;
                from = home(shard, shard->slots[next].group);
                if (at <= next ? at < from && from <= next : at < from || from <= next)
                        continue;
                shard->slots[at] = shard->slots[next];
                at = next;
        }
        shard->slots[at] = (struct rp_order_slot){ 0 };
        shard->used--;
}

static void halve_keys(struct rp_order *order)
{
        order->limit = order->after + (order->limit - order->after) / 2;
        for (size_t i = 0; i < RP_ORDER_SHARDS; i++) {
                struct rp_order_shard *shard = &order->shards[i];

                for (size_t at = 0; at < shard->slot_cnt; at++)
                        while (shard->slots[at].group > order->limit) {
                                take_out(shard, at);
                                order->key_cnt--;
                        }
        }
}

static bool grow(struct rp_order *order, struct rp_order_shard *shard)
{
        size_t pages = shard->slots ? pages_of(shard->slot_cnt) : 0;
        struct rp_order_shard grown = { 0 };

        pages += pages / 4 ? pages / 4 : 1;
        /* A first page is given to every shard: without it, there would be none to take keys out of. */
        if (shard->slots && order->bytes + pages * PAGE > order->memory_bytes) {
                halve_keys(order);
                return true;
        }
        grown.slots = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (grown.slots == MAP_FAILED)
                return false;
        grown.slot_cnt = (uint32_t)(pages * PAGE / sizeof(*grown.slots));
        grown.used = shard->used;
        order->bytes += pages * PAGE;
        if (order->bytes > order->peak_bytes)
                order->peak_bytes = order->bytes;
        for (size_t i = 0; i < shard->slot_cnt; i++)
                if (shard->slots[i].group)
                        *probe(&grown, shard->slots[i].group) = shard->slots[i];
        release_shard(order, shard);
        *shard = grown;
        return true;
}

/* The group's slot, made if need be. *out is NULL when the group is not kept. false when out of memory. */
static bool find_or_make(struct rp_order *order, uint64_t group, struct rp_order_slot **out)
{
        struct rp_order_shard *shard = &order->shards[group & (RP_ORDER_SHARDS - 1)];

        while (group > order->after && group <= order->limit) {
                struct rp_order_slot *slot = shard->slots ? probe(shard, group) : NULL;

                if (slot && slot->group) {
                        *out = slot;
                        return true;
                }
                if (order->max_keys && order->key_cnt >= order->max_keys) {
                        halve_keys(order);
                } else if (shard->used + 1 > shard->slot_cnt / 5 * 4) {
                        if (!grow(order, shard))
                                return false;
                } else {
                        slot->group = group;
                        shard->used++;
                        order->key_cnt++;
                        *out = slot;
                        return true;
                }
        }
        *out = NULL;
        return true;
}

bool rp_order_add(struct rp_order *order, int side, uint64_t group, struct rp_digest digest, bool is_live)
{
        struct rp_order_slot *slot;
        uint64_t link[3];

        if (!find_or_make(order, group, &slot))
                return false;
        if (!slot)
                return true;
        if (order->kind == RP_ORDER_LATEST && !is_live) {
                slot->value[side] = 0;
                return true;
        }
        link[0] = order->kind == RP_ORDER_CHAIN ? slot->value[side] : 0;
        link[1] = digest.high;
        link[2] = digest.low;
        slot->value[side] = XXH3_64bits(link, sizeof(link));
        slot->value[side] += !slot->value[side];
        return true;
}

bool rp_order_put(struct rp_order *order, const struct rp_order_slot *stored)
{
        struct rp_order_slot *slot;

        if (!find_or_make(order, stored->group, &slot))
                return false;
        if (slot)
                *slot = *stored;
        return true;
}

const struct rp_order_slot *rp_order_next(const struct rp_order *order, uint64_t *cursor)
{
        for (uint64_t i = *cursor >> 32; i < RP_ORDER_SHARDS; i++, *cursor = i << 32)
                for (uint64_t at = *cursor & UINT32_MAX; at < order->shards[i].slot_cnt; at++)
                        if (order->shards[i].slots[at].group) {
                                *cursor = i << 32 | (at + 1);
                                return &order->shards[i].slots[at];
                        }
        return NULL;
}

uint64_t rp_order_compare(const struct rp_order *order, void (*differs)(void *arg, uint64_t group), void *arg)
{
        const struct rp_order_slot *slot;

        for (uint64_t cursor = 0; (slot = rp_order_next(order, &cursor));)
                if (slot->value[0] != slot->value[1])
                        differs(arg, slot->group);
        return order->key_cnt;
}

uint64_t rp_order_sum(const struct rp_order *order, int side, struct rp_digest *sum)
{
        const struct rp_order_slot *slot;
        uint64_t keys = 0;

        for (uint64_t cursor = 0; (slot = rp_order_next(order, &cursor));) {
                uint64_t pair[2] = { slot->group, slot->value[side] };
                XXH128_hash_t hash;

                if (!slot->value[side])
                        continue;
                hash = XXH3_128bits(pair, sizeof(pair));
                rp_digest_add(sum, (struct rp_digest){ .high = hash.high64, .low = hash.low64 });
                keys++;
        }
        return keys;
}
