/**
 * How a key that a person or a file gives as text becomes the bytes that a producer would send.
 * Pure; a format is static storage, so threads share it freely.
 */
#ifndef RP_KEY_FORMAT_H
#define RP_KEY_FORMAT_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/** One way to write keys down; key_format.c has the table. */
struct rp_key_format;

/** A parsed key. Starts zeroed, may be parsed into again and again, ends with rp_key_release(). */
struct rp_key {
        const void *data; /* the key's bytes: inside the text that was parsed, or inside buf; never NULL */
        size_t len;
        unsigned char *buf; /* owned */
        size_t size;
};

/** The names of all formats, NULL-terminated, for option rows. */
extern const char *const rp_key_format_names[];

/** @returns the format of that exact name, or NULL. */
const struct rp_key_format *rp_key_format_find(const char *name);

/** @returns one line that tells what the text looks like and which bytes it stands for. Static storage. */
const char *rp_key_format_help(const struct rp_key_format *format);

/**
 * Parses one key. The format "text" takes every byte as it stands, NUL, blanks and CR included; all others ignore
 * blanks and a CR around the text. In "hex" and "base64" the empty text is the empty key.
 *
 * @param text  len bytes, need not end with NUL; with the format "text" *key points into it
 * @returns RP_OK, or RP_ERR_USAGE with *err saying what was expected and what was found (the caller says where).
 */
rp_err_t rp_key_parse(const struct rp_key_format *format, const char *text, size_t len, struct rp_key *key,
                      struct rp_error *err);

void rp_key_release(struct rp_key *key);

#endif
