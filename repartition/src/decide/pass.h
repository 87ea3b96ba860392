/**
 * Plans a pass of a copying job: which offsets of each partition are still to be read, and what is stored with the marks
 * from now on. A part of decide/copy.c, apart for its size.
 */
#ifndef RP_PASS_H
#define RP_PASS_H

#include "decide/copy.h"

/**
 * Fixes copy->ranges, positions and notes from copy->stored, copy->bounds and what was asked for. A pass that is not
 * finished is taken up with the ends that it had; else a new one begins.
 * @param has_work  set to false when nothing is left to copy
 * @returns RP_OK; else copy->error says what is wrong with the stored progress or the source.
 */
rp_err_t rp_pass_plan(struct rp_copy *copy, bool *has_work);

#endif
