/*
 * memcached's ketama: each node has points on a ring of 2^32, four to the MD5 of "NODE-I" for I from 0, and a key
 * belongs to the first point at or above its own hash. What a node is called there divides the clients into two
 * families that send most keys elsewhere: libmemcached leaves the default port out, libketama and its copies never do.
 */
#include "preset.h"

#include "../hash/load.h"
#include "../hash/md5.h"
#include "../hash/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES, STYLE };
enum { NODE_CNT_MAX = 1000, POINTS_EACH = 40, WEIGHT_MAX = 100000 };

struct kr_preset_node {
        const char *name;
        int64_t weight;
};

static bool read_node(const struct kr_preset *preset, char *text, struct kr_preset_node *node, struct kr_error *err)
{
        char *weight = strchr(text, '*');

        if (weight)
                *weight++ = '\0';
        node->name = text;
        node->weight = weight ? strtol(weight, NULL, 10) : 1;
        if (!strchr(text, ':') || strlen(text) >= sizeof(((struct kr_placement_field *)0)->text))
                return kr_preset_fail(preset, err, "nodes: expected HOST:PORT, found \"%.60s\"", text);
        if (node->weight < 1 || node->weight > WEIGHT_MAX || (weight && strspn(weight, "0123456789") != strlen(weight)))
                return kr_preset_fail(preset, err, "nodes: %.60s: expected a weight from 1 to %d, found \"%.20s\"",
                                      text, WEIGHT_MAX, weight);
        return true;
}

static bool settle(struct kr_preset *preset, struct kr_error *err)
{
        char *rest = preset->spec + (preset->values[NODES].text - preset->spec), *text;
        size_t cnt = 1;

        for (const char *c = rest; *c; c++)
                cnt += *c == '+';
        if (cnt > NODE_CNT_MAX)
                return kr_preset_fail(preset, err, "nodes: expected at most %d", NODE_CNT_MAX);
        preset->nodes = calloc(cnt, sizeof(*preset->nodes));
        if (!preset->nodes)
                return kr_preset_fail(preset, err, "out of memory");
        preset->bucket_cnt = (int32_t)cnt;
        for (size_t i = 0; (text = strsep(&rest, "+")); i++)
                if (!read_node(preset, text, &preset->nodes[i], err))
                        return false;
        return true;
}

/* How many digests a node gets. libmemcached computes in floats, whose rounding is part of its rule. */
static int64_t digest_cnt(const struct kr_preset *preset, int64_t weight, int64_t total)
{
        float share = (float)weight / (float)total;

        if (kr_preset_is(preset, STYLE, "libketama"))
                return POINTS_EACH * preset->bucket_cnt * weight / total;
        return (int64_t)(float)((double)(share * (4 * POINTS_EACH) / 4 * (float)preset->bucket_cnt) + 0.0000000001);
}

static void digest_of(const struct kr_preset *preset, const char *node, int64_t i, unsigned char digest[KR_MD5_SIZE])
{
        const char *port = strrchr(node, ':');
        int name_len = (int)strlen(node);
        char point[160];
        int len;

        if (kr_preset_is(preset, STYLE, "libmemcached") && !strcmp(port, ":11211"))
                name_len = (int)(port - node);
        len = snprintf(point, sizeof(point), "%.*s-%" PRId64, name_len, node, i);
        kr_md5(point, (size_t)len, digest);
}

static int by_place(const void *a, const void *b)
{
        const struct kr_preset_range *x = a, *y = b;

        if (x->start != y->start)
                return x->start < y->start ? -1 : 1;
        return x->partition - y->partition;
}

/* Turns points, where stretches end, into where they start; the one past the last point is the first node's again. */
static size_t join(struct kr_preset_range *points, size_t cnt, struct kr_preset_range *ranges)
{
        uint64_t start = 0;
        size_t used = 0;

        qsort(points, cnt, sizeof(*points), by_place);
        for (size_t i = 0; i < cnt; i++) {
                if (points[i].start < start)
                        continue; /* two nodes have a point here: the first one keeps it */
                ranges[used++] = (struct kr_preset_range){ start, points[i].partition };
                start = points[i].start + 1;
        }
        if (start <= UINT32_MAX)
                ranges[used++] = (struct kr_preset_range){ start, points[0].partition };
        return used;
}

static json_t *rule(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        struct kr_preset_range *points, *ranges;
        int64_t total = 0, digests = 0;
        size_t cnt = 0;
        json_t *out;

        if (partition_cnt != preset->bucket_cnt)
                return kr_preset_wrong_count(preset, partition_cnt, err);
        for (int32_t n = 0; n < partition_cnt; n++)
                total += preset->nodes[n].weight;
        for (int32_t n = 0; n < partition_cnt; n++)
                digests += digest_cnt(preset, preset->nodes[n].weight, total);
        points = calloc((size_t)digests * 8 + 1, sizeof(*points));
        if (!points) {
                kr_preset_fail(preset, err, "out of memory");
                return NULL;
        }
        ranges = points + digests * 4;
        for (int32_t n = 0; n < partition_cnt; n++)
                for (int64_t i = 0; i < digest_cnt(preset, preset->nodes[n].weight, total); i++) {
                        unsigned char digest[KR_MD5_SIZE];

                        digest_of(preset, preset->nodes[n].name, i, digest);
                        for (size_t word = 0; word < 4; word++)
                                points[cnt++] = (struct kr_preset_range){ kr_load_le32(digest + 4 * word), n };
                }
        out = kr_preset_ranges("ketama", ranges, join(points, cnt, ranges), partition_cnt);
        free(points);
        return out;
}

static void print(const struct kr_preset *preset, const struct kr_routing *routing, struct kr_bytes key,
                  struct kr_placement *placement)
{
        (void)key;
        kr_placement_add_text(placement, "node", preset->nodes[routing->partition].name);
        kr_placement_add(placement, "index", "%" PRId32, routing->partition);
}

static const char *const styles[] = { "libmemcached", "libketama", NULL };

static const struct kr_preset_param params[] = {
        { "nodes", NULL, 0, 0, NULL, "HOST:PORT or HOST:PORT*WEIGHT, with + between them, in the client's order" },
        { "style", NULL, 0, 0, styles, "who names the points: libmemcached (no default port) or libketama" },
        { .name = NULL },
};

const struct kr_preset_kind kr_preset_ketama = {
        .info = { .name = "ketama",
                  .store = "memcached clients with ketama (libmemcached's KETAMA_WEIGHTED; libketama, uhashring)",
                  .prints = "node, index (of the node, from 0)",
                  .source = "libmemcached 1.1.4, uhashring 2.1",
                  .params = params },
        .settle = settle,
        .rule = rule,
        .print = print,
};
