/* Avro keys: what routes is said by naming the plain bytes that must land in the same place. */
#include "key/schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kr_schemas *schemas;

static struct kr_avro_plan *compile(const char *writer, const char *reader, kr_avro_form_t form, const char *paths,
                                    struct kr_error *err)
{
        char copy[256], *rest = copy, *path;
        const char *list[KR_AVRO_SLOT_MAX];
        struct kr_avro_projection projection = { list, 0, form, reader };

        snprintf(copy, sizeof(copy), "%s", paths);
        while ((path = strtok_r(rest, ",", &rest)))
                list[projection.path_cnt++] = path;
        return schemas->compile(writer, NULL, 0, &projection, err);
}

static void assert_projects(const char *writer, const char *reader, kr_avro_form_t form, const char *paths,
                            const char *key, size_t key_len, const char *want, size_t want_len)
{
        struct kr_error err = { "" };
        struct kr_avro_plan *plan = compile(writer, reader, form, paths, &err);
        unsigned char *exact = malloc(key_len + 1); /* so that a sanitizer sees one byte too many */
        struct kr_bytes bytes = { exact, key_len };
        struct kr_scratch scratch = { .used = 0 };

        if (!plan)
                fail_msg("%s: %s", writer, err.text);
        exact = realloc(exact, key_len ? key_len : 1);
        bytes.data = exact;
        memcpy(exact, key, key_len);
        if (want) {
                assert_int_equal(kr_avro_plan_project(plan, &bytes, &scratch), KR_KEY_PROJECTED);
                assert_int_equal(bytes.len, want_len);
                assert_memory_equal(bytes.data, want, want_len);
        } else {
                assert_int_equal(kr_avro_plan_project(plan, &bytes, &scratch), KR_KEY_MISSING);
        }
        free(exact);
        kr_avro_plan_free(plan);
}

#define JAVA(writer, reader, path, key, want) \
        assert_projects(writer, reader, KR_AVRO_AS_JAVA, path, key, sizeof(key) - 1, want, sizeof(want) - 1)
#define AVRO(writer, reader, paths, key, want) \
        assert_projects(writer, reader, KR_AVRO_AS_AVRO, paths, key, sizeof(key) - 1, want, sizeof(want) - 1)
#define MISSES(writer, reader, path, key) \
        assert_projects(writer, reader, KR_AVRO_AS_JAVA, path, key, sizeof(key) - 1, NULL, 0)

static void assert_refused(const char *writer, const char *reader, kr_avro_form_t form, const char *paths,
                           const char *expected)
{
        struct kr_error err = { "" };

        assert_null(compile(writer, reader, form, paths, &err));
        if (!strstr(err.text, expected))
                fail_msg("expected \"%s\" in: %s", expected, err.text);
}

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"K\",\"namespace\":\"n\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static void test_the_datum_itself(void **state)
{
        (void)state;
        JAVA("\"string\"", NULL, "", "\x0a" "alice", "alice");
        JAVA("\"bytes\"", NULL, "", "\x04" "\0\xff", "\0\xff");
        JAVA("\"int\"", NULL, "", "\x54", "\0\0\0\x2a");
        JAVA("\"long\"", NULL, "", "\x01", "\xff\xff\xff\xff\xff\xff\xff\xff");
        JAVA("{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}", NULL, "", "abc", "abc");
        JAVA("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"BC\"]}", NULL, "", "\x02", "BC");
        JAVA("\"boolean\"", NULL, "", "\x01", "\x01");
        JAVA("\"float\"", NULL, "", "\0\0\x80\x3f", "\x3f\x80\0\0");
        JAVA("\"double\"", NULL, "", "\0\0\0\0\0\0\xf0\x3f", "\x3f\xf0\0\0\0\0\0\0");
        AVRO("\"string\"", NULL, "", "\x0a" "alice", "\x0a" "alice");
}

