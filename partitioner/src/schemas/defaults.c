/* The routing bytes of a field that the writer lacks: its default in the reader's schema, made once. */
#include "compiler.h"

#include <string.h>

struct output {
        unsigned char data[1024];
        size_t len;
};

static bool put(struct kr_compiler *c, struct output *out, const void *data, size_t len)
{
        if (len > sizeof(out->data) - out->len)
                return kr_compile_fail(c, "a field's default is longer than %zu bytes", sizeof(out->data));
        memcpy(out->data + out->len, data, len);
        out->len += len;
        return true;
}

static bool put_number(struct kr_compiler *c, struct output *out, uint64_t bits, size_t len)
{
        bool java = c->plan->form == KR_AVRO_AS_JAVA;
        unsigned char bytes[8];

        for (size_t i = 0; i < len; i++)
                bytes[i] = (unsigned char)(bits >> 8 * (java ? len - 1 - i : i));
        return put(c, out, bytes, len);
}

/* A default of bytes or fixed is text whose characters U+0000 to U+00FF stand for bytes. */
static bool put_latin1(struct kr_compiler *c, struct output *out, const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                unsigned char byte = (unsigned char)text[i];

                if (byte >= 0xc2 && byte <= 0xc3 && i + 1 < len)
                        byte = (unsigned char)(byte << 6 | ((unsigned char)text[++i] & 0x3f));
                else if (byte >= 0x80)
                        return kr_compile_fail(c, "a default of bytes holds a character beyond U+00FF");
                if (!put(c, out, &byte, 1))
                        return false;
        }
        return true;
}

static bool put_default(struct kr_compiler *c, struct output *out, const struct kr_type *type, json_t *value);

/* Whether a branch of a union may have this default. */
static bool fits(const struct kr_type *type, const json_t *value)
{
        switch (type->kind) {
        case KR_T_NULL:
                return json_is_null(value);
        case KR_T_BOOLEAN:
                return json_is_boolean(value);
        case KR_T_INT:
                return json_is_integer(value) && json_integer_value(value) >= INT32_MIN &&
                       json_integer_value(value) <= INT32_MAX;
        case KR_T_LONG:
                return json_is_integer(value);
        case KR_T_FLOAT:
        case KR_T_DOUBLE:
                return json_is_number(value);
        case KR_T_ENUM:
                return json_is_string(value) && kr_find_symbol(type, json_string_value(value)) >= 0;
        case KR_T_BYTES:
        case KR_T_STRING:
        case KR_T_FIXED:
                return json_is_string(value);
        case KR_T_RECORD:
        case KR_T_MAP:
                return json_is_object(value);
        case KR_T_ARRAY:
                return json_is_array(value);
        case KR_T_UNION:
                return false;
        }
        return false;
}

/*
 * The branch of a union that its default is of. Avro 1.11 ties it to the first, 1.12 to the first that it fits; these
 * agree wherever the older rule was kept.
 */
static bool find_branch(struct kr_compiler *c, const struct kr_type *type, json_t *value, struct kr_type *branch,
                        size_t *number)
{
        for (*number = 0; *number < json_array_size(type->node); ++*number) {
                if (!kr_reader_type(c, json_array_get(type->node, *number), type->space, branch))
                        return false;
                if (fits(branch, value))
                        return true;
        }
        return kr_compile_fail(c, "a field's default fits no branch of its union");
}

static bool put_union_default(struct kr_compiler *c, struct output *out, const struct kr_type *type, json_t *value)
{
        struct kr_type branch;
        unsigned char varint[10];
        size_t number;

        return find_branch(c, type, value, &branch, &number) &&
               (c->plan->form == KR_AVRO_AS_JAVA ||
                put(c, out, varint, kr_avro_write_long((int64_t)number, varint))) &&
               put_default(c, out, &branch, value);
}

