/*
 * Schemas of who means harm: all that the permitted million bytes can be made to say. Each is compiled, or refused with a
 * text, by a process that has little memory and little time.
 */
#include "key/schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Sanitizers need more of both: theirs is another question. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SECONDS = 120, MEMORY_MB = 0 };
#else
enum { SECONDS = 10, MEMORY_MB = 256 };
#endif

enum { TEXT_MAX = (1 << 20) - 64 };

static const struct kr_schemas *schemas;

struct text {
        char *data;
        size_t len, size;
};

static struct text new_text(size_t size)
{
        struct text text = { malloc(size), 0, size };

        assert_non_null(text.data);
        return text;
}

/* ' stands for ". */
static void add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *fmt, ...)
{
        va_list args;
        int len;

        va_start(args, fmt);
        len = vsnprintf(text->data + text->len, text->size - text->len, fmt, args);
        va_end(args);
        assert_true(len >= 0 && text->len + (size_t)len < text->size);
        for (; len > 0; len--, text->len++)
                if (text->data[text->len] == '\'')
                        text->data[text->len] = '"';
}

static void add_long(struct text *text, char c, size_t cnt)
{
        assert_true(text->len + cnt < text->size);
        memset(text->data + text->len, c, cnt);
        text->len += cnt;
        text->data[text->len] = '\0';
}

/* What the child says: a plan was made, or it was refused with this text. */
struct verdict {
        bool has_plan;
        char text[sizeof(struct kr_error)];
};

static void compile_in_child(const char *writer, const char *reader, const char *path, int out)
{
        struct rlimit time = { SECONDS, SECONDS }, memory = { (rlim_t)MEMORY_MB << 20, (rlim_t)MEMORY_MB << 20 };
        struct kr_avro_projection projection = { &path, *path != '\0', KR_AVRO_AS_JAVA, reader };
        struct kr_error err = { "" };
        struct kr_avro_plan *plan;
        struct verdict verdict;

        if (setrlimit(RLIMIT_CPU, &time) || (MEMORY_MB && setrlimit(RLIMIT_AS, &memory)))
                _exit(3);
        plan = schemas->compile(writer, NULL, 0, &projection, &err);
        verdict.has_plan = plan != NULL;
        memcpy(verdict.text, err.text, sizeof(verdict.text));
        kr_avro_plan_free(plan);
        _exit(write(out, &verdict, sizeof(verdict)) == (ssize_t)sizeof(verdict) ? 0 : 4);
}

static struct verdict compile(const char *name, const char *writer, const char *reader, const char *path)
{
        struct verdict verdict = { 0 };
        int ends[2], status;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        fflush(NULL);
        child = fork();
        assert_true(child >= 0);
        if (!child)
                compile_in_child(writer, reader, path, ends[1]);
        close(ends[1]);
        assert_true(read(ends[0], &verdict, sizeof(verdict)) == (ssize_t)sizeof(verdict) || !verdict.has_plan);
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status)
                print_error("%s: status %d\n", name, status);
        assert_int_equal(status, 0);
        return verdict;
}

/* Refused, with a text that holds `part`; or, where part is NULL, whatever it is: it was bounded. */
static void bounded(const char *name, struct text *writer, const char *reader, const char *path, const char *part)
{
        struct verdict verdict = compile(name, writer->data, reader, path);

        if (part && (verdict.has_plan || !strstr(verdict.text, part))) {
                print_error("%s: %s\n", name, verdict.has_plan ? "compiles" : verdict.text);
                fail();
        }
        free(writer->data);
}

