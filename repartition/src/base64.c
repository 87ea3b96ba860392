#include "base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t rp_base64_encoded_size(size_t len)
{
        return (len + 2) / 3 * 4;
}

void rp_base64_encode(const void *data, size_t len, char *out)
{
        const unsigned char *in = data;

        for (; len >= 3; len -= 3, in += 3) {
                *out++ = alphabet[in[0] >> 2];
                *out++ = alphabet[(in[0] & 3) << 4 | in[1] >> 4];
                *out++ = alphabet[(in[1] & 15) << 2 | in[2] >> 6];
                *out++ = alphabet[in[2] & 63];
        }
        if (len) {
                unsigned second = len == 2 ? in[1] : 0;

                *out++ = alphabet[in[0] >> 2];
                *out++ = alphabet[(in[0] & 3) << 4 | second >> 4];
                *out++ = len == 2 ? alphabet[(second & 15) << 2] : '=';
                *out++ = '=';
        }
        *out = '\0';
}

size_t rp_base64_decoded_size(size_t len)
{
        return len / 4 * 3;
}

static int digit(char c)
{
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool rp_base64_decode(const char *text, size_t len, void *out, size_t *out_len)
{
        unsigned char *bytes = out;
        size_t padding = 0;

        *out_len = 0;
        if (len % 4)
                return false;
        while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
                padding++;
        for (size_t i = 0; i < len; i += 4) {
                size_t take = i + 4 == len ? 4 - padding : 4; /* characters that carry bits */
                uint32_t bits = 0;

                for (size_t j = 0; j < 4; j++) {
                        int value = j < take ? digit(text[i + j]) : 0;

                        if (value < 0)
                                return false;
                        bits = bits << 6 | (uint32_t)value;
                }
                if (bits & (take == 2 ? 0xffffu : take == 3 ? 0xffu : 0u))
                        return false;
                for (size_t j = 0; j + 1 < take; j++)
                        bytes[(*out_len)++] = (unsigned char)(bits >> (16 - 8 * j));
        }
        return true;
}
