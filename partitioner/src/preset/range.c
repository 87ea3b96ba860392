/* Stores that cut the range of their hash into stretches, or leave it to their operators to do so. */
#include "preset.h"

#include "../hash/load.h"
#include "../hash/md5.h"
#include "../hash/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* Ranges whose starts rise by a rule of the store; NULL with *err when the topic has another number of partitions. */
static json_t *cut(const struct kr_preset *preset, const char *hash,
                   uint64_t (*start)(const struct kr_preset *preset, int32_t i), int32_t partition_cnt,
                   struct kr_error *err)
{
        struct kr_preset_range *ranges;
        json_t *rule;

        if (partition_cnt != preset->bucket_cnt)
                return kr_preset_wrong_count(preset, partition_cnt, err);
        ranges = calloc((size_t)partition_cnt, sizeof(*ranges));
        if (!ranges) {
                kr_preset_fail(preset, err, "out of memory");
                return NULL;
        }
        for (int32_t i = 0; i < partition_cnt; i++)
                ranges[i] = (struct kr_preset_range){ i ? start(preset, i) : 0, i };
        rule = kr_preset_ranges(hash, ranges, (size_t)partition_cnt, partition_cnt);
        free(ranges);
        return rule;
}

/* A preset whose first parameter is the number of stretches, 0 when there are none to tell. */
static bool settle_stretches(struct kr_preset *preset, struct kr_error *err)
{
        (void)err;
        preset->is_ring = !preset->values[0].number;
        preset->bucket_cnt = preset->is_ring ? 1 : (int32_t)preset->values[0].number;
        return true;
}

/* The field is there when the number of stretches was given. */
static void print_stretch(const struct kr_preset *preset, const char *name, const struct kr_routing *routing,
                          struct kr_placement *placement)
{
        if (!preset->is_ring)
                kr_placement_add(placement, name, "%" PRId32, routing->partition);
}

static void print_signed64(struct kr_placement *placement, const char *name, uint64_t ordered)
{
        kr_placement_add(placement, name, "%" PRId64, (int64_t)kr_order_signed64(ordered));
}

/* ---- Cassandra ------------------------------------------------------------------------------------------------- */

static bool cassandra_settle(struct kr_preset *preset, struct kr_error *err)
{
        (void)err;
        preset->is_ring = true;
        return true;
}

static json_t *cassandra_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(preset, "cassandra-token", partition_cnt, err);
}

static void cassandra_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                            struct kr_placement *placement)
{
        (void)preset, (void)key;
        print_signed64(placement, "token", routing->hash);
}

static const struct kr_preset_param no_params[] = { { .name = NULL } };

const struct kr_preset_kind kr_preset_cassandra = {
        .info = { .name = "cassandra",
                  .store = "Apache Cassandra, Murmur3Partitioner",
                  .prints = "token",
                  .source = "Murmur3Partitioner.java; the DataStax drivers for Python and Node",
                  .params = no_params },
        .own_map = true,
        .settle = cassandra_settle,
        .rule = cassandra_rule,
        .print = cassandra_print,
};

/* ---- ScyllaDB -------------------------------------------------------------------------------------------------- */

/* The first hash value of shard i of n: the least v with v * n >= i * 2^64. */
static uint64_t scylla_start(const struct kr_preset *preset, int32_t i)
{
        u128 n = (u128)preset->bucket_cnt;

        return (uint64_t)((((u128)i << 64) + n - 1) / n);
}

static json_t *scylla_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return cut(preset, kr_preset_is(preset, 1, "12") ? "scylla-shard" : "cassandra-token", scylla_start,
                   partition_cnt, err);
}

static void scylla_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                         struct kr_placement *placement)
{
        print_stretch(preset, "shard", routing, placement);
        print_signed64(placement, "token", kr_cassandra_token(key.data, key.len));
}

static const char *const scylla_ignored[] = { "12", "0", NULL };

static const struct kr_preset_param scylla_params[] = {
        { "shards", NULL, 1, 4096, NULL, "shards of the node: its cores that run ScyllaDB" },
        { "ignore_msb", "12", 0, 0, scylla_ignored, "murmur3_partitioner_ignore_msb_bits of the node" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_scylla = {
        .info = { .name = "scylla",
                  .store = "ScyllaDB: the shard inside each node that has the token",
                  .prints = "shard, token",
                  .source = "Sharder::shard_of of the scylla crate; the tokens are Cassandra's",
                  .params = scylla_params },
        .settle = settle_stretches,
        .rule = scylla_rule,
        .print = scylla_print,
};

/* ---- Citus ----------------------------------------------------------------------------------------------------- */

static const char *const citus_types[] = { "text", "number", "uuid", NULL };

/* Shards of equal width, rounded down; the last one takes the rest. */
static uint64_t citus_start(const struct kr_preset *preset, int32_t i)
{
        return (UINT64_C(1) << 32) / (uint64_t)preset->bucket_cnt * (uint64_t)i;
}

static json_t *citus_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return cut(preset, kr_preset_is(preset, 1, "number") ? "postgres-number" : "postgres-text", citus_start,
                   partition_cnt, err);
}

static void citus_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                        struct kr_placement *placement)
{
        (void)key;
        print_stretch(preset, "shard", routing, placement);
        kr_placement_add(placement, "hash", "%" PRId64, (int64_t)routing->hash - INT64_C(0x80000000));
}