static void test_cycles(void **state)
{
        struct text t = new_text(1 << 20);

        (void)state;
        add(&t, "{'type':'record','name':'A','fields':[{'name':'a','type':'A'},{'name':'id','type':'string'}]}");
        bounded("contains itself", &t, NULL, "id", NULL);
        /* Each record of a long line holds the next, the last one the first. */
        t = new_text(1 << 20);
        add(&t, "[");
        for (int i = 0; t.len < TEXT_MAX - 200; i++)
                add(&t, "%s{'type':'record','name':'R%d','fields':[{'name':'a','type':'R%d'}]}", i ? "," : "", i, i ? i - 1 : 0);
        add(&t, "]");
        bounded("a line of records", &t, NULL, "a", NULL);
        t = new_text(1 << 20);
        add(&t, "[");
        for (int i = 0; i < 3; i++)
                add(&t, "%s{'type':'record','name':'R%d','fields':[{'name':'a','type':['R0','R1','R2']}]}", i ? "," : "", i);
        add(&t, "]");
        bounded("forward references", &t, NULL, "a", NULL);
}

static void test_many_fields(void **state)
{
        struct text t = new_text(64 << 20);

        (void)state;
        add(&t, "{'type':'record','name':'K','fields':[");
        for (int i = 0; i < 1000000; i++)
                add(&t, "%s{'name':'f%d','type':'int'}", i ? "," : "", i);
        add(&t, "]}");
        bounded("10^6 fields", &t, NULL, "f0", "longer than");
        t = new_text(1 << 20);
        add(&t, "{'type':'record','name':'K','fields':[");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, "%s{'name':'f%x','type':'int'}", i ? "," : "", i);
        add(&t, ",{'name':'id','type':'int'}]}");
        bounded("as many as fit", &t, NULL, "id", NULL);
        t = new_text(1 << 20);
        add(&t, "[");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, "%s{'type':'fixed','name':'F%x','size':1}", i ? "," : "", i);
        add(&t, "]");
        bounded("a union of many fixeds", &t, NULL, "", NULL);
        t = new_text(1 << 20);
        add(&t, "[");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, "%s'int'", i ? "," : "");
        add(&t, "]");
        bounded("a union of ints", &t, NULL, "", NULL);
}

static void test_long_names(void **state)
{
        static const char *const before[] = {
                "{'type':'fixed','size':1,'name':'", "{'type':'fixed','size':1,'name':'a','namespace':'",
                "{'type':'record','name':'K','fields':[{'type':'int','name':'", "{'type':'array','items':'",
                "{'type':'enum','name':'E','symbols':['", "{'type':'string','logicalType':'", "'",
        };
        static const char *const behind[] = { "'}", "'}", "'}]}", "'}", "']}", "'}", "'" };

        (void)state;
        for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
                struct text t = new_text(2 << 20);

                add(&t, "%s", before[i]);
                add_long(&t, 'n', 1 << 20);
                add(&t, "%s", behind[i]);
                bounded("a name of 1 MiB", &t, NULL, i == 2 ? "id" : "", "longer than");
                t = new_text(1 << 20);
                add(&t, "%s", before[i]);
                add_long(&t, 'n', 1000000);
                add(&t, "%s", behind[i]);
                bounded("a name of 10^6", &t, NULL, i == 2 ? "id" : "", NULL);
        }
}

static void add_aliases(struct text *t, size_t until)
{
        add(t, "'aliases':[");
        for (unsigned i = 0; t->len < until; i++)
                add(t, "%s'a%x'", i ? "," : "", i);
        add(t, ",'x']");
}

static void test_many_aliases(void **state)
{
        struct text t = new_text(1 << 20), reader = new_text(1 << 20);

        (void)state;
        /* Every branch is compared with every alias of the first. */
        add(&t, "[{'type':'enum','name':'E','symbols':['S'],");
        add_aliases(&t, TEXT_MAX / 2);
        add(&t, "}");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, ",{'type':'enum','name':'E%x','symbols':['S']}", i);
        add(&t, "]");
        bounded("an enum of many aliases", &t, NULL, "", "too large");
        t = new_text(1 << 20);
        add(&t, "[{'type':'fixed','name':'E','size':1,");
        add_aliases(&t, TEXT_MAX / 2);
        add(&t, "}");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, ",{'type':'fixed','name':'E%x','size':1}", i);
        add(&t, "]");
        bounded("a fixed of many aliases", &t, NULL, "", "too large");
        /* Each step of the path looks at all aliases of one field, twice as often as the one before. */
        t = new_text(1 << 20);
        add(&t, "{'type':'record','name':'A','fields':[{'name':'n','type':['null','A',{'type':'record','name':'B',"
                "'fields':[{'name':'x','type':['A','B']}]}],");
        add_aliases(&t, TEXT_MAX - 100);
        add(&t, "},{'name':'id','type':'int'}]}");
        bounded("a field of many aliases", &t, NULL, "x.x.x.x.x.x.x.x.x.x.x.x.x.id", "too large");
        /* The reader's aliases, each looked for among the writer's fields. */
        t = new_text(1 << 20);
        add(&t, "{'type':'record','name':'K','fields':[");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, "%s{'name':'f%x','type':'int'}", i ? "," : "", i);
        add(&t, "]}");
        add(&reader, "{'type':'record','name':'K','fields':[{'name':'id','type':'int',");
        add_aliases(&reader, TEXT_MAX - 100);
        add(&reader, "}]}");
        bounded("a reader of many aliases", &t, reader.data, "id", "too large");
        free(reader.data);
}

