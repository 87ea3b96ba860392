/*
 * Schemas are other people's texts. Input: one byte (odd: as Java writes, else as Avro does), the writer's schema, NUL,
 * the reader's (none when empty), NUL, the path of a field, NUL, a key. Whatever they are: a refusal with a text, or a
 * plan that walks the key within its bytes. Now and then both schemas are made anew, so that they fit each other.
 */
#include "schemas/compile.h"

#include "schema_pairs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static void check_plan(const struct kr_avro_plan *plan, const uint8_t *data, size_t len)
{
        unsigned char *copy = malloc(len ? len : 1); /* alone, so that one byte too many is seen */
        struct kr_scratch scratch = { .used = 0 };
        struct kr_bytes key = { copy, len };
        kr_key_outcome_t outcome;

        if (!copy)
                abort();
        memcpy(copy, data, len);
        outcome = kr_avro_plan_project(plan, &key, &scratch);
        if (outcome == KR_KEY_MISSING ? key.data != copy || key.len != len
                                      : outcome != KR_KEY_PROJECTED || key.len > len + sizeof(scratch.data))
                abort();
        free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *texts[3];
        const uint8_t *at = data + 1, *end = data + size;
        struct kr_avro_projection projection = { &texts[2], 0, KR_AVRO_AS_AVRO, NULL };
        struct kr_avro_plan *plan;
        struct kr_error err = { "" };

        if (!size)
                return 0;
        for (int i = 0; i < 3; i++) {
                const uint8_t *stop = memchr(at, 0, (size_t)(end - at));

                if (!stop)
                        return 0;
                texts[i] = (const char *)at;
                at = stop + 1;
        }
        projection.form = data[0] & 1 ? KR_AVRO_AS_JAVA : KR_AVRO_AS_AVRO;
        projection.reader = *texts[1] ? texts[1] : NULL;
        projection.path_cnt = *texts[2] != '\0';
        plan = kr_schema_compile(texts[0], NULL, 0, &projection, &err);
        if (!plan && !err.text[0])
                abort();
        if (plan)
                check_plan(plan, at, (size_t)(end - at));
        kr_avro_plan_free(plan);
        return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
        static struct schema_pair pair;
        uint64_t random = seed;
        int len;

        if (pair_random(&random) % 4)
                return LLVMFuzzerMutate(data, size, max_size);
        pair_make(&pair, pair_random(&random));
        len = snprintf((char *)data, max_size, "%c%s%c%s%c%s%c%08llx", '0' + seed % 2, pair.writer.data, 0,
                       pair_random(&random) % 4 ? pair.reader.data : "", 0,
                       pair.path_cnt ? pair.paths[pair_random(&random) % pair.path_cnt] : "", 0,
                       (unsigned long long)pair_random(&random));
        size = len < (int)max_size ? (size_t)len : max_size;
        return pair_random(&random) % 4 ? LLVMFuzzerMutate(data, size, max_size) : size;
}
