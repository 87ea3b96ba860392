/** MurmurHash3 x86 32 taken apart, for the stores that feed it something else than the key's bytes. */
#ifndef KR_MURMUR3_H
#define KR_MURMUR3_H

#include "load.h"

/** One word of the input into h. */
static inline uint32_t kr_murmur3_word(uint32_t h, uint32_t word)
{
        h ^= kr_rotate32(word * 0xcc9e2d51u, 15) * 0x1b873593u;
        return kr_rotate32(h, 13) * 5 + 0xe6546b64u;
}

/** The last bytes, fewer than four, as one number; 0 changes nothing, so it may be called without a tail. */
static inline uint32_t kr_murmur3_tail(uint32_t h, uint32_t tail)
{
        return h ^ kr_rotate32(tail * 0xcc9e2d51u, 15) * 0x1b873593u;
}

/** @param len  of the whole input, in bytes */
static inline uint32_t kr_murmur3_finish(uint32_t h, uint32_t len)
{
        h ^= len;
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        return h ^ h >> 16;
}

#endif
