/*
 * Sorted bounds over the routing bytes, for topics that keep neighbouring keys together. A bound is the first key of the
 * range that it starts; a key that another one begins with comes first, as memcmp() and then the length say.
 */
#include "range.h"

#include "../policy/hex.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_CNT_MAX (1 << 20)
#define BOUND_LEN_MAX 32767

struct range {
        uint64_t head; /* the first eight bytes of `start`, big-endian, zeros behind a shorter one: decides most searches */
        uint32_t offset, len; /* of `start` in the text */
        int32_t owner;
};

struct ranges {
        size_t cnt;
        struct range *ranges; /* [0] starts at the empty key */
        unsigned char *text;
        size_t text_len, text_size;
};

static const char *const fields[] = { "kind", "bounds", "owners", NULL };

static uint64_t head_of(struct kr_bytes bytes)
{
        unsigned char head[8] = { 0 };
        uint64_t value = 0;

        if (bytes.len)
                memcpy(head, bytes.data, bytes.len < 8 ? bytes.len : 8);
        for (int i = 0; i < 8; i++)
                value = value << 8 | head[i];
        return value;
}

static int compare(struct kr_bytes a, struct kr_bytes b)
{
        size_t len = a.len < b.len ? a.len : b.len;
        int order = len ? memcmp(a.data, b.data, len) : 0;

        return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

static struct kr_bytes start_of(const struct ranges *ranges, size_t i)
{
        return ranges->ranges[i].len ? (struct kr_bytes){ ranges->text + ranges->ranges[i].offset, ranges->ranges[i].len }
                                     : (struct kr_bytes){ NULL, 0 };
}

/* Equal heads say nothing: "a" and "a\0" have the same. */
static bool starts_at_or_below(const struct ranges *ranges, size_t i, struct kr_bytes bytes, uint64_t head)
{
        if (ranges->ranges[i].head != head)
                return ranges->ranges[i].head < head;
        return compare(start_of(ranges, i), bytes) <= 0;
}

static int32_t partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        const struct ranges *ranges = map->state;
        uint64_t head = head_of(bytes);
        size_t low = 0, high = ranges->cnt;

        (void)hash;
        (void)partition_cnt; /* the pinned one, for which the ranges were made */
        while (high - low > 1) {
                size_t middle = low + (high - low) / 2;

                if (starts_at_or_below(ranges, middle, bytes, head))
                        low = middle;
                else
                        high = middle;
        }
        return ranges->ranges[low].owner;
}

static void release(struct kr_map *map)
{
        struct ranges *ranges = map->state;

        if (ranges) {
                free(ranges->ranges);
                free(ranges->text);
        }
        free(ranges);
}

static bool add_text(struct ranges *ranges, struct range *range, const void *data, size_t len)
{
        while (ranges->text_size - ranges->text_len < len) {
                size_t size = ranges->text_size ? 2 * ranges->text_size : 256;
                unsigned char *text = realloc(ranges->text, size);

                if (!text)
                        return false;
                ranges->text = text;
                ranges->text_size = size;
        }
        memcpy(ranges->text + ranges->text_len, data, len);
        range->offset = (uint32_t)ranges->text_len; /* a policy file has 64 MiB at most */
        range->len = (uint32_t)len;
        ranges->text_len += len;
        return true;
}

/* "text", or {"hex": "00ff"}. */
static bool parse_bound(const struct kr_json *at, struct ranges *ranges, struct range *range, struct kr_error *err)
{
        static const char *const hex_fields[] = { "hex", NULL };
        struct kr_json hex_at = kr_json_member(at, "hex");
        unsigned char *bytes;
        const char *text;
        size_t len;
        bool ok;

        if (json_is_object(at->value)) {
                if (!kr_json_object(at, hex_fields, err) || !kr_json_string(&hex_at, &text, err))
                        return false;
        } else if (!json_is_string(at->value)) {
                return kr_json_fail(at, err, "expected the first key of a range, such as \"g\" or {\"hex\": \"00ff\"}");
        } else {
                text = json_string_value(at->value);
        }
        len = strlen(text);
        if (!len || len > BOUND_LEN_MAX)
                return kr_json_fail(at, err, "expected a key of 1 to %d bytes", BOUND_LEN_MAX);
        if (json_is_string(at->value))
                return add_text(ranges, range, text, len) || kr_json_fail(at, err, "out of memory");
        bytes = malloc(len);
        if (!bytes)
                return kr_json_fail(at, err, "out of memory");
        ok = kr_hex_decode(text, len, bytes) ||
             kr_json_fail(&hex_at, err, "expected pairs of hex digits, such as \"00ff\"");
        ok = ok && (add_text(ranges, range, bytes, len / 2) || kr_json_fail(at, err, "out of memory"));
        free(bytes);
        return ok;
}

