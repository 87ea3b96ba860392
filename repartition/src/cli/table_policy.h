/** A policy whose map is a table with one row for each group, from a plan. */
#ifndef RP_TABLE_POLICY_H
#define RP_TABLE_POLICY_H

#include "decide/demand.h"

#include <jansson.h>
#include <keyroute.h>

struct rp_table_policy {
        const char *base_json; /* the policy in force, of which all else is kept; NULL: none */
        const char *base_path; /* where it stands, or the name of the new one in messages */
        const char *rule_name; /* the rule in it, or of a new policy */
        const char *hash;      /* of a new policy */
        int32_t partition_cnt;
        const char *delimiter; /* how keys split: rows are first parts; NULL: rows are whole keys */
};

/**
 * Rows with more delimiters in them stand in tables around the others, so that the longest first part of a key that has
 * a row decides. Keys that are in no row go where the policy in force sends them, table rows excepted, else by modulo.
 * The policy is read back and asked for every row before it is returned.
 * @param place  of each unit
 * @returns the document, the caller's to json_decref(); NULL with *err
 */
json_t *rp_table_policy_make(const struct rp_table_policy *plan, const struct rp_units *units, const int32_t *place,
                             struct rp_error *err);

/** The document as text for people, the caller's to free(); NULL with *err. */
char *rp_table_policy_print(const struct rp_table_policy *plan, const json_t *document, struct rp_error *err);

#endif
