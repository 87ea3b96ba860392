/*
 * Fields of a JSON key by path, or a JSON scalar itself. jansson reads the key, which allocates: the one key use that
 * does. A key of more than KEY_MAX bytes or with more than DEPTH_MAX brackets open counts as missing, so that what a
 * hostile key costs is bounded; so do duplicate names in an object and text that is no UTF-8, which readers differ on.
 *
 * Routing bytes: a string's text in UTF-8; true or false; a whole number in decimal, however it was spelled (1, 1.0 and
 * 1e0 are one number); any other number as printf's "%.*g" with the fewest digits that read back as the same double.
 * Several fields stand one after the other, each behind its length as 4 bytes, big-endian, so that ("a", "bc") and
 * ("ab", "c") differ.
 */
#include "key.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_CNT = 16, PART_MAX = 16, PATH_LEN_MAX = 256, KEY_MAX = 1 << 16, DEPTH_MAX = 64 };

struct json_path {
        char text[PATH_LEN_MAX]; /* NUL instead of dots */
        size_t part_cnt;
};

struct json_use {
        struct json_path *paths;
        size_t path_cnt; /* 0: the key itself is the value */
        locale_t plain;  /* "C": a host's own locale may print 0,5 */
};

static const char *const fields[] = { "fields", NULL };

static bool parse_path(struct json_path *path, const struct kr_json *at, struct kr_error *err)
{
        const char *text, *part;

        if (!kr_json_string(at, &text, err))
                return false;
        if (strlen(text) >= sizeof(path->text))
                return kr_json_fail(at, err, "a path has at most %d bytes", PATH_LEN_MAX - 1);
        strcpy(path->text, text);
        for (part = path->text;; part += strlen(part) + 1) {
                char *dot = strchr(part, '.');

                if (dot)
                        *dot = '\0';
                if (!*part || ++path->part_cnt > PART_MAX)
                        return kr_json_fail(at, err, "expected a path of 1 to %d names with dots between them, such as "
                                                     "\"customer.id\"", PART_MAX);
                if (!dot)
                        return true;
        }
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json paths_at = kr_json_member(at, "fields");
        struct json_use *use = calloc(1, sizeof(*use));
        size_t cnt = json_array_size(paths_at.value);

        key->state = use;
        if (!use || !(use->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)))
                return kr_json_fail(at, err, "out of memory");
        if (!paths_at.value)
                return true;
        if (!json_is_array(paths_at.value) || !cnt || cnt > PATH_MAX_CNT)
                return kr_json_fail(&paths_at, err, "expected a list of 1 to %d paths, such as [\"customer.id\"]; leave it "
                                                    "out for keys that are one JSON value", PATH_MAX_CNT);
        use->paths = calloc(cnt, sizeof(*use->paths));
        if (!use->paths)
                return kr_json_fail(at, err, "out of memory");
        for (; use->path_cnt < cnt; use->path_cnt++) {
                struct kr_json element = kr_json_element(&paths_at, use->path_cnt);

                if (!parse_path(&use->paths[use->path_cnt], &element, err))
                        return false;
        }
        return true;
}

static void release(struct kr_key *key)
{
        struct json_use *use = key->state;

        if (!use)
                return;
        if (use->plain)
                freelocale(use->plain);
        free(use->paths);
        free(use);
}

/* Before the parser recurses: are there more brackets open at once than anyone's key has? */
static bool is_shallow(struct kr_bytes bytes)
{
        bool in_string = false;
        int depth = 0;

        for (size_t i = 0; i < bytes.len; i++) {
                unsigned char c = bytes.data[i];

                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && (c == '[' || c == '{') && ++depth > DEPTH_MAX)
                        return false;
                else if (!in_string && (c == ']' || c == '}'))
                        depth--;
        }
        return true;
}

static const json_t *find(const json_t *value, const struct json_path *path)
{
        const char *part = path->text;

        for (size_t i = 0; i < path->part_cnt; i++, part += strlen(part) + 1)
                value = json_object_get(value, part); /* NULL for what is no object */
        return value;
}

static size_t print_real(double value, char *out, size_t size)
{
        static const double exact = 9007199254740992.0; /* up to here each whole number is a double */

        if (value == 0)
                value = 0; /* no -0 */
        if (fabs(value) <= exact && value == (double)(int64_t)value)
                return (size_t)snprintf(out, size, "%" PRId64, (int64_t)value);
        for (int digits = 1;; digits++) {
                size_t len = (size_t)snprintf(out, size, "%.*g", digits, value);

                if (digits == 17 || strtod(out, NULL) == value)
                        return len;
        }
}

static bool add_value(const json_t *value, bool with_length, struct kr_scratch *scratch)
{
        char number[40];
        const char *text = number;
        unsigned char prefix[4];
        size_t len;

        switch (value ? json_typeof(value) : JSON_NULL) {
        case JSON_STRING:
                text = json_string_value(value);
                len = json_string_length(value);
                break;
        case JSON_INTEGER:
                len = (size_t)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
                break;
        case JSON_REAL:
                len = print_real(json_real_value(value), number, sizeof(number));
                break;
        case JSON_TRUE:
        case JSON_FALSE:
                text = json_is_true(value) ? "true" : "false";
                len = strlen(text);
                break;
        default:
                return false;
        }
        for (size_t i = 0; i < sizeof(prefix); i++)
                prefix[i] = (unsigned char)(len >> 8 * (3 - i));
        return (!with_length || kr_scratch_add(scratch, prefix, sizeof(prefix))) && kr_scratch_add(scratch, text, len);
}

static bool add_values(const struct json_use *use, const json_t *doc, struct kr_scratch *scratch)
{
        if (!use->path_cnt)
                return add_value(doc, false, scratch);
        for (size_t i = 0; i < use->path_cnt; i++)
                if (!add_value(find(doc, &use->paths[i]), use->path_cnt > 1, scratch))
                        return false;
        return true;
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct json_use *use = key->state;
        size_t start = scratch->used;
        locale_t host;
        json_t *doc;
        bool ok;

        if (bytes->len > KEY_MAX || !is_shallow(*bytes))
                return KR_KEY_MISSING;
        host = uselocale(use->plain); /* of this thread alone */
        doc = json_loadb(bytes->len ? (const char *)bytes->data : "", bytes->len,
                         JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        ok = doc && add_values(use, doc, scratch);
        json_decref(doc);
        uselocale(host);
        if (!ok)
                return KR_KEY_MISSING;
        *bytes = (struct kr_bytes){ scratch->data + start, scratch->used - start };
        return KR_KEY_PROJECTED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct json_use *use = key->state;

        for (size_t i = 0; i < use->path_cnt; i++) {
                const char *part = use->paths[i].text;

                kr_canon_add(canon, "path=%zu", use->paths[i].part_cnt);
                for (size_t p = 0; p < use->paths[i].part_cnt; p++, part += strlen(part) + 1)
                        kr_canon_add_bytes(canon, part, strlen(part));
        }
}

const struct kr_key_kind kr_key_json = {
        .use = "json", .fields = fields, .parse = parse, .release = release, .project = project, .canon = canon,
};
