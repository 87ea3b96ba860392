#include "compile.h"

#include "names.h"

#include <avro.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_PART_MAX = 16 };

/* One wanted field: the rest of its path, and the reader's view of where we are. */
struct want {
        uint32_t slot;
        const char *path;          /* "" once the field itself is reached */
        struct kr_type reader;     /* without a reader's schema: the writer's own type at this place */
};

struct compiler {
        struct kr_names writer_names, reader_names;
        bool has_reader;
        const struct kr_avro_projection *projection;
        struct kr_avro_plan *plan;
        size_t code_cap, take_cap;
        uint32_t *calls;            /* CALL words, whose targets are written last */
        struct kr_named **callees;
        size_t call_cnt, call_cap;
        struct kr_error *err;
};

static bool fail(struct compiler *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct compiler *c, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(c->err->text, sizeof(c->err->text), fmt, args);
        va_end(args);
        return false;
}

/* ---- code ------------------------------------------------------------------------------------------------------ */

static bool emit(struct compiler *c, kr_avro_op_t op, uint32_t arg)
{
        struct kr_avro_plan *plan = c->plan;

        if (plan->code_cnt == KR_SCHEMA_CODE_MAX)
                return fail(c, "the schema is too large: its plan would have more than %d steps", KR_SCHEMA_CODE_MAX);
        if (plan->code_cnt == c->code_cap) {
                size_t cap = c->code_cap ? 2 * c->code_cap : 64;
                struct kr_avro_code *grown = realloc(plan->code, cap * sizeof(*grown));

                if (!grown)
                        return fail(c, "out of memory for a plan");
                plan->code = grown;
                c->code_cap = cap;
        }
        plan->code[plan->code_cnt++] = (struct kr_avro_code){ op, arg };
        return true;
}

static uint32_t here(const struct compiler *c)
{
        return (uint32_t)c->plan->code_cnt;
}

static bool names_type(struct compiler *c, json_t *node, const char *space, struct kr_type *type)
{
        return kr_names_type(&c->writer_names, node, space, type, c->err);
}

/* Data of such a type has no bytes at all, so that any number of items costs nothing. */
static bool takes_no_bytes(struct compiler *c, const struct kr_type *type, int depth)
{
        struct kr_type field;
        size_t i;
        json_t *element;

        switch (type->kind) {
        case KR_T_NULL:
                return true;
        case KR_T_FIXED:
                return json_integer_value(json_object_get(type->node, "size")) == 0;
        case KR_T_RECORD:
                if (depth > KR_SCHEMA_NESTING_MAX)
                        return false; /* contains itself */
                json_array_foreach(json_object_get(type->node, "fields"), i, element)
                        if (!names_type(c, json_object_get(element, "type"), type->space, &field) ||
                            !takes_no_bytes(c, &field, depth + 1))
                                return false;
                return true;
        default:
                return false;
        }
}

static bool emit_skip(struct compiler *c, const struct kr_type *type);

static bool emit_call(struct compiler *c, struct kr_named *record)
{
        if (c->call_cnt == c->call_cap) {
                size_t cap = c->call_cap ? 2 * c->call_cap : 16;
                uint32_t *calls = realloc(c->calls, cap * sizeof(*calls));
                struct kr_named **callees;

                if (calls)
                        c->calls = calls;
                callees = realloc(c->callees, cap * sizeof(*callees));
                if (callees)
                        c->callees = callees;
                if (!calls || !callees)
                        return fail(c, "out of memory for a plan");
                c->call_cap = cap;
        }
        c->calls[c->call_cnt] = here(c);
        c->callees[c->call_cnt++] = record;
        return emit(c, KR_AVRO_OP_CALL, 0);
}

/* Neighbouring pieces of fixed length become one step. No jump leads behind a SKIP, so none can miss its part. */
static bool emit_skip_len(struct compiler *c, uint64_t len)
{
        struct kr_avro_code *last = c->plan->code_cnt ? &c->plan->code[c->plan->code_cnt - 1] : NULL;

        if (last && last->op == KR_AVRO_OP_SKIP && last->arg + len <= UINT32_MAX) {
                last->arg += (uint32_t)len;
                return true;
        }
        return emit(c, KR_AVRO_OP_SKIP, (uint32_t)len);
}

