/* repartition jobs: what the topic of jobs tells. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "io/cluster.h"
#include "io/topic_ids.h"
#include "report/jobs.h"
#include "topic_name.h"

#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        const char *topic, *jobs_topic;
        int64_t timeout_ms;
};

static const struct rp_option options[] = {
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "NAME", "only jobs that read or write this topic", NULL, 0,
          0, NULL },
        RP_JOBS_TOPIC_OPTION(struct args),
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { CLUSTER_ID_MS = 5000 };

struct session {
        const struct args *args;
        const char *job; /* NULL: all */
        struct rp_jobs_topic *jobs;
        struct rp_job_list list;
        struct rp_job_look *looks;
        struct rp_jobs_document document;
};

static bool take(void *arg, const struct rp_record *rec)
{
        struct session *session = arg;
        const struct rp_job_said said = { .key = rec->key, .value = rec->value, .key_len = rec->key_len,
                                          .value_len = rec->value_len, .offset = rec->offset,
                                          .timestamp_ms = rec->timestamp_ms };

        session->document.record_cnt++;
        return rp_job_list_add(&session->list, &said);
}

static bool is_wanted(const struct session *session, const struct rp_job_entry *entry)
{
        if (session->job && strcmp(session->job, entry->job) != 0)
                return false;
        return !session->args->topic || rp_job_entry_is_about(entry, session->args->topic);
}

static rp_err_t look_at_jobs(struct session *session, struct rp_error *err)
{
        struct rp_job_look_config config = { .client = rp_jobs_topic_client(session->jobs), .compares_ids = session->job,
                                             .timeout_ms = (int)session->args->timeout_ms };
        char cluster[RP_CLUSTER_ID_SIZE];
        rp_err_t rc = RP_OK;

        session->looks = calloc(session->list.cnt + 1, sizeof(*session->looks));
        if (!session->looks)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rp_cluster_id(config.client, CLUSTER_ID_MS, cluster);
        config.cluster = cluster;
        for (size_t i = 0; rc == RP_OK && i < session->list.cnt && !rp_interrupt_signal(); i++)
                if (is_wanted(session, &session->list.entries[i]))
                        rc = rp_job_look(&session->looks[session->document.look_cnt++], &session->list.entries[i], &config,
                                         err);
        if (rc == RP_OK && session->job && !session->document.look_cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "topic \"%s\" tells of no job \"%.200s\"%s; without a name all are listed",
                             rp_jobs_topic_name(session->jobs), session->job,
                             session->args->topic ? " that reads or writes that topic" : "");
        return rc;
}

static rp_err_t read_and_look(struct session *session, const struct rp_client_config *client, struct rp_error *err)
{
        const struct args *args = session->args;
        const struct rp_jobs_scan scan = { .timeout_ms = (int)args->timeout_ms, .take = take, .arg = session };
        int64_t read_to = 0;
        rp_err_t rc = rp_jobs_topic_open(&session->jobs, client, args->jobs_topic, (int)args->timeout_ms, err);

        if (rc != RP_OK)
                return rc;
        session->document.exists = rp_jobs_topic_exists(session->jobs);
        /* Not there, or not to be seen: brokers say the same of both in the list of topics. */
        if (!session->document.exists)
                return rp_cluster_may_see(rp_jobs_topic_client(session->jobs), args->jobs_topic, (int)args->timeout_ms, err);
        rc = rp_jobs_topic_scan(session->jobs, &scan, &read_to, err);
        rp_job_list_sort(&session->list);
        return rc == RP_OK ? look_at_jobs(session, err) : rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct session session = { .args = args, .job = operand_cnt ? operands[0] : NULL };
        struct rp_client_config client = { 0 };
        struct rp_error err;
        int code = RP_EXIT_CLEAN;

        session.document = (struct rp_jobs_document){ .topic = args->jobs_topic, .list = &session.list,
                                                      .is_whole = session.job };
        rp_interrupt_watch(RP_GRACE_READING_S);
        if (!strcmp(args->jobs_topic, "none")) {
                rp_fail(&err, RP_ERR_USAGE, "--jobs-topic none: there is nothing to read then");
                return rp_die("jobs", &err);
        }
        if (rp_topic_name_check(args->jobs_topic, &err) != RP_OK ||
            rp_client_config_read(&client, args->client.config_file, args->client.properties.items,
                                  args->client.properties.cnt, args->client.bootstrap, &err) != RP_OK ||
            read_and_look(&session, &client, &err) != RP_OK) {
                code = rp_die("jobs", &err);
        } else if (rp_interrupt_signal()) {
                code = 128 + rp_interrupt_signal();
        } else {
                session.document.looks = session.looks;
                rp_jobs_print(&session.document, rp_is_json(&args->common), stdout);
        }
        for (size_t i = 0; i < session.document.look_cnt; i++)
                rp_job_look_release(&session.looks[i]);
        free(session.looks);
        rp_job_list_release(&session.list);
        rp_jobs_topic_close(session.jobs);
        rp_client_config_release(&client);
        return code;
}

const struct rp_command rp_cmd_jobs = {
        .name = "jobs",
        .operands = "[NAME]",
        .summary = "Lists what was ever done to topics, as jobs have recorded it",
        .description =
                "Jobs describe themselves in a topic of their cluster, keyroute-jobs, in the transactions in which they write.\n"
                "This command reads it, read committed, and tells of each job what it does, by which policy, when it began,\n"
                "when and by whom it was run last, when it committed last, how far it has come, and whether somebody runs it\n"
                "now. With NAME everything that is known of that job: its topics' ids and whether they were deleted and made\n"
                "again since, and where it stands in each partition.\n\n"
                "Nothing is written. It needs Read on the topic of jobs; to tell how far jobs have come and who runs them also\n"
                "Describe on their groups, their leases' groups and their sources: what is missing is named, and the rest told.\n"
                "Records that cannot be read are counted and named.\n\n"
                "Jobs that ran with --jobs-topic none, and clusters without that topic, have nothing to tell: exit code 0 all\n"
                "the same.",
        .examples = "  repartition jobs -b localhost:9092\n"
                    "  repartition jobs --topic orders -b localhost:9092 --output json\n"
                    "  repartition jobs keyroute.orders.orders.v2 -b localhost:9092\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 0,
        .operand_max = 1,
        .run = run,
};
