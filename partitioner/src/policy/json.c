#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (64 << 20) /* bytes */

void kr_one_line(char *text)
{
        for (unsigned char *c = (unsigned char *)text; *c; c++)
                if (*c < 0x20 || *c == 0x7f)
                        *c = '?';
}

json_t *kr_json_parse(const char *text, size_t len, const char *name, struct kr_error *err)
{
        json_error_t jerr;
        json_t *doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &jerr);

        if (!doc) {
                snprintf(err->text, sizeof(err->text), "%.300s: line %d, column %d: %s", name, jerr.line, jerr.column,
                         jerr.text);
                kr_one_line(err->text);
        }
        return doc;
}

char *kr_file_read(const char *path, const char *what, size_t *len, struct kr_error *err)
{
        struct stat st;
        FILE *file = NULL;
        char *text = NULL;

        /* Looked at before it is opened: opening a FIFO would wait for a writer. */
        if (stat(path, &st)) {
                snprintf(err->text, sizeof(err->text), "%.300s: cannot read the %s file: %s", path, what,
                         strerror(errno));
                return NULL;
        }
        if (!S_ISREG(st.st_mode) || st.st_size > FILE_SIZE_MAX) {
                snprintf(err->text, sizeof(err->text), "%.300s: expected a %s file of at most %d MiB, found %s", path,
                         what, FILE_SIZE_MAX >> 20,
                         S_ISDIR(st.st_mode)   ? "a directory"
                         : S_ISREG(st.st_mode) ? "a larger one"
                                               : "something that is not a regular file");
                return NULL;
        }
        *len = (size_t)st.st_size;
        text = malloc(*len + 1);
        file = text ? fopen(path, "rb") : NULL;
        if (!file || fread(text, 1, *len, file) != *len) {
                snprintf(err->text, sizeof(err->text), "%.300s: cannot read the %s file: %s", path, what,
                         !text               ? "out of memory"
                         : file && feof(file) ? "it is shorter than it was"
                                             : strerror(errno));
                free(text);
                text = NULL;
        }
        if (text)
                text[*len] = '\0';
        if (file)
                fclose(file);
        return text;
}

bool kr_document_parse(struct kr_document *doc, const char *text, size_t len, const char *path, struct kr_error *err)
{
        const char *slash = strrchr(path, '/');

        *doc = (struct kr_document){ .root = { .file = path } };
        doc->folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
        doc->root.folder = doc->folder;
        doc->root.value = kr_json_parse(text, len, path, err);
        if (doc->root.value && !doc->folder)
                kr_json_fail(&doc->root, err, "out of memory");
        if (doc->root.value && doc->folder)
                return true;
        kr_document_release(doc);
        return false;
}

bool kr_document_load(struct kr_document *doc, const char *path, const char *what, struct kr_error *err)
{
        size_t len = 0;
        char *text = kr_file_read(path, what, &len, err);
        bool ok;

        *doc = (struct kr_document){ .root = { .file = path } };
        if (!text)
                return false;
        ok = kr_document_parse(doc, text, len, path, err);
        free(text);
        return ok;
}

void kr_document_release(struct kr_document *doc)
{
        json_decref(doc->root.value);
        free(doc->folder);
        *doc = (struct kr_document){ 0 };
}

static void append(char *buf, size_t size, size_t *used, const char *text, size_t len)
{
        if (*used + len >= size)
                len = size - 1 - *used;
        memcpy(buf + *used, text, len);
        *used += len;
        buf[*used] = '\0';
}

static bool reads_unquoted(const char *name)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*";

        return *name && !strchr("0123456789-", *name) && !name[strspn(name, plain)];
}

/* A member's name that reads well unquoted ("orders", but not "0-11") stands after a dot, any other in brackets. */
static void append_path(const struct kr_json *at, char *buf, size_t size, size_t *used)
{
        char part[96];
        size_t len;

        if (!at->parent)
                return;
        append_path(at->parent, buf, size, used);
        if (!at->key)
                snprintf(part, sizeof(part), "[%zu]", at->index);
        else if (reads_unquoted(at->key))
                snprintf(part, sizeof(part), "%s%s", *used ? "." : "", at->key);
        else
                snprintf(part, sizeof(part), "[\"%s\"]", at->key);
        len = strlen(part);
        append(buf, size, used, part, len);
}

static const struct kr_json *root(const struct kr_json *at)
{
        while (at->parent)
                at = at->parent;
        return at;
}

bool kr_json_fail(const struct kr_json *at, struct kr_error *err, const char *fmt, ...)
{
        char path[200] = "";
        char message[300];
        size_t used = 0;
        va_list args;

        append_path(at, path, sizeof(path), &used);
        va_start(args, fmt);
        vsnprintf(message, sizeof(message), fmt, args);
        va_end(args);
        /* Asked for its result, so that no compiler minds that the end of a long one is cut off. */
        if (snprintf(err->text, sizeof(err->text), "%.120s: %s%s%s", root(at)->file, path, *path ? ": " : "", message) < 0)
                *err->text = '\0';
        kr_one_line(err->text);
        return false;
}