static bool emit_blocks(struct compiler *c, const struct kr_type *type)
{
        bool is_map = type->kind == KR_T_MAP;
        uint32_t items = here(c);
        struct kr_type item;

        if (!names_type(c, json_object_get(type->node, is_map ? "values" : "items"), type->space, &item))
                return false;
        if (!is_map && takes_no_bytes(c, &item, 0))
                return emit(c, KR_AVRO_OP_NOTHING, 0);
        if (!emit(c, KR_AVRO_OP_ITEMS, 0) || (is_map && !emit(c, KR_AVRO_OP_BYTES, 0)) || !emit_skip(c, &item) ||
            !emit(c, KR_AVRO_OP_NEXT, 0))
                return false;
        c->plan->code[items].arg = here(c);
        return true;
}

/* Emits UNION and its targets, then each branch by `branch`, then the jumps that bring them together. */
static bool emit_union(struct compiler *c, const struct kr_type *type,
                       bool (*branch)(struct compiler *, const struct kr_type *, void *), void *opaque)
{
        size_t cnt = json_array_size(type->node);
        uint32_t at = here(c);

        if (!emit(c, KR_AVRO_OP_UNION, (uint32_t)cnt))
                return false;
        for (size_t i = 0; i < cnt; i++)
                if (!emit(c, KR_AVRO_OP_JUMP, 0))
                        return false;
        for (size_t i = 0; i < cnt; i++) {
                struct kr_type member;

                c->plan->code[at + 1 + i].arg = here(c);
                /* The last word before a branch's end is its jump; where that leads is not known before all stand. */
                if (!names_type(c, json_array_get(type->node, i), type->space, &member) ||
                    !branch(c, &member, opaque) || !emit(c, KR_AVRO_OP_JUMP, 0))
                        return false;
        }
        for (size_t i = 0; i < cnt; i++) {
                uint32_t end = i + 1 < cnt ? c->plan->code[at + 2 + i].arg : here(c);

                c->plan->code[end - 1].arg = here(c);
        }
        return true;
}

static bool skip_branch(struct compiler *c, const struct kr_type *type, void *opaque)
{
        (void)opaque;
        return emit_skip(c, type);
}

static bool emit_skip(struct compiler *c, const struct kr_type *type)
{
        switch (type->kind) {
        case KR_T_NULL:
                return true;
        case KR_T_BOOLEAN:
                return emit_skip_len(c, 1);
        case KR_T_FLOAT:
                return emit_skip_len(c, 4);
        case KR_T_DOUBLE:
                return emit_skip_len(c, 8);
        case KR_T_FIXED:
                return emit_skip_len(c, (uint64_t)json_integer_value(json_object_get(type->node, "size")));
        case KR_T_INT:
        case KR_T_LONG:
        case KR_T_ENUM:
                return emit(c, KR_AVRO_OP_VARINT, 0);
        case KR_T_BYTES:
        case KR_T_STRING:
                return emit(c, KR_AVRO_OP_BYTES, 0);
        case KR_T_RECORD:
                return emit_call(c, type->named);
        case KR_T_ARRAY:
        case KR_T_MAP:
                return emit_blocks(c, type);
        case KR_T_UNION:
                return emit_union(c, type, skip_branch, NULL);
        }
        return false;
}

/* Writes the skipping code of every record that is called; that may call for more. */
static bool emit_called(struct compiler *c)
{
        for (size_t done = 0; done < c->call_cnt; done++) {
                struct kr_named *record = c->callees[done];
                size_t i;
                json_t *field;

                if (record->pc == UINT32_MAX) {
                        record->pc = here(c);
                        json_array_foreach(json_object_get(record->node, "fields"), i, field)
                        {
                                struct kr_type type;

                                if (!names_type(c, json_object_get(field, "type"), record->space, &type) ||
                                    !emit_skip(c, &type))
                                        return false;
                        }
                        if (!emit(c, KR_AVRO_OP_RETURN, 0))
                                return false;
                }
                c->plan->code[c->calls[done]].arg = record->pc;
        }
        return true;
}

/* ---- resolution ------------------------------------------------------------------------------------------------ */

