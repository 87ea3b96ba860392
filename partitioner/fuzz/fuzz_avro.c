/*
 * Keys and schemas are other people's bytes. Input: a schema's text, NUL, a path, NUL, a key. Whatever they are: a
 * refusal with a text, or a plan whose outcome is projected or missing, twice the same, within the scratch.
 */
#include "schemas/compile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plan(const struct kr_avro_plan *plan, const unsigned char *key, size_t len)
{
        struct kr_scratch a = { .used = 0 }, b = { .used = 0 };
        struct kr_bytes first = { key, len }, second = { key, len };
        kr_key_outcome_t outcome = kr_avro_plan_project(plan, &first, &a);

        if (outcome != KR_KEY_PROJECTED && outcome != KR_KEY_MISSING)
                abort();
        if (outcome != kr_avro_plan_project(plan, &second, &b) || first.len != second.len ||
            (first.len && memcmp(first.data, second.data, first.len)))
                abort();
        if (outcome == KR_KEY_PROJECTED && first.len > len + sizeof(a.data))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *schema_end = memchr(data, 0, size);
        const uint8_t *path_end = schema_end ? memchr(schema_end + 1, 0, size - (size_t)(schema_end + 1 - data)) : NULL;
        const char *path = schema_end ? (const char *)schema_end + 1 : NULL;
        struct kr_avro_projection projection = { &path, 1, KR_AVRO_AS_AVRO, NULL };

        if (!path_end)
                return 0;
        projection.path_cnt = *path != '\0';
        for (int form = KR_AVRO_AS_JAVA; form <= KR_AVRO_AS_AVRO; form++) {
                struct kr_error err = { "" };
                struct kr_avro_plan *plan;

                projection.form = (kr_avro_form_t)form;
                plan = kr_schema_compile((const char *)data, NULL, 0, &projection, &err);
                if (!plan && !err.text[0])
                        abort();
                if (plan)
                        check_plan(plan, path_end + 1, size - (size_t)(path_end + 1 - data));
                kr_avro_plan_free(plan);
        }
        return 0;
}
