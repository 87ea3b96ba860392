/*
 * Fields of an Avro key. The schema comes from a file or stands in the policy: then the bytes are one bare datum, and a
 * framed key says "over": "payload". Or a registry gives it, by the id in the frame.
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
        char *writer; /* the same of the writer's, when the policy gives it */
        /* Else a registry does. */
        char *registry;
        char *subject, *version;
        bool framed;
        size_t id_len;
        const struct kr_schemas *schemas;
        struct kr_schema_view *view; /* borrowed of the policy's client */
};

static const char *const fields[] = { "fields", "as", "schema", "reader", "unresolved", NULL };

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
                schema = read ? json_loadb(read, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &jerr) : NULL;
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

static bool copy(const struct kr_json *at, char **out, struct kr_error *err)
{
        const char *text;

        if (!kr_json_string(at, &text, err))
                return false;
        if (!*text || strlen(text) > 1000)
                return kr_json_fail(at, err, "expected a name of 1 to 1000 bytes");
        *out = strdup(text);
        return *out || kr_json_fail(at, err, "out of memory");
}

static bool parse_version(struct avro *avro, const struct kr_json *at, struct kr_error *err)
{
        int64_t number = 0;

        if (!at->value || (json_is_string(at->value) && !strcmp(json_string_value(at->value), "latest")))
                avro->version = strdup("latest");
        else if (!json_is_integer(at->value))
                return kr_json_fail(at, err, "expected \"latest\" or the number of a version");
        else if (!kr_json_integer(at, 1, INT32_MAX, &number, err))
                return false;
        else if (asprintf(&avro->version, "%lld", (long long)number) < 0)
                avro->version = NULL;
        return avro->version || kr_json_fail(at, err, "out of memory");
}

/* A schema that a registry gives: by the id in the key's frame, or by a subject for keys without one. */
static bool parse_registry(struct avro *avro, const struct kr_json *at, struct kr_error *err)
{
        static const char *const known[] = { "registry", "subject", "version", "frame", "id-bytes", NULL };
        struct kr_json registry_at = kr_json_member(at, "registry");
        struct kr_json subject_at = kr_json_member(at, "subject");
        struct kr_json version_at = kr_json_member(at, "version");
        struct kr_json frame_at = kr_json_member(at, "frame");
        struct kr_json bytes_at = kr_json_member(at, "id-bytes");
        const char *frame = "registry";
        int64_t id_len = 4;

        if (!kr_json_object(at, known, err) || !copy(&registry_at, &avro->registry, err) ||
            (subject_at.value && !copy(&subject_at, &avro->subject, err)) ||
            (frame_at.value && !kr_json_string(&frame_at, &frame, err)))
                return false;
        avro->framed = !strcmp(frame, "registry");
        if (!avro->framed && strcmp(frame, "none"))
                return kr_json_fail(&frame_at, err, "expected \"registry\" or \"none\", found \"%.60s\"", frame);
        if (!avro->framed && !avro->subject)
                return kr_json_fail(at, err, "keys without a frame need a \"subject\", whose schema they are read by");
        if (version_at.value && !avro->subject)
                return kr_json_fail(&version_at, err, "is of a \"subject\", which is missing");
        if (bytes_at.value && !avro->framed)
                return kr_json_fail(&bytes_at, err, "is of a frame, and \"frame\" says that there is none");
        if (bytes_at.value && !kr_json_integer(&bytes_at, 4, 8, &id_len, err))
                return false;
        if (id_len != 4 && id_len != 8)
                return kr_json_fail(&bytes_at, err, "expected 4 (Confluent, Apicurio 3) or 8 (Apicurio's older form)");
        avro->id_len = (size_t)id_len;
        return !avro->subject || parse_version(avro, &version_at, err);
}

static bool parse_unresolved(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        const char *text;

        if (!at->value)
                return true;
        if (!((struct avro *)key->state)->registry)
                return kr_json_fail(at, err, "is for schemas of a registry; this one is always there");
        if (!kr_json_string(at, &text, err))
                return false;
        key->reject_unresolved = !strcmp(text, "reject");
        return key->reject_unresolved || !strcmp(text, "whole-key") ||
               kr_json_fail(at, err, "expected \"whole-key\" or \"reject\", found \"%.60s\"", text);
}