static bool put_default(struct kr_compiler *c, struct output *out, const struct kr_type *type, json_t *value)
{
        bool java = c->plan->form == KR_AVRO_AS_JAVA;
        unsigned char varint[10];
        uint64_t bits = 0;
        double real = json_number_value(value);
        float single = (float)real;

        switch (type->kind) {
        case KR_T_NULL:
                return json_is_null(value) || kr_compile_fail(c, "a field's default does not fit its type");
        case KR_T_BOOLEAN:
                varint[0] = json_is_true(value);
                return json_is_boolean(value) ? put(c, out, varint, 1) : kr_compile_fail(c, "a field's default is no boolean");
        case KR_T_INT:
        case KR_T_LONG:
                if (!fits(type, value))
                        return kr_compile_fail(c, "a field's default is no whole number of its type");
                if (java)
                        return put_number(c, out, (uint64_t)json_integer_value(value), type->kind == KR_T_INT ? 4 : 8);
                return put(c, out, varint, kr_avro_write_long(json_integer_value(value), varint));
        case KR_T_FLOAT:
                memcpy(&bits, &single, sizeof(single));
                return json_is_number(value) ? put_number(c, out, bits, 4) : kr_compile_fail(c, "a field's default is no number");
        case KR_T_DOUBLE:
                memcpy(&bits, &real, sizeof(real));
                return json_is_number(value) ? put_number(c, out, bits, 8) : kr_compile_fail(c, "a field's default is no number");
        case KR_T_STRING:
                if (!json_is_string(value))
                        return kr_compile_fail(c, "a field's default is no text");
                return (java || put(c, out, varint, kr_avro_write_long((int64_t)json_string_length(value), varint))) &&
                       put(c, out, json_string_value(value), json_string_length(value));
        case KR_T_BYTES:
        case KR_T_FIXED: {
                struct output bytes = { .len = 0 };

                if (!json_is_string(value) ||
                    !put_latin1(c, &bytes, json_string_value(value), json_string_length(value)))
                        return json_is_string(value) ? false : kr_compile_fail(c, "a field's default is no text");
                return (java || type->kind == KR_T_FIXED ||
                        put(c, out, varint, kr_avro_write_long((int64_t)bytes.len, varint))) &&
                       put(c, out, bytes.data, bytes.len);
        }
        case KR_T_ENUM: {
                int64_t number = json_is_string(value) ? kr_find_symbol(type, json_string_value(value)) : -1;
                json_t *symbol = json_array_get(json_object_get(type->node, "symbols"), (size_t)number);

                if (number < 0)
                        return kr_compile_fail(c, "a field's default is none of its enum's symbols");
                return java ? put(c, out, json_string_value(symbol), json_string_length(symbol))
                            : put(c, out, varint, kr_avro_write_long(number, varint));
        }
        case KR_T_UNION:
                return put_union_default(c, out, type, value);
        default:
                return kr_compile_fail(c, "a wanted field is no plain value");
        }
}

/*
 * One step of a path into a default: what it leaves out has the default of its own field. *value becomes NULL where a
 * record is null, which has no fields.
 */
static bool step_into(struct kr_compiler *c, struct kr_type *type, json_t **value, const char **path)
{
        struct kr_type whole = *type;
        json_t *field;
        size_t number;
        char name[256];

        if (!kr_first_part(c, *path, name, sizeof(name), path) ||
            (whole.kind == KR_T_UNION && !find_branch(c, &whole, *value, type, &number)))
                return false;
        if (type->kind == KR_T_NULL) {
                *value = NULL;
                return true;
        }
        field = type->kind == KR_T_RECORD ? kr_find_field(type->node, name) : NULL;
        if (!field)
                return kr_compile_fail(c, "the reader's default holds no field \"%s\"", name);
        *value = json_object_get(*value, name);
        if (!*value)
                *value = json_object_get(field, "default");
        if (!*value)
                return kr_compile_fail(c, "the reader's default leaves out \"%s\", which has none of its own", name);
        return kr_reader_type(c, json_object_get(field, "type"), type->space, type);
}

bool kr_set_default(struct kr_compiler *c, const struct kr_want *want, json_t *value, struct kr_bytes *out)
{
        struct kr_type type = want->reader;
        struct output output = { .len = 0 };
        const char *path = want->path;

        while (*path && value)
                if (!step_into(c, &type, &value, &path))
                        return false;
        if (!value || (c->plan->form == KR_AVRO_AS_JAVA && json_is_null(value)))
                return true;
        return put_default(c, &output, &type, value) && kr_set_bytes(c, out, output.data, output.len);
}
