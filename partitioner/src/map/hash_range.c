/* Sorted bounds over the hash value. Splitting a range moves the keys of that range and no other. */
#include "hash_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ranges {
        size_t cnt;
        unsigned bits;
        uint64_t *bounds; /* cnt - 1 of them: where ranges 1, 2, ... start; range 0 starts at 0 */
        int32_t *owners;
        /*
         * The hash space in equal boxes, some four for each range: the range in which box b starts is first[b], and the one
         * in which it ends at most first[b + 1]. Saves the search nearly all of its steps, each one a wrong guess away
         * from costing more than the hash.
         */
        unsigned shift;
        uint64_t box_cnt;
        uint32_t *first; /* box_cnt + 1 */
};

static const char *const fields[] = { "kind", "bounds", "owners", NULL };

static bool fill_boxes(struct ranges *ranges)
{
        unsigned box_bits = 2;
        size_t range = 0;

        while ((size_t)1 << box_bits < 4 * ranges->cnt)
                box_bits++;
        if (box_bits > ranges->bits)
                box_bits = ranges->bits;
        ranges->box_cnt = (uint64_t)1 << box_bits;
        ranges->shift = ranges->bits - box_bits;
        ranges->first = malloc((ranges->box_cnt + 1) * sizeof(*ranges->first));
        if (!ranges->first)
                return false;
        for (uint64_t box = 0; box < ranges->box_cnt; box++) {
                while (range + 1 < ranges->cnt && ranges->bounds[range] <= box << ranges->shift)
                        range++;
                ranges->first[box] = (uint32_t)range;
        }
        ranges->first[ranges->box_cnt] = (uint32_t)ranges->cnt - 1;
        return true;
}

bool kr_hash_range_keep(struct kr_map *map, const struct kr_stretch *stretches, size_t cnt, unsigned bits)
{
        struct ranges *ranges = calloc(1, sizeof(*ranges));
        size_t merged = 1;

        map->state = ranges;
        for (size_t i = 1; i < cnt; i++)
                merged += stretches[i].owner != stretches[i - 1].owner;
        if (ranges) {
                ranges->bounds = malloc(merged * sizeof(*ranges->bounds));
                ranges->owners = malloc(merged * sizeof(*ranges->owners));
        }
        if (!ranges || !ranges->bounds || !ranges->owners)
                return false;
        ranges->bits = bits;
        for (size_t i = 0; i < cnt; i++) {
                if (i && stretches[i].owner == stretches[i - 1].owner)
                        continue;
                if (i)
                        ranges->bounds[ranges->cnt - 1] = stretches[i].start;
                ranges->owners[ranges->cnt++] = stretches[i].owner;
        }
        return fill_boxes(ranges);
}

void kr_hash_range_release(struct kr_map *map)
{
        struct ranges *ranges = map->state;

        if (ranges) {
                free(ranges->bounds);
                free(ranges->owners);
                free(ranges->first);
        }
        free(ranges);
}

int32_t kr_hash_range_partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        const struct ranges *ranges = map->state;
        uint64_t box = *hash >> ranges->shift;
        size_t low, high;

        (void)bytes;
        (void)partition_cnt; /* the pinned one, for which the ranges were made */
        if (box >= ranges->box_cnt) /* an absolute value of 2^31 */
                box = ranges->box_cnt - 1;
        low = ranges->first[box];
        high = ranges->first[box + 1];
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (ranges->bounds[middle] <= *hash)
                        low = middle + 1;
                else
                        high = middle;
        }
        return ranges->owners[low];
}

static bool parse_bound(const struct kr_json *at, uint64_t max, uint64_t *out, struct kr_error *err)
{
        const char *text = json_string_value(at->value);
        bool ok = false;
        char *end;

        if (json_is_integer(at->value)) {
                ok = json_integer_value(at->value) >= 0;
                *out = (uint64_t)json_integer_value(at->value);
        } else if (text && !strncmp(text, "0x", 2) && strlen(text) <= 18 &&
                   strspn(text + 2, "0123456789abcdefABCDEF") == json_string_length(at->value) - 2) {
                *out = strtoull(text + 2, &end, 16);
                ok = text[2];
        }
        return (ok && *out && *out <= max) ||
               kr_json_fail(at, err, "expected a hash value from 1 to %" PRIu64 ", such as 1073741824 or \"0x40000000\"",
                            max);
}

static bool parse_bounds(const struct kr_json *at, uint64_t max, struct kr_stretch *stretches, size_t cnt,
                         struct kr_error *err)
{
        for (size_t i = 1; i < cnt; i++) {
                struct kr_json bound_at = kr_json_element(at, i - 1);

                if (!parse_bound(&bound_at, max, &stretches[i].start, err))
                        return false;
                if (stretches[i].start <= stretches[i - 1].start)
                        return kr_json_fail(&bound_at, err, "bounds must rise: %" PRIu64 " comes after %" PRIu64,
                                            stretches[i].start, stretches[i - 1].start);
        }
        return true;
}

/* Range i of N holds the hashes h with floor(h * N / 2^bits) = i. */
static bool cut_evenly(const struct kr_json *at, struct kr_stretch *stretches, size_t cnt, unsigned bits,
                       struct kr_error *err)
{
        __extension__ typedef unsigned __int128 wide;

