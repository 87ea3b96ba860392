/* CRC-32 as in IEEE 802.3 (reflected 0xEDB88320), from zlib. The default of librdkafka and so of most bindings. */
#include "hash.h"

#include <zlib.h>

static uint32_t crc(const void *key, size_t len)
{
        /* crc32_z(crc, NULL, 0) would return the initial value for "no buffer"; that is 0 as well. */
        return (uint32_t)crc32_z(0, key, len);
}

uint64_t kr_crc32(const void *key, size_t key_len)
{
        return crc(key, key_len);
}

/** Sarama with WithCustomHashFunction(crc32.NewIEEE): the remainder of the signed value, then its absolute value. */
uint64_t kr_crc32_signed_abs(const void *key, size_t key_len)
{
        return kr_sign_abs(crc(key, key_len));
}
