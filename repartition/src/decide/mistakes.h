/**
 * What programs make of a key by mistake before they hash it: forms, as rp_form_at() has them, that are looked for in a
 * program that fails, whatever its keys are. Unlike an audit's forms they apply to keys that are no text as well: a program
 * that takes bytes for text puts U+FFFD where they are no UTF-8 (as browsers, Java, Python's "replace", Node and Rust do).
 */
#ifndef RP_MISTAKES_H
#define RP_MISTAKES_H

#include "decide/explain.h"

/** The i-th, the plainest first, or NULL past the last. Static storage; each has an encoder. */
const struct rp_form *rp_mistake_at(size_t i);

#endif
