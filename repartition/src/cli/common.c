#include "cli/command.h"

#include <string.h>
#include <unistd.h>

const char *const rp_output_choices[] = { "text", "json", NULL };
const char *const rp_progress_choices[] = { "auto", "always", "never", NULL };

bool rp_is_json(const struct rp_common *common)
{
        return !strcmp(common->output, "json");
}

bool rp_wants_progress(const struct rp_common *common)
{
        if (!strcmp(common->progress, "auto"))
                return !common->quiet && isatty(STDERR_FILENO);
        return !strcmp(common->progress, "always");
}

int rp_die(const char *command, const struct rp_error *err)
{
        fflush(stdout);
        fprintf(stderr, "repartition %s: %s\n", command, err->text);
        return rp_exit_code(err->code);
}

kr_policy_t *rp_policy_from_args(const struct rp_policy_args *args, struct rp_error *err)
{
        struct kr_error kerr;
        kr_policy_t *policy;

        if (args->policy_file && args->hash) {
                rp_fail(err, RP_ERR_USAGE, "--policy and --hash exclude each other: the policy file names the hash");
                return NULL;
        }
        if (args->policy_file)
                policy = kr_policy_load(args->policy_file, &kerr);
        else
                policy = kr_policy_from_hash(args->hash ? args->hash : "murmur2", &kerr);
        if (!policy)
                rp_fail(err, RP_ERR_USAGE, "%s%s", args->policy_file ? "" : "--hash: ", kerr.text);
        return policy;
}
