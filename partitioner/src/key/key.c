#include "key.h"

#include <string.h>

static const char *const no_fields[] = { "use", NULL };

static const struct kr_key_kind kinds[] = {
        { .use = "bytes", .fields = no_fields },
};

enum { KIND_CNT = sizeof(kinds) / sizeof(kinds[0]) };

bool kr_key_parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        const char *names[KIND_CNT];
        struct kr_json use_at;
        const char *use, *closest;

        *key = (struct kr_key){ .kind = &kinds[0] };
        if (!at->value)
                return true;
        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object such as {\"use\": \"bytes\"}");
        use_at = kr_json_member(at, "use");
        if (!use_at.value)
                return kr_json_fail(at, err, "\"use\" is missing; {\"use\": \"bytes\"} routes by the whole key");
        if (!kr_json_string(&use_at, &use, err))
                return false;
        for (size_t i = 0; i < KIND_CNT; i++) {
                names[i] = kinds[i].use;
                if (strcmp(kinds[i].use, use))
                        continue;
                key->kind = &kinds[i];
                return kr_json_object(at, key->kind->fields, err) &&
                       (!key->kind->parse || key->kind->parse(key, at, err));
        }
        closest = kr_closest(use, names, KIND_CNT);
        return kr_json_fail(&use_at, err, "no key use \"%.60s\"; %s \"%s\"", use, closest ? "did you mean" : "expected",
                            closest ? closest : names[0]);
}

void kr_key_release(struct kr_key *key)
{
        if (key->kind && key->kind->release)
                key->kind->release(key);
}

void kr_key_canon(const struct kr_key *key, struct kr_canon *canon)
{
        kr_canon_add(canon, "key=%s", key->kind->use);
        if (key->kind->canon)
                key->kind->canon(key, canon);
}
