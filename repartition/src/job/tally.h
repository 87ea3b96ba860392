/**
 * Tallies partitions of two topics, several at a time: each thread reads one partition after the other by a source of its
 * own. What the keys of one partition need of memory is needed at once, for each thread; what does not fit is read
 * again, in ranges of the key's hash.
 */
#ifndef RP_JOB_TALLY_H
#define RP_JOB_TALLY_H

#include "decide/tally.h"
#include "io/source.h"

#include <keyroute.h>

struct rp_tally_side {
        struct rp_tally *tallies; /* by partition; range and is_wanted are set by the caller, done ones are left alone */
        int32_t cnt;
};

struct rp_tally_job {
        struct rp_tally_side sides[2]; /* source, target */
        const kr_rule_t *rule;         /* places the target's records */
        size_t memory_bytes;           /* for all threads together */
        int thread_cnt;
        /** Opens one more source of that side; called by the thread that will use it. */
        rp_err_t (*open)(void *arg, int side, struct rp_source **source, struct rp_error *err);
        /** Called often, by the thread that called rp_tally_run(). @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        /** Called now and then, by the same thread, while no tally changes. May be NULL. */
        rp_err_t (*keep)(void *arg, struct rp_error *err);
        void *arg;
        size_t peak_bytes;             /* out: of the tables of keys, all threads together */
        bool is_stopped;               /* out: by tick; partitions that were half read are not done */
};

/**
 * Where a keyed record of a target belongs; negative when the rule refuses its key, which is in no place then.
 * @returns RP_ERR_INCOMPLETE when nobody can tell, since no registry gave the key's schema.
 */
rp_err_t rp_tally_home(const kr_rule_t *rule, const char *topic, int32_t partition_cnt, const struct rp_record *rec,
                       int32_t *home, struct rp_error *err);

/** @returns RP_OK, also when stopped; or the first error of any thread. The tallies that are done are good in any case. */
rp_err_t rp_tally_run(struct rp_tally_job *job, struct rp_error *err);

#endif
