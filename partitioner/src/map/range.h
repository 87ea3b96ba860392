/** Sorted bounds over the routing bytes, in the order of memcmp(): what planners see of the map. */
#ifndef KR_RANGE_H
#define KR_RANGE_H

#include "map.h"

/** @returns how many ranges there are; range 0 starts at the empty key. */
size_t kr_range_cnt(const struct kr_map *map);

/** Where range i starts, borrowed from the map. */
struct kr_bytes kr_range_start(const struct kr_map *map, size_t i);

#endif
