/*
 * java.lang.String.hashCode over the text that the key's bytes are as UTF-8: h = 31 h + unit for each UTF-16 unit
 * (Java SE, String). Reduced by |h| with MIN as 0, as Kafka's Scala producer and Spring Cloud Stream do. Bytes that
 * are not UTF-8 decode as Java's String(byte[], UTF_8) does: each maximal broken part is one U+FFFD.
 */
#include "hash.h"

#define REPLACEMENT 0xfffdu

static int is_continuation(unsigned char b)
{
        return (b & 0xc0) == 0x80;
}

/* Decodes one code point; *used is at least 1. Table 3-7 of the Unicode standard gives the ranges. */
static uint32_t next_code_point(const unsigned char *s, size_t left, size_t *used)
{
        unsigned char lead = s[0];
        unsigned char low = 0x80, high = 0xbf;
        uint32_t cp;
        size_t want;

        *used = 1;
        if (lead < 0x80)
                return lead;
        if (lead >= 0xc2 && lead <= 0xdf) {
                want = 2;
                cp = lead & 0x1fu;
        } else if (lead >= 0xe0 && lead <= 0xef) {
                want = 3;
                cp = lead & 0x0fu;
                low = lead == 0xe0 ? 0xa0 : 0x80;
                high = lead == 0xed ? 0x9f : 0xbf;
        } else if (lead >= 0xf0 && lead <= 0xf4) {
                want = 4;
                cp = lead & 0x07u;
                low = lead == 0xf0 ? 0x90 : 0x80;
                high = lead == 0xf4 ? 0x8f : 0xbf;
        } else {
                return REPLACEMENT;
        }
        while (*used < want) {
                if (*used >= left)
                        return REPLACEMENT;
                if (*used == 1 ? s[1] < low || s[1] > high : !is_continuation(s[*used]))
                        return REPLACEMENT;
                cp = cp << 6 | (s[*used] & 0x3fu);
                ++*used;
        }
        return cp;
}

uint64_t kr_java_string_hash(const void *key, size_t key_len)
{
        const unsigned char *s = key;
        uint32_t h = 0;
        size_t used;

        for (size_t i = 0; i < key_len; i += used) {
                uint32_t cp = next_code_point(s + i, key_len - i, &used);

                if (cp >= 0x10000) {
                        h = 31 * h + (0xd800u + ((cp - 0x10000) >> 10));
                        cp = 0xdc00u + ((cp - 0x10000) & 0x3ff);
                }
                h = 31 * h + cp;
        }
        return kr_sign_abs_min0(h);
}
