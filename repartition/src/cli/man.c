#include "cli/man.h"

#include "cli/command.h"
#include "report/wrap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Moved when the pages change in earnest; a build date would make two builds of one source differ. */
#define MAN_DATE "November 29, 2026"

enum { LINE_WIDTH = 76 };

/* mdoc takes a backslash as an escape, and a line that begins with a dot or a quote as a request. */
static void print_escaped(const char *text, size_t len, bool line_start, FILE *out)
{
        if (len && line_start && (text[0] == '.' || text[0] == '\''))
                fputs("\\&", out);
        for (size_t i = 0; i < len; i++)
                if (text[i] == '\\')
                        fputs("\\e", out);
                else
                        fputc(text[i], out);
}

/* mdoc fills lines itself, but wants each sentence to begin on a line of its own. */
static void print_paragraph(const char *text, size_t len, FILE *out)
{
        size_t column = 0;

        for (size_t i = 0; i < len;) {
                size_t start, word;
                bool ends;

                while (i < len && (text[i] == ' ' || text[i] == '\n'))
                        i++;
                for (start = i; i < len && text[i] != ' ' && text[i] != '\n'; i++)
                        ;
                word = i - start;
                if (!word)
                        break;
                if (column && column + 1 + word > LINE_WIDTH) {
                        fputc('\n', out);
                        column = 0;
                } else if (column) {
                        fputc(' ', out);
                        column++;
                }
                print_escaped(text + start, word, !column, out);
                column += word;
                ends = strchr(".!?", text[i - 1]) && word > 1 && text[i - 2] != '.';
                if (ends) {
                        fputc('\n', out);
                        column = 0;
                }
        }
        if (column)
                fputc('\n', out);
}

static void print_literal(const char *text, size_t len, FILE *out)
{
        fputs(".Bd -literal\n", out);
        for (size_t i = 0; i < len;) {
                const char *end = memchr(text + i, '\n', len - i);
                size_t line = end ? (size_t)(end - text) - i : len - i;

                print_escaped(text + i, line, true, out);
                fputc('\n', out);
                i += line + 1;
        }
        fputs(".Ed\n", out);
}

static void print_text(const char *text, FILE *out)
{
        while (*text) {
                size_t len = rp_block_len(text), breaks;

                if (*text == ' ')
                        print_literal(text, len, out);
                else
                        print_paragraph(text, len, out);
                text += len;
                breaks = strspn(text, "\n");
                text += breaks;
                if (breaks > 1 && *text && *text != ' ')
                        fputs(".Pp\n", out);
        }
}

static void print_options(rp_option_tables_t tables, FILE *out)
{
        const struct rp_option *opt;

        fputs(".Bl -tag -width Ds\n", out);
        for (size_t i = 0; (opt = rp_options_at(tables, i)); i++) {
                char *help = rp_option_text(opt), *text;

                fputs(".It ", out);
                if (opt->letter)
                        fprintf(out, "Fl %c , ", opt->letter);
                fprintf(out, "Fl Fl %s%s%s\n", opt->name, opt->arg ? " Ar " : "", opt->arg ? opt->arg : "");
                if (asprintf(&text, "%c%s.", toupper((unsigned char)*help), help + 1) < 0)
                        abort();
                print_text(text, out);
                free(help);
                free(text);
        }
        fputs(".El\n", out);
}

static void print_command(const struct rp_command *command, FILE *out)
{
        fprintf(out, ".Ss repartition %s\n", command->name);
        fprintf(out, "%s.\n.Pp\n", command->summary);
        print_text(command->description, out);
        print_options(command->options, out);
        if (command->examples) {
                fputs(".Pp\nExamples:\n", out);
                print_literal(command->examples, strlen(command->examples), out);
        }
}

void rp_man_print(FILE *out)
{
        fputs(".Dd " MAN_DATE "\n.Dt REPARTITION 1\n.Os\n.Sh NAME\n.Nm repartition\n"
              ".Nd find, explain and mend Kafka records that lie in the wrong partition\n.Sh SYNOPSIS\n", out);
        for (size_t i = 0; rp_commands[i]; i++) {
                fprintf(out, ".Nm\n.Cm %s\n.Op Ar option ...\n", rp_commands[i]->name);
                if (*rp_commands[i]->operands)
                        fprintf(out, ".Ar %s\n", rp_commands[i]->operands);
        }
        fputs(".Sh DESCRIPTION\n"
              "Finds records that lie in the wrong partition, explains which client put\nthem there, and mends it.\n"
              "Nothing is written to Kafka without\n.Fl Fl execute .\n"
              "Results go to standard output, progress and notes to standard error.\n"
              ".Pp\nOptions and operands may be mixed; after\n.Fl Fl\nthere are operands only.\n"
              "A long name may be cut short while it stays clear which is meant.\n", out);
        for (size_t i = 0; rp_commands[i]; i++)
                print_command(rp_commands[i], out);
        fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
              ".It 0\nClean, or done.\n"
              ".It 1\nDifferences were found.\n"
              ".It 2\nUsage or configuration.\n"
              ".It 3\nBroker trouble or incomplete coverage.\n"
              ".It 4\nFenced by another instance of the job.\n.El\n"
              ".Sh SEE ALSO\n.Xr kcat 1\n", out);
}
