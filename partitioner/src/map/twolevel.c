/*
 * start = H(first part) mod N, offset = H(rest) mod fanout, partition = (start + offset) mod N, with the rule's hash H and
 * the empty rest hashed like any other. So the keys of one first part share `fanout` partitions: with 1 the first part
 * alone routes, with N the whole key does. (Elasticsearch's index.routing_partition_size is the same idea.)
 */
#include "map.h"

#include <stdlib.h>

struct twolevel {
        const kr_hash_t *hash;
        struct kr_split split;
        int32_t fanout;
};

static const char *const fields[] = { "kind", "fanout", KR_SPLIT_FIELDS, NULL };

static int32_t partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        const struct twolevel *two = map->state;
        struct kr_bytes first, rest;
        uint64_t start, offset;

        (void)hash;
        kr_split(&two->split, bytes, &first, &rest);
        start = two->hash->value(first.data, first.len) % (uint64_t)partition_cnt;
        offset = two->hash->value(rest.data, rest.len) % (uint64_t)two->fanout;
        return (int32_t)((start + offset) % (uint64_t)partition_cnt);
}

static const struct kr_split *split(const struct kr_map *map)
{
        return &((const struct twolevel *)map->state)->split;
}

static int32_t of_prefix(const struct kr_map *map, struct kr_bytes first, int32_t partition_cnt, int32_t *out,
                         int32_t room)
{
        const struct twolevel *two = map->state;
        uint64_t start = two->hash->value(first.data, first.len) % (uint64_t)partition_cnt;

        for (int32_t i = 0; i < two->fanout && i < room; i++)
                out[i] = (int32_t)((start + (uint64_t)i) % (uint64_t)partition_cnt);
        return two->fanout;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        struct kr_json fanout_at = kr_json_member(at, "fanout");
        struct twolevel *two = calloc(1, sizeof(*two));
        int64_t fanout;

        map->state = two;
        map->takes_hash = false;
        if (!two)
                return kr_json_fail(at, err, "out of memory");
        if (!kr_map_pinned(at, context, err))
                return false;
        if (!fanout_at.value)
                return kr_json_fail(at, err, "\"fanout\" is missing: over how many partitions the keys of one first part "
                                             "are spread");
        if (!kr_json_integer(&fanout_at, 1, context->partition_cnt, &fanout, err))
                return false;
        two->fanout = (int32_t)fanout;
        two->hash = context->hash;
        return kr_split_parse(&two->split, at, err);
}

static void release(struct kr_map *map)
{
        free(map->state);
}

static void canon(const struct kr_map *map, struct kr_canon *canon)
{
        const struct twolevel *two = map->state;

        kr_canon_add(canon, "map=two-level %d", (int)two->fanout);
        kr_split_canon(&two->split, canon);
}

static size_t memory(const struct kr_map *map)
{
        (void)map;
        return sizeof(struct twolevel);
}

const struct kr_map_kind kr_map_twolevel = {
        .name = "two-level",
        .fields = fields,
        .parse = parse,
        .release = release,
        .partition = partition,
        .split = split,
        .of_prefix = of_prefix,
        .canon = canon,
        .memory = memory,
};
