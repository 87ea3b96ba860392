#include "fetch.h"

#include "compile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One question with all that it leads to. */
struct fetch {
        struct kr_http *http;
        struct kr_endpoint *endpoint;
        struct kr_error *err;
        struct kr_fetched *out;
        json_t *seen; /* "subject/version" of references that came already */
        size_t text_len;
        const char *url; /* that answered, for messages */
};

static kr_fetch_t fail(struct fetch *fetch, kr_fetch_t what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static kr_fetch_t fail(struct fetch *fetch, kr_fetch_t what, const char *fmt, ...)
{
        char text[400];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        snprintf(fetch->err->text, sizeof(fetch->err->text), "registry %.60s: %s", fetch->endpoint->conf->name, text);
        kr_one_line(fetch->err->text);
        return what;
}

/* What an answer of this status means, when it is not the wanted one. */
static kr_fetch_t judge_status(struct fetch *fetch, const char *base, const char *path,
                               const struct kr_http_answer *answer)
{
        switch (answer->status) {
        case 404:
                return fail(fetch, KR_FETCH_ABSENT, "%.120s has no %.120s (404)", base, path);
        case 401:
        case 403:
                return fail(fetch, KR_FETCH_BAD, "%.120s refuses our credentials (%ld to %.100s); check \"auth\"", base,
                            answer->status, path);
        case 429:
        case 503:
                fetch->out->retry_after_ms = answer->retry_after_ms;
                return fail(fetch, KR_FETCH_DOWN, "%.120s asks for a pause (%ld to %.100s)", base, answer->status, path);
        default:
                return fail(fetch, KR_FETCH_BAD, "%.120s answers %ld to %.100s", base, answer->status, path);
        }
}

static kr_fetch_t ask_one(struct fetch *fetch, const char *base, const char *path, json_t **json)
{
        struct kr_http_answer answer;
        struct kr_error why;
        json_error_t jerr;
        char url[2048];
        kr_fetch_t rc = KR_FETCH_OK;

        if ((size_t)snprintf(url, sizeof(url), "%s%s", base, path) >= sizeof(url))
                return fail(fetch, KR_FETCH_FOREIGN, "a URL would be too long: %.200s...", url);
        atomic_fetch_add(&fetch->endpoint->request_cnt, 1);
        if (!kr_http_get(fetch->http, fetch->endpoint->conf, url, &answer, &why))
                return fail(fetch, answer.status ? KR_FETCH_BAD : KR_FETCH_DOWN, "%.120s%.80s: %.200s", base, path,
                            why.text);
        if (answer.status != 200) {
                rc = judge_status(fetch, base, path, &answer);
        } else {
                *json = json_loadb(answer.body, answer.len, JSON_DECODE_ANY, &jerr);
                if (!*json)
                        rc = fail(fetch, KR_FETCH_BAD, "%.120s answers %.100s with what is no JSON: %.100s", base, path,
                                  jerr.text);
        }
        free(answer.body);
        return rc;
}

/* Each base URL in turn, beginning with the one that answered last, until one knows. */
static kr_fetch_t ask(struct fetch *fetch, const char *path, json_t **json)
{
        const struct kr_registry_conf *conf = fetch->endpoint->conf;
        size_t first = atomic_load(&fetch->endpoint->preferred) % conf->url_cnt;
        kr_fetch_t worst = KR_FETCH_DOWN, rc = KR_FETCH_DOWN;

        for (size_t i = 0; i < conf->url_cnt; i++) {
                size_t at = (first + i) % conf->url_cnt;

                rc = ask_one(fetch, conf->urls[at], path, json);
                if (rc != KR_FETCH_DOWN && rc != KR_FETCH_BAD) {
                        fetch->url = conf->urls[at];
                        atomic_store(&fetch->endpoint->preferred, at);
                        return rc;
                }
                if (rc == KR_FETCH_BAD)
                        worst = rc;
        }
        return worst;
}

/* The text as it is kept and compared: a registry may lay out its JSON as it likes. */
static kr_fetch_t canonical(struct fetch *fetch, const char *text, const char *path, char **out)
{
        json_error_t jerr;
        json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &jerr); /* a default of bytes may hold U+0000 */

        if (!json) /* Avro allows the bare name of a type as well */
                return fail(fetch, KR_FETCH_FOREIGN, "%.120s: the schema of %.100s is no JSON: %.100s", fetch->url, path,
                            jerr.text);
        *out = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        json_decref(json);
        if (!*out)
                return fail(fetch, KR_FETCH_BAD, "out of memory");
        fetch->text_len += strlen(*out);
        if (fetch->text_len > KR_SCHEMA_TEXT_MAX)
                return fail(fetch, KR_FETCH_FOREIGN, "%.120s: the schema of %.100s with its references is larger than "
                                                     "%d bytes", fetch->url, path, KR_SCHEMA_TEXT_MAX);
        return KR_FETCH_OK;
}

