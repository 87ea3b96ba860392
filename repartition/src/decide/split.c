#include "decide/split.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOT_CNT = 1024 };

#define IS_SPLIT (UINT32_C(1) << 31)

bool rp_split_init(struct rp_split *split, size_t memory_bytes)
{
        *split = (struct rp_split){ .slot_cnt = FIRST_SLOT_CNT, .slot_max = FIRST_SLOT_CNT, .floor = 1, .limit = UINT64_MAX };
        /* While it grows, the table is there one and a half times. */
        while (3 * split->slot_max * sizeof(*split->slots) <= memory_bytes)
                split->slot_max *= 2;
        split->slots = calloc(split->slot_cnt, sizeof(*split->slots));
        return split->slots;
}

void rp_split_release(struct rp_split *split)
{
        free(split->slots);
        split->slots = NULL;
}

/* The slot of the hash, or the empty one where it would go. The low bits place, the high ones are the range's. */
static struct rp_split_slot *probe(struct rp_split_slot *slots, size_t slot_cnt, uint64_t hash)
{
        size_t at = (size_t)hash & (slot_cnt - 1);

        while (slots[at].hash && slots[at].hash != hash)
                at = (at + 1) & (slot_cnt - 1);
        return &slots[at];
}

/* Moves what is within the limit into a table of that size. */
static bool rebuild(struct rp_split *split, size_t slot_cnt)
{
        struct rp_split_slot *slots = calloc(slot_cnt, sizeof(*slots));

        if (!slots)
                return false;
        split->used = 0;
        for (size_t i = 0; i < split->slot_cnt; i++) {
                const struct rp_split_slot *slot = &split->slots[i];

                if (!slot->hash || slot->hash > split->limit)
                        continue;
                *probe(slots, slot_cnt, slot->hash) = *slot;
                split->used++;
        }
        free(split->slots);
        split->slots = slots;
        split->slot_cnt = slot_cnt;
        return true;
}

/* Three quarters are full: the table grows, or half of the range is left for later. */
static bool make_room(struct rp_split *split)
{
        if (split->slot_cnt < split->slot_max)
                return rebuild(split, 2 * split->slot_cnt);
        while (split->used * 4 >= split->slot_cnt * 3) {
                split->limit = split->floor + (split->limit - split->floor) / 2;
                if (!rebuild(split, split->slot_cnt))
                        return false;
        }
        return true;
}

bool rp_split_add(struct rp_split *split, const void *key, size_t key_len, int32_t partition)
{
        uint64_t hash = XXH3_64bits(key_len ? key : "", key_len);
        struct rp_split_slot *slot;

        hash += hash == 0; /* 0 marks an empty slot */
        if (hash < split->floor || hash > split->limit)
                return true;
        slot = probe(split->slots, split->slot_cnt, hash);
        if (slot->hash) {
                if (slot->partition != partition)
                        slot->cnt |= IS_SPLIT;
                slot->cnt += (slot->cnt & ~IS_SPLIT) < IS_SPLIT - 1;
                return true;
        }
        *slot = (struct rp_split_slot){ .hash = hash, .partition = partition, .cnt = 1 };
        split->used++;
        return split->used * 4 < split->slot_cnt * 3 || make_room(split);
}

bool rp_split_next_pass(struct rp_split *split)
{
        for (size_t i = 0; i < split->slot_cnt; i++) {
                const struct rp_split_slot *slot = &split->slots[i];

                split->keys += slot->hash != 0;
                split->split_keys += slot->cnt >= IS_SPLIT;
                split->split_records += slot->cnt >= IS_SPLIT ? slot->cnt & ~IS_SPLIT : 0;
        }
        split->passes++;
        split->used = 0;
        memset(split->slots, 0, split->slot_cnt * sizeof(*split->slots));
        if (split->limit == UINT64_MAX)
                return false;
        split->floor = split->limit + 1;
        split->limit = UINT64_MAX;
        return true;
}