static kr_avro_type_t leaf_type(kr_type_t kind)
{
        switch (kind) {
        case KR_T_BOOLEAN:
                return KR_AVRO_BOOLEAN;
        case KR_T_INT:
                return KR_AVRO_INT;
        case KR_T_LONG:
                return KR_AVRO_LONG;
        case KR_T_FLOAT:
                return KR_AVRO_FLOAT;
        case KR_T_DOUBLE:
                return KR_AVRO_DOUBLE;
        case KR_T_BYTES:
                return KR_AVRO_BYTES;
        case KR_T_STRING:
                return KR_AVRO_STRING;
        case KR_T_FIXED:
                return KR_AVRO_FIXED;
        case KR_T_ENUM:
                return KR_AVRO_ENUM;
        default:
                return KR_AVRO_NULL;
        }
}

static bool is_leaf(kr_type_t kind)
{
        return kind != KR_T_RECORD && kind != KR_T_ARRAY && kind != KR_T_MAP && kind != KR_T_UNION;
}

static bool names_match(const struct kr_type *writer, const struct kr_type *reader)
{
        json_t *aliases = json_object_get(reader->node, "aliases"), *alias;
        const char *name = kr_unqualified(writer->named->full);
        size_t i;

        if (!strcmp(name, kr_unqualified(reader->named->full)))
                return true;
        json_array_foreach(aliases, i, alias)
                if (json_is_string(alias) && !strcmp(name, kr_unqualified(json_string_value(alias))))
                        return true;
        return false;
}

/* The same type: what needs no promotion. */
static bool is_same(const struct kr_type *writer, const struct kr_type *reader)
{
        if (writer->kind != reader->kind)
                return false;
        if (writer->kind == KR_T_FIXED)
                return names_match(writer, reader) && json_integer_value(json_object_get(writer->node, "size")) ==
                                                              json_integer_value(json_object_get(reader->node, "size"));
        return writer->kind != KR_T_ENUM || names_match(writer, reader);
}

static bool is_promotable(kr_type_t writer, kr_type_t reader)
{
        switch (writer) {
        case KR_T_INT:
                return reader == KR_T_LONG || reader == KR_T_FLOAT || reader == KR_T_DOUBLE;
        case KR_T_LONG:
                return reader == KR_T_FLOAT || reader == KR_T_DOUBLE;
        case KR_T_FLOAT:
                return reader == KR_T_DOUBLE;
        case KR_T_STRING:
                return reader == KR_T_BYTES;
        case KR_T_BYTES:
                return reader == KR_T_STRING;
        default:
                return false;
        }
}

static const struct kr_names *reader_names(const struct compiler *c)
{
        return c->has_reader ? &c->reader_names : &c->writer_names;
}

static bool reader_type(struct compiler *c, json_t *node, const char *space, struct kr_type *type)
{
        return kr_names_type(reader_names(c), node, space, type, c->err);
}

/*
 * The reader's branch for a value of the writer's type: the first that is the same, else the first that it promotes to.
 * Outside a union the type itself. *branch is -1 outside a union. False when the reader cannot hold it.
 */
static bool resolve(struct compiler *c, const struct kr_type *writer, const struct kr_type *reader,
                    struct kr_type *resolved, int64_t *branch)
{
        size_t cnt = json_array_size(reader->node);

        *branch = -1;
        *resolved = *reader;
        if (reader->kind != KR_T_UNION)
                return is_same(writer, reader) || is_promotable(writer->kind, reader->kind);
        for (int promoting = 0; promoting < 2; promoting++)
                for (size_t i = 0; i < cnt; i++) {
                        if (!reader_type(c, json_array_get(reader->node, i), reader->space, resolved))
                                return false;
                        if (promoting ? is_promotable(writer->kind, resolved->kind) : is_same(writer, resolved)) {
                                *branch = (int64_t)i;
                                return true;
                        }
                }
        return false;
}

static bool set_bytes(struct compiler *c, struct kr_bytes *out, const void *data, size_t len)
{
        unsigned char *copy = malloc(len + 1); /* never NULL for an empty output: NULL means none */

        if (!copy)
                return fail(c, "out of memory for a plan");
        if (len)
                memcpy(copy, data, len);
        *out = (struct kr_bytes){ copy, len };
        return true;
}

