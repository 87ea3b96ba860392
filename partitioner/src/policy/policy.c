#include "policy.h"

#include "../key/schemas.h"
#include "../preset/preset.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOPIC_LEN_MAX 249 /* Kafka's own limit */

static const char TOPIC_CHARS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static bool parse_topic(struct kr_rule *rule, const char *topic, const struct kr_json *at, struct kr_error *err)
{
        size_t len = strlen(topic);

        if (!len || len > TOPIC_LEN_MAX)
                return kr_json_fail(at, err, "a topic name has 1 to %d characters", TOPIC_LEN_MAX);
        if (!strcmp(topic, ".") || !strcmp(topic, ".."))
                return kr_json_fail(at, err, "Kafka allows no topic named \"%s\"", topic);
        for (size_t i = 0; i < len; i++) {
                if (topic[i] == '*' || topic[i] == '?')
                        rule->is_pattern = true;
                else if (strchr(TOPIC_CHARS, topic[i]))
                        rule->literal_cnt++;
                else
                        return kr_json_fail(at, err,
                                            "a topic name holds letters, digits, '.', '_', '-', and in a pattern '*' "
                                            "and '?'");
        }
        rule->topic = strdup(topic);
        return rule->topic || kr_json_fail(at, err, "out of memory");
}

/* "did you mean", or where the list is. buf lives as long as the message needs it. */
static const char *hash_hint(const char *name, char *buf, size_t size)
{
        const char *names[64];
        const char *closest;
        size_t cnt = 0;

        for (const kr_hash_t *hash; cnt < sizeof(names) / sizeof(names[0]) && (hash = kr_hash_at(cnt)); cnt++)
                names[cnt] = hash->name;
        closest = kr_closest(name, names, cnt);
        if (!closest)
                return "repartition route --list-hashes lists them";
        snprintf(buf, size, "did you mean \"%s\"?", closest);
        return buf;
}

static bool parse_hash(struct kr_rule *rule, const struct kr_json *at, struct kr_error *err)
{
        const char *name;
        char hint[80];

        rule->hash = kr_hash_find("murmur2");
        if (!at->value)
                return true;
        if (!kr_json_string(at, &name, err))
                return false;
        rule->hash = kr_hash_find(name);
        return rule->hash || kr_json_fail(at, err, "no hash \"%.60s\"; %s", name, hash_hint(name, hint, sizeof(hint)));
}

static bool fingerprint(struct kr_rule *rule, const struct kr_json *at, struct kr_error *err)
{
        struct kr_canon *canon = kr_canon_new();

        if (!canon)
                return kr_json_fail(at, err, "out of memory");
        kr_canon_add(canon, "keyroute=1");
        kr_canon_add(canon, "partitions=%" PRId32, rule->partition_cnt);
        kr_key_canon(&rule->key, canon);
        kr_canon_add(canon, "hash=%s", rule->hash->name);
        kr_map_canon(&rule->map, canon);
        kr_canon_finish(canon, rule->fingerprint);
        return true;
}

bool kr_rule_same_key(const struct kr_rule *a, const struct kr_rule *b)
{
        char prints[2][KR_FINGERPRINT_SIZE];
        const struct kr_rule *rules[2] = { a, b };

        for (int i = 0; i < 2; i++) {
                struct kr_canon *canon = kr_canon_new();

                if (!canon)
                        return false;
                kr_key_canon(&rules[i]->key, canon);
                kr_canon_finish(canon, prints[i]);
        }
        return !strcmp(prints[0], prints[1]);
}

const struct kr_rule *kr_policy_rule_named(const kr_policy_t *policy, const char *topic)
{
        for (size_t i = 0; i < policy->rule_cnt; i++)
                if (!strcmp(policy->rules[i].topic, topic))
                        return &policy->rules[i];
        return NULL;
}

