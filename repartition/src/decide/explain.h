/**
 * Who placed the records? Tries every function with every partition count that the topic may have had, on the distinct
 * (key, partition) pairs of a sample, and finds the mixture that explains them best.
 *
 * A component is taken in only when it improves the log-likelihood by more than ln(n)/2 (Schwarz) and the log of how
 * many such components were tried; older partition counts share one half of that prior, so that among hundreds of
 * functions none comes in by luck; nor by a likeness to whatever placed the rest (decide/dispersion.h). What no function
 * explains is described by what its keys do: stay or wander.
 *
 * Pure and deterministic. Needs a sample, no records.
 */
#ifndef RP_EXPLAIN_H
#define RP_EXPLAIN_H

#include "decide/candidates.h"
#include "decide/mixture.h"
#include "decide/sample.h"

/** One function on the sample: how many of the pairs lie where it puts them. */
struct rp_function {
        const struct rp_way *way;
        int32_t partition_cnt;
        size_t agree;
};

/** One component of the mixture. */
struct rp_cause {
        const struct rp_way *way;
        int32_t partition_cnt;  /* the topic's, or an older, smaller one */
        double share;           /* of the distinct (key, partition) pairs; with the others' and the rest's it sums to 1 */
        double records_share;   /* of the sampled keys' records */
        double misplaced_share; /* of the sampled keys' misplaced records */
        double confidence;      /* that records were placed by this function or one of same_as; below 1 */
        struct rp_function *same_as; /* fit as well on this sample; owned */
        size_t same_as_cnt;
        bool same_always;       /* they agree for every key at this count, not just for the sampled ones */
        int64_t first_ms, last_ms; /* times of records that can only be this cause's; -1 when there are none */
        char fix[512];          /* what ends it, one line */
};

/** What the keys that no function explains do. */
typedef enum {
        RP_REST_NONE,          /* everything is explained                                                    */
        RP_REST_KEYS_IGNORED,  /* the same key comes in many partitions: round robin, random, sticky, by hand */
        RP_REST_OTHER_FUNCTION,/* the same key always comes in the same partition, by no function known here */
        RP_REST_ONE_PARTITION, /* all in one partition                                                       */
        RP_REST_SEEN_ONCE,     /* too few keys occur twice to say                                            */
        RP_REST_UNCLEAR        /* some stay, some wander                                                     */
} rp_rest_t;

typedef enum {
        RP_EXPLAINED,    /* see causes and rest                                              */
        RP_UNDETERMINED, /* too few distinct keys; keys_needed more would do                 */
        RP_NO_KEYS,      /* not one key                                                      */
        RP_ONE_PARTITION /* with one partition every function is the same                    */
} rp_explain_state_t;

struct rp_explanation {
        rp_explain_state_t state;
        size_t keys;        /* distinct keys that were evidence */
        size_t pairs;       /* distinct (key, partition) pairs of them */
        size_t long_keys;   /* sampled keys whose bytes were too long to keep: no evidence */
        size_t keys_needed; /* RP_UNDETERMINED */
        struct rp_function *functions; /* all, by falling agreement, then in the order of the ways; owned */
        size_t function_cnt;
        struct rp_cause causes[RP_COMPONENTS_MAX]; /* by falling share */
        size_t cause_cnt;
        rp_rest_t rest;
        double rest_share, rest_records_share, rest_misplaced_share;
        int32_t rest_partition; /* RP_REST_ONE_PARTITION */
};

/**
 * @param keys   the sampled keys, by rising hash as rp_sample_keys() gives them; empty keys are skipped
 * @param ways   borrowed by the explanation
 * @returns RP_OK and *out, the caller's to rp_explanation_release(); or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_explain(const struct rp_sample_key *keys, size_t key_cnt, int32_t partition_cnt, const struct rp_ways *ways,
                    struct rp_explanation *out, struct rp_error *err);
void rp_explanation_release(struct rp_explanation *explanation);

/** @returns the word for a kind of rest in reports, such as "keys-ignored". Static storage. */
const char *rp_rest_name(rp_rest_t rest);

/** @returns what it means, one line for people. Static storage. */
const char *rp_rest_text(rp_rest_t rest);

/** @returns "yes", "likely" or "unsure". Static storage. */
const char *rp_confidence_word(double confidence);

#endif
