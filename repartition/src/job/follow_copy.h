/** follow SRC DST: what becomes of a record when every one goes into another topic. The judge of job/follow.h. */
#ifndef RP_FOLLOW_COPY_H
#define RP_FOLLOW_COPY_H

#include "error.h"
#include "record.h"

#include <keyroute.h>

/** Committed records only. */
struct rp_follow_copy_counts {
        uint64_t records, bytes; /* copied; bytes of keys and values */
        uint64_t keyless;        /* of them: without a key */
        uint64_t moved;          /* of them: with a key, and another partition number than before */
        uint64_t refused;        /* not copied: the policy has no place for their keys */
};

struct rp_follow_copy {
        const kr_rule_t *rule;
        const char *topic;       /* the source, for messages */
        int32_t partition_cnt;   /* of the target */
        bool skips_refused;      /* a key without a place is counted; else it ends the job */
        struct rp_follow_copy_counts total, pending; /* pending: in the open transaction */
};

/** Both in the form of job/follow.h; arg is a struct rp_follow_copy. */
rp_err_t rp_follow_copy_judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts,
                              struct rp_error *err);
void rp_follow_copy_settled(void *arg, bool is_committed);

/** Says which record has no place and why, and what can be done. @returns RP_ERR_BAD_RECORD. */
rp_err_t rp_follow_fail_refused(const struct rp_record *rec, const char *topic, int32_t reason, struct rp_error *err);

#endif
