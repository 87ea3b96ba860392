#include "names.h"

#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
        "null",  "boolean", "int",    "long", "float", "double", "bytes", "string",
        "record", "enum",   "fixed", "array", "map",
};

enum { PRIMITIVE_CNT = KR_T_STRING + 1, TYPE_CNT = sizeof(type_names) / sizeof(type_names[0]), NAME_MAX_LEN = 512 };

static bool fail(struct kr_error *err, const char *what, const char *detail)
{
        snprintf(err->text, sizeof(err->text), "%s \"%.100s\"", what, detail);
        return false;
}

bool kr_names_init(struct kr_names *names, struct kr_error *err)
{
        *names = (struct kr_names){ .index = json_object(), .texts = json_array() };
        if (names->index && names->texts)
                return true;
        kr_names_release(names);
        snprintf(err->text, sizeof(err->text), "out of memory");
        return false;
}

void kr_names_release(struct kr_names *names)
{
        json_decref(names->index);
        json_decref(names->texts);
        free(names->named);
        *names = (struct kr_names){ 0 };
}

/* Keeps a string as long as the table. */
static const char *keep(struct kr_names *names, const char *text, size_t len)
{
        json_t *kept = json_stringn_nocheck(text, len);

        return kept && !json_array_append_new(names->texts, kept) ? json_string_value(kept) : NULL;
}

const char *kr_unqualified(const char *full)
{
        const char *dot = strrchr(full, '.');

        return dot ? dot + 1 : full;
}

static int find_type_name(const char *name)
{
        for (int i = 0; i < TYPE_CNT; i++)
                if (!strcmp(type_names[i], name))
                        return i;
        return -1;
}

/* The full name of a definition by the specification's rule: a dotted name is full, else its own or the outer space. */
static bool full_name(const char *name, const char *own_space, const char *outer, char *full, size_t size)
{
        const char *space = own_space ? own_space : outer;

        if (*name == '.' && !strchr(name + 1, '.')) { /* ".K" is K in no namespace */
                name++;
                space = "";
        }
        if (strchr(name, '.') || !*space)
                return (size_t)snprintf(full, size, "%s", name) < size;
        return (size_t)snprintf(full, size, "%s.%s", space, name) < size;
}

static struct kr_named *define(struct kr_names *names, json_t *node, const char *outer, struct kr_error *err)
{
        const char *name = json_string_value(json_object_get(node, "name"));
        const char *own = json_string_value(json_object_get(node, "namespace"));
        struct kr_named *grown;
        char full[NAME_MAX_LEN];
        const char *dot;

        if (!name || !*name) {
                snprintf(err->text, sizeof(err->text), "a record, enum or fixed has no name");
                return NULL;
        }
        if (!full_name(name, own, outer, full, sizeof(full)))
                return fail(err, "a type's name is too long:", name), NULL;
        if (json_object_get(names->index, full))
                return fail(err, "two types are called", full), NULL;
        if (!(names->cnt & (names->cnt - 1))) { /* 0, 1, 2, 4, ...: double */
                grown = realloc(names->named, (names->cnt ? 2 * names->cnt : 1) * sizeof(*grown));
                if (!grown)
                        return fail(err, "out of memory for", full), NULL;
                names->named = grown;
        }
        dot = strrchr(full, '.');
        grown = &names->named[names->cnt];
        *grown = (struct kr_named){ node, keep(names, full, strlen(full)),
                                    keep(names, full, dot ? (size_t)(dot - full) : 0), UINT32_MAX,
                                    KR_EMPTINESS_UNKNOWN };
        if (!grown->full || !grown->space ||
            json_object_set_new_nocheck(names->index, full, json_integer((json_int_t)names->cnt)))
                return fail(err, "out of memory for", full), NULL;
        names->cnt++;
        return grown;
}

