/** What every subcommand is made of. Each stands in a file cmd_NAME.c of its own; commands.c lists them. */
#ifndef RP_COMMAND_H
#define RP_COMMAND_H

#include "cli/option.h"
#include "decide/throttle.h" /* RP_RATE_MAX */
#include "error.h"
#include "io/jobs_topic.h" /* the default name */

#include <keyroute.h>

struct rp_source;

/** Options that mean the same in every command. First member of every command's argument struct. */
struct rp_common {
        bool help;
        bool version;
        bool quiet;
        const char *output;   /* "text" or "json" */
        const char *progress; /* "auto" (a terminal), "always" or "never" */
};

/** How to reach Kafka: librdkafka's own properties, from a file, then single ones, then the address. */
struct rp_client_args {
        const char *bootstrap;
        const char *config_file;
        struct rp_list properties; /* "name=value" */
};

/** Which rule judges: a policy file, or one hash for everything, or (neither) Java's rule. */
struct rp_policy_args {
        const char *policy_file;
        const char *hash;
};

/** How a job that copies spares its neighbours, and where it tells about itself. See cli/neighbour.h. */
struct rp_neighbour_args {
        int64_t throttle_bytes, throttle_records; /* a second; 0: no limit */
        struct rp_list control_groups;
        int64_t max_lag;
        struct rp_list flag_files;
        const char *panic_file, *control_socket, *status_file, *metrics_file, *metrics_listen;
};

struct rp_command {
        const char *name;
        const char *operands;    /* as --help shows them, such as "SRC DST" */
        const char *summary;     /* one line */
        const char *description; /* some paragraphs for --help and the man page */
        const char *examples;    /* lines to copy, or NULL */
        rp_option_tables_t options;
        size_t args_size;
        int operand_min, operand_max; /* -1: any number */
        /**
         * @param args  the command's struct, parsed; starts with struct rp_common
         * @returns the exit code. Errors were printed by then, through rp_die().
         */
        int (*run)(void *args, char **operands, int operand_cnt);
};

extern const struct rp_command *const rp_commands[]; /* NULL-terminated */

/** Rows for tables of struct T, whose members are `common`, `client` and `policy`. */
#define RP_COMMON_OPTIONS(T)                                                                                          \
        { "output", 0, RP_OPT_CHOICE, offsetof(T, common.output), "text|json", "how results are printed", "text",      \
          0, 0, rp_output_choices },                                                                                  \
        { "progress", 0, RP_OPT_CHOICE, offsetof(T, common.progress), "WHEN",                                          \
          "progress line on stderr: auto (on a terminal), always, never", "auto", 0, 0, rp_progress_choices },         \
        { "quiet", 'q', RP_OPT_FLAG, offsetof(T, common.quiet), NULL, "no progress and no notes on stderr", NULL,      \
          0, 0, NULL },                                                                                               \
        { "help", 'h', RP_OPT_FLAG, offsetof(T, common.help), NULL, "this text", NULL, 0, 0, NULL },                   \
        { "version", 'V', RP_OPT_FLAG, offsetof(T, common.version), NULL, "versions of the tool and librdkafka",        \
          NULL, 0, 0, NULL }

#define RP_CLIENT_OPTIONS(T)                                                                                          \
        { "bootstrap-server", 'b', RP_OPT_TEXT, offsetof(T, client.bootstrap), "HOST:PORT[,...]",                      \
          "brokers to start from", NULL, 0, 0, NULL },                                                                \
        { "property", 'X', RP_OPT_LIST, offsetof(T, client.properties), "NAME=VALUE",                                  \
          "a librdkafka property; may be repeated", NULL, 0, 0, NULL },                                               \
        { "config-file", 'F', RP_OPT_INPUT, offsetof(T, client.config_file), "FILE",                                    \
          "librdkafka properties, one NAME=VALUE a line, as kcat reads them", NULL, 0, 0, NULL }

