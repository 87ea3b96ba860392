/**
 * Two Kafka topics, opened for rp_verify_run(): how far each is to be read, taken at one moment of the job that copies
 * between them, and what is to be compared. For `verify`, and for whoever must not go on unless it finds them equal:
 *
 *     struct rp_verify_topics topics;
 *     if (rp_verify_topics_open(&topics, &config, &err) == RP_OK) {
 *             struct rp_verify verify = { .memory_bytes = RP_VERIFY_MEMORY };
 *
 *             rp_verify_topics_fill(&topics, &verify);
 *             rc = rp_verify_run(&verify, &report, &err);
 *     }
 *     rp_verify_topics_release(&topics);
 */
#ifndef RP_VERIFY_TOPICS_H
#define RP_VERIFY_TOPICS_H

#include "io/client.h"
#include "io/job_store.h"
#include "job/verify.h"

enum { RP_VERIFY_MEMORY = 256000000 };

struct rp_verify_topics_config {
        const struct rp_client_config *source_client, *target_client; /* borrowed as long as the topics are open */
        const char *const *sources;
        int32_t source_cnt;
        const char *source;   /* what they are called together, see rp_topics_label() */
        const char *target;
        const char *job;      /* whose progress bounds the source, where it has any */
        const char *jobs_topic; /* see io/jobs_topic.h */
        const kr_rule_t *rule;
        int timeout_ms;
        const char *mode;     /* "all", "latest"; NULL: by the topics' cleanup.policy */
        int thread_cnt;       /* 0 is 1 */
        struct rp_job_fold *followed; /* empty: becomes what the topic of jobs says of a follow. NULL: not wanted. Borrowed
                                         as long as the topics are open, and the caller's to rp_job_fold_release() */
        bool is_kept;         /* there will be a state file, which must know these very topics again */
};

struct rp_verify_topics {
        const struct rp_verify_topics_config *config;
        struct rp_source *source, *target;
        struct rp_job_store store;                   /* of the rewrite, or of the job that is no follow */
        /** Of the follow that has gone on from there, or copies alone. */
        struct {
                char job[600];
                struct rp_source *source;            /* whose group it is; NULL: there is nothing to look for */
                struct rp_progress progress;         /* as stored, by source partition */
                bool has_any;
        } followed;
        struct rp_progress progress;                 /* of both together; no mark set when there is none */
        struct rp_range *source_bounds, *target_bounds;
        /**
         * A follow commits all the while, so that there is no moment at which progress and bounds belong together: these
         * bounds of the target were taken before the progress, and by late_bounds all that it speaks of is there.
         */
        bool target_lags;
        struct rp_range *late_bounds;
        rp_compare_mode_t mode;
        char mode_reason[600];                       /* why that one, for people */
        char state_name[3072];                       /* the job, and ids of clusters and topics as far as they are known */
};

/**
 * Connects, waits a little for what is just being committed, and fixes the ends. The job that is named is a rewrite or a
 * follow. The rewrite by its default name has a follow by its own default name beside it, and that one the rewrite.
 * @returns RP_ERR_RETRY when a rewrite is running, so that there is no such moment; RP_ERR_USAGE when a topic does not
 *          exist or the rule is made for another partition count. *topics is the caller's to release in any case.
 */
rp_err_t rp_verify_topics_open(struct rp_verify_topics *topics, const struct rp_verify_topics_config *config,
                               struct rp_error *err);

/** Sets what the topics determine: sources, bounds, progress, rule, mode, threads, the name of the state. */
void rp_verify_topics_fill(struct rp_verify_topics *topics, struct rp_verify *verify);

/** @returns the job up to whose progress the source is compared: the follow, where one has gone on. */
const char *rp_verify_topics_job(const struct rp_verify_topics *topics);

void rp_verify_topics_release(struct rp_verify_topics *topics);

#endif
