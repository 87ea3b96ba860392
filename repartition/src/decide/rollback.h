/**
 * The way back from a cutover: where each group stood before, in both topics. A JSON file, written before anything else is.
 * A group that it names already keeps what was recorded first, so the same command run twice does not lose the way back.
 * Pure.
 */
#ifndef RP_ROLLBACK_H
#define RP_ROLLBACK_H

#include "decide/topics.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_rollback_offsets {
        int64_t *items; /* by partition, of several sources by place (decide/topics.h); -1: the group had none there */
        int32_t cnt;
};

struct rp_rollback_group {
        char *name;
        struct rp_rollback_offsets source, target; /* target.cnt 0: one topic alone, it was to be read again */
};

struct rp_rollback {
        char *source, *target;   /* topics; target NULL for --reprocess */
        struct rp_topics topics; /* of the source, if it is several; topic_cnt 0: one */
        char *written;           /* RFC 3339 */
        struct rp_rollback_group *groups;
        size_t group_cnt;
};

/**
 * An empty one. target may be NULL. false when out of memory.
 * @param topics  several sources, which are called `source` together; NULL: one
 */
bool rp_rollback_init(struct rp_rollback *rollback, const char *source, const struct rp_topics *topics, const char *target,
                      const char *written);
void rp_rollback_release(struct rp_rollback *rollback);

/** The several sources; NULL: one. */
static inline const struct rp_topics *rp_rollback_topics(const struct rp_rollback *rollback)
{
        return rollback->topics.topic_cnt ? &rollback->topics : NULL;
}

/** Records a group, unless it is there already; the offsets are copied. false when out of memory. */
bool rp_rollback_add(struct rp_rollback *rollback, const char *group, const int64_t *source, int32_t source_cnt,
                     const int64_t *target, int32_t target_cnt);

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_rollback_print(const struct rp_rollback *rollback);

/** @param what  the text's name, for messages. RP_ERR_USAGE when it is no such text; *rollback is the caller's to release. */
rp_err_t rp_rollback_parse(struct rp_rollback *rollback, const char *text, const char *what, struct rp_error *err);

#endif
