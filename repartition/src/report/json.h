/** JSON results through jansson, with the habits that all commands share (docs/design.md section 7). */
#ifndef RP_JSON_H
#define RP_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/** An RFC 3339 time in UTC with milliseconds, or null when there is none. New reference. */
json_t *rp_json_time(int64_t ms);

/** A number with six decimals: shares need no more, and the last bits of a double are noise in a diff. New reference. */
json_t *rp_json_share(double share);

/** Sets "key" (base64), and "key_text" when the key is printable. */
void rp_json_set_key(json_t *object, const void *key, size_t key_len);

/** Prints one object on one line, members in the order in which they were set. Takes the reference. */
void rp_json_print(json_t *object, FILE *out);

#endif
