/** A place in a topic as a person says it: an offset, a moment, or offsets by partition. Pure. */
#ifndef RP_LOG_PLACE_H
#define RP_LOG_PLACE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_log_place {
        enum { RP_LOG_NONE, RP_LOG_OFFSET, RP_LOG_MOMENT, RP_LOG_LIST } kind;
        int64_t value; /* the offset, or ms since 1970 */
        struct rp_log_offset { int32_t partition; int64_t offset; } *pairs;
        size_t pair_cnt;
};

/**
 * Reads "1200", "2026-11-29T21:40:00Z", or "0:100,2:50" (partitions that are not named: all of them is meant).
 * @param text    NULL: none
 * @param option  for the message
 * @returns RP_OK and *place, the caller's to rp_log_place_release(); or RP_ERR_USAGE.
 */
rp_err_t rp_log_place_parse(struct rp_log_place *place, const char *option, const char *text, struct rp_error *err);
void rp_log_place_release(struct rp_log_place *place);

/** @returns the offset that a list gives that partition; -1: none. */
int64_t rp_log_place_listed(const struct rp_log_place *place, int32_t partition);

#endif
