/*
 * kafkajs before 2.0 (its LegacyPartitioner since): MurmurHash2 computed in JavaScript's doubles. Each product is
 * rounded to 53 bits before the bit operators cut it to 32, and the word loop counts to length / 4 as a fraction, so a
 * key with a tail takes one more round over its zero-padded tail and then the tail again. Settled by running npm
 * kafkajs 1.16.0; it agrees with Java by chance alone.
 */
#include "hash.h"
#include "murmur2.h"

/* JavaScript's ToInt32 for the whole numbers below 2^63 that occur here. */
static int32_t to_int32(double d)
{
        return (int32_t)(uint32_t)(int64_t)d;
}

static double times_m(int32_t v)
{
        return (double)v * (double)KR_MURMUR2_M;
}

uint64_t kr_kafkajs_legacy(const void *key, size_t key_len)
{
        const unsigned char *data = key;
        int32_t h = (int32_t)(KR_MURMUR2_SEED ^ (uint32_t)key_len);
        const unsigned char *tail;

        for (size_t i = 0; i < key_len; i += 4) {
                uint32_t word = 0;
                int32_t k;

                for (size_t b = 0; b < 4 && i + b < key_len; b++)
                        word |= (uint32_t)data[i + b] << (8 * b);
                k = to_int32(times_m((int32_t)word));
                k ^= (int32_t)((uint32_t)k >> KR_MURMUR2_R);
                h = to_int32(times_m(h)) ^ to_int32(times_m(k));
        }
        tail = key_len ? data + (key_len & ~(size_t)3) : NULL;
        switch (key_len & 3) {
        case 3:
                h ^= (int32_t)tail[2] << 16;
                /* fall through */
        case 2:
                h ^= (int32_t)tail[1] << 8;
                /* fall through */
        case 1:
                h ^= tail[0];
                h = to_int32(times_m(h));
        }
        h ^= (int32_t)((uint32_t)h >> 13);
        h = to_int32(times_m(h));
        h ^= (int32_t)((uint32_t)h >> 15);
        return kr_sign_mask((uint32_t)h);
}
