#include "cli/command.h"

extern const struct rp_command rp_cmd_route;

const struct rp_command *const rp_commands[] = {
        &rp_cmd_route,
        NULL,
};
