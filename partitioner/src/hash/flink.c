/*
 * Flink's MathUtils.murmurHash over the hashCode() of the key: one word of MurmurHash3 x86 32, then |h| with MIN as 0.
 * The key group is this modulo the maximum parallelism (KeyGroupRangeAssignment).
 */
#include "hash.h"
#include "java_string_hash.h"
#include "load.h"
#include "murmur3.h"
#include "store.h"

static uint64_t of_hash_code(uint32_t code)
{
        return kr_sign_abs_min0(kr_murmur3_finish(kr_murmur3_word(0, code), sizeof(code)));
}

uint64_t kr_flink_string(const void *key, size_t key_len)
{
        return of_hash_code(kr_java_string_hash_raw(key, key_len));
}

/** The key's length tells an Integer, which is its own hashCode, from a Long, whose halves are folded. */
uint64_t kr_flink_number(const void *key, size_t key_len)
{
        uint64_t number;

        if (!kr_load_number(key, key_len, &number))
                return kr_flink_string(key, key_len);
        return of_hash_code((uint32_t)(key_len == 8 ? number ^ number >> 32 : number));
}
