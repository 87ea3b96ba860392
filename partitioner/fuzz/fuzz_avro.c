/*
 * Avro keys are other people's bytes. Input: which of many plans, made once of random pairs of schemas (two bytes), then
 * a key. Whatever it is: projected within the key or the scratch, or missing; twice the same; and what routes as Java
 * writes it does so as Avro does. Half of the keys begin as data of the plan's own schema.
 */
#include "schemas/compile.h"

#include "schema_pairs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { PLAN_CNT = 2048, HEAD = 2, DATUM_STEPS_MAX = 400 };

/* By the same fields of the same schemas, in both forms. */
static struct {
        struct kr_avro_plan *java; /* NULL when several fields route */
        struct kr_avro_plan *avro;
} plans[PLAN_CNT];

static struct kr_avro_plan *compile(const struct schema_pair *pair, size_t first, size_t cnt, kr_avro_form_t form, bool reader)
{
        const char *paths[3];
        struct kr_avro_projection projection = { paths, cnt, form, reader ? pair->reader.data : NULL };
        struct kr_error err;

        for (size_t i = 0; i < cnt; i++)
                paths[i] = pair->paths[(first + i * 5) % pair->path_cnt];
        return kr_schema_compile(pair->writer.data, NULL, 0, &projection, &err);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
        static struct schema_pair pair;
        size_t cnt = 0, tried = 0;

        (void)argc;
        (void)argv;
        for (; cnt < PLAN_CNT; tried++) {
                size_t wanted = 1 + tried % 4 / 2;

                pair_make(&pair, tried);
                if (!pair.path_cnt)
                        continue;
                plans[cnt].avro = compile(&pair, tried % pair.path_cnt, wanted, KR_AVRO_AS_AVRO, tried % 8);
                if (wanted == 1)
                        plans[cnt].java = compile(&pair, tried % pair.path_cnt, wanted, KR_AVRO_AS_JAVA, tried % 8);
                if (wanted == 1 && !plans[cnt].java != !plans[cnt].avro)
                        abort();
                cnt += plans[cnt].avro != NULL;
        }
        fprintf(stderr, "%zu plans of %zu pairs of schemas\n", cnt, tried);
        return 0;
}

static kr_key_outcome_t project(const struct kr_avro_plan *plan, struct kr_bytes key)
{
        struct kr_scratch a = { .used = 0 }, b = { .used = 0 };
        struct kr_bytes first = key, second = key;
        kr_key_outcome_t outcome = kr_avro_plan_project(plan, &first, &a);

        if (outcome != KR_KEY_PROJECTED && outcome != KR_KEY_MISSING)
                abort();
        if (outcome != kr_avro_plan_project(plan, &second, &b) || first.len != second.len ||
            (first.len && memcmp(first.data, second.data, first.len)))
                abort();
        if (outcome == KR_KEY_MISSING ? first.data != key.data || first.len != key.len
                                      : first.len && !(first.data >= key.data && first.data + first.len <= key.data + key.len) &&
                                                !(first.data >= a.data && first.data + first.len <= a.data + sizeof(a.data)))
                abort();
        return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct kr_bytes key;
        unsigned char *copy;
        size_t which;

        if (size < HEAD)
                return 0;
        which = (data[0] | (size_t)data[1] << 8) % PLAN_CNT;
        key.len = size - HEAD;
        copy = malloc(key.len ? key.len : 1); /* alone, so that one byte too many is seen */
        if (!copy)
                abort();
        memcpy(copy, data + HEAD, key.len);
        key.data = copy;
        /* A view into the key has no limit, a copy has the scratch's. */
        if (project(plans[which].avro, key) == KR_KEY_MISSING && plans[which].java && key.len < 4096 - 16 &&
            project(plans[which].java, key) == KR_KEY_PROJECTED)
                abort();
        free(copy);
        return 0;
}

/* ---- keys that begin as data of their schema ------------------------------------------------------------------ */

struct datum {
        uint8_t *at, *end;
        uint64_t state;
};

static void put(struct datum *out, const void *data, size_t len)
{
        if (len <= (size_t)(out->end - out->at)) {
                memcpy(out->at, data, len);
                out->at += len;
        }
}

static void put_long(struct datum *out, int64_t value)
{
        unsigned char varint[10];

        put(out, varint, kr_avro_write_long(value, varint));
}

static void put_random(struct datum *out, size_t len)
{
        for (; len && out->at < out->end; len--)
                *out->at++ = (uint8_t)pair_random(&out->state);
}

