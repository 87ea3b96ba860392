/*
 * Consistent hashing. Partition p has weight * points points on the ring of hash values (halves round up); point i of it,
 * from 0, stands at murmur2 of the text "p-i" in decimal digits, all 32 bits of it, scaled to the width of the rule's
 * hash. A key belongs to the first point at or above its hash, past the highest to the lowest; where points of several
 * partitions fall together, the lowest partition has them. Once read, a ring is nothing but ranges of hash values.
 */
#include "hash_range.h"

#include "../capacity/apportion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 256, POINTS_MAX = 65536 };

static const char *const fields[] = { "kind", "weights", "points", NULL };

static uint64_t point_cnt(uint64_t weight, uint64_t points_each)
{
        return (weight * points_each + KR_WEIGHT_ONE / 2) / KR_WEIGHT_ONE;
}

static uint64_t point_at(int32_t partition, uint64_t i, unsigned bits)
{
        char name[40];
        int len = snprintf(name, sizeof(name), "%" PRId32 "-%" PRIu64, partition, i);
        uint64_t h = kr_murmur2_unsigned(name, (size_t)len);

        return bits < 32 ? h >> (32 - bits) : h << (bits - 32);
}

static int by_place(const void *a, const void *b)
{
        const struct kr_stretch *x = a, *y = b;

        if (x->start != y->start)
                return x->start < y->start ? -1 : 1;
        return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* Sorts the points and makes the stretches that end at them. There may be one more stretch than points. */
static size_t join(struct kr_stretch *points, size_t cnt, uint64_t max, struct kr_stretch *stretches)
{
        uint64_t start = 0;
        size_t used = 0;

        qsort(points, cnt, sizeof(*points), by_place);
        for (size_t i = 0; i < cnt; i++) {
                if (i && points[i].start == points[i - 1].start)
                        continue;
                stretches[used++] = (struct kr_stretch){ start, points[i].owner };
                start = points[i].start + 1;
        }
        if (points[cnt - 1].start < max)
                stretches[used++] = (struct kr_stretch){ start, points[0].owner };
        return used;
}

static bool place_points(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                         const uint64_t *weights, uint64_t points_each, struct kr_error *err)
{
        struct kr_stretch *points, *stretches;
        uint64_t total = 0;
        size_t cnt = 0;
        bool ok;

        for (int32_t p = 0; p < context->partition_cnt && total <= KR_HASH_RANGE_CNT_MAX; p++)
                total += point_cnt(weights[p], points_each);
        if (!total || total >= KR_HASH_RANGE_CNT_MAX)
                return kr_json_fail(at, err, "expected a ring of 1 to %d points, these weights give %s; choose \"points\", "
                                             "the number for weight 1", KR_HASH_RANGE_CNT_MAX - 1,
                                    total ? "more" : "none");
        points = calloc(2 * (size_t)total + 1, sizeof(*points));
        if (!points)
                return kr_json_fail(at, err, "out of memory");
        stretches = points + total;
        for (int32_t p = 0; p < context->partition_cnt; p++)
                for (uint64_t i = 0; i < point_cnt(weights[p], points_each); i++)
                        points[cnt++] = (struct kr_stretch){ point_at(p, i, context->hash->bits), p };
        cnt = join(points, cnt, kr_hash_max(context->hash), stretches);
        ok = kr_hash_range_keep(map, stretches, cnt, context->hash->bits) || kr_json_fail(at, err, "out of memory");
        free(points);
        return ok;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        struct kr_json weights_at = kr_json_member(at, "weights");
        struct kr_json points_at = kr_json_member(at, "points");
        int64_t points = POINTS;
        uint64_t *weights;
        bool ok;

        if (!kr_map_pinned(at, context, err) ||
            (points_at.value && !kr_json_integer(&points_at, 1, POINTS_MAX, &points, err)))
                return false;
        weights = calloc((size_t)context->partition_cnt, sizeof(*weights));
        if (!weights)
                return kr_json_fail(at, err, "out of memory");
        ok = kr_weights_parse(&weights_at, weights, context->partition_cnt, err) &&
             place_points(map, at, context, weights, (uint64_t)points, err);
        free(weights);
        return ok;
}

const struct kr_map_kind kr_map_ring = {
        .name = "ring",
        .fields = fields,
        .parse = parse,
        .release = kr_hash_range_release,
        .partition = kr_hash_range_partition,
        .canon = kr_hash_range_canon,
        .memory = kr_hash_range_memory,
        .bounds = kr_hash_range_bounds,
        .compile = kr_hash_range_compile,
};
