/** Words out of bytes at any alignment, the same on every machine. Compilers turn each into one load. */
#ifndef KR_LOAD_H
#define KR_LOAD_H

#include <stddef.h>
#include <stdint.h>

/** len bytes (at most 8), the first one lowest. */
static inline uint64_t kr_load_le(const unsigned char *data, size_t len)
{
        uint64_t word = 0;

        for (size_t i = 0; i < len; i++)
                word |= (uint64_t)data[i] << (8 * i);
        return word;
}

static inline uint32_t kr_load_le32(const unsigned char *data)
{
        return (uint32_t)kr_load_le(data, 4);
}

static inline uint64_t kr_load_le64(const unsigned char *data)
{
        return kr_load_le(data, 8);
}

/** len bytes (at most 8), the last one lowest. */
static inline uint64_t kr_load_be(const unsigned char *data, size_t len)
{
        uint64_t word = 0;

        for (size_t i = 0; i < len; i++)
                word = word << 8 | data[i];
        return word;
}

/**
 * The whole number in a key of 1, 2, 4 or 8 bytes, big-endian two's complement as Kafka's serializers write it,
 * sign-extended to 64 bits. False for any other length.
 */
static inline int kr_load_number(const void *key, size_t key_len, uint64_t *out)
{
        uint64_t value;

        if (key_len != 1 && key_len != 2 && key_len != 4 && key_len != 8)
                return 0;
        value = kr_load_be(key, key_len);
        if (key_len < 8 && value >> (8 * key_len - 1))
                value |= ~(uint64_t)0 << (8 * key_len);
        *out = value;
        return 1;
}

static inline uint32_t kr_rotate32(uint32_t word, unsigned bits)
{
        return word << bits | word >> (32 - bits);
}

static inline uint64_t kr_rotate64(uint64_t word, unsigned bits)
{
        return word << bits | word >> (64 - bits);
}

#endif
