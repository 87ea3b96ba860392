/*
 * Policies come from files that other people write. Whatever the bytes: no crash, an error with a text, or a policy
 * whose every rule routes inside the topic or refuses, twice the same.
 */
#include <keyroute.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const kr_rule_t *rule)
{
        static const int32_t counts[] = { 1, 2, 12, 30, 997, INT32_MAX };
        static const char keys[] = "\x80tenant|user|{tag}\0\xff";

        for (size_t c = 0; c <= sizeof(counts) / sizeof(counts[0]); c++) {
                int32_t cnt = c ? counts[c - 1] : kr_rule_partitions(rule);

                for (size_t len = 0; len < sizeof(keys); len++) {
                        int32_t p = kr_rule_partition(rule, keys, len, cnt);

                        if (p >= cnt || p < KR_ERR_KEY_UNRESOLVED || (p >= 0 && cnt < 1) ||
                            p != kr_rule_partition(rule, keys, len, cnt))
                                abort();
                }
        }
        if (strlen(kr_rule_fingerprint(rule)) != 16)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct kr_error err = { "" };
        kr_policy_t *policy = kr_policy_parse((const char *)data, size, "fuzz", &err);

        if (!policy && !err.text[0])
                abort();
        for (size_t i = 0; policy && kr_policy_rule_at(policy, i); i++)
                check_rule(kr_policy_rule_at(policy, i));
        kr_policy_free(policy);
        return 0;
}
