/**
 * What is due to each broker: a total, shared out by capacity, where a broker can take only so many and a rack must take
 * at least and at most so many. Pure, exact, whole numbers and fractions of them.
 */
#ifndef RP_DUES_H
#define RP_DUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** whole + part / of; part is smaller than of. */
struct rp_due {
        uint64_t whole;
        uint64_t part, of;
        uint32_t rank; /* by falling fraction: 0 for the largest; equal fractions share a rank */
};

/** One taker. */
struct rp_taker {
        uint64_t capacity; /* above 0; the sum of all fits 61 bits */
        uint64_t most;     /* can take no more than this */
        size_t rack;       /* 0 .. rack_cnt - 1 */
};

struct rp_rack_bounds {
        uint64_t least, most; /* what all takers of the rack together must and can take */
};

/**
 * Proportional to capacity, but for takers that are full and racks that are at a bound; those take their bound, and the
 * rest is shared in proportion among the others.
 *
 * @param racks  bounds that can be kept for this total; NULL: none
 * @param dues   taker_cnt elements, the caller's
 * @returns false when memory is out
 */
bool rp_dues(const struct rp_taker *takers, size_t taker_cnt, const struct rp_rack_bounds *racks, size_t rack_cnt,
             uint64_t total, struct rp_due *dues);

/** The due in hundredths, rounded, for people. */
uint64_t rp_due_hundredths(const struct rp_due *due);

#endif
