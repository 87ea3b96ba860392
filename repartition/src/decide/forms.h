/**
 * Forms of a key that a producer may have hashed in place of the bytes that lie in the topic: without its registry
 * frame, in other JSON quotes, in UTF-16, a number in another encoding, one part of it, without a window. They are
 * tried when the plain functions leave a share of the keys unexplained, each with every client's hash function, and only
 * those that stand out become candidates beside the plain ones.
 *
 * Evidence counts by distinct hashed bytes, not by keys: a prefix that many keys share says something once. A form is
 * taken in when its likelihood ratio over "the fullest partition" pays for all forms and functions tried, a thousand
 * times over. At most RP_FORMS_MAX are. Pure and deterministic.
 */
#ifndef RP_FORMS_H
#define RP_FORMS_H

#include "decide/explain.h"

/**
 * Adds the forms that stand out among what `found` leaves unexplained.
 * @param ways   those that found was made with; what is added comes behind them
 * @returns how many were added; 0 also when memory is out.
 */
size_t rp_forms_add(struct rp_ways *ways, const struct rp_explanation *found, const struct rp_sample_key *keys,
                    size_t key_cnt, int32_t partition_cnt);

/** Well-formed UTF-8 as UTF-16 without a mark of its order. False when it is not well-formed, or has no room. */
bool rp_form_utf16(const unsigned char *text, size_t len, bool big_endian, struct rp_form_bytes *out);

/** The i-th form, or NULL past the last. Static storage. */
const struct rp_form *rp_form_at(size_t i);

#endif
