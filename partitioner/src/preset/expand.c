/* What presets stand for in a policy: the rule's members, spelled out. */
#include "preset.h"

#include <inttypes.h>
#include <stdio.h>

json_t *kr_preset_wrong_count(const struct kr_preset *preset, int32_t partition_cnt, struct kr_error *err)
{
        kr_preset_fail(preset, err,
                       "it has %" PRId32 " buckets and the topic %" PRId32 " partitions: make them equal%s",
                       preset->bucket_cnt, partition_cnt,
                       preset->kind->own_map ? ", or give a \"map\" from buckets to partitions" : "");
        return NULL;
}

json_t *kr_preset_modulo(const struct kr_preset *preset, const char *hash, int32_t partition_cnt, struct kr_error *err)
{
        if (partition_cnt != preset->bucket_cnt)
                return kr_preset_wrong_count(preset, partition_cnt, err);
        return json_pack("{s:i, s:s, s:{s:s}}", "partitions", partition_cnt, "hash", hash, "map", "kind", "modulo");
}

json_t *kr_preset_slots(const char *hash, uint32_t slot_cnt,
                        int32_t (*owner)(const struct kr_preset *preset, uint32_t slot, int32_t partition_cnt),
                        const struct kr_preset *preset, int32_t partition_cnt)
{
        json_t *runs = json_array();
        uint32_t start = 0;

        for (uint32_t slot = 1; slot <= slot_cnt; slot++) {
                int32_t current = owner(preset, start, partition_cnt);

                if (slot < slot_cnt && owner(preset, slot, partition_cnt) == current)
                        continue;
                json_array_append_new(runs, json_pack("[i,I]", (int)current, (json_int_t)(slot - start)));
                start = slot;
        }
        return json_pack("{s:i, s:s, s:{s:s, s:I, s:o}}", "partitions", partition_cnt, "hash", hash, "map", "kind",
                         "slots", "slots", (json_int_t)slot_cnt, "runs", runs);
}

json_t *kr_preset_ranges(const char *hash, const struct kr_preset_range *ranges, size_t cnt, int32_t partition_cnt)
{
        json_t *bounds = json_array(), *owners = json_array();

        for (size_t i = 0; i < cnt; i++) {
                char bound[24];

                /* In hex, for JSON's whole numbers end at 2^63. */
                snprintf(bound, sizeof(bound), "0x%" PRIx64, ranges[i].start);
                if (i)
                        json_array_append_new(bounds, json_string(bound));
                json_array_append_new(owners, json_integer(ranges[i].partition));
        }
        return json_pack("{s:i, s:s, s:{s:s, s:o, s:o}}", "partitions", partition_cnt, "hash", hash, "map", "kind",
                         "hash-range", "bounds", bounds, "owners", owners);
}

static const char *why_not(const struct kr_preset *preset, bool has_map)
{
        if (preset->takes_id)
                return "a policy routes by one key, and this rule needs the routing and the _id";
        if (!preset->kind->rule)
                return "no policy can say this rule; it is for repartition route alone";
        if (has_map && !preset->kind->own_map)
                return "it brings its own map: leave \"map\" out";
        if (!has_map && !kr_preset_buckets(preset))
                return "it gives places on a ring: say by a \"map\" of kind hash-range who owns which stretch";
        return NULL;
}

/* What the preset stands for beside these members of the rule. */
static json_t *members_for(const struct kr_preset *preset, const struct kr_json *rule, struct kr_error *err)
{
        const json_t *own_map = json_object_get(rule->value, "map");
        json_int_t partition_cnt = json_integer_value(json_object_get(rule->value, "partitions"));
        const char *reason = why_not(preset, own_map);
        json_t *members;

        if (reason) {
                kr_preset_fail(preset, err, "%s", reason);
                return NULL;
        }
        /* A count that is no count is the policy's to complain about. */
        if (own_map || partition_cnt < 1 || partition_cnt > KR_PARTITION_CNT_MAX)
                partition_cnt = preset->bucket_cnt;
        members = preset->kind->rule(preset, (int32_t)partition_cnt, err);
        if (members && own_map) {
                json_object_del(members, "map");
                json_object_del(members, "partitions");
        } else if (members && json_object_get(rule->value, "partitions")) {
                json_object_del(members, "partitions");
        }
        return members;
}

json_t *kr_preset_expand(const struct kr_json *rule, struct kr_error *err)
{
        struct kr_json preset_at = kr_json_member(rule, "preset");
        json_t *members = NULL, *out = NULL;
        struct kr_preset *preset;
        struct kr_error why;
        const char *spec, *name;
        json_t *value;

        if (!kr_json_string(&preset_at, &spec, err))
                return NULL;
        preset = kr_preset_new(spec, NULL, &why);
        if (preset)
                members = members_for(preset, rule, &why);
        kr_preset_free(preset);
        if (!members) {
                kr_json_fail(&preset_at, err, "%s", why.text);
                return NULL;
        }
        json_object_foreach (members, name, value) {
                struct kr_json own_at = kr_json_member(rule, name);

                if (own_at.value) {
                        kr_json_fail(&own_at, err, "the preset \"%.60s\" says this: leave one of the two out", spec);
                        json_decref(members);
                        return NULL;
                }
        }
        out = json_copy(rule->value);
        if (!out || json_object_del(out, "preset") || json_object_update(out, members)) {
                kr_json_fail(rule, err, "out of memory");
                json_decref(out);
                out = NULL;
        }
        json_decref(members);
        return out;
}
