#include "preset.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kr_preset_param no_params[] = { { .name = NULL } };

/* Asked for, and impossible: better one clear line than a guess that is wrong for every key. */
static const struct kr_preset_kind dynamodb = {
        .info = { .name = "dynamodb",
                  .store = "Amazon DynamoDB",
                  .prints = "nothing: not offered",
                  .source = "no publication",
                  .params = no_params },
        .refusal = "DynamoDB does not publish how it hashes partition keys, so nothing outside it can tell where one "
                   "goes",
};
static const struct kr_preset_kind rendezvous = {
        .info = { .name = "rendezvous",
                  .store = "rendezvous hashing (HRW)",
                  .prints = "nothing: not offered",
                  .source = "no standard",
                  .params = no_params },
        .refusal =
                "rendezvous hashing names neither the hash nor how key and node go into it, so two programs that use "
                "it need not agree",
};

static const struct kr_preset_kind *const kinds[] = {
        &kr_preset_cassandra,
        &kr_preset_citus,
        &kr_preset_cockroachdb,
        &kr_preset_consumer_offsets,
        &kr_preset_couchbase,
        &dynamodb,
        &kr_preset_elasticsearch,
        &kr_preset_elasticsearch_new,
        &kr_preset_flink,
        &kr_preset_jump,
        &kr_preset_ketama,
        &kr_preset_kinesis,
        &kr_preset_mongodb,
        &kr_preset_opensearch,
        &kr_preset_pinot,
        &kr_preset_postgres,
        &kr_preset_pulsar,
        &kr_preset_redis_cluster,
        &rendezvous,
        &kr_preset_scylla,
        &kr_preset_smartclient,
        &kr_preset_yugabytedb,
};

enum { KIND_CNT = sizeof(kinds) / sizeof(kinds[0]) };

const struct kr_preset_info *kr_preset_info_at(size_t i)
{
        return i < KIND_CNT ? &kinds[i]->info : NULL;
}

static bool vfail(const char *name, struct kr_error *err, const char *fmt, va_list args)
{
        char message[400];

        vsnprintf(message, sizeof(message), fmt, args);
        snprintf(err->text, sizeof(err->text), "preset %.60s: %s", name, message);
        return false;
}

bool kr_preset_fail(const struct kr_preset *preset, struct kr_error *err, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vfail(preset->kind->info.name, err, fmt, args);
        va_end(args);
        return false;
}

/* ---- the spec -------------------------------------------------------------------------------------------------- */

static bool find_kind(struct kr_preset *preset, const char *name, struct kr_error *err)
{
        const char *names[KIND_CNT], *closest;

        for (size_t i = 0; i < KIND_CNT; i++) {
                names[i] = kinds[i]->info.name;
                if (strcmp(names[i], name))
                        continue;
                preset->kind = kinds[i];
                return !kinds[i]->refusal || kr_preset_fail(preset, err, "%s", kinds[i]->refusal);
        }
        closest = kr_closest(name, names, KIND_CNT);
        /* "redis" is far from "redis-cluster" by letters, and near by meaning. */
        for (size_t i = 0; *name && !closest && i < KIND_CNT; i++)
                if (!strncmp(names[i], name, strlen(name)))
                        closest = names[i];
        snprintf(err->text, sizeof(err->text), "no preset \"%.60s\"; %s%s%s", name, closest ? "did you mean \"" : "",
                 closest ? closest : "repartition route --list-presets lists them", closest ? "\"?" : "");
        return false;
}

static bool find_param(const struct kr_preset *preset, const char *name, size_t *at, struct kr_error *err)
{
        const struct kr_preset_param *params = preset->kind->info.params;
        const char *names[KR_PRESET_PARAM_MAX], *closest;
        size_t cnt;

        for (cnt = 0; params[cnt].name; cnt++) {
                names[cnt] = params[cnt].name;
                *at = cnt;
                if (!strcmp(params[cnt].name, name))
                        return true;
        }
        if (!cnt)
                return kr_preset_fail(preset, err, "it takes no parameters, found \"%.60s\"", name);
        closest = kr_closest(name, names, cnt);
        return kr_preset_fail(preset, err, "no parameter \"%.60s\"; %s \"%s\"%s", name,
                              closest ? "did you mean" : "expected one such as", closest ? closest : names[0],
                              closest ? "?" : "");
}

