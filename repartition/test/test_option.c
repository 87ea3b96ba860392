#include "cli/command.h"
#include "cli/completion.h"
#include "cli/man.h"
#include "cli/option.h"
#include "report/wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct args {
        bool execute;
        bool quiet;
        const char *policy;
        const char *output;
        int64_t partitions;
        int64_t delta;
        int64_t rate, most_ms;
        struct rp_list properties;
};

static const char *const outputs[] = { "text", "json", NULL };
static const struct rp_option first[] = {
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL, "really do it", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "N", "how many partitions there are",
          "12", 1, 1000, NULL },
        { "delta", 0, RP_OPT_COUNT, offsetof(struct args, delta), "N", "a number that may be below zero", NULL, -100,
          100, NULL },
        { "policy", 0, RP_OPT_TEXT, offsetof(struct args, policy), "FILE", "the policy", NULL, 0, 40, NULL },
        { 0 },
};
static const struct rp_option second[] = {
        { "property", 'X', RP_OPT_LIST, offsetof(struct args, properties), "NAME=VALUE",
          "a property of the client, with a text that is far too long for what is left of one line of a terminal", NULL,
          0, 0, NULL },
        { "output", 0, RP_OPT_CHOICE, offsetof(struct args, output), "text|json", "how", "text", 0, 0, outputs },
        { "quiet", 'q', RP_OPT_FLAG, offsetof(struct args, quiet), NULL, "say less", NULL, 0, 0, NULL },
        { 0 },
};
static const struct rp_option *const tables[] = { first, second, NULL };

/* Amounts with units. */
static const struct rp_option amounts[] = {
        { "rate", 0, RP_OPT_SIZE, offsetof(struct args, rate), "SIZE", "so many a second", "1K", 1, 1000000000, NULL },
        { "most", 0, RP_OPT_DURATION, offsetof(struct args, most_ms), "TIME", "no longer", NULL, 1000, 86400000, NULL },
        { 0 },
};
static const struct rp_option *const amount_tables[] = { amounts, NULL };

enum { WORD_MAX = 16 };

/* Words after the command's name; the last is NULL. */
static rp_err_t parse(const char *const *words, struct args *args, char **operands, int *operand_cnt,
                      struct rp_error *err)
{
        static char *argv[WORD_MAX + 2]; /* operands point into it */
        int argc = 1, at = 0;
        rp_err_t rc;

