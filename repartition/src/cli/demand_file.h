/**
 * Keys with weights from a file of tab-separated lines: what `estimate` and `rebalance` plan from.
 *
 * A first line of column names (key, group, weight, partition, in any order; key or group must be there) says what the
 * columns are. Without it a line is KEY, KEY TAB WEIGHT, or KEY TAB WEIGHT TAB PARTITION, as many columns as the first
 * line has. Weights are decimals such as 12, 0.5 or 1.5e-3; without a column each line weighs 1.
 */
#ifndef RP_DEMAND_FILE_H
#define RP_DEMAND_FILE_H

#include "decide/demand.h"

struct rp_demand_format {
        const char *key_format; /* of the columns key and group, see key_format.h */
        const char *delimiter;  /* a key's group is what stands before it; NULL: only a column "group" tells groups */
        int32_t partition_cnt;  /* partitions from here on do not exist; 0: not known */
        bool is_one_place;      /* a key may not be in two partitions */
};

/**
 * Reads and seals.
 * @param path  "-" is standard input
 * @returns RP_OK and *demand, the caller's to rp_demand_release(); or RP_ERR_USAGE with *err naming file and line.
 */
rp_err_t rp_demand_read(struct rp_demand *demand, const char *path, const struct rp_demand_format *format,
                        struct rp_error *err);

/** Adds a key, its group cut at the delimiter where there is one. False when memory is out. */
bool rp_demand_add_key(struct rp_demand *demand, const void *key, size_t len, const char *delimiter, double weight,
                       int32_t partition);

#endif
