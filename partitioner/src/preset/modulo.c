/* Stores that number their buckets by hash mod M. */
#include "preset.h"

#include "../hash/store.h"

#include <inttypes.h>

static void print_bucket(const char *name, const struct kr_routing *routing, struct kr_placement *placement)
{
        kr_placement_add(placement, name, "%" PRId32, routing->partition);
}

/* A preset whose first parameter is the number of buckets. */
static bool settle_buckets(struct kr_preset *preset, struct kr_error *err)
{
        (void)err;
        preset->bucket_cnt = (int32_t)preset->values[0].number;
        return true;
}

static const char *const types[] = { "text", "number", "uuid", NULL };

#define TYPE_PARAM                                                                                                   \
        {                                                                                                            \
                "type", "text", 0, 0, types, "what the store's column is: text, number (smallint to bigint) or uuid" \
        }

/* ---- Redis Cluster --------------------------------------------------------------------------------------------- */

enum { REDIS_SLOT_CNT = 16384, REDIS_MASTER_MAX = 1000 /* the specification's own advice */ };

/*
 * The master that owns a slot as redis-cli --cluster create lays them out: stretches of 16384 / N slots, their ends
 * rounded. Its floats are part of the rule.
 */
static int32_t redis_master(const struct kr_preset *preset, uint32_t slot, int32_t master_cnt)
{
        float each = (float)REDIS_SLOT_CNT / (float)master_cnt, cursor = 0;
        int32_t master = 0;

        (void)preset;
        /* lround() of a number that is not negative, without the need for libm in the plugin's host. */
        while (master < master_cnt - 1 && slot > (uint32_t)((double)(cursor + each - 1) + 0.5)) {
                cursor += each;
                master++;
        }
        return master;
}

static bool redis_settle(struct kr_preset *preset, struct kr_error *err)
{
        (void)err;
        preset->bucket_cnt = REDIS_SLOT_CNT;
        return true;
}

static json_t *redis_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        json_t *rule;

        if (partition_cnt > REDIS_MASTER_MAX && partition_cnt != REDIS_SLOT_CNT) {
                kr_preset_fail(preset, err,
                               "expected a partition for each of %d slots, or for each of at most %d masters",
                               REDIS_SLOT_CNT, REDIS_MASTER_MAX);
                return NULL;
        }
        rule = partition_cnt == REDIS_SLOT_CNT
                       ? kr_preset_modulo(preset, "crc16", partition_cnt, err)
                       : kr_preset_slots("crc16", REDIS_SLOT_CNT, redis_master, preset, partition_cnt);
        if (rule)
                json_object_set_new(rule, "key", json_pack("{s:s}", "use", "tag"));
        return rule;
}

static void redis_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                        struct kr_placement *placement)
{
        (void)preset, (void)key;
        print_bucket("slot", routing, placement);
}

static const struct kr_preset_param no_params[] = { { .name = NULL } };

const struct kr_preset_kind kr_preset_redis_cluster = {
        .info = { .name = "redis-cluster",
                  .store = "Redis Cluster, Valkey",
                  .prints = "slot",
                  .source = "Redis Cluster specification; CLUSTER KEYSLOT and redis-cli of redis-server 7.0.15",
                  .params = no_params },
        .own_map = true,
        .settle = redis_settle,
        .rule = redis_rule,
        .print = redis_print,
};

/* ---- Couchbase ------------------------------------------------------------------------------------------------- */

static bool couchbase_settle(struct kr_preset *preset, struct kr_error *err)
{
        int64_t cnt = preset->values[0].number;

        preset->bucket_cnt = (int32_t)cnt;
        return !(cnt & (cnt - 1)) ||
               kr_preset_fail(preset, err, "vbuckets: expected a power of two, found %" PRId64, cnt);
}

static json_t *couchbase_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(preset, "couchbase", partition_cnt, err);
}

static void couchbase_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                            struct kr_placement *placement)
{
        (void)preset, (void)key;
        print_bucket("vbucket", routing, placement);
}

static const struct kr_preset_param couchbase_params[] = {
        { "vbuckets", "1024", 1, 32768, NULL, "vBuckets of the bucket: 1024; with Magma 128 or 1024; on macOS 64" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_couchbase = {
        .info = { .name = "couchbase",
                  .store = "Couchbase",
                  .prints = "vbucket",
                  .source = "libvbucket; a published list of keys with 256 vBuckets",
                  .params = couchbase_params },
        .own_map = true,
        .settle = couchbase_settle,
        .rule = couchbase_rule,
        .print = couchbase_print,
};

/* ---- PostgreSQL ------------------------------------------------------------------------------------------------ */

static json_t *postgres_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(
                preset, kr_preset_is(preset, 1, "number") ? "postgres-partition-number" : "postgres-partition-text",
                partition_cnt, err);
}

static void postgres_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                           struct kr_placement *placement)
{
        uint64_t plain = kr_preset_is(preset, 1, "number") ? kr_postgres_number(key.data, key.len)
                                                           : kr_postgres_text(key.data, key.len);

        print_bucket("remainder", routing, placement);
        kr_placement_add(placement, "hash", "%" PRId64, (int64_t)plain - INT64_C(0x80000000));
}

