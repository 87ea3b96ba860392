/**
 * A sample of distinct keys that is the same whatever the order of the records: the keys with the smallest 64-bit
 * hashes ("bottom-k"). Every key has the same chance to be in it, however often it occurs; samples of partitions,
 * workers or machines merge into the sample of the whole; and its threshold estimates how many keys there are.
 *
 * For each sampled key it counts, from the key's first record to its last, the records in each partition. A key leaves
 * the sample only for good (the threshold never rises), so these counts are complete.
 *
 * Memory is bounded twice: by keys, and by bytes (key bytes and partition counts). The sample is the longest run of
 * smallest hashes within both limits; twice that is held at most. A key longer than RP_SAMPLE_KEY_MAX is sampled
 * without its bytes: it counts and shows its partitions, but no hash function can be tried on it.
 *
 * Two keys are taken for one when their 64-bit hashes are equal: among a million keys, with a chance of 1 in 37 million.
 * Pure; one sample belongs to one thread.
 */
#ifndef RP_SAMPLE_H
#define RP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        RP_SAMPLE_KEYS = 16384,        /* default limits: shares to about 0.4 %, distinct keys to about 1.5 % */
        RP_SAMPLE_BYTES = 8 << 20,
        RP_SAMPLE_KEY_MAX = 16 << 10   /* the longest key whose bytes are kept */
};

/** One key's records in one partition. */
struct rp_cell {
        int32_t partition;
        uint64_t records;
        int64_t first_ms, last_ms; /* smallest and largest record time; -1 when no record had one */
};

/** A sampled key; borrowed from its sample until the next change of it. */
struct rp_sample_key {
        uint64_t hash;
        uint64_t records;
        unsigned char *key; /* NULL when longer than RP_SAMPLE_KEY_MAX */
        size_t key_len;
        struct rp_cell *cells; /* by rising partition */
        size_t cell_cnt, cell_size;
};

typedef struct rp_sample rp_sample_t;

/** The hash that orders keys: XXH3, 64 bits, with one seed for all time, so that samples from anywhere merge. */
uint64_t rp_sample_hash(const void *key, size_t key_len);

/** @returns an empty sample, the caller's to rp_sample_free(); NULL when memory is out. Limits are at least 1. */
rp_sample_t *rp_sample_new(size_t max_keys, size_t max_bytes);

void rp_sample_free(rp_sample_t *sample);

/**
 * Counts one record.
 * @param hash     rp_sample_hash() of the key
 * @param time_ms  the record's time, or -1
 * @returns false when memory is out; the sample is then only good for rp_sample_free().
 */
bool rp_sample_add(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len, int32_t partition,
                   int64_t time_ms);

/** Adds all that `from` has seen, as if every record of it had been added here. False as rp_sample_add(). */
bool rp_sample_merge(rp_sample_t *sample, rp_sample_t *from);

/** For who takes up a stored sample: all that is known of one key in one partition. False as rp_sample_add(). */
bool rp_sample_put(rp_sample_t *sample, uint64_t hash, const void *key, size_t key_len, const struct rp_cell *cell);

/** Lowers the threshold to this one: keys with such a hash or a larger one are dropped, and not taken any more. */
void rp_sample_cut(rp_sample_t *sample, uint64_t threshold);

/** The smallest hash that had to go. False when there is none: the sample holds every key there was. */
bool rp_sample_threshold(rp_sample_t *sample, uint64_t *threshold);

/** @returns the sampled keys by rising hash, borrowed until the next rp_sample_add(). *cnt says how many. */
const struct rp_sample_key *rp_sample_keys(rp_sample_t *sample, size_t *cnt);

/** True when the sample holds every key there was. */
bool rp_sample_is_complete(rp_sample_t *sample);

/** What a count among the sampled keys is worth among all: 1 when the sample is complete. */
double rp_sample_weight(rp_sample_t *sample);

/**
 * How many distinct keys there were: exact while the sample is complete, else estimated from the threshold.
 * @param error  the relative error that 95 of 100 estimates stay below; 0 when exact
 */
uint64_t rp_sample_distinct(rp_sample_t *sample, double *error);

#endif