static kr_fetch_t add_references(struct fetch *fetch, const json_t *list, int depth);

static kr_fetch_t add_reference(struct fetch *fetch, const json_t *reference, int depth)
{
        const char *subject = json_string_value(json_object_get(reference, "subject"));
        const json_t *version = json_object_get(reference, "version");
        char path[1024] = "/subjects/";
        json_t *answer = NULL;
        const char *text;
        char **grown;
        kr_fetch_t rc;

        if (!subject || !json_is_integer(version) || !kr_http_encode(path, sizeof(path) - 64, subject))
                return fail(fetch, KR_FETCH_FOREIGN, "%.120s: a reference names no subject and version", fetch->url);
        sprintf(path + strlen(path), "/versions/%" JSON_INTEGER_FORMAT, json_integer_value(version));
        if (json_object_get(fetch->seen, path))
                return KR_FETCH_OK;
        if (depth > KR_REFERENCE_DEPTH_MAX || json_object_size(fetch->seen) >= KR_REFERENCE_MAX)
                return fail(fetch, KR_FETCH_FOREIGN, "%.120s: references go deeper than %d or are more than %d",
                            fetch->url, KR_REFERENCE_DEPTH_MAX, KR_REFERENCE_MAX);
        json_object_set_new(fetch->seen, path, json_true()); /* before its own, so that a circle ends */
        rc = ask(fetch, path, &answer);
        if (rc == KR_FETCH_OK)
                rc = add_references(fetch, json_object_get(answer, "references"), depth + 1);
        text = json_string_value(json_object_get(answer, "schema"));
        if (rc == KR_FETCH_OK && !text)
                rc = fail(fetch, KR_FETCH_BAD, "%.120s: the answer to %.100s holds no \"schema\"", fetch->url, path);
        if (rc == KR_FETCH_OK) {
                grown = realloc(fetch->out->references, (fetch->out->reference_cnt + 1) * sizeof(*grown));
                if (grown) {
                        fetch->out->references = grown;
                        grown[fetch->out->reference_cnt] = NULL;
                        rc = canonical(fetch, text, path, &grown[fetch->out->reference_cnt]);
                        fetch->out->reference_cnt++;
                } else {
                        rc = fail(fetch, KR_FETCH_BAD, "out of memory");
                }
        }
        json_decref(answer);
        return rc;
}

static kr_fetch_t add_references(struct fetch *fetch, const json_t *list, int depth)
{
        kr_fetch_t rc = KR_FETCH_OK;
        size_t i;
        json_t *reference;

        json_array_foreach(list, i, reference)
        {
                rc = add_reference(fetch, reference, depth);
                if (rc != KR_FETCH_OK)
                        break;
        }
        return rc;
}

bool kr_guid_parse(const char *text, unsigned char guid[16])
{
        unsigned digits = 0, value;

        for (; text && *text; text++) {
                if (*text == '-')
                        continue;
                if (digits == 32 || !strchr("0123456789abcdefABCDEF", *text))
                        return false;
                value = (unsigned)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
                guid[digits / 2] = (unsigned char)(digits % 2 ? guid[digits / 2] | value : value << 4);
                digits++;
        }
        return digits == 32;
}

