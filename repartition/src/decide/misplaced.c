#include "decide/misplaced.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_RECORD_CAP = 64, FIRST_KEY_CAP = 32 };

bool rp_misplaced_init(struct rp_misplaced_table *table, size_t memory_bytes)
{
        *table = (struct rp_misplaced_table){ .memory_bytes = memory_bytes, .record_cap = FIRST_RECORD_CAP,
                                              .key_cap = FIRST_KEY_CAP, .key_slot_cnt = 2 * FIRST_KEY_CAP };
        table->records = malloc(table->record_cap * sizeof(*table->records));
        table->keys = malloc(table->key_cap * sizeof(*table->keys));
        table->key_slots = malloc(table->key_slot_cnt * sizeof(*table->key_slots));
        if (!table->records || !table->keys || !table->key_slots)
                return false;
        rp_misplaced_begin(table, 0, UINT64_MAX);
        return true;
}

void rp_misplaced_release(struct rp_misplaced_table *table)
{
        free(table->records);
        free(table->keys);
        free(table->key_slots);
        free(table->record_slots);
        *table = (struct rp_misplaced_table){ 0 };
}

void rp_misplaced_begin(struct rp_misplaced_table *table, uint64_t low, uint64_t high)
{
        table->low = low;
        table->high = high;
        table->record_cnt = table->key_cnt = 0;
        memset(table->key_slots, 0, table->key_slot_cnt * sizeof(*table->key_slots));
        free(table->record_slots);
        table->record_slots = NULL;
        table->record_slot_cnt = 0;
}

struct rp_digest rp_misplaced_key_id(const void *key, size_t key_len)
{
        XXH128_hash_t hash = XXH3_128bits(key, key_len);

        return (struct rp_digest){ .high = hash.high64, .low = hash.low64 };
}

bool rp_misplaced_covers(const struct rp_misplaced_table *table, struct rp_digest id)
{
        return id.high >= table->low && id.high <= table->high;
}

/* ---- room --------------------------------------------------------------------------------------------------------- */

/* Where the key is, or the empty slot where it would go. */
static uint32_t *probe_key(const struct rp_misplaced_table *table, struct rp_digest id)
{
        uint32_t at = (uint32_t)id.low & (table->key_slot_cnt - 1);

        while (table->key_slots[at] && !rp_digest_equals(table->keys[table->key_slots[at] - 1].id, id))
                at = (at + 1) & (table->key_slot_cnt - 1);
        return &table->key_slots[at];
}

static void index_keys(struct rp_misplaced_table *table)
{
        memset(table->key_slots, 0, table->key_slot_cnt * sizeof(*table->key_slots));
        for (uint32_t i = 0; i < table->key_cnt; i++)
                *probe_key(table, table->keys[i].id) = i + 1;
}

/* A table of slots is at most half full, and less than a quarter only where it is small. */
static uint32_t slots_for(uint32_t cnt)
{
        uint32_t slots = 2 * FIRST_KEY_CAP;

        while (slots < 2 * cnt)
                slots *= 2;
        return slots;
}

/* All that is allocated with these capacities, the index by content included, which is made later. */
static size_t bytes_for(uint32_t record_cap, uint32_t key_cap)
{
        return record_cap * sizeof(struct rp_misplaced) + key_cap * sizeof(struct rp_misplaced_key) +
               ((size_t)slots_for(record_cap) + slots_for(key_cap)) * sizeof(uint32_t);
}

/* Keeps the lower half of the range, and of the lower half the same, until a quarter of the room is free. */
static rp_err_t shrink(struct rp_misplaced_table *table, struct rp_error *err)
{
        do {
                uint32_t *moved_to = table->key_slots; /* scratch: there are at least as many slots as keys */
                uint32_t key_cnt = 0, record_cnt = 0;

                if (table->key_cnt == 1 || table->low == table->high)
                        return rp_fail(err, RP_ERR_FATAL, "one key alone has more than %" PRIu32 " misplaced records, and "
                                       "%zu MiB do not hold them: allow more memory", table->record_cnt,
                                       table->memory_bytes >> 20);
                table->high = table->low + (table->high - table->low) / 2;
                for (uint32_t i = 0; i < table->key_cnt; i++) {
                        moved_to[i] = key_cnt;
                        if (rp_misplaced_covers(table, table->keys[i].id))
                                table->keys[key_cnt++] = table->keys[i];
                        else
                                moved_to[i] = UINT32_MAX;
                }
                for (uint32_t i = 0; i < table->record_cnt; i++) {
                        uint32_t key = moved_to[table->records[i].key];

                        if (key == UINT32_MAX)
                                continue;
                        table->records[record_cnt] = table->records[i];
                        table->records[record_cnt++].key = key;
                }
                table->key_cnt = key_cnt;
                table->record_cnt = record_cnt;
                index_keys(table);
        } while (table->record_cnt > table->record_cap / 4 * 3 || table->key_cnt > table->key_cap / 4 * 3);
        return RP_OK;
}

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory for misplaced records");
}

