/** The named types of a schema text: records, enums and fixeds by their full names. */
#ifndef KR_NAMES_H
#define KR_NAMES_H

#include "../policy/json.h"

/** One kind of Avro type. The first eight are the primitives, in the order of kr_schema_type()'s table. */
typedef enum {
        KR_T_NULL,
        KR_T_BOOLEAN,
        KR_T_INT,
        KR_T_LONG,
        KR_T_FLOAT,
        KR_T_DOUBLE,
        KR_T_BYTES,
        KR_T_STRING,
        KR_T_RECORD,
        KR_T_ENUM,
        KR_T_FIXED,
        KR_T_ARRAY,
        KR_T_MAP,
        KR_T_UNION
} kr_type_t;

/** Whether a record's data has any bytes; found out when it is first asked. */
typedef enum { KR_EMPTINESS_UNKNOWN, KR_NOT_EMPTY, KR_EMPTY } kr_emptiness_t;

struct kr_named {
        json_t *node;       /* the definition, borrowed from its document */
        const char *full;   /* namespace.name, owned by the table */
        const char *space;  /* its namespace, "" for none; owned by the table */
        uint32_t pc;        /* for the compiler: where its skipping code stands; UINT32_MAX: nowhere yet */
        kr_emptiness_t emptiness; /* for the compiler, of a record */
};

struct kr_names {
        json_t *index;      /* full name -> number in `named` */
        struct kr_named *named;
        size_t cnt;
        json_t *texts;      /* keeps the strings */
};

/** A type where it is used: a definition or a reference already followed, with the namespace that holds inside. */
struct kr_type {
        kr_type_t kind;
        json_t *node;           /* the object or array; for a primitive whatever named it */
        struct kr_named *named; /* of a record, enum or fixed */
        const char *space;
};

bool kr_names_init(struct kr_names *names, struct kr_error *err);
void kr_names_release(struct kr_names *names);

/** Enters every named type below node. Calls must precede kr_names_type() on anything that uses them. */
bool kr_names_collect(struct kr_names *names, json_t *node, const char *space, int depth, struct kr_error *err);

/** Follows a type as written (a name, an object or an array). False with *err for what Avro does not know. */
bool kr_names_type(const struct kr_names *names, json_t *node, const char *space, struct kr_type *type,
                   struct kr_error *err);

/** The part of a full name behind its last dot. */
const char *kr_unqualified(const char *full);

#endif
