/**
 * What follow leaves behind for others beside its copies: a note with each stored offset (decide/follow_note.h), and in the
 * topic of jobs a description of the job and waypoints (decide/waypoint.h); in place, instead of these, how much was copied of
 * each partition. That sum is in the note as well, where whoever gets the partition next finds it. It answers what
 * job/follow.h asks of a job about that; one for each instance, in the thread of its loop.
 */
#ifndef RP_FOLLOW_RECORD_H
#define RP_FOLLOW_RECORD_H

#include "decide/follow_note.h"
#include "error.h"
#include "io/sink.h"
#include "mark.h"

struct rp_follow_record;

/** All of it borrowed while the record lives. */
struct rp_follow_record_config {
        const struct rp_follow_note *note; /* what all partitions have in common */
        struct rp_sink *sink;              /* what is said goes there */
        const char *job;                   /* its name */
        bool in_place;                     /* what is copied by class is left, and no waypoints: nobody moves */
        const char *descriptor;            /* see decide/job_record.h; NULL: the job leaves nothing but its notes */
        int32_t target_cnt;                /* partitions */
        int64_t pace_ms;                   /* between two waypoints, at least; longer where they are long */
        /** Where the target's logs end now, open transactions and all. An error costs a waypoint, no more. With a descriptor. */
        rp_err_t (*ends)(void *arg, int64_t *ends, struct rp_error *err);
        void *arg;
};

/** @returns NULL when out of memory. */
struct rp_follow_record *rp_follow_record_new(const struct rp_follow_record_config *config);
void rp_follow_record_free(struct rp_follow_record *record);

/** In place: the record, of that class, goes into the transaction that is open, or is to be begun next. */
void rp_follow_record_copies(struct rp_follow_record *record, const struct rp_record *rec, rp_class_t class);

/* The questions of job/follow.h. */
bool rp_follow_record_started(struct rp_follow_record *record, int32_t partition, int64_t next, const char *note);
const char *rp_follow_record_note(const struct rp_follow_record *record, int32_t partition);
rp_err_t rp_follow_record_begun(struct rp_follow_record *record, const struct rp_mark *held, size_t cnt, struct rp_error *err);
rp_err_t rp_follow_record_committing(struct rp_follow_record *record, size_t offset_cnt, struct rp_error *err);
void rp_follow_record_settled(struct rp_follow_record *record, bool is_committed);

#endif
