/**
 * Moves consumer groups from a topic to its image: computes where each goes on so that it skips nothing, says how many
 * records it will see again, and stores the offsets. In two steps, so that what is written is what was shown: prepare()
 * looks, execute() writes.
 */
#ifndef RP_JOB_CUTOVER_H
#define RP_JOB_CUTOVER_H

#include "decide/rollback.h"
#include "io/client.h"
#include "job/verify_topics.h"

#include <keyroute.h>

struct rp_cutover_config {
        const struct rp_client_config *source_client, *target_client;
        const char *const *sources; /* by name */
        int32_t source_cnt;
        const char *source;        /* what they are called together, see rp_topics_label() */
        const char *target, *job, *jobs_topic;
        const char *const *groups;
        size_t group_cnt;
        const kr_rule_t *rule;
        const char *verified;      /* text of a report of verify, to be taken instead of verifying; NULL: verify */
        const char *verified_name; /* ... and where it comes from */
        bool assumes_earliest;     /* where a group has no offset it has read nothing; else that is a refusal */
        bool is_exact;             /* count what is seen again, however much there is to read */
        int timeout_ms;
        size_t memory_bytes;       /* of verify */
        /** Called often. @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void (*waits)(void *arg, const char *what); /* see rp_jobs_topic_on_wait(); may be NULL */
        void *arg;
};

struct rp_cutover_row {
        const char *name;
        int64_t *source_offsets;   /* as stored, by source partition (by place, of several sources); -1: none */
        int64_t *target_before;    /* as stored, by target partition; -1: none */
        int64_t *starts;           /* where it shall go on, by target partition */
        int32_t missing;           /* partitions of the source with records and without an offset of the group */
        int32_t from_beginning;    /* source partitions for which no checkpoint is early enough */
        uint64_t remaining;        /* records (or, unless counted, offsets) of the source that it has not read */
        uint64_t again;            /* records that it will see again ... */
        bool is_counted;           /* ... exactly; else at most so many */
        char refusal[400];         /* why it cannot be moved now; "" when it can */
};

struct rp_cutover_plan {
        int32_t source_cnt, target_cnt; /* partitions */
        const struct rp_topics *topics; /* of the source, NULL: one; borrowed from the session */
        struct rp_cutover_row *rows;
        size_t row_cnt;
        size_t refusal_cnt;
        uint64_t left;             /* offsets of the source that are not copied yet: an upper bound of records */
        bool is_followed;          /* a follow copies what comes */
        const char *job;           /* the last one that copied; borrowed from the session */
        uint64_t checkpoints;      /* that the jobs have left */
        bool is_stopped;           /* by tick */
        bool is_verified;          /* equal */
        char verdict[400];         /* what was found, for people */

        struct rp_cutover_session *session; /* private: what stays open until execute() */
};

/** @returns RP_OK also when groups are refused. *plan is the caller's to rp_cutover_release() in any case. */
rp_err_t rp_cutover_prepare(struct rp_cutover_plan *plan, const struct rp_cutover_config *config, struct rp_error *err);

/** Adds where the groups stand now, in both topics. */
rp_err_t rp_cutover_record(const struct rp_cutover_plan *plan, struct rp_rollback *rollback, struct rp_error *err);

/** Stores the offsets of all groups. *done is how many got theirs, also after an error. */
rp_err_t rp_cutover_execute(struct rp_cutover_plan *plan, size_t *done, struct rp_error *err);

void rp_cutover_release(struct rp_cutover_plan *plan);

/** What taking back does to a group. */
struct rp_undo_row {
        const char *name;
        int32_t restored, forgotten; /* offsets put back, and offsets removed since there were none */
        int32_t source_restored;     /* of the source, where the cluster has dropped them meanwhile */
};

/**
 * Puts groups back to where the rollback has them; the source's offsets only where they are gone by now.
 * @param rows      one a group, filled in
 * @param executes  false: only looks
 */
rp_err_t rp_cutover_undo(const struct rp_rollback *rollback, const struct rp_client_config *source_client,
                         const struct rp_client_config *target_client, bool executes, int timeout_ms,
                         struct rp_undo_row *rows, struct rp_error *err);

#endif
