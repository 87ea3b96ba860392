#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 8 };

static void *must_alloc(size_t cnt, size_t size)
{
        void *p = calloc(cnt ? cnt : 1, size);

        assert_non_null(p);
        return p;
}

static unsigned char hex_digit(char c)
{
        return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_key(struct vector *vector, const json_t *test)
{
        const char *hex = json_string_value(json_object_get(test, "key"));
        const json_t *length = json_object_get(json_object_get(test, "generator"), "length");

        assert_true(hex || length);
        vector->key_len = hex ? strlen(hex) / 2 : (size_t)json_integer_value(length);
        vector->key = vector->key_len ? must_alloc(vector->key_len, 1) : NULL;
        for (size_t i = 0; i < vector->key_len; i++)
                vector->key[i] = hex ? (unsigned char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]))
                                     : (unsigned char)(i * 131 + 7);
}

static void read_test(struct vector *vector, json_t *test, const char *group)
{
        json_t *partitions = json_object_get(test, "partitions");
        const char *value = json_string_value(json_object_get(test, "hashValue"));
        const char *count;
        json_t *partition;

        vector->id = (int)json_integer_value(json_object_get(test, "tcId"));
        vector->group = group;
        vector->comment = json_string_value(json_object_get(test, "comment"));
        vector->client = json_string_value(json_object_get(test, "client"));
        vector->invalid = !strcmp(json_string_value(json_object_get(test, "result")), "invalid");
        assert_true(vector->invalid == !value);
        vector->value = value ? strtoull(value, NULL, 16) : 0;
        vector->raw = value ? (uint32_t)strtoul(json_string_value(json_object_get(test, "rawHash")), NULL, 16) : 0;
        read_key(vector, test);
        assert_true(json_object_size(partitions) > 0);
        vector->answers = must_alloc(json_object_size(partitions), sizeof(*vector->answers));
        json_object_foreach (partitions, count, partition)
                vector->answers[vector->answer_cnt++] =
                        (struct vector_answer){ (int32_t)strtol(count, NULL, 10),
                                                (int32_t)json_integer_value(partition) };
}

static void find_raw(const struct vectors *vectors, struct vector *invalid)
{
        for (size_t i = 0; i < vectors->cnt; i++) {
                const struct vector *vector = &vectors->at[i];

                if (!vector->invalid && vector->key_len == invalid->key_len &&
                    (!vector->key_len || !memcmp(vector->key, invalid->key, vector->key_len))) {
                        invalid->raw = vector->raw;
                        return;
                }
        }
        fail_msg("tcId %d: no vector says what is right for its key", invalid->id);
}

struct vectors *vectors_load(const char *hash_name)
{
        struct vectors *vectors = must_alloc(1, sizeof(*vectors));
        json_error_t error;
        json_t *group, *test;
        char path[256];
        size_t i, j;

        snprintf(path, sizeof(path), "interop-tests/vectors/%s.json", hash_name);
        vectors->document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
        if (!vectors->document)
                fail_msg("%s:%d: %s", path, error.line, error.text);
        assert_string_equal(json_string_value(json_object_get(vectors->document, "hash")), hash_name);
        vectors->reduction = json_string_value(json_object_get(vectors->document, "reduction"));
        assert_non_null(vectors->reduction);
        vectors->at = must_alloc((size_t)json_integer_value(json_object_get(vectors->document, "numberOfTests")),
                                 sizeof(*vectors->at));
        json_array_foreach (json_object_get(vectors->document, "testGroups"), i, group)
                json_array_foreach (json_object_get(group, "tests"), j, test)
                        read_test(&vectors->at[vectors->cnt++], test,
                                  json_string_value(json_object_get(group, "name")));
        for (i = 0; i < vectors->cnt; i++)
                if (vectors->at[i].invalid)
                        find_raw(vectors, &vectors->at[i]);
        assert_true(vectors->cnt > 0);
        assert_int_equal(vectors->cnt, json_integer_value(json_object_get(vectors->document, "numberOfTests")));
        return vectors;
}