static const char *type_name(const json_t *value)
{
        if (!value)
                return "nothing";
        switch (json_typeof(value)) {
        case JSON_OBJECT:
                return "an object";
        case JSON_ARRAY:
                return "an array";
        case JSON_STRING:
                return "a string";
        case JSON_INTEGER:
                return "a whole number";
        case JSON_REAL:
                return "a decimal number";
        case JSON_TRUE:
        case JSON_FALSE:
                return "true or false";
        case JSON_NULL:
                break;
        }
        return "null";
}

/* Levenshtein's distance, given up beyond short words. */
static size_t distance(const char *a, const char *b)
{
        enum { MAX = 32 };
        size_t row[MAX + 1];
        size_t la = strlen(a), lb = strlen(b);

        if (la > MAX || lb > MAX)
                return MAX;
        for (size_t j = 0; j <= lb; j++)
                row[j] = j;
        for (size_t i = 1; i <= la; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= lb; j++) {
                        size_t above = row[j];
                        size_t best = diagonal + (a[i - 1] != b[j - 1]);

                        best = above + 1 < best ? above + 1 : best;
                        row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
                        diagonal = above;
                }
        }
        return row[lb];
}

const char *kr_closest(const char *word, const char *const *names, size_t cnt)
{
        const char *closest = NULL;
        size_t best = strlen(word) / 3 + 2;

        for (size_t i = 0; i < cnt; i++) {
                size_t d = distance(word, names[i]);

                if (d < best) {
                        best = d;
                        closest = names[i];
                }
        }
        return closest;
}

bool kr_json_object(const struct kr_json *at, const char *const *known, struct kr_error *err)
{
        const char *key;
        json_t *value;
        size_t cnt = 0;

        if (!json_is_object(at->value))
                return kr_json_fail(at, err, "expected an object, found %s", type_name(at->value));
        while (known[cnt])
                cnt++;
        json_object_foreach(at->value, key, value)
        {
                char list[160] = "";
                size_t used = 0;
                const char *closest;
                bool ok = false;

                for (size_t i = 0; i < cnt && !ok; i++)
                        ok = !strcmp(known[i], key);
                if (!ok && !strcmp(key, "comment")) {
                        struct kr_json comment = kr_json_member(at, key);
                        const char *text;

                        if (!kr_json_string(&comment, &text, err))
                                return false;
                        ok = true;
                }
                if (ok)
                        continue;
                closest = kr_closest(key, known, cnt);
                if (closest)
                        return kr_json_fail(at, err, "unknown field \"%.60s\"; did you mean \"%s\"?", key, closest);
                for (size_t i = 0; i < cnt; i++) {
                        append(list, sizeof(list), &used, i ? ", " : "", i ? 2 : 0);
                        append(list, sizeof(list), &used, known[i], strlen(known[i]));
                }
                return kr_json_fail(at, err, "unknown field \"%.60s\"; expected one of: %s", key, list);
        }
        return true;
}

struct kr_json kr_json_member(const struct kr_json *at, const char *key)
{
        return (struct kr_json){ .parent = at, .key = key, .value = json_object_get(at->value, key) };
}

struct kr_json kr_json_element(const struct kr_json *at, size_t index)
{
        return (struct kr_json){ .parent = at, .index = index, .value = json_array_get(at->value, index) };
}

char *kr_json_path(const struct kr_json *at, struct kr_error *err)
{
        const char *folder = root(at)->folder;
        const char *name;
        char *path = NULL;

        if (!kr_json_string(at, &name, err))
                return NULL;
        if (!*name)
                kr_json_fail(at, err, "expected the name of a file");
        else if (*name != '/' && !folder)
                kr_json_fail(at, err, "a relative name needs a policy file to be relative to; give an absolute one");
        else if (asprintf(&path, "%s%s%s", *name == '/' ? "" : folder, *name == '/' ? "" : "/", name) < 0) {
                path = NULL;
                kr_json_fail(at, err, "out of memory");
        }
        return path;
}

bool kr_json_string(const struct kr_json *at, const char **out, struct kr_error *err)
{
        if (!json_is_string(at->value))
                return kr_json_fail(at, err, "expected a string, found %s", type_name(at->value));
        *out = json_string_value(at->value);
        return true;
}

bool kr_json_integer(const struct kr_json *at, int64_t min, int64_t max, int64_t *out, struct kr_error *err)
{
        if (!json_is_integer(at->value))
                return kr_json_fail(at, err, "expected a whole number from %" PRId64 " to %" PRId64 ", found %s", min,
                                    max, type_name(at->value));
        *out = json_integer_value(at->value);
        if (*out < min || *out > max)
                return kr_json_fail(at, err, "expected a whole number from %" PRId64 " to %" PRId64 ", found %" PRId64,
                                    min, max, *out);
        return true;
}
