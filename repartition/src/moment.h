/** Points in time as options give them. */
#ifndef RP_MOMENT_H
#define RP_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Reads an RFC 3339 time with its offset from UTC ("2026-11-29T21:40:00Z", "2026-11-29T22:40:00.5+01:00"), or
 * milliseconds since 1970 in UTC. @returns false when it is neither.
 */
bool rp_moment_parse(const char *text, int64_t *ms);

#endif