static bool parse(struct kr_key *key, const struct kr_json *at, struct kr_error *err)
{
        struct kr_json unresolved_at = kr_json_member(at, "unresolved");
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
                return kr_json_fail(at, err, "\"schema\" is missing, such as {\"file\": \"key.avsc\"} or {\"registry\": "
                                             "\"main\"}");
        if (!parse_paths(avro, &paths_at, err) || !parse_form(avro, &form_at, err) ||
            (json_object_get(schema_at.value, "registry") ? !parse_registry(avro, &schema_at, err)
                                                          : !parse_schema(&schema_at, &avro->writer, err)) ||
            (reader_at.value && !parse_schema(&reader_at, &avro->reader, err)) ||
            !parse_unresolved(key, &unresolved_at, err))
                return false;
        if (avro->registry)
                return true; /* the rest is bind's */
        schemas = kr_schemas_open(&why);
        if (!schemas)
                return kr_json_fail(at, err, "%s", why.text);
        projection = (struct kr_avro_projection){ (const char *const *)avro->paths, avro->path_cnt, avro->form, avro->reader };
        avro->plan = schemas->compile(avro->writer, NULL, 0, &projection, &why);
        return avro->plan || kr_json_fail(at, err, "%s", why.text);
}

static bool bind(struct kr_key *key, const struct kr_json *at, const struct kr_key_context *context,
                 struct kr_error *err)
{
        struct avro *avro = key->state;
        struct kr_registries *registries = context->registries;
        struct kr_json schema_at = kr_json_member(at, "schema");
        struct kr_json registry_at = kr_json_member(&schema_at, "registry");
        struct kr_json over_at = kr_json_member(at, "over");
        struct kr_schema_view_conf conf = {
                .framed = avro->framed, .id_len = avro->id_len, .subject = avro->subject, .version = avro->version,
                .topic = context->topic,
                .projection = { (const char *const *)avro->paths, avro->path_cnt, avro->form, avro->reader },
        };
        struct kr_error why = { "" };

        if (!avro->registry)
                return true;
        if (avro->framed && key->over && !strcmp(key->over->kind->use, "payload"))
                return kr_json_fail(&over_at, err, "the frame says which schema to ask the registry for, so it must not be "
                                                   "taken off before; leave \"over\" out");
        while (conf.registry < registries->conf.registry_cnt &&
               strcmp(registries->conf.registries[conf.registry].name, avro->registry))
                conf.registry++;
        if (conf.registry == registries->conf.registry_cnt)
                return kr_json_fail(&registry_at, err, "no registry \"%.60s\" stands in \"schemas\".\"registries\"",
                                    avro->registry);
        avro->schemas = kr_schemas_open(&why);
        if (avro->schemas && !registries->client) {
                registries->schemas = avro->schemas;
                registries->client = avro->schemas->client_open(&registries->conf, &why);
        }
        if (registries->client)
                avro->view = avro->schemas->client_view(registries->client, &conf, &why);
        return avro->view || kr_json_fail(at, err, "%s", why.text);
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
        free(avro->registry);
        free(avro->subject);
        free(avro->version);
        free(avro);
}

static kr_key_outcome_t project(const struct kr_key *key, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        const struct avro *avro = key->state;

        if (avro->plan)
                return kr_avro_plan_project(avro->plan, bytes, scratch);
        return avro->view ? avro->schemas->project(avro->view, bytes, scratch) : KR_KEY_UNRESOLVED;
}

static void canon(const struct kr_key *key, struct kr_canon *canon)
{
        const struct avro *avro = key->state;

        kr_canon_add(canon, "as=%d", avro->form);
        for (size_t i = 0; i < avro->path_cnt; i++)
                kr_canon_add_bytes(canon, avro->paths[i], strlen(avro->paths[i]));
        if (avro->writer) {
                kr_canon_add(canon, "writer");
                kr_canon_add_bytes(canon, avro->writer, strlen(avro->writer));
        } else {
                /* Not which registry: an id means the same schema wherever it is asked for, or nothing holds. */
                kr_canon_add(canon, "registry id-bytes=%zu", avro->id_len * avro->framed);
                if (avro->subject) {
                        kr_canon_add_bytes(canon, avro->subject, strlen(avro->subject));
                        kr_canon_add_bytes(canon, avro->version, strlen(avro->version));
                }
        }
        if (avro->reader)
                kr_canon_add_bytes(canon, avro->reader, strlen(avro->reader));
}

static void print(const struct kr_key *key, FILE *out)
{
        const struct avro *avro = key->state;

        if (avro->plan)
                kr_avro_plan_print(avro->plan, (const char *const *)avro->paths, out);
        else
                fprintf(out, "by the schema that registry \"%s\" gives for each key\n", avro->registry);
}

bool kr_key_avro_print_schema(const struct kr_key *key, const char *which, FILE *out, struct kr_error *err)
{
        const struct avro *avro = key->state;
        struct kr_avro_plan *plan;

        if (!avro->view) {
                snprintf(err->text, sizeof(err->text), "the rule's schemas come from no registry");
                return false;
        }
        plan = avro->schemas->view_plan(avro->view, which, err);
        if (!plan)
                return false;
        kr_avro_plan_print(plan, (const char *const *)avro->paths, out);
        kr_avro_plan_free(plan);
        return true;
}

const struct kr_key_kind kr_key_avro = {
        .use = "avro", .fields = fields, .parse = parse, .bind = bind, .release = release, .project = project, .canon = canon,
        .print = print,
};
