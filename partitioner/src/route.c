/* The pipeline: project, hash, map. Nothing else in the tree computes a partition. */
#include "policy/policy.h"

static int32_t route(const kr_rule_t *rule, struct kr_bytes bytes, int32_t partition_cnt, uint64_t *hash)
{
        if (partition_cnt < 1 || (rule->partition_cnt && rule->partition_cnt != partition_cnt))
                return KR_ERR_PARTITION_COUNT;
        if (rule->key.kind->project) {
                int32_t refused = rule->key.kind->project(&rule->key, &bytes);

                if (refused)
                        return refused;
        }
        *hash = rule->hash->value(bytes.data, bytes.len);
        return rule->map.kind->partition(&rule->map, bytes, *hash, partition_cnt);
}

int32_t kr_rule_partition(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt)
{
        uint64_t hash;

        return route(rule, (struct kr_bytes){ key, key_len }, partition_cnt, &hash);
}

void kr_rule_route(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt,
                   struct kr_routing *routing)
{
        routing->hash = 0;
        routing->partition = route(rule, (struct kr_bytes){ key, key_len }, partition_cnt, &routing->hash);
        routing->location = routing->partition < 0 ? NULL : kr_rule_location(rule, routing->partition);
}

const char *kr_version(void)
{
        return KR_VERSION;
}

const char *kr_strerror(int32_t err)
{
        switch (err) {
        case KR_ERR_PARTITION_COUNT:
                return "the topic's partition count differs from the one the policy was made for";
        case KR_ERR_KEY_REJECTED:
                return "the policy rejects keys of this form";
        default:
                return "no error";
        }
}