static bool parse_owner(const struct kr_json *owners_at, size_t i, int32_t partition_cnt, int32_t *owner,
                        struct kr_error *err)
{
        struct kr_json at = kr_json_element(owners_at, i);
        int64_t value = (int64_t)i;

        if (owners_at->value && !kr_json_integer(&at, 0, partition_cnt - 1, &value, err))
                return false;
        *owner = (int32_t)value;
        return true;
}

static bool parse_ranges(struct ranges *ranges, size_t cnt, const struct kr_json *bounds_at,
                         const struct kr_json *owners_at, int32_t partition_cnt, struct kr_error *err)
{
        for (size_t i = 0; i < cnt; i++) {
                struct kr_json bound_at = kr_json_element(bounds_at, i - 1);
                struct range *range = &ranges->ranges[ranges->cnt];

                if (!parse_owner(owners_at, i, partition_cnt, &range->owner, err))
                        return false;
                if (i && !parse_bound(&bound_at, ranges, range, err))
                        return false;
                if (i && compare(start_of(ranges, ranges->cnt), start_of(ranges, ranges->cnt - 1)) <= 0)
                        return kr_json_fail(&bound_at, err, "bounds must rise, byte by byte");
                range->head = head_of(start_of(ranges, ranges->cnt));
                ranges->cnt++;
        }
        return true;
}

/* Neighbours of one owner become one, so that what routes alike has one fingerprint. */
static void merge(struct ranges *ranges)
{
        size_t cnt = 1;

        for (size_t i = 1; i < ranges->cnt; i++)
                if (ranges->ranges[i].owner != ranges->ranges[cnt - 1].owner)
                        ranges->ranges[cnt++] = ranges->ranges[i];
        ranges->cnt = cnt;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        struct kr_json bounds_at = kr_json_member(at, "bounds");
        struct kr_json owners_at = kr_json_member(at, "owners");
        struct ranges *ranges;
        size_t cnt;

        map->takes_hash = false;
        if (!kr_map_pinned(at, context, err))
                return false;
        if (!json_is_array(bounds_at.value))
                return kr_json_fail(bounds_at.value ? &bounds_at : at, err,
                                    "expected \"bounds\": an array of the first keys of the ranges, from the second on");
        cnt = json_array_size(bounds_at.value) + 1;
        if (cnt > RANGE_CNT_MAX)
                return kr_json_fail(&bounds_at, err, "expected at most %d bounds", RANGE_CNT_MAX - 1);
        if (owners_at.value && (!json_is_array(owners_at.value) || json_array_size(owners_at.value) != cnt))
                return kr_json_fail(&owners_at, err, "expected an array of %zu partitions: one for each range, which are "
                                                     "one more than the bounds", cnt);
        if (!owners_at.value && cnt != (size_t)context->partition_cnt)
                return kr_json_fail(at, err, "\"owners\" is missing: %zu ranges for %" PRId32 " partitions", cnt,
                                    context->partition_cnt);
        ranges = map->state = calloc(1, sizeof(*ranges));
        if (ranges)
                ranges->ranges = calloc(cnt, sizeof(*ranges->ranges));
        if (!ranges || !ranges->ranges)
                return kr_json_fail(at, err, "out of memory");
        if (!parse_ranges(ranges, cnt, &bounds_at, &owners_at, context->partition_cnt, err))
                return false;
        merge(ranges);
        return true;
}

static void canon(const struct kr_map *map, struct kr_canon *canon)
{
        const struct ranges *ranges = map->state;

        kr_canon_add(canon, "map=range %zu", ranges->cnt);
        for (size_t i = 0; i < ranges->cnt; i++) {
                kr_canon_add_bytes(canon, start_of(ranges, i).data, start_of(ranges, i).len);
                kr_canon_add(canon, "%" PRId32, ranges->ranges[i].owner);
        }
}

static size_t memory(const struct kr_map *map)
{
        const struct ranges *ranges = map->state;

        return sizeof(*ranges) + ranges->cnt * sizeof(*ranges->ranges) + ranges->text_size;
}

size_t kr_range_cnt(const struct kr_map *map)
{
        return ((const struct ranges *)map->state)->cnt;
}

struct kr_bytes kr_range_start(const struct kr_map *map, size_t i)
{
        return start_of(map->state, i);
}

const struct kr_map_kind kr_map_range = {
        .name = "range",
        .fields = fields,
        .parse = parse,
        .release = release,
        .partition = partition,
        .canon = canon,
        .memory = memory,
};
