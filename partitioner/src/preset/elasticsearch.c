/*
 * Elasticsearch and OpenSearch. Two rules go from the hash to the shard, and which one an index has was settled when it
 * was created: the two-step rule with routing shards, of Elasticsearch 7 and 8 and of every OpenSearch, and the plain
 * remainder of Elasticsearch's pull request 137062. Both take Java's floorMod of an int32.
 *
 * The value of the hash is that int32 + 2^31, so the slot of a table is floorMod turned round by 2^31 mod R.
 */
#include "preset.h"

#include "../hash/store.h"

#include <inttypes.h>
#include <string.h>

enum { SHARDS, ROUTING_PARTITION_SIZE, SEPARATOR, ROUTING_SHARDS };

/* shards * 2^k for the largest k that keeps it at most 1024, and k at least 1 (calculateNumRoutingShards). */
static int64_t default_routing_shards(int64_t shards)
{
        int64_t routing_shards = 2 * shards;

        while (2 * routing_shards <= 1024)
                routing_shards *= 2;
        return routing_shards;
}

static int64_t routing_shards_of(const struct kr_preset *preset)
{
        int64_t shards = preset->values[SHARDS].number;

        if (preset->kind == &kr_preset_elasticsearch_new)
                return shards;
        return preset->values[ROUTING_SHARDS].number ? preset->values[ROUTING_SHARDS].number
                                                     : default_routing_shards(shards);
}

static bool settle(struct kr_preset *preset, struct kr_error *err)
{
        int64_t shards = preset->values[SHARDS].number, size = preset->values[ROUTING_PARTITION_SIZE].number;

        preset->bucket_cnt = (int32_t)shards;
        preset->takes_id = size > 1;
        if (routing_shards_of(preset) % shards)
                return kr_preset_fail(preset, err, "routing_shards: expected a multiple of shards, %" PRId64, shards);
        if (size > 1 && size >= shards)
                return kr_preset_fail(preset, err, "routing_partition_size: expected fewer than shards, %" PRId64,
                                      shards);
        return *preset->values[SEPARATOR].text ||
               kr_preset_fail(preset, err, "separator: expected a character or more");
}

static int32_t shard_of_slot(const struct kr_preset *preset, uint32_t slot, int32_t partition_cnt)
{
        int64_t routing_shards = routing_shards_of(preset);
        int64_t turned = (slot + routing_shards - (INT64_C(1) << 31) % routing_shards) % routing_shards;

        return (int32_t)(turned / (routing_shards / partition_cnt));
}

static json_t *rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        if (partition_cnt != preset->bucket_cnt)
                return kr_preset_wrong_count(preset, partition_cnt, err);
        return kr_preset_slots("elasticsearch", (uint32_t)routing_shards_of(preset), shard_of_slot, preset,
                               partition_cnt);
}

/* h(routing) + floorMod(h(_id), size), in 32 bits as Java adds. */
static bool hash_with_id(const struct kr_preset *preset, struct kr_bytes key, uint32_t *hash, struct kr_error *err)
{
        const char *separator = preset->values[SEPARATOR].text;
        size_t separator_len = strlen(separator);
        const unsigned char *cut = key.len ? memmem(key.data, key.len, separator, separator_len) : NULL;
        const unsigned char *id;
        int64_t size = preset->values[ROUTING_PARTITION_SIZE].number, of_id;

        if (!cut)
                return kr_preset_fail(preset, err,
                                      "with routing_partition_size a key is ROUTING%.10s_ID; this one has no \"%.10s\"",
                                      separator, separator);
        id = cut + separator_len;
        of_id = (int32_t)kr_elasticsearch_raw(id, key.len - (size_t)(id - key.data)) % size;
        *hash = kr_elasticsearch_raw(key.data, (size_t)(cut - key.data)) + (uint32_t)(of_id < 0 ? of_id + size : of_id);
        return true;
}

static bool place(const struct kr_preset *preset, struct kr_bytes key, struct kr_placement *placement,
                  struct kr_error *err)
{
        const struct kr_map *map = &preset->rule->map;
        uint32_t hash = preset->takes_id ? 0 : kr_elasticsearch_raw(key.data, key.len);

        if (preset->takes_id && !hash_with_id(preset, key, &hash, err))
                return false;
        placement->bucket = kr_map_partition_of(map, kr_order_signed32(hash), preset->bucket_cnt);
        kr_placement_add(placement, "shard", "%" PRId32, placement->bucket);
        kr_placement_add(placement, "hash", "%" PRId32, (int32_t)hash);
        return true;
}

#define COMMON_PARAMS                                                                            \
        { "shards", NULL, 1, 100000, NULL, "index.number_of_shards" },                           \
                { "routing_partition_size",                                                      \
                  "1",                                                                           \
                  1,                                                                             \
                  100000,                                                                        \
                  NULL,                                                                          \
                  "index.routing_partition_size; above 1 keys are ROUTING:_ID" },                \
        {                                                                                        \
                "separator", ":", 0, 0, NULL, "what stands between routing and _id in such keys" \
        }

static const struct kr_preset_param two_step_params[] = {
        COMMON_PARAMS,
        { "routing_shards", "0", 0, 1 << 24, NULL, "index.number_of_routing_shards; 0: the default for shards" },
        { .name = NULL },
};

static const struct kr_preset_param new_params[] = { COMMON_PARAMS, { .name = NULL } };

const struct kr_preset_kind kr_preset_elasticsearch = {
        .info = { .name = "elasticsearch",
                  .store = "Elasticsearch 7 to its pull request 137062, by _routing or else _id",
                  .prints = "shard, hash",
                  .source = "IndexRouting.java and IndexRoutingTests",
                  .params = two_step_params },
        .settle = settle,
        .rule = rule,
        .place = place,
};

const struct kr_preset_kind kr_preset_opensearch = {
        .info = { .name = "opensearch",
                  .store = "OpenSearch, by _routing or else _id",
                  .prints = "shard, hash",
                  .source = "OperationRouting.java; the rule of Elasticsearch 7",
                  .params = two_step_params },
        .settle = settle,
        .rule = rule,
        .place = place,
};

const struct kr_preset_kind kr_preset_elasticsearch_new = {
        .info = { .name = "elasticsearch-new",
                  .store = "Elasticsearch indices created since its pull request 137062",
                  .prints = "shard, hash",
                  .source = "IndexRouting.java and IndexRoutingTests",
                  .params = new_params },
        .settle = settle,
        .rule = rule,
        .place = place,
};
