/*
 * CRC-16/XMODEM: polynomial 0x1021, start 0, nothing reflected, no final XOR; "123456789" gives 0x31c3. Redis Cluster's
 * slot is this modulo 16384 (Redis Cluster specification, appendix A). The tag rule is a projection: key.use "tag".
 */
#include "hash.h"
#include "store.h"

/* The CRC of one nibble at the top: 16 entries fit in a cache line, a byte table does not. */
static const uint16_t nibbles[16] = { 0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
                                      0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef };

uint64_t kr_crc16(const void *key, size_t key_len)
{
        const unsigned char *byte = key;
        uint32_t crc = 0;

        for (; key_len > 0; key_len--, byte++) {
                crc = (crc << 4 & 0xffff) ^ nibbles[crc >> 12 ^ *byte >> 4];
                crc = (crc << 4 & 0xffff) ^ nibbles[crc >> 12 ^ (*byte & 15)];
        }
        return crc;
}
