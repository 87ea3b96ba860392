/**
 * The arithmetic of "several producers wrote here": a mixture of deterministic placements and of placements that
 * follow no function, fitted by expectation maximisation.
 *
 * An observation is one distinct (key, partition) pair. Under component j its likelihood is 1 when the component's
 * function sends the key to that partition, else 0; under the rest it is q[partition]. q is fitted too, with one
 * pseudo-observation a partition: a producer that fills some partitions by hand must not make every function of a
 * smaller partition count look good.
 *
 * Pure and deterministic: the same observations in the same order give the same bits.
 */
#ifndef RP_MIXTURE_H
#define RP_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_COMPONENTS_MAX = 8 };

struct rp_mixture {
        size_t cnt;                /* observations */
        const int32_t *partitions; /* borrowed: where each was seen */
        int32_t partition_cnt;

        size_t component_cnt;
        const unsigned char *matches[RP_COMPONENTS_MAX]; /* borrowed: 1 where the component's function agrees */
        double shares[RP_COMPONENTS_MAX];
        double rest;               /* share that follows no component; all shares sum to 1 */
        double *q;                 /* by partition */
        double *likelihoods;       /* of each observation under the whole mixture */
        double *found;             /* by partition: observations of the rest, while fitting */
        double fit;                /* natural log of the likelihood, and of q's prior relative to an even q */
};

/** @returns false when memory is out. */
bool rp_mixture_init(struct rp_mixture *mixture, const int32_t *partitions, size_t cnt, int32_t partition_cnt);
void rp_mixture_release(struct rp_mixture *mixture);

/** Adds a component; fit anew afterwards. At most RP_COMPONENTS_MAX. */
void rp_mixture_add(struct rp_mixture *mixture, const unsigned char *matches);

/** Takes the j-th component out, its share goes to the rest; fit anew afterwards. */
void rp_mixture_remove(struct rp_mixture *mixture, size_t j);

/** Finds the shares and q that explain the observations best, starting from what they are. */
void rp_mixture_fit(struct rp_mixture *mixture);

/**
 * Sets the rest to nothing, for the case that every observation is explained: what fitting leaves to it then is the
 * floor of its arithmetic, no finding.
 */
void rp_mixture_drop_rest(struct rp_mixture *mixture);

/** By how much the fit would improve at least if this component came in beside the others as they are. */
double rp_mixture_gain(const struct rp_mixture *mixture, const unsigned char *matches);

/** How much of an observation is the j-th component's: 0 to 1. */
double rp_mixture_part(const struct rp_mixture *mixture, size_t j, size_t observation);

#endif
