/* Couchbase: bits 16 to 30 of the CRC-32 of the document's id; the vBucket is its low bits, or modulo a power of two.
 */
#include "hash.h"
#include "store.h"

uint64_t kr_couchbase(const void *key, size_t key_len)
{
        return kr_crc32(key, key_len) >> 16 & 0x7fff;
}