static void test_branches_with_symbols(void **state)
{
        struct text t = new_text(1 << 20);

        (void)state;
        /* A field of many records, each with all symbols of one enum. */
        add(&t, "[{'type':'record','name':'R','fields':[{'name':'e','type':{'type':'enum','name':'E','symbols':[");
        for (int i = 0; t.len < TEXT_MAX / 2; i++)
                add(&t, "%s's%x'", i ? "," : "", i);
        add(&t, "]}}]}");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, ",{'type':'record','name':'R%x','fields':[{'name':'e','type':'E'}]}", i);
        add(&t, "]");
        bounded("symbols times branches", &t, NULL, "e", "too large");
        /* Few symbols, but long ones. */
        t = new_text(1 << 20);
        add(&t, "[{'type':'record','name':'R','fields':[{'name':'e','type':{'type':'enum','name':'E','symbols':[");
        for (int i = 0; i < 20; i++) {
                add(&t, "%s'", i ? "," : "");
                add_long(&t, 'a', 25000 + (size_t)i);
                add(&t, "'");
        }
        add(&t, "]}}]}");
        for (int i = 0; t.len < TEXT_MAX - 100; i++)
                add(&t, ",{'type':'record','name':'R%x','fields':[{'name':'e','type':'E'}]}", i);
        add(&t, "]");
        bounded("long symbols times branches", &t, NULL, "e", "too large");
}

static void test_nesting(void **state)
{
        struct text t = new_text(1 << 20);

        (void)state;
        for (int i = 0; i < 40000; i++)
                add(&t, "{'type':'array','items':");
        bounded("arrays, unclosed", &t, NULL, "", "no JSON");
        t = new_text(1 << 20);
        for (int i = 0; i < 1000; i++)
                add(&t, "{'type':");
        add(&t, "'int'");
        add_long(&t, '}', 1000);
        bounded("types of types", &t, NULL, "", "nest deeper");
        t = new_text(1 << 20);
        add_long(&t, '[', 1000);
        add_long(&t, ']', 1000);
        bounded("unions of unions", &t, NULL, "", "nest deeper");
        /* Where the names are not looked for: in defaults and in members that mean nothing. */
        t = new_text(1 << 20);
        add(&t, "{'type':'record','name':'K','doc':");
        add_long(&t, '[', 2000);
        add_long(&t, ']', 2000);
        add(&t, ",'fields':[{'name':'id','type':'int','default':");
        add_long(&t, '[', 2000);
        add_long(&t, ']', 2000);
        add(&t, "}]}");
        bounded("nested defaults", &t, NULL, "id", NULL);
        t = new_text(1 << 20);
        add_long(&t, '[', TEXT_MAX);
        bounded("brackets", &t, NULL, "", "no JSON");
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
                cmocka_unit_test(test_cycles),
                cmocka_unit_test(test_many_fields),
                cmocka_unit_test(test_long_names),
                cmocka_unit_test(test_many_aliases),
                cmocka_unit_test(test_branches_with_symbols),
                cmocka_unit_test(test_nesting),
        };

        return cmocka_run_group_tests(tests, open_schemas, NULL);
}
