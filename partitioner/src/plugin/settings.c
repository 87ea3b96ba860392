#include "settings.h"

#include "map/map.h"
#include "policy/json.h"
#include "policy/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOPIC_LEN_MAX 249 /* Kafka's own limit */

static bool fail(struct kr_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct kr_error *err, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
        return false;
}

/* Puts the name of the setting before the text that says what is wrong with its value. */
static bool fail_in(struct kr_error *err, const char *setting)
{
        struct kr_error inner = *err;

        return fail(err, "%s: %.450s", setting, inner.text);
}

/* ---- the table of properties -------------------------------------------------------------------------------- */

struct property {
        const char *name;
        const char *environment; /* the variable that stands in for it, or NULL */
        bool (*set)(struct kr_settings *settings, const char *value, struct kr_error *err);
};

static bool set_policy(struct kr_settings *settings, const char *value, struct kr_error *err);
static bool set_hash(struct kr_settings *settings, const char *value, struct kr_error *err);
static bool set_forced(struct kr_settings *settings, const char *value, struct kr_error *err);
static bool set_witness(struct kr_settings *settings, const char *value, struct kr_error *err);

/* docs/plugin.md explains each; a test compares. */
static const struct property properties[] = {
        { "keyroute.policy", "KEYROUTE_POLICY", set_policy },
        { "keyroute.hash", "KEYROUTE_HASH", set_hash },
        { "keyroute.topics.force", NULL, set_forced },
        { "keyroute.witness", "KEYROUTE_WITNESS", set_witness },
};

enum { POLICY, HASH, FORCED, WITNESS, PROPERTY_CNT = sizeof(properties) / sizeof(properties[0]) };

/* ---- librdkafka's own partitioners -------------------------------------------------------------------------- */

static const struct kr_builtin builtins[] = {
        { "random", NULL, false },
        { "consistent", "crc32", true },
        { "consistent_random", "crc32", false },
        { "murmur2", "murmur2", true },
        { "murmur2_random", "murmur2", false },
        { "fnv1a", "fnv1a-abs", true },
        { "fnv1a_random", "fnv1a-abs", false },
};

const struct kr_builtin *kr_builtin_find(const char *name)
{
        for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
                if (!strcmp(builtins[i].name, name))
                        return &builtins[i];
        return NULL;
}

bool kr_builtin_agrees(const struct kr_builtin *builtin, const kr_policy_t *policy, struct kr_error *err)
{
        const kr_rule_t *rule;

        for (size_t i = 0; (rule = kr_policy_rule_at(policy, i)); i++)
                if (!kr_key_is_whole(&rule->key) || rule->map.kind != &kr_map_modulo || !builtin->hash ||
                    strcmp(builtin->hash, rule->hash->name))
                        return fail(
                                err,
                                "partitioner=%s contradicts the policy's rule for topic \"%s\" (%s): leave partitioner "
                                "out, or change the rule",
                                builtin->name, rule->topic, kr_rule_describe(rule));
        return true;
}

/* ---- where the policy comes from ---------------------------------------------------------------------------- */

static void choice_release(struct kr_policy_choice *choice)
{
        free(choice->file);
        free(choice->hash);
        kr_policy_free(choice->policy);
        memset(choice, 0, sizeof(*choice));
}

static bool choice_made(const struct kr_policy_choice *choice)
{
        return choice->file || choice->hash || choice->problem.text[0];
}

static const struct kr_policy_choice *choice_in_force(const struct kr_settings *settings)
{
        return choice_made(&settings->properties) ? &settings->properties : &settings->environment;
}

static bool forced_agree(const struct kr_settings *settings, const kr_policy_t *policy, struct kr_error *err)
{
        for (size_t i = 0; i < settings->forced_cnt; i++)
                if (!kr_policy_rule(policy, settings->forced[i]))
                        return fail(err, "%s names the topic \"%s\", for which the policy has no rule",
                                    properties[FORCED].name, settings->forced[i]);
        return true;
}

