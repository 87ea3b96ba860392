/**
 * The topic in which jobs are described, beside the target: compacted, one partition, by default "keyroute-jobs". What its
 * records say: decide/job_record.h. This file finds, makes and reads it; writing is the business of a job's own
 * transactions (io/jobs_writer.h).
 */
#ifndef RP_JOBS_TOPIC_H
#define RP_JOBS_TOPIC_H

#include "decide/job_record.h"
#include "io/client.h"
#include "record.h"

#define RP_JOBS_TOPIC_DEFAULT "keyroute-jobs"

struct rp_jobs_topic;

/**
 * Connects to the cluster and looks; makes nothing.
 * @param client  of the target's cluster; borrowed while the topic is open
 * @returns RP_OK, also when there is no such topic; RP_ERR_USAGE when there is one that is no topic of jobs;
 *          RP_ERR_RETRY when no broker answers.
 */
rp_err_t rp_jobs_topic_open(struct rp_jobs_topic **jobs, const struct rp_client_config *client, const char *name,
                            int timeout_ms, struct rp_error *err);
void rp_jobs_topic_close(struct rp_jobs_topic *jobs);

const char *rp_jobs_topic_name(const struct rp_jobs_topic *jobs);
bool rp_jobs_topic_exists(const struct rp_jobs_topic *jobs);

/** True when it exists, or this cluster can be asked to make it. */
bool rp_jobs_topic_is_possible(const struct rp_jobs_topic *jobs);

/** Reading with `waits` tells fn, once each time, what it waits for when that takes longer than a moment. */
void rp_jobs_topic_on_wait(struct rp_jobs_topic *jobs, void (*fn)(void *arg, const char *what), void *arg);

/** Asks the cluster whether it would be created, and lets it be. @returns RP_OK, also when it is there by now; or why not. */
rp_err_t rp_jobs_topic_try_create(struct rp_jobs_topic *jobs, struct rp_error *err);

/** Adds to an error about a right that is missing (RP_ERR_USAGE) that the job can do without its record. @returns its code. */
rp_err_t rp_jobs_topic_offer_none(struct rp_error *err);

/** Makes it if it does not exist; two who try at once both succeed. */
rp_err_t rp_jobs_topic_create(struct rp_jobs_topic *jobs, int32_t replication_factor, struct rp_error *err);

/**
 * Adds to the fold what was committed since it was last read.
 * @param timeout_ms  how long brokers are waited for, and
 * @param waits       whether everything that is in the topic now is waited for as well: another job's open transaction
 *                    hides what stands behind it, this job's own progress too. Else: what can be read committed now
 * @returns RP_ERR_RETRY when that takes too long. Without the topic: RP_OK, and the fold stays as it is.
 */
rp_err_t rp_jobs_topic_read(struct rp_jobs_topic *jobs, struct rp_job_fold *fold, bool waits, int timeout_ms,
                            struct rp_error *err);

/** How all that is committed there is read. */
struct rp_jobs_scan {
        bool waits;     /* as in rp_jobs_topic_read() */
        int timeout_ms;
        bool (*take)(void *arg, const struct rp_record *rec); /* @returns false when out of memory */
        void *arg;
};

/** Gives every record of every job from *read_to on, which then is where the next scan begins; errors as above. */
rp_err_t rp_jobs_topic_scan(struct rp_jobs_topic *jobs, const struct rp_jobs_scan *scan, int64_t *read_to, struct rp_error *err);

/** Reading committed, where the topic's partitions end: the last stable offset. cnt elements. */
rp_err_t rp_jobs_topic_ends_of(struct rp_jobs_topic *jobs, const char *topic, int32_t cnt, int timeout_ms, int64_t *ends,
                               struct rp_error *err);

/** The connection to the target's cluster, for other questions. Borrowed. */
struct rp_client *rp_jobs_topic_client(struct rp_jobs_topic *jobs);

#endif
