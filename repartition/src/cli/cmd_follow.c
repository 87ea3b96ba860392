/* repartition follow: copies what arrives in a topic to where it belongs, for as long as it runs. */
#include "cli/command.h"
#include "cli/follow_run.h"
#include "cli/interrupt.h"
#include "decide/job_name.h"
#include "decide/library.h"
#include "decide/preflight.h"
#include "decide/repair_pass.h"
#include "moment.h"
#include "report/wrap.h"
#include "topic_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        struct rp_policy_args policy;
        struct rp_neighbour_args neighbour;
        int64_t partitions, replication_factor;
        bool execute, mark, allow_librdkafka;
        const char *job, *instance, *from, *on_refused, *include, *jobs_topic;
        int64_t transaction_ms, timeout_ms, look_back;
        struct rp_list settings;
};

static const char *const refused_choices[] = { "stop", "skip", NULL };

static const struct rp_option options[] = {
        { "execute", 0, RP_OPT_FLAG, offsetof(struct args, execute), NULL,
          "follow; without it the plan is printed and nothing is written", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "M",
          "partitions of a target that is created", NULL, 1, 100000, NULL },
        { "from", 0, RP_OPT_TEXT, offsetof(struct args, from), "PLACE",
          "where a new job begins: earliest, latest, a time, or rewrite (where rewrite of the same topics stands)", NULL, 0,
          0, NULL },
        { "on-refused", 0, RP_OPT_CHOICE, offsetof(struct args, on_refused), "stop|skip",
          "what a key that the policy refuses does: it ends the job, or is counted and left out", "stop", 0, 0,
          refused_choices },
        { "include", 0, RP_OPT_TEXT, offsetof(struct args, include), "CLASS[,...]",
          "in place: copy these classes as well as safe: stale, unknown", NULL, 0, 0, NULL },
        { "mark", 0, RP_OPT_FLAG, offsetof(struct args, mark), NULL,
          "in place: name the origin of each copy in a header, keyroute.origin", NULL, 0, 0, NULL },
        { "look-back", 0, RP_OPT_SIZE, offsetof(struct args, look_back), "RECORDS",
          "in place: most records of right partitions kept in memory to judge by, 50 bytes each", "1M", 1000, 1000000000,
          NULL },
        { "job", 0, RP_OPT_TEXT, offsetof(struct args, job), "NAME",
          "consumer group, the same for all instances (default: keyroute.follow.SRC.DST, keyroute.follow.TOPIC)", NULL, 0,
          RP_JOB_NAME_MAX, NULL },
        { "instance", 0, RP_OPT_TEXT, offsetof(struct args, instance), "NAME",
          "a name of this instance that outlives it: a new start then ends at once what a killed one left open", NULL, 0, 0,
          NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        RP_TARGET_OPTIONS(struct args),
        RP_TIMEOUT_OPTION(struct args),
        RP_NEIGHBOUR_OPTIONS(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_LIBRARY_OPTION(struct args),
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* ---- arguments ------------------------------------------------------------------------------------------------------ */

static rp_err_t read_from(const struct args *args, struct rp_follow_plan_config *config, struct rp_error *err)
{
        config->from_is_given = args->from;
        if (!args->from || !strcmp(args->from, "earliest"))
                config->from = RP_FROM_EARLIEST;
        else if (!strcmp(args->from, "latest"))
                config->from = RP_FROM_LATEST;
        else if (!strcmp(args->from, "rewrite") && config->target)
                config->from = RP_FROM_REWRITE;
        else if (rp_moment_parse(args->from, &config->time_ms))
                config->from = RP_FROM_TIME;
        else
                return rp_fail(err, RP_ERR_USAGE, "--from %.100s: expected earliest, latest, rewrite, a time such as "
                               "2026-11-29T21:40:00Z, or milliseconds since 1970", args->from);
        return RP_OK;
}

static rp_err_t check(const struct args *args, struct rp_follow_plan_config *config, const kr_policy_t *policy,
                      struct rp_error *err)
{
        const char *source = config->source, *target = config->target;

        if (rp_topic_name_check(source, err) != RP_OK || (target && rp_topic_name_check(target, err) != RP_OK))
                return err->code;
        /* Nor may it follow the topic of jobs: each transaction leaves records there, which would make the next one. */
        if (rp_topic_check_writable(target ? target : source, args->jobs_topic, err) != RP_OK)
                return err->code;
        if (rp_topic_is_of_jobs(source, args->jobs_topic))
                return rp_fail(err, RP_ERR_USAGE, "\"%s\" is the topic of jobs: to follow it would give it more to follow", source);
        if (!target && (args->partitions || args->replication_factor || args->settings.cnt))
                return rp_fail(err, RP_ERR_USAGE, "--partitions, --replication-factor and --config are for creating DST, and in "
                               "place there is none");
        if (target && (args->include || args->mark))
                return rp_fail(err, RP_ERR_USAGE, "%s is for following in place: name one topic only",
                               args->include ? "--include" : "--mark");
        if (target && !strcmp(source, target))
                return rp_fail(err, RP_ERR_USAGE, "source and target are both \"%s\": name it once to follow in place", source);
        config->rule = target ? kr_policy_rule(policy, target) : NULL;
        if (!config->rule)
                config->rule = kr_policy_rule(policy, source);
        if (!config->rule)
                return rp_fail(err, RP_ERR_USAGE, "%s: the policy does not name \"%s\"%s%s%s", args->policy.policy_file, source,
                               target ? " or \"" : "", target ? target : "", target ? "\"" : "");
        return read_from(args, config, err);
}

static rp_err_t read_include(const struct args *args, unsigned *include, struct rp_error *err)
{
        const char *word;
        size_t len;

        *include = 0;
        if (args->include &&
            (!rp_classes_parse(args->include, include, &word, &len) ||
             *include & ~(1u << RP_CLASS_SAFE | 1u << RP_CLASS_STALE | 1u << RP_CLASS_UNKNOWN)))
                return rp_fail(err, RP_ERR_USAGE, "--include %.100s: expected stale, unknown, or both with a comma", args->include);
        *include |= 1u << RP_CLASS_SAFE;
        return RP_OK;
}

static int plan_or_execute(const struct args *args, struct rp_follow_session *session)
{
        struct rp_follow_plan plan;
        struct rp_follow_result *result = &session->result;
        struct rp_error err;
        int code;

        rp_interrupt_watch(RP_GRACE_READING_S);
        session->plan = &plan;
        result->config = session->config;
        result->plan = &plan;
        if (rp_follow_plan(&plan, session->config, &err) != RP_OK) {
                code = rp_die("follow", &err);
        } else if (rp_interrupt_signal()) {
                code = 128 + rp_interrupt_signal();
        } else if (args->execute) {
                code = rp_follow_execute(session);
        } else {
                rp_follow_print(result, rp_is_json(&args->common), stdout);
                code = RP_EXIT_CLEAN;
        }
        rp_follow_plan_release(&plan);
        return code;
}

/* What is known against the librdkafka in use: refused, or told once. */
static rp_err_t check_library(const struct args *args, struct rp_error *err)
{
        struct rp_findings findings = { 0 };

        rp_preflight_library(rp_client_version_number(), rp_client_version(), RP_LIBRARY_WRITE | RP_LIBRARY_GROUP,
                             args->allow_librdkafka, &findings);
        for (size_t i = 0; i < findings.cnt; i++) {
                if (findings.items[i].severity == RP_FINDING_REFUSAL)
                        return rp_fail(err, RP_ERR_USAGE, "%s", findings.items[i].text);
                if (args->execute && !args->common.quiet) {
                        fputs("repartition follow: ", stderr);
                        rp_wrap(stderr, findings.items[i].text, 20, 8);
                }
        }
        return RP_OK;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct args *args = raw;
        struct rp_error err;
        struct rp_client_config client = { 0 };
        char job[600], rewrite_job[600], host[64] = "?", by[RP_NOTE_BY_SIZE];
        struct rp_follow_plan_config config = {
                .client = &client, .source = operands[0], .target = operand_cnt > 1 ? operands[1] : NULL,
                .job = args->job ? args->job : job, .rewrite_job = rewrite_job, .by = by,
                .partition_cnt = (int32_t)args->partitions, .replication_factor = (int32_t)args->replication_factor,
                .jobs_topic = args->jobs_topic, .settings = args->settings.items, .setting_cnt = args->settings.cnt,
                .marks = args->mark, .timeout_ms = (int)args->timeout_ms,
        };
        struct rp_follow_session session = {
                .config = &config, .common = &args->common, .neighbour_args = &args->neighbour, .instance = args->instance,
                .transaction_ms = args->transaction_ms, .skips_refused = !strcmp(args->on_refused, "skip"),
                .look_back = (size_t)args->look_back,
        };
        kr_policy_t *policy = rp_policy_from_args(&args->policy, &err);
        int code;

        if (!policy)
                return rp_die("follow", &err);
        gethostname(host, sizeof(host) - 1);
        snprintf(by, sizeof(by), "host %s, process %ld", host, (long)getpid());
        rp_follow_default_name(job, sizeof(job), config.source, config.target);
        rp_rewrite_default_name(rewrite_job, sizeof(rewrite_job), config.source, config.target ? config.target : "");
        if (check_library(args, &err) != RP_OK || check(args, &config, policy, &err) != RP_OK ||
            read_include(args, &config.include, &err) != RP_OK ||
            rp_client_config_read(&client, args->client.config_file, args->client.properties.items,
                                  args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK)
                code = rp_die("follow", &err);
        else
                code = plan_or_execute(args, &session);
        rp_client_config_release(&client);
        kr_policy_free(policy);
        return code;
}

const struct rp_command rp_cmd_follow = {
        .name = "follow",
        .operands = "SRC [DST]",
        .summary = "Copies what arrives in a topic to where it belongs, for as long as it runs",
        .description =
                "A daemon. With DST every record of SRC goes to the partition of DST where the policy puts its key: first\n"
                "what is there (--from), then what arrives. Key, value, headers and timestamp stay as they are, byte for byte;\n"
                "a key of one source partition keeps its order.\n\n"
                "With SRC alone it mends in place: records that arrive in a wrong partition are copied to the right one, if\n"
                "they are safe: if the right one holds nothing of the key that is as new. Others are counted by class, as\n"
                "repair does, and left alone (--include). What is there already is for repair: run that first.\n\n"
                "Records and progress go into one transaction: whatever is killed or stopped, committed readers see each\n"
                "record once.\n\n"
                "Start more of them, on any machines, with the same command: they share the partitions as members of one\n"
                "consumer group, and take over from one that dies when its session ends (10 s; -X session.timeout.ms).\n"
                "SIGTERM commits what is open and leaves the group at once. Partitions that SRC gets later are followed from\n"
                "their beginning; when the partition count by which keys are placed changes, the job ends with an error.\n\n"
                "With DST it describes itself in the topic of jobs, and leaves there what verify and cutover need to work\n"
                "while it copies.\n\n"
                "Without --execute it prints the plan and writes nothing. DST is created like SRC unless it exists.\n"
                "More: docs/follow.md.",
        .examples = "  repartition follow orders orders.v2 --partitions 16 -b localhost:9092\n"
                    "  repartition follow orders orders.v2 --partitions 16 -b localhost:9092 --execute\n"
                    "  repartition follow orders orders.v2 --from rewrite -b localhost:9092 --execute\n"
                    "  repartition follow orders -b localhost:9092 --execute\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = 2,
        .run = run,
};
