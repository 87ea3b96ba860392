/* What keyroute-schemas.so gives to the core. It exports this and nothing else. */
#include "compile.h"

__attribute__((visibility("default"))) extern const struct kr_schemas kr_schemas;

const struct kr_schemas kr_schemas = {
        .abi = KR_SCHEMAS_ABI,
        .compile = kr_schema_compile,
};
