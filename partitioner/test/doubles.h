/**
 * Test doubles: 64 wrong ways to partition, each seen in some client or easy to make. The golden vectors must catch
 * every one; a suite that lets one through would let a client through.
 */
#ifndef KR_TEST_DOUBLES_H
#define KR_TEST_DOUBLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wrong wrong_t;

/** @returns the i-th double, or NULL past the end. Static storage. */
const wrong_t *wrong_at(size_t i);

const char *wrong_name(const wrong_t *wrong);

/** @returns how many of the 46 keys of the base table expose it, as another implementation of the doubles counted. */
size_t wrong_caught_cnt(const wrong_t *wrong);

enum wrong_step { WRONG_KEY, WRONG_HASH, WRONG_REDUCTION };

/** Which step its mistake is in. Those in the key and in the reduction can be made with any hash function. */
enum wrong_step wrong_step(const wrong_t *wrong);

/** The partition that this double chooses; may be no partition at all. self is a wrong_t. */
int32_t wrong_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt);

/** A WRONG_KEY made by somebody who has another function, right(self, ...), in place of Java's. */
int32_t wrong_partition_over(const wrong_t *wrong,
                             int32_t (*right)(const void *self, const void *key, size_t key_len, int32_t partition_cnt),
                             const void *self, const void *key, size_t key_len, int32_t partition_cnt);

/** What a WRONG_REDUCTION makes of 32 bits that some function gave. */
int32_t wrong_reduced(const wrong_t *wrong, uint32_t hash, int32_t partition_cnt);

/** Whether that is what functions of this "reduction" (as the vector files name it) do, so that it is no mistake there. */
bool wrong_is_right_for(const wrong_t *wrong, const char *reduction);

#endif
