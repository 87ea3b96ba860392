/**
 * The boundary between the core and keyroute-schemas.so, which holds what must not be loaded into every producer:
 * Avro-C (parses schemas), libcurl (asks registries). The core opens it, with RTLD_LOCAL, when a policy names schemas
 * and never otherwise; it is found beside the object that the core is part of, in ../lib of it, or where the
 * environment's KEYROUTE_SCHEMAS points.
 */
#ifndef KR_SCHEMAS_H
#define KR_SCHEMAS_H

#include "avro_plan.h"
#include "frame.h"
#include "registries.h"

#define KR_SCHEMAS_ABI 3u
#define KR_SCHEMAS_SYMBOL "kr_schemas"

/** What a policy wants of Avro keys. Borrowed for the call. */
struct kr_avro_projection {
        const char *const *paths; /* "id", "customer.id"; none: the datum itself */
        size_t path_cnt;
        kr_avro_form_t form;
        const char *reader;       /* the reader's schema as JSON text, or NULL: the writer's own */
};

/** What one rule wants of a registry. Borrowed for the call. */
struct kr_schema_view_conf {
        size_t registry;      /* its place in the configuration */
        bool framed;          /* the key's frame says which schema wrote it */
        size_t id_len;        /* of a frame: 4 or 8 bytes */
        const char *subject;  /* whose schema writes keys without a frame; or NULL: there are none */
        const char *version;  /* of that subject: "latest" or a number */
        const char *topic;    /* an exact name, whose subject is read ahead; or NULL */
        struct kr_avro_projection projection;
};

/** The registries of one policy, with their cache of plans and the threads that ask. */
struct kr_schema_client;

/** A rule's way into it; lives as long as its client. */
struct kr_schema_view;

/** What a client has done so far. */
struct kr_schema_counts {
        uint64_t requests;   /* HTTP requests */
        uint64_t waits;      /* records that waited for an answer */
        uint64_t timeouts;   /* of these, in vain */
        uint64_t failures;   /* answers that were none, and missing ones */
        uint64_t resolved;   /* schemas that became plans, again after an eviction too */
        uint64_t evictions;
        uint64_t lies;       /* answers with another schema than before, for an id that had one */
        uint64_t plans;      /* now in the cache */
        uint64_t entries;    /* now known, bad ones and evicted ones among them */
};

struct kr_schemas {
        uint32_t abi; /* KR_SCHEMAS_ABI */

        /**
         * A plan for data of this writer's schema; the caller's to kr_avro_plan_free(). NULL with *err.
         * @param references  the texts of schemas that it names types of, each before its users
         */
        struct kr_avro_plan *(*compile)(const char *writer, const char *const *references, size_t reference_cnt,
                                        const struct kr_avro_projection *projection, struct kr_error *err);

        /** @param conf  borrowed as long as the client lives. Asks nobody yet. NULL with *err when memory is out. */
        struct kr_schema_client *(*client_open)(const struct kr_schemas_conf *conf, struct kr_error *err);

        /** Waits for the client's threads; requests under way are given up. No record may be routed meanwhile. */
        void (*client_close)(struct kr_schema_client *client);

        /** Before the first record. NULL with *err; a reader's schema that lacks a wanted field is found here. */
        struct kr_schema_view *(*client_view)(struct kr_schema_client *client, const struct kr_schema_view_conf *conf,
                                              struct kr_error *err);

        /** Reads ahead what the views name; log lines go to `log` from now on, earlier ones first. See kr_policy_start(). */
        void (*client_start)(struct kr_schema_client *client, kr_log_fn *log, void *opaque);

        void (*client_counts)(struct kr_schema_client *client, struct kr_schema_counts *counts);

        /**
         * For people: asks for one schema in this thread and now, whatever is known of it.
         * @param which  an id, such as "7", or a GUID
         * @returns its plan, the caller's to kr_avro_plan_free(); or NULL with *err
         */
        struct kr_avro_plan *(*view_plan)(struct kr_schema_view *view, const char *which, struct kr_error *err);

        /**
         * Narrows *bytes, a key as its producer wrote it, to its routing bytes.
         *
         * A schema that is in the cache costs no lock and no allocation. A new one costs the thread that meets it, and
         * those with the same schema, one wait of at most the registry's wait_ms; none when the registry is known not
         * to answer. Other records do not wait.
         * @returns KR_KEY_PROJECTED; KR_KEY_MISSING for keys that are not what the schema says, or lack a field;
         *          KR_KEY_UNRESOLVED when the schema could not be had. Any thread may call.
         */
        kr_key_outcome_t (*project)(struct kr_schema_view *view, struct kr_bytes *bytes, struct kr_scratch *scratch);
};

/** @returns the functions, opened once a process; or NULL with *err saying where it was looked for. Thread-safe. */
const struct kr_schemas *kr_schemas_open(struct kr_error *err);

#endif