static kr_policy_t *policy_of_hash(const char *hash, struct kr_error *err)
{
        const char *names[64];
        const char *closest;
        size_t cnt = 0;

        if (kr_hash_find(hash))
                return kr_policy_from_hash(hash, err);
        for (const kr_hash_t *at; cnt < sizeof(names) / sizeof(names[0]) && (at = kr_hash_at(cnt)); cnt++)
                names[cnt] = kr_hash_name(at);
        closest = kr_closest(hash, names, cnt);
        if (closest)
                fail(err, "no hash \"%.60s\"; did you mean \"%s\"?", hash, closest);
        else
                fail(err, "no hash \"%.60s\"; for Java's rule write \"murmur2\", docs/policy.md lists the others",
                     hash);
        return NULL;
}

/* Makes *choice anew from a file or a hash. False with *err, and *choice remembering it, when that does not work. */
static bool choose(const struct kr_settings *settings, struct kr_policy_choice *choice, const char *file,
                   const char *hash, const char *file_setting, const char *hash_setting, struct kr_error *err)
{
        struct kr_policy_choice next = { .file = file ? strdup(file) : NULL, .hash = hash ? strdup(hash) : NULL };

        if ((file && !next.file) || (hash && !next.hash)) {
                fail(err, "%s: out of memory", file ? file_setting : hash_setting);
                goto failed;
        }
        if (file && hash) {
                fail(err, "%s and %s are both set, but only one can rule: leave one out", file_setting, hash_setting);
                goto failed;
        }
        if (file || hash) {
                next.policy = file ? kr_policy_load(file, err) : policy_of_hash(hash, err);
                if (!next.policy || !forced_agree(settings, next.policy, err) ||
                    (settings->builtin && !kr_builtin_agrees(settings->builtin, next.policy, err))) {
                        fail_in(err, file ? file_setting : hash_setting);
                        goto failed;
                }
        }
        choice_release(choice);
        *choice = next;
        return true;
failed:
        choice_release(&next);
        choice->problem = *err;
        return false;
}

static bool set_policy(struct kr_settings *settings, const char *value, struct kr_error *err)
{
        return choose(settings, &settings->properties, value, settings->properties.hash, properties[POLICY].name,
                      properties[HASH].name, err);
}

static bool set_hash(struct kr_settings *settings, const char *value, struct kr_error *err)
{
        return choose(settings, &settings->properties, settings->properties.file, value, properties[POLICY].name,
                      properties[HASH].name, err);
}

