/* FNV-1a, 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/), with the three sign rules found in Kafka clients. */
#include "hash.h"

static uint32_t fnv1a(const void *key, size_t len)
{
        const unsigned char *byte = key;
        uint32_t h = 0x811c9dc5u;

        while (len-- > 0) {
                h ^= *byte++;
                h *= 0x01000193u;
        }
        return h;
}

/** Sarama's NewHashPartitioner, librdkafka's fnv1a. */
uint64_t kr_fnv1a_abs(const void *key, size_t key_len)
{
        return kr_sign_abs(fnv1a(key, key_len));
}

/** Sarama's NewReferenceHashPartitioner: Java's mask over another hash. */
uint64_t kr_fnv1a_masked(const void *key, size_t key_len)
{
        return kr_sign_mask(fnv1a(key, key_len));
}

/** franz-go's SaramaHasher. */
uint64_t kr_fnv1a_unsigned(const void *key, size_t key_len)
{
        return fnv1a(key, key_len);
}
