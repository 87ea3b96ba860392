/*
 * Elasticsearch and OpenSearch, Murmur3HashFunction: MurmurHash3 x86 32, seed 0, over the UTF-16LE units of the text
 * whose UTF-8 the key is. The store takes it as an int32; see kr_order_signed32() for the value given here.
 */
#include "hash.h"
#include "murmur3.h"
#include "store.h"
#include "utf16.h"

uint32_t kr_elasticsearch_raw(const void *key, size_t key_len)
{
        const unsigned char *text = key;
        uint32_t h = 0, pending = 0;
        size_t unit_cnt = 0, used;

        for (size_t i = 0; i < key_len; i += used) {
                uint16_t units[2];
                int cnt = kr_utf16_units(kr_utf8_next(text + i, key_len - i, &used), units);

                for (int u = 0; u < cnt; u++) {
                        if (unit_cnt++ % 2)
                                h = kr_murmur3_word(h, pending | (uint32_t)units[u] << 16);
                        else
                                pending = units[u];
                }
        }
        if (unit_cnt % 2)
                h = kr_murmur3_tail(h, pending);
        return kr_murmur3_finish(h, (uint32_t)(2 * unit_cnt));
}

uint64_t kr_elasticsearch(const void *key, size_t key_len)
{
        return kr_order_signed32(kr_elasticsearch_raw(key, key_len));
}
