/**
 * How a map would place weighted keys: how hot the fullest partition is beside what chance and the heaviest key allow,
 * what a query for one group has to read, and what growth would move. Pure; the rules do the routing.
 */
#ifndef RP_ESTIMATE_H
#define RP_ESTIMATE_H

#include "decide/demand.h"

#include <keyroute.h>

typedef enum {
        RP_PLACE_BY_RULE,  /* kr_rule_partition() of each key, or of its group                 */
        RP_PLACE_BY_TABLE, /* a table with a row for every group, planned by rp_spread()       */
        RP_PLACE_AS_GIVEN  /* where the rows of the demand say that the keys are               */
} rp_place_t;

/** A map for one partition count, and the same grown to another. */
struct rp_strategy {
        char name[512]; /* of a policy: its file */
        rp_place_t place;
        bool by_group;                      /* the group's bytes route, not the key's */
        int lookups;                        /* per access, in a table that has a row for each group */
        int32_t partition_cnt, grown_cnt;   /* grown_cnt 0: no growth asked for */
        kr_policy_t *policy, *grown_policy; /* owned */
        const kr_rule_t *rule, *grown;      /* grown is NULL when this map cannot be grown */
};

/** What the maps are made from when they are not read from a policy. */
struct rp_strategy_config {
        const char *hash;
        const char *delimiter; /* between the group and the rest of a key; NULL: none */
        int64_t fanout;        /* of two-level */
};

/** Names that rp_strategy_init() knows, NULL-terminated. */
extern const char *const rp_strategy_names[];

/** True when the named map makes sense for this demand: two-level needs a delimiter, "given" partitions, and so on. */
bool rp_strategy_applies(const char *name, const struct rp_demand *demand, const struct rp_strategy_config *config,
                         int32_t partition_cnt);

/**
 * A map by name, equal weights.
 * @returns RP_OK and *strategy, the caller's to rp_strategy_release(); or RP_ERR_USAGE with *err
 */
rp_err_t rp_strategy_init(struct rp_strategy *strategy, const char *name, const struct rp_demand *demand,
                          const struct rp_strategy_config *config, int32_t partition_cnt, int32_t grown_cnt,
                          struct rp_error *err);

/** The rule of a policy; its map is grown as `plan grow` would. */
rp_err_t rp_strategy_init_policy(struct rp_strategy *strategy, const char *name, const char *policy_json,
                                 const char *policy_path, const char *topic, int32_t partition_cnt, int32_t grown_cnt,
                                 struct rp_error *err);
void rp_strategy_release(struct rp_strategy *strategy);

struct rp_estimate {
        double max_over_mean;
        double chance;                    /* by the formula, as if all keys (or groups) weighed the same */
        double simulated;                 /* by trial, with the weights that they have */
        double heaviest_share;            /* of the heaviest key, or group where whole groups are placed */
        double floor;                     /* max/mean that it forces */
        size_t unit_cnt;                  /* keys, or groups, that are placed one by one */
        int32_t touched_max;              /* partitions that a query for one group has to read */
        double touched_mean;              /* weighted by group */
        double scanned_max, scanned_mean; /* the share of all records that lie there */
        double moved;                     /* share of weight that growth moves; below 0: not known */
        double moved_hashes;              /* the same of all hashes, whatever keys there are; below 0: not known */
        uint64_t refused;                 /* rows whose key the rule refuses; they count nowhere */
};

/**
 * @returns RP_OK; RP_ERR_FATAL when memory is out
 */
rp_err_t rp_estimate(const struct rp_strategy *strategy, const struct rp_demand *demand, struct rp_estimate *estimate,
                     struct rp_error *err);

#endif
