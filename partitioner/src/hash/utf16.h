/** The UTF-16 units of a text that arrives as UTF-8, for the functions of stores and clients that hash those units. */
#ifndef KR_UTF16_H
#define KR_UTF16_H

#include <stddef.h>
#include <stdint.h>

/**
 * Decodes one code point at s, of `left` bytes (at least 1). Bytes that are not UTF-8 decode as Java's
 * String(byte[], UTF_8) does: each broken part is one U+FFFD.
 * @param used  out: bytes taken, at least 1
 */
uint32_t kr_utf8_next(const unsigned char *s, size_t left, size_t *used);

/** Splits a code point into its one or two units. @returns how many. */
static inline int kr_utf16_units(uint32_t code_point, uint16_t units[2])
{
        if (code_point < 0x10000) {
                units[0] = (uint16_t)code_point;
                return 1;
        }
        units[0] = (uint16_t)(0xd800 + ((code_point - 0x10000) >> 10));
        units[1] = (uint16_t)(0xdc00 + ((code_point - 0x10000) & 0x3ff));
        return 2;
}

#endif