static bool set_choice(struct kr_preset *preset, size_t i, const char *text, struct kr_error *err)
{
        const struct kr_preset_param *param = &preset->kind->info.params[i];
        char list[160] = "";
        size_t used = 0;

        for (size_t c = 0; param->choices[c]; c++) {
                if (!strcmp(param->choices[c], text)) {
                        preset->values[i].text = param->choices[c];
                        return true;
                }
                used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", c ? ", " : "", param->choices[c]);
        }
        return kr_preset_fail(preset, err, "%s: expected one of %s, found \"%.60s\"", param->name, list, text);
}

static bool set_number(struct kr_preset *preset, size_t i, const char *text, struct kr_error *err)
{
        const struct kr_preset_param *param = &preset->kind->info.params[i];
        size_t len = strlen(text);

        /* Nine digits hold every maximum there is, and cannot overflow. */
        if (len && len <= 9 && strspn(text, "0123456789") == len) {
                preset->values[i].number = strtoll(text, NULL, 10);
                if (preset->values[i].number >= param->min && preset->values[i].number <= param->max)
                        return true;
        }
        return kr_preset_fail(preset, err,
                              "%s: expected a whole number from %" PRId64 " to %" PRId64 ", found \"%.60s\"",
                              param->name, param->min, param->max, text);
}

static bool set_param(struct kr_preset *preset, size_t i, const char *text, struct kr_error *err)
{
        const struct kr_preset_param *param = &preset->kind->info.params[i];

        if (param->choices)
                return set_choice(preset, i, text, err);
        if (param->max)
                return set_number(preset, i, text, err);
        preset->values[i].text = text;
        return true;
}

/* "shards=8,type=number", cut up in place. */
static bool read_params(struct kr_preset *preset, char *text, bool given[KR_PRESET_PARAM_MAX], struct kr_error *err)
{
        const char *item;

        while ((item = strsep(&text, ","))) {
                char *equals = strchr(item, '=');
                size_t i = 0;

                if (!equals)
                        return kr_preset_fail(preset, err, "expected PARAM=VALUE, found \"%.60s\"", item);
                *equals = '\0';
                if (!find_param(preset, item, &i, err))
                        return false;
                if (given[i])
                        return kr_preset_fail(preset, err, "%s is given twice", item);
                given[i] = true;
                if (!set_param(preset, i, equals + 1, err))
                        return false;
        }
        return true;
}

static bool has_choice(const struct kr_preset_param *param, const char *word)
{
        for (size_t c = 0; param->choices && param->choices[c]; c++)
                if (!strcmp(param->choices[c], word))
                        return true;
        return false;
}

static bool fill_in(struct kr_preset *preset, const char *key_type, const bool given[KR_PRESET_PARAM_MAX],
                    struct kr_error *err)
{
        const struct kr_preset_param *params = preset->kind->info.params;

        for (size_t i = 0; params[i].name; i++) {
                bool from_keys = key_type && !strcmp(params[i].name, "type") && has_choice(&params[i], key_type);

                if (given[i])
                        continue;
                if (!from_keys && !params[i].fallback)
                        return kr_preset_fail(preset, err, "%s is missing (%s): %s:%s=...", params[i].name,
                                              params[i].help, preset->kind->info.name, params[i].name);
                if (!set_param(preset, i, from_keys ? key_type : params[i].fallback, err))
                        return false;
        }
        return true;
}

static bool read_spec(struct kr_preset *preset, const char *spec, const char *key_type, struct kr_error *err)
{
        bool given[KR_PRESET_PARAM_MAX] = { false };
        char *params;

        preset->spec = strdup(spec);
        if (!preset->spec) {
                snprintf(err->text, sizeof(err->text), "out of memory");
                return false;
        }
        params = strchr(preset->spec, ':');
        if (params)
                *params++ = '\0';
        preset->bucket_cnt = 1;
        return find_kind(preset, preset->spec, err) && (!params || read_params(preset, params, given, err)) &&
               fill_in(preset, key_type, given, err) && preset->kind->settle(preset, err);
}

