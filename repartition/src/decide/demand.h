/**
 * Keys with weights: what planners weigh placements by. A weight is whatever the user counts (records, requests, bytes
 * a day); it comes as a decimal and is held as an integer, so that sums do not depend on their order and every decision
 * is the same everywhere.
 *
 * Scale: all weights are multiplied by one power of two and rounded to the nearest integer. The power is 1 when all are
 * whole numbers (counts stay exact); otherwise the largest with which the sum stays below 2^62, which keeps at least as
 * many digits as a double has.
 *
 * Pure; belongs to one thread.
 */
#ifndef RP_DEMAND_H
#define RP_DEMAND_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Something that is placed as a whole: a distinct key, or a group of keys. Bytes are borrowed from the demand. */
struct rp_unit {
        const unsigned char *data;
        size_t len;
        uint64_t weight;   /* scaled */
        int32_t partition; /* where its first row said that it is; -1: no row said so */
        bool is_torn;      /* rows named different partitions */
};

/** Distinct units, in the order of their first rows. */
struct rp_units {
        struct rp_unit *list;
        size_t cnt, size;
        uint32_t *index; /* open addressing: number of a unit, plus 1 */
        size_t index_size;
};

struct rp_row {
        uint32_t key, group; /* numbers of units */
        int32_t partition;   /* -1: not given */
        uint64_t weight;
};

struct rp_demand {
        struct rp_row *rows;
        double *raw; /* weights as given, until rp_demand_seal() */
        size_t cnt, size;
        struct rp_units keys, groups; /* groups.cnt is 0 when every key is its own group */
        uint64_t total;               /* scaled */
        int scale_bits;               /* weights were multiplied by 2^scale_bits */
        void **blocks;                /* of bytes */
        size_t block_cnt, block_used;
};

enum { RP_DEMAND_ROW_MAX = 100000000 };

/** *demand is zeroed first, and the caller's to rp_demand_release(). */
void rp_demand_release(struct rp_demand *demand);

/**
 * Adds a row. Either every row has a group or none has.
 * @param group      NULL: the key is its own group
 * @param weight     finite and not negative
 * @param partition  where the key is now; -1: not known
 * @returns false when memory is out, or there are more than RP_DEMAND_ROW_MAX rows.
 */
bool rp_demand_add(struct rp_demand *demand, const void *key, size_t key_len, const void *group, size_t group_len,
                   double weight, int32_t partition);

/** After the last row: scales the weights and sums them. False when there is none above 0. */
bool rp_demand_seal(struct rp_demand *demand);

/**
 * Replaces a key of a sealed demand without groups by parts that share its weight (what cannot be shared evenly goes to
 * the first ones): NAME<delimiter>0, NAME<delimiter>1, ... The first takes the key's number, the others come last; all
 * are where the key was. Rows are then out of date.
 * @returns RP_OK, RP_ERR_USAGE when such a part is a key already, RP_ERR_FATAL when memory is out
 */
rp_err_t rp_demand_split(struct rp_demand *demand, uint32_t number, int32_t part_cnt, const char *delimiter,
                         struct rp_error *err);

/** The number of the key with these bytes; UINT32_MAX when there is none. */
uint32_t rp_demand_find(const struct rp_demand *demand, const void *key, size_t key_len);

/** The groups, or the keys where every key is its own. */
const struct rp_units *rp_demand_groups(const struct rp_demand *demand);
uint32_t rp_demand_group_of(const struct rp_demand *demand, const struct rp_row *row);

/** A scaled weight in the user's unit. */
double rp_demand_unscaled(const struct rp_demand *demand, uint64_t weight);

/** The heaviest unit's weight. */
uint64_t rp_units_heaviest(const struct rp_units *units);

/** Orders units by falling weight, then by bytes: the same order whatever the order of the rows. */
int rp_unit_compare(const struct rp_unit *a, const struct rp_unit *b);

#endif
