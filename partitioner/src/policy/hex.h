/** Bytes written as pairs of hex digits. */
#ifndef KR_HEX_H
#define KR_HEX_H

#include <stdbool.h>
#include <stddef.h>

/** Decodes len digits into len / 2 bytes at out, which may be where the digits stand. False when they are no hex pairs. */
bool kr_hex_decode(const char *digits, size_t len, unsigned char *out);

#endif
