/*
 * MongoDB's hashed indexes and shard keys (src/mongo/db/hasher.cpp): MD5 over the seed 0 and the value's canonical
 * type, both as 4 bytes little-endian, then the value; the first 8 bytes of the digest, little-endian, as an int64. A
 * number of any type is cut to an int64 first.
 */
#include "hash.h"
#include "load.h"
#include "md5.h"
#include "store.h"

#include <string.h>

static void add_le32(struct kr_md5 *md5, uint32_t word)
{
        unsigned char bytes[4] = { (unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                   (unsigned char)(word >> 24) };

        kr_md5_update(md5, bytes, sizeof(bytes));
}

static void begin(struct kr_md5 *md5, enum kr_mongodb_type type)
{
        kr_md5_init(md5);
        add_le32(md5, 0);
        add_le32(md5, (uint32_t)type);
}

static uint64_t end(struct kr_md5 *md5)
{
        unsigned char digest[KR_MD5_SIZE];

        kr_md5_final(md5, digest);
        return kr_order_signed64(kr_load_le64(digest));
}

uint64_t kr_mongodb_value(enum kr_mongodb_type type, const void *value, size_t len)
{
        struct kr_md5 md5;

        begin(&md5, type);
        kr_md5_update(&md5, value, len);
        return end(&md5);
}

static uint64_t hash_number(uint64_t number)
{
        struct kr_md5 md5;

        begin(&md5, KR_MONGODB_NUMBER);
        add_le32(&md5, (uint32_t)number);
        add_le32(&md5, (uint32_t)(number >> 32));
        return end(&md5);
}

/* As it stands in BSON: the length with the NUL, the bytes, the NUL. */
uint64_t kr_mongodb_string(const void *key, size_t key_len)
{
        struct kr_md5 md5;

        begin(&md5, KR_MONGODB_STRING);
        add_le32(&md5, (uint32_t)key_len + 1);
        kr_md5_update(&md5, key, key_len);
        kr_md5_update(&md5, "", 1);
        return end(&md5);
}

uint64_t kr_mongodb_number(const void *key, size_t key_len)
{
        uint64_t number;

        return kr_load_number(key, key_len, &number) ? hash_number(number) : kr_mongodb_string(key, key_len);
}

/* NaN is 0, and what does not fit stops at the ends; everything else loses its fraction. */
static uint64_t cut_double(double d)
{
        if (d != d)
                return 0;
        if (d >= 0x1p63)
                return INT64_MAX;
        if (d < -0x1p63)
                return (uint64_t)INT64_MIN;
        return (uint64_t)(int64_t)d;
}

uint64_t kr_mongodb_double(const void *key, size_t key_len)
{
        uint64_t bits;
        double d;

        if (key_len != sizeof(d))
                return kr_mongodb_string(key, key_len);
        bits = kr_load_be(key, key_len);
        memcpy(&d, &bits, sizeof(d));
        return hash_number(cut_double(d));
}

uint64_t kr_mongodb_objectid(const void *key, size_t key_len)
{
        return kr_mongodb_value(KR_MONGODB_OBJECTID, key, key_len);
}

uint64_t kr_mongodb_bindata(const void *key, size_t key_len, unsigned char subtype)
{
        struct kr_md5 md5;

        begin(&md5, KR_MONGODB_BINDATA);
        add_le32(&md5, (uint32_t)key_len);
        kr_md5_update(&md5, &subtype, 1);
        kr_md5_update(&md5, key, key_len);
        return end(&md5);
}

uint64_t kr_mongodb_binary(const void *key, size_t key_len)
{
        return kr_mongodb_bindata(key, key_len, 0);
}

uint64_t kr_mongodb_uuid(const void *key, size_t key_len)
{
        return kr_mongodb_bindata(key, key_len, 4);
}
