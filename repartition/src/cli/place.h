/** The two halves of the command place, and what they share. */
#ifndef RP_CLI_PLACE_H
#define RP_CLI_PLACE_H

#include "cli/command.h"
#include "io/place_files.h"

struct rp_place_args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_list capacities; /* "NAME=NUMBER,..." */
        struct rp_list loads;      /* files */
        /* locations */
        int64_t partitions;
        const char *current_file;
        const char *rule_topic;
        /* brokers */
        const char *capacity_file;
        const char *resource;
        const char *assignment_file;
        struct rp_list racks; /* "ID=RACK,..." */
        bool ignore_racks;
        const char *out_path;
        int64_t timeout_ms;
};

/** Both print their results or, through rp_die(), what is wrong. @returns the exit code. */
int rp_place_at_locations(const struct rp_place_args *args);
int rp_place_on_brokers(const struct rp_place_args *args, char **topics, size_t topic_cnt);

/** What --capacity says, all of it together. The caller's to rp_named_release(), also after an error. */
rp_err_t rp_place_capacities(const struct rp_place_args *args, struct rp_named_list *list, struct rp_error *err);

/** What the files of --load say. The caller's to rp_loads_release(), also after an error. */
rp_err_t rp_place_loads(const struct rp_place_args *args, struct rp_loads *loads, struct rp_error *err);

#endif