static const char *environment_value(const char *name)
{
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

/* Leaves *is_witness as it is when there is no value. */
static bool read_witness(bool *is_witness, const char *value, const char *setting, struct kr_error *err)
{
        if (value && strcmp(value, "warn") && strcmp(value, "off"))
                return fail(err, "%s: expected warn or off, not \"%.60s\"", setting, value);
        if (value)
                *is_witness = !strcmp(value, "warn");
        return true;
}

bool kr_settings_init(struct kr_settings *settings, struct kr_error *err)
{
        const char *file_variable = properties[POLICY].environment, *hash_variable = properties[HASH].environment;

        memset(settings, 0, sizeof(*settings));
        settings->is_witness_in_environment = true;
        return choose(settings, &settings->environment, environment_value(file_variable),
                      environment_value(hash_variable), file_variable, hash_variable, err) &&
               read_witness(&settings->is_witness_in_environment, environment_value(properties[WITNESS].environment),
                            properties[WITNESS].environment, err);
}

const kr_policy_t *kr_settings_policy(const struct kr_settings *settings, struct kr_error *err)
{
        const struct kr_policy_choice *choice = choice_in_force(settings);

        if (choice->problem.text[0])
                *err = choice->problem;
        else if (!choice->policy)
                fail(err,
                     "no policy is set; set %s=FILE or %s=NAME after plugin.library.paths, or %s in the environment",
                     properties[POLICY].name, properties[HASH].name, properties[POLICY].environment);
        return choice->problem.text[0] ? NULL : choice->policy;
}

void kr_settings_source(const struct kr_settings *settings, char *buf, size_t size)
{
        const struct kr_policy_choice *choice = choice_in_force(settings);
        const struct property *property = &properties[choice->file ? POLICY : HASH];

        snprintf(buf, size, "%s=%s", choice == &settings->properties ? property->name : property->environment,
                 choice->file   ? choice->file
                 : choice->hash ? choice->hash
                                : "");
}

/* ---- the other properties ----------------------------------------------------------------------------------- */

static void forced_release(char **topics, size_t cnt)
{
        for (size_t i = 0; i < cnt; i++)
                free(topics[i]);
        free(topics);
}

/* Adds the topic name in value[0 .. len). */
static bool forced_add(char ***topics, size_t *cnt, const char *value, size_t len, struct kr_error *err)
{
        static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        char **grown;

        while (len && *value == ' ')
                value++, len--;
        while (len && value[len - 1] == ' ')
                len--;
        if (!len || len > TOPIC_LEN_MAX || strspn(value, chars) < len)
                return fail(err, "%s: \"%.*s\" is no topic name; expected names separated by commas",
                            properties[FORCED].name, (int)(len > TOPIC_LEN_MAX ? TOPIC_LEN_MAX : len), value);
        grown = realloc(*topics, (*cnt + 1) * sizeof(**topics));
        if (grown) {
                *topics = grown;
                grown[*cnt] = strndup(value, len);
        }
        if (!grown || !grown[*cnt])
                return fail(err, "%s: out of memory", properties[FORCED].name);
        (*cnt)++;
        return true;
}

static bool set_forced(struct kr_settings *settings, const char *value, struct kr_error *err)
{
        const kr_policy_t *policy = choice_in_force(settings)->policy;
        struct kr_settings next = { 0 };
        bool ok = true;

        while (ok && value) {
                size_t len = strcspn(value, ",");

                ok = forced_add(&next.forced, &next.forced_cnt, value, len, err);
                value = value[len] ? value + len + 1 : NULL;
        }
        ok = ok && (!policy || forced_agree(&next, policy, err));
        if (!ok) {
                forced_release(next.forced, next.forced_cnt);
                return false;
        }
        forced_release(settings->forced, settings->forced_cnt);
        settings->forced = next.forced;
        settings->forced_cnt = next.forced_cnt;
        return true;
}

bool kr_settings_forces(const struct kr_settings *settings, const char *topic)
{
        for (size_t i = 0; i < settings->forced_cnt; i++)
                if (!strcmp(settings->forced[i], topic))
                        return true;
        return false;
}

static bool set_witness(struct kr_settings *settings, const char *value, struct kr_error *err)
{
        value = value && *value ? value : NULL;
        if (!read_witness(&settings->is_witness, value, properties[WITNESS].name, err))
                return false;
        settings->is_witness_set = value;
        return true;
}

bool kr_settings_witness(const struct kr_settings *settings)
{
        return settings->is_witness_set ? settings->is_witness : settings->is_witness_in_environment;
}

bool kr_settings_partitioner(struct kr_settings *settings, const char *value, struct kr_error *err)
{
        const struct kr_builtin *builtin = value ? kr_builtin_find(value) : NULL;
        const kr_policy_t *policy = choice_in_force(settings)->policy;

        if (!builtin)
                return true;
        if (policy && !kr_builtin_agrees(builtin, policy, err))
                return false;
        settings->builtin = builtin;
        return true;
}

kr_set_t kr_settings_set(struct kr_settings *settings, const char *name, const char *value, struct kr_error *err)
{
        static const char prefix[] = "keyroute.";
        const char *names[PROPERTY_CNT];
        const char *closest;

        if (strncmp(name, prefix, sizeof(prefix) - 1))
                return KR_SET_UNKNOWN;
        for (size_t i = 0; i < PROPERTY_CNT; i++) {
                if (!strcmp(name, properties[i].name))
                        return properties[i].set(settings, value, err) ? KR_SET_OK : KR_SET_INVALID;
                names[i] = properties[i].name;
        }
        closest = kr_closest(name, names, PROPERTY_CNT);
        if (closest) {
                fail(err, "no property \"%.60s\"; did you mean \"%s\"?", name, closest);
        } else {
                int used = snprintf(err->text, sizeof(err->text), "no property \"%.60s\"; expected one of:", name);

                for (size_t i = 0; i < PROPERTY_CNT; i++)
                        used += snprintf(err->text + used, sizeof(err->text) - (size_t)used, "%s %s", i ? "," : "",
                                         names[i]);
        }
        return KR_SET_INVALID;
}

void kr_settings_release(struct kr_settings *settings)
{
        choice_release(&settings->properties);
        choice_release(&settings->environment);
        forced_release(settings->forced, settings->forced_cnt);
        memset(settings, 0, sizeof(*settings));
}
