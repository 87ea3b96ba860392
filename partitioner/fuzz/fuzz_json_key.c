/*
 * JSON keys are other people's bytes. Input: how to read them (one byte), then a key. Whatever it is: projected within
 * the scratch or missing, twice the same, and what routes is what a second reading of the key's own value says.
 */
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const kr_rule_t *rule(unsigned which)
{
        static const char *const uses[] = { "", ",\"fields\":[\"id\"]", ",\"fields\":[\"c.id\"]",
                                            ",\"fields\":[\"id\",\"c.id\",\"n\"]" };
        static kr_policy_t *policies[sizeof(uses) / sizeof(uses[0])];
        char text[256];
        struct kr_error err;

        which %= sizeof(uses) / sizeof(uses[0]);
        if (!policies[which]) {
                snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"*\":{\"key\":{\"use\":\"json\"%s}}}}", uses[which]);
                policies[which] = kr_policy_parse(text, strlen(text), "fuzz", &err);
                if (!policies[which])
                        abort();
        }
        return kr_policy_rule_at(policies[which], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct kr_scratch a, b;
        struct kr_bytes first = { data + 1, size - 1 }, second = first;
        kr_key_outcome_t outcome;
        const kr_rule_t *by;

        if (!size)
                return 0;
        by = rule(data[0]);
        outcome = kr_key_project(&by->key, &first, &a);
        if (outcome != kr_key_project(&by->key, &second, &b) || first.len != second.len ||
            (first.len && memcmp(first.data, second.data, first.len)))
                abort();
        if (outcome == KR_KEY_MISSING ? first.data != data + 1 || first.len != size - 1
                                      : outcome != KR_KEY_PROJECTED || first.data != a.data || first.len > sizeof(a.data))
                abort();
        return 0;
}
