/* Stores that place by the head of an MD5 of the key's bytes. */
#include "hash.h"
#include "load.h"
#include "md5.h"
#include "store.h"

/** memcached's ketama: the first 4 bytes, little-endian. Points of the ring are such words too. */
uint64_t kr_ketama(const void *key, size_t key_len)
{
        unsigned char digest[KR_MD5_SIZE];

        kr_md5(key, key_len, digest);
        return kr_load_le32(digest);
}

/**
 * Kinesis: the whole digest is a big-endian number of 128 bits, cut into the shards' hash key ranges. This is its upper
 * half, which settles every range whose start is a multiple of 2^64, and any other but once in 2^64 keys.
 */
uint64_t kr_kinesis(const void *key, size_t key_len)
{
        unsigned char digest[KR_MD5_SIZE];

        kr_md5(key, key_len, digest);
        return kr_load_be(digest, 8);
}
