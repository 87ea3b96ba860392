/** After a repair in place: from where on each group must read the topic again, and putting it there. */
#ifndef RP_JOB_REPROCESS_H
#define RP_JOB_REPROCESS_H

#include "decide/reprocess.h"
#include "decide/rollback.h"
#include "io/client.h"
#include "io/source.h"

struct rp_reprocess_row {
        const char *name;
        int64_t *before;   /* as stored, by partition; -1: none */
        int64_t *starts;   /* where it shall go on; -1: stays where it is */
        int64_t again;     /* offsets, an upper bound of records, that it will see again */
        int32_t moved;     /* partitions */
        char refusal[400]; /* "" when it can be put back now */
};

struct rp_reprocess_config {
        const struct rp_client_config *client;
        const char *topic;
        const char *const *groups;
        size_t group_cnt;
        const kr_rule_t *rule;
        int timeout_ms;
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
};

struct rp_reprocess_plan {
        const struct rp_reprocess_config *config;
        struct rp_source *source;
        struct rp_reprocess found;
        int64_t *from; /* by partition; -1: need not be read again */
        struct rp_reprocess_row *rows;
        size_t row_cnt, refusal_cnt;
        bool is_stopped;
};

/** Reads the topic, asks for the groups. RP_OK also when groups are refused. *plan is the caller's to release in any case. */
rp_err_t rp_reprocess_prepare(struct rp_reprocess_plan *plan, const struct rp_reprocess_config *config, struct rp_error *err);
rp_err_t rp_reprocess_record(const struct rp_reprocess_plan *plan, struct rp_rollback *rollback, struct rp_error *err);
rp_err_t rp_reprocess_execute(struct rp_reprocess_plan *plan, size_t *done, struct rp_error *err);
void rp_reprocess_plan_release(struct rp_reprocess_plan *plan);

#endif