        memset(args, 0, sizeof(*args));
        argv[0] = (char *)"command";
        for (; words[argc - 1]; argc++)
                argv[argc] = (char *)words[argc - 1];
        argv[argc] = NULL;
        rc = rp_options_parse(tables, args, argc, argv, &at, err);
        *operand_cnt = rc == RP_OK ? argc - at : 0;
        for (int i = 0; i < *operand_cnt; i++)
                operands[i] = argv[at + i];
        return rc;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_defaults(void **state)
{
        static const char *const none[] = { NULL };
        struct args args;
        struct rp_error err;
        char *operands[WORD_MAX];
        int cnt;

        (void)state;
        assert_int_equal(parse(none, &args, operands, &cnt, &err), RP_OK);
        assert_int_equal(cnt, 0);
        assert_int_equal(args.partitions, 12);
        assert_string_equal(args.output, "text");
        assert_null(args.policy);
        assert_false(args.execute);
        assert_int_equal(args.properties.cnt, 0);
        rp_options_release(tables, &args);
}

static void test_each_type_in_each_form(void **state)
{
        struct args args;
        struct rp_error err;
        char *operands[WORD_MAX];
        int cnt;

        (void)state;
        assert_int_equal(parse(WORDS("--partitions=7", "SRC", "-X", "a=1", "--policy", "p", "-Xb=2", "--execute", "--",
                                     "--policy", "-q"),
                               &args, operands, &cnt, &err),
                         RP_OK);
        assert_int_equal(args.partitions, 7);
        assert_string_equal(args.policy, "p");
        assert_true(args.execute);
        assert_false(args.quiet);
        assert_int_equal(args.properties.cnt, 2);
        assert_string_equal(args.properties.items[0], "a=1");
        assert_string_equal(args.properties.items[1], "b=2");
        assert_int_equal(cnt, 3);
        assert_string_equal(operands[0], "SRC");
        assert_string_equal(operands[1], "--policy");
        assert_string_equal(operands[2], "-q");
        rp_options_release(tables, &args);
        assert_null(args.properties.items);

        /* The last one of an option that stands alone wins; a name may be cut short; a negative number is an argument. */
        assert_int_equal(parse(WORDS("-p", "3", "--part", "4", "-qp5", "--delta", "-5", "--out=json", "-"), &args,
                               operands, &cnt, &err),
                         RP_OK);
        assert_int_equal(args.partitions, 5);
        assert_int_equal(args.delta, -5);
        assert_true(args.quiet);
        assert_string_equal(args.output, "json");
        assert_int_equal(cnt, 1);
        assert_string_equal(operands[0], "-");
        rp_options_release(tables, &args);
}

static void test_complaints(void **state)
{
        static const struct {
                const char *words[3];
                const char *text;
        } cases[] = {
                { { "--partitoins", "3" }, "unknown option --partitoins; did you mean --partitions?" },
                { { "--partitoins=3" }, "unknown option --partitoins; did you mean --partitions?" },
                { { "--polciy" }, "unknown option --polciy; did you mean --policy?" },
                { { "--wholly-other" }, "unknown option --wholly-other" },
                { { "--p", "3" }, "option --p is ambiguous: --partitions, --policy, --property" },
                { { "--partitions" }, "--partitions needs an argument: N" },
                { { "-X" }, "--property needs an argument: NAME=VALUE" },
                { { "-qX" }, "--property needs an argument: NAME=VALUE" },
                { { "--execute=yes" }, "--execute takes no argument" },
                { { "-z" }, "unknown option -z" },
                { { "-qz" }, "unknown option -z" },
                { { "-5" }, "unknown option -5; operands that begin with \"-\" stand after \"--\"" },
                { { "-\xc3\xa9" }, "unknown option, byte 0xc3 after \"-\"" },
                { { "--partitions", "0" }, "--partitions: expected a whole number from 1 to 1000, got \"0\"" },
                { { "--partitions=1001" }, "--partitions: expected a whole number from 1 to 1000, got \"1001\"" },
                { { "--partitions=" }, "--partitions: expected a whole number from 1 to 1000, got \"\"" },
                { { "--partitions", " 5" }, "expected a whole number" },
                { { "--partitions", "+5" }, "expected a whole number" },
                { { "--partitions", "5x" }, "expected a whole number" },
                { { "--partitions", "0x5" }, "expected a whole number" },
                { { "--partitions", "99999999999999999999" }, "got \"99999999999999999999\"" },
                { { "--delta=-101" }, "--delta: expected a whole number from -100 to 100, got \"-101\"" },
                { { "--output", "xml" }, "--output: expected one of text, json, got \"xml\"" },
                { { "--policy", "" }, "--policy: expected FILE, got an empty argument" },
                { { "--policy", "12345678901234567890123456789012345678901" }, "--policy: expected at most 40 bytes, got 41" },
                { { "--policy=" }, "--policy: expected FILE, got an empty argument" },
                { { "--output=" }, "--output: expected one of text, json, got \"\"" },
        };
        struct args args;
        struct rp_error err;
        char *operands[WORD_MAX];
        int cnt;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                if (parse(cases[i].words, &args, operands, &cnt, &err) != RP_ERR_USAGE)
                        fail_msg("%s was taken", cases[i].words[0]);
                if (!strstr(err.text, cases[i].text))
                        fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].words[0], err.text, cases[i].text);
                rp_options_release(tables, &args);
        }
}