static int64_t small(struct datum *out, unsigned limit)
{
        return (int64_t)(pair_random(&out->state) % limit);
}

static void put_taken(struct datum *out, const struct kr_avro_take *take)
{
        if (take->literal.data)
                return;
        switch (take->writer) {
        case KR_AVRO_NULL:
                return;
        case KR_AVRO_BOOLEAN:
                put_long(out, -small(out, 2));
                return;
        case KR_AVRO_INT:
                put_long(out, (int32_t)pair_random(&out->state) >> small(out, 32));
                return;
        case KR_AVRO_LONG:
                put_long(out, (int64_t)pair_random(&out->state) >> small(out, 64));
                return;
        case KR_AVRO_ENUM:
                put_long(out, small(out, (unsigned)take->symbol_cnt));
                return;
        case KR_AVRO_FLOAT:
                put_random(out, 4);
                return;
        case KR_AVRO_DOUBLE:
                put_random(out, 8);
                return;
        case KR_AVRO_BYTES:
        case KR_AVRO_STRING: {
                int64_t len = small(out, 24);

                put_long(out, len);
                put_random(out, (size_t)len);
                return;
        }
        case KR_AVRO_FIXED:
                put_random(out, take->size);
        }
}

/* Goes through the plan as a walk does, and writes where it would read. */
static void put_datum(struct datum *out, const struct kr_avro_plan *plan)
{
        struct {
                uint32_t back, body;
                int64_t left;
        } stack[KR_AVRO_DEPTH_MAX + 2];
        size_t depth = 0;
        uint32_t pc = 0;

        for (int steps = 0; steps < DATUM_STEPS_MAX; steps++) {
                struct kr_avro_code code = plan->code[pc++];
                int64_t value;

                switch ((kr_avro_op_t)code.op) {
                case KR_AVRO_OP_DONE:
                        return;
                case KR_AVRO_OP_VARINT:
                        put_long(out, small(out, 2));
                        break;
                case KR_AVRO_OP_SKIP:
                        put_random(out, code.arg < 64 ? code.arg : 64);
                        break;
                case KR_AVRO_OP_BYTES:
                        value = small(out, 5);
                        put_long(out, value);
                        put_random(out, (size_t)value);
                        break;
                case KR_AVRO_OP_UNION:
                        value = depth > 8 ? 0 : small(out, code.arg);
                        put_long(out, value);
                        pc = plan->code[pc + (uint32_t)value].arg;
                        break;
                case KR_AVRO_OP_JUMP:
                        pc = code.arg;
                        break;
                case KR_AVRO_OP_ITEMS:
                        value = depth > 8 ? 0 : small(out, 4);
                        put_long(out, value);
                        if (!value)
                                pc = code.arg;
                        else if (depth < KR_AVRO_DEPTH_MAX)
                                stack[depth].back = code.arg, stack[depth].body = pc, stack[depth++].left = value;
                        else
                                return;
                        break;
                case KR_AVRO_OP_NEXT:
                        if (--stack[depth - 1].left) {
                                pc = stack[depth - 1].body;
                                break;
                        }
                        if (!small(out, 3)) { /* another block, passed over by its size */
                                value = small(out, 4);
                                put_long(out, -1 - small(out, 9));
                                put_long(out, value);
                                put_random(out, (size_t)value);
                        }
                        put_long(out, 0);
                        pc = stack[--depth].back;
                        break;
                case KR_AVRO_OP_NOTHING:
                        put_long(out, small(out, 1000));
                        put_long(out, 0);
                        break;
                case KR_AVRO_OP_CALL:
                        if (depth == KR_AVRO_DEPTH_MAX)
                                return;
                        stack[depth++].back = pc;
                        pc = code.arg;
                        break;
                case KR_AVRO_OP_RETURN:
                        pc = stack[--depth].back;
                        break;
                case KR_AVRO_OP_TAKE:
                        put_taken(out, &plan->takes[code.arg]);
                        break;
                }
        }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
        uint64_t random = seed;
        struct datum out = { data + HEAD, data + max_size, seed };

        if (pair_random(&random) % 2 || max_size < 64)
                return LLVMFuzzerMutate(data, size, max_size);
        data[0] = (uint8_t)pair_random(&random);
        data[1] = (uint8_t)pair_random(&random);
        put_datum(&out, plans[(data[0] | (size_t)data[1] << 8) % PLAN_CNT].avro);
        size = (size_t)(out.at - data);
        return pair_random(&random) % 4 ? LLVMFuzzerMutate(data, size, max_size) : size;
}
