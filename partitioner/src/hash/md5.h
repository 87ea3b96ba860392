/**
 * MD5 (RFC 1321), for the stores that place data by it: MongoDB, memcached's ketama, Kinesis. Not for security.
 *
 * Our own, because the routing core may add no library to the process that loads the plugin (it has libc, jansson and
 * zlib, and none of them offers MD5), and Debian ships no header-only one.
 */
#ifndef KR_MD5_H
#define KR_MD5_H

#include <stddef.h>
#include <stdint.h>

#define KR_MD5_SIZE 16

struct kr_md5 {
        uint32_t state[4];
        uint64_t len;            /* bytes so far */
        unsigned char block[64]; /* the len % 64 bytes that wait for more */
};

void kr_md5_init(struct kr_md5 *md5);

/** @param data  may be NULL when len is 0 */
void kr_md5_update(struct kr_md5 *md5, const void *data, size_t len);
void kr_md5_final(struct kr_md5 *md5, unsigned char digest[KR_MD5_SIZE]);

/** All three at once. */
void kr_md5(const void *data, size_t len, unsigned char digest[KR_MD5_SIZE]);

#endif