/* The reader's number for a symbol: its own, else that of the enum's default; -1 when there is neither. */
static int64_t find_symbol(const struct kr_type *reader, const char *symbol)
{
        json_t *symbols = json_object_get(reader->node, "symbols"), *candidate;
        const char *fallback = json_string_value(json_object_get(reader->node, "default"));
        size_t i;

        json_array_foreach(symbols, i, candidate)
                if (json_is_string(candidate) && !strcmp(json_string_value(candidate), symbol))
                        return (int64_t)i;
        return fallback && strcmp(fallback, symbol) ? find_symbol(reader, fallback) : -1;
}

static bool set_symbols(struct compiler *c, struct kr_avro_take *take, const struct kr_type *writer,
                        const struct kr_type *reader)
{
        json_t *symbols = json_object_get(writer->node, "symbols"), *symbol;
        json_t *readers = json_object_get(reader->node, "symbols");
        size_t i;

        take->symbols = calloc(json_array_size(symbols) + 1, sizeof(*take->symbols));
        if (!take->symbols)
                return fail(c, "out of memory for a plan");
        take->symbol_cnt = json_array_size(symbols);
        json_array_foreach(symbols, i, symbol)
        {
                int64_t number = json_is_string(symbol) ? find_symbol(reader, json_string_value(symbol)) : -1;
                json_t *text = number < 0 ? NULL : json_array_get(readers, (size_t)number);
                unsigned char varint[10];

                if (number < 0)
                        continue;
                if (c->plan->form == KR_AVRO_AS_JAVA
                            ? !set_bytes(c, &take->symbols[i], json_string_value(text), json_string_length(text))
                            : !set_bytes(c, &take->symbols[i], varint, kr_avro_write_long(number, varint)))
                        return false;
        }
        return true;
}

static bool emit_take(struct compiler *c, const struct kr_type *writer, const struct want *want)
{
        struct kr_avro_plan *plan = c->plan;
        struct kr_avro_take *take;
        struct kr_type resolved;
        int64_t branch;

        if (plan->take_cnt == c->take_cap) {
                size_t cap = c->take_cap ? 2 * c->take_cap : 8;
                struct kr_avro_take *grown = realloc(plan->takes, cap * sizeof(*grown));

                if (!grown)
                        return fail(c, "out of memory for a plan");
                plan->takes = grown;
                c->take_cap = cap;
        }
        take = &plan->takes[plan->take_cnt];
        *take = (struct kr_avro_take){ .slot = want->slot, .writer = leaf_type(writer->kind) };
        plan->take_cnt++;
        if (!resolve(c, writer, &want->reader, &resolved, &branch)) {
                take->unresolvable = true;
        } else {
                take->reader = leaf_type(resolved.kind);
                if (branch >= 0) {
                        unsigned char varint[10];

                        take->prefix_len = kr_avro_write_long(branch, varint);
                        memcpy(take->prefix, varint, take->prefix_len);
                }
                if (writer->kind == KR_T_FIXED)
                        take->size = (uint32_t)json_integer_value(json_object_get(writer->node, "size"));
                if (writer->kind == KR_T_ENUM && !set_symbols(c, take, writer, &resolved))
                        return false;
        }
        return emit(c, KR_AVRO_OP_TAKE, (uint32_t)(plan->take_cnt - 1));
}

/* ---- defaults -------------------------------------------------------------------------------------------------- */

struct output {
        unsigned char data[1024];
        size_t len;
};

static bool put(struct compiler *c, struct output *out, const void *data, size_t len)
{
        if (len > sizeof(out->data) - out->len)
                return fail(c, "a field's default is longer than %zu bytes", sizeof(out->data));
        memcpy(out->data + out->len, data, len);
        out->len += len;
        return true;
}

static bool put_number(struct compiler *c, struct output *out, uint64_t bits, size_t len)
{
        bool java = c->plan->form == KR_AVRO_AS_JAVA;
        unsigned char bytes[8];

        for (size_t i = 0; i < len; i++)
                bytes[i] = (unsigned char)(bits >> 8 * (java ? len - 1 - i : i));
        return put(c, out, bytes, len);
}

