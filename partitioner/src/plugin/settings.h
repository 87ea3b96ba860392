/**
 * The plugin's own properties (keyroute.*) and what they say together. Knows nothing of librdkafka.
 *
 * Everything is checked when it is set, policy files included, because only then can a client's creation fail with a
 * text that its user reads. A setting that failed is remembered: a program that ignores the failure gets no routing
 * by chance, but no routing at all.
 */
#ifndef KR_SETTINGS_H
#define KR_SETTINGS_H

#include "keyroute.h"

/** One of librdkafka's own partitioners, by its name in the property `partitioner`. */
struct kr_builtin {
        const char *name;
        const char *hash; /* the hash function it is for keys with bytes, modulo the count; NULL for none */
        bool hashes_null; /* hashes a NULL key too, so librdkafka keeps it from being sticky */
};

/** Where a policy is named: by properties, or in the environment. */
struct kr_policy_choice {
        char *file;
        char *hash;
        kr_policy_t *policy;     /* what file or hash mean; NULL when neither is set, or problem is */
        struct kr_error problem; /* why the last attempt failed; empty when it did not */
};

struct kr_settings {
        struct kr_policy_choice properties;
        struct kr_policy_choice environment; /* counts when the properties name none */
        char **forced;                       /* topics whose handles are made first */
        size_t forced_cnt;
        bool is_witness_set;              /* keyroute.witness is set: is_witness counts, not the environment's */
        bool is_witness, is_witness_in_environment;
        const struct kr_builtin *builtin; /* the user's own `partitioner`; NULL when none was seen */
};

typedef enum {
        KR_SET_OK,
        KR_SET_INVALID, /* *err says which property and why; nothing was changed */
        KR_SET_UNKNOWN  /* not a property of ours */
} kr_set_t;

/** Reads KEYROUTE_POLICY, KEYROUTE_HASH and KEYROUTE_WITNESS into empty settings. False with *err. */
bool kr_settings_init(struct kr_settings *settings, struct kr_error *err);
void kr_settings_release(struct kr_settings *settings);

/** Sets one property; value NULL takes it back. */
kr_set_t kr_settings_set(struct kr_settings *settings, const char *name, const char *value, struct kr_error *err);

/**
 * Takes note of the user's own `partitioner`. It stays in force for topics that the policy does not name; where it
 * contradicts a rule of the policy, that is an error. NULL and names that librdkafka does not have change nothing: it
 * refuses them itself.
 */
bool kr_settings_partitioner(struct kr_settings *settings, const char *value, struct kr_error *err);

/** @returns the policy that counts, or NULL with *err saying why there is none and what to do. */
const kr_policy_t *kr_settings_policy(const struct kr_settings *settings, struct kr_error *err);

/** @returns whether records are to be watched (witness.h). */
bool kr_settings_witness(const struct kr_settings *settings);

/** @returns whether keyroute.topics.force names the topic. */
bool kr_settings_forces(const struct kr_settings *settings, const char *topic);

/** Writes what named the policy, for logs, such as "keyroute.policy=orders.json". */
void kr_settings_source(const struct kr_settings *settings, char *buf, size_t size);

/** @returns librdkafka's partitioner of that name, or NULL. */
const struct kr_builtin *kr_builtin_find(const char *name);

/**
 * False, with *err naming both sides, when the partitioner sends keys of a topic in the policy elsewhere than its rule.
 * Only a rule that hashes the whole key by the same function, modulo the count, is the same.
 */
bool kr_builtin_agrees(const struct kr_builtin *builtin, const kr_policy_t *policy, struct kr_error *err);

#endif