void vectors_free(struct vectors *vectors)
{
        if (!vectors)
                return;
        for (size_t i = 0; i < vectors->cnt; i++) {
                free(vectors->at[i].key);
                free(vectors->at[i].answers);
        }
        free(vectors->at);
        json_decref(vectors->document);
        free(vectors);
}

/* Puts the key at an offset, between bytes that are others each time: an answer that looks at them gives itself away.
 */
static unsigned char *place(unsigned char *buffer, const struct vector *vector, size_t offset)
{
        static const unsigned char around[] = { 0x00, 0xff, 0x80, 0x41, 0x7f, 0x0a, 0xc3, 0x01 };
        unsigned char filler = around[(offset + (size_t)vector->id) % sizeof(around)];

        memset(buffer, filler, offset);
        memset(buffer + offset + vector->key_len, filler, GUARD);
        if (vector->key_len)
                memcpy(buffer + offset, vector->key, vector->key_len);
        return buffer + offset;
}

static void tell(struct verdict *verdict, const struct vector *vector, size_t offset, const char *what, int64_t got,
                 int64_t want)
{
        if (verdict->first[0])
                return;
        snprintf(verdict->first, sizeof(verdict->first),
                 "tcId %d (%s): %s: key of %zu bytes at offset %zu: %s is %" PRId64 ", which %s %" PRId64 "%s%s",
                 vector->id, vector->group, vector->comment, vector->key_len, offset, what, got,
                 vector->invalid ? "must not be" : "must be", want, vector->client ? "; client: " : "",
                 vector->client ? vector->client : "");
}

/* @returns whether every answer at this offset is right */
static bool ask(struct verdict *verdict, const struct vector *vector, const struct implementation *impl,
                const unsigned char *key, size_t offset, bool (*wanted)(const struct vector *, int32_t))
{
        char what[32];

        if (impl->value && !vector->invalid) {
                uint64_t value = impl->value(impl->self, key, vector->key_len);

                verdict->asked++;
                if (value != vector->value) {
                        tell(verdict, vector, offset, "the hash value", (int64_t)value, (int64_t)vector->value);
                        return false;
                }
        }
        for (size_t i = 0; i < vector->answer_cnt; i++) {
                const struct vector_answer *answer = &vector->answers[i];
                int32_t partition;

                if (wanted && !wanted(vector, answer->partition_cnt))
                        continue;
                partition = impl->partition(impl->self, key, vector->key_len, answer->partition_cnt);
                verdict->asked++;
                if ((partition == answer->partition) == vector->invalid) {
                        snprintf(what, sizeof(what), "the partition of %" PRId32, answer->partition_cnt);
                        tell(verdict, vector, offset, what, partition, answer->partition);
                        return false;
                }
        }
        return true;
}

/* @returns whether the vector passes at every offset */
static bool check_vector(struct verdict *verdict, const struct vector *vector, const struct implementation *impl,
                         size_t alignment_cnt, bool (*wanted)(const struct vector *, int32_t))
{
        unsigned char *buffer = malloc(alignment_cnt + vector->key_len + GUARD);
        bool right = buffer != NULL;

        for (size_t offset = 0; right && offset < alignment_cnt; offset++)
                right = ask(verdict, vector, impl, place(buffer, vector, offset), offset, wanted);
        free(buffer);
        return right;
}

bool vector_passes(const struct vector *vector, const struct implementation *impl)
{
        struct verdict verdict = { 0 };

        return check_vector(&verdict, vector, impl, 1, NULL);
}

struct verdict vectors_check(const struct vectors *vectors, const struct implementation *impl, size_t alignment_cnt,
                             bool (*wanted)(const struct vector *vector, int32_t partition_cnt))
{
        struct verdict verdict = { 0 };

        for (size_t i = 0; i < vectors->cnt; i++)
                verdict.failed += !check_vector(&verdict, &vectors->at[i], impl, alignment_cnt, wanted);
        return verdict;
}
