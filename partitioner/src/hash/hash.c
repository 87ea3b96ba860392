/* One row a hash function. Everything that names, lists or explains a function reads this table. */
#include "hash.h"
#include "store.h"

#include <string.h>

static const struct kr_hash table[] = {
        { "murmur2", kr_murmur2, 31, KR_SPREAD, KR_HASHED,
          "Java, Kafka Streams, ksqlDB, Connect, kafkajs 2, franz-go, kafka-python, aiokafka, librdkafka with murmur2_random",
          "nothing to change: this is Java's rule" },
        { "crc32", kr_crc32, 32, KR_SPREAD, KR_SPREAD,
          "librdkafka's default: Python, Go, .NET, Node, Rust, PHP bindings, kcat, Fluent Bit, Vector; ruby-kafka, swoole",
          "partitioner=murmur2_random   (or plugin.library.paths=keyroute)" },
        { "crc32-signed-abs", kr_crc32_signed_abs, 31, KR_SPREAD, KR_HASHED,
          "Sarama with a custom CRC-32 hash and signed arithmetic",
          "Sarama 1.50+: NewMurmur2Partitioner; older: NewCustomPartitioner(WithAbsFirst(), WithCustomHashFunction(murmur2))" },
        { "fnv1a-abs", kr_fnv1a_abs, 31, KR_SPREAD, KR_HASHED,
          "Sarama's default, CockroachDB changefeeds, Redpanda Connect's kafka output, kafka-go's Hash, librdkafka's fnv1a",
          "Sarama 1.50+: NewMurmur2Partitioner; kafka-go: Murmur2Balancer; librdkafka: partitioner=murmur2_random" },
        { "fnv1a-masked", kr_fnv1a_masked, 31, KR_SPREAD, KR_HASHED,
          "Sarama's NewReferenceHashPartitioner, kafka-go's ReferenceHash, Filebeat",
          "Sarama 1.50+: NewMurmur2Partitioner; kafka-go: Murmur2Balancer" },
        { "fnv1a-unsigned", kr_fnv1a_unsigned, 32, KR_SPREAD, KR_HASHED,
          "franz-go's SaramaHasher, kafka-go's Hash before 0.3.1",
          "franz-go: kgo.StickyKeyPartitioner(nil); kafka-go: Murmur2Balancer" },
        { "murmur2-unsigned", kr_murmur2_unsigned, 32, KR_SPREAD, KR_HASHED,
          "@platformatic/kafka's default, librdkafka 0.11.4, kafka_ex's LegacyPartitioner, Dekaf before its pull request 1401",
          "@platformatic/kafka: partitioner: compatibilityPartitioner; librdkafka: 0.11.5 or newer" },
        { "murmur2-abs", kr_murmur2_abs, 31, KR_SPREAD, KR_HASHED,
          "Sarama with a custom murmur2 and without WithAbsFirst",
          "Sarama: add WithAbsFirst(), or NewMurmur2Partitioner from 1.50" },
        { "murmur2-seed0", kr_murmur2_seed0, 32, KR_SPREAD, KR_HASHED,
          "node-sinek before its pull request 43",
          "node-sinek: upgrade" },
        { "kafkajs-legacy", kr_kafkajs_legacy, 31, KR_SPREAD, KR_HASHED,
          "kafkajs before 2.0, kafkajs 2 with Partitioners.LegacyPartitioner",
          "kafkajs: createPartitioner: Partitioners.JavaCompatiblePartitioner (from 1.8), or upgrade to 2" },
        { "java-string-hash", kr_java_string_hash, 31, KR_REFUSED, KR_HASHED,
          "Spring Cloud Stream with partitionKeyExpression, Maxwell's default, Kafka's Scala producer 0.8 with String keys",
          "Spring Cloud Stream: leave partitionKeyExpression out and set the record key; Maxwell has no such setting" },
        { "java-bytes-hash", kr_java_bytes_hash, 31, KR_SPREAD, KR_HASHED,
          "Kafka's Scala producer 0.8 with ByteArrayPartitioner",
          "use the Java producer" },
        { "kafka-python-old", kr_kafka_python_old, 31, KR_HASHED, KR_HASHED,
          "kafka-python 0.9.4's Murmur2Partitioner (which hashes a NULL key as the text None)",
          "kafka-python: upgrade" },
};

/*
 * Functions of other systems, for topics that line up with one (docs/stores.md). No Kafka client places records by these,
 * so what looks for the client behind a placement skips them: kr_hash_is_client().
 */
#define STORE(name, function, bits, store)                                                                             \
        { name, function, bits, KR_SPREAD, KR_HASHED, store,                                                           \
          "no client's default: a policy that names it aligns a topic with the store" }