/** Row for tables of commands that write; struct T has a member `allow_librdkafka`. */
#define RP_LIBRARY_OPTION(T)                                                                                          \
        { "allow-librdkafka", 0, RP_OPT_FLAG, offsetof(T, allow_librdkafka), NULL,                                     \
          "write also with a librdkafka that is known to lose records", NULL, 0, 0, NULL }

#define RP_POLICY_OPTIONS(T)                                                                                          \
        { "policy", 0, RP_OPT_INPUT, offsetof(T, policy.policy_file), "FILE",                                           \
          "the routing policy; without one, Java's rule", NULL, 0, 0, NULL },                                         \
        { "hash", 0, RP_OPT_TEXT, offsetof(T, policy.hash), "NAME",                                                    \
          "judge by this hash function, modulo the partition count", NULL, 0, 0, NULL }

/** Row for tables of struct T whose member is `jobs_topic`. */
#define RP_JOBS_TOPIC_OPTION(T)                                                                                       \
        { "jobs-topic", 0, RP_OPT_TOPIC, offsetof(T, jobs_topic), "NAME",                                               \
          "topic in the target's cluster in which jobs are described; none: without", RP_JOBS_TOPIC_DEFAULT, 0, 0, NULL }

/** Row for tables of struct T whose member is `timeout_ms`. */
#define RP_TIMEOUT_OPTION(T)                                                                                          \
        { "timeout-ms", 0, RP_OPT_COUNT, offsetof(T, timeout_ms), "MS",                                                \
          "longest wait for brokers that do not answer", "60000", 1000, 3600000, NULL }

/** Rows of commands that copy into a topic of their own, whose members are replication_factor, settings, transaction_ms. */
#define RP_TARGET_OPTIONS(T)                                                                                          \
        { "replication-factor", 0, RP_OPT_COUNT, offsetof(T, replication_factor), "N",                                 \
          "of a target that is created (default: the source's)", NULL, 1, 1000, NULL },                                \
        { "config", 0, RP_OPT_LIST, offsetof(T, settings), "NAME=VALUE",                                               \
          "a topic setting of a target that is created, besides the source's own; may be repeated", NULL, 0, 0, NULL }, \
        { "transaction-ms", 0, RP_OPT_COUNT, offsetof(T, transaction_ms), "MS",                                        \
          "longest time that a transaction is open and committed readers of the target wait", "1000", 20, 10000, NULL }

/** Rows for tables of struct T, whose member is `neighbour`. */
#define RP_NEIGHBOUR_OPTIONS(T)                                                                                       \
        { "throttle", 0, RP_OPT_SIZE, offsetof(T, neighbour.throttle_bytes), "BYTES_PER_SEC",                          \
          "write no more than so many bytes a second, such as 10M", NULL, 1, RP_RATE_MAX, NULL },                      \
        { "throttle-records", 0, RP_OPT_SIZE, offsetof(T, neighbour.throttle_records), "N",                            \
          "write no more than so many records a second", NULL, 1, RP_RATE_MAX, NULL },                                 \
        { "throttle-control-group", 0, RP_OPT_LIST, offsetof(T, neighbour.control_groups), "GROUP[:TOPIC]",            \
          "wait while this consumer group lags by more than --max-lag; may be repeated", NULL, 0, 0, NULL },           \
        { "max-lag", 0, RP_OPT_SIZE, offsetof(T, neighbour.max_lag), "RECORDS",                                        \
          "lag of a control group beyond which the job waits", "10K", 0, INT64_MAX, NULL },                            \
        { "throttle-flag-file", 0, RP_OPT_PATHS, offsetof(T, neighbour.flag_files), "FILE",                             \
          "wait while this file exists; may be repeated", NULL, 0, 0, NULL },                                          \
        { "panic-flag-file", 0, RP_OPT_PATH, offsetof(T, neighbour.panic_file), "FILE",                                \
          "commit and stop as soon as this file exists", NULL, 0, 0, NULL },                                           \
        { "control-socket", 0, RP_OPT_PATH, offsetof(T, neighbour.control_socket), "PATH",                             \
          "listen there for repartition ctl", NULL, 0, 0, NULL },                                                      \
        { "status-file", 0, RP_OPT_PATH, offsetof(T, neighbour.status_file), "FILE",                                   \
          "keep the job's state there as JSON, also after its end", NULL, 0, 0, NULL },                                \
        { "metrics-file", 0, RP_OPT_PATH, offsetof(T, neighbour.metrics_file), "FILE",                                 \
          "keep figures there for Prometheus, such as a NAME.prom for node_exporter", NULL, 0, 0, NULL },  \
        { "metrics-listen", 0, RP_OPT_TEXT, offsetof(T, neighbour.metrics_listen), "[HOST:]PORT",                      \
          "serve them by HTTP there, on the loopback interface unless HOST is given", NULL, 0, 0, NULL }

