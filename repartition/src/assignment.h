/** Which brokers hold which partition: what a cluster has, and what it shall have. */
#ifndef RP_ASSIGNMENT_H
#define RP_ASSIGNMENT_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One partition and its replicas. */
struct rp_holding {
        char *topic;
        int32_t partition;
        int32_t replica_cnt;
        int32_t *replicas; /* broker ids, the preferred leader first */
        uint64_t weight;   /* what one replica weighs, in whatever unit its measure has; 0: not known */
};

/** Zeroed it is empty. */
struct rp_assignment {
        struct rp_holding *items;
        size_t cnt;
};

/** Adds a partition; everything is copied. false when memory is out. */
bool rp_assignment_add(struct rp_assignment *assignment, const char *topic, int32_t partition, const int32_t *replicas,
                       int32_t replica_cnt, uint64_t weight);

/** Sorts by topic, then partition. @returns RP_ERR_USAGE for a partition that is there twice. */
rp_err_t rp_assignment_sort(struct rp_assignment *assignment, struct rp_error *err);

/** The partition in a sorted assignment, or NULL. */
struct rp_holding *rp_assignment_find(const struct rp_assignment *assignment, const char *topic, int32_t partition);

/** True when both lists name the same brokers in the same order. */
bool rp_holding_is_same(const struct rp_holding *a, const struct rp_holding *b);

bool rp_holding_has(const struct rp_holding *holding, int32_t broker);

void rp_assignment_release(struct rp_assignment *assignment);

#endif
