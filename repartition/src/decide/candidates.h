/**
 * The ways in which a client may have chosen partitions: every hash function of the core, and the rule that judges when
 * it is none of them. A way knows nothing but a rule, so one that changes the key first is one more policy in the list.
 * Each is asked through kr_rule_partition() alone.
 */
#ifndef RP_CANDIDATES_H
#define RP_CANDIDATES_H

#include "error.h"

#include <keyroute.h>

struct rp_way {
        const char *name;       /* the hash function's, or what the judging rule calls itself */
        const char *clients;    /* who places records so, one line */
        const char *fix;        /* what they set to route as Java does, one line */
        const kr_rule_t *rule;
        bool is_client;         /* some client's own rule; false for other stores' functions */
        bool takes_any_count;   /* may be asked for partition counts that the topic had before */
        kr_policy_t *policy;    /* owned; NULL when the rule is somebody else's */
};

/** All ways, the most likely first: this order settles what the records leave open. */
struct rp_ways {
        struct rp_way *list;
        size_t cnt;
        size_t judge; /* the way that judges */
};

/**
 * @param judge          the rule that says where keys belong; borrowed as long as the ways are
 * @param partition_cnt  of the topic; the judging rule accepts it
 * @returns RP_OK and *ways, the caller's to rp_ways_release(); or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_ways_init(struct rp_ways *ways, const kr_rule_t *judge, int32_t partition_cnt, struct rp_error *err);
void rp_ways_release(struct rp_ways *ways);

#endif
