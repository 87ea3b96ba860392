/* Finds the subcommand, parses its options, runs it. Everything about a command stands in its own file. */
#include "cli/command.h"
#include "cli/man.h"
#include "io/client.h"

#include <stdlib.h>
#include <string.h>

static void print_version(void)
{
        printf("repartition %s (librdkafka %s, loaded at run time)\n", kr_version(), rp_client_version());
}

static void print_usage(FILE *out)
{
        fputs("usage: repartition COMMAND [OPTION...] [OPERAND...]\n\n"
              "Finds records that lie in the wrong partition, explains who put them there, and mends it.\n\n",
              out);
        for (size_t i = 0; rp_commands[i]; i++)
                fprintf(out, "  %-10s%s\n", rp_commands[i]->name, rp_commands[i]->summary);
        fputs("\nrepartition COMMAND --help tells more. Nothing is written without --execute.\n"
              "Exit codes: 0 clean, 1 differences found, 2 usage or configuration, 3 broker trouble or incomplete\n"
              "coverage, 4 fenced by another instance.\n",
              out);
}

static void print_help(const struct rp_command *command)
{
        printf("usage: repartition %s [OPTION...] %s\n\n%s.\n\n%s\n\noptions:\n", command->name, command->operands,
               command->summary, command->description);
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
                fprintf(stderr, "repartition %s: expected %s, got %d operand%s\nusage: repartition %s [OPTION...] %s\n",
                        command->name, *command->operands ? command->operands : "no operand", cnt, cnt == 1 ? "" : "s",
                        command->name, command->operands);
                rc = RP_EXIT_USAGE;
        } else {
                rc = command->run(common, argv + operand_at, cnt);
        }
out:
        rp_options_release(command->options, common);
        free(common);
        /* A full disk or a closed pipe behind stdout must not look like a clean result. */
        if ((fflush(stdout) || ferror(stdout)) && rc == RP_EXIT_CLEAN) {
                fputs("repartition: cannot write the results to standard output\n", stderr);
                rc = RP_EXIT_INCOMPLETE;
        }
        return rc;
}

int main(int argc, char **argv)
{
        const struct rp_command *command;

        if (argc < 2) {
                print_usage(stderr);
                return RP_EXIT_USAGE;
        }
        if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
                if (argc == 3 && (command = find_command(argv[2])))
                        print_help(command);
                else
                        print_usage(stdout);
                return RP_EXIT_CLEAN;
        }
        if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
                print_version();
                return RP_EXIT_CLEAN;
        }
        if (!strcmp(argv[1], "--man")) { /* for the Makefile: the man page from the same rows */
                rp_man_print(stdout);
                return RP_EXIT_CLEAN;
        }
        command = find_command(argv[1]);
        if (!command) {
                fprintf(stderr, "repartition: no command \"%.60s\"\n", argv[1]);
                print_usage(stderr);
                return RP_EXIT_USAGE;
        }
        return run_command(command, argc - 1, argv + 1);
}