/* What the map of a rule that is being read may start from, or why there is nothing. */
static void find_current(const struct kr_rule *rule, const kr_policy_t *policy, struct kr_map_context *context)
{
        const struct kr_rule *current = kr_policy_rule_named(policy, rule->topic);

        if (!current && !rule->is_pattern)
                current = kr_policy_rule(policy, rule->topic);
        if (!current)
                context->no_current = "has no rule for this topic";
        else if (!current->partition_cnt)
                context->no_current = "does not pin the partitions of this topic";
        else if (rule->hash != current->hash || !kr_rule_same_key(rule, current))
                context->no_current = "routes this topic by another key or hash, so that every key would move";
        else {
                context->current = &current->map;
                context->current_cnt = current->partition_cnt;
        }
}

/* A compiled rule carries its fingerprint, for programs that cannot compute it; so a later change by hand is noticed. */
static bool matches_fingerprint(const struct kr_rule *rule, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json told_at = kr_json_member(at, "fingerprint");
        const char *told;

        if (!told_at.value)
                return true;
        if (!kr_json_string(&told_at, &told, err))
                return false;
        return !strcmp(told, rule->fingerprint) ||
               kr_json_fail(&told_at, err, "the rule's fingerprint is %s: it was changed after it was compiled; compile it "
                            "again, or take this line out", rule->fingerprint);
}

static bool parse_members(struct kr_rule *rule, const struct kr_json *at, const kr_policy_t *current,
                          struct kr_error *err)
{
        static const char *const fields[] = { "partitions", "preset", "key", "hash", "map", "locations", "fingerprint",
                                             NULL };
        struct kr_json partitions_at, key_at, hash_at, map_at, locations_at;
        struct kr_map_context context = { 0 };
        bool whole_key;
        int64_t cnt = 0;

        if (!parse_topic(rule, at->key, at, err) || !kr_json_object(at, fields, err))
                return false;
        partitions_at = kr_json_member(at, "partitions");
        if (partitions_at.value && !kr_json_integer(&partitions_at, 1, KR_PARTITION_CNT_MAX, &cnt, err))
                return false;
        rule->partition_cnt = (int32_t)cnt;
        key_at = kr_json_member(at, "key");
        hash_at = kr_json_member(at, "hash");
        map_at = kr_json_member(at, "map");
        locations_at = kr_json_member(at, "locations");
        if (!kr_key_parse(&rule->key, &key_at, err) || !parse_hash(rule, &hash_at, err))
                return false;
        context.partition_cnt = rule->partition_cnt;
        context.hash = rule->hash;
        if (current)
                find_current(rule, current, &context);
        if (!kr_map_parse(&rule->map, &map_at, &context, err) ||
            !kr_locations_parse(&rule->locations, &locations_at, rule->partition_cnt, err))
                return false;
        whole_key = kr_key_is_whole(&rule->key);
        snprintf(rule->description, sizeof(rule->description), "%s%s%s %s", whole_key ? "" : rule->key.kind->use,
                 whole_key ? "" : " ", rule->hash->name, rule->map.kind->name);
        return fingerprint(rule, at, err) && matches_fingerprint(rule, at, err);
}

static bool parse_rule(struct kr_rule *rule, const struct kr_json *at, const kr_policy_t *current,
                       struct kr_error *err)
{
        struct kr_json plain = *at;
        bool ok;

        if (!json_object_get(at->value, "preset"))
                return parse_members(rule, at, current, err);
        plain.value = kr_preset_expand(at, err);
        ok = plain.value && parse_members(rule, &plain, current, err);
        json_decref(plain.value);
        return ok;
}

static int by_precedence(const void *a, const void *b)
{
        const struct kr_rule *x = a, *y = b;

        if (x->is_pattern != y->is_pattern)
                return x->is_pattern ? 1 : -1;
        if (x->is_pattern && x->literal_cnt != y->literal_cnt)
                return x->literal_cnt > y->literal_cnt ? -1 : 1;
        return strcmp(x->topic, y->topic);
}

