/* Which of the reader's types holds a value of the writer's: Avro's "Schema Resolution", in Java's order of preference. */
#include "compiler.h"

#include <stdlib.h>
#include <string.h>

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

bool kr_is_leaf(kr_type_t kind)
{
        return kind != KR_T_RECORD && kind != KR_T_ARRAY && kind != KR_T_MAP && kind != KR_T_UNION;
}

/* Java: every branch by full name before any by the unqualified one, which is all that the specification asks for. */
kr_name_match_t kr_names_match(const struct kr_type *writer, const struct kr_type *reader)
{
        json_t *aliases = json_object_get(reader->node, "aliases"), *alias;
        const char *full = writer->named->full, *name = kr_unqualified(full);
        kr_name_match_t best = KR_NO_MATCH;
        size_t i;

        if (!strcmp(full, reader->named->full))
                return KR_FULL_MATCH;
        if (!strcmp(name, kr_unqualified(reader->named->full)))
                best = KR_SHORT_MATCH;
        json_array_foreach(aliases, i, alias)
        {
                const char *old = json_string_value(alias), *own;

                if (!old || strcmp(name, kr_unqualified(old)))
                        continue;
                best = KR_SHORT_MATCH;
                own = strchr(old, '.') ? full : name; /* an alias without namespace is of the reader's */
                if (!strcmp(own, old) && (own == full || !strcmp(writer->named->space, reader->named->space)))
                        return KR_FULL_MATCH;
        }
        return best;
}