static void test_amounts(void **state)
{
        static const struct {
                const char *option, *text;
                int64_t rate, most_ms; /* both 0: refused */
        } cases[] = {
                { "--rate", "1", 1, 0 },          { "--rate", "10M", 10000000, 0 }, { "--rate", "10mb", 10000000, 0 },
                { "--rate", "512Ki", 524288, 0 }, { "--rate", "1G", 1000000000, 0 }, { "--rate", "7B", 7, 0 },
                { "--most", "1s", 1000, 1000 },   { "--most", "24h", 1000, 86400000 }, { "--most", "1d", 1000, 86400000 },
                { "--most", "1500ms", 1000, 1500 }, { "--most", "5m", 1000, 300000 },
                { "--rate", "0", 0, 0 },    { "--rate", "1001M", 0, 0 }, { "--rate", "1.5M", 0, 0 }, { "--rate", "M", 0, 0 },
                { "--rate", "10 M", 0, 0 }, { "--rate", "-1K", 0, 0 },   { "--rate", "+1K", 0, 0 },  { "--rate", "1KK", 0, 0 },
                { "--rate", "", 0, 0 },     { "--rate", "9223372036854775808", 0, 0 }, { "--rate", "9223372036854775807T", 0, 0 },
                { "--most", "60", 0, 0 },   { "--most", "999ms", 0, 0 }, { "--most", "2d", 0, 0 },   { "--most", "5M", 0, 0 },
        };
        struct rp_error err;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char *argv[] = { (char *)"command", (char *)cases[i].option, (char *)cases[i].text, NULL };
                struct args args = { 0 };
                int at;
                rp_err_t rc = rp_options_parse(amount_tables, &args, 3, argv, &at, &err);

                if (!cases[i].rate) {
                        if (rc != RP_ERR_USAGE || strncmp(err.text, cases[i].option, 6) || !strstr(err.text, "a whole number"))
                                fail_msg("%s %s was taken, or: %s", cases[i].option, cases[i].text, err.text);
                        continue;
                }
                if (rc != RP_OK)
                        fail_msg("%s", err.text);
                assert_int_equal(args.rate, cases[i].rate);
                assert_int_equal(args.most_ms, cases[i].most_ms);
        }
}

static void test_complaints_are_bounded(void **state)
{
        static char word[5000];
        struct args args;
        struct rp_error err;
        char *operands[WORD_MAX];
        int cnt;

        (void)state;
        memset(word, 'a', sizeof(word) - 1);
        word[0] = word[1] = '-';
        assert_int_equal(parse(WORDS(word), &args, operands, &cnt, &err), RP_ERR_USAGE);
        assert_true(strlen(err.text) < 120);
        assert_int_equal(parse(WORDS("--output", word), &args, operands, &cnt, &err), RP_ERR_USAGE);
        assert_true(strlen(err.text) < 200);
}

/* What a function prints, as a string that the caller frees. */
static void capture(void (*print)(FILE *), char **text)
{
        size_t size = 0;
        FILE *out = open_memstream(text, &size);

        print(out);
        fclose(out);
}

static void print_help(FILE *out)
{
        rp_options_help(tables, out);
}

static void assert_narrow(const char *text)
{
        while (*text) {
                size_t len = strcspn(text, "\n");

                if (len > RP_HELP_WIDTH)
                        fail_msg("%zu columns: %.*s", len, (int)len, text);
                if (len && text[len - 1] == ' ')
                        fail_msg("blank at the end: %.*s", (int)len, text);
                text += len + (text[len] == '\n');
        }
}

static void test_help(void **state)
{
        char *text = NULL;

        (void)state;
        capture(print_help, &text);
        assert_string_equal(text, "      --execute               really do it\n"
                                  "  -p, --partitions N          how many partitions there are (default 12)\n"
                                  "      --delta N               a number that may be below zero\n"
                                  "      --policy FILE           the policy\n"
                                  "  -X, --property NAME=VALUE   a property of the client, with a text that is far\n"
                                  "                              too long for what is left of one line of a\n"
                                  "                              terminal\n"
                                  "      --output text|json      how (default text)\n"
                                  "  -q, --quiet                 say less\n");
        free(text);
}

static void print_every_help(FILE *out)
{
        for (size_t i = 0; rp_commands[i]; i++) {
                rp_wrap(out, rp_commands[i]->description, 0, 0);
                rp_options_help(rp_commands[i]->options, out);
        }
}

static void test_every_command_fits_a_terminal(void **state)
{
        char *text = NULL;

        (void)state;
        capture(print_every_help, &text);
        assert_narrow(text);
        free(text);
}

