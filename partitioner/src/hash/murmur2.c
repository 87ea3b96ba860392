/*
 * MurmurHash2, 32 bits, little-endian words, bytes unsigned, the length in bytes mixed in as seed XOR length: the
 * function of org.apache.kafka.common.utils.Utils.murmur2 in Apache Kafka, unchanged since 0.8.2.
 */
#include "hash.h"
#include "murmur2.h"

#include <string.h>

uint32_t kr_murmur2_body(const unsigned char *data, size_t len, uint32_t seed)
{
        uint32_t h = seed ^ (uint32_t)len;

        for (size_t words = len / 4; words > 0; words--, data += 4) {
                uint32_t k;

                /* The key may lie at any address: librdkafka puts it right behind the payload. */
                memcpy(&k, data, sizeof(k));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                k = __builtin_bswap32(k);
#endif
                k *= KR_MURMUR2_M;
                k ^= k >> KR_MURMUR2_R;
                k *= KR_MURMUR2_M;
                h *= KR_MURMUR2_M;
                h ^= k;
        }
        return h;
}

static uint32_t murmur2(const void *key, size_t len, uint32_t seed)
{
        const unsigned char *data = key;
        uint32_t h = len ? kr_murmur2_body(data, len, seed) : seed;
        const unsigned char *tail = len ? data + (len & ~(size_t)3) : NULL;

        switch (len & 3) {
        case 3:
                h ^= (uint32_t)tail[2] << 16;
                /* fall through */
        case 2:
                h ^= (uint32_t)tail[1] << 8;
                /* fall through */
        case 1:
                h ^= tail[0];
                h *= KR_MURMUR2_M;
        }
        return kr_murmur2_finish(h);
}

/** Java's rule: mask, don't abs(). abs(INT32_MIN) stays negative. */
uint64_t kr_murmur2(const void *key, size_t key_len)
{
        return kr_sign_mask(murmur2(key, key_len, KR_MURMUR2_SEED));
}

/** The mask forgotten: librdkafka 0.11.4, kafka_ex's LegacyPartitioner, @platformatic/kafka's default. */
uint64_t kr_murmur2_unsigned(const void *key, size_t key_len)
{
        return murmur2(key, key_len, KR_MURMUR2_SEED);
}

/** Sarama with WithCustomHashFunction(murmur2) and without WithAbsFirst. */
uint64_t kr_murmur2_abs(const void *key, size_t key_len)
{
        return kr_sign_abs(murmur2(key, key_len, KR_MURMUR2_SEED));
}

/** node-sinek before its pull request 43: another seed and no mask. */
uint64_t kr_murmur2_seed0(const void *key, size_t key_len)
{
        return murmur2(key, key_len, 0);
}
