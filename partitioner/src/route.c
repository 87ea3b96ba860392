/* The pipeline: project, hash, map. Nothing else in the tree computes a partition. */
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int32_t map_bytes(const kr_rule_t *rule, struct kr_bytes bytes, int32_t partition_cnt,
                                struct kr_routing *routing)
{
        if (rule->map.takes_hash)
                routing->hash = rule->hash->value(bytes.data, bytes.len);
        return rule->map.kind->partition(&rule->map, bytes, &routing->hash, partition_cnt);
}

/* Apart, so that routing by the whole key does not pay for the scratch on its stack. */
static __attribute__((noinline)) int32_t route_part(const kr_rule_t *rule, struct kr_bytes bytes, int32_t partition_cnt,
                                                    struct kr_routing *routing)
{
        struct kr_scratch scratch; /* not initialized: kr_key_project() sets what counts */

        routing->outcome = kr_key_project(&rule->key, &bytes, &scratch);
        if (routing->outcome >= KR_KEY_MISSING && kr_key_refuses(&rule->key, routing->outcome))
                return routing->outcome == KR_KEY_UNRESOLVED ? KR_ERR_KEY_UNRESOLVED : KR_ERR_KEY_REJECTED;
        return map_bytes(rule, bytes, partition_cnt, routing);
}

static inline int32_t route(const kr_rule_t *rule, struct kr_bytes bytes, int32_t partition_cnt,
                            struct kr_routing *routing)
{
        routing->hash = 0;
        routing->outcome = KR_KEY_PROJECTED;
        if (partition_cnt < 1 || (rule->partition_cnt && rule->partition_cnt != partition_cnt))
                return KR_ERR_PARTITION_COUNT;
        if (!kr_key_is_whole(&rule->key))
                return route_part(rule, bytes, partition_cnt, routing);
        return map_bytes(rule, bytes, partition_cnt, routing);
}

int32_t kr_rule_partition_of_bytes(const kr_rule_t *rule, struct kr_bytes bytes, int32_t partition_cnt)
{
        struct kr_routing routing = { .hash = 0 };

        return map_bytes(rule, bytes, partition_cnt, &routing);
}

int32_t kr_rule_partition(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt)
{
        struct kr_routing routing;

        return route(rule, (struct kr_bytes){ key, key_len }, partition_cnt, &routing);
}

void kr_rule_route(const kr_rule_t *rule, const void *key, size_t key_len, int32_t partition_cnt,
                   struct kr_routing *routing)
{
        routing->partition = route(rule, (struct kr_bytes){ key, key_len }, partition_cnt, routing);
        routing->location = routing->partition < 0 ? NULL : kr_rule_location(rule, routing->partition);
}

kr_key_outcome_t kr_rule_routing_bytes(const kr_rule_t *rule, const void *key, size_t key_len, void *out, size_t room,
                                       size_t *len)
{
        struct kr_bytes bytes = { key, key_len };
        struct kr_scratch scratch;
        kr_key_outcome_t outcome = kr_key_project(&rule->key, &bytes, &scratch);

        *len = bytes.len;
        if (bytes.len && room)
                memcpy(out, bytes.data, bytes.len < room ? bytes.len : room);
        return outcome;
}

/* which: the schema of a registry that is to be shown, or NULL. */
static char *print_plan(const kr_rule_t *rule, const char *which, struct kr_error *err)
{
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        bool ok = true, is_shown = false;

        snprintf(err->text, sizeof(err->text), "out of memory");
        if (!out)
                return NULL;
        for (const struct kr_key *step = &rule->key; step && ok; step = step->over) {
                fprintf(out, "%s%s\n", step == &rule->key ? "" : "over ", step->kind->use);
                if (which && step->kind == &kr_key_avro)
                        is_shown = ok = kr_key_avro_print_schema(step, which, out, err);
                else if (step->kind->print)
                        step->kind->print(step, out);
        }
        if (ok && which && !is_shown) {
                snprintf(err->text, sizeof(err->text), "the rule for %.100s does not route by Avro fields", rule->topic);
                ok = false;
        }
        if (!fclose(out) && ok)
                return text;
        free(text);
        return NULL;
}

char *kr_rule_key_plan(const kr_rule_t *rule)
{
        struct kr_error unused;

        return print_plan(rule, NULL, &unused);
}

char *kr_rule_schema_plan(const kr_rule_t *rule, const char *schema, struct kr_error *err)
{
        return print_plan(rule, schema, err);
}

int32_t kr_rule_partitions_of_prefix(const kr_rule_t *rule, const void *first, size_t first_len, int32_t partition_cnt,
                                     int32_t *out, int32_t room)
{
        if (partition_cnt < 1 || (rule->partition_cnt && rule->partition_cnt != partition_cnt))
                return KR_ERR_PARTITION_COUNT;
        return kr_map_of_prefix(&rule->map, NULL, (struct kr_bytes){ first, first_len }, partition_cnt, out, room);
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
        case KR_ERR_KEY_UNRESOLVED:
                return "the schema of the key could not be had from the registry";
        default:
                return "no error";
        }
}
