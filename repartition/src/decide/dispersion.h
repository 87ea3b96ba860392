/**
 * Whether places that a function does not explain are at least independent of it. They need not be: keys with numbers in
 * them, placed by number modulo N, agree with a polynomial hash more often than chance has it, though nobody used that
 * hash. Such agreement comes with disagreement that has a pattern, and how strong the pattern is can be measured.
 * Pure.
 */
#ifndef RP_DISPERSION_H
#define RP_DISPERSION_H

#include <stddef.h>
#include <stdint.h>

/**
 * Pearson's chi-square over its degrees of freedom, of the table (predicted, seen) of the unexplained places, and of the
 * differences between the two; whichever is larger. About 1 when places are independent of the function; evidence that
 * rests on their being so is worth that many times less.
 *
 * @param predicted      where the function would have put each key, 0 .. predicted_cnt - 1
 * @param seen           where it was, 0 .. seen_cnt - 1; predicted_cnt <= seen_cnt
 * @param is_explained   of each: by this function or another one
 * @returns at least 1; 1 when there are too few to tell; INFINITY when memory is out
 */
double rp_dispersion(const int32_t *predicted, const int32_t *seen, const unsigned char *is_explained, size_t cnt,
                     int32_t predicted_cnt, int32_t seen_cnt);

#endif
