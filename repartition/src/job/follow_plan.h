/** What follow finds out before it joins its group: topics, what the group has stored, where a new group begins. */
#ifndef RP_FOLLOW_PLAN_H
#define RP_FOLLOW_PLAN_H

#include "decide/follow_note.h"
#include "io/client.h"
#include "io/cluster.h"
#include "io/group.h"
#include "io/jobs_topic.h"
#include "io/source.h"

#include <keyroute.h>

struct rp_follow_plan_config {
        const struct rp_client_config *client;
        const char *source;
        const char *target;          /* NULL: in place */
        const char *job;             /* the group */
        const char *rewrite_job;     /* RP_FROM_REWRITE: whose progress it is */
        const char *by;              /* host and process */
        const char *jobs_topic;      /* see io/jobs_topic.h; "none": without */
        const kr_rule_t *rule;
        int32_t partition_cnt;       /* of the target; 0: not said */
        int32_t replication_factor;  /* of a target that is created; 0: like the source */
        const char *const *settings; /* NAME=VALUE, likewise */
        size_t setting_cnt;
        unsigned include;            /* in place: classes that are copied, 1 << class ... */
        bool marks;                  /* ... and whether copies name their origin */
        bool from_is_given;          /* else earliest for a target, latest in place */
        rp_from_t from;
        int64_t time_ms;
        int timeout_ms;
};

struct rp_follow_plan {
        struct rp_source *source;    /* open, read_committed, lists headers; reads what is not the group's business */
        int32_t partition_cnt;       /* of the target, in place of the topic */
        int32_t replication_factor;  /* of a target that is created */
        bool target_exists;
        bool is_birth;               /* nothing is stored: the group begins now */
        struct rp_follow_note note;  /* as stored, or as it will be */
        struct rp_progress stored;   /* by the group, when it was looked at */
        struct rp_progress rewrite;  /* RP_FROM_REWRITE: of the rewrite */
        struct rp_settings settings; /* of a target that is created */
        int64_t batch_bytes_max;     /* of the target; 0: not known */
        char timestamp_type[32];     /* of the target; "" when not known */
        struct rp_jobs_topic *jobs;  /* NULL: there is none and none can be made, or none is wanted */
        struct rp_job_descriptor descriptor; /* of the job as it goes on now */
};

/**
 * Looks and writes nothing. *plan is the caller's to rp_follow_plan_release(), also after an error.
 * @returns RP_ERR_USAGE for what must be mended first: counts that do not agree, another job's progress, a target that
 *          holds records of others, a topic that stamps copies with the present time
 */
rp_err_t rp_follow_plan(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err);

/** Creates the target as planned, and the topic of jobs, where they do not exist. Other instances may do the same at once. */
rp_err_t rp_follow_plan_create(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err);

/** Fills `next` of marks for which the group has stored nothing. */
rp_err_t rp_follow_plan_begin_at(const struct rp_follow_plan *plan, struct rp_group *group, struct rp_mark *marks,
                                 size_t cnt, int timeout_ms, struct rp_error *err);

void rp_follow_plan_release(struct rp_follow_plan *plan);

/** "earliest", "latest", "rewrite", or the time. @returns out. */
const char *rp_follow_from_text(const struct rp_follow_note *note, char *out, size_t size);

#endif
