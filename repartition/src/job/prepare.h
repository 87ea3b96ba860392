/** Everything that a rewrite finds out before it writes: topics, settings, stored progress, a sample of the records. */
#ifndef RP_PREPARE_H
#define RP_PREPARE_H

#include "decide/lead.h"
#include "decide/note.h"
#include "decide/preflight.h"
#include "io/client.h"
#include "io/cluster.h"
#include "io/job_store.h"
#include "io/rights.h"
#include "io/sink.h"
#include "job/extent.h"
#include "io/source.h"

struct rp_prepare_config {
        const struct rp_client_config *client, *target_client; /* of the source's cluster and of the target's */
        const char *jobs_topic;      /* see io/jobs_topic.h; "none": without */
        const char *by;              /* who runs: host and process */
        const char *const *sources;  /* topics, by name */
        int32_t source_cnt;
        const char *source;          /* what they are called together, see rp_topics_label() */
        const char *target;
        const char *job;
        int32_t partition_cnt;       /* of the target */
        int32_t replication_factor;  /* 0: like the source, of several the highest */
        const char *const *settings; /* NAME=VALUE, for creating the target */
        size_t setting_cnt;
        const kr_rule_t *rule;
        const struct rp_extent *extent; /* of the source; NULL: all of it */
        bool is_exact;               /* survey everything instead of a sample */
        bool refuses_split_keys;     /* survey everything, and find every key that lives in several partitions */
        size_t memory_bytes;         /* for finding them; when it is used up, the source is read again; and for reading ahead */
        bool library_is_allowed;     /* a librdkafka that is known to lose data, too */
        int timeout_ms;
        /** Called while the records are surveyed. @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
};

struct rp_preparation {
        struct rp_source *source;      /* open; its group is the job */
        int32_t source_cnt;            /* topics of it */
        struct rp_job_store store;     /* open */
        struct rp_job_descriptor descriptor; /* of the job as it would go on now */
        struct rp_range *bounds;       /* of the source, now, as far as it was asked for: the survey goes up to their ends, and so must the copying */
        struct rp_progress progress;   /* as stored */
        struct rp_settings *source_settings; /* by source */
        struct rp_settings target_settings;  /* as it is, or as it would be created */
        struct rp_topic_facts *source_facts; /* facts.sources points here */
        struct rp_survey survey;
        bool survey_is_exact;          /* every record was looked at */
        bool is_stopped;               /* by tick */
        int former_workers;            /* of the last run that had several; 1: none had */
        char lead_run[RP_LEAD_RUN_SIZE]; /* the run that took the lead last, see decide/lead.h; "": none has */
        uint64_t left;                 /* offsets still to copy: an upper bound of records */
        struct rp_facts facts;
        struct rp_denials denials;     /* facts.denials points here */
        struct rp_error create_error;  /* facts.create_error points here */
        char other_job[RP_NOTE_JOB_SIZE]; /* facts.other_job points here */
        char follow_job[600];          /* facts.follow_job points here */
        struct rp_progress followed;   /* facts.followed points here */
        struct rp_findings findings;
};

/** What is known of a topic, as the pre-flight checks take it. Texts are borrowed from the arguments. */
struct rp_topic_facts rp_topic_facts(const char *name, const struct rp_topic_info *info,
                                     const struct rp_settings *settings);

/** Looks and writes nothing. *preparation is the caller's to rp_preparation_release(), also after an error. */
rp_err_t rp_prepare(struct rp_preparation *preparation, const struct rp_prepare_config *config, struct rp_error *err);

/** Creates the target as prepared, if it does not exist, and the topic of jobs. */
rp_err_t rp_preparation_create_target(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                                      struct rp_error *err);

/** Waits, a little, until what was committed to the target can be read committed, so that who looks next sees it. */
rp_err_t rp_preparation_await_target(const struct rp_prepare_config *config, struct rp_error *err);

void rp_preparation_release(struct rp_preparation *preparation);

/**
 * The settings of a target that is created: the source's, but for lists of its own replicas, then what the user wants
 * otherwise. @returns RP_ERR_USAGE for a wish that is not NAME=VALUE.
 */
rp_err_t rp_derive_settings(struct rp_settings *to, const struct rp_settings *from, const char *const *wanted,
                            size_t wanted_cnt, struct rp_error *err);

/** Whether the source's reader sees any record: aborted and control records do not count. Reads up to the first one. */
rp_err_t rp_source_has_records(struct rp_source *source, bool *found, struct rp_error *err);

#endif
