/**
 * Sharing whole units (slots, partitions) among parties (partitions, locations) by weight, and moving as few of them
 * as possible when the shares change. Integers only: the same input gives the same answer everywhere, in any order.
 */
#ifndef KR_APPORTION_H
#define KR_APPORTION_H

#include "../policy/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Weights are exact decimals, held in millionths. Their sum over a million parties still fits 64 bits. */
#define KR_WEIGHT_ONE 1000000u
#define KR_WEIGHT_MAX (1000000ull * KR_WEIGHT_ONE)

/** A weight as a number or, in quotes, as text for kr_decimal_parse(). The error says which forms there are. */
bool kr_weight_parse(const struct kr_json *at, uint64_t *weight, struct kr_error *err);

/**
 * Weights by partition: {"0-11": 2, "12": "1.5", "*": 1}, where "*" stands for every partition not named. Each
 * partition has exactly one weight, and one of them is above 0. An absent object means 1 for all.
 * @param weights  partition_cnt elements, the caller's
 */
bool kr_weights_parse(const struct kr_json *at, uint64_t *weights, int32_t partition_cnt, struct kr_error *err);

/**
 * Quotas by largest remainder (Hamilton): each party gets floor(total * weight / sum), and the units left over go one
 * each to the largest remainders. Among equal remainders those parties come first that hold more than their floor now,
 * since a unit for them is one that need not move; then the lower index.
 *
 * @param weights  cnt of them, each at most KR_WEIGHT_MAX, not all 0; cnt at most 1,000,000
 * @param held     units that each party holds now; NULL when nobody holds any
 * @param quotas   cnt elements, the caller's; their sum is total
 * @returns false when memory is out
 */
bool kr_apportion(const uint64_t *weights, size_t cnt, uint64_t total, const uint64_t *held, uint64_t *quotas);

/**
 * Changes as few owners as possible so that party p owns quotas[p] slots: every party above its quota gives what it has
 * too much, no other slot moves. Where there is a choice, slots move home first (slot mod party_cnt, Java's partition),
 * then those go that were not at home anyway, highest slot first; receivers are filled by rising number.
 *
 * @param owners    slot_cnt elements, changed in place; values from party_cnt on are parties that are gone
 * @param quotas    party_cnt elements; their sum is slot_cnt
 * @returns false when memory is out
 */
bool kr_reassign(int32_t *owners, size_t slot_cnt, const uint64_t *quotas, int32_t party_cnt);

#endif