bool kr_preset_is(const struct kr_preset *preset, size_t i, const char *word)
{
        return !strcmp(preset->values[i].text, word);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* The policy that the rule stands for, so that the core and nothing else finds the bucket. */
static bool make_rule(struct kr_preset *preset, struct kr_error *err)
{
        json_t *rule = preset->kind->rule(preset, preset->bucket_cnt, err);
        json_t *policy = rule ? json_pack("{s:i, s:{s:o}}", "keyroute", 1, "topics", "*", rule) : NULL;
        char *text = policy ? json_dumps(policy, JSON_COMPACT) : NULL;

        if (text)
                preset->policy = kr_policy_parse(text, strlen(text), preset->kind->info.name, err);
        else if (rule)
                kr_preset_fail(preset, err, "out of memory");
        if (preset->policy)
                preset->rule = kr_policy_rule_at(preset->policy, 0);
        free(text);
        json_decref(policy);
        return preset->policy;
}

kr_preset_t *kr_preset_new(const char *spec, const char *key_type, struct kr_error *err)
{
        kr_preset_t *preset = calloc(1, sizeof(*preset));

        if (!preset) {
                snprintf(err->text, sizeof(err->text), "out of memory");
                return NULL;
        }
        if (!read_spec(preset, spec, key_type, err) || (preset->kind->rule && !make_rule(preset, err))) {
                kr_preset_free(preset);
                return NULL;
        }
        return preset;
}

void kr_preset_free(kr_preset_t *preset)
{
        if (!preset)
                return;
        free(preset->nodes);
        kr_policy_free(preset->policy);
        free(preset->spec);
        free(preset);
}

const char *kr_preset_type(const kr_preset_t *preset)
{
        const struct kr_preset_param *params = preset->kind->info.params;

        for (size_t i = 0; params[i].name; i++)
                if (!strcmp(params[i].name, "type"))
                        return preset->values[i].text;
        return NULL;
}

int32_t kr_preset_buckets(const kr_preset_t *preset)
{
        return preset->is_ring ? 0 : preset->bucket_cnt;
}

/* ---- placing --------------------------------------------------------------------------------------------------- */

static struct kr_placement_field *next_field(struct kr_placement *placement, const char *name)
{
        struct kr_placement_field *field = &placement->fields[placement->field_cnt++];

        field->name = name;
        return field;
}

void kr_placement_add(struct kr_placement *placement, const char *name, const char *fmt, ...)
{
        struct kr_placement_field *field = next_field(placement, name);
        va_list args;

        va_start(args, fmt);
        vsnprintf(field->text, sizeof(field->text), fmt, args);
        va_end(args);
        field->is_text = false;
}

void kr_placement_add_text(struct kr_placement *placement, const char *name, const char *text)
{
        struct kr_placement_field *field = next_field(placement, name);

        snprintf(field->text, sizeof(field->text), "%s", text);
        field->is_text = true;
}

/* The hash functions cannot refuse a key, so keys that are not what the type says are refused here. */
static bool check_type(const struct kr_preset *preset, size_t key_len, struct kr_error *err)
{
        static const struct {
                const char *type;
                size_t lens[4];
                const char *expected;
        } types[] = {
                { "number", { 1, 2, 4, 8 }, "1, 2, 4 or 8 bytes, big-endian" },
                { "double", { 8 }, "8 bytes, IEEE 754 big-endian" },
                { "uuid", { 16 }, "16 bytes" },
                { "objectid", { 12 }, "12 bytes" },
        };
        const char *type = kr_preset_type(preset);

        for (size_t t = 0; type && t < sizeof(types) / sizeof(types[0]); t++) {
                if (strcmp(types[t].type, type))
                        continue;
                for (size_t i = 0; i < 4; i++)
                        if (types[t].lens[i] && types[t].lens[i] == key_len)
                                return true;
                return kr_preset_fail(preset, err, "a key of type %s has %s; this one has %zu", type, types[t].expected,
                                      key_len);
        }
        return true;
}

bool kr_preset_place(const kr_preset_t *preset, const void *key, size_t key_len, struct kr_placement *placement,
                     struct kr_error *err)
{
        struct kr_bytes bytes = { key, key_len };
        struct kr_routing routing;

        *placement = (struct kr_placement){ .bucket = -1 };
        if (!check_type(preset, key_len, err))
                return false;
        if (preset->kind->place)
                return preset->kind->place(preset, bytes, placement, err);
        kr_rule_route(preset->rule, key, key_len, preset->bucket_cnt, &routing);
        if (kr_preset_buckets(preset))
                placement->bucket = routing.partition;
        preset->kind->print(preset, &routing, bytes, placement);
        return true;
}