/* A default of bytes or fixed is text whose characters U+0000 to U+00FF stand for bytes. */
static bool put_latin1(struct compiler *c, struct output *out, const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                unsigned char byte = (unsigned char)text[i];

                if (byte >= 0xc2 && byte <= 0xc3 && i + 1 < len)
                        byte = (unsigned char)(byte << 6 | ((unsigned char)text[++i] & 0x3f));
                else if (byte >= 0x80)
                        return fail(c, "a default of bytes holds a character beyond U+00FF");
                if (!put(c, out, &byte, 1))
                        return false;
        }
        return true;
}

static bool put_default(struct compiler *c, struct output *out, const struct kr_type *type, json_t *value);

static bool put_union_default(struct compiler *c, struct output *out, const struct kr_type *type, json_t *value)
{
        struct kr_type first;
        unsigned char zero = 0;

        /* The specification ties a union's default to its first branch. */
        return reader_type(c, json_array_get(type->node, 0), type->space, &first) &&
               (c->plan->form == KR_AVRO_AS_JAVA || put(c, out, &zero, 1)) && put_default(c, out, &first, value);
}

static bool put_default(struct compiler *c, struct output *out, const struct kr_type *type, json_t *value)
{
        bool java = c->plan->form == KR_AVRO_AS_JAVA;
        unsigned char varint[10];
        uint64_t bits = 0;
        double real = json_number_value(value);
        float single = (float)real;

        switch (type->kind) {
        case KR_T_NULL:
                return json_is_null(value) || fail(c, "a field's default does not fit its type");
        case KR_T_BOOLEAN:
                varint[0] = json_is_true(value);
                return json_is_boolean(value) ? put(c, out, varint, 1) : fail(c, "a field's default is no boolean");
        case KR_T_INT:
        case KR_T_LONG:
                if (!json_is_integer(value))
                        return fail(c, "a field's default is no whole number");
                if (java)
                        return put_number(c, out, (uint64_t)json_integer_value(value), type->kind == KR_T_INT ? 4 : 8);
                return put(c, out, varint, kr_avro_write_long(json_integer_value(value), varint));
        case KR_T_FLOAT:
                memcpy(&bits, &single, sizeof(single));
                return json_is_number(value) ? put_number(c, out, bits, 4) : fail(c, "a field's default is no number");
        case KR_T_DOUBLE:
                memcpy(&bits, &real, sizeof(real));
                return json_is_number(value) ? put_number(c, out, bits, 8) : fail(c, "a field's default is no number");
        case KR_T_STRING:
                if (!json_is_string(value))
                        return fail(c, "a field's default is no text");
                return (java || put(c, out, varint, kr_avro_write_long((int64_t)json_string_length(value), varint))) &&
                       put(c, out, json_string_value(value), json_string_length(value));
        case KR_T_BYTES:
        case KR_T_FIXED: {
                struct output bytes = { .len = 0 };

                if (!json_is_string(value) ||
                    !put_latin1(c, &bytes, json_string_value(value), json_string_length(value)))
                        return json_is_string(value) ? false : fail(c, "a field's default is no text");
                return (java || type->kind == KR_T_FIXED ||
                        put(c, out, varint, kr_avro_write_long((int64_t)bytes.len, varint))) &&
                       put(c, out, bytes.data, bytes.len);
        }
        case KR_T_ENUM: {
                int64_t number = json_is_string(value) ? find_symbol(type, json_string_value(value)) : -1;
                json_t *symbol = json_array_get(json_object_get(type->node, "symbols"), (size_t)number);

                if (number < 0)
                        return fail(c, "a field's default is none of its enum's symbols");
                return java ? put(c, out, json_string_value(symbol), json_string_length(symbol))
                            : put(c, out, varint, kr_avro_write_long(number, varint));
        }
        case KR_T_UNION:
                return put_union_default(c, out, type, value);
        default:
                return fail(c, "a wanted field is no plain value");
        }
}