static bool bind_rule(kr_policy_t *policy, struct kr_rule *rule, const struct kr_json *at, struct kr_error *err)
{
        struct kr_key_context context = { &policy->registries, rule->is_pattern ? NULL : rule->topic };
        struct kr_json key_at = kr_json_member(at, "key");

        return kr_key_bind(&rule->key, &key_at, &context, err);
}

static bool parse_document(kr_policy_t *policy, const struct kr_json *root, const kr_policy_t *current,
                           struct kr_error *err)
{
        static const char *const fields[] = { "keyroute", "topics", "schemas", NULL };
        struct kr_json version_at, topics_at, schemas_at;
        const char *topic;
        json_t *value;
        int64_t version;

        if (!kr_json_object(root, fields, err))
                return false;
        version_at = kr_json_member(root, "keyroute");
        topics_at = kr_json_member(root, "topics");
        schemas_at = kr_json_member(root, "schemas");
        if (!version_at.value)
                return kr_json_fail(root, err, "\"keyroute\": 1 is missing: the version of the policy format");
        if (!json_is_integer(version_at.value) || (version = json_integer_value(version_at.value)) != 1)
                return kr_json_fail(&version_at, err, "expected 1, the only version of the policy format so far");
        if (!json_is_object(topics_at.value))
                return kr_json_fail(topics_at.value ? &topics_at : root, err,
                                    "expected \"topics\": an object with a rule for each topic name or pattern");
        if (!json_object_size(topics_at.value))
                return kr_json_fail(&topics_at, err, "expected at least one topic; \"*\" stands for all");
        if (!kr_registries_parse(&policy->registries, &schemas_at, err))
                return false;
        policy->rules = calloc(json_object_size(topics_at.value), sizeof(*policy->rules));
        if (!policy->rules)
                return kr_json_fail(root, err, "out of memory");
        json_object_foreach(topics_at.value, topic, value)
        {
                struct kr_json rule_at = kr_json_member(&topics_at, topic);
                struct kr_rule *rule = &policy->rules[policy->rule_cnt++];

                /* Counted first, so that a rule that fails half-way is released with the policy. */
                if (!parse_rule(rule, &rule_at, current, err) || !bind_rule(policy, rule, &rule_at, err))
                        return false;
        }
        qsort(policy->rules, policy->rule_cnt, sizeof(*policy->rules), by_precedence);
        while (policy->exact_cnt < policy->rule_cnt && !policy->rules[policy->exact_cnt].is_pattern)
                policy->exact_cnt++;
        return true;
}

kr_policy_t *kr_policy_build(const struct kr_json *root, const kr_policy_t *current, struct kr_error *err)
{
        kr_policy_t *policy = calloc(1, sizeof(*policy));

        if (!policy)
                kr_json_fail(root, err, "out of memory");
        else if (!parse_document(policy, root, current, err)) {
                kr_policy_free(policy);
                policy = NULL;
        }
        return policy;
}

kr_policy_t *kr_policy_parse(const char *json, size_t len, const char *name, struct kr_error *err)
{
        struct kr_json root = { .file = name, .value = kr_json_parse(json, len, name, err) };
        kr_policy_t *policy = root.value ? kr_policy_build(&root, NULL, err) : NULL;

        json_decref(root.value);
        return policy;
}

kr_policy_t *kr_policy_parse_at(const char *json, size_t len, const char *path, struct kr_error *err)
{
        struct kr_document doc;
        kr_policy_t *policy;

        if (!kr_document_parse(&doc, json, len, path, err))
                return NULL;
        policy = kr_policy_build(&doc.root, NULL, err);
        kr_document_release(&doc);
        return policy;
}

kr_policy_t *kr_policy_load(const char *path, struct kr_error *err)
{
        struct kr_document doc;
        kr_policy_t *policy;

        if (!kr_document_load(&doc, path, "policy", err))
                return NULL;
        policy = kr_policy_build(&doc.root, NULL, err);
        kr_document_release(&doc);
        return policy;
}