static void digest(struct kr_fetched *out)
{
        struct kr_md5 md5;

        kr_md5_init(&md5);
        for (size_t i = 0; i < out->reference_cnt; i++)
                kr_md5_update(&md5, out->references[i], strlen(out->references[i]) + 1);
        kr_md5_update(&md5, out->schema, strlen(out->schema) + 1);
        kr_md5_final(&md5, out->digest);
}

static kr_fetch_t read_schema(struct fetch *fetch, const json_t *answer, const char *path)
{
        const char *text = json_string_value(json_object_get(answer, "schema"));
        const json_t *type = json_object_get(answer, "schemaType");
        const json_t *id = json_object_get(answer, "id");
        kr_fetch_t rc;

        if (!text)
                return fail(fetch, KR_FETCH_BAD, "%.120s: the answer to %.100s holds no \"schema\"", fetch->url, path);
        if (json_is_string(type) && strcmp(json_string_value(type), "AVRO"))
                return fail(fetch, KR_FETCH_FOREIGN, "%.120s: the schema of %.100s is %.40s, not Avro", fetch->url, path,
                            json_string_value(type));
        fetch->out->id = json_is_integer(id) ? json_integer_value(id) : -1;
        fetch->out->has_guid = kr_guid_parse(json_string_value(json_object_get(answer, "guid")), fetch->out->guid);
        rc = add_references(fetch, json_object_get(answer, "references"), 1);
        if (rc == KR_FETCH_OK)
                rc = canonical(fetch, text, path, &fetch->out->schema);
        if (rc == KR_FETCH_OK)
                digest(fetch->out);
        return rc;
}

kr_fetch_t kr_fetch_schema(struct kr_http *http, struct kr_endpoint *endpoint, const char *path,
                           struct kr_fetched *fetched, struct kr_error *err)
{
        struct fetch fetch = { .http = http, .endpoint = endpoint, .err = err, .out = fetched, .seen = json_object() };
        json_t *answer = NULL;
        kr_fetch_t rc;

        *fetched = (struct kr_fetched){ .id = -1 };
        rc = ask(&fetch, path, &answer);
        if (rc == KR_FETCH_OK)
                rc = read_schema(&fetch, answer, path);
        /* The schema itself is there: a missing part of it is the registry's fault, and may be mended. */
        if (rc == KR_FETCH_ABSENT && answer)
                rc = KR_FETCH_BAD;
        json_decref(answer);
        json_decref(fetch.seen);
        if (rc != KR_FETCH_OK) {
                int64_t retry_after_ms = fetched->retry_after_ms;

                kr_fetched_release(fetched);
                fetched->retry_after_ms = retry_after_ms;
        }
        return rc;
}

kr_fetch_t kr_fetch_versions(struct kr_http *http, struct kr_endpoint *endpoint, const char *path,
                             int64_t versions[KR_VERSION_MAX], size_t *cnt, int64_t *retry_after_ms,
                             struct kr_error *err)
{
        struct kr_fetched unused = { 0 };
        struct fetch fetch = { .http = http, .endpoint = endpoint, .err = err, .out = &unused };
        json_t *answer = NULL;
        size_t size, i;
        kr_fetch_t rc = ask(&fetch, path, &answer);

        *cnt = 0;
        *retry_after_ms = unused.retry_after_ms;
        if (rc == KR_FETCH_OK && !json_is_array(answer))
                rc = fail(&fetch, KR_FETCH_BAD, "%.120s: the answer to %.100s is no list of versions", fetch.url, path);
        size = json_array_size(answer);
        for (i = size > KR_VERSION_MAX ? size - KR_VERSION_MAX : 0; rc == KR_FETCH_OK && i < size; i++)
                if (json_is_integer(json_array_get(answer, i)))
                        versions[(*cnt)++] = json_integer_value(json_array_get(answer, i));
        json_decref(answer);
        return rc;
}

void kr_fetched_release(struct kr_fetched *fetched)
{
        for (size_t i = 0; i < fetched->reference_cnt; i++)
                free(fetched->references[i]);
        free(fetched->references);
        free(fetched->schema);
        *fetched = (struct kr_fetched){ .id = -1 };
}