/** Rows for tables of struct T, whose members are `sample_keys` and `show_keys`. */
#define RP_AUDIT_OPTIONS(T)                                                                                           \
        { "sample-keys", 0, RP_OPT_COUNT, offsetof(T, sample_keys), "K",                                               \
          "distinct keys that are kept to find causes and to count keys", "16384", 100, 10000000, NULL },              \
        { "show-keys", 0, RP_OPT_FLAG, offsetof(T, show_keys), NULL,                                                   \
          "show the heaviest keys; they may be personal data", NULL, 0, 0, NULL }

extern const char *const rp_output_choices[];
extern const char *const rp_progress_choices[];

/** Operands that name files to read: "-" becomes a name for standard input. @returns RP_OK, or an error with *err. */
rp_err_t rp_input_operands(char **operands, int cnt, struct rp_error *err);

/** True when results go out as JSON. */
bool rp_is_json(const struct rp_common *common);

/** True when the progress line is wanted. */
bool rp_wants_progress(const struct rp_common *common);

/** Prints "repartition COMMAND: text" on stderr, control characters as \xNN, and returns the exit code of err->code. */
int rp_die(const char *command, const struct rp_error *err);

/**
 * The user's own way to reach the cluster (-b, -F, -X), for commands to copy; the values of secrets are left out.
 * @returns "" when nothing was given; the caller's to free().
 */
char *rp_client_args_text(const struct rp_client_args *client);

/** True when the arguments may name two clusters, one for the source and one for the target. */
bool rp_client_args_have_sides(const struct rp_client_args *client);

/**
 * Opens a topic that is to be read, by the user's own way to reach the cluster.
 * @returns RP_OK and *source, the caller's to source->ops->free(); else as rp_client_config_read() and
 *          rp_kafka_source_new(), and *source is left alone.
 */
rp_err_t rp_source_from_args(struct rp_source **source, const struct rp_client_args *client, const char *topic,
                             int timeout_ms, struct rp_error *err);

/**
 * Before keys are routed by a policy: a registry that is away must not make a record look misplaced, let alone move it, and
 * its trouble is said on stderr. What rp_policy_from_args() returns is like that already.
 */
void rp_policy_judge(kr_policy_t *policy);

/**
 * The policy that the arguments ask for; never both a file and a hash.
 * @returns a policy, the caller's to kr_policy_free(); or NULL with *err (RP_ERR_USAGE).
 */
kr_policy_t *rp_policy_from_args(const struct rp_policy_args *args, struct rp_error *err);

/**
 * The policy's rule for that topic; without a topic (NULL) the only rule that it has.
 * @returns the rule, borrowed; or NULL with *err (RP_ERR_USAGE) naming the rules that there are.
 */
const kr_rule_t *rp_rule_from_args(const struct rp_policy_args *args, const kr_policy_t *policy, const char *topic,
                                   struct rp_error *err);

/**
 * The partition count that --partitions gives or the rule pins; both must agree.
 * @param given  0: not given
 * @returns the count; or 0 with *err (RP_ERR_USAGE).
 */
int32_t rp_partition_cnt_from_args(const struct rp_policy_args *args, const kr_rule_t *rule, int64_t given,
                                   struct rp_error *err);

#endif