        for (size_t i = 0; i < cnt; i++) {
                stretches[i].start = (uint64_t)((((wide)i << bits) + cnt - 1) / cnt);
                if (i && stretches[i].start == stretches[i - 1].start)
                        return kr_json_fail(at, err, "the hash has %d bits, too few to be cut into %zu ranges", (int)bits,
                                            cnt);
        }
        return true;
}

static bool parse_owners(const struct kr_json *at, struct kr_stretch *stretches, size_t cnt, int32_t partition_cnt,
                         struct kr_error *err)
{
        if (at->value && (!json_is_array(at->value) || json_array_size(at->value) != cnt))
                return kr_json_fail(at, err, "expected an array of %zu partitions: one for each range, which are one more "
                                             "than the bounds", cnt);
        if (!at->value && cnt != (size_t)partition_cnt)
                return kr_json_fail(at->parent, err, "\"owners\" is missing: %zu ranges for %" PRId32 " partitions", cnt,
                                    partition_cnt);
        for (size_t i = 0; i < cnt; i++) {
                struct kr_json owner_at = kr_json_element(at, i);
                int64_t owner = (int64_t)i;

                if (at->value && !kr_json_integer(&owner_at, 0, partition_cnt - 1, &owner, err))
                        return false;
                stretches[i].owner = (int32_t)owner;
        }
        return true;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        struct kr_json bounds_at = kr_json_member(at, "bounds");
        struct kr_json owners_at = kr_json_member(at, "owners");
        const kr_hash_t *hash = context->hash;
        struct kr_stretch *stretches;
        size_t cnt;
        bool ok;

        if (!kr_map_pinned(at, context, err))
                return false;
        if (bounds_at.value && !json_is_array(bounds_at.value))
                return kr_json_fail(&bounds_at, err, "expected an array of rising hash values");
        if (!bounds_at.value && owners_at.value)
                return kr_json_fail(at, err, "\"bounds\" is missing: where the ranges of the owners start");
        cnt = bounds_at.value ? json_array_size(bounds_at.value) + 1 : (size_t)context->partition_cnt;
        if (cnt > KR_HASH_RANGE_CNT_MAX)
                return kr_json_fail(&bounds_at, err, "expected at most %d bounds", KR_HASH_RANGE_CNT_MAX - 1);
        stretches = calloc(cnt, sizeof(*stretches));
        if (!stretches)
                return kr_json_fail(at, err, "out of memory");
        ok = (bounds_at.value ? parse_bounds(&bounds_at, kr_hash_max(hash), stretches, cnt, err)
                              : cut_evenly(at, stretches, cnt, hash->bits, err)) &&
             parse_owners(&owners_at, stretches, cnt, context->partition_cnt, err) &&
             (kr_hash_range_keep(map, stretches, cnt, hash->bits) || kr_json_fail(at, err, "out of memory"));
        free(stretches);
        return ok;
}

/* Byte by byte, so that the fingerprint is the same on every processor. */
static void add_number(struct kr_canon *canon, uint64_t bound, int32_t owner)
{
        unsigned char item[12];

        for (int i = 0; i < 8; i++)
                item[i] = (unsigned char)(bound >> (8 * i));
        for (int i = 0; i < 4; i++)
                item[8 + i] = (unsigned char)((uint32_t)owner >> (8 * i));
        kr_canon_add_bytes(canon, item, sizeof(item));
}

void kr_hash_range_canon(const struct kr_map *map, struct kr_canon *canon)
{
        const struct ranges *ranges = map->state;

        kr_canon_add(canon, "map=hash-range %zu", ranges->cnt);
        for (size_t i = 0; i < ranges->cnt; i++)
                add_number(canon, i ? ranges->bounds[i - 1] : 0, ranges->owners[i]);
}

size_t kr_hash_range_memory(const struct kr_map *map)
{
        const struct ranges *ranges = map->state;

        return sizeof(*ranges) + ranges->cnt * (sizeof(*ranges->bounds) + sizeof(*ranges->owners)) +
               (ranges->box_cnt + 1) * sizeof(*ranges->first);
}

const uint64_t *kr_hash_range_bounds(const struct kr_map *map, size_t *cnt)
{
        const struct ranges *ranges = map->state;

        *cnt = ranges->cnt - 1;
        return ranges->bounds;
}

json_t *kr_hash_range_compile(const struct kr_map *map, const struct kr_json *at, bool expand)
{
        const struct ranges *ranges = map->state;
        json_t *bounds = json_array(), *owners = json_array();

        (void)at;
        (void)expand;
        for (size_t i = 0; i < ranges->cnt; i++) {
                char text[24];

                if (i && ranges->bits <= 53) { /* more bits than that are not safe in every language's JSON numbers */
                        json_array_append_new(bounds, json_integer((json_int_t)ranges->bounds[i - 1]));
                } else if (i) {
                        snprintf(text, sizeof(text), "0x%016" PRIx64, ranges->bounds[i - 1]);
                        json_array_append_new(bounds, json_string(text));
                }
                json_array_append_new(owners, json_integer(ranges->owners[i]));
        }
        return json_pack("{s:s, s:o, s:o}", "kind", "hash-range", "bounds", bounds, "owners", owners);
}

const struct kr_map_kind kr_map_hash_range = {
        .name = "hash-range",
        .fields = fields,
        .parse = parse,
        .release = kr_hash_range_release,
        .partition = kr_hash_range_partition,
        .canon = kr_hash_range_canon,
        .memory = kr_hash_range_memory,
        .bounds = kr_hash_range_bounds,
        .compile = kr_hash_range_compile,
};
