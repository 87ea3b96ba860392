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

#define KR_SCHEMAS_ABI 1u
#define KR_SCHEMAS_SYMBOL "kr_schemas"

/** What a policy wants of Avro keys. Borrowed for the call. */
struct kr_avro_projection {
        const char *const *paths; /* "id", "customer.id"; none: the datum itself */
        size_t path_cnt;
        kr_avro_form_t form;
        const char *reader;       /* the reader's schema as JSON text, or NULL: the writer's own */
};

/** A registry that a policy names, with its cache of plans for one projection. */
struct kr_registry;

struct kr_schemas {
        uint32_t abi; /* KR_SCHEMAS_ABI */

        /**
         * A plan for data of this writer's schema; the caller's to kr_avro_plan_free(). NULL with *err.
         * @param references  the texts of schemas that it names types of, each before its users
         */
        struct kr_avro_plan *(*compile)(const char *writer, const char *const *references, size_t reference_cnt,
                                        const struct kr_avro_projection *projection, struct kr_error *err);

        /**
         * Starts a client from its JSON configuration (docs/policy.md, "registries"). Reads ahead in the background.
         * NULL with *err for a bad configuration; an unreachable registry is not one.
         */
        struct kr_registry *(*registry_open)(const char *config, size_t config_len, const char *folder,
                                             const struct kr_avro_projection *projection, struct kr_error *err);
        void (*registry_close)(struct kr_registry *registry);

        /**
         * The plan for a frame's schema. A hit takes no lock. A new id costs one bounded wait (of one thread; others
         * with the same id wait with it), an id known to be bad none.
         * @returns a plan to be given back with registry_release(), or NULL: unresolved for now.
         */
        const struct kr_avro_plan *(*registry_plan)(struct kr_registry *registry, const struct kr_frame *frame);
        void (*registry_release)(struct kr_registry *registry, const struct kr_avro_plan *plan);
};

/** @returns the functions, opened once a process; or NULL with *err saying where it was looked for. Thread-safe. */
const struct kr_schemas *kr_schemas_open(struct kr_error *err);

#endif
