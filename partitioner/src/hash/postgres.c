/*
 * PostgreSQL's hash functions: a variant of Bob Jenkins' lookup3 (public domain) over little-endian words, from 10.0 on
 * unchanged (src/common/hashfn.c). hashtext() and uuid_hash() hash bytes, hashint2/4/8() hash numbers so that equal
 * ones of any width agree. Citus cuts the range of these int32 into shards.
 *
 * The extended functions give 64 bits and take a seed. PARTITION BY HASH uses them with a fixed seed and adds a fixed
 * number: hash_combine64() with an empty accumulator, for a partition key of one column.
 */
#include "hash.h"
#include "load.h"
#include "store.h"

#define PARTITION_SEED 0x7a5b22367996dcfdu
#define PARTITION_COMBINE 0x49a0f4dd15e5a8e3u

/* lookup3's state. Each of its lines says the same about the next of the three words, so they are a loop here. */
struct state {
        uint32_t word[3];
};

static void mix(struct state *s)
{
        static const unsigned char bits[6] = { 4, 6, 8, 16, 19, 4 };

        for (size_t i = 0; i < 6; i++) {
                uint32_t *a = &s->word[i % 3], *b = &s->word[(i + 1) % 3], *c = &s->word[(i + 2) % 3];

                *a -= *c;
                *a ^= kr_rotate32(*c, bits[i]);
                *c += *b;
        }
}

static void finish(struct state *s)
{
        static const unsigned char bits[7] = { 14, 11, 25, 16, 4, 14, 24 };

        for (size_t i = 0; i < 7; i++) {
                uint32_t *to = &s->word[(i + 2) % 3], from = s->word[(i + 1) % 3];

                *to ^= from;
                *to -= kr_rotate32(from, bits[i]);
        }
}

static struct state start(size_t len, uint64_t seed)
{
        uint32_t h = 0x9e3779b9u + (uint32_t)len + 3923095u;
        struct state s = { { h, h, h } };

        if (seed) {
                s.word[0] += (uint32_t)(seed >> 32);
                s.word[1] += (uint32_t)seed;
                mix(&s);
        }
        return s;
}

/* The 64 bits of the extended functions; the plain ones are the low half. */
static uint64_t result(const struct state *s)
{
        return (uint64_t)s->word[1] << 32 | s->word[2];
}

uint64_t kr_postgres_bytes_extended(const void *key, size_t key_len, uint64_t seed)
{
        const unsigned char *data = key;
        struct state s = start(key_len, seed);
        size_t left = key_len;

        for (; left >= 12; left -= 12, data += 12) {
                for (size_t i = 0; i < 3; i++)
                        s.word[i] += kr_load_le32(data + 4 * i);
                mix(&s);
        }
        for (size_t i = 0; i < left; i++) {
                /* The lowest byte of the third word belongs to the length: its bytes come in one place higher. */
                size_t place = i < 8 ? i % 4 : i - 7;

                s.word[i / 4] += (uint32_t)data[i] << (8 * place);
        }
        finish(&s);
        return result(&s);
}

uint64_t kr_postgres_number_extended(uint64_t number, uint64_t seed)
{
        uint32_t low = (uint32_t)number, high = (uint32_t)(number >> 32);
        struct state s = start(sizeof(uint32_t), seed);

        /* hashint8: the high half folded in so that a value which fits into an int4 hashes as it does there. */
        s.word[0] += low ^ (number >> 63 ? ~high : high);
        finish(&s);
        return result(&s);
}

static uint64_t number_or_bytes(const void *key, size_t key_len, uint64_t seed)
{
        uint64_t number;

        return kr_load_number(key, key_len, &number) ? kr_postgres_number_extended(number, seed)
                                                     : kr_postgres_bytes_extended(key, key_len, seed);
}

uint64_t kr_postgres_text(const void *key, size_t key_len)
{
        return kr_order_signed32((uint32_t)kr_postgres_bytes_extended(key, key_len, 0));
}

uint64_t kr_postgres_number(const void *key, size_t key_len)
{
        return kr_order_signed32((uint32_t)number_or_bytes(key, key_len, 0));
}

uint64_t kr_postgres_partition_text(const void *key, size_t key_len)
{
        return kr_postgres_bytes_extended(key, key_len, PARTITION_SEED) + PARTITION_COMBINE;
}

uint64_t kr_postgres_partition_number(const void *key, size_t key_len)
{
        return number_or_bytes(key, key_len, PARTITION_SEED) + PARTITION_COMBINE;
}