/* The output where the writer lacks the field. Java's serializers write no null, so a null default is none there. */
static bool set_default(struct compiler *c, const struct want *want, json_t *value)
{
        struct output out = { .len = 0 };

        if (c->plan->form == KR_AVRO_AS_JAVA && json_is_null(value))
                return true;
        return put_default(c, &out, &want->reader, value) &&
               set_bytes(c, &c->plan->literals[want->slot], out.data, out.len);
}

/* ---- records on the path ---------------------------------------------------------------------------------------- */

/* Splits "customer.id" into its first part and the rest. */
static bool first_part(struct compiler *c, const char *path, char *part, size_t size, const char **rest)
{
        size_t len = strcspn(path, ".");

        if (!len || len >= size || (path[len] && !path[len + 1]))
                return fail(c, "\"%.100s\" is no path of a field; expected names with dots between them", path);
        memcpy(part, path, len);
        part[len] = '\0';
        *rest = path[len] ? path + len + 1 : "";
        return true;
}

static json_t *find_field(json_t *record, const char *name)
{
        json_t *field, *fields = json_object_get(record, "fields");
        const char *candidate;
        size_t i;

        json_array_foreach(fields, i, field) {
                candidate = json_string_value(json_object_get(field, "name"));
                if (candidate && !strcmp(candidate, name))
                        return field;
        }
        return NULL;
}

static bool has_alias(json_t *field, const char *name)
{
        json_t *aliases = json_object_get(field, "aliases"), *alias;
        size_t i;

        json_array_foreach(aliases, i, alias)
                if (json_is_string(alias) && !strcmp(json_string_value(alias), name))
                        return true;
        return false;
}

static json_t *find_by_alias(json_t *record, const char *name)
{
        json_t *field, *fields = json_object_get(record, "fields");
        size_t i;

        json_array_foreach(fields, i, field)
                if (has_alias(field, name))
                        return field;
        return NULL;
}

/*
 * The writer's field for the reader's: of its name, else of one of its aliases. Without a reader's schema the policy's
 * path stands for it, and the writer's own aliases tell what a field was called before.
 */
static json_t *find_writer_field(struct compiler *c, json_t *record, const char *name, json_t *reader_field)
{
        json_t *field = find_field(record, name), *aliases, *alias;
        size_t i;

        if (field)
                return field;
        if (!c->has_reader)
                return find_by_alias(record, name);
        aliases = json_object_get(reader_field, "aliases");
        json_array_foreach(aliases, i, alias)
                if (json_is_string(alias) && (field = find_field(record, json_string_value(alias))))
                        return field;
        return NULL;
}

/* Through a nullable record: the record itself. */
static bool reader_record(struct compiler *c, struct kr_type *type)
{
        struct kr_type member;

        if (type->kind == KR_T_UNION)
                for (size_t i = 0; i < json_array_size(type->node); i++) {
                        if (!reader_type(c, json_array_get(type->node, i), type->space, &member))
                                return false;
                        if (member.kind == KR_T_RECORD) {
                                *type = member;
                                return true;
                        }
                }
        return true;
}

struct step {
        const struct want *wants;
        size_t want_cnt;
        int depth;
        bool outermost;
};

static bool emit_path(struct compiler *c, const struct kr_type *type, const struct step *step);

static bool path_branch(struct compiler *c, const struct kr_type *type, void *opaque)
{
        const struct step *step = opaque;

        /* A branch that is no record cannot hold the rest of the path: there the field is missing. */
        if (*step->wants[0].path && type->kind != KR_T_RECORD)
                return emit_skip(c, type);
        return emit_path(c, type, step);
}

