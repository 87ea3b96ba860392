/** Base64 as in RFC 4648, section 4: padded, no line breaks. Pure. */
#ifndef RP_BASE64_H
#define RP_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/** Characters that len bytes become, without the NUL. */
size_t rp_base64_encoded_size(size_t len);

/** Writes rp_base64_encoded_size(len) characters and a NUL to out. */
void rp_base64_encode(const void *data, size_t len, char *out);

/** Bytes that len characters become at most. */
size_t rp_base64_decoded_size(size_t len);

/**
 * Strict: the standard alphabet, padding present, unused bits zero.
 * @param out  room for rp_base64_decoded_size(len) bytes
 * @returns false when text is not base64; out is then undefined.
 */
bool rp_base64_decode(const char *text, size_t len, void *out, size_t *out_len);

#endif
