/** The compiler's own state, for its parts: compile.c (code), resolve.c (types), defaults.c (what the writer lacks). */
#ifndef KR_COMPILER_H
#define KR_COMPILER_H

#include "compile.h"
#include "names.h"

/* One wanted field: the rest of its path, and the reader's view of where we are. */
struct kr_want {
        uint32_t slot;
        const char *path;      /* "" once the field itself is reached */
        struct kr_type reader; /* without a reader's schema: the writer's own type at this place */
};

struct kr_compiler {
        struct kr_names writer_names, reader_names;
        bool has_reader;
        const struct kr_avro_projection *projection;
        struct kr_avro_plan *plan;
        size_t code_cap, take_cap;
        size_t work;      /* fields, symbols and aliases looked at: what bounds the time */
        size_t owned;     /* bytes that the plan holds beside its code */
        uint32_t reached; /* slots that can be found in some data, a bit each */
        uint32_t *calls;  /* CALL words, whose targets are written last */
        struct kr_named **callees;
        size_t call_cnt, call_cap;
        struct kr_error *err;
};

/** Sets the compiler's error. @returns false, so that callers can return it. */
bool kr_compile_fail(struct kr_compiler *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Counts cnt units of work. False with the error set once a schema has cost too much. */
bool kr_compile_work(struct kr_compiler *c, size_t cnt);

/** Counts len bytes that the plan comes to own. False with the error set when it would own too many. */
bool kr_compile_own(struct kr_compiler *c, size_t len);

/** Reads a text of at most KR_SCHEMA_TEXT_MAX bytes. NULL with the error set, which says whose it is. */
json_t *kr_schema_load(struct kr_compiler *c, const char *text, const char *whose);

/**
 * Whether Avro-C takes doc for a schema, but for the defaults of fields, of which it cannot read all. It must have been
 * through kr_names_collect().
 * @param references  what doc names types of, each before its users; or NULL
 */
bool kr_schema_judge(struct kr_compiler *c, json_t *doc, json_t *references, const char *whose);

/** As kr_names_type(), with the names of the reader's schema; without one, the writer's. */
bool kr_reader_type(struct kr_compiler *c, json_t *node, const char *space, struct kr_type *type);

/** How well a writer's named type fits a reader's: by full name (or alias), by unqualified name, or not at all. */
typedef enum { KR_NO_MATCH, KR_SHORT_MATCH, KR_FULL_MATCH } kr_name_match_t;

kr_name_match_t kr_names_match(const struct kr_type *writer, const struct kr_type *reader);

/** True for a type whose value can route: a primitive, an enum or a fixed. */
bool kr_is_leaf(kr_type_t kind);

/** Fills a take for a value of the writer's type that is wanted as the reader's. */
bool kr_resolve_take(struct kr_compiler *c, const struct kr_type *writer, const struct kr_want *want,
                     struct kr_avro_take *take);

/** The reader's number for a symbol: its own, else that of the enum's default; -1 when there is neither. */
int64_t kr_find_symbol(const struct kr_type *reader, const char *symbol);

/** Copies bytes for a plan to own; data is never NULL then, not even for an empty output. */
bool kr_set_bytes(struct kr_compiler *c, struct kr_bytes *out, const void *data, size_t len);

/** The first part of a path, and what is left of it. */
bool kr_first_part(struct kr_compiler *c, const char *path, char *part, size_t size, const char **rest);

json_t *kr_find_field(json_t *record, const char *name);

/**
 * The output where the writer lacks a field whose default in the reader's schema is `value`; out->data stays NULL when
 * that is no output (null has none as Java's serializers write). The rest of want's path leads into the default.
 */
bool kr_set_default(struct kr_compiler *c, const struct kr_want *want, json_t *value, struct kr_bytes *out);

#endif
