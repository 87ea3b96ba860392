/** What must never be shown: the one place that knows which properties are secret. */
#ifndef RP_SECRET_H
#define RP_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether the value of a librdkafka property is a secret: passwords, keys and tokens by their names, also below a prefix
 * such as "source.", and addresses that carry a password. Names that only sound like it count: better one too many.
 * @param name   not terminated: name_len bytes
 * @param value  or NULL
 */
bool rp_secret_is(const char *name, size_t name_len, const char *value);

/** Writes "..." over every occurrence of value in text, in place. Values of less than 3 bytes are left alone. */
void rp_secret_blot(char *text, const char *value);

#endif
