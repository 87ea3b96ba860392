/**
 * Hash functions of databases, caches and engines, for topics that line up with one. Each is a pure function of the
 * key's bytes. Where the store's own hash is signed, the value here keeps its order: see kr_order_signed64().
 *
 * Functions for numbers take 1, 2, 4 or 8 bytes big-endian, as Kafka's serializers write them; a key of another length
 * is no number and is hashed as text is, since a hash function cannot refuse.
 */
#ifndef KR_STORE_H
#define KR_STORE_H

#include <stddef.h>
#include <stdint.h>

/**
 * A signed hash as an unsigned value in the same order: v + 2^31 or v + 2^63. So the ranges of a store's ring, sorted
 * as signed numbers, are ranges of the value too, and floorMod(v, R) is the value's remainder turned round by a
 * constant.
 */
static inline uint64_t kr_order_signed32(uint32_t bits)
{
        return bits ^ 0x80000000u;
}

static inline uint64_t kr_order_signed64(uint64_t bits)
{
        return bits ^ (uint64_t)1 << 63;
}

uint64_t kr_crc16(const void *key, size_t key_len);
uint64_t kr_murmur3_x86_32(const void *key, size_t key_len);
uint64_t kr_murmur3_x86_32_masked(const void *key, size_t key_len);
uint64_t kr_xxhash32(const void *key, size_t key_len);
uint64_t kr_java_string_hash_masked(const void *key, size_t key_len);
uint64_t kr_elasticsearch(const void *key, size_t key_len);
uint64_t kr_cassandra_token(const void *key, size_t key_len);
uint64_t kr_scylla_shard(const void *key, size_t key_len);
uint64_t kr_postgres_text(const void *key, size_t key_len);
uint64_t kr_postgres_number(const void *key, size_t key_len);
uint64_t kr_postgres_partition_text(const void *key, size_t key_len);
uint64_t kr_postgres_partition_number(const void *key, size_t key_len);
uint64_t kr_mongodb_string(const void *key, size_t key_len);
uint64_t kr_mongodb_number(const void *key, size_t key_len);
uint64_t kr_mongodb_double(const void *key, size_t key_len);
uint64_t kr_mongodb_objectid(const void *key, size_t key_len);
uint64_t kr_mongodb_binary(const void *key, size_t key_len);
uint64_t kr_mongodb_uuid(const void *key, size_t key_len);
uint64_t kr_yugabytedb(const void *key, size_t key_len);
uint64_t kr_couchbase(const void *key, size_t key_len);
uint64_t kr_ketama(const void *key, size_t key_len);
uint64_t kr_kinesis(const void *key, size_t key_len);
uint64_t kr_flink_string(const void *key, size_t key_len);
uint64_t kr_flink_number(const void *key, size_t key_len);

/** Elasticsearch's int32 as it is, for the rules that add to it before they reduce it. */
uint32_t kr_elasticsearch_raw(const void *key, size_t key_len);

/** hashtextextended() and hashint8extended(); the low 32 bits with seed 0 are hashtext() and hashint8(). */
uint64_t kr_postgres_bytes_extended(const void *key, size_t key_len, uint64_t seed);
uint64_t kr_postgres_number_extended(uint64_t number, uint64_t seed);

/** BSON's types as MongoDB's comparison order numbers them (canonicalizeBSONType). */
enum kr_mongodb_type {
        KR_MONGODB_MINKEY = -1,
        KR_MONGODB_NUMBER = 10,
        KR_MONGODB_STRING = 15,
        KR_MONGODB_BINDATA = 30,
        KR_MONGODB_OBJECTID = 35,
        KR_MONGODB_BOOL = 40
};

/** @param value  the element's value as it stands in BSON, for every type but numbers */
uint64_t kr_mongodb_value(enum kr_mongodb_type type, const void *value, size_t len);
uint64_t kr_mongodb_bindata(const void *key, size_t key_len, unsigned char subtype);

#endif
