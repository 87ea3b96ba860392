/**
 * How uneven equally good placement is by chance alone: K keys that a hash throws into N partitions ("balls into
 * bins"). Pure; the simulation has a fixed seed and integer arithmetic, so it gives the same answer everywhere.
 */
#ifndef RP_CHANCE_H
#define RP_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Fullest over mean partition that equally heavy keys reach by chance: 1 + sqrt(2 ln N / (K/N)). The formula is the
 * normal approximation of the largest of N loads: good from some ten keys a partition on, too low below.
 * @returns the ratio; 0 without keys
 */
double rp_chance_ratio(uint64_t key_cnt, int32_t partition_cnt);

/**
 * The same by trial, and for weights that differ: the mean over several throws of all keys.
 * @param weights  of the keys; NULL: all alike
 * @returns false when memory is out. *ratio is 0 without keys or weight.
 */
bool rp_chance_simulate(const uint64_t *weights, size_t key_cnt, int32_t partition_cnt, double *ratio);

#endif
