#include "cli/option.h"

#include "io/standard.h"
#include "quantity.h"
#include "report/text.h"
#include "report/wrap.h"
#include "topic_name.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_MAX = 96, LONG_ONLY = 256, NAME_MAX_LEN = 40, HELP_COLUMN = 30 };

/* Visits the rows of all tables in order. */
#define FOREACH_OPTION(tables, opt)                      \
        for (rp_option_tables_t t_ = (tables); *t_; t_++) \
                for (const struct rp_option *opt = *t_; opt->name; opt++)

static void *field(void *args, const struct rp_option *opt)
{
        return (char *)args + opt->offset;
}

static rp_err_t fail_value(const struct rp_option *opt, const char *text, struct rp_error *err)
{
        char list[200] = "";

        if (opt->type == RP_OPT_COUNT)
                return rp_fail(err, RP_ERR_USAGE, "--%s: expected a whole number from %" PRId64 " to %" PRId64
                               ", got \"%.60s\"", opt->name, opt->min, opt->max, text);
        if (opt->type == RP_OPT_SIZE)
                return rp_fail(err, RP_ERR_USAGE, "--%s: expected " RP_SIZE_FORM ", from %" PRId64 " to %" PRId64
                               ", got \"%.60s\"", opt->name, opt->min, opt->max, text);
        if (opt->type == RP_OPT_DURATION)
                return rp_fail(err, RP_ERR_USAGE, "--%s: expected " RP_DURATION_FORM ", from %s to %s, got \"%.60s\"",
                               opt->name, rp_text_duration(opt->min).s, rp_text_duration(opt->max).s, text);
        for (size_t i = 0, used = 0; opt->choices[i]; i++)
                used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", opt->choices[i]);
        return rp_fail(err, RP_ERR_USAGE, "--%s: expected one of %s, got \"%.60s\"", opt->name, list, text);
}

static bool is_list(const struct rp_option *opt)
{
        return opt->type == RP_OPT_LIST || opt->type == RP_OPT_INPUTS || opt->type == RP_OPT_PATHS;
}

/* "-" for a file: what it stands for goes to *text. */
static rp_err_t take_standard(const struct rp_option *opt, const char **text, struct rp_error *err)
{
        struct rp_error why;
        rp_err_t rc;

        switch (opt->type) {
        case RP_OPT_INPUT:
        case RP_OPT_INPUTS:
                rc = rp_standard_in_hold(text, &why);
                break;
        case RP_OPT_STREAM:
                rc = rp_standard_in_claim(&why);
                break;
        case RP_OPT_OUTPUT:
                rc = rp_standard_out_claim(&why);
                break;
        case RP_OPT_PATH:
        case RP_OPT_PATHS:
                return rp_fail(err, RP_ERR_USAGE, "--%s: \"-\" is standard input or output, and this must be a name that can be "
                               "looked for again, such as ./-", opt->name);
        default:
                return RP_OK;
        }
        return rc == RP_OK ? RP_OK : rp_fail(err, rc, "--%s: %s", opt->name, why.text);
}

static rp_err_t set_value(const struct rp_option *opt, void *args, const char *text, struct rp_error *err)
{
        void *at = field(args, opt);

        if (text && rp_is_standard(text) && take_standard(opt, &text, err) != RP_OK)
                return err->code;
        switch (opt->type) {
        case RP_OPT_FLAG:
                *(bool *)at = true;
                return RP_OK;
        case RP_OPT_TEXT:
        case RP_OPT_INPUT:
        case RP_OPT_STREAM:
        case RP_OPT_OUTPUT:
        case RP_OPT_PATH:
                /* Nothing is meant by an empty text but a variable of the shell that was not set. */
                if (!*text)
                        return rp_fail(err, RP_ERR_USAGE, "--%s: expected %s, got an empty argument", opt->name, opt->arg);
                if (opt->type == RP_OPT_TEXT && opt->max && strlen(text) > (size_t)opt->max)
                        return rp_fail(err, RP_ERR_USAGE, "--%s: expected at most %" PRId64 " bytes, got %zu", opt->name, opt->max,
                                       strlen(text));
                *(const char **)at = text;
                return RP_OK;
        case RP_OPT_TOPIC: {
                struct rp_error why;

                if (rp_topic_name_check(text, &why) != RP_OK)
                        return rp_fail(err, why.code, "--%s: %s", opt->name, why.text);
                *(const char **)at = text;
                return RP_OK;
        }
        case RP_OPT_CHOICE:
                for (size_t i = 0; opt->choices[i]; i++)
                        if (!strcmp(opt->choices[i], text)) {
                                *(const char **)at = opt->choices[i];
                                return RP_OK;
                        }
                return fail_value(opt, text, err);
        case RP_OPT_COUNT: {
                char *end;
                int64_t value;

                errno = 0;
                value = strtoll(text, &end, 10);
                /* strtoll() skips blanks and takes a plus sign; a count is written in one way. */
                if (errno || end == text || *end || strchr(" \t\n\v\f\r+", text[0]) || value < opt->min || value > opt->max)
                        return fail_value(opt, text, err);
                *(int64_t *)at = value;
                return RP_OK;
        }
        case RP_OPT_SIZE:
        case RP_OPT_DURATION: {
                int64_t value;

                if (!(opt->type == RP_OPT_SIZE ? rp_size_parse : rp_duration_parse)(text, &value) || value < opt->min ||
                    value > opt->max)
                        return fail_value(opt, text, err);
                *(int64_t *)at = value;
                return RP_OK;
        }
        case RP_OPT_LIST:
        case RP_OPT_INPUTS:
        case RP_OPT_PATHS: {
                struct rp_list *list = at;
                const char **grown = realloc(list->items, (list->cnt + 1) * sizeof(*grown));

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                list->items = grown;
                list->items[list->cnt++] = text;
                return RP_OK;
        }
        }
        return RP_OK;
}

