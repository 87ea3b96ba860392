/** From an Avro schema's text to the flat program that takes fields out of its data. */
#ifndef KR_COMPILE_H
#define KR_COMPILE_H

#include "../key/schemas.h"

enum {
        KR_SCHEMA_TEXT_MAX = 1 << 20,  /* bytes of a schema with its references */
        KR_SCHEMA_NESTING_MAX = 64,    /* types within types, as written */
        KR_SCHEMA_CODE_MAX = 1 << 20,  /* words of a plan */
        KR_SCHEMA_OWNED_MAX = 1 << 24  /* bytes of what a plan holds beside its words: outputs made beforehand */
};

/**
 * Compiles; see struct kr_schemas. Avro-C judges whether the text is a schema; what it does not keep (aliases,
 * defaults, enum defaults) is read from the text itself. Fields are resolved against the reader's schema as the Avro
 * specification's "Schema Resolution" says.
 *
 * A wanted field is a primitive, an enum, a fixed, or a union of these; its path leads through records and through
 * unions that hold one. Time and memory are bounded by the limits above.
 */
struct kr_avro_plan *kr_schema_compile(const char *writer, const char *const *references, size_t reference_cnt,
                                       const struct kr_avro_projection *projection, struct kr_error *err);

#endif
