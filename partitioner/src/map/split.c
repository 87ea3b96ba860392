#include "split.h"

#include <string.h>

enum { FIRST_LEN_MAX = 32767, FIRST_FIELDS_MAX = 100 };

bool kr_split_given(const struct kr_json *at)
{
        return kr_json_member(at, "delimiter").value || kr_json_member(at, "first").value ||
               kr_json_member(at, "first-bytes").value;
}

bool kr_split_parse(struct kr_split *split, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json delimiter_at = kr_json_member(at, "delimiter");
        struct kr_json first_at = kr_json_member(at, "first");
        struct kr_json bytes_at = kr_json_member(at, "first-bytes");
        int64_t number = 1;
        const char *text;

        *split = (struct kr_split){ 0 };
        if (!delimiter_at.value && !bytes_at.value)
                return kr_json_fail(at, err, "expected \"delimiter\": what stands between the first part of the key and the "
                                             "rest; or \"first-bytes\": how long the first part is");
        if (bytes_at.value) {
                if (delimiter_at.value || first_at.value)
                        return kr_json_fail(&bytes_at, err, "\"first-bytes\" splits without a delimiter; give one of them");
                if (!kr_json_integer(&bytes_at, 1, FIRST_LEN_MAX, &number, err))
                        return false;
                split->first_len = (size_t)number;
                return true;
        }
        if (!kr_json_string(&delimiter_at, &text, err) ||
            (first_at.value && !kr_json_integer(&first_at, 1, FIRST_FIELDS_MAX, &number, err)))
                return false;
        split->first_fields = (size_t)number;
        split->delimiter_len = strlen(text);
        if (!split->delimiter_len || split->delimiter_len > sizeof(split->delimiter))
                return kr_json_fail(&delimiter_at, err, "expected a delimiter of 1 to %zu bytes",
                                    sizeof(split->delimiter));
        memcpy(split->delimiter, text, split->delimiter_len);
        return true;
}

/* The next delimiter at or behind `from`, or NULL. */
static const unsigned char *next(const struct kr_split *split, const unsigned char *from, const unsigned char *end)
{
        if (from == end)
                return NULL;
        if (split->delimiter_len == 1)
                return memchr(from, split->delimiter[0], (size_t)(end - from));
        return memmem(from, (size_t)(end - from), split->delimiter, split->delimiter_len);
}

/* The delimiter behind the first part, or NULL. */
static const unsigned char *cut(const struct kr_split *split, struct kr_bytes bytes)
{
        const unsigned char *end = bytes.data + bytes.len;
        const unsigned char *found = next(split, bytes.data, end);

        for (size_t i = 1; found && i < split->first_fields; i++)
                found = next(split, found + split->delimiter_len, end);
        return found;
}

void kr_split(const struct kr_split *split, struct kr_bytes bytes, struct kr_bytes *first, struct kr_bytes *rest)
{
        const unsigned char *found;
        size_t skip = 0;

        *first = bytes;
        *rest = (struct kr_bytes){ NULL, 0 };
        if (!bytes.len)
                return;
        if (split->first_len) {
                if (bytes.len <= split->first_len)
                        return;
                first->len = split->first_len;
        } else {
                found = cut(split, bytes);
                if (!found)
                        return;
                first->len = (size_t)(found - bytes.data);
                skip = split->delimiter_len;
        }
        rest->data = bytes.data + first->len + skip;
        rest->len = bytes.len - first->len - skip;
}

bool kr_split_can_be_first(const struct kr_split *split, struct kr_bytes first)
{
        if (!first.len)
                return true;
        return split->first_len ? first.len <= split->first_len : !cut(split, first);
}

bool kr_split_equal(const struct kr_split *a, const struct kr_split *b)
{
        return a->first_len == b->first_len && a->first_fields == b->first_fields &&
               a->delimiter_len == b->delimiter_len && !memcmp(a->delimiter, b->delimiter, a->delimiter_len);
}

void kr_split_canon(const struct kr_split *split, struct kr_canon *canon)
{
        if (split->first_len) {
                kr_canon_add(canon, "first-bytes=%zu", split->first_len);
                return;
        }
        kr_canon_add(canon, "first=%zu", split->first_fields);
        kr_canon_add_bytes(canon, split->delimiter, split->delimiter_len);
}
