/**
 * Test doubles: 63 wrong ways to partition, each seen in some client or easy to make. The golden vectors must catch
 * every one; a suite that lets one through would let a client through.
 */
#ifndef KR_TEST_DOUBLES_H
#define KR_TEST_DOUBLES_H

#include <stddef.h>
#include <stdint.h>

typedef struct wrong wrong_t;

/** @returns the i-th double, or NULL past the end. Static storage. */
const wrong_t *wrong_at(size_t i);

const char *wrong_name(const wrong_t *wrong);

/** @returns how many of the 46 keys of the base table expose it, as another implementation of the doubles counted. */
size_t wrong_caught_cnt(const wrong_t *wrong);

/** The partition that this double chooses; may be no partition at all. self is a wrong_t. */
int32_t wrong_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt);

#endif
