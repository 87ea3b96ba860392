/** Joins reports of `audit --partitions` that together hold every partition of a topic once. */
#ifndef RP_MERGE_AUDIT_H
#define RP_MERGE_AUDIT_H

#include "cli/command.h"
#include "cli/verify_part.h"

struct rp_merge_audit {
        const struct rp_policy_args *policy_args;
        const kr_policy_t *policy; /* that the parts must have been judged by */
        bool show_keys;
};

/** Prints what an audit of the whole would. @returns the exit code; errors were printed by then. */
int rp_merge_audit(const struct rp_merge_audit *merge, const struct rp_merge_input *inputs, size_t cnt, bool json, FILE *out);

#endif