kr_policy_t *kr_policy_from_hash(const char *hash_name, struct kr_error *err)
{
        const kr_hash_t *hash = kr_hash_find(hash_name);
        char text[160];
        char hint[80];

        if (!hash) {
                snprintf(err->text, sizeof(err->text), "no hash \"%.60s\"; %s", hash_name,
                         hash_hint(hash_name, hint, sizeof(hint)));
                kr_one_line(err->text);
                return NULL;
        }
        snprintf(text, sizeof(text), "{\"keyroute\": 1, \"topics\": {\"*\": {\"hash\": \"%s\"}}}", hash->name);
        return kr_policy_parse(text, strlen(text), "hash", err);
}

void kr_policy_free(kr_policy_t *policy)
{
        if (!policy)
                return;
        for (size_t i = 0; i < policy->rule_cnt; i++) {
                struct kr_rule *rule = &policy->rules[i];

                free(rule->topic);
                kr_key_release(&rule->key);
                kr_map_release(&rule->map);
                kr_locations_release(&rule->locations);
        }
        kr_registries_release(&policy->registries);
        free(policy->rules);
        free(policy);
}

void kr_policy_be_strict(kr_policy_t *policy)
{
        enum { PATIENCE_MS = 600000 }; /* the tries end before, and with them the wait */

        for (size_t i = 0; i < policy->registries.conf.registry_cnt; i++)
                policy->registries.conf.registries[i].wait_ms = PATIENCE_MS;
        for (size_t i = 0; i < policy->rule_cnt; i++)
                policy->rules[i].key.is_strict = true;
}

void kr_policy_start(const kr_policy_t *policy, kr_log_fn *log, void *opaque)
{
        const struct kr_registries *registries = &policy->registries;

        if (registries->client)
                registries->schemas->client_start(registries->client, log, opaque);
}

const kr_rule_t *kr_policy_rule(const kr_policy_t *policy, const char *topic)
{
        size_t low = 0, high = policy->exact_cnt;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(topic, policy->rules[middle].topic);

                if (!order)
                        return &policy->rules[middle];
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        for (size_t i = policy->exact_cnt; i < policy->rule_cnt; i++)
                if (!fnmatch(policy->rules[i].topic, topic, 0))
                        return &policy->rules[i];
        return NULL;
}

const kr_rule_t *kr_policy_rule_at(const kr_policy_t *policy, size_t i)
{
        return i < policy->rule_cnt ? &policy->rules[i] : NULL;
}

const char *kr_rule_topic(const kr_rule_t *rule)
{
        return rule->topic;
}

int32_t kr_rule_partitions(const kr_rule_t *rule)
{
        return rule->partition_cnt;
}

const kr_hash_t *kr_rule_hash(const kr_rule_t *rule)
{
        return rule->hash;
}

const char *kr_rule_map(const kr_rule_t *rule)
{
        return rule->map.kind->name;
}

const char *kr_rule_key_use(const kr_rule_t *rule)
{
        return rule->key.kind->use;
}

const char *kr_rule_fingerprint(const kr_rule_t *rule)
{
        return rule->fingerprint;
}

const char *kr_rule_describe(const kr_rule_t *rule)
{
        return rule->description;
}

const char *kr_rule_location(const kr_rule_t *rule, int32_t partition)
{
        return kr_locations_find(&rule->locations, partition);
}

size_t kr_rule_memory_bytes(const kr_rule_t *rule)
{
        size_t bytes = sizeof(*rule) + strlen(rule->topic) + 1 + kr_map_memory(&rule->map);

        for (size_t i = 0; i < rule->locations.cnt; i++)
                bytes += sizeof(rule->locations.ranges[i]) + strlen(rule->locations.ranges[i].name) + 1;
        return bytes;
}
