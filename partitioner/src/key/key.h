/**
 * The first step of routing: which bytes of the key route. One row a kind; key.c has the table.
 *
 * A key use may stand over another one ("over": "payload" takes the frame off first); the chain is walked from the
 * innermost outwards. What a step cannot take apart is a defined outcome, never a guess: the record's whole key routes,
 * or the record is refused, as the policy says under "missing".
 */
#ifndef KR_KEY_H
#define KR_KEY_H

#include "../policy/canon.h"
#include "../policy/json.h"

#include <stdio.h>

/** Bytes inside the key, or inside the scratch; never owned. */
struct kr_bytes {
        const unsigned char *data; /* may be NULL when len is 0 */
        size_t len;
};

/**
 * Room for routing bytes that do not stand in the key as they are (several fields, numbers in another encoding).
 * On the stack of the routing call, so that routing allocates nothing; it also bounds what a hostile key can cost.
 */
struct kr_scratch {
        size_t used;
        unsigned char data[4096];
};

/** Adds bytes to the scratch. False when they do not fit. */
bool kr_scratch_add(struct kr_scratch *scratch, const void *data, size_t len);

struct kr_key;
struct kr_registries;

/** What a key use may need beyond its own object. */
struct kr_key_context {
        struct kr_registries *registries; /* of the policy */
        const char *topic;                /* the exact name of the rule's topic; NULL for a pattern */
};

struct kr_key_kind {
        const char *use; /* the value of key.use */
        const char *const *fields; /* beyond "use", "over" and "missing"; NULL-terminated */
        /* Reads the kind's own fields of the object `at`. NULL when there are none. */
        bool (*parse)(struct kr_key *key, const struct kr_json *at, struct kr_error *err);
        /* After parse, with what stands beside the rules: NULL for kinds that need none of it. */
        bool (*bind)(struct kr_key *key, const struct kr_json *at, const struct kr_key_context *context,
                     struct kr_error *err);
        void (*release)(struct kr_key *key);
        /* Narrows *bytes to what routes. NULL when all of it does. */
        kr_key_outcome_t (*project)(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch);
        void (*canon)(const struct kr_key *key, struct kr_canon *canon);
        /* How a key is taken apart, in lines for people. NULL: "use" says it all. */
        void (*print)(const struct kr_key *key, FILE *out);
};

struct kr_key {
        const struct kr_key_kind *kind;
        void *state;         /* the kind's own, released by it */
        struct kr_key *over; /* the step before this one, owned; or NULL */
        bool reject_missing; /* of the outermost step: refuse what cannot be taken apart */
        bool reject_unresolved; /* refuse keys whose schema is not known, instead of routing by the whole key */
        bool is_strict;         /* the same by the program's own wish, which is no part of the rule; see kr_policy_be_strict() */
};

/** Reads the object "key" of a rule; an absent one means {"use": "bytes"}. */
bool kr_key_parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err);

/** Connects a parsed key, read from the same `at`, with what it needs of the policy; see struct kr_key_context. */
bool kr_key_bind(struct kr_key *key, const struct kr_json *at, const struct kr_key_context *context,
                 struct kr_error *err);
void kr_key_release(struct kr_key *key);
void kr_key_canon(const struct kr_key *key, struct kr_canon *canon);

/** True when every byte of the key routes, so that there is nothing to project. */
static inline bool kr_key_is_whole(const struct kr_key *key)
{
        return !key->kind->project && !key->over;
}

/**
 * Narrows *bytes (the whole key) to the bytes that route, or leaves it as it is when the outcome is KR_KEY_MISSING or
 * KR_KEY_UNRESOLVED. Allocates nothing unless the kind says so.
 */
kr_key_outcome_t kr_key_project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch);

/** @returns whether a key of this outcome is refused; else it routes. */
bool kr_key_refuses(const struct kr_key *key, kr_key_outcome_t outcome);

/** Prints how keys of one schema of a registry are taken apart by a key use of kind avro. Asks the registry. */
bool kr_key_avro_print_schema(const struct kr_key *key, const char *which, FILE *out, struct kr_error *err);

extern const struct kr_key_kind kr_key_avro;
extern const struct kr_key_kind kr_key_field;
extern const struct kr_key_kind kr_key_json;
extern const struct kr_key_kind kr_key_tag;
extern const struct kr_key_kind kr_key_payload;
extern const struct kr_key_kind kr_key_windowed;

#endif
