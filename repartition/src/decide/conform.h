/**
 * Does somebody else's program put keys where the policy does, and if not, what does it do instead? Compares its answers
 * on the golden keys, then tries what people really do: every known hash function, over every form of the key that a
 * program may have hashed by mistake, with the right partition count or another. Pure.
 */
#ifndef RP_CONFORM_H
#define RP_CONFORM_H

#include "decide/candidates.h"
#include "decide/vectors.h"

/** A partition below 0, as programs print one that take the remainder of a signed number: an answer, and never right. */
#define RP_ANSWER_NEGATIVE INT64_MAX

enum {
        RP_ANSWER_NONE = -1,   /* "-": it would spread the key, as if there were none */
        RP_ANSWER_ABSENT = -2, /* no answer: the key did not arrive */
};

/** One key: what is right, and what the program said. */
struct rp_conform_case {
        const struct rp_vector *vector;
        int32_t wanted; /* partition; RP_ANSWER_NONE: the policy refuses the key, so that any answer but one is right */
        int64_t answer; /* RP_ANSWER_NEGATIVE, a partition, which may lie beyond the count, or RP_ANSWER_... */
        bool ok;
};

/** What the program does, as far as the answers tell. */
struct rp_conform_likeness {
        const struct rp_way *way; /* borrowed from the ways; NULL: nothing known */
        const char *form;         /* what it hashed in place of the key's bytes; NULL: these */
        int32_t partition_cnt;
        size_t agree, of;         /* cases with a key that is not empty */
};

struct rp_conform {
        const kr_rule_t *rule;
        int32_t partition_cnt;
        struct rp_conform_case *cases; /* one a vector, in their order */
        size_t case_cnt, failed_cnt;
        bool empty_is_null;  /* the empty key is treated as if there were none */
        struct rp_conform_likeness likeness;
        bool is_unknown;     /* nothing explains the answers: rp_conform_ask_again() may */
        char verdict[256];   /* what it does, one line */
        char fix[512];       /* what to change, one line; "" when nothing is wrong */
};

/** @returns RP_OK and *conform with every case's `wanted`, the caller's to rp_conform_release(). */
rp_err_t rp_conform_init(struct rp_conform *conform, const kr_rule_t *rule, int32_t partition_cnt,
                         const struct rp_vectors *vectors, struct rp_error *err);

/** Once every case has its answer. @param ways  of the same rule and count; borrowed */
void rp_conform_judge(struct rp_conform *conform, const struct rp_ways *ways);

/**
 * After a verdict that nothing explains the answers: the same program was asked once more, in the reverse order. Changes the
 * verdict when it answers otherwise. @param answers  one a case, in the order of the cases
 */
void rp_conform_ask_again(struct rp_conform *conform, const int64_t *answers);

void rp_conform_release(struct rp_conform *conform);

/** What is wrong with one case, in words; "" when nothing is. */
void rp_conform_describe(const struct rp_conform *conform, const struct rp_conform_case *at, char *out, size_t size);

#endif