static const struct kr_hash stores[] = {
        STORE("crc16", kr_crc16, 16, "Redis Cluster and Valkey: the slot is this modulo 16384"),
        STORE("cassandra-token", kr_cassandra_token, 64, "Cassandra, ScyllaDB: the token + 2^63"),
        STORE("scylla-shard", kr_scylla_shard, 64, "ScyllaDB: (token + 2^63) * 2^12, cut into equal ranges by shard"),
        STORE("elasticsearch", kr_elasticsearch, 32, "Elasticsearch, OpenSearch: murmur3 over UTF-16LE, + 2^31"),
        STORE("postgres-text", kr_postgres_text, 32, "PostgreSQL's hashtext() and uuid_hash(), Citus: + 2^31"),
        STORE("postgres-number", kr_postgres_number, 32, "PostgreSQL's hashint2/4/8(), Citus: + 2^31"),
        STORE("postgres-partition-text", kr_postgres_partition_text, 64, "PostgreSQL's PARTITION BY HASH on text or uuid"),
        STORE("postgres-partition-number", kr_postgres_partition_number, 64,
              "PostgreSQL's PARTITION BY HASH on smallint, integer or bigint"),
        STORE("mongodb-string", kr_mongodb_string, 64, "MongoDB's hashed shard keys, strings: + 2^63"),
        STORE("mongodb-number", kr_mongodb_number, 64, "MongoDB's hashed shard keys, whole numbers: + 2^63"),
        STORE("mongodb-double", kr_mongodb_double, 64, "MongoDB's hashed shard keys, doubles in 8 bytes big-endian: + 2^63"),
        STORE("mongodb-objectid", kr_mongodb_objectid, 64, "MongoDB's hashed shard keys, ObjectIds in 12 bytes: + 2^63"),
        STORE("mongodb-binary", kr_mongodb_binary, 64, "MongoDB's hashed shard keys, binary data of subtype 0: + 2^63"),
        STORE("mongodb-uuid", kr_mongodb_uuid, 64, "MongoDB's hashed shard keys, UUIDs (subtype 4) in 16 bytes: + 2^63"),
        STORE("yugabytedb", kr_yugabytedb, 16, "YugabyteDB's yb_hash_code(): 0 to 65535"),
        STORE("couchbase", kr_couchbase, 15, "Couchbase: the vBucket is this modulo their number"),
        STORE("ketama", kr_ketama, 32, "memcached clients with ketama: a place on the ring of 2^32"),
        STORE("kinesis", kr_kinesis, 64, "Kinesis: the upper 64 bits of the hash key"),
        STORE("flink-string", kr_flink_string, 31, "Flink, String keys: the key group is this modulo the maximum parallelism"),
        STORE("flink-number", kr_flink_number, 31, "Flink, Integer (4 bytes) and Long (8 bytes) keys: as flink-string"),
        STORE("java-string-hash-masked", kr_java_string_hash_masked, 31, "Pulsar's JavaStringHash"),
        STORE("murmur3-masked", kr_murmur3_x86_32_masked, 31, "Pulsar's Murmur3_32Hash"),
        STORE("murmur3-x86-32", kr_murmur3_x86_32, 32, "MurmurHash3 x86 32 with seed 0, unsigned"),
        /* Clients so rare that a placement is more likely to look like theirs by chance than to be theirs. */
        { "xxhash32", kr_xxhash32, 32, KR_SPREAD, KR_SPREAD,
          "kafka-rust (the crate kafka) and its forks rustfs-kafka and kafkang; no audit looks for them",
          "kafka-rust: with_partitioner() and a Partitioner of your own" },
};

enum { CLIENT_CNT = sizeof(table) / sizeof(table[0]), STORE_CNT = sizeof(stores) / sizeof(stores[0]) };

const kr_hash_t *kr_hash_at(size_t i)
{
        if (i < CLIENT_CNT)
                return &table[i];
        return i - CLIENT_CNT < STORE_CNT ? &stores[i - CLIENT_CNT] : NULL;
}

bool kr_hash_is_client(const kr_hash_t *hash)
{
        for (size_t i = 0; i < CLIENT_CNT; i++)
                if (hash == &table[i])
                        return true;
        return false;
}

const kr_hash_t *kr_hash_find(const char *name)
{
        const kr_hash_t *hash;

        for (size_t i = 0; (hash = kr_hash_at(i)); i++)
                if (!strcmp(hash->name, name))
                        return hash;
        return NULL;
}

const char *kr_hash_name(const kr_hash_t *hash)
{
        return hash->name;
}

const char *kr_hash_clients(const kr_hash_t *hash)
{
        return hash->clients;
}

const char *kr_hash_fix(const kr_hash_t *hash)
{
        return hash->fix;
}

kr_keyless_t kr_hash_null_key(const kr_hash_t *hash)
{
        return hash->null_key;
}

kr_keyless_t kr_hash_empty_key(const kr_hash_t *hash)
{
        return hash->empty_key;
}

uint64_t kr_hash_value(const kr_hash_t *hash, const void *key, size_t key_len)
{
        return hash->value(key, key_len);
}
