/**
 * The schema registries that a policy names under "schemas", read strictly, and the client that asks them, which is made
 * when the first rule wants one. A secret is never part of this: only where it stands, so that none can be printed.
 */
#ifndef KR_REGISTRIES_H
#define KR_REGISTRIES_H

#include "../policy/json.h"

enum {
        KR_REGISTRY_MAX = 16,      /* registries of a policy */
        KR_REGISTRY_URL_MAX = 8,   /* base URLs of one */
        KR_SECRET_SIZE = 8192      /* bytes of a secret with its NUL; bearer tokens are long */
};

/** Where a secret stands: exactly one of these is not NULL. `text` is for user names, which are none. */
struct kr_secret {
        char *text, *env, *file;
};

typedef enum { KR_AUTH_NONE, KR_AUTH_BASIC, KR_AUTH_BEARER } kr_auth_t;

struct kr_registry_conf {
        char *name;
        char **urls; /* without a slash at the end, in the order in which they are tried */
        size_t url_cnt;
        kr_auth_t auth;
        struct kr_secret user;   /* BASIC */
        struct kr_secret secret; /* its password, or the bearer token */
        char *ca;                /* file of the certificates to trust, or NULL: the system's */
        int64_t timeout_ms;      /* of one request */
        int64_t wait_ms;         /* that the first record of a schema waits at most */
        int64_t retries;         /* quick ones, with a doubling pause */
        int64_t negative_ttl_ms; /* how long a failure is believed */
};

struct kr_schemas_conf {
        struct kr_registry_conf *registries;
        size_t registry_cnt;
        int64_t cache_cnt; /* schemas that are kept, over all registries */
};

struct kr_schemas;
struct kr_schema_client;

/** Of a policy. All zero: none. */
struct kr_registries {
        struct kr_schemas_conf conf;
        const struct kr_schemas *schemas; /* NULL until the client is made */
        struct kr_schema_client *client;
};

/** Reads the object "schemas" of a policy; its value may be absent. On failure what was read is still to be released. */
bool kr_registries_parse(struct kr_registries *registries, const struct kr_json *at, struct kr_error *err);

/** Ends the client, waiting for its threads, and frees. */
void kr_registries_release(struct kr_registries *registries);

/**
 * Reads a secret into out, of KR_SECRET_SIZE bytes; the line end behind a file's first line is not part of it.
 * False with *err, which names the place and never what stands there.
 */
bool kr_secret_read(const struct kr_secret *secret, char *out, struct kr_error *err);

#endif
