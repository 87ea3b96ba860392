/**
 * What a repair leaves in the topic of jobs for those who ask later what was done (decide/job_record.h): its description, the
 * offsets that its passes were about, and how much it has copied so far. All of it goes into the transactions that copy, so
 * what was aborted was never said, and whoever goes on adds to the very sum that is committed. Nothing goes by it but people:
 * where to go on is told by the notes beside the offsets.
 */
#ifndef RP_REPAIR_RECORD_H
#define RP_REPAIR_RECORD_H

#include "decide/job_record.h"
#include "error.h"
#include "io/sink.h"

struct rp_repair_record;

/** All of it borrowed while the record lives. */
struct rp_repair_record_config {
        const char *job;
        struct rp_job_descriptor *descriptor; /* of this run; since_ms is filled in */
        /** Reads what is committed about the job by now. NULL: nothing is. */
        rp_err_t (*read)(void *arg, struct rp_job_fold *fold, struct rp_error *err);
        void *arg;
};

/** @returns NULL when out of memory. */
struct rp_repair_record *rp_repair_record_new(const struct rp_repair_record_config *config);
void rp_repair_record_free(struct rp_repair_record *record);

/* The following allow NULL, and then do nothing. */

/** The job is this run's: nothing of an earlier one is open any more. */
rp_err_t rp_repair_record_begin(struct rp_repair_record *record, struct rp_error *err);

/** A pass begins, about these offsets. false when out of memory. */
bool rp_repair_record_pass(struct rp_repair_record *record, const struct rp_range *judged, int32_t cnt);

/** The open transaction, which is about to be committed, holds so many records of each class, and so many bytes. */
rp_err_t rp_repair_record_committing(struct rp_repair_record *record, struct rp_sink *sink, const uint64_t *records,
                                     uint64_t bytes, struct rp_error *err);
void rp_repair_record_settled(struct rp_repair_record *record, bool is_committed);

/** Nothing is left to do: says so in a transaction of its own, unless that is said, or nothing was ever done. */
rp_err_t rp_repair_record_finish(struct rp_repair_record *record, struct rp_sink *sink, int32_t partition_cnt,
                                 struct rp_error *err);

#endif
