#include "cli/option.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_MAX = 96, LONG_ONLY = 256 };

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
        for (size_t i = 0, used = 0; opt->choices[i]; i++)
                used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", opt->choices[i]);
        return rp_fail(err, RP_ERR_USAGE, "--%s: expected one of %s, got \"%.60s\"", opt->name, list, text);
}

static rp_err_t set_value(const struct rp_option *opt, void *args, const char *text, struct rp_error *err)
{
        void *at = field(args, opt);

        switch (opt->type) {
        case RP_OPT_FLAG:
                *(bool *)at = true;
                return RP_OK;
        case RP_OPT_TEXT:
                *(const char **)at = text;
                return RP_OK;
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
                if (errno || end == text || *end || value < opt->min || value > opt->max)
                        return fail_value(opt, text, err);
                *(int64_t *)at = value;
                return RP_OK;
        }
        case RP_OPT_LIST: {
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
                const struct rp_option *opt = NULL;
                const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";

                if (c == ':')
                        return rp_fail(err, RP_ERR_USAGE, "%s needs an argument", word);
                if (c == '?') {
                        if (optopt && optopt < LONG_ONLY && word[0] == '-' && word[1] != '-')
                                return rp_fail(err, RP_ERR_USAGE, "unknown option -%c", optopt);
                        if (optopt >= LONG_ONLY)
                                return rp_fail(err, RP_ERR_USAGE, "--%s takes no argument", rows[optopt - LONG_ONLY]->name);
                        return rp_fail(err, RP_ERR_USAGE, "unknown or ambiguous option %.100s", word);
                }
                if (c >= LONG_ONLY)
                        opt = rows[c - LONG_ONLY];
                else
                        for (size_t i = 0; i < cnt && !opt; i++)
                                if (rows[i]->letter == c)
                                        opt = rows[i];
                if (set_value(opt, args, optarg, err) != RP_OK)
                        return err->code;
        }
        *operand_at = optind;
        return RP_OK;
}

void rp_options_release(rp_option_tables_t tables, void *args)
{
        FOREACH_OPTION (tables, opt)
                if (opt->type == RP_OPT_LIST) {
                        struct rp_list *list = field(args, opt);

                        free(list->items);
                        *list = (struct rp_list){ NULL, 0 };
                }
}

static void option_head(const struct rp_option *opt, char *head, size_t size)
{
        char letter[8] = "    ";

        if (opt->letter)
                snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
        snprintf(head, size, "%s--%s%s%s", letter, opt->name, opt->arg ? " " : "", opt->arg ? opt->arg : "");
}

void rp_options_help(rp_option_tables_t tables, FILE *out)
{
        char head[80];

        FOREACH_OPTION (tables, opt) {
                option_head(opt, head, sizeof(head));
                fprintf(out, "  %-32s%s%s", head, strlen(head) >= 32 ? "\n                                  " : "", opt->help);
                if (opt->fallback)
                        fprintf(out, " (default %s)", opt->fallback);
                fputc('\n', out);
        }
}

void rp_options_man(rp_option_tables_t tables, FILE *out)
{
        FOREACH_OPTION (tables, opt) {
                fputs(".It ", out);
                if (opt->letter)
                        fprintf(out, "Fl %c , ", opt->letter);
                fprintf(out, "Fl Fl %s%s%s\n%s", opt->name, opt->arg ? " Ar " : "", opt->arg ? opt->arg : "", opt->help);
                if (opt->fallback)
                        fprintf(out, " (default %s)", opt->fallback);
                fputs(".\n", out);
        }
}
