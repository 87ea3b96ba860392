/*
 * The map "table": pinned keys, and another map for everything else. With a delimiter the keys are first parts, and where
 * one names several partitions, H(rest) mod their number picks one, with the rule's hash H: a heavy key spread on purpose.
 */
#include "table_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pinned {
        struct kr_table table;
        struct kr_split split; /* when table.split points here */
        struct kr_map other;
        const kr_hash_t *hash;
};

static const char *const fields[] = { "kind", "keys", "file", "key-format", "else", KR_SPLIT_FIELDS, NULL };

static int32_t elsewhere(const struct pinned *pinned, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        if (pinned->other.takes_hash)
                *hash = pinned->hash->value(bytes.data, bytes.len);
        return pinned->other.kind->partition(&pinned->other, bytes, hash, partition_cnt);
}

static __attribute__((noinline)) int32_t by_first_part(const struct pinned *pinned, struct kr_bytes bytes,
                                                       uint64_t *hash, int32_t partition_cnt)
{
        struct kr_bytes first, rest;
        const int32_t *list;
        int32_t found;

        kr_split(pinned->table.split, bytes, &first, &rest);
        found = kr_table_find(&pinned->table, first, &list);
        if (found == KR_TABLE_LIST)
                return list[1 + pinned->hash->value(rest.data, rest.len) % (uint64_t)list[0]];
        return found >= 0 ? found : elsewhere(pinned, bytes, hash, partition_cnt);
}

/* By the whole key, which has one partition: apart, and as short as can be, for tables that no cache holds. */
static int32_t partition(const struct kr_map *map, struct kr_bytes bytes, uint64_t *hash, int32_t partition_cnt)
{
        const struct pinned *pinned = map->state;
        const int32_t *list;
        int32_t found;

        if (pinned->table.split)
                return by_first_part(pinned, bytes, hash, partition_cnt);
        found = kr_table_find(&pinned->table, bytes, &list);
        return found >= 0 ? found : elsewhere(pinned, bytes, hash, partition_cnt);
}

static const struct kr_split *split(const struct kr_map *map)
{
        return ((const struct pinned *)map->state)->table.split;
}

static int32_t of_prefix(const struct kr_map *map, struct kr_bytes first, int32_t partition_cnt, int32_t *out,
                         int32_t room)
{
        const struct pinned *pinned = map->state;
        const int32_t *list;
        int32_t found = kr_table_find(&pinned->table, first, &list);

        if (found == KR_TABLE_NONE)
                return kr_map_of_prefix(&pinned->other, pinned->table.split, first, partition_cnt, out, room);
        if (found >= 0) {
                if (room > 0)
                        out[0] = found;
                return 1;
        }
        for (int32_t i = 0; i < list[0] && i < room; i++)
                out[i] = list[1 + i];
        return list[0];
}

static bool parse_format(struct pinned *pinned, const struct kr_json *at, struct kr_error *err)
{
        const char *format;

        if (!at->value)
                return true;
        if (!kr_json_string(at, &format, err))
                return false;
        pinned->table.hex = !strcmp(format, "hex");
        return pinned->table.hex || !strcmp(format, "text") ||
               kr_json_fail(at, err, "expected \"text\" or \"hex\", found \"%.60s\"", format);
}

/* A partition, or an array of them. */
static bool parse_partitions(const struct kr_json *at, int32_t *partitions, int32_t *cnt, struct kr_error *err)
{
        int64_t value;

        if (!json_is_array(at->value)) {
                if (!kr_json_integer(at, 0, INT32_MAX, &value, err))
                        return false;
                partitions[0] = (int32_t)value;
                *cnt = 1;
                return true;
        }
        if (!json_array_size(at->value) || json_array_size(at->value) > KR_TABLE_SPREAD_MAX)
                return kr_json_fail(at, err, "a key has 1 to %d partitions", KR_TABLE_SPREAD_MAX);
        *cnt = (int32_t)json_array_size(at->value);
        for (int32_t i = 0; i < *cnt; i++) {
                struct kr_json element = kr_json_element(at, (size_t)i);

                if (!kr_json_integer(&element, 0, INT32_MAX, &value, err))
                        return false;
                partitions[i] = (int32_t)value;
        }
        return true;
}

static bool parse_keys(struct kr_table *table, const struct kr_json *at, struct kr_error *err)
{
        const char *key;
        json_t *value;

        if (!at->value)
                return true;
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"acme\": 3}");
        json_object_foreach(at->value, key, value)
        {
                struct kr_json member = kr_json_member(at, key);
                int32_t partitions[KR_TABLE_SPREAD_MAX], cnt = 0;
                const char *wrong;
                char text[200];

                if (!parse_partitions(&member, partitions, &cnt, err))
                        return false;
                wrong = kr_table_add(table, (struct kr_bytes){ (const unsigned char *)key, strlen(key) }, partitions,
                                     cnt, text);
                if (wrong)
                        return kr_json_fail(&member, err, "%s", wrong);
        }
        return true;
}

