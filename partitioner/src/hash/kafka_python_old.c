/*
 * kafka-python 0.9.4's Murmur2Partitioner, before pull request 439: the tail's cases do not fall through, so of a tail of two or
 * three bytes only the last one counts and the multiply is left out. Keys of length 4n and 4n+1 agree with Java.
 */
#include "hash.h"
#include "murmur2.h"

uint64_t kr_kafka_python_old(const void *key, size_t key_len)
{
        const unsigned char *data = key;
        uint32_t h = key_len ? kr_murmur2_body(data, key_len, KR_MURMUR2_SEED) : KR_MURMUR2_SEED;
        const unsigned char *tail = key_len ? data + (key_len & ~(size_t)3) : NULL;

        switch (key_len & 3) {
        case 3:
                h ^= (uint32_t)tail[2] << 16;
                break;
        case 2:
                h ^= (uint32_t)tail[1] << 8;
                break;
        case 1:
                h ^= tail[0];
                h *= KR_MURMUR2_M;
        }
        return kr_sign_mask(kr_murmur2_finish(h));
}