/* Edits (a letter put in, left out, changed, or two swapped) that make b of a. */
static size_t edit_distance(const char *a, const char *b)
{
        size_t rows[3][NAME_MAX_LEN + 1];
        size_t la = strlen(a), lb = strlen(b);

        if (la > NAME_MAX_LEN || lb > NAME_MAX_LEN)
                return NAME_MAX_LEN;
        for (size_t j = 0; j <= lb; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= la; i++) {
                size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

                row[0] = i;
                for (size_t j = 1; j <= lb; j++) {
                        size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

                        best = above[j] + 1 < best ? above[j] + 1 : best;
                        best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                                best = before[j - 2] + 1;
                        row[j] = best;
                }
        }
        return rows[la % 3][lb];
}

bool rp_is_close(const char *word, const char *name, size_t *best)
{
        size_t distance = edit_distance(word, name);

        if (distance > strlen(word) / 4 + 1 || distance >= *best)
                return false;
        *best = distance;
        return true;
}

/* A long option that getopt did not take: several rows begin like it, or none does. */
static rp_err_t fail_long(rp_option_tables_t tables, const char *word, struct rp_error *err)
{
        char name[NAME_MAX_LEN + 1] = "", list[300] = "";
        const char *closest = NULL;
        size_t len, used = 0, best = SIZE_MAX;

        word += strspn(word, "-");
        len = strcspn(word, "=");
        snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), word);
        FOREACH_OPTION (tables, opt) {
                if (*name && !strncmp(opt->name, name, strlen(name)) && used < sizeof(list) - 50)
                        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s--%s", used ? ", " : "", opt->name);
                if (rp_is_close(name, opt->name, &best))
                        closest = opt->name;
        }
        if (used)
                return rp_fail(err, RP_ERR_USAGE, "option --%s is ambiguous: %s", name, list);
        if (closest)
                return rp_fail(err, RP_ERR_USAGE, "unknown option --%s; did you mean --%s?", name, closest);
        return rp_fail(err, RP_ERR_USAGE, "unknown option --%s", name);
}

static rp_err_t fail_letter(int letter, struct rp_error *err)
{
        if (letter >= '0' && letter <= '9')
                return rp_fail(err, RP_ERR_USAGE, "unknown option -%c; operands that begin with \"-\" stand after \"--\"",
                               letter);
        if (letter > ' ' && letter < 0x7f)
                return rp_fail(err, RP_ERR_USAGE, "unknown option -%c", letter);
        return rp_fail(err, RP_ERR_USAGE, "unknown option, byte 0x%02x after \"-\"", letter & 0xff);
}

rp_err_t rp_options_parse(rp_option_tables_t tables, void *args, int argc, char **argv, int *operand_at,
                          struct rp_error *err)
{
        const struct rp_option *rows[OPTION_MAX];
        struct option longs[OPTION_MAX + 1];
        char shorts[2 * OPTION_MAX + 2] = ":";
        size_t cnt = 0, used = 1;
        int c;

        FOREACH_OPTION (tables, opt) {
                if (cnt == OPTION_MAX)
                        abort(); /* a table grew: raise OPTION_MAX */
                rows[cnt] = opt;
                longs[cnt] = (struct option){ opt->name, opt->type == RP_OPT_FLAG ? no_argument : required_argument,
                                              NULL, LONG_ONLY + (int)cnt };
                cnt++;
                if (opt->letter) {
                        shorts[used++] = opt->letter;
                        if (opt->type != RP_OPT_FLAG)
                                shorts[used++] = ':';
                }
                if (opt->fallback && set_value(opt, args, opt->fallback, err) != RP_OK)
                        return err->code;
        }
        shorts[used] = '\0';
        longs[cnt] = (struct option){ 0 };
        opterr = 0;
        optind = 0; /* glibc: start over, also after an earlier parse */
        while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
                /* For a complaint getopt puts the row's value or letter into optopt; 0: a long name it does not know. */
                int which = c == ':' || c == '?' ? optopt : c;
                const struct rp_option *opt = NULL;

