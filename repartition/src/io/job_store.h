/**
 * Where a job keeps what it must remember: how far it has come, its checkpoints, its description.
 *
 * Source and target in one cluster: progress is the offsets of the job's consumer group, the rest stands in the topic of
 * jobs. Two clusters: everything stands in the target's topic of jobs, since a transaction cannot span clusters. A cluster
 * that makes no topics on request (an embedded one) and has no such topic: progress alone, and only within that cluster.
 */
#ifndef RP_JOB_STORE_H
#define RP_JOB_STORE_H

#include "io/jobs_topic.h"
#include "io/source.h"

struct rp_job_store {
        struct rp_jobs_topic *jobs;   /* NULL: none, and none can be made, or none is wanted */
        struct rp_jobs_topic *target; /* the same, or the mere connection to the target's cluster; never NULL once open */
        struct rp_job_fold fold;    /* what the topic says of this job, as far as it was read */
        struct rp_job_fold *beside; /* the same of another job; NULL: none. Borrowed */
        bool is_apart;              /* source and target are two clusters */
        struct rp_source *source;   /* a Kafka source whose group is the job, unless apart; borrowed */
        char source_cluster[RP_CLUSTER_ID_SIZE], target_cluster[RP_CLUSTER_ID_SIZE];
};

struct rp_job_store_config {
        const struct rp_client_config *target; /* how to reach the target's cluster; borrowed while the store is open */
        struct rp_source *source;
        const char *job;
        const char *topic; /* of jobs; "none": without one */
        struct rp_job_fold *beside; /* initialized, of another job: takes what is read as well. NULL: none. Borrowed */
        int timeout_ms;
};

/**
 * Connects, compares the clusters, and reads what there is. Makes nothing.
 * @returns RP_ERR_USAGE also when two clusters are given and the target's can have no topic of jobs.
 *          *store is the caller's to rp_job_store_close() in any case.
 */
rp_err_t rp_job_store_open(struct rp_job_store *store, const struct rp_job_store_config *config, struct rp_error *err);
void rp_job_store_close(struct rp_job_store *store);

/** Reads on in the topic of jobs, if there is one. @param waits  as in rp_jobs_topic_read() */
rp_err_t rp_job_store_read(struct rp_job_store *store, bool waits, int timeout_ms, struct rp_error *err);

/** How far the job has come. Waits for the end of a transaction that is about to change it. */
rp_err_t rp_job_store_progress(struct rp_job_store *store, struct rp_progress *progress, int timeout_ms,
                               struct rp_error *err);

#endif
