/**
 * How unevenly records lie, against what even placement could reach and what chance alone would give; and the keys that
 * weigh most. Pure; one collection belongs to one thread.
 */
#ifndef RP_SKEW_H
#define RP_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- heaviest keys --------------------------------------------------------------------------------------------- */

enum {
        RP_HEAVY_KEYS = 1024,   /* counters kept: a key with more than 1/1024 of all records is always found */
        RP_HEAVY_KEY_MAX = 64   /* bytes of a key that are kept to be shown */
};

struct rp_heavy_key {
        uint64_t hash;
        uint64_t records; /* at least; at most rp_heavy_error() more */
        size_t key_len;   /* of the whole key */
        unsigned char key[RP_HEAVY_KEY_MAX]; /* its beginning */
};

/** Frequent keys by the method of Misra and Gries: bounded counters, each an undercount by a bound that is known. */
typedef struct rp_heavy rp_heavy_t;

/** @returns an empty collection, the caller's to rp_heavy_free(); NULL when memory is out. */
rp_heavy_t *rp_heavy_new(void);
void rp_heavy_free(rp_heavy_t *heavy);

/** Counts one record. hash identifies the key (rp_sample_hash()). Allocates nothing. */
void rp_heavy_add(rp_heavy_t *heavy, uint64_t hash, const void *key, size_t key_len);

/** Adds a counter of another collection, for who takes up a stored one. Its key may be cut to RP_HEAVY_KEY_MAX bytes. */
void rp_heavy_put(rp_heavy_t *heavy, const struct rp_heavy_key *counter);

/** Adds to the error, likewise. */
void rp_heavy_widen(rp_heavy_t *heavy, uint64_t error);

/** @returns the i-th counter in no certain order, borrowed until the next change; NULL past the last. */
const struct rp_heavy_key *rp_heavy_at(const rp_heavy_t *heavy, size_t i);

/** Adds all that `from` has counted. Counts and errors add up, and so does the bound on the error. */
void rp_heavy_merge(rp_heavy_t *heavy, const rp_heavy_t *from);

/** Most records by which any count may be too low; 0 while every key has a counter. */
uint64_t rp_heavy_error(const rp_heavy_t *heavy);

/**
 * Copies the heaviest keys to top, by falling count, then by hash. Keys whose count is no larger than the error are left
 * out: others may be as heavy.
 * @returns how many there were, at most max
 */
size_t rp_heavy_top(const rp_heavy_t *heavy, struct rp_heavy_key *top, size_t max);

/* ---- spread over partitions -------------------------------------------------------------------------------------- */

struct rp_skew {
        double max_over_mean;   /* of records by partition; 0 without records */
        double max_over_median; /* 0 when the median is 0 */
        double chance;          /* max/mean that equally heavy keys would reach by chance: 1 + sqrt(2 ln N / (K/N)) */
        double floor;           /* max/mean that the heaviest key alone forces, wherever it lies; at least 1 */
};

/**
 * @param records  by partition; partition_cnt of them, left as they are
 * @param distinct_keys  in the whole topic; 0 gives a chance of 0
 * @param heaviest       records of the heaviest key
 * @returns false when memory is out
 */
bool rp_skew_measure(const uint64_t *records, size_t partition_cnt, uint64_t distinct_keys, uint64_t heaviest,
                     struct rp_skew *skew);

#endif
