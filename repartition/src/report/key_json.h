/** Keys in JSON results, the same in every command (docs/design.md section 7). */
#ifndef RP_KEY_JSON_H
#define RP_KEY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** True for UTF-8 without control characters: text that a person can read and a terminal can show. */
bool rp_is_printable(const void *data, size_t len);

/** Prints `"key": "BASE64"` and, when the key is printable, `, "key_text": "..."`. */
void rp_print_json_key(FILE *out, const void *key, size_t len);

/** Prints a JSON string, quotes included; the text must be UTF-8. */
void rp_print_json_string(FILE *out, const char *text, size_t len);

#endif
