/*
 * Cassandra's Murmur3Partitioner and ScyllaDB: MurmurHash3 x64 128, seed 0, its first 64 bits as a signed number, the
 * token. Two quirks of Cassandra's Java are part of the function: the bytes of the tail are sign-extended before they
 * are shifted, and Long.MIN_VALUE, kept for the start of the ring, becomes Long.MAX_VALUE; only the empty key has it.
 */
#include "hash.h"
#include "load.h"
#include "store.h"

#define C1 0x87c37b91114253d5u
#define C2 0x4cf5ad432745937fu

static uint64_t mix_k1(uint64_t k)
{
        return kr_rotate64(k * C1, 31) * C2;
}

static uint64_t mix_k2(uint64_t k)
{
        return kr_rotate64(k * C2, 33) * C1;
}

static uint64_t avalanche(uint64_t h)
{
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdu;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53u;
        return h ^ h >> 33;
}

/* At most 8 bytes, each sign-extended to 64 bits first, as a Java byte is. */
static uint64_t load_signed_bytes(const unsigned char *data, size_t len)
{
        uint64_t word = 0;

        for (size_t i = 0; i < len; i++) {
                uint64_t byte = data[i] | (data[i] & 0x80 ? ~(uint64_t)0xff : 0);

                word ^= byte << (8 * i);
        }
        return word;
}

static uint64_t token(const void *key, size_t key_len)
{
        const unsigned char *data = key;
        uint64_t h1 = 0, h2 = 0;
        size_t left = key_len;

        for (; left >= 16; left -= 16, data += 16) {
                h1 ^= mix_k1(kr_load_le64(data));
                h1 = (kr_rotate64(h1, 27) + h2) * 5 + 0x52dce729;
                h2 ^= mix_k2(kr_load_le64(data + 8));
                h2 = (kr_rotate64(h2, 31) + h1) * 5 + 0x38495ab5;
        }
        if (left > 8)
                h2 ^= mix_k2(load_signed_bytes(data + 8, left - 8));
        if (left)
                h1 ^= mix_k1(load_signed_bytes(data, left < 8 ? left : 8));
        h1 ^= key_len;
        h2 ^= key_len;
        h1 += h2;
        h2 += h1;
        h1 = avalanche(h1);
        h2 = avalanche(h2);
        return h1 + h2;
}

uint64_t kr_cassandra_token(const void *key, size_t key_len)
{
        uint64_t raw = key_len ? token(key, key_len) : (uint64_t)INT64_MIN;

        if (key_len && raw == (uint64_t)INT64_MIN)
                raw = INT64_MAX;
        return kr_order_signed64(raw);
}

/**
 * What ScyllaDB's shard is cut from: the ordered token without its top 12 bits, the default of
 * murmur3_partitioner_ignore_msb_bits. The shard is this times the shards of the node, over 2^64.
 */
uint64_t kr_scylla_shard(const void *key, size_t key_len)
{
        return kr_cassandra_token(key, key_len) << 12;
}
