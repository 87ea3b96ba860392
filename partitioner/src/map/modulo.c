/* hash mod N: what every client in the field does, each with its own hash and sign rule. */
#include "map.h"

static const char *const fields[] = { "kind", NULL };

static int32_t partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        (void)map;
        (void)bytes;
        return (int32_t)(*hash % (uint64_t)partition_cnt);
}

static void canon(const struct kr_map *map, struct kr_canon *canon)
{
        (void)map;
        kr_canon_add(canon, "map=modulo");
}

static uint64_t period(const struct kr_map *map, int32_t partition_cnt)
{
        (void)map;
        return (uint64_t)partition_cnt;
}

const struct kr_map_kind kr_map_modulo = {
        .name = "modulo",
        .fields = fields,
        .partition = partition,
        .canon = canon,
        .period = period,
};