static void test_fields(void **state)
{
        static const char schema[] = RECORD(FIELD("a", "\"long\"") "," FIELD("id", "\"string\"") "," FIELD("n", "\"int\""));

        (void)state;
        JAVA(schema, NULL, "id", "\x02\x0a" "alice" "\x06", "alice");
        AVRO(schema, NULL, "id,n", "\x02\x0a" "alice" "\x06", "\x0a" "alice" "\x06");
        AVRO(schema, NULL, "n,id", "\x02\x0a" "alice" "\x06", "\x06\x0a" "alice");
        /* Bytes behind the last wanted field are not looked at. */
        JAVA(schema, NULL, "id", "\x02\x0a" "alice", "alice");
        MISSES(schema, NULL, "id", "\x02\x0a" "alic");
        MISSES(schema, NULL, "id", "");
        MISSES(schema, NULL, "id", "\x02\x01");
        MISSES(schema, NULL, "id", "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "x");
}

static void test_everything_is_skipped(void **state)
{
        static const char schema[] = RECORD(
                FIELD("b", "\"boolean\"") "," FIELD("f", "\"float\"") "," FIELD("d", "\"double\"") ","
                FIELD("x", "{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}") ","
                FIELD("e", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}") ","
                FIELD("u", "[\"null\",\"string\",\"F\"]") ","
                FIELD("l", "{\"type\":\"array\",\"items\":\"string\"}") ","
                FIELD("m", "{\"type\":\"map\",\"values\":\"int\"}") ","
                FIELD("z", "{\"type\":\"array\",\"items\":\"null\"}") "," FIELD("id", "\"string\""));

        (void)state;
        JAVA(schema, NULL, "id",
             "\x01" "ffff" "dddddddd" "xx" "\x02" "\x02\x02s" "\x04\x02" "a" "\x02" "b" "\0" "\x02\x02k\x01\0" "\x80\x94\xeb\xdc\x03\0"
             "\x04ok", "ok");
        /* Negative counts carry the block's size; items need not even be looked at. */
        JAVA(schema, NULL, "id", "\0" "ffff" "dddddddd" "xx" "\0" "\0" "\x03\x08" "????" "\0"
             "\x01\x06" "???" "\0" "\x01\0\0" "\x04ok", "ok");
}

static void test_unions(void **state)
{
        static const char schema[] = RECORD(FIELD("id", "[\"null\",\"string\",\"long\"]") "," FIELD("n", "\"int\""));

        (void)state;
        JAVA(schema, NULL, "id", "\x02\x04me\x02", "me");
        JAVA(schema, NULL, "id", "\x04\x02\x02", "\0\0\0\0\0\0\0\x01");
        MISSES(schema, NULL, "id", "\0\x02");
        MISSES(schema, NULL, "id", "\x06\x02");
        AVRO(schema, NULL, "id,n", "\0\x02", "\0\x02");
        AVRO(schema, NULL, "id,n", "\x02\x04me\x02", "\x02\x04me\x02");
}

static void test_paths(void **state)
{
        static const char schema[] =
                RECORD(FIELD("c", "[\"null\",{\"type\":\"record\",\"name\":\"C\",\"fields\":[" FIELD("x", "\"int\"") ","
                       FIELD("id", "\"string\"") "," FIELD("y", "\"string\"") "]}]") "," FIELD("old", "\"n.C\"") ","
                       FIELD("r", "\"string\""));

        (void)state;
        JAVA(schema, NULL, "c.id", "\x02\x02\x04me\x02y" "\x02\x02o\x02y\x02r", "me");
        MISSES(schema, NULL, "c.id", "\0" "\x02\x02o\x02y\x02r");
        JAVA(schema, NULL, "old.id", "\0" "\x02\x02o\x02y\x02r", "o");
        AVRO(schema, NULL, "r,c.id,c.x", "\x02\x02\x04me\x02y" "\x02\x02o\x02y\x02r", "\x02r" "\x04me" "\x02");
}

static void test_recursion(void **state)
{
        static const char schema[] = RECORD(FIELD("next", "[\"null\",\"n.K\"]") "," FIELD("id", "\"string\""));
        char key[2 * 100 + 3 * 101 + 1];
        size_t len = 0;

        (void)state;
        JAVA(schema, NULL, "id", "\x02\x02\0\x02" "c\x02" "b\x02" "a", "a");
        /* Deeper than the walker goes: a defined outcome, no stack of ours. */
        for (int i = 0; i < 100; i++)
                key[len++] = 2;
        key[len++] = 0;
        for (int i = 0; i < 101; i++, len += 2)
                memcpy(key + len, "\x02x", 2);
        assert_projects(schema, NULL, KR_AVRO_AS_JAVA, "id", key, len, NULL, 0);
        MISSES("{\"type\":\"record\",\"name\":\"K\",\"fields\":[" FIELD("k", "\"K\"") "," FIELD("id", "\"string\"") "]}", NULL,
               "id", "\x02x");
}

static void test_resolution(void **state)
{
        static const char v1[] = RECORD(FIELD("id", "\"int\""));
        static const char v2[] = RECORD("{\"name\":\"key\",\"aliases\":[\"id\"],\"type\":\"long\"},"
                                        "{\"name\":\"zone\",\"type\":[\"string\",\"null\"],\"default\":\"eu\"}");

        (void)state;
        /* int became long and got a new name: under the new reader's schema both route alike. */
        JAVA(v1, v2, "key", "\x54", "\0\0\0\0\0\0\0\x2a");
        JAVA(v2, v2, "key", "\x54\0\x04us", "\0\0\0\0\0\0\0\x2a");
        JAVA(v2, NULL, "id", "\x54\0\x04us", "\0\0\0\0\0\0\0\x2a");
        AVRO(v1, v2, "zone,key", "\x54", "\0\x04" "eu\x54");
        AVRO(v2, v2, "zone,key", "\x54\x02", "\x02\x54");
        JAVA(RECORD(FIELD("id", "\"int\"")), RECORD(FIELD("id", "\"double\"")), "id", "\x02", "\x3f\xf0\0\0\0\0\0\0");
        JAVA(RECORD(FIELD("id", "\"float\"")), RECORD(FIELD("id", "\"double\"")), "id", "\0\0\x80\x3f", "\x3f\xf0\0\0\0\0\0\0");
        AVRO(RECORD(FIELD("id", "\"int\"")), RECORD(FIELD("id", "[\"null\",\"string\",\"long\"]")), "id", "\x54", "\x04\x54");
        AVRO(RECORD(FIELD("id", "\"string\"")), RECORD(FIELD("id", "\"bytes\"")), "id", "\x04hi", "\x04hi");
        MISSES(RECORD(FIELD("id", "[\"null\",\"int\"]")), RECORD(FIELD("id", "\"string\"")), "id", "\x02\x02");
        MISSES(RECORD(FIELD("id", "\"long\"")), RECORD(FIELD("id", "\"int\"")), "id", "\x02");
        JAVA(RECORD(FIELD("e", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\",\"C\"]}")),
             RECORD(FIELD("e", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"C\",\"OTHER\"],\"default\":\"OTHER\"}")),
             "e", "\x02", "OTHER");
}

#define NAMED(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"

static void test_a_default_counts_only_where_its_record_is(void **state)
{
        static const char old[] = RECORD(FIELD("c", "[\"null\"," NAMED("C", FIELD("x", "\"int\"")) "]"));
        static const char new[] = RECORD(FIELD("c", "[\"null\"," NAMED("C", "{\"name\":\"z\",\"type\":\"string\",\"default\":\"eu\"}") "]"));
        static const char whole[] = RECORD("{\"name\":\"c\",\"type\":" NAMED("C", FIELD("x", "\"int\"") ",{\"name\":\"z\",\"type\":\"string\",\"default\":\"eu\"}")
                                           ",\"default\":{\"x\":7}}");

        (void)state;
        JAVA(old, new, "c.z", "\x02\x02", "eu");
        MISSES(old, new, "c.z", "\0");
        AVRO(old, new, "c.z", "\x02\x02", "\x04" "eu");
        /* A default of a whole record is taken apart, and fills its own gaps. */
        AVRO(RECORD(FIELD("a", "\"int\"")), whole, "c.x,c.z", "\x02", "\x0e\x04" "eu");
        /* A default of bytes may hold U+0000, which no other text here may. */
        JAVA(RECORD(FIELD("a", "\"int\"")), RECORD("{\"name\":\"z\",\"type\":\"bytes\",\"default\":\"\\u0000\\u00ff\"}"), "z", "\x02", "\0\xff");
        /* Of a union, the first branch that it fits. */
        AVRO(RECORD(FIELD("a", "\"int\"")), RECORD("{\"name\":\"z\",\"type\":[\"null\",\"long\"],\"default\":null}"), "z", "\x02", "\0");
        MISSES(RECORD(FIELD("a", "\"int\"")), RECORD("{\"name\":\"z\",\"type\":[\"null\",\"long\"],\"default\":null}"), "z", "\x02");
        AVRO(RECORD(FIELD("a", "\"int\"")), RECORD("{\"name\":\"z\",\"type\":[\"null\",\"long\"],\"default\":5}"), "z", "\x02", "\x02\x0a");
}

static void test_unions_of_records_and_names(void **state)
{
        static const char two[] = RECORD(FIELD("c", "[" NAMED("A", FIELD("x", "\"int\"") "," FIELD("id", "\"string\"")) ","
                                               NAMED("B", FIELD("y", "\"int\"")) "]"));
        static const char spaces[] = "[{\"type\":\"enum\",\"name\":\"a.E\",\"symbols\":[\"X\"]},"
                                     "{\"type\":\"enum\",\"name\":\"b.E\",\"symbols\":[\"Y\"]}]";

        (void)state;
        /* One record of a union has the field, the other does not: there it is missing. */
        JAVA(two, NULL, "c.id", "\0\x02\x04me", "me");
        MISSES(two, NULL, "c.id", "\x02\x02");
        assert_refused(two, NULL, KR_AVRO_AS_JAVA, "c.nowhere", "nowhere");
        /* The branch of the same full name, not the first of the same unqualified one. */
        AVRO(spaces, NULL, "", "\x02\0", "\x02\0");
        JAVA(spaces, NULL, "", "\x02\0", "Y");
        AVRO("{\"type\":\"enum\",\"name\":\"b.E\",\"symbols\":[\"Y\"]}", spaces, "", "\0", "\x02\0");
        /* By an alias, with its namespace or in the reader's. */
        JAVA("{\"type\":\"fixed\",\"name\":\"n.F\",\"size\":2}",
             "{\"type\":\"fixed\",\"name\":\"n.G\",\"aliases\":[\"F\"],\"size\":2}", "", "ab", "ab");
        JAVA("{\"type\":\"fixed\",\"name\":\"n.F\",\"size\":2}",
             "{\"type\":\"fixed\",\"name\":\"m.G\",\"aliases\":[\"n.F\"],\"size\":2}", "", "ab", "ab");
        /* The specification compares fixeds and enums by their unqualified names. */
        JAVA("{\"type\":\"fixed\",\"name\":\"n.F\",\"size\":2}", "{\"type\":\"fixed\",\"name\":\"m.F\",\"size\":2}", "", "ab",
             "ab");
        MISSES("{\"type\":\"fixed\",\"name\":\"n.F\",\"size\":2}", "{\"type\":\"fixed\",\"name\":\"n.G\",\"size\":2}", "", "ab");
}

/* A chain of records, each with two fields of the next: 2^cnt values, of what the last one holds. */
static void chain(char *text, int cnt, const char *last)
{
        char *at = text + sprintf(text, "{\"type\":\"record\",\"name\":\"K\",\"fields\":[");

        for (int i = 0; i < cnt; i++) /* defined from the end, so that nothing nests */
                at += i ? sprintf(at, ",{\"name\":\"d%d\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"R%d\","
                                      "\"fields\":[{\"name\":\"a\",\"type\":\"R%d\"},{\"name\":\"b\",\"type\":\"R%d\"}]}}}", i, i, i - 1, i - 1)
                        : sprintf(at, "{\"name\":\"d0\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"R0\","
                                      "\"fields\":[{\"name\":\"x\",\"type\":%s}]}}}", last);
        sprintf(at, ",{\"name\":\"r\",\"type\":\"R%d\"},{\"name\":\"id\",\"type\":\"string\"}]}", cnt - 1);
}

static void test_exponential_schemas_cost_what_their_bytes_cost(void **state)
{
        enum { LEVELS = 60 };
        char *text = malloc(1 << 16), key[LEVELS + 16] = { 0 };

        (void)state;
        assert_non_null(text);
        /* 2^59 nulls take no bytes and no time. */
        chain(text, LEVELS, "\"null\"");
        memcpy(key + LEVELS, "\x04ok", 3);
        assert_projects(text, NULL, KR_AVRO_AS_JAVA, "id", key, LEVELS + 3, "ok", 2);
        /* An array of 2^61 of them neither. */
        memcpy(key, "\xfe\xff\xff\xff\xff\xff\xff\xff\x3f", 9);
        assert_projects(text, NULL, KR_AVRO_AS_JAVA, "id", key, LEVELS + 9 + 3 - 1, NULL, 0);
        /* 2^59 bytes are not there. */
        chain(text, LEVELS, "\"boolean\"");
        assert_projects(text, NULL, KR_AVRO_AS_JAVA, "id", key, 0, NULL, 0);
        memset(key, 0, sizeof(key));
        assert_projects(text, NULL, KR_AVRO_AS_JAVA, "id", key, sizeof(key), NULL, 0);
        free(text);
}

/* Each step of the path may go through any of many records: their number to the power of its length. */
static void test_a_path_through_wide_unions_is_refused(void **state)
{
        enum { RECORDS = 400 };
        char *text = malloc(1 << 20), *at = text;
        struct kr_error err = { "" };

        (void)state;
        assert_non_null(text);
        at += sprintf(at, "{\"type\":\"record\",\"name\":\"K\",\"fields\":[{\"name\":\"a\",\"type\":[");
        for (int i = 0; i < RECORDS; i++)
                at += sprintf(at, "%s{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"K\"]},"
                              "{\"name\":\"id\",\"type\":\"string\"}]}", i ? "," : "", i);
        sprintf(at, "]}]}");
        assert_null(compile(text, NULL, KR_AVRO_AS_JAVA, "a.a.a.a.a.a.a.a.a.a.a.id", &err));
        assert_non_null(strstr(err.text, "too large"));
        free(text);
}

static void test_long_enums_cost_their_sum(void **state)
{
        enum { SYMBOLS = 60000 };
        char *text = malloc(1 << 20), *at = text, key[3] = { (char)0xbe, (char)0xa9, 7 };

        (void)state;
        assert_non_null(text);
        at += sprintf(at, "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[");
        for (int i = 0; i < SYMBOLS; i++)
                at += sprintf(at, "%s\"S%d\"", i ? "," : "", i);
        sprintf(at, "]}");
        assert_projects(text, text, KR_AVRO_AS_JAVA, "", key, 3, "S59999", 6);
        free(text);
}

static void test_sizes_beyond_32_bits(void **state)
{
        (void)state;
        MISSES(RECORD(FIELD("f", "{\"type\":\"fixed\",\"name\":\"F\",\"size\":4294967297}") "," FIELD("id", "\"string\"")), NULL, "id",
               "x\x04ok");
        MISSES("{\"type\":\"fixed\",\"name\":\"F\",\"size\":4294967297}", NULL, "", "x");
}

static void test_integers_are_spelled_anew(void **state)
{
        (void)state;
        /* 42 in three bytes where one would do. */
        AVRO("\"long\"", NULL, "", "\xd4\x80\0", "\x54");
        MISSES("\"int\"", NULL, "", "\xff\xff\xff\xff\x7f");
        AVRO("\"string\"", NULL, "", "\x84\0hi", "\x04hi");
}

static void test_a_leading_dot_means_no_namespace(void **state)
{
        (void)state;
        AVRO("{\"type\":\"record\",\"name\":\".R\",\"namespace\":\"n\",\"fields\":[" FIELD("r", "[\"null\",\"R\"]") ","
             FIELD("id", "\"string\"") "]}", NULL, "id", "\0\x04hi", "\x04hi");
        assert_refused("{\"type\":\"record\",\"name\":\".R\",\"namespace\":\"n\",\"fields\":["
                       FIELD("r", "{\"type\":\"record\",\"name\":\"R\",\"fields\":[]}") "]}",
                       NULL, KR_AVRO_AS_JAVA, "id", "two types are called \"R\"");
}

static void test_refusals(void **state)
{
        (void)state;
        assert_refused("nonsense", NULL, KR_AVRO_AS_JAVA, "", "no JSON");
        assert_refused("\"strnig\"", NULL, KR_AVRO_AS_JAVA, "", "no Avro schema");
        assert_refused("{\"type\":\"record\",\"name\":\"K\"}", NULL, KR_AVRO_AS_JAVA, "id", "no Avro schema");
        assert_refused(RECORD(FIELD("id", "\"string\"")), NULL, KR_AVRO_AS_JAVA, "key", "n.K has no field \"key\"");
        assert_refused(RECORD(FIELD("id", "\"string\"")), NULL, KR_AVRO_AS_JAVA, "", "a wanted field is a record");
        assert_refused(RECORD(FIELD("id", "{\"type\":\"array\",\"items\":\"int\"}")), NULL, KR_AVRO_AS_JAVA, "id",
                       "a wanted field is an array");
        assert_refused(RECORD(FIELD("id", "{\"type\":\"map\",\"values\":\"int\"}")), NULL, KR_AVRO_AS_JAVA, "id.x",
                       "array or map");
        assert_refused(RECORD(FIELD("id", "\"string\"")), NULL, KR_AVRO_AS_JAVA, "id.x", "found a plain value");
        assert_refused(RECORD(FIELD("id", "\"string\"")), NULL, KR_AVRO_AS_AVRO, "id,id", "named twice");
        assert_refused(RECORD(FIELD("id", "\"string\"")), RECORD(FIELD("x", "\"string\"")), KR_AVRO_AS_JAVA, "x",
                       "no default");
        assert_refused(RECORD(FIELD("id", "\"string\"")), "{", KR_AVRO_AS_JAVA, "id", "the reader's schema is no JSON");
        assert_refused(RECORD(FIELD("id", "\"string\"")), NULL, KR_AVRO_AS_JAVA, "id.", "no path of a field");
        assert_refused(RECORD(FIELD("id\\u0000", "\"string\"")), NULL, KR_AVRO_AS_JAVA, "id", "no Avro schema");
}

static void test_a_schema_of_hostile_size_is_refused(void **state)
{
        enum { FIELDS = 1000000 };
        char *text = malloc(FIELDS * 40u), *at = text;
        struct kr_error err;

        (void)state;
        assert_non_null(text);
        at += sprintf(at, "{\"type\":\"record\",\"name\":\"K\",\"fields\":[");
        for (int i = 0; i < FIELDS; i++)
                at += sprintf(at, "%s{\"name\":\"f%d\",\"type\":\"int\"}", i ? "," : "", i);
        sprintf(at, "]}");
        assert_null(compile(text, NULL, KR_AVRO_AS_JAVA, "f0", &err));
        assert_non_null(strstr(err.text, "longer than"));
        at = text;
        for (int i = 0; i < 200; i++)
                at += sprintf(at, "{\"type\":\"array\",\"items\":");
        at += sprintf(at, "\"int\"");
        for (int i = 0; i < 200; i++)
                *at++ = '}';
        *at = '\0';
        assert_null(compile(text, NULL, KR_AVRO_AS_JAVA, "", &err));
        assert_non_null(strstr(err.text, "nest deeper"));
        free(text);
}

static int open_schemas(void **state)
{
        struct kr_error err = { "" };

        (void)state;
        schemas = kr_schemas_open(&err);
        if (!schemas)
                print_error("%s\n", err.text);
        return !schemas;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_datum_itself),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_everything_is_skipped),
                cmocka_unit_test(test_unions),
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_recursion),
                cmocka_unit_test(test_resolution),
                cmocka_unit_test(test_a_default_counts_only_where_its_record_is),
                cmocka_unit_test(test_unions_of_records_and_names),
                cmocka_unit_test(test_exponential_schemas_cost_what_their_bytes_cost),
                cmocka_unit_test(test_a_path_through_wide_unions_is_refused),
                cmocka_unit_test(test_long_enums_cost_their_sum),
                cmocka_unit_test(test_sizes_beyond_32_bits),
                cmocka_unit_test(test_integers_are_spelled_anew),
                cmocka_unit_test(test_a_leading_dot_means_no_namespace),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_a_schema_of_hostile_size_is_refused),
        };

        return cmocka_run_group_tests(tests, open_schemas, NULL);
}