static const struct kr_preset_param citus_params[] = {
        { "shards", "32", 1, 64000, NULL, "citus.shard_count when the table was distributed" },
        { "type", "text", 0, 0, citus_types, "the distribution column: text, number (smallint to bigint) or uuid" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_citus = {
        .info = { .name = "citus",
                  .store = "Citus, hash-distributed tables",
                  .prints = "shard (from 0, in the order of shardminvalue), hash",
                  .source = "Citus' create_shards.c; the hashes of PostgreSQL 15",
                  .params = citus_params },
        .settle = settle_stretches,
        .rule = citus_rule,
        .print = citus_print,
};

/* ---- MongoDB --------------------------------------------------------------------------------------------------- */

static const char *const mongodb_types[] = { "text", "number", "double", "objectid", "binary", "uuid", NULL };

/* The i-th split point of an empty hashed collection: multiples of an even width, laid symmetrically round 0. */
static uint64_t mongodb_start(const struct kr_preset *preset, int32_t i)
{
        int64_t cnt = preset->bucket_cnt, width = INT64_MAX / cnt * 2, from_middle = i - cnt / 2;

        /* With an odd number of chunks 0 lies in the middle of one. */
        if (cnt % 2)
                return kr_order_signed64((uint64_t)(i <= cnt / 2 ? -(width / 2 + width * (cnt / 2 - i))
                                                                 : width / 2 + width * (i - cnt / 2 - 1)));
        return kr_order_signed64((uint64_t)(width * from_middle));
}

static json_t *mongodb_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        static const char *const hashes[] = { "mongodb-string",   "mongodb-number", "mongodb-double",
                                              "mongodb-objectid", "mongodb-binary", "mongodb-uuid" };
        size_t type = 0;

        while (!kr_preset_is(preset, 1, mongodb_types[type]))
                type++;
        return cut(preset, hashes[type], mongodb_start, partition_cnt, err);
}

static void mongodb_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                          struct kr_placement *placement)
{
        (void)key;
        print_stretch(preset, "chunk", routing, placement);
        print_signed64(placement, "hash", routing->hash);
}

static const struct kr_preset_param mongodb_params[] = {
        { "chunks", "0", 0, 100000, NULL, "numInitialChunks of a collection whose chunks were not split since" },
        { "type", "text", 0, 0, mongodb_types, "the BSON type of the shard key's value" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_mongodb = {
        .info = { .name = "mongodb",
                  .store = "MongoDB, hashed shard keys and indexes",
                  .prints = "chunk (when chunks is given), hash",
                  .source = "src/mongo/db/hasher.cpp and its test; InitialSplitPolicy",
                  .params = mongodb_params },
        .own_map = true,
        .settle = settle_stretches,
        .rule = mongodb_rule,
        .print = mongodb_print,
};

/* ---- YugabyteDB ------------------------------------------------------------------------------------------------ */

/* PartitionSchema::CreateHashPartitions. */
static uint64_t yugabytedb_start(const struct kr_preset *preset, int32_t i)
{
        return (uint64_t)i * 65536 / (uint64_t)preset->bucket_cnt;
}

static json_t *yugabytedb_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return cut(preset, "yugabytedb", yugabytedb_start, partition_cnt, err);
}

static void yugabytedb_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                             struct kr_placement *placement)
{
        (void)key;
        print_stretch(preset, "tablet", routing, placement);
        kr_placement_add(placement, "hash_code", "%" PRIu64, routing->hash);
}

static const struct kr_preset_param yugabytedb_params[] = {
        { "tablets", "0", 0, 65535, NULL, "tablets that the table was created with, when none was split since" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_yugabytedb = {
        .info = { .name = "yugabytedb",
                  .store = "YugabyteDB, yb_hash_code()",
                  .prints = "tablet (when tablets is given), hash_code",
                  .source = "dockv/partition.cc; expected/yb_hash_code.out",
                  .params = yugabytedb_params },
        .own_map = true,
        .settle = settle_stretches,
        .rule = yugabytedb_rule,
        .print = yugabytedb_print,
};

/* ---- Kinesis --------------------------------------------------------------------------------------------------- */

/* 2^128 / n, rounded down, times i; its upper half, rounded up, since keys are compared by theirs. */
static uint64_t kinesis_start(const struct kr_preset *preset, int32_t i)
{
        u128 n = (u128)preset->bucket_cnt, most = ~(u128)0, start = (most / n + (most % n == n - 1)) * (u128)i;

        return (uint64_t)(start >> 64) + ((uint64_t)start != 0);
}

static json_t *kinesis_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return cut(preset, "kinesis", kinesis_start, partition_cnt, err);
}

static void kinesis_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                          struct kr_placement *placement)
{
        unsigned char digest[KR_MD5_SIZE];
        char text[40] = "", *first = text + sizeof(text) - 1;
        u128 value;

        print_stretch(preset, "shard", routing, placement);
        kr_md5(key.data, key.len, digest);
        value = (u128)kr_load_be(digest, 8) << 64 | kr_load_be(digest + 8, 8);
        do
                *--first = (char)('0' + (int)(value % 10));
        while (value /= 10);
        kr_placement_add_text(placement, "hash_key", first);
}

static const struct kr_preset_param kinesis_params[] = {
        { "shards", "0", 0, 100000, NULL,
          "shards that the stream was created with, when none was split or merged since" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_kinesis = {
        .info = { .name = "kinesis",
                  .store = "Amazon Kinesis Data Streams, by partition key",
                  .prints = "shard (when shards is given), hash_key",
                  .source = "Kinesis API reference; MD5 of RFC 1321",
                  .params = kinesis_params },
        .own_map = true,
        .settle = settle_stretches,
        .rule = kinesis_rule,
        .print = kinesis_print,
};
