/**
 * Answers that no function of the key gives, and what they are instead: always the same, by turns, numbers that are no
 * partition. Named first, or the nearest hash function would be, which misleads whoever reads it. Pure.
 */
#ifndef RP_PLAIN_MISTAKES_H
#define RP_PLAIN_MISTAKES_H

#include "decide/conform.h"

#include <stdbool.h>

/** How well the answers must fit what is said of them, in percent of the keys. */
enum { RP_ALIKE_MIN = 90 };

/** All answers are the same. @returns true with the conform's verdict and fix set; false: they differ. */
bool rp_plain_constant(struct rp_conform *conform);

/**
 * Answers that no known function explains: by turns, by batches, outside of the partitions; hashes without a remainder and
 * partitions counted from 1 by what they would be otherwise.
 * @returns true with the conform's verdict and fix set; false: nothing of the kind.
 */
bool rp_plain_mistake(struct rp_conform *conform, const struct rp_ways *ways);

#endif