static const struct kr_preset_param postgres_params[] = {
        { "modulus", NULL, 1, 1000000, NULL, "the MODULUS of the table's partitions" },
        TYPE_PARAM,
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_postgres = {
        .info = { .name = "postgres",
                  .store = "PostgreSQL, PARTITION BY HASH on one column",
                  .prints = "remainder, hash (hashtext, hashint8 or uuid_hash)",
                  .source = "src/common/hashfn.c, partbounds.c; PostgreSQL 15",
                  .params = postgres_params },
        .settle = settle_buckets,
        .rule = postgres_rule,
        .print = postgres_print,
};

/* ---- Flink ----------------------------------------------------------------------------------------------------- */

/* KeyGroupRangeAssignment: the operator that a key group belongs to. */
static int32_t flink_operator(const struct kr_preset *preset, uint32_t key_group, int32_t parallelism)
{
        return (int32_t)((int64_t)key_group * parallelism / preset->bucket_cnt);
}

static bool flink_settle(struct kr_preset *preset, struct kr_error *err)
{
        preset->bucket_cnt = (int32_t)preset->values[0].number;
        return preset->values[1].number <= preset->bucket_cnt ||
               kr_preset_fail(preset, err, "parallelism: expected at most max_parallelism, %" PRId32,
                              preset->bucket_cnt);
}

static json_t *flink_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        const char *hash = kr_preset_is(preset, 2, "number") ? "flink-number" : "flink-string";

        if (partition_cnt < preset->bucket_cnt)
                return kr_preset_slots(hash, (uint32_t)preset->bucket_cnt, flink_operator, preset, partition_cnt);
        return kr_preset_modulo(preset, hash, partition_cnt, err);
}

static void flink_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                        struct kr_placement *placement)
{
        int32_t parallelism = (int32_t)preset->values[1].number;

        (void)key;
        print_bucket("key_group", routing, placement);
        if (parallelism)
                kr_placement_add(placement, "operator", "%" PRId32,
                                 flink_operator(preset, (uint32_t)routing->partition, parallelism));
}

static const char *const flink_types[] = { "text", "number", NULL };

static const struct kr_preset_param flink_params[] = {
        { "max_parallelism", "128", 1, 32768, NULL, "the job's maximum parallelism: the number of key groups" },
        { "parallelism", "0", 0, 32768, NULL, "the operator's parallelism; prints which subtask has the key" },
        { "type", "text", 0, 0, flink_types, "the Java type of the key: text (String) or number (Integer, Long)" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_flink = {
        .info = { .name = "flink",
                  .store = "Apache Flink, keyed state",
                  .prints = "key_group, operator",
                  .source = "MathUtils.murmurHash, KeyGroupRangeAssignment",
                  .params = flink_params },
        .own_map = true,
        .settle = flink_settle,
        .rule = flink_rule,
        .print = flink_print,
};

/* ---- one hash, one modulus ------------------------------------------------------------------------------------- */

static void partition_print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                            struct kr_placement *placement)
{
        (void)preset, (void)key;
        print_bucket("partition", routing, placement);
}

static const char *const pulsar_hashes[] = { "JavaStringHash", "Murmur3_32Hash", NULL };

static json_t *pulsar_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(
                preset, kr_preset_is(preset, 1, "Murmur3_32Hash") ? "murmur3-masked" : "java-string-hash-masked",
                partition_cnt, err);
}

static const struct kr_preset_param pulsar_params[] = {
        { "partitions", NULL, 1, 1000000, NULL, "partitions of the Pulsar topic" },
        { "hash", "JavaStringHash", 0, 0, pulsar_hashes, "the producer's hashingScheme" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_pulsar = {
        .info = { .name = "pulsar",
                  .store = "Apache Pulsar",
                  .prints = "partition",
                  .source = "Pulsar's HashTest",
                  .params = pulsar_params },
        .settle = settle_buckets,
        .rule = pulsar_rule,
        .print = partition_print,
};

static json_t *pinot_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(preset, "murmur2", partition_cnt, err);
}

static const struct kr_preset_param pinot_params[] = {
        { "partitions", NULL, 1, 1000000, NULL, "numPartitions of the column's segmentPartitionConfig" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_pinot = {
        .info = { .name = "pinot",
                  .store = "Apache Pinot's Murmur partition function, over the value as text",
                  .prints = "partition",
                  .source = "Pinot documentation: it is Kafka's rule",
                  .params = pinot_params },
        .settle = settle_buckets,
        .rule = pinot_rule,
        .print = partition_print,
};

static json_t *crc32_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(preset, "crc32", partition_cnt, err);
}

static const struct kr_preset_param cockroachdb_params[] = {
        { "modulus", NULL, 1, 1000000, NULL, "M of mod(crc32ieee(column), M)" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_cockroachdb = {
        .info = { .name = "cockroachdb",
                  .store = "CockroachDB columns computed as mod(crc32ieee(x), M); not its hash-sharded indexes",
                  .prints = "partition",
                  .source = "CRC-32 of IEEE 802.3",
                  .params = cockroachdb_params },
        .settle = settle_buckets,
        .rule = crc32_rule,
        .print = partition_print,
};

static const struct kr_preset_param smartclient_params[] = {
        { "partitions", "30", 1, 1000000, NULL, "partitions that the locations share" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_smartclient = {
        .info = { .name = "smartclient",
                  .store = "SmartClient: CRC-32 mod N; --locations FILE adds the site",
                  .prints = "partition",
                  .source = "CRC-32 of IEEE 802.3",
                  .params = smartclient_params },
        .settle = settle_buckets,
        .rule = crc32_rule,
        .print = partition_print,
};

static json_t *consumer_offsets_rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        return kr_preset_modulo(preset, "java-string-hash", partition_cnt, err);
}

static const struct kr_preset_param consumer_offsets_params[] = {
        { "partitions", "50", 1, 1000000, NULL, "offsets.topic.num.partitions of the cluster" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_consumer_offsets = {
        .info = { .name = "consumer-offsets",
                  .store = "Kafka's __consumer_offsets: the partition, and so the coordinator, of a group id",
                  .prints = "partition",
                  .source = "GroupMetadataManager.partitionFor",
                  .params = consumer_offsets_params },
        .settle = settle_buckets,
        .rule = consumer_offsets_rule,
        .print = partition_print,
};
