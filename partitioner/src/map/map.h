/** The last step of routing: from a hash value (or the routing bytes) to a partition. One row a kind; map.c. */
#ifndef KR_MAP_H
#define KR_MAP_H

#include "../key/key.h"
#include "../policy/canon.h"
#include "../policy/json.h"

struct kr_map;

struct kr_map_kind {
        const char *name; /* the value of map.kind */
        const char *const *fields;
        /* Reads the kind's own fields. partition_cnt is the pinned count, 0 when free. NULL when there are none. */
        bool (*parse)(struct kr_map *map, const struct kr_json *at, int32_t partition_cnt, struct kr_error *err);
        void (*release)(struct kr_map *map);
        /* 0 .. partition_cnt - 1, or a KR_ERR_ value. partition_cnt is at least 1 and passed the pin. Pure. */
        int32_t (*partition)(const struct kr_map *map, struct kr_bytes bytes, uint64_t hash, int32_t partition_cnt);
        void (*canon)(const struct kr_map *map, struct kr_canon *canon);
};

struct kr_map {
        const struct kr_map_kind *kind;
        void *state; /* the kind's own, released by it */
};

/** Reads the object "map" of a rule; an absent one means {"kind": "modulo"}. */
bool kr_map_parse(struct kr_map *map, const struct kr_json *at, int32_t partition_cnt, struct kr_error *err);
void kr_map_release(struct kr_map *map);
void kr_map_canon(const struct kr_map *map, struct kr_canon *canon);

extern const struct kr_map_kind kr_map_modulo;

#endif
