/*
 * Frames, delimited parts, tags and windows of keys that are any bytes, through policies. Input: which policy (one
 * byte), then a key. A decision is a partition or a refusal, the same in both forms, and does not read beyond the key.
 */
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTITIONS = 7 };

static const char *const uses[] = {
        "{\"use\":\"payload\"}",
        "{\"use\":\"payload\",\"known-ids\":[1,2,258,16909060]}",
        "{\"use\":\"payload\",\"id-bytes\":8}",
        "{\"use\":\"field\",\"delimiter\":\"|\",\"index\":0}",
        "{\"use\":\"field\",\"delimiter\":\"|\",\"index\":-1,\"missing\":\"reject\"}",
        "{\"use\":\"field\",\"delimiter\":\"::\",\"index\":[1,2]}",
        "{\"use\":\"field\",\"delimiter\":\"aa\",\"index\":[-1,0,2],\"over\":\"payload\"}",
        "{\"use\":\"tag\"}",
        "{\"use\":\"tag\",\"open\":\"<\",\"close\":\"<\",\"over\":\"payload\"}",
        "{\"use\":\"windowed\"}",
        "{\"use\":\"windowed\",\"form\":\"store\",\"missing\":\"reject\"}",
        "{\"use\":\"tag\",\"over\":{\"use\":\"field\",\"delimiter\":\":\",\"index\":[2,0],\"over\":{\"use\":\"windowed\",\"form\":"
        "\"session\",\"over\":\"payload\"}}}",
};

enum { USE_CNT = sizeof(uses) / sizeof(uses[0]) };

static const kr_rule_t *rule(unsigned which)
{
        static kr_policy_t *policies[USE_CNT];
        char text[512];
        struct kr_error err;

        if (!policies[which]) {
                snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"*\":{\"key\":%s}}}", uses[which]);
                policies[which] = kr_policy_parse(text, strlen(text), "fuzz", &err);
                if (!policies[which])
                        abort();
        }
        return kr_policy_rule_at(policies[which], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct kr_routing routing;
        const kr_rule_t *by;
        struct kr_scratch scratch;
        struct kr_bytes bytes;
        unsigned char *key;

        if (!size)
                return 0;
        key = malloc(size - 1 ? size - 1 : 1); /* alone, so that one byte too many is seen */
        if (!key)
                abort();
        memcpy(key, data + 1, size - 1);
        by = rule(data[0] % USE_CNT);
        kr_rule_route(by, key, size - 1, PARTITIONS, &routing);
        if (routing.partition != kr_rule_partition(by, key, size - 1, PARTITIONS))
                abort();
        if (routing.partition >= PARTITIONS || (routing.partition < 0 && routing.partition != KR_ERR_KEY_REJECTED) ||
            (routing.partition < 0) != (by->key.reject_missing && routing.outcome == KR_KEY_MISSING))
                abort();
        bytes = (struct kr_bytes){ key, size - 1 };
        if (kr_key_project(&by->key, &bytes, &scratch) != routing.outcome)
                abort();
        if (bytes.data != key && bytes.len && !(bytes.data >= key && bytes.data + bytes.len <= key + size - 1) &&
            !(bytes.data >= scratch.data && bytes.data + bytes.len <= scratch.data + sizeof(scratch.data)))
                abort();
        free(key);
        return 0;
}
