/** The table of hash functions. Inside the core only; applications see kr_hash_find() and friends in keyroute.h. */
#ifndef KR_HASH_H
#define KR_HASH_H

#include "keyroute.h"

struct kr_hash {
        const char *name;
        uint64_t (*value)(const void *key, size_t key_len); /* reduced as the clients reduce it; value % N is theirs */
        unsigned bits; /* values spread evenly below 2^bits; an absolute value reaches 2^31 itself, once in 2^32 */
        kr_keyless_t null_key;
        kr_keyless_t empty_key;
        const char *clients;
        const char *fix;
};

/* One file a function. Formulas and their sources stand there. */
uint64_t kr_murmur2(const void *key, size_t key_len);
uint64_t kr_murmur2_unsigned(const void *key, size_t key_len);
uint64_t kr_murmur2_abs(const void *key, size_t key_len);
uint64_t kr_murmur2_seed0(const void *key, size_t key_len);
uint64_t kr_crc32(const void *key, size_t key_len);
uint64_t kr_crc32_signed_abs(const void *key, size_t key_len);
uint64_t kr_fnv1a_abs(const void *key, size_t key_len);
uint64_t kr_fnv1a_masked(const void *key, size_t key_len);
uint64_t kr_fnv1a_unsigned(const void *key, size_t key_len);
uint64_t kr_kafkajs_legacy(const void *key, size_t key_len);
uint64_t kr_java_string_hash(const void *key, size_t key_len);
uint64_t kr_java_bytes_hash(const void *key, size_t key_len);
uint64_t kr_kafka_python_old(const void *key, size_t key_len);

/* Every sign rule that is in use, each once. They take the 32 bits as the client's int32 sees them. */

/** Java's toPositive: clears the sign bit. */
static inline uint32_t kr_sign_mask(uint32_t hash)
{
        return hash & 0x7fffffffu;
}

/** |int32|, where |INT32_MIN| is 2^31 (Sarama and librdkafka: equal to |h mod N| with the remainder of C and Go). */
static inline uint32_t kr_sign_abs(uint32_t hash)
{
        return hash > 0x80000000u ? 0u - hash : hash;
}

/** |int32|, where INT32_MIN becomes 0 (Kafka's Utils.abs since 0.8.2, Spring Cloud Stream). */
static inline uint32_t kr_sign_abs_min0(uint32_t hash)
{
        return hash == 0x80000000u ? 0 : kr_sign_abs(hash);
}

#endif
