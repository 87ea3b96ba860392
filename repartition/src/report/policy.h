/** What `policy` tells of rules and of the difference between two: for people, and as JSON (fields: docs/policy.md). */
#ifndef RP_REPORT_POLICY_H
#define RP_REPORT_POLICY_H

#include "error.h"

#include <keyroute.h>

#include <jansson.h>
#include <stdio.h>

/** One rule and where its keys go. */
struct rp_rule_view {
        const char *topic; /* name or pattern, borrowed from the rule */
        const kr_rule_t *rule;
        int32_t partition_cnt; /* 0: any, and nothing below is known */
        kr_basis_t basis;      /* of the shares */
        double *shares;        /* by partition, owned */
        kr_basis_t java_basis;
        double java_share; /* of keys that Java's rule sends to the same partition */
        uint64_t pin_cnt;  /* keys that are pinned by a table */
};

/** @param partition_cnt  the topic's; 0 when it is not known */
rp_err_t rp_rule_view(struct rp_rule_view *view, const kr_rule_t *rule, int32_t partition_cnt, struct rp_error *err);
void rp_rule_view_release(struct rp_rule_view *view);

/** Short: one line of a listing. */
json_t *rp_rule_json(const kr_rule_t *rule);

void rp_rule_view_text(const struct rp_rule_view *view, FILE *out);
json_t *rp_rule_view_json(const struct rp_rule_view *view);

/** One topic by two policies. */
struct rp_rule_diff {
        const char *topic;
        struct rp_rule_view a, b; /* rule NULL: this policy does not name the topic */
        bool identical;
        struct kr_comparison change; /* when both are there */
        const char *keys_file;       /* counted on these keys, not on the hash space; or NULL */
        uint64_t key_cnt;
};

void rp_rule_diff_text(const struct rp_rule_diff *diff, FILE *out);
json_t *rp_rule_diff_json(const struct rp_rule_diff *diff);

#endif
