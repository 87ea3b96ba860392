#include "cli/command.h"

extern const struct rp_command rp_cmd_audit;
extern const struct rp_command rp_cmd_conform;
extern const struct rp_command rp_cmd_ctl;
extern const struct rp_command rp_cmd_cutover;
extern const struct rp_command rp_cmd_estimate;
extern const struct rp_command rp_cmd_explain;
extern const struct rp_command rp_cmd_follow;
extern const struct rp_command rp_cmd_jobs;
extern const struct rp_command rp_cmd_merge;
extern const struct rp_command rp_cmd_place;
extern const struct rp_command rp_cmd_plan;
extern const struct rp_command rp_cmd_policy;
extern const struct rp_command rp_cmd_rebalance;
extern const struct rp_command rp_cmd_repair;
extern const struct rp_command rp_cmd_rewrite;
extern const struct rp_command rp_cmd_route;
extern const struct rp_command rp_cmd_sandbox;
extern const struct rp_command rp_cmd_schema;
extern const struct rp_command rp_cmd_verify;

const struct rp_command *const rp_commands[] = {
        &rp_cmd_audit,
        &rp_cmd_conform,
        &rp_cmd_ctl,
        &rp_cmd_cutover,
        &rp_cmd_estimate,
        &rp_cmd_explain,
        &rp_cmd_follow,
        &rp_cmd_jobs,
        &rp_cmd_merge,
        &rp_cmd_place,
        &rp_cmd_plan,
        &rp_cmd_policy,
        &rp_cmd_rebalance,
        &rp_cmd_repair,
        &rp_cmd_rewrite,
        &rp_cmd_route,
        &rp_cmd_sandbox,
        &rp_cmd_schema,
        &rp_cmd_verify,
        NULL,
};
