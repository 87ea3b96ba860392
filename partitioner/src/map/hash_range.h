/** Stretches of the hash value and their partitions: what the maps hash-range and ring become. */
#ifndef KR_HASH_RANGE_H
#define KR_HASH_RANGE_H

#include "map.h"

#define KR_HASH_RANGE_CNT_MAX (1 << 20)

/** A stretch of hash values: from `start` up to where the next one starts. */
struct kr_stretch {
        uint64_t start;
        int32_t owner;
};

/** The largest value that a hash of this width gives. An absolute value's one step above it belongs to the last range. */
static inline uint64_t kr_hash_max(const kr_hash_t *hash)
{
        return hash->bits < 64 ? ((uint64_t)1 << hash->bits) - 1 : UINT64_MAX;
}

/**
 * Fills map->state from stretches in rising order, the first of which starts at 0; neighbours of one owner become one,
 * so that what routes alike has one form. False when memory is out.
 */
bool kr_hash_range_keep(struct kr_map *map, const struct kr_stretch *stretches, size_t cnt, unsigned bits);

/* The rest of the map's row, for ring.c. */
void kr_hash_range_release(struct kr_map *map);
int32_t kr_hash_range_partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt);
void kr_hash_range_canon(const struct kr_map *map, struct kr_canon *canon);
size_t kr_hash_range_memory(const struct kr_map *map);
const uint64_t *kr_hash_range_bounds(const struct kr_map *map, size_t *cnt);
json_t *kr_hash_range_compile(const struct kr_map *map, const struct kr_json *at, bool expand);

#endif
