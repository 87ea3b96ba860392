/**
 * What it costs to give a topic more partitions or other weights: the policy that moves the fewest keys, and how many
 * of the topic's records it moves, beside what plain modulo would. Pure: policies come as text, records one by one.
 */
#ifndef RP_GROWTH_H
#define RP_GROWTH_H

#include "error.h"
#include "record.h"

#include <keyroute.h>

/** What a topic shall become. */
struct rp_growth_wish {
        const char *policy_json; /* the policy in force, as text */
        const char *policy_path; /* where it stands, for messages and for the files it names */
        const char *topic;
        const char *into;         /* the topic that the next rule is for; NULL: `topic` itself, in place */
        int32_t from, to;         /* partitions now, and then */
        const char *weights_json; /* an object such as {"0-11": 2, "*": 1}; NULL: as before, 1 for newcomers */
};

/** The three rules that a plan compares. */
struct rp_growth_rules {
        kr_policy_t *now, *modulo, *next;
        const kr_rule_t *now_rule;       /* pinned to `from` */
        const kr_rule_t *modulo_rule;    /* the same keys and hash, modulo any count */
        const kr_rule_t *next_rule;      /* pinned to `to`; NULL: see why_not */
        double modulo_share, next_share; /* of all hashes that move, by arithmetic; below 0: not known */
        char *next_json;                 /* the whole policy with the next rule in it, compiled; owned */
        char why_not[512];               /* why there is no next rule */
};

/**
 * A topic by modulo or slots gets a table of slots that starts from the one in force; any other map is read again for
 * the new count. The other topics of the policy stay as they are.
 * @returns RP_OK and *rules, the caller's to rp_growth_rules_release(), with next_rule NULL where the map cannot be
 * made for that count; RP_ERR_USAGE when the policy in force cannot be used at all.
 */
rp_err_t rp_growth_rules_init(struct rp_growth_rules *rules, const struct rp_growth_wish *wish, struct rp_error *err);
void rp_growth_rules_release(struct rp_growth_rules *rules);

struct rp_growth_tally {
        uint64_t moved, moved_bytes; /* records that a rule puts somewhere else than where they lie */
        uint64_t refused;            /* records whose key the rule refuses */
        uint64_t *loads;             /* records by partition afterwards; those without a key stay */
};

struct rp_growth {
        const struct rp_growth_rules *rules; /* borrowed */
        int32_t from, to;
        uint64_t records, bytes;     /* bytes of keys and values */
        uint64_t keyed, keyed_bytes; /* of records with a key, the empty one too */
        uint64_t misplaced;          /* not where the rule in force puts them */
        uint64_t *loads;             /* records by partition now */
        struct rp_growth_tally modulo, next;
};

/** @returns RP_OK and *growth, the caller's to rp_growth_release(); RP_ERR_FATAL when memory is out. */
rp_err_t rp_growth_init(struct rp_growth *growth, const struct rp_growth_rules *rules, int32_t from, int32_t to,
                        struct rp_error *err);
void rp_growth_release(struct rp_growth *growth);
void rp_growth_add(struct rp_growth *growth, const struct rp_record *rec);

/** The share of all hashes that go elsewhere by the second rule, as kr_rule_compare() finds it; below 0: not known. */
double rp_moved_share(const kr_rule_t *from, int32_t from_cnt, const kr_rule_t *to, int32_t to_cnt);

/** Fullest over mean; 0 without records. */
double rp_max_over_mean(const uint64_t *loads, int32_t cnt);

#endif