static rp_err_t grow_records(struct rp_misplaced_table *table, struct rp_error *err)
{
        uint32_t cap = table->record_cap + table->record_cap / 2;
        struct rp_misplaced *grown;

        /* Old and new exist together for a moment. */
        if (cap > UINT32_MAX / 8 || bytes_for(cap, table->key_cap) + table->record_cap * sizeof(*grown) > table->memory_bytes)
                return shrink(table, err);
        grown = realloc(table->records, cap * sizeof(*grown));
        if (!grown)
                return out_of_memory(err);
        table->records = grown;
        table->record_cap = cap;
        return RP_OK;
}

static rp_err_t grow_keys(struct rp_misplaced_table *table, struct rp_error *err)
{
        uint32_t cap = table->key_cap + table->key_cap / 2;
        struct rp_misplaced_key *grown;

        if (cap > UINT32_MAX / 8 || bytes_for(table->record_cap, cap) + table->key_cap * sizeof(*grown) > table->memory_bytes)
                return shrink(table, err);
        grown = realloc(table->keys, cap * sizeof(*grown));
        if (!grown)
                return out_of_memory(err);
        table->keys = grown;
        table->key_cap = cap;
        if (table->key_slot_cnt < slots_for(cap)) {
                uint32_t *slots = malloc(slots_for(cap) * sizeof(*slots));

                if (!slots)
                        return out_of_memory(err);
                free(table->key_slots);
                table->key_slots = slots;
                table->key_slot_cnt = slots_for(cap);
                index_keys(table);
        }
        return RP_OK;
}

/* ---- adding ------------------------------------------------------------------------------------------------------- */

rp_err_t rp_misplaced_add(struct rp_misplaced_table *table, struct rp_digest id, const struct rp_misplaced *record,
                          struct rp_error *err)
{
        uint32_t *slot;

        while (rp_misplaced_covers(table, id) &&
               (table->record_cnt == table->record_cap || table->key_cnt == table->key_cap)) {
                rp_err_t rc = table->record_cnt == table->record_cap ? grow_records(table, err) : grow_keys(table, err);

                if (rc != RP_OK)
                        return rc;
        }
        if (!rp_misplaced_covers(table, id))
                return RP_OK;
        slot = probe_key(table, id);
        if (!*slot) {
                table->keys[table->key_cnt] = (struct rp_misplaced_key){
                        .id = id, .newest_ms = INT64_MIN, .second_ms = INT64_MIN, .tail_ms = INT64_MIN
                };
                *slot = ++table->key_cnt;
        }
        table->records[table->record_cnt] = *record;
        table->records[table->record_cnt++].key = *slot - 1;
        return RP_OK;
}

static int by_place(const void *left, const void *right)
{
        const struct rp_misplaced *a = left, *b = right;

        if (a->partition != b->partition)
                return a->partition < b->partition ? -1 : 1;
        return (a->offset > b->offset) - (a->offset < b->offset);
}

static uint32_t *probe_content(const struct rp_misplaced_table *table, struct rp_digest digest)
{
        uint32_t at = (uint32_t)digest.low & (table->record_slot_cnt - 1);

        while (table->record_slots[at] && !rp_digest_equals(table->records[table->record_slots[at] - 1].digest, digest))
                at = (at + 1) & (table->record_slot_cnt - 1);
        return &table->record_slots[at];
}

rp_err_t rp_misplaced_sort(struct rp_misplaced_table *table, struct rp_error *err)
{
        if (table->record_cnt)
                qsort(table->records, table->record_cnt, sizeof(*table->records), by_place);
        table->record_slot_cnt = slots_for(table->record_cnt);
        table->record_slots = calloc(table->record_slot_cnt, sizeof(*table->record_slots));
        if (!table->record_slots)
                return out_of_memory(err);
        for (uint32_t i = 0; i < table->record_cnt; i++) {
                uint32_t *slot = probe_content(table, table->records[i].digest);

                if (!*slot)
                        *slot = i + 1;
                table->records[i].twin = *slot - 1;
        }
        return RP_OK;
}

/* ---- finding ------------------------------------------------------------------------------------------------------ */

struct rp_misplaced_key *rp_misplaced_find_key(const struct rp_misplaced_table *table, struct rp_digest id)
{
        uint32_t slot = rp_misplaced_covers(table, id) ? *probe_key(table, id) : 0;

        return slot ? &table->keys[slot - 1] : NULL;
}

/* The first record at or behind a place. */
static uint32_t lower_bound(const struct rp_misplaced_table *table, int32_t partition, int64_t offset)
{
        const struct rp_misplaced place = { .partition = partition, .offset = offset };
        uint32_t low = 0, high = table->record_cnt;

        while (low < high) {
                uint32_t mid = low + (high - low) / 2;

                if (by_place(&table->records[mid], &place) < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

struct rp_misplaced *rp_misplaced_find(const struct rp_misplaced_table *table, int32_t partition, int64_t offset)
{
        uint32_t at = lower_bound(table, partition, offset);

        if (at == table->record_cnt || table->records[at].partition != partition || table->records[at].offset != offset)
                return NULL;
        return &table->records[at];
}

struct rp_misplaced *rp_misplaced_find_content(const struct rp_misplaced_table *table, struct rp_digest digest)
{
        uint32_t slot = *probe_content(table, digest);

        return slot ? &table->records[slot - 1] : NULL;
}

uint32_t rp_misplaced_start(const struct rp_misplaced_table *table, int32_t partition)
{
        return lower_bound(table, partition, INT64_MIN);
}
