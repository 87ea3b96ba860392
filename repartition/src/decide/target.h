/** Where a rewritten record goes. Pure. */
#ifndef RP_TARGET_H
#define RP_TARGET_H

#include "record.h"

#include <keyroute.h>

/**
 * A keyed record (the empty key is one) goes where the rule says. A record without a key has no place of its own: it
 * goes to its old partition's number modulo the new count, so what one partition held in order stays in order.
 * @param partition  that it lies in, by its topic's own count
 * @returns 0 .. partition_cnt - 1, or a KR_ERR_ value
 */
int32_t rp_target(const kr_rule_t *rule, const struct rp_record *rec, int32_t partition, int32_t partition_cnt);

/**
 * How long the next transaction may stay open: long enough that committing it is a small share of the time, never
 * longer than most_ms, since an open transaction holds back everyone who reads the target committed.
 * @param commit_ms  what a commit costs lately
 */
int64_t rp_transaction_pace_ms(int64_t commit_ms, int64_t most_ms);

#endif