/* One wanted field steps down into this record: *inner is what is left of it, *field the writer's field or NULL. */
static bool descend(struct compiler *c, const struct kr_type *record, const struct want *want, struct want *inner,
                    json_t **field)
{
        struct kr_type reader = want->reader;
        json_t *reader_field = NULL;
        char name[256];

        if (!first_part(c, want->path, name, sizeof(name), &inner->path) || !reader_record(c, &reader))
                return false;
        inner->slot = want->slot;
        if (c->has_reader) {
                if (reader.kind != KR_T_RECORD)
                        return fail(c, "\"%s\": the reader's schema has no record there", name);
                reader_field = find_field(reader.node, name);
                if (!reader_field)
                        reader_field = find_by_alias(reader.node, name);
                if (!reader_field)
                        return fail(c, "the reader's schema has no field \"%s\" in %s", name, reader.named->full);
                if (!reader_type(c, json_object_get(reader_field, "type"), reader.space, &inner->reader))
                        return false;
                snprintf(name, sizeof(name), "%.255s", json_string_value(json_object_get(reader_field, "name")));
        }
        *field = find_writer_field(c, record->node, name, reader_field);
        if (*field && !c->has_reader)
                return names_type(c, json_object_get(*field, "type"), record->space, &inner->reader);
        if (!*field) {
                json_t *fallback = json_object_get(reader_field, "default");

                if (!fallback)
                        return fail(c, "%s has no field \"%s\"%s", record->named->full, name,
                                    reader_field ? ", and the reader's schema gives it no default" : "");
                if (*inner->path)
                        return fail(c, "%s has no field \"%s\"; a default of a whole record is not taken apart",
                                    record->named->full, name);
                return set_default(c, inner, fallback);
        }
        return true;
}

static bool emit_record(struct compiler *c, const struct kr_type *record, const struct step *step)
{
        struct want inner[KR_AVRO_SLOT_MAX];
        json_t *targets[KR_AVRO_SLOT_MAX];
        json_t *field;
        size_t left = 0, i;

        for (size_t w = 0; w < step->want_cnt; w++) {
                if (!descend(c, record, &step->wants[w], &inner[w], &targets[w]))
                        return false;
                left += targets[w] != NULL;
        }
        json_array_foreach(json_object_get(record->node, "fields"), i, field)
        {
                struct want here_wants[KR_AVRO_SLOT_MAX];
                struct step down = { here_wants, 0, step->depth + 1, false };
                struct kr_type type;

                if (!left && step->outermost)
                        return emit(c, KR_AVRO_OP_DONE, 0); /* the rest of the datum does not matter */
                if (!names_type(c, json_object_get(field, "type"), record->space, &type))
                        return false;
                for (size_t w = 0; w < step->want_cnt; w++)
                        if (targets[w] == field)
                                here_wants[down.want_cnt++] = inner[w];
                left -= down.want_cnt;
                if (!(down.want_cnt ? emit_path(c, &type, &down) : emit_skip(c, &type)))
                        return false;
        }
        return true;
}

