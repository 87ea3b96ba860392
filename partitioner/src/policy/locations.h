/** Where partitions live: {"0-11": "site-a", "12-23": "site-b"}. Tells people and pools; never changes a partition. */
#ifndef KR_LOCATIONS_H
#define KR_LOCATIONS_H

#include "json.h"

/** More partitions than any topic has; it keeps counts far from overflow. */
enum { KR_PARTITION_CNT_MAX = 1000000 };

struct kr_location_range {
        int32_t first, last; /* both included */
        char *name;
};

struct kr_locations {
        struct kr_location_range *ranges; /* by rising first, never overlapping */
        size_t cnt;
};

/**
 * Reads the object; absent means none. partition_cnt is the pinned count, 0 when free.
 * Ranges must rise, not overlap, and lie inside a pinned count.
 */
bool kr_locations_parse(struct kr_locations *locations, const struct kr_json *at, int32_t partition_cnt,
                        struct kr_error *err);
void kr_locations_release(struct kr_locations *locations);

/** @returns borrowed, or NULL when no range holds the partition. */
const char *kr_locations_find(const struct kr_locations *locations, int32_t partition);

/** Reads "7" or "0-11" (a rising range of partitions below limit). The error says what is wrong. */
bool kr_partition_range_parse(const char *text, int32_t limit, int32_t *first, int32_t *last,
                              const struct kr_json *at, struct kr_error *err);

#endif