/* The same type: what needs no promotion. */
static bool is_same(const struct kr_type *writer, const struct kr_type *reader, kr_name_match_t least)
{
        if (writer->kind != reader->kind)
                return false;
        if (writer->kind == KR_T_FIXED)
                return kr_names_match(writer, reader) >= least && json_integer_value(json_object_get(writer->node, "size")) ==
                                                              json_integer_value(json_object_get(reader->node, "size"));
        return writer->kind != KR_T_ENUM || kr_names_match(writer, reader) >= least;
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

static const struct kr_names *reader_names(const struct kr_compiler *c)
{
        return c->has_reader ? &c->reader_names : &c->writer_names;
}

bool kr_reader_type(struct kr_compiler *c, json_t *node, const char *space, struct kr_type *type)
{
        return kr_names_type(reader_names(c), node, space, type, c->err);
}

/* What comparing a name with the type's costs beside the comparison. */
static size_t alias_cnt(const struct kr_type *type)
{
        return type->named ? json_array_size(json_object_get(type->node, "aliases")) : 0;
}

/*
 * The reader's branch for a value of the writer's type: the first that is the same by full name, else by unqualified
 * name, else the first that it promotes to. Outside a union the type itself. *branch is -1 outside a union and when the
 * reader cannot hold the value, which *ok tells apart.
 */
static bool resolve(struct kr_compiler *c, const struct kr_type *writer, const struct kr_type *reader,
                    struct kr_type *resolved, int64_t *branch, bool *ok)
{
        size_t cnt = json_array_size(reader->node);

        *branch = -1;
        *resolved = *reader;
        *ok = reader->kind != KR_T_UNION &&
              (is_same(writer, reader, KR_SHORT_MATCH) || is_promotable(writer->kind, reader->kind));
        if (reader->kind != KR_T_UNION)
                return kr_compile_work(c, alias_cnt(reader));
        if (!kr_compile_work(c, cnt))
                return false;
        for (int pass = 0; pass < 3; pass++)
                for (size_t i = 0; i < cnt; i++) {
                        if (!kr_reader_type(c, json_array_get(reader->node, i), reader->space, resolved) ||
                            !kr_compile_work(c, alias_cnt(resolved)))
                                return false;
                        if (pass == 2 ? !is_promotable(writer->kind, resolved->kind)
                                      : !is_same(writer, resolved, pass ? KR_SHORT_MATCH : KR_FULL_MATCH))
                                continue;
                        *branch = (int64_t)i;
                        *ok = true;
                        return true;
                }
        return true;
}

bool kr_set_bytes(struct kr_compiler *c, struct kr_bytes *out, const void *data, size_t len)
{
        unsigned char *copy;

        if (!kr_compile_own(c, len + 1))
                return false;
        copy = malloc(len + 1); /* never NULL for an empty output: NULL means none */
        if (!copy)
                return kr_compile_fail(c, "out of memory for a plan");
        if (len)
                memcpy(copy, data, len);
        *out = (struct kr_bytes){ copy, len };
        return true;
}

/* The reader's number for a symbol: its own, else that of the enum's default; -1 when there is neither. */
int64_t kr_find_symbol(const struct kr_type *reader, const char *symbol)
{
        json_t *symbols = json_object_get(reader->node, "symbols"), *candidate;
        const char *fallback = json_string_value(json_object_get(reader->node, "default"));
        size_t i;

        json_array_foreach(symbols, i, candidate)
                if (json_is_string(candidate) && !strcmp(json_string_value(candidate), symbol))
                        return (int64_t)i;
        return fallback && strcmp(fallback, symbol) ? kr_find_symbol(reader, fallback) : -1;
}

/* The reader's numbers by symbol, so that two long lists cost their sum. NULL when memory is out. */
static json_t *number_symbols(json_t *symbols)
{
        json_t *numbers = json_object(), *symbol;
        size_t i;

        json_array_foreach(symbols, i, symbol)
                if (numbers && json_is_string(symbol) &&
                    json_object_set_new_nocheck(numbers, json_string_value(symbol), json_integer((json_int_t)i))) {
                        json_decref(numbers);
                        return NULL;
                }
        return numbers;
}

static bool set_symbols(struct kr_compiler *c, struct kr_avro_take *take, const struct kr_type *writer,
                        const struct kr_type *reader)
{
        json_t *symbols = json_object_get(writer->node, "symbols"), *symbol;
        json_t *readers = json_object_get(reader->node, "symbols");
        const char *fallback = json_string_value(json_object_get(reader->node, "default"));
        json_t *numbers = NULL;
        bool ok = false;
        size_t i;

        if (!kr_compile_work(c, 2 * json_array_size(symbols) + json_array_size(readers)) ||
            !kr_compile_own(c, json_array_size(symbols) * sizeof(*take->symbols)))
                return false;
        numbers = number_symbols(readers);
        take->symbols = calloc(json_array_size(symbols) + 1, sizeof(*take->symbols));
        if (!take->symbols || !numbers) {
                kr_compile_fail(c, "out of memory for a plan");
                goto out;
        }
        take->symbol_cnt = json_array_size(symbols);
        json_array_foreach(symbols, i, symbol)
        {
                const char *name = json_string_value(symbol);
                json_t *number = name ? json_object_get(numbers, name) : NULL, *text;
                unsigned char varint[10];

                if (!number && fallback)
                        number = json_object_get(numbers, fallback);
                if (!number)
                        continue;
                text = json_array_get(readers, (size_t)json_integer_value(number));
                if (c->plan->form == KR_AVRO_AS_JAVA
                            ? !kr_set_bytes(c, &take->symbols[i], json_string_value(text), json_string_length(text))
                            : !kr_set_bytes(c, &take->symbols[i], varint,
                                            kr_avro_write_long(json_integer_value(number), varint)))
                        goto out;
        }
        ok = true;
out:
        json_decref(numbers);
        return ok;
}

static uint32_t fixed_size(const struct kr_type *type)
{
        int64_t size = json_integer_value(json_object_get(type->node, "size"));

        return size >= 0 && size <= UINT32_MAX ? (uint32_t)size : UINT32_MAX; /* longer than any key */
}

bool kr_resolve_take(struct kr_compiler *c, const struct kr_type *writer, const struct kr_want *want,
                     struct kr_avro_take *take)
{
        struct kr_type resolved;
        int64_t branch;
        bool ok;

        take->slot = want->slot;
        take->writer = leaf_type(writer->kind);
        if (!resolve(c, writer, &want->reader, &resolved, &branch, &ok))
                return false;
        if (!ok) {
                take->unresolvable = true;
                return true;
        }
        take->reader = leaf_type(resolved.kind);
        if (branch >= 0) {
                unsigned char varint[10];

                take->prefix_len = kr_avro_write_long(branch, varint);
                memcpy(take->prefix, varint, take->prefix_len);
        }
        if (writer->kind == KR_T_FIXED)
                take->size = fixed_size(writer);
        return writer->kind != KR_T_ENUM || set_symbols(c, take, writer, &resolved);
}
