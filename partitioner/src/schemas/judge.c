/* Whether a text is a schema at all. */
#include "compiler.h"

#include <avro.h>
#include <stdlib.h>
#include <string.h>

json_t *kr_schema_load(struct kr_compiler *c, const char *text, const char *whose)
{
        json_error_t jerr;
        json_t *doc;

        if (strlen(text) > KR_SCHEMA_TEXT_MAX) {
                kr_compile_fail(c, "the %s schema is longer than %d bytes", whose, KR_SCHEMA_TEXT_MAX);
                return NULL;
        }
        doc = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &jerr); /* a default of bytes may hold U+0000 */
        if (!doc) /* a bare name is a schema too: string, or with quotes "string" */
                kr_compile_fail(c, "the %s schema is no JSON: line %d: %s", whose, jerr.line, jerr.text);
        return doc;
}

/* Takes the defaults of fields out of a copy of a schema that kr_names_collect() has been through. */
static void drop_defaults(json_t *node)
{
        static const char *const inner[] = { "type", "items", "values" };
        json_t *element;
        size_t i;

        json_array_foreach(node, i, element)
                drop_defaults(element);
        for (i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
                if (json_object_get(node, inner[i]))
                        drop_defaults(json_object_get(node, inner[i]));
        json_array_foreach(json_object_get(node, "fields"), i, element)
        {
                json_object_del(element, "default");
                drop_defaults(element);
        }
}

bool kr_schema_judge(struct kr_compiler *c, json_t *doc, json_t *references, const char *whose)
{
        json_t *all = json_array_size(references) ? json_deep_copy(references) : NULL;
        json_t *own = json_deep_copy(doc);
        avro_schema_t schema = NULL;
        char *text;
        bool ok;

        if (all)
                json_array_append(all, own);
        drop_defaults(all ? all : own);
        text = json_dumps(all ? all : own, JSON_ENCODE_ANY);
        json_decref(all);
        json_decref(own);
        ok = text && !avro_schema_from_json_length(text, strlen(text), &schema);
        if (!ok)
                kr_compile_fail(c, "the %s schema is no Avro schema: %.300s", whose, text ? avro_strerror() : "out of memory");
        if (schema)
                avro_schema_decref(schema);
        free(text);
        return ok;
}
