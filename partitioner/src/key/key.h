/** The first step of routing: which bytes of the key route. One row a kind; key.c has the table. */
#ifndef KR_KEY_H
#define KR_KEY_H

#include "../policy/canon.h"
#include "../policy/json.h"

/** Bytes inside the key, or inside a buffer of the caller; never owned. */
struct kr_bytes {
        const unsigned char *data; /* may be NULL when len is 0 */
        size_t len;
};

struct kr_key;

struct kr_key_kind {
        const char *use; /* the value of key.use */
        const char *const *fields;
        /* Reads the kind's own fields of the object `at`. NULL when there are none. */
        bool (*parse)(struct kr_key *key, const struct kr_json *at, struct kr_error *err);
        void (*release)(struct kr_key *key);
        /* Narrows *bytes to what routes. 0, or a KR_ERR_ value. NULL when the whole key routes. */
        int32_t (*project)(const struct kr_key *key, struct kr_bytes *bytes);
        void (*canon)(const struct kr_key *key, struct kr_canon *canon);
};

struct kr_key {
        const struct kr_key_kind *kind;
        void *state; /* the kind's own, released by it */
};

/** Reads the object "key" of a rule; an absent one means {"use": "bytes"}. */
bool kr_key_parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err);
void kr_key_release(struct kr_key *key);
void kr_key_canon(const struct kr_key *key, struct kr_canon *canon);

#endif