bool kr_names_collect(struct kr_names *names, json_t *node, const char *space, int depth, struct kr_error *err)
{
        json_t *inner = json_object_get(node, "type");
        const char *type = json_string_value(inner);
        size_t i;
        json_t *element;
        int kind;

        if (depth > KR_SCHEMA_NESTING_MAX) {
                snprintf(err->text, sizeof(err->text), "types nest deeper than %d", KR_SCHEMA_NESTING_MAX);
                return false;
        }
        if (json_is_array(node)) {
                json_array_foreach(node, i, element)
                        if (!kr_names_collect(names, element, space, depth + 1, err))
                                return false;
                return true;
        }
        if (!json_is_object(node))
                return true; /* a name; looked up when it is used */
        if (!type) /* {"type": {...}} */
                return !inner || kr_names_collect(names, inner, space, depth + 1, err);
        kind = find_type_name(type);
        if (!strcmp(type, "error"))
                kind = KR_T_RECORD;
        if (kind == KR_T_ARRAY || kind == KR_T_MAP)
                return kr_names_collect(names, json_object_get(node, kind == KR_T_ARRAY ? "items" : "values"), space,
                                        depth + 1, err);
        if (kind == KR_T_RECORD || kind == KR_T_ENUM || kind == KR_T_FIXED) {
                struct kr_named *named = define(names, node, space, err);

                if (!named)
                        return false;
                space = named->space; /* `named` moves when the table grows */
                if (kind == KR_T_RECORD)
                        json_array_foreach(json_object_get(node, "fields"), i, element)
                                if (!kr_names_collect(names, json_object_get(element, "type"), space, depth + 1, err))
                                        return false;
        }
        return true;
}

static bool follow_name(const struct kr_names *names, const char *name, const char *space, struct kr_type *type,
                        struct kr_error *err)
{
        char full[NAME_MAX_LEN];
        json_t *number;
        int kind = find_type_name(name);

        if (kind >= 0 && kind < PRIMITIVE_CNT) {
                type->kind = (kr_type_t)kind;
                return true;
        }
        if (!full_name(name, NULL, space, full, sizeof(full)))
                return fail(err, "a type's name is too long:", name);
        number = json_object_get(names->index, full);
        if (!number && !strchr(name, '.'))
                number = json_object_get(names->index, name); /* without namespace, as Java falls back */
        if (!number)
                return fail(err, "no type is called", full);
        type->named = &names->named[json_integer_value(number)];
        type->node = type->named->node;
        type->space = type->named->space;
        name = json_string_value(json_object_get(type->node, "type"));
        kind = find_type_name(name);
        type->kind = kind < 0 ? KR_T_RECORD : (kr_type_t)kind;
        return true;
}

bool kr_names_type(const struct kr_names *names, json_t *node, const char *space, struct kr_type *type,
                   struct kr_error *err)
{
        json_t *inner;
        const char *name;
        int kind;

        *type = (struct kr_type){ .node = node, .space = space };
        for (int depth = 0; depth <= KR_SCHEMA_NESTING_MAX; depth++) {
                if (json_is_string(node))
                        return follow_name(names, json_string_value(node), space, type, err);
                if (json_is_array(node)) {
                        type->kind = KR_T_UNION;
                        type->node = node;
                        return true;
                }
                inner = json_object_get(node, "type");
                if (!inner)
                        break;
                if (!json_is_string(inner)) {
                        node = inner;
                        continue;
                }
                type->node = node;
                kind = find_type_name(json_string_value(inner));
                if (kind == KR_T_ARRAY || kind == KR_T_MAP) {
                        type->kind = (kr_type_t)kind;
                        return true;
                }
                if (kind == KR_T_RECORD || kind == KR_T_ENUM || kind == KR_T_FIXED ||
                    !strcmp(json_string_value(inner), "error")) {
                        char full[NAME_MAX_LEN];

                        name = json_string_value(json_object_get(node, "name"));
                        if (!name || !full_name(name, json_string_value(json_object_get(node, "namespace")), space,
                                                full, sizeof(full)))
                                break;
                        return follow_name(names, full, "", type, err);
                }
                node = inner; /* {"type": "string", "logicalType": ...}, or a reference in an object */
        }
        snprintf(err->text, sizeof(err->text), "expected a type: a name, an object with \"type\", or a union");
        return false;
}
