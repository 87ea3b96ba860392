#include "md5.h"

#include "load.h"

#include <string.h>

/* floor(2^32 |sin(i + 1)|), as RFC 1321 defines them. */
static const uint32_t sines[64] = {
        0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u,
        0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u,
        0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u,
        0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au,
        0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u,
        0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u,
        0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u,
        0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u,
};

static const unsigned char rotations[4][4] = {
        { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
};

static void take_block(struct kr_md5 *md5, const unsigned char *block)
{
        uint32_t a = md5->state[0], b = md5->state[1], c = md5->state[2], d = md5->state[3];
        uint32_t words[16];

        for (size_t i = 0; i < 16; i++)
                words[i] = kr_load_le32(block + 4 * i);
        for (size_t i = 0; i < 64; i++) {
                uint32_t f, turned;
                size_t word;

                switch (i / 16) {
                case 0:
                        f = (b & c) | (~b & d);
                        word = i;
                        break;
                case 1:
                        f = (d & b) | (~d & c);
                        word = (5 * i + 1) % 16;
                        break;
                case 2:
                        f = b ^ c ^ d;
                        word = (3 * i + 5) % 16;
                        break;
                default:
                        f = c ^ (b | ~d);
                        word = 7 * i % 16;
                }
                turned = kr_rotate32(a + f + sines[i] + words[word], rotations[i / 16][i % 4]);
                a = d;
                d = c;
                c = b;
                b += turned;
        }
        md5->state[0] += a;
        md5->state[1] += b;
        md5->state[2] += c;
        md5->state[3] += d;
}

void kr_md5_init(struct kr_md5 *md5)
{
        *md5 = (struct kr_md5){ .state = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u } };
}

void kr_md5_update(struct kr_md5 *md5, const void *data, size_t len)
{
        const unsigned char *bytes = data;
        size_t waiting = md5->len % 64;

        md5->len += len;
        if (waiting + len < 64) {
                if (len)
                        memcpy(md5->block + waiting, bytes, len);
                return;
        }
        if (waiting) {
                memcpy(md5->block + waiting, bytes, 64 - waiting);
                take_block(md5, md5->block);
                bytes += 64 - waiting;
                len -= 64 - waiting;
        }
        for (; len >= 64; len -= 64, bytes += 64)
                take_block(md5, bytes);
        if (len)
                memcpy(md5->block, bytes, len);
}

static void store_le(unsigned char *out, uint64_t word, size_t len)
{
        for (size_t i = 0; i < len; i++)
                out[i] = (unsigned char)(word >> (8 * i));
}

void kr_md5_final(struct kr_md5 *md5, unsigned char digest[KR_MD5_SIZE])
{
        static const unsigned char padding[64] = { 0x80 };
        unsigned char bit_len[8];

        store_le(bit_len, md5->len << 3, sizeof(bit_len));
        kr_md5_update(md5, padding, 64 - (md5->len + 8) % 64);
        kr_md5_update(md5, bit_len, sizeof(bit_len));
        for (size_t i = 0; i < 4; i++)
                store_le(digest + 4 * i, md5->state[i], 4);
}

void kr_md5(const void *data, size_t len, unsigned char digest[KR_MD5_SIZE])
{
        struct kr_md5 md5;

        kr_md5_init(&md5);
        kr_md5_update(&md5, data, len);
        kr_md5_final(&md5, digest);
}
