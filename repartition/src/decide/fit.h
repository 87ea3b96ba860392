/**
 * The search for the mixture behind a sample: forward selection of functions, each of which must pay for its rivals,
 * and pruning of those that later ones made superfluous. Inside decide/; explain.h is what others want.
 */
#ifndef RP_FIT_H
#define RP_FIT_H

#include "decide/candidates.h"
#include "decide/mixture.h"
#include "decide/sample.h"

enum {
        RP_KEYS_MIN = 10, /* distinct keys below which nothing is concluded */
        RP_COUNT_MIN = 2  /* with one partition all functions are one, and none can be named */
};

/** One observation: a distinct key in one partition. */
struct rp_pair {
        const struct rp_sample_key *key;
        const struct rp_cell *cell;
};

/** A function in the mixture. */
struct rp_pick {
        size_t way;
        int32_t partition_cnt;
        unsigned char *matches; /* by pair; borrowed from fit.current, or owned when the count is an older one */
        double price;           /* log-likelihood that it must gain */
};

struct rp_fit {
        const struct rp_ways *ways;
        int32_t partition_cnt;
        size_t key_cnt;          /* distinct keys that are evidence */
        size_t long_key_cnt;     /* sampled keys whose bytes are not known */
        struct rp_pair *pairs;   /* by rising hash of the key: any beginning is a sample as well */
        int32_t *partitions;     /* by pair */
        size_t cnt;
        unsigned char **current; /* by way: 1 for each pair that it explains with the topic's own count */
        bool *is_usable;         /* by way: it tells these keys apart at all */
        struct rp_mixture mixture;
        struct rp_pick picks[RP_COMPONENTS_MAX]; /* in the order of the mixture's components */
};

/**
 * Gathers the evidence. Empty keys are none: some clients hash them, some spread them.
 * @returns false when memory is out; else the caller calls rp_fit_release().
 */
bool rp_fit_init(struct rp_fit *fit, const struct rp_sample_key *keys, size_t key_cnt, int32_t partition_cnt,
                 const struct rp_ways *ways);
void rp_fit_release(struct rp_fit *fit);

/** Finds the components. */
void rp_fit_search(struct rp_fit *fit);

/** The log-likelihood that a function must gain, by how many like it are tried: older counts share half of the prior. */
double rp_fit_price(const struct rp_fit *fit, int32_t partition_cnt);

/**
 * What the j-th component is worth: the log-likelihood it gains on the pairs that no other component explains, less what
 * may come from a likeness between its function and whatever placed the rest (decide/dispersion.h).
 *
 * On those pairs alone, because producers have keys of their own: how often a function is right where another one is
 * right as well says nothing about it.
 */
double rp_fit_worth(const struct rp_fit *fit, size_t j);

/**
 * By how much log-likelihood the j-th component's function is better than another one, on the pairs where the two differ
 * and that no other component explains. 0 when they never differ there.
 */
double rp_fit_lead(const struct rp_fit *fit, size_t j, size_t way, int32_t partition_cnt);

/** Whether the function, with that partition count, puts the i-th pair's key where it was seen. */
bool rp_fit_agrees(const struct rp_fit *fit, size_t way, int32_t partition_cnt, size_t i);

/** The same for all pairs. @returns a new array, the caller's to free(); NULL when memory is out. */
unsigned char *rp_fit_matches(const struct rp_fit *fit, size_t way, int32_t partition_cnt);

/** Whether some component explains the i-th pair. */
bool rp_fit_is_explained(const struct rp_fit *fit, size_t i);

bool rp_fit_is_picked(const struct rp_fit *fit, size_t way, int32_t partition_cnt);

#endif
