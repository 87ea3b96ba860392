/* One row a hash function. Everything that names, lists or explains a function reads this table. */
#include "hash.h"

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
        { "kafka-python-old", kr_kafka_python_old, 31, KR_SPREAD, KR_HASHED,
          "kafka-python up to 0.9.4",
          "kafka-python: upgrade" },
};

const kr_hash_t *kr_hash_at(size_t i)
{
        return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
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
