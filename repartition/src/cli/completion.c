#include "cli/completion.h"

#include "cli/command.h"

/* Words that may follow an option, or the sign that a file is likely. Flags print nothing: an option may follow. */
static void print_arguments(const struct rp_command *command, FILE *out)
{
        const struct rp_option *opt;

        for (size_t i = 0; (opt = rp_options_at(command->options, i)); i++) {
                if (opt->type == RP_OPT_FLAG)
                        continue;
                fprintf(out, "    '%s --%s'", command->name, opt->name);
                if (opt->letter)
                        fprintf(out, "|'%s -%c'", command->name, opt->letter);
                fputs(opt->type == RP_OPT_CHOICE ? ") words='" : ") files=1", out);
                for (size_t j = 0; opt->type == RP_OPT_CHOICE && opt->choices[j]; j++)
                        fprintf(out, "%s%s", j ? " " : "", opt->choices[j]);
                fputs(opt->type == RP_OPT_CHOICE ? "';;\n" : ";;\n", out);
        }
}

void rp_completion_print(FILE *out)
{
        const struct rp_option *opt;

        fputs("# bash completion for repartition; made by repartition --completion\n"
              "_repartition()\n{\n"
              "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files=\n"
              "    COMPREPLY=()\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "        COMPREPLY=($(compgen -W '", out);
        for (size_t i = 0; rp_commands[i]; i++)
                fprintf(out, "%s ", rp_commands[i]->name);
        fputs("help --help --version' -- \"$cur\"))\n        return\n    fi\n"
              "    case \"${COMP_WORDS[1]} $prev\" in\n", out);
        for (size_t i = 0; rp_commands[i]; i++)
                print_arguments(rp_commands[i], out);
        fputs("    *) case \"${COMP_WORDS[1]}\" in\n", out);
        for (size_t i = 0; rp_commands[i]; i++) {
                fprintf(out, "       %s) words='", rp_commands[i]->name);
                for (size_t j = 0; (opt = rp_options_at(rp_commands[i]->options, j)); j++)
                        fprintf(out, "%s--%s", j ? " " : "", opt->name);
                fputs("';;\n", out);
        }
        fputs("       esac;;\n    esac\n"
              "    case $cur in -*) ;; *) [ -n \"$words\" ] && [ \"${words#--}\" = \"$words\" ] || files=1;; esac\n"
              "    [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
              "    [ -n \"$files\" ] && COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
              "    return 0\n"
              "}\n"
              "complete -F _repartition repartition\n", out);
}
