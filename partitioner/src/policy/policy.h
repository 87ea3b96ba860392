/** What a policy is inside the core. Written once while it is parsed, never changed afterwards. */
#ifndef KR_POLICY_H
#define KR_POLICY_H

#include "../hash/hash.h"
#include "../key/key.h"
#include "../key/registries.h"
#include "../map/map.h"
#include "canon.h"
#include "locations.h"

struct kr_rule {
        char *topic;          /* a name or a pattern */
        bool is_pattern;      /* holds * or ? */
        size_t literal_cnt;   /* characters of a pattern that stand for themselves */
        int32_t partition_cnt; /* pinned, or 0 for any */
        struct kr_key key;
        const kr_hash_t *hash;
        struct kr_map map;
        struct kr_locations locations;
        char fingerprint[KR_FINGERPRINT_SIZE];
        char description[64];
};

struct kr_policy {
        struct kr_rule *rules; /* exact names by strcmp, then patterns by falling literal_cnt, then strcmp */
        size_t rule_cnt;
        size_t exact_cnt;
        struct kr_registries registries;
};

/**
 * A policy from a parsed document. With `current`, maps that move the fewest keys start from its rule for the topic.
 * @returns a policy, the caller's; or NULL with *err.
 */
kr_policy_t *kr_policy_build(const struct kr_json *root, const kr_policy_t *current, struct kr_error *err);

/** True when both rules route by the same bytes of a key, whatever they make of them. */
bool kr_rule_same_key(const struct kr_rule *a, const struct kr_rule *b);

/** As kr_rule_partition(), from the routing bytes on: for planners, who have no keys. The count must have passed the pin. */
int32_t kr_rule_partition_of_bytes(const struct kr_rule *rule, struct kr_bytes bytes, int32_t partition_cnt);

/** The rule whose topic name or pattern is spelled like this, or NULL. */
const struct kr_rule *kr_policy_rule_named(const kr_policy_t *policy, const char *topic);

#endif