/* Names, letters and defaults of the real commands are sound: the parser trusts them. */
static void test_rows_are_sound(void **state)
{
        const struct rp_option *opt, *other;

        (void)state;
        for (size_t c = 0; rp_commands[c]; c++) {
                rp_option_tables_t rows = rp_commands[c]->options;
                void *args = calloc(1, rp_commands[c]->args_size);
                char *argv[] = { (char *)rp_commands[c]->name, NULL };
                struct rp_error err;
                int at;

                for (size_t i = 0; (opt = rp_options_at(rows, i)); i++) {
                        if (!opt->help || (opt->type == RP_OPT_FLAG) != !opt->arg ||
                            (opt->type == RP_OPT_CHOICE) != !!opt->choices || opt->help[strlen(opt->help) - 1] == '.')
                                fail_msg("%s --%s: the row is not whole", rp_commands[c]->name, opt->name);
                        for (size_t j = 0; j < i && (other = rp_options_at(rows, j)); j++)
                                if (!strcmp(opt->name, other->name) || (opt->letter && opt->letter == other->letter) ||
                                    opt->offset == other->offset)
                                        fail_msg("%s --%s and --%s collide", rp_commands[c]->name, opt->name,
                                                 other->name);
                }
                assert_int_equal(rp_options_parse(rows, args, 1, argv, &at, &err), RP_OK);
                rp_options_release(rows, args);
                free(args);
        }
}

static void test_man_and_completion_have_every_option(void **state)
{
        char *man = NULL;
        char *completion = NULL;
        const struct rp_option *opt;

        (void)state;
        capture(rp_man_print, &man);
        capture(rp_completion_print, &completion);
        for (size_t c = 0; rp_commands[c]; c++) {
                char heading[80], line[80];
                const char *section, *words, *end;

                snprintf(heading, sizeof(heading), ".Ss repartition %s\n", rp_commands[c]->name);
                section = strstr(man, heading);
                snprintf(heading, sizeof(heading), "       %s) words='", rp_commands[c]->name);
                words = strstr(completion, heading);
                if (!section || !words)
                        fail_msg("%s is missing", rp_commands[c]->name);
                for (size_t i = 0; (opt = rp_options_at(rp_commands[c]->options, i)); i++) {
                        snprintf(line, sizeof(line), "Fl Fl %s%c", opt->name, opt->arg ? ' ' : '\n');
                        end = strstr(section, line);
                        if (!end || (strstr(section + 1, ".Ss ") && end > strstr(section + 1, ".Ss ")))
                                fail_msg("%s --%s is not in the man page", rp_commands[c]->name, opt->name);
                        snprintf(line, sizeof(line), "--%s", opt->name);
                        end = strstr(words, line);
                        if (!end || end > strchr(words, '\n'))
                                fail_msg("%s --%s is not in the completion", rp_commands[c]->name, opt->name);
                }
        }
        free(man);
        free(completion);
}

static void test_wrap(void **state)
{
        static const struct {
                const char *text;
                size_t column, indent;
                const char *want;
        } cases[] = {
                { "", 0, 0, "\n" },
                { "one  two\nthree", 0, 0, "one two three\n" },
                { "one\n\ntwo", 0, 2, "one\n\n  two\n" },
                { "see:\n  stands   so\n  and so\nthen on", 0, 0, "see:\n  stands   so\n  and so\nthen on\n" },
                { "see:\n\n  stands\n\nthen", 0, 0, "see:\n\n  stands\n\nthen\n" },
                { "ends\n", 0, 0, "ends\n" },
                { "12345 67890", 70, 4, "12345\n    67890\n" },
                { "1234 6789", 71, 4, "1234 6789\n" },
                { "123\xc3\xa9 678\xc3\xa9", 71, 4, "123\xc3\xa9 678\xc3\xa9\n" }, /* columns, not bytes */
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char *text = NULL;
                size_t size = 0;
                FILE *out = open_memstream(&text, &size);

                rp_wrap(out, cases[i].text, cases[i].column, cases[i].indent);
                fclose(out);
                assert_string_equal(text, cases[i].want);
                free(text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_each_type_in_each_form),
                cmocka_unit_test(test_complaints),
                cmocka_unit_test(test_amounts),
                cmocka_unit_test(test_complaints_are_bounded),
                cmocka_unit_test(test_help),
                cmocka_unit_test(test_every_command_fits_a_terminal),
                cmocka_unit_test(test_rows_are_sound),
                cmocka_unit_test(test_man_and_completion_have_every_option),
                cmocka_unit_test(test_wrap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
