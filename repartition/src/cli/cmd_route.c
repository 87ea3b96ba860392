/* repartition route: where keys belong, without a broker. */
#include "cli/command.h"

#include <inttypes.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_policy_args policy;
        int64_t partitions;
        const char *topic;
};

static const struct rp_option options[] = {
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "partitions of the topic; needed unless the policy pins them", NULL, 1, 1000000, NULL },
        { "topic", 't', RP_OPT_TEXT, offsetof(struct args, topic), "TOPIC", "the topic whose rule routes", NULL, 0, 0,
          NULL },
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        const kr_rule_t *rule;

        if (!policy)
                return rp_die("route", &err);
        rule = kr_policy_rule(policy, args->topic ? args->topic : "x");
        for (int i = 0; i < operand_cnt; i++) {
                struct kr_routing routing;

                kr_rule_route(rule, operands[i], strlen(operands[i]), (int32_t)args->partitions, &routing);
                printf("%s\t%" PRId32 "\n", operands[i], routing.partition);
        }
        kr_policy_free(policy);
        return RP_EXIT_CLEAN;
}

const struct rp_command rp_cmd_route = {
        .name = "route",
        .operands = "[KEY...]",
        .summary = "Prints the partition of keys, without a broker",
        .description = "Prints KEY and partition, one line a key.",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_max = -1,
        .run = run,
};
