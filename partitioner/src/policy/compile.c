/* A policy with everything spelled out. */
#include "policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts each rule's compiled map in the place of the one that was read. */
static bool spell_out(const struct kr_json *root, const kr_policy_t *policy, bool expand)
{
        struct kr_json topics_at = kr_json_member(root, "topics");
        const char *topic;
        json_t *value;

        json_object_foreach(topics_at.value, topic, value)
        {
                struct kr_json rule_at = kr_json_member(&topics_at, topic);
                struct kr_json map_at = kr_json_member(&rule_at, "map");
                json_t *map;

                if (!map_at.value)
                        continue;
                map = kr_map_compile(&kr_policy_rule_named(policy, topic)->map, &map_at, expand);
                if (!map)
                        return false;
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

char *kr_policy_compile(const char *path, const kr_policy_t *current, bool expand, struct kr_error *err)
{
        struct kr_document doc;
        kr_policy_t *policy;
        char *text = NULL;

        if (!kr_document_load(&doc, path, "policy", err))
                return NULL;
        policy = kr_policy_build(&doc.root, current, err);
        if (policy) {
                if (!spell_out(&doc.root, policy, expand))
                        kr_json_fail(&doc.root, err, "out of memory");
                else if (routes_alike(policy, &doc.root, err)) {
                        text = kr_json_print(doc.root.value);
                        if (!text)
                                kr_json_fail(&doc.root, err, "out of memory");
                }
        }
        kr_policy_free(policy);
        kr_document_release(&doc);
        return text;
}
