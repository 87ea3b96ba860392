/*
 * YugabyteDB's yb_hash_code(): Bob Jenkins' 64-bit lookup2 with seed 97 over the encoded columns, folded to 16 bits
 * (PartitionSchema::HashColumnCompoundValue). Columns of a fixed width are big-endian and text is raw, which is what
 * Kafka's serializers send, so the key needs no change.
 */
#include "hash.h"
#include "load.h"
#include "store.h"

/* Twelve lines of one pattern; the second of each three shifts left. */
static void mix(uint64_t word[3])
{
        static const unsigned char bits[12] = { 43, 9, 8, 38, 23, 5, 35, 49, 11, 12, 18, 22 };

        for (size_t i = 0; i < 12; i++) {
                uint64_t *to = &word[i % 3], next = word[(i + 1) % 3], last = word[(i + 2) % 3];

                *to -= next;
                *to -= last;
                *to ^= i % 3 == 1 ? last << bits[i] : last >> bits[i];
        }
}

uint64_t kr_yugabytedb(const void *key, size_t key_len)
{
        const unsigned char *data = key;
        uint64_t word[3] = { 0xe08c1d668b756f82u, 0xe08c1d668b756f82u, 97 };
        size_t left = key_len;
        uint64_t h;

        for (; left >= 24; left -= 24, data += 24) {
                for (size_t i = 0; i < 3; i++)
                        word[i] += kr_load_le64(data + 8 * i);
                mix(word);
        }
        /* The lowest byte of the third word belongs to the length: its bytes come in one place higher. */
        word[2] += key_len;
        for (size_t i = 0; i < left; i++)
                word[i / 8] += (uint64_t)data[i] << (8 * (i < 16 ? i % 8 : i - 15));
        mix(word);
        h = word[2];
        return ((h >> 48) ^ (h >> 32) * 3 ^ (h >> 16) * 5 ^ (h & 0xffff) * 7) & 0xffff;
}
