#include "reference.h"

/* Products modulo 2^32 by way of 64 bits. */
static uint32_t times(uint32_t a, uint32_t b)
{
        return (uint32_t)((uint64_t)a * b % 0x100000000u);
}

uint32_t reference_murmur2(const unsigned char *key, size_t len)
{
        const uint32_t m = 0x5bd1e995u;
        uint32_t h = 0x9747b28cu ^ (uint32_t)len;
        uint32_t word = 0;

        for (size_t i = 0; i < len; i++) {
                word += (uint32_t)key[i] << (8 * (i % 4));
                if (i % 4 == 3) {
                        word = times(word, m);
                        word = times(word ^ word / (1u << 24), m);
                        h = times(h, m) ^ word;
                        word = 0;
                }
        }
        if (len % 4)
                h = times(h ^ word, m);
        h = times(h ^ h / (1u << 13), m);
        return h ^ h / (1u << 15);
}

uint32_t reference_crc32(const unsigned char *key, size_t len)
{
        uint32_t crc = 0xffffffffu;

        for (size_t bit = 0; bit < 8 * len; bit++) {
                uint32_t in = (key[bit / 8] >> (bit % 8)) & 1u;

                crc = ((crc ^ in) & 1u) ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
        return ~crc;
}

uint32_t reference_fnv1a(const unsigned char *key, size_t len)
{
        uint32_t h = 2166136261u;

        for (size_t i = 0; i < len; i++)
                h = times(h ^ key[i], 16777619u);
        return h;
}
