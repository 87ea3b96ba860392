/** MurmurHash2's building blocks, shared by Java's function and the wrong copies of it that live in the field. */
#ifndef KR_MURMUR2_H
#define KR_MURMUR2_H

#include <stddef.h>
#include <stdint.h>

#define KR_MURMUR2_M    0x5bd1e995u
#define KR_MURMUR2_R    24
#define KR_MURMUR2_SEED 0x9747b28cu /* Kafka's */

/** All words of the key but not its tail. Leaves the number of tail bytes to the caller. */
uint32_t kr_murmur2_body(const unsigned char *data, size_t len, uint32_t seed);

/** The last avalanche: 13, multiply, 15. */
static inline uint32_t kr_murmur2_finish(uint32_t h)
{
        h ^= h >> 13;
        h *= KR_MURMUR2_M;
        return h ^ (h >> 15);
}

#endif
