/*
 * Fields of an Avro key. The schema comes from a file or stands in the policy; the bytes are one bare datum, so a framed
 * key says "over": "payload".
 */
#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct avro {
        struct kr_avro_plan *plan;
        char **paths;
        size_t path_cnt;
        kr_avro_form_t form;
        char *reader; /* canonical text of the reader's schema, or NULL */
        char *writer; /* the same of the writer's */
};

static const char *const fields[] = { "fields", "as", "schema", "reader", NULL };

static bool parse_paths(struct avro *avro, const struct kr_json *at, struct kr_error *err)
{
        size_t cnt = json_array_size(at->value);

        if (!at->value)
                return true;
        if (!json_is_array(at->value) || !cnt || cnt > KR_AVRO_SLOT_MAX)
                return kr_json_fail(at, err, "expected a list of 1 to %d paths of fields, such as [\"customer.id\"]",
                                    KR_AVRO_SLOT_MAX);
        avro->paths = calloc(cnt, sizeof(*avro->paths));
        if (!avro->paths)
                return kr_json_fail(at, err, "out of memory");
        for (; avro->path_cnt < cnt; avro->path_cnt++) {
                struct kr_json element = kr_json_element(at, avro->path_cnt);
                const char *path;

                if (!kr_json_string(&element, &path, err))
                        return false;
                if (!*path)
                        return kr_json_fail(&element, err, "expected the path of a field; leave \"fields\" out for the "
                                                           "datum itself");
                avro->paths[avro->path_cnt] = strdup(path);
                if (!avro->paths[avro->path_cnt])
                        return kr_json_fail(at, err, "out of memory");
        }
        return true;
}

static bool parse_form(struct avro *avro, const struct kr_json *at, struct kr_error *err)
{
        const char *form = avro->path_cnt > 1 ? "avro" : "java";

        if (at->value && !kr_json_string(at, &form, err))
                return false;
        avro->form = strcmp(form, "avro") ? KR_AVRO_AS_JAVA : KR_AVRO_AS_AVRO;
        if (avro->form == KR_AVRO_AS_JAVA && strcmp(form, "java"))
                return kr_json_fail(at, err, "expected \"java\" or \"avro\", found \"%.60s\"", form);
        if (avro->form == KR_AVRO_AS_JAVA && avro->path_cnt > 1)
                return kr_json_fail(at, err, "\"java\" is how Kafka's serializers write one value; several fields route "
                                             "as \"avro\"");
        return true;
}

/* A schema as the policy gives it: {"file": "key.avsc"}, or {"inline": ...} with the schema itself. */
static bool parse_schema(const struct kr_json *at, char **text, struct kr_error *err)
{
        static const char *const known[] = { "file", "inline", NULL };
        struct kr_json file_at, inline_at;
        json_t *schema = NULL;
        char *path, *read;
        size_t len;

        if (!kr_json_object(at, known, err))
                return false;
        file_at = kr_json_member(at, "file");
        inline_at = kr_json_member(at, "inline");
        if (!file_at.value == !inline_at.value)
                return kr_json_fail(at, err, "expected one of \"file\" and \"inline\"");
        if (inline_at.value) {
                schema = json_incref(inline_at.value);
        } else {
                json_error_t jerr;

                path = kr_json_path(&file_at, err);
                read = path ? kr_file_read(path, "schema", &len, err) : NULL;
                schema = read ? json_loadb(read, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &jerr) : NULL;
                if (read && !schema)
                        kr_json_fail(&file_at, err, "%.150s: line %d, column %d: %.150s", path, jerr.line, jerr.column,
                                     jerr.text);
                free(read);
                free(path);
                if (!schema)
                        return false;
        }
        /* Sorted, so that the fingerprint does not see how the schema was laid out. */
        *text = json_dumps(schema, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        json_decref(schema);
        return *text || kr_json_fail(at, err, "out of memory");
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json paths_at = kr_json_member(at, "fields");
        struct kr_json form_at = kr_json_member(at, "as");
        struct kr_json schema_at = kr_json_member(at, "schema");
        struct kr_json reader_at = kr_json_member(at, "reader");
        struct avro *avro = calloc(1, sizeof(*avro));
        const struct kr_schemas *schemas;
        struct kr_avro_projection projection;
        struct kr_error why = { "" };

        if (!avro)
                return kr_json_fail(at, err, "out of memory");
        key->state = avro;
        if (!schema_at.value)
                return kr_json_fail(at, err, "\"schema\" is missing, such as {\"file\": \"key.avsc\"}");
        if (!parse_paths(avro, &paths_at, err) || !parse_form(avro, &form_at, err) ||
            !parse_schema(&schema_at, &avro->writer, err) ||
            (reader_at.value && !parse_schema(&reader_at, &avro->reader, err)))
                return false;
        schemas = kr_schemas_open(&why);
        if (!schemas)
                return kr_json_fail(at, err, "%s", why.text);
        projection = (struct kr_avro_projection){ (const char *const *)avro->paths, avro->path_cnt, avro->form, avro->reader };
        avro->plan = schemas->compile(avro->writer, NULL, 0, &projection, &why);
        return avro->plan || kr_json_fail(at, err, "%s", why.text);
}

static void release(struct kr_key *key)
{
        struct avro *avro = key->state;

        if (!avro)
                return;
        kr_avro_plan_free(avro->plan);
        for (size_t i = 0; i < avro->path_cnt; i++)
                free(avro->paths[i]);
        free(avro->paths);
        free(avro->reader);
        free(avro->writer);
        free(avro);
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct avro *avro = key->state;

        return kr_avro_plan_project(avro->plan, bytes, scratch);
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct avro *avro = key->state;

        kr_canon_add(canon, "as=%d", avro->form);
        for (size_t i = 0; i < avro->path_cnt; i++)
                kr_canon_add_bytes(canon, avro->paths[i], strlen(avro->paths[i]));
        kr_canon_add(canon, "writer");
        kr_canon_add_bytes(canon, avro->writer, strlen(avro->writer));
        if (avro->reader)
                kr_canon_add_bytes(canon, avro->reader, strlen(avro->reader));
}

const struct kr_key_kind kr_key_avro = {
        .use = "avro", .fields = fields, .parse = parse, .release = release, .project = project, .canon = canon,
};
