/**
 * What follow writes beside each stored offset: whose progress it is, and how the group began. An instance that comes
 * later, or a partition that the topic got later, must begin by the same choice. Pure; JSON.
 */
#ifndef RP_FOLLOW_NOTE_H
#define RP_FOLLOW_NOTE_H

#include "decide/job_record.h"
#include "decide/note.h"
#include "mark.h"

typedef enum {
        RP_FROM_EARLIEST,
        RP_FROM_LATEST,  /* what comes after the group's first start */
        RP_FROM_TIME,
        RP_FROM_REWRITE  /* where a rewrite of the same two topics stands */
} rp_from_t;

struct rp_follow_note {
        char job[RP_NOTE_JOB_SIZE]; /* see rp_follow_identity() */
        char by[RP_NOTE_BY_SIZE];   /* the instance that stored this: host and process */
        rp_from_t from;
        int64_t time_ms;            /* RP_FROM_TIME */
        int64_t born_ms;            /* wall clock, when the group's first instance started */
        int32_t partition_cnt;      /* of the source then */

        /* Of the partition beside whose offset it stands. Notes of jobs that leave no record of themselves lack both. */
        int64_t first;              /* where copying began in it; -1: not known */
        int64_t epoch;              /* whose waypoints count, see decide/waypoint.h; 0: none do */
        struct rp_job_done done;    /* in place: what was copied of it, by whichever members held it */
};

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_follow_note_print(const struct rp_follow_note *note);

/** @returns false when the text is not such a note. */
bool rp_follow_note_parse(struct rp_follow_note *note, const char *text);

/**
 * The time to look a partition's beginning up by, when nothing is stored for it: a time, RP_TIME_EARLIEST or
 * RP_TIME_LATEST. A partition that the topic got after the group's birth is read from its beginning: none
 * of its records was there before. Not for RP_FROM_REWRITE, unless the rewrite stored nothing for it either.
 * @param is_birth  the group's first start: nothing is stored for any partition
 */
int64_t rp_follow_begin(const struct rp_follow_note *note, int32_t partition, bool is_birth);

/**
 * What a follow job is; instances whose identities differ must not share a group.
 * @param target  NULL: in place
 */
void rp_follow_identity(char out[RP_NOTE_JOB_SIZE], const char *source, const char *target, int32_t partition_cnt,
                        const char *fingerprint);

#endif
