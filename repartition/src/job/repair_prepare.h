/** Everything that a repair finds out about its topic before it reads records. */
#ifndef RP_REPAIR_PREPARE_H
#define RP_REPAIR_PREPARE_H

#include "decide/job_record.h"
#include "decide/repair_check.h"
#include "io/client.h"
#include "io/cluster.h"
#include "mark.h"
#include "io/jobs_topic.h"
#include "io/source.h"

struct rp_repair_prepare_config {
        const struct rp_client_config *client;
        const char *topic, *job;
        const kr_rule_t *rule;
        const char *jobs_topic;      /* see io/jobs_topic.h; "none": without */
        const char *by;              /* who runs: host and process */
        int timeout_ms;
};

struct rp_repair_preparation {
        struct rp_source *source;    /* open; its group is the job */
        struct rp_source *tail;      /* open; uncommitted records and all */
        struct rp_settings settings; /* facts borrow from here */
        struct rp_progress progress; /* as stored */
        struct rp_repair_facts facts; /* of topic and job; the rest is the caller's */

        /* Of rp_repair_prepare_record(). */
        struct rp_jobs_topic *jobs;  /* NULL: the job leaves no record */
        struct rp_job_descriptor descriptor;
};

/** Looks and writes nothing. *preparation is the caller's to release, also after an error. RP_ERR_USAGE: also for a rule
 *  that is made for another partition count. */
rp_err_t rp_repair_prepare(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                           struct rp_error *err);
/**
 * For a run that writes, once the facts are complete: finds the topic of jobs, or makes it, and describes the job. A cluster
 * that makes no topics, and has none, gets no record.
 */
rp_err_t rp_repair_prepare_record(struct rp_repair_preparation *preparation, const struct rp_repair_prepare_config *config,
                                  struct rp_error *err);
void rp_repair_preparation_release(struct rp_repair_preparation *preparation);

#endif
