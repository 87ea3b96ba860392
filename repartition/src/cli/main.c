/* Finds the subcommand, parses its options, runs it. Everything about a command stands in its own file. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/man.h"
#include "report/wrap.h"
#include "io/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_version(void)
{
        printf("repartition %s (librdkafka %s, loaded at run time)\n", kr_version(), rp_client_version());
}

static void print_usage(FILE *out)
{
        fputs("usage: repartition COMMAND [OPTION...] [OPERAND...]\n\n"
              "Finds records that lie in the wrong partition, explains who put them there, and\n"
              "mends it.\n\n",
              out);
        for (size_t i = 0; rp_commands[i]; i++) {
                fprintf(out, "  %-11s", rp_commands[i]->name);
                rp_wrap(out, rp_commands[i]->summary, 13, 13);
        }
        fputs("\nrepartition COMMAND --help tells more. Nothing is written without --execute.\n"
              "A file named - is standard input, or standard output, where nothing else is\n"
              "printed then.\n\n"
              "Exit codes: 0 clean, 1 differences found, 2 usage or configuration, 3 broker\n"
              "trouble or incomplete coverage, 4 fenced by another instance.\n",
              out);
}

static void print_help(const struct rp_command *command)
{
        char summary[200];

        snprintf(summary, sizeof(summary), "%s.", command->summary);
        printf("usage: repartition %s [OPTION...]%s%s\n\n", command->name, *command->operands ? " " : "", command->operands);
        rp_wrap(stdout, summary, 0, 0);
        putchar('\n');
        rp_wrap(stdout, command->description, 0, 0);
        fputs("\noptions:\n", stdout);
        rp_options_help(command->options, stdout);
        if (command->examples)
                printf("\nexamples:\n%s", command->examples);
}

static const struct rp_command *find_command(const char *name)
{
        for (size_t i = 0; rp_commands[i]; i++)
                if (!strcmp(rp_commands[i]->name, name))
                        return rp_commands[i];
        return NULL;
}

static int unknown_command(const char *name)
{
        const char *closest = NULL;
        size_t best = SIZE_MAX;

        if (*name == '-') {
                fprintf(stderr, "repartition: the command comes first, then its options; got \"%.60s\"\n"
                                "repartition --help lists the commands\n", name);
                return RP_EXIT_USAGE;
        }
        for (size_t i = 0; rp_commands[i]; i++)
                if (rp_is_close(name, rp_commands[i]->name, &best))
                        closest = rp_commands[i]->name;
        fprintf(stderr, "repartition: no command \"%.60s\"%s%s%s\nrepartition --help lists the commands\n", name,
                closest ? "; did you mean \"" : "", closest ? closest : "", closest ? "\"?" : "");
        return RP_EXIT_USAGE;
}

/* "one or more operands: TOPIC" would be guesswork; what is expected is what --help shows. */
static int wrong_operands(const struct rp_command *command, int cnt)
{
        if (*command->operands)
                fprintf(stderr, "repartition %s: expected %s, got %d operand%s\n", command->name, command->operands, cnt,
                        cnt == 1 ? "" : "s");
        else
                fprintf(stderr, "repartition %s: takes no operands, got %d\n", command->name, cnt);
        fprintf(stderr, "repartition %s --help tells more\n", command->name);
        return RP_EXIT_USAGE;
}

static int run_command(const struct rp_command *command, int argc, char **argv)
{
        struct rp_error err;
        struct rp_common *common = calloc(1, command->args_size);
        int operand_at = 0, cnt, rc;

        if (!common)
                abort();
        if (rp_options_parse(command->options, common, argc, argv, &operand_at, &err) != RP_OK) {
                rc = rp_die(command->name, &err);
                fprintf(stderr, "repartition %s --help lists the options\n", command->name);
                goto out;
        }
        cnt = argc - operand_at;
        if (common->help) {
                print_help(command);
                rc = RP_EXIT_CLEAN;
        } else if (common->version) {
                print_version();
                rc = RP_EXIT_CLEAN;
        } else if (cnt < command->operand_min || (command->operand_max >= 0 && cnt > command->operand_max)) {
                rc = wrong_operands(command, cnt);
        } else {
                rc = command->run(common, argv + operand_at, cnt);
        }
out:
        rp_options_release(command->options, common);
        free(common);
        return rc;
}

/* help, version and what the build asks for; -1 when the first word is none of these. */
static int run_general(int argc, char **argv)
{
        const char *word = argv[1];

        if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
                const struct rp_command *command = argc > 2 ? find_command(argv[2]) : NULL;

                if (argc > 2 && !command)
                        return unknown_command(argv[2]);
                if (command)
                        print_help(command);
                else
                        print_usage(stdout);
        } else if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
                print_version();
        } else if (!strcmp(word, "--man")) {
                rp_man_print(stdout);
        } else if (!strcmp(word, "--completion")) {
                rp_completion_print(stdout);
        } else {
                return -1;
        }
        return RP_EXIT_CLEAN;
}

int main(int argc, char **argv)
{
        const struct rp_command *command;
        int rc;

        if (argc < 2) {
                print_usage(stderr);
                return RP_EXIT_USAGE;
        }
        rc = run_general(argc, argv);
        if (rc < 0) {
                command = find_command(argv[1]);
                if (!command)
                        return unknown_command(argv[1]);
                rc = run_command(command, argc - 1, argv + 1);
        }
        /* A full disk behind stdout must not look like a clean result; a reader that has seen enough is no news. */
        errno = 0;
        if (fflush(stdout) || ferror(stdout)) {
                if (errno != EPIPE)
                        fputs("repartition: cannot write the results to standard output\n", stderr);
                if (rc == RP_EXIT_CLEAN || rc == RP_EXIT_DIFFERENCES)
                        rc = RP_EXIT_INCOMPLETE;
        }
        return rc;
}
