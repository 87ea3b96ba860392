#include "key.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4, FIELD_MAX = 24 };

static const struct kr_key_kind bytes_kind = { .use = "bytes" };

static const struct kr_key_kind *const kinds[] = {
        &bytes_kind, &kr_key_field, &kr_key_tag, &kr_key_payload, &kr_key_windowed, &kr_key_avro,
        &kr_key_json,
};

enum { KIND_CNT = sizeof(kinds) / sizeof(kinds[0]) };

static bool find_kind(struct kr_key *key, const struct kr_json *at, const char *use, struct kr_error *err)
{
        const char *names[KIND_CNT];
        const char *closest;

        for (size_t i = 0; i < KIND_CNT; i++) {
                names[i] = kinds[i]->use;
                if (!strcmp(names[i], use)) {
                        key->kind = kinds[i];
                        return true;
                }
        }
        closest = kr_closest(use, names, KIND_CNT);
        if (closest)
                return kr_json_fail(at, err, "no key use \"%.60s\"; did you mean \"%s\"?", use, closest);
        return kr_json_fail(at, err, "no key use \"%.60s\"; expected one such as \"%s\"", use, names[0]);
}

static bool parse_fields(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        const char *fields[FIELD_MAX] = { "use", "over", "missing" };
        size_t cnt = 3;

        if (!key->kind->project && !key->kind->fields)
                cnt = 2; /* the whole key cannot be missing */
        for (const char *const *own = key->kind->fields; own && *own; own++) {
                if (cnt == FIELD_MAX - 1)
                        abort(); /* a kind grew: raise FIELD_MAX */
                fields[cnt++] = *own;
        }
        fields[cnt] = NULL;
        return kr_json_object(at, fields, err);
}

static bool parse_missing(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        const char *text;

        if (!at->value)
                return true;
        if (!kr_json_string(at, &text, err))
                return false;
        key->reject_missing = !strcmp(text, "reject");
        return key->reject_missing || !strcmp(text, "whole-key") ||
               kr_json_fail(at, err, "expected \"whole-key\" or \"reject\", found \"%.60s\"", text);
}

static bool parse_step(struct kr_key *key, const struct kr_json *at, int depth, struct kr_error *err);

static bool parse_over(struct kr_key *key, const struct kr_json *at, int depth, struct kr_error *err)
{
        if (!at->value)
                return true;
        if (depth == DEPTH_MAX)
                return kr_json_fail(at, err, "key uses nest at most %d deep", DEPTH_MAX);
        key->over = calloc(1, sizeof(*key->over));
        if (!key->over)
                return kr_json_fail(at, err, "out of memory");
        if (!parse_step(key->over, at, depth + 1, err))
                return false;
        if (key->over->reject_missing)
                return kr_json_fail(at, err, "\"missing\" belongs to the outermost key use, which speaks for all");
        return true;
}

/* A step is an object, or its bare name when it needs no fields: "payload" is {"use": "payload"}. */
static bool parse_step(struct kr_key *key, const struct kr_json *at, int depth, struct kr_error *err)
{
        struct kr_json use_at = kr_json_member(at, "use");
        struct kr_json over_at, missing_at;
        const char *use;

        key->kind = &bytes_kind;
        if (depth && json_is_string(at->value))
                return kr_json_string(at, &use, err) && find_kind(key, at, use, err) &&
                       (!key->kind->parse || key->kind->parse(key, at, err));
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"use\": \"bytes\"}");
        if (!use_at.value)
                return kr_json_fail(at, err, "\"use\" is missing; {\"use\": \"bytes\"} routes by the whole key");
        over_at = kr_json_member(at, "over");
        missing_at = kr_json_member(at, "missing");
        return kr_json_string(&use_at, &use, err) && find_kind(key, &use_at, use, err) &&
               parse_fields(key, at, err) && parse_missing(key, &missing_at, err) &&
               (!key->kind->parse || key->kind->parse(key, at, err)) && parse_over(key, &over_at, depth, err);
}

bool kr_key_parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        *key = (struct kr_key){ .kind = &bytes_kind };
        return !at->value || parse_step(key, at, 0, err);
}

bool kr_key_bind(struct kr_key *key, const struct kr_json *at, const struct kr_key_context *context,
                 struct kr_error *err)
{
        struct kr_json over_at = kr_json_member(at, "over");

        return (!key->kind->bind || key->kind->bind(key, at, context, err)) &&
               (!key->over || kr_key_bind(key->over, &over_at, context, err));
}

void kr_key_release(struct kr_key *key)
{
        if (key->over) {
                kr_key_release(key->over);
                free(key->over);
        }
        if (key->kind && key->kind->release)
                key->kind->release(key);
        *key = (struct kr_key){ 0 };
}

void kr_key_canon(const struct kr_key *key, struct kr_canon *canon)
{
        kr_canon_add(canon, "key=%s", key->kind->use);
        if (key->kind->canon)
                key->kind->canon(key, canon);
        if (key->reject_missing)
                kr_canon_add(canon, "missing=reject");
        if (key->reject_unresolved)
                kr_canon_add(canon, "unresolved=reject");
        if (key->over) {
                kr_canon_add(canon, "over");
                kr_key_canon(key->over, canon);
        }
}

bool kr_scratch_add(struct kr_scratch *scratch, const void *data, size_t len)
{
        if (len > sizeof(scratch->data) - scratch->used)
                return false;
        if (len)
                memcpy(scratch->data + scratch->used, data, len);
        scratch->used += len;
        return true;
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        kr_key_outcome_t inner = key->over ? project(key->over, bytes, scratch) : KR_KEY_PROJECTED;
        kr_key_outcome_t outer;

        if (inner == KR_KEY_MISSING || inner == KR_KEY_UNRESOLVED)
                return inner;
        outer = key->kind->project ? key->kind->project(key, bytes, scratch) : KR_KEY_PROJECTED;
        return outer == KR_KEY_PROJECTED ? inner : outer;
}

kr_key_outcome_t kr_key_project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        struct kr_bytes narrowed = *bytes;
        kr_key_outcome_t outcome;

        scratch->used = 0;
        outcome = project(key, &narrowed, scratch);
        if (outcome != KR_KEY_MISSING && outcome != KR_KEY_UNRESOLVED)
                *bytes = narrowed;
        return outcome;
}

bool kr_key_refuses(const struct kr_key *key, kr_key_outcome_t outcome)
{
        if (outcome == KR_KEY_MISSING)
                return key->reject_missing;
        if (outcome != KR_KEY_UNRESOLVED)
                return false;
        for (; key; key = key->over)
                if (key->reject_unresolved || key->is_strict)
                        return true;
        return false;
}
