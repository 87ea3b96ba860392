/** The search in a table of pinned keys, apart so that it stands inside the routing function it serves. */
#ifndef KR_TABLE_SEARCH_H
#define KR_TABLE_SEARCH_H

#include "table.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define XXH_INLINE_ALL /* header only: the plugin must not need one more library in its host */
#include <xxhash.h>

#define KR_TABLE_LIST_BIT 0x80000000u

/**
 * 64 bits of hash, and beside them the length and the last bytes as they are: two keys must agree in all of that to be
 * taken for one. A hash of twice the width would say as much, and cost the search more than its cache miss does.
 */
static inline struct kr_table_entry kr_table_hash(struct kr_bytes key)
{
        uint64_t hash = XXH3_64bits(key.data, key.len);
        uint32_t tail = 0;

        if (key.len >= sizeof(tail))
                memcpy(&tail, key.data + key.len - sizeof(tail), sizeof(tail));
        else if (key.len)
                memcpy(&tail, key.data, key.len);
        tail ^= (uint32_t)key.len * 0x9e3779b1u;
        return (struct kr_table_entry){ .high = (hash & ~(uint64_t)UINT32_MAX) | tail, .low = (uint32_t)hash };
}

/** By the upper half of the hash, spread over the buckets without a division. */
static inline uint64_t kr_table_bucket_of(const struct kr_table *table, uint64_t high)
{
        return (high >> 32) * table->bucket_cnt >> 32;
}

static inline uint64_t kr_table_next_bucket(const struct kr_table *table, uint64_t at)
{
        return at + 1 < table->bucket_cnt ? at + 1 : 0;
}

/** A bit for each of the four that is equal. Counted out, not branched on: which one it is cannot be predicted. */
static inline unsigned kr_table_matches(const struct kr_table_bucket *bucket, uint32_t low)
{
#if defined(__SSE2__)
        __m128i four = _mm_load_si128((const __m128i *)(const void *)bucket->low);

        return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, _mm_set1_epi32((int)low))));
#else
        unsigned mask = 0;

        for (unsigned i = 0; i < 4; i++)
                mask |= (unsigned)(bucket->low[i] == low) << i;
        return mask;
#endif
}

/** The target of the entry with that hash, or 0. */
static inline __attribute__((always_inline)) uint32_t kr_table_search(const struct kr_table *table, uint64_t high,
                                                                      uint32_t low)
{
        for (uint64_t b = kr_table_bucket_of(table, high);; b = kr_table_next_bucket(table, b)) {
                const struct kr_table_bucket *bucket = &table->buckets[b];

                for (unsigned mask = kr_table_matches(bucket, low); mask; mask &= mask - 1) {
                        int i = __builtin_ctz(mask);

                        if (bucket->high[i] == high && bucket->target[i])
                                return bucket->target[i];
                }
                if (!bucket->target[3])
                        return 0;
        }
}

/** As kr_table_find(), for a target. */
static inline int32_t kr_table_partition(const struct kr_table *table, uint32_t target, const int32_t **list)
{
        if (!(target & KR_TABLE_LIST_BIT))
                return (int32_t)target - 1; /* KR_TABLE_NONE, when there is no target */
        *list = table->lists + (target & ~KR_TABLE_LIST_BIT);
        return KR_TABLE_LIST;
}

/**
 * The partition of a key; KR_TABLE_LIST with *list, when it has several: their count, then the partitions, borrowed;
 * or KR_TABLE_NONE. Pure, allocates nothing.
 */
static inline int32_t kr_table_find(const struct kr_table *table, struct kr_bytes key, const int32_t **list)
{
        struct kr_table_entry entry = kr_table_hash(key);

        return kr_table_partition(table, kr_table_search(table, entry.high, entry.low), list);
}

#endif
