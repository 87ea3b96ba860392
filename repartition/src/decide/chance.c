#include "decide/chance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Throws in all trials together, and trials at most: some 50 ms, and a standard error far below the second decimal. */
enum { THROWS = 8000000, TRIAL_MAX = 400 };

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
}

double rp_chance_ratio(uint64_t key_cnt, int32_t partition_cnt)
{
        double n = partition_cnt;

        return key_cnt ? 1 + sqrt(2 * log(n) * n / (double)key_cnt) : 0;
}

bool rp_chance_simulate(const uint64_t *weights, size_t key_cnt, int32_t partition_cnt, double *ratio)
{
        uint64_t *loads = malloc((size_t)partition_cnt * sizeof(*loads));
        uint64_t seed = 1, trials = key_cnt ? THROWS / key_cnt : 0, total = 0;
        double sum = 0;

        *ratio = 0;
        if (!loads)
                return false;
        trials = trials < 1 ? 1 : trials > TRIAL_MAX ? TRIAL_MAX : trials;
        for (size_t i = 0; i < key_cnt; i++)
                total += weights ? weights[i] : 1;
        for (uint64_t t = 0; total && t < trials; t++) {
                uint64_t max = 0;

                memset(loads, 0, (size_t)partition_cnt * sizeof(*loads));
                for (size_t i = 0; i < key_cnt; i++) {
                        /* The high half times N, shifted down: even to one part in 2^32 / N. */
                        uint64_t p = (next_random(&seed) >> 32) * (uint64_t)partition_cnt >> 32;

                        loads[p] += weights ? weights[i] : 1;
                        max = loads[p] > max ? loads[p] : max;
                }
                sum += (double)max;
        }
        if (total)
                *ratio = sum / (double)trials * partition_cnt / (double)total;
        free(loads);
        return true;
}