/* A place that some wanted field lies in or at. */
static bool emit_path(struct compiler *c, const struct kr_type *type, const struct step *step)
{
        bool at_field = !*step->wants[0].path;

        if (step->depth > PATH_PART_MAX)
                return fail(c, "a path has more than %d parts", PATH_PART_MAX);
        for (size_t w = 1; w < step->want_cnt; w++)
                if (at_field || !*step->wants[w].path)
                        return fail(c, "one wanted field is named twice, or lies inside another");
        if (type->kind == KR_T_UNION)
                return emit_union(c, type, path_branch, (void *)step);
        if (at_field) {
                if (is_leaf(type->kind))
                        return emit_take(c, type, &step->wants[0]);
                return fail(c, "a wanted field is %s; expected a plain value: name a field of a record, not a whole one",
                            type->kind == KR_T_RECORD ? "a record"
                            : type->kind == KR_T_MAP  ? "a map"
                                                      : "an array");
        }
        if (type->kind == KR_T_RECORD)
                return emit_record(c, type, step);
        return fail(c, "\"%.100s\": expected a record there, found %s", step->wants[0].path,
                    type->kind == KR_T_ARRAY || type->kind == KR_T_MAP ? "an array or map, whose elements cannot route"
                                                                       : "a plain value");
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static json_t *load(struct compiler *c, const char *text, const char *whose)
{
        json_error_t jerr;
        json_t *doc;

        if (strlen(text) > KR_SCHEMA_TEXT_MAX) {
                fail(c, "the %s schema is longer than %d bytes", whose, KR_SCHEMA_TEXT_MAX);
                return NULL;
        }
        doc = json_loads(text, JSON_DECODE_ANY, &jerr);
        if (!doc) /* a bare name is a schema too: string, or with quotes "string" */
                fail(c, "the %s schema is no JSON: line %d: %s", whose, jerr.line, jerr.text);
        return doc;
}

/* Avro-C is the judge of what is a schema. References stand before their users in one union. */
static bool judge(struct compiler *c, json_t *doc, json_t *references, const char *whose)
{
        json_t *all = json_array_size(references) ? json_copy(references) : NULL;
        avro_schema_t schema = NULL;
        char *text;
        bool ok;

        if (all)
                json_array_append(all, doc);
        text = json_dumps(all ? all : doc, JSON_ENCODE_ANY);
        json_decref(all);
        ok = text && !avro_schema_from_json_length(text, strlen(text), &schema);
        if (!ok)
                fail(c, "the %s schema is no Avro schema: %.300s", whose, text ? avro_strerror() : "out of memory");
        if (schema)
                avro_schema_decref(schema);
        free(text);
        return ok;
}

static bool load_writer(struct compiler *c, const char *writer, const char *const *texts, size_t cnt, json_t *docs,
                        json_t **main_doc)
{
        size_t total = strlen(writer);

        for (size_t i = 0; i < cnt; i++) {
                json_t *doc;

                total += strlen(texts[i]);
                if (total > KR_SCHEMA_TEXT_MAX)
                        return fail(c, "the schema with its references is longer than %d bytes", KR_SCHEMA_TEXT_MAX);
                doc = load(c, texts[i], "referenced");
                if (!doc)
                        return false;
                if (json_array_append_new(docs, doc) || !kr_names_collect(&c->writer_names, doc, "", 0, c->err))
                        return false;
        }
        *main_doc = load(c, writer, "writer's");
        return *main_doc && kr_names_collect(&c->writer_names, *main_doc, "", 0, c->err) &&
               judge(c, *main_doc, docs, "writer's");
}

static bool emit_all(struct compiler *c, const struct kr_type *writer, const struct kr_type *reader)
{
        const struct kr_avro_projection *projection = c->projection;
        struct want wants[KR_AVRO_SLOT_MAX];
        struct step step = { wants, projection->path_cnt ? projection->path_cnt : 1, 0, true };

        if (projection->path_cnt > KR_AVRO_SLOT_MAX)
                return fail(c, "a key routes by at most %d fields", KR_AVRO_SLOT_MAX);
        for (size_t w = 0; w < step.want_cnt; w++)
                wants[w] = (struct want){ (uint32_t)w, projection->path_cnt ? projection->paths[w] : "", *reader };
        c->plan->slot_cnt = step.want_cnt;
        c->plan->form = projection->form;
        return emit_path(c, writer, &step) && emit(c, KR_AVRO_OP_DONE, 0) && emit_called(c);
}

struct kr_avro_plan *kr_schema_compile(const char *writer, const char *const *references, size_t reference_cnt,
                                       const struct kr_avro_projection *projection, struct kr_error *err)
{
        struct compiler c = { .projection = projection, .has_reader = projection->reader != NULL, .err = err };
        json_t *docs = json_array(), *main_doc = NULL, *reader_doc = NULL;
        struct kr_type writer_type, reader_root;
        bool ok = false;

        c.plan = calloc(1, sizeof(*c.plan));
        if (!c.plan || !docs) {
                fail(&c, "out of memory for a plan");
                goto out;
        }
        if (!kr_names_init(&c.writer_names, err) || !kr_names_init(&c.reader_names, err) ||
            !load_writer(&c, writer, references, reference_cnt, docs, &main_doc) ||
            !names_type(&c, main_doc, "", &writer_type))
                goto out;
        reader_root = writer_type;
        if (c.has_reader) {
                reader_doc = load(&c, projection->reader, "reader's");
                if (!reader_doc || !kr_names_collect(&c.reader_names, reader_doc, "", 0, err) ||
                    !judge(&c, reader_doc, NULL, "reader's") || !reader_type(&c, reader_doc, "", &reader_root))
                        goto out;
        }
        ok = emit_all(&c, &writer_type, &reader_root);
out:
        kr_names_release(&c.writer_names);
        kr_names_release(&c.reader_names);
        json_decref(docs);
        json_decref(main_doc);
        json_decref(reader_doc);
        free(c.calls);
        free(c.callees);
        if (ok)
                return c.plan;
        kr_avro_plan_free(c.plan);
        return NULL;
}
