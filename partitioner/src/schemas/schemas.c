/* What keyroute-schemas.so gives to the core. It exports this and nothing else. */
#include "compile.h"
#include "registry.h"

__attribute__((visibility("default"))) extern const struct kr_schemas kr_schemas;

const struct kr_schemas kr_schemas = {
        .abi = KR_SCHEMAS_ABI,
        .compile = kr_schema_compile,
        .client_open = kr_client_open,
        .client_close = kr_client_close,
        .client_view = kr_client_view,
        .client_start = kr_client_start,
        .client_counts = kr_client_counts,
        .view_plan = kr_view_plan,
        .project = kr_client_project,
};
