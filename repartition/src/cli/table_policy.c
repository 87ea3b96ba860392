#include "cli/table_policy.h"

#include "cli/command.h"
#include "report/key_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_MAX = 3 }; /* maps stand at most 4 deep, and one of them is not a table */

static size_t delimiters_in(const struct rp_unit *unit, const char *delimiter)
{
        const char *at = (const char *)unit->data, *end = at + unit->len;
        size_t cnt = 0;

        while (delimiter && at < end && (at = memmem(at, (size_t)(end - at), delimiter, strlen(delimiter)))) {
                at += strlen(delimiter);
                cnt++;
        }
        return cnt;
}

static bool all_are_text(const struct rp_units *units)
{
        for (size_t i = 0; i < units->cnt; i++)
                if (!rp_is_printable(units->list[i].data, units->list[i].len))
                        return false;
        return true;
}

static char *row_name(const struct rp_unit *unit, bool as_text)
{
        char *name = malloc(2 * unit->len + 1);

        if (!name)
                abort();
        if (as_text) {
                memcpy(name, unit->data, unit->len);
                name[unit->len] = '\0';
                return name;
        }
        *name = '\0';
        for (size_t i = 0; i < unit->len; i++)
                snprintf(name + 2 * i, 3, "%02x", unit->data[i]);
        return name;
}

/* The map for keys that are in no row: what stands behind the tables of the one in force. New reference. */
static json_t *other_of(json_t *rule)
{
        json_t *map = json_object_get(rule, "map");

        while (map && json_string_value(json_object_get(map, "kind")) &&
               !strcmp(json_string_value(json_object_get(map, "kind")), "table"))
                map = json_object_get(map, "else");
        return map ? json_deep_copy(map) : json_pack("{s:s}", "kind", "modulo");
}

/* The rows with this many fields around `other`, which is taken; `other` itself when there are none. */
static json_t *table_of(const struct rp_table_policy *plan, const struct rp_units *units, const int32_t *place,
                        size_t fields, bool as_text, json_t *other)
{
        json_t *keys = json_object(), *table;

        for (size_t i = 0; i < units->cnt; i++)
                if (delimiters_in(&units->list[i], plan->delimiter) + 1 == fields) {
                        char *name = row_name(&units->list[i], as_text);

                        json_object_set_new(keys, name, json_integer(place[i]));
                        free(name);
                }
        if (!json_object_size(keys)) {
                json_decref(keys);
                return other;
        }
        table = json_pack("{s:s}", "kind", "table");
        if (plan->delimiter) {
                json_object_set_new(table, "delimiter", json_string(plan->delimiter));
                json_object_set_new(table, "first", json_integer((json_int_t)fields));
        }
        if (!as_text)
                json_object_set_new(table, "key-format", json_string("hex"));
        json_object_set_new(table, "keys", keys);
        json_object_set_new(table, "else", other);
        return table;
}

/* What was planned must be what the core does. */
static rp_err_t check(const struct rp_table_policy *plan, const struct rp_units *units, const int32_t *place,
                      const json_t *document, struct rp_error *err)
{
        char *text = json_dumps(document, 0);
        struct kr_error kerr = { "out of memory" };
        kr_policy_t *policy = text ? kr_policy_parse_at(text, strlen(text), plan->base_path, &kerr) : NULL;
        const kr_rule_t *rule = NULL;
        rp_err_t rc = policy ? RP_OK : rp_fail(err, RP_ERR_USAGE, "the planned policy is refused: %.400s", kerr.text);

        if (policy)
                rp_policy_judge(policy);
        for (size_t i = 0; policy && (rule = kr_policy_rule_at(policy, i)); i++)
                if (!strcmp(kr_rule_topic(rule), plan->rule_name))
                        break;
        for (size_t i = 0; rule && i < units->cnt; i++) {
                int32_t to = kr_rule_partition(rule, units->list[i].data, units->list[i].len, plan->partition_cnt);

                if (to != place[i])
                        rc = rp_fail(err, RP_ERR_USAGE,
                                     "row %zu was planned for partition %" PRId32
                                     ", but the policy routes it to %" PRId32
                                     ": its \"key\" does not route by the bytes that the rows hold",
                                     i + 1, place[i], to);
        }
        kr_policy_free(policy);
        free(text);
        return rc;
}

json_t *rp_table_policy_make(const struct rp_table_policy *plan, const struct rp_units *units, const int32_t *place,
                             struct rp_error *err)
{
        json_t *document = plan->base_json ? json_loads(plan->base_json, 0, NULL)
                                           : json_pack("{s:i, s:{s:{s:s}}}", "keyroute", 1, "topics", plan->rule_name,
                                                       "hash", plan->hash);
        json_t *rule = json_object_get(json_object_get(document, "topics"), plan->rule_name);
        bool as_text = all_are_text(units);
        json_t *map = other_of(rule);

        for (size_t i = 0; i < units->cnt; i++)
                if (delimiters_in(&units->list[i], plan->delimiter) >= FIELD_MAX) {
                        rp_fail(err, RP_ERR_USAGE,
                                "a group holds the delimiter \"%s\" more than %d times: a policy's tables "
                                "cannot tell it from its parts",
                                plan->delimiter, FIELD_MAX - 1);
                        json_decref(map);
                        json_decref(document);
                        return NULL;
                }
        for (size_t fields = 1; fields <= FIELD_MAX; fields++)
                map = table_of(plan, units, place, fields, as_text, map);
        json_object_set_new(rule, "partitions", json_integer(plan->partition_cnt));
        json_object_set_new(rule, "map", map);
        json_object_del(rule, "fingerprint"); /* of the rule as it was; compiling writes the new one */
        if (check(plan, units, place, document, err) == RP_OK)
                return document;
        json_decref(document);
        return NULL;
}

char *rp_table_policy_print(const struct rp_table_policy *plan, const json_t *document, struct rp_error *err)
{
        char *text = json_dumps(document, 0), *printed;
        struct kr_error kerr = { "out of memory" };

        printed = text ? kr_policy_compile_text(text, strlen(text), plan->base_path, NULL, false, &kerr) : NULL;
        if (!printed)
                rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        free(text);
        return printed;
}
