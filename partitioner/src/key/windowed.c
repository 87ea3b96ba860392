/*
 * Windowed keys of Kafka Streams: the inner key with the window behind it. Streams' own partitioner hashes the inner
 * key alone (WindowedStreamPartitioner), so a consumer of such a topic finds a key where its unwindowed twin lies.
 *   time      8 bytes: start                      (TimeWindowedSerializer)
 *   store    12 bytes: start, sequence            (the changelog's form of a window store)
 *   session  16 bytes: end, start                 (SessionWindowedSerializer)
 */
#include "key.h"

#include <string.h>

static const struct {
        const char *form;
        size_t len;
} forms[] = { { "time", 8 }, { "store", 12 }, { "session", 16 } };

static const char *const fields[] = { "form", NULL };

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json form_at = kr_json_member(at, "form");
        const char *form;

        key->state = (void *)(intptr_t)0;
        if (!form_at.value)
                return true;
        if (!kr_json_string(&form_at, &form, err))
                return false;
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
                if (!strcmp(forms[i].form, form)) {
                        key->state = (void *)(intptr_t)i;
                        return true;
                }
        return kr_json_fail(&form_at, err, "expected \"time\", \"store\" or \"session\", found \"%.60s\"", form);
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        size_t len = forms[(intptr_t)key->state].len;

        (void)scratch;
        if (bytes->len < len)
                return KR_KEY_MISSING;
        bytes->len -= len;
        return KR_KEY_PROJECTED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        kr_canon_add(canon, "window=%zu", forms[(intptr_t)key->state].len);
}

const struct kr_key_kind kr_key_windowed = {
        .use = "windowed", .fields = fields, .parse = parse, .project = project, .canon = canon,
};
