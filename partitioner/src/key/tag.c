/*
 * The part in braces, by Redis Cluster's rule (redis.io, cluster specification, "Hash tags"): from behind the first
 * opening to the first closing after it, if anything stands between; else the whole key, which is not a failure. So
 * "foo{}{bar}" routes whole, "foo{{bar}}zap" by "{bar", "foo{bar}{zap}" by "bar".
 */
#include "key.h"

#include <stdlib.h>
#include <string.h>

struct tag {
        char open, close;
};

static const char *const fields[] = { "open", "close", NULL };

static bool parse_character(const struct kr_json *at, char *out, struct kr_error *err)
{
        const char *text;

        if (!at->value)
                return true;
        if (!kr_json_string(at, &text, err))
                return false;
        if (strlen(text) != 1)
                return kr_json_fail(at, err, "expected one character of one byte, such as \"{\"");
        *out = text[0];
        return true;
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json open_at = kr_json_member(at, "open");
        struct kr_json close_at = kr_json_member(at, "close");
        struct tag *tag = malloc(sizeof(*tag));

        if (!tag)
                return kr_json_fail(at, err, "out of memory");
        *tag = (struct tag){ '{', '}' };
        key->state = tag;
        return parse_character(&open_at, &tag->open, err) && parse_character(&close_at, &tag->close, err);
}

static void release(struct kr_key *key)
{
        free(key->state);
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct tag *tag = key->state;
        const unsigned char *open = bytes->len ? memchr(bytes->data, tag->open, bytes->len) : NULL;
        const unsigned char *end = bytes->len ? bytes->data + bytes->len : NULL;
        const unsigned char *close = open && open + 1 < end ? memchr(open + 1, tag->close, (size_t)(end - open - 1)) : NULL;

        (void)scratch;
        if (close && close > open + 1)
                *bytes = (struct kr_bytes){ open + 1, (size_t)(close - open - 1) };
        return KR_KEY_PROJECTED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct tag *tag = key->state;

        kr_canon_add(canon, "tag=%d,%d", tag->open, tag->close);
}

const struct kr_key_kind kr_key_tag = {
        .use = "tag", .fields = fields, .parse = parse, .release = release, .project = project, .canon = canon,
};
