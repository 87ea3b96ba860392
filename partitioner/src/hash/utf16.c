#include "utf16.h"

#define REPLACEMENT 0xfffdu

static int is_continuation(unsigned char b)
{
        return (b & 0xc0) == 0x80;
}

/*
 * Table 3-7 of the Unicode standard gives the ranges, but for one thing: Java takes the three bytes of a surrogate as one
 * broken part, where the standard counts each of them.
 */
uint32_t kr_utf8_next(const unsigned char *s, size_t left, size_t *used)
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
        return cp >= 0xd800 && cp <= 0xdfff ? REPLACEMENT : cp;
}