static bool seal(struct kr_table *table, const struct kr_json *at, const char *path, size_t inline_cnt,
                 struct kr_error *err)
{
        size_t twice;

        if (kr_table_seal(table, &twice))
                return true;
        if (twice == table->row_cnt)
                return kr_json_fail(at, err, "out of memory");
        if (twice < inline_cnt)
                return kr_json_fail(at, err, "a key is there twice, once in other letters for the same hex digits");
        snprintf(err->text, sizeof(err->text), "%.250s: line %zu: this key is there already, above or in the policy", path,
                 twice - inline_cnt + 1);
        return false;
}

static bool parse_rows(struct pinned *pinned, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json keys_at = kr_json_member(at, "keys");
        struct kr_json file_at = kr_json_member(at, "file");
        char *path = NULL;
        size_t inline_cnt;
        bool ok;

        if (!keys_at.value && !file_at.value)
                return kr_json_fail(at, err, "expected \"keys\": {\"acme\": 3}, or \"file\": the name of a file with a key, "
                                             "a tab and its partition in each line");
        if (!parse_keys(&pinned->table, &keys_at, err))
                return false;
        inline_cnt = pinned->table.row_cnt;
        if (file_at.value) {
                path = kr_json_path(&file_at, err);
                if (!path)
                        return false;
        }
        ok = (!path || kr_table_read(&pinned->table, path, err)) &&
             seal(&pinned->table, keys_at.value ? &keys_at : at, path, inline_cnt, err);
        free(path);
        return ok;
}

static bool parse(struct kr_map *map, const struct kr_json *at, const struct kr_map_context *context,
                  struct kr_error *err)
{
        struct kr_json format_at = kr_json_member(at, "key-format");
        struct kr_json else_at = kr_json_member(at, "else");
        struct kr_map_context inner = *context;
        struct pinned *pinned = calloc(1, sizeof(*pinned));

        map->state = pinned;
        map->takes_hash = false; /* a pinned key needs none, see partition() */
        if (!pinned)
                return kr_json_fail(at, err, "out of memory");
        if (!kr_map_pinned(at, context, err) || !parse_format(pinned, &format_at, err))
                return false;
        pinned->hash = context->hash;
        pinned->table.partition_cnt = context->partition_cnt;
        if (kr_split_given(at)) {
                if (!kr_split_parse(&pinned->split, at, err))
                        return false;
                pinned->table.split = &pinned->split;
        }
        if (!parse_rows(pinned, at, err))
                return false;
        inner.depth++;
        if (inner.current && inner.current->kind == &kr_map_table)
                inner.current = kr_map_table_other(inner.current);
        return kr_map_parse(&pinned->other, &else_at, &inner, err);
}

static void release(struct kr_map *map)
{
        struct pinned *pinned = map->state;

        if (!pinned)
                return;
        kr_table_release(&pinned->table);
        kr_map_release(&pinned->other);
        free(pinned);
}

static void canon(const struct kr_map *map, struct kr_canon *canon)
{
        const struct pinned *pinned = map->state;

        kr_canon_add(canon, "map=table");
        if (pinned->table.split)
                kr_split_canon(pinned->table.split, canon);
        kr_table_canon(&pinned->table, canon);
        kr_map_canon(&pinned->other, canon);
}

static size_t memory(const struct kr_map *map)
{
        const struct pinned *pinned = map->state;

        return sizeof(*pinned) + kr_table_memory(&pinned->table) + kr_map_memory(&pinned->other);
}

/* The rows stay as they are, inline or in their file; what stands behind them is spelled out. */
static json_t *compile(const struct kr_map *map, const struct kr_json *at, bool expand)
{
        const struct pinned *pinned = map->state;
        struct kr_json else_at = kr_json_member(at, "else");
        json_t *out = json_deep_copy(at->value);

        if (out && else_at.value && json_object_set_new(out, "else", kr_map_compile(&pinned->other, &else_at, expand))) {
                json_decref(out);
                out = NULL;
        }
        return out;
}

const struct kr_table *kr_map_table_rows(const struct kr_map *map)
{
        return &((const struct pinned *)map->state)->table;
}

const struct kr_map *kr_map_table_other(const struct kr_map *map)
{
        return &((const struct pinned *)map->state)->other;
}

const struct kr_map_kind kr_map_table = {
        .name = "table",
        .fields = fields,
        .parse = parse,
        .release = release,
        .partition = partition,
        .split = split,
        .of_prefix = of_prefix,
        .canon = canon,
        .memory = memory,
        .compile = compile,
};
