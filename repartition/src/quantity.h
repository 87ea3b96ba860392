/** Amounts as people write them, on the command line and to a running job: 10M, 512Ki, 250ms, 8h. Pure. */
#ifndef RP_QUANTITY_H
#define RP_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/** What rp_size_parse() takes, for error messages. */
#define RP_SIZE_FORM "a whole number with K, M, G or T behind it for thousands (Ki, Mi, Gi, Ti for 1024s)"

/** What rp_duration_parse() takes, for error messages. */
#define RP_DURATION_FORM "a whole number with its unit: ms, s, m, h or d"

/**
 * "4096", "500K", "10M", "2Gi", with or without a B at the end. K is 1000 as in all that we print, Ki is 1024; small or
 * capital letters mean the same. No sign, no blanks, no fraction.
 * @returns false, and *bytes as it was, when the text is something else or the number too large.
 */
bool rp_size_parse(const char *text, int64_t *bytes);

/** "250ms", "30s", "5m", "8h", "7d". A number without a unit is no duration, but "0" is. */
bool rp_duration_parse(const char *text, int64_t *ms);

#endif
