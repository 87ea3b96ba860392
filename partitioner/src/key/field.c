/*
 * Parts of a delimited key: "tenant|user|time" by one or several indexes, negative ones from the end. Several parts
 * route by their bytes with the delimiter between them, in the order of the policy; parts that stand side by side in
 * that order are taken as they lie. A delimiter may have several bytes; it splits at its first place, then after it.
 */
#include "key.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_MAX = 16, DELIMITER_MAX = 16, PART_MAX = 1024 };

struct field {
        int index[INDEX_MAX];
        size_t index_cnt;
        unsigned char delimiter[DELIMITER_MAX];
        size_t delimiter_len;
};

static const char *const fields[] = { "delimiter", "index", NULL };

static bool parse_index(struct field *field, const struct kr_json *at, struct kr_error *err)
{
        int64_t index;

        if (!kr_json_integer(at, -PART_MAX, PART_MAX - 1, &index, err))
                return false;
        field->index[field->index_cnt++] = (int)index;
        return true;
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json delimiter_at = kr_json_member(at, "delimiter");
        struct kr_json index_at = kr_json_member(at, "index");
        struct field *field = calloc(1, sizeof(*field));
        const char *delimiter;

        if (!field)
                return kr_json_fail(at, err, "out of memory");
        key->state = field;
        if (!delimiter_at.value)
                return kr_json_fail(at, err, "\"delimiter\" is missing, such as \"|\"");
        if (!index_at.value)
                return kr_json_fail(at, err, "\"index\" is missing: 0 is the first part, -1 the last, or a list of them");
        if (!kr_json_string(&delimiter_at, &delimiter, err))
                return false;
        field->delimiter_len = strlen(delimiter);
        if (!field->delimiter_len || field->delimiter_len > DELIMITER_MAX)
                return kr_json_fail(&delimiter_at, err, "a delimiter has 1 to %d bytes", DELIMITER_MAX);
        memcpy(field->delimiter, delimiter, field->delimiter_len);
        if (!json_is_array(index_at.value))
                return parse_index(field, &index_at, err);
        if (!json_array_size(index_at.value) || json_array_size(index_at.value) > INDEX_MAX)
                return kr_json_fail(&index_at, err, "expected 1 to %d indexes", INDEX_MAX);
        for (size_t i = 0; i < json_array_size(index_at.value); i++) {
                struct kr_json element = kr_json_element(&index_at, i);

                if (!parse_index(field, &element, err))
                        return false;
        }
        return true;
}

static void release(struct kr_key *key)
{
        free(key->state);
}

static const unsigned char *find_delimiter(const struct field *field, const unsigned char *from,
                                           const unsigned char *end)
{
        return from < end ? memmem(from, (size_t)(end - from), field->delimiter, field->delimiter_len) : NULL;
}

static size_t count_parts(const struct field *field, struct kr_bytes bytes)
{
        const unsigned char *at = bytes.data, *end = bytes.len ? at + bytes.len : at;
        size_t cnt = 1;

        while ((at = find_delimiter(field, at, end)) && ++cnt)
                at += field->delimiter_len;
        return cnt;
}

/* The part of that index, counted from 0. False when there are fewer. */
static bool part(const struct field *field, struct kr_bytes bytes, size_t index, struct kr_bytes *out)
{
        const unsigned char *at = bytes.data, *end = bytes.len ? at + bytes.len : at;
        const unsigned char *next;

        while (index-- > 0) {
                at = find_delimiter(field, at, end);
                if (!at)
                        return false;
                at += field->delimiter_len;
        }
        next = find_delimiter(field, at, end);
        *out = (struct kr_bytes){ at, (size_t)((next ? next : end) - at) };
        return true;
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct field *field = key->state;
        struct kr_bytes parts[INDEX_MAX];
        bool side_by_side = true;
        size_t cnt = 0, start = scratch->used;

        for (size_t i = 0; i < field->index_cnt; i++) {
                int index = field->index[i];

                if (index < 0) {
                        if (!cnt)
                                cnt = count_parts(field, *bytes);
                        if ((size_t)-index > cnt)
                                return KR_KEY_MISSING;
                        index += (int)cnt;
                }
                if (!part(field, *bytes, (size_t)index, &parts[i]))
                        return KR_KEY_MISSING;
                if (i && parts[i].data != parts[i - 1].data + parts[i - 1].len + field->delimiter_len)
                        side_by_side = false;
        }
        if (side_by_side) {
                const struct kr_bytes *last = &parts[field->index_cnt - 1];

                *bytes = (struct kr_bytes){ parts[0].data, (size_t)(last->data + last->len - parts[0].data) };
                return KR_KEY_PROJECTED;
        }
        for (size_t i = 0; i < field->index_cnt; i++)
                if ((i && !kr_scratch_add(scratch, field->delimiter, field->delimiter_len)) ||
                    !kr_scratch_add(scratch, parts[i].data, parts[i].len))
                        return KR_KEY_MISSING;
        *bytes = (struct kr_bytes){ scratch->data + start, scratch->used - start };
        return KR_KEY_PROJECTED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct field *field = key->state;

        kr_canon_add_bytes(canon, field->delimiter, field->delimiter_len);
        for (size_t i = 0; i < field->index_cnt; i++)
                kr_canon_add(canon, "index=%d", field->index[i]);
}

const struct kr_key_kind kr_key_field = {
        .use = "field", .fields = fields, .parse = parse, .release = release, .project = project, .canon = canon,
};
