/**
 * The keys of the golden vectors (interop-tests/vectors/murmur2.json), which the tool carries inside: each is there to
 * catch something. Pure.
 */
#ifndef RP_VECTORS_H
#define RP_VECTORS_H

#include "error.h"

#include <stddef.h>

struct rp_vector {
        unsigned char *key;
        size_t key_len;
        char *name;  /* what the key is, one line */
        char *flags; /* what it may catch, such as "HighByte SignBit"; "" for a plain one */
};

struct rp_vectors {
        struct rp_vector *list; /* no key twice */
        size_t cnt;
        void *document;         /* private: where the notes live */
};

enum { RP_VECTORS_PLAIN = 500 }; /* keys beside those of the file, customer-0 and so on, so that shares mean something */

/**
 * @param longest  keys of more bytes are left out; 0: none are
 * @returns RP_OK and *vectors, the caller's to rp_vectors_release(); or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_vectors_read(struct rp_vectors *vectors, size_t longest, struct rp_error *err);
void rp_vectors_release(struct rp_vectors *vectors);

/** @returns what a flag means, one line, borrowed; or NULL for one that is not known. */
const char *rp_vectors_note(const struct rp_vectors *vectors, const char *flag);

/** @returns the version of the suite, borrowed. */
const char *rp_vectors_version(const struct rp_vectors *vectors);

/** @returns the vector with that key, or NULL. */
const struct rp_vector *rp_vectors_find(const struct rp_vectors *vectors, const void *key, size_t key_len);

#endif
