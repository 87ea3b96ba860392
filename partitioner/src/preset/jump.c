/*
 * Jump consistent hash (Lamping and Veach, 2014): from a 64-bit number to one of N buckets, so that a growth of N moves
 * the fewest keys. Which 64-bit number stands for a key is left open by the paper; here it is the key itself, or a hash
 * by name. A policy that shall move few keys uses slots.
 */
#include "preset.h"

#include "../hash/load.h"

#include <inttypes.h>
#include <string.h>

static int32_t jump(uint64_t key, int32_t bucket_cnt)
{
        int64_t bucket = -1, next = 0;

        while (next < bucket_cnt) {
                bucket = next;
                key = key * 2862933555777941757u + 1;
                next = (int64_t)((double)(bucket + 1) * ((double)(INT64_C(1) << 31) / (double)((key >> 33) + 1)));
        }
        return (int32_t)bucket;
}

static bool settle(struct kr_preset *preset, struct kr_error *err)
{
        const char *name = preset->values[1].text;

        preset->bucket_cnt = (int32_t)preset->values[0].number;
        return !strcmp(name, "none") || kr_hash_find(name) ||
               kr_preset_fail(preset, err, "hash: no hash \"%.60s\"; repartition route --list-hashes lists them", name);
}

static bool place(const struct kr_preset *preset, struct kr_bytes key, struct kr_placement *placement,
                  struct kr_error *err)
{
        const kr_hash_t *hash = kr_hash_find(preset->values[1].text);
        uint64_t value;

        if (!hash && key.len != 8)
                return kr_preset_fail(preset, err,
                                      "expected a key of 8 bytes, a big-endian number (--key-format int64), "
                                      "or hash=NAME for other keys");
        value = hash ? kr_hash_value(hash, key.data, key.len) : kr_load_be(key.data, 8);
        placement->bucket = jump(value, preset->bucket_cnt);
        kr_placement_add(placement, "bucket", "%" PRId32, placement->bucket);
        return true;
}

static const struct kr_preset_param params[] = {
        { "buckets", NULL, 1, 1000000, NULL, "the number of buckets" },
        { "hash", "none", 0, 0, NULL, "a hash function by name; none: the key is an 8-byte number" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_jump = {
        .info = { .name = "jump",
                  .store = "jump consistent hash, as Guava's Hashing.consistentHash",
                  .prints = "bucket",
                  .source = "Lamping and Veach, arXiv 1406.2294; Guava 31.1",
                  .params = params },
        .settle = settle,
        .place = place,
};
