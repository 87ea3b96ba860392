/**
 * The canonical form of a rule, as it is fed to the fingerprint: everything that routes, in one fixed order and
 * spelling, and nothing else. Fed as a stream, so a table of ten million rows needs no second copy.
 */
#ifndef KR_CANON_H
#define KR_CANON_H

#include <stddef.h>

struct kr_canon; /* opaque: a running hash */

#define KR_FINGERPRINT_SIZE 17 /* 16 hex digits and the NUL */

struct kr_canon *kr_canon_new(void);

/** Adds one item; items cannot run into each other. */
void kr_canon_add(struct kr_canon *canon, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Adds bytes with their length, for keys and bounds. */
void kr_canon_add_bytes(struct kr_canon *canon, const void *data, size_t len);

/** Writes the fingerprint and frees. */
void kr_canon_finish(struct kr_canon *canon, char out[KR_FINGERPRINT_SIZE]);

#endif