                if (c == '?' && !which)
                        return fail_long(tables, argv[optind - 1], err);
                if (which >= LONG_ONLY)
                        opt = rows[which - LONG_ONLY];
                else
                        for (size_t i = 0; i < cnt && !opt; i++)
                                if (rows[i]->letter == which)
                                        opt = rows[i];
                if (c == ':')
                        return rp_fail(err, RP_ERR_USAGE, "--%s needs an argument: %s", opt->name, opt->arg);
                if (c == '?')
                        return opt ? rp_fail(err, RP_ERR_USAGE, "--%s takes no argument", opt->name)
                                   : fail_letter(which, err);
                if (set_value(opt, args, optarg, err) != RP_OK)
                        return err->code;
        }
        *operand_at = optind;
        return RP_OK;
}

void rp_options_release(rp_option_tables_t tables, void *args)
{
        FOREACH_OPTION (tables, opt)
                if (is_list(opt)) {
                        struct rp_list *list = field(args, opt);

                        free(list->items);
                        *list = (struct rp_list){ NULL, 0 };
                }
}

static bool is_named(const char *name, const char *const *names)
{
        while (*names && strcmp(*names, name) != 0)
                names++;
        return *names;
}

static void print_number(const struct rp_option *opt, int64_t value, FILE *out)
{
        int64_t fallback = 0;
        struct rp_option at_start = *opt;
        struct rp_error ignored;

        at_start.offset = 0;
        if (opt->fallback)
                set_value(&at_start, &fallback, opt->fallback, &ignored);
        if (value != fallback)
                fprintf(out, " --%s %" PRId64 "%s", opt->name, value, opt->type == RP_OPT_DURATION ? "ms" : "");
}

static void print_text(const struct rp_option *opt, const char *value, FILE *out)
{
        if (!value || (opt->fallback && !strcmp(value, opt->fallback)))
                return;
        fprintf(out, " --%s ", opt->name);
        rp_text_shell_word(out, value);
}

void rp_options_print(rp_option_tables_t tables, const void *args, const char *const *names, FILE *out)
{
        FOREACH_OPTION(tables, opt) {
                const void *at = (const char *)args + opt->offset;

                if (!is_named(opt->name, names))
                        continue;
                switch (opt->type) {
                case RP_OPT_FLAG:
                        if (*(const bool *)at)
                                fprintf(out, " --%s", opt->name);
                        break;
                case RP_OPT_TEXT:
                case RP_OPT_TOPIC:
                case RP_OPT_CHOICE:
                case RP_OPT_INPUT:
                case RP_OPT_STREAM:
                case RP_OPT_OUTPUT:
                case RP_OPT_PATH:
                        print_text(opt, *(const char *const *)at, out);
                        break;
                case RP_OPT_COUNT:
                case RP_OPT_SIZE:
                case RP_OPT_DURATION:
                        print_number(opt, *(const int64_t *)at, out);
                        break;
                case RP_OPT_LIST:
                case RP_OPT_INPUTS:
                case RP_OPT_PATHS:
                        for (size_t i = 0; i < ((const struct rp_list *)at)->cnt; i++)
                                print_text(opt, ((const struct rp_list *)at)->items[i], out);
                        break;
                }
        }
}

static void option_head(const struct rp_option *opt, char *head, size_t size)
{
        char letter[8] = "    ";

        if (opt->letter)
                snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
        snprintf(head, size, "%s--%s%s%s", letter, opt->name, opt->arg ? " " : "", opt->arg ? opt->arg : "");
}

char *rp_option_text(const struct rp_option *opt)
{
        bool is_in = opt->type == RP_OPT_INPUT || opt->type == RP_OPT_INPUTS || opt->type == RP_OPT_STREAM;
        char *text;

        if (asprintf(&text, "%s%s%s%s%s", opt->help, opt->fallback ? " (default " : "", opt->fallback ? opt->fallback : "",
                     opt->fallback ? ")" : "",
                     is_in                        ? "; - is standard input"
                     : opt->type == RP_OPT_OUTPUT ? "; - is standard output"
                                                  : "") < 0)
                abort();
        return text;
}

void rp_options_help(rp_option_tables_t tables, FILE *out)
{
        char head[80];

        FOREACH_OPTION (tables, opt) {
                char *text = rp_option_text(opt);

                option_head(opt, head, sizeof(head));
                fprintf(out, "  %s", head);
                /* Two blanks at least between the columns; a longer name has its own line. */
                if (strlen(head) + 4 > HELP_COLUMN)
                        fprintf(out, "\n%*s", HELP_COLUMN, "");
                else
                        fprintf(out, "%*s", (int)(HELP_COLUMN - 2 - strlen(head)), "");
                rp_wrap(out, text, HELP_COLUMN, HELP_COLUMN);
                free(text);
        }
}

const struct rp_option *rp_options_at(rp_option_tables_t tables, size_t i)
{
        FOREACH_OPTION (tables, opt)
                if (!i--)
                        return opt;
        return NULL;
}
