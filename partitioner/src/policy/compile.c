/* A policy with everything spelled out. */
#include "policy.h"

#include "../preset/preset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A preset is shorthand too: whoever reads a compiled policy needs to know no store. */
static bool spell_out_preset(const struct kr_json *rule, struct kr_error *err)
{
        json_t *plain;
        bool ok;

        if (!json_object_get(rule->value, "preset"))
                return true;
        plain = kr_preset_expand(rule, err);
        ok = plain && !json_object_clear(rule->value) && !json_object_update(rule->value, plain);
        json_decref(plain);
        return ok;
}

/* Puts each rule's compiled map in the place of the one that was read. */
static bool spell_out(const struct kr_json *root, const kr_policy_t *policy, bool expand, struct kr_error *err)
{
        struct kr_json topics_at = kr_json_member(root, "topics");
        const char *topic;
        json_t *value;

        json_object_foreach(topics_at.value, topic, value)
        {
                struct kr_json rule_at = kr_json_member(&topics_at, topic), map_at;
                json_t *map;

                if (!spell_out_preset(&rule_at, err))
                        return false;
                json_object_set_new(value, "fingerprint",
                                    json_string(kr_policy_rule_named(policy, topic)->fingerprint));
                map_at = kr_json_member(&rule_at, "map");
                if (!map_at.value)
                        continue;
                map = kr_map_compile(&kr_policy_rule_named(policy, topic)->map, &map_at, expand);
                if (!map)
                        return kr_json_fail(&rule_at, err, "out of memory");
                if (json_object_get(map_at.value, "comment") && !json_object_get(map, "comment"))
                        json_object_set(map, "comment", json_object_get(map_at.value, "comment"));
                json_object_set_new(value, "map", map);
        }
        return true;
}

/* What was written must read as what was meant: the last defence against a form that loses something. */
static bool routes_alike(const kr_policy_t *policy, const struct kr_json *root, struct kr_error *err)
{
        kr_policy_t *again = kr_policy_build(root, NULL, err);
        bool alike = again != NULL;

        for (size_t i = 0; alike && i < policy->rule_cnt; i++)
                if (strcmp(policy->rules[i].fingerprint, again->rules[i].fingerprint)) {
                        alike = false;
                        snprintf(err->text, sizeof(err->text), "%.200s: the compiled rule of %.100s routes differently; "
                                 "nothing was written, please report this", root->file, policy->rules[i].topic);
                }
        kr_policy_free(again);
        return alike;
}

/* What is compiled may be a compiled policy that was changed since: the old fingerprints no longer matter. */
static void drop_fingerprints(const struct kr_json *root)
{
        struct kr_json topics_at = kr_json_member(root, "topics");
        const char *topic;
        json_t *rule;

        json_object_foreach(topics_at.value, topic, rule)
                json_object_del(rule, "fingerprint");
}

static char *compile(struct kr_document *doc, const kr_policy_t *current, bool expand, struct kr_error *err)
{
        kr_policy_t *policy;
        char *text = NULL;

        drop_fingerprints(&doc->root);
        policy = kr_policy_build(&doc->root, current, err);
        if (policy) {
                if (spell_out(&doc->root, policy, expand, err) && routes_alike(policy, &doc->root, err)) {
                        text = kr_json_print(doc->root.value);
                        if (!text)
                                kr_json_fail(&doc->root, err, "out of memory");
                }
        }
        kr_policy_free(policy);
        kr_document_release(doc);
        return text;
}

char *kr_policy_compile(const char *path, const kr_policy_t *current, bool expand, struct kr_error *err)
{
        struct kr_document doc;

        return kr_document_load(&doc, path, "policy", err) ? compile(&doc, current, expand, err) : NULL;
}

char *kr_policy_compile_text(const char *json, size_t len, const char *path, const kr_policy_t *current, bool expand,
                             struct kr_error *err)
{
        struct kr_document doc;

        return kr_document_parse(&doc, json, len, path, err) ? compile(&doc, current, expand, err) : NULL;
}
