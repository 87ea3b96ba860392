/* MurmurHash3 x86 32 (Austin Appleby, public domain), seed 0, over the bytes of the key. */
#include "hash.h"
#include "murmur3.h"
#include "store.h"

uint64_t kr_murmur3_x86_32(const void *key, size_t key_len)
{
        const unsigned char *data = key;
        uint32_t h = 0;
        size_t at = 0;

        for (; at + 4 <= key_len; at += 4)
                h = kr_murmur3_word(h, kr_load_le32(data + at));
        if (at < key_len)
                h = kr_murmur3_tail(h, (uint32_t)kr_load_le(data + at, key_len - at));
        return kr_murmur3_finish(h, (uint32_t)key_len);
}

/** Pulsar's Murmur3_32Hash: the sign bit cleared. */
uint64_t kr_murmur3_x86_32_masked(const void *key, size_t key_len)
{
        return kr_sign_mask((uint32_t)kr_murmur3_x86_32(key, key_len));
}
