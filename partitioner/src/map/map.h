/** The last step of routing: from a hash value (or the routing bytes) to a partition. One row a kind; map.c. */
#ifndef KR_MAP_H
#define KR_MAP_H

#include "../hash/hash.h"
#include "../key/key.h"
#include "../policy/canon.h"
#include "../policy/json.h"
#include "split.h"

struct kr_map;

/** What a map is read in: the rule around it, and what it may be asked to start from. */
struct kr_map_context {
        int32_t partition_cnt; /* the pinned count, 0 when free */
        const kr_hash_t *hash; /* the rule's; maps that look at parts of the routing bytes hash those with it */
        int depth;             /* how many maps stand around this one ("else") */
        const struct kr_map *current; /* the map in force, from which to move the fewest keys; NULL: none */
        int32_t current_cnt;          /* its partitions */
        const char *no_current;       /* why there is none, when one was asked for: "has no rule for this topic" */
};

struct kr_map_kind {
        const char *name; /* the value of map.kind */
        const char *const *fields;
        /* Reads the kind's own fields; may clear map->takes_hash. NULL when there are none. */
        bool (*parse)(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                      struct kr_error *err);
        void (*release)(struct kr_map *map);
        /*
         * 0 .. partition_cnt - 1, or a KR_ERR_ value. partition_cnt is at least 1 and passed the pin. Pure. *hash is the
         * hash of the bytes when the map takes one, else 0; a map that finds it needs one after all puts it there.
         */
        int32_t (*partition)(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt);
        /* Adds everything that routes, the form included, so that two spellings of one map come out the same. */
        void (*canon)(const struct kr_map *map, struct kr_canon *canon);
        /* Bytes that `state` owns. NULL: none. */
        size_t (*memory)(const struct kr_map *map);
        /*
         * For planners, who compute shares exactly where they can. The partition depends on hash mod period() alone, or
         * on which of the stretches that start at 0 and bounds() holds the hash. Both NULL: on more than the hash.
         */
        uint64_t (*period)(const struct kr_map *map, int32_t partition_cnt);
        const uint64_t *(*bounds)(const struct kr_map *map, size_t *cnt);
        /* How the map takes first parts, and kr_rule_partitions_of_prefix() for one. NULL: they may be anywhere. */
        const struct kr_split *(*split)(const struct kr_map *map);
        int32_t (*of_prefix)(const struct kr_map *map, struct kr_bytes first, int32_t partition_cnt, int32_t *out,
                             int32_t room);
        /*
         * The same map with everything spelled out, as an object that parse() takes; `at` is what it was read from.
         * expand: without any shortening. NULL: the source form is explicit already.
         */
        json_t *(*compile)(const struct kr_map *map, const struct kr_json *at, bool expand);
};

struct kr_map {
        const struct kr_map_kind *kind;
        void *state;     /* the kind's own, released by it */
        bool takes_hash; /* false: *hash need not be computed before partition() */
};

/** Reads the object "map" of a rule; an absent one means {"kind": "modulo"}. */
bool kr_map_parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err);
void kr_map_release(struct kr_map *map);
void kr_map_canon(const struct kr_map *map, struct kr_canon *canon);
size_t kr_map_memory(const struct kr_map *map);

/** The map as an object with everything spelled out, the caller's; NULL when memory is out. `at`: what it came from. */
json_t *kr_map_compile(const struct kr_map *map, const struct kr_json *at, bool expand);

/** The partition of a hash value, by a map that needs no more of a key than that: it has period() or bounds(). */
static inline int32_t kr_map_partition_of(const struct kr_map *map, uint64_t hash, int32_t partition_cnt)
{
        return map->kind->partition(map, (struct kr_bytes){ NULL, 0 }, &hash, partition_cnt);
}

/** As kr_rule_partitions_of_prefix(), for the map alone. `split` says how `first` was taken; NULL: as the map does. */
int32_t kr_map_of_prefix(const struct kr_map *map, const struct kr_split *split, struct kr_bytes first,
                         int32_t partition_cnt, int32_t *out, int32_t room);

/** True when the rule pins its partition count; every map but modulo names partitions and needs that. */
bool kr_map_pinned(const struct kr_json *at, const struct kr_map_context *context, struct kr_error *err);

extern const struct kr_map_kind kr_map_modulo;
extern const struct kr_map_kind kr_map_slots;
extern const struct kr_map_kind kr_map_hash_range;
extern const struct kr_map_kind kr_map_ring;
extern const struct kr_map_kind kr_map_range;
extern const struct kr_map_kind kr_map_table;
extern const struct kr_map_kind kr_map_twolevel;

#endif
