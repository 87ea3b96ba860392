#include "cli/man.h"

#include "cli/command.h"

/* mdoc takes a line that starts with a dot or a quote as a request. */
static void print_text(const char *text, FILE *out)
{
        for (const char *c = text; *c; c++) {
                if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n'))
                        fputs("\\&", out);
                if (*c == '\n' && c[1] == '\n') {
                        fputs("\n.Pp", out);
                        continue;
                }
                if (*c == '\\')
                        fputs("\\e", out);
                else
                        fputc(*c, out);
        }
        fputc('\n', out);
}

void rp_man_print(FILE *out)
{
        fputs(".Dd $Mdocdate$\n.Dt REPARTITION 1\n.Os Keyroute\n.Sh NAME\n.Nm repartition\n"
              ".Nd find, explain and mend Kafka records that lie in the wrong partition\n.Sh SYNOPSIS\n", out);
        for (size_t i = 0; rp_commands[i]; i++)
                fprintf(out, ".Nm\n.Cm %s\n.Op Ar option ...\n%s%s%s", rp_commands[i]->name,
                        *rp_commands[i]->operands ? ".Ar " : "", rp_commands[i]->operands,
                        *rp_commands[i]->operands ? "\n" : "");
        fputs(".Sh DESCRIPTION\nNothing is written to Kafka without\n.Fl Fl execute .\n"
              "Results go to standard output, progress and notes to standard error.\n", out);
        for (size_t i = 0; rp_commands[i]; i++) {
                const struct rp_command *command = rp_commands[i];

                fprintf(out, ".Ss %s %s\n%s.\n", command->name, command->operands, command->summary);
                fputs(".Pp\n", out);
                print_text(command->description, out);
                fputs(".Bl -tag -width Ds\n", out);
                rp_options_man(command->options, out);
                fputs(".El\n", out);
                if (command->examples)
                        fprintf(out, ".Pp\nExamples:\n.Bd -literal\n%s.Ed\n", command->examples);
        }
        fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
              ".It 0\nClean, or done.\n"
              ".It 1\nDifferences were found.\n"
              ".It 2\nUsage or configuration.\n"
              ".It 3\nBroker trouble or incomplete coverage.\n"
              ".It 4\nFenced by another instance of the job.\n.El\n"
              ".Sh SEE ALSO\n.Xr kcat 1\n", out);
}
