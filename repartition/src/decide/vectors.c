#include "decide/vectors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file itself, put in by the assembler; the Makefile has this object depend on it. */
__asm__(".section .rodata\n"
        ".hidden rp_vectors_json, rp_vectors_json_end\n"
        ".global rp_vectors_json, rp_vectors_json_end\n"
        "rp_vectors_json: .incbin \"interop-tests/vectors/murmur2.json\"\n"
        "rp_vectors_json_end: .byte 0\n"
        ".previous\n");
extern const char rp_vectors_json[] __attribute__((visibility("hidden")));
extern const char rp_vectors_json_end[] __attribute__((visibility("hidden")));

static int by_key(const void *a, const void *b)
{
        const struct rp_vector *x = a, *y = b;
        int order = memcmp(x->key, y->key, x->key_len < y->key_len ? x->key_len : y->key_len);

        return order ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

/* "key" in hexadecimal, or a "generator" of the one kind that there is. */
static unsigned char *make_key(const json_t *test, size_t *len)
{
        const char *hex = json_string_value(json_object_get(test, "key"));
        size_t size = hex ? strlen(hex) / 2
                          : (size_t)json_integer_value(json_object_get(json_object_get(test, "generator"), "length"));
        unsigned char *key = malloc(size + 1);

        *len = size;
        for (size_t i = 0; key && i < size; i++) {
                unsigned value = (unsigned)(131 * i + 7);

                if (hex)
                        sscanf(hex + 2 * i, "%2x", &value);
                key[i] = (unsigned char)value;
        }
        return key;
}

/* Those of a plain key ("Basic") are left out: it is there to catch everything, so it tells nothing of what is wrong. */
static char *join_flags(const json_t *flags)
{
        size_t size = 1, i;
        json_t *flag;
        char *text;

        json_array_foreach(flags, i, flag)
                size += json_string_length(flag) + 1;
        text = malloc(size);
        if (!text)
                return NULL;
        *text = '\0';
        json_array_foreach(flags, i, flag)
        {
                if (!strcmp(json_string_value(flag), "Basic"))
                        continue;
                if (*text)
                        strcat(text, " ");
                strcat(text, json_string_value(flag));
        }
        return text;
}

static bool add(struct rp_vectors *vectors, unsigned char *key, size_t key_len, char *name, char *flags)
{
        vectors->list[vectors->cnt++] = (struct rp_vector){ key, key_len, name, flags };
        return key && name && flags;
}

static bool add_tests(struct rp_vectors *vectors, const json_t *groups, size_t longest)
{
        size_t g, t;
        json_t *group, *test;
        bool ok = true;

        json_array_foreach(groups, g, group)
                json_array_foreach(json_object_get(group, "tests"), t, test)
                {
                        size_t len;
                        unsigned char *key = make_key(test, &len);

                        if (longest && len > longest)
                                free(key);
                        else
                                ok &= add(vectors, key, len, strdup(json_string_value(json_object_get(test, "comment"))),
                                          join_flags(json_object_get(test, "flags")));
                }
        return ok;
}

static void release(struct rp_vector *vector)
{
        free(vector->key);
        free(vector->name);
        free(vector->flags);
}

/* Sorts, and lets each key stand once: with the flags of the first. */
static void unite(struct rp_vectors *vectors)
{
        size_t kept = 0;

        qsort(vectors->list, vectors->cnt, sizeof(*vectors->list), by_key);
        for (size_t i = 0; i < vectors->cnt; i++) {
                if (kept && !by_key(&vectors->list[kept - 1], &vectors->list[i]))
                        release(&vectors->list[i]);
                else
                        vectors->list[kept++] = vectors->list[i];
        }
        vectors->cnt = kept;
}

rp_err_t rp_vectors_read(struct rp_vectors *vectors, size_t longest, struct rp_error *err)
{
        json_t *document = json_loadb(rp_vectors_json, (size_t)(rp_vectors_json_end - rp_vectors_json), 0, NULL);
        size_t room = (size_t)json_integer_value(json_object_get(document, "numberOfTests")) + RP_VECTORS_PLAIN;
        bool ok;

        *vectors = (struct rp_vectors){ .list = calloc(room, sizeof(*vectors->list)), .document = document };
        ok = document && vectors->list && add_tests(vectors, json_object_get(document, "testGroups"), longest);
        for (int i = 0; ok && i < RP_VECTORS_PLAIN; i++) {
                char text[32];
                int len = snprintf(text, sizeof(text), "customer-%d", i);

                if (!longest || (size_t)len <= longest)
                        ok = add(vectors, (unsigned char *)strdup(text), (size_t)len, strdup(text), strdup(""));
        }
        if (!ok) {
                rp_vectors_release(vectors);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        unite(vectors);
        return RP_OK;
}

void rp_vectors_release(struct rp_vectors *vectors)
{
        for (size_t i = 0; i < vectors->cnt; i++)
                release(&vectors->list[i]);
        free(vectors->list);
        json_decref(vectors->document);
        *vectors = (struct rp_vectors){ 0 };
}

const char *rp_vectors_note(const struct rp_vectors *vectors, const char *flag)
{
        const json_t *notes = json_object_get(vectors->document, "notes");

        return json_string_value(json_object_get(json_object_get(notes, flag), "description"));
}

const char *rp_vectors_version(const struct rp_vectors *vectors)
{
        return json_string_value(json_object_get(vectors->document, "suiteVersion"));
}

const struct rp_vector *rp_vectors_find(const struct rp_vectors *vectors, const void *key, size_t key_len)
{
        struct rp_vector wanted = { .key = (unsigned char *)key, .key_len = key_len };

        return bsearch(&wanted, vectors->list, vectors->cnt, sizeof(wanted), by_key);
}
