/**
 * What a rewriting job writes beside each stored offset, so that any later run can tell whose progress it is, take an
 * interrupted pass up where it stopped, and let verify read the source in the very order in which it was copied.
 *
 * A pass copies up to ends that are fixed when it begins. Records that came later belong to the next pass. The ends of
 * all passes are kept, because a key that is split over source partitions is merged within a pass, not across two.
 * Pure; JSON, as small as the broker's limit on offset metadata (4096 bytes by default) demands.
 */
#ifndef RP_NOTE_H
#define RP_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_NOTE_PASS_MAX = 100, RP_NOTE_JOB_SIZE = 640, RP_NOTE_BY_SIZE = 128 };

struct rp_note {
        char job[RP_NOTE_JOB_SIZE]; /* what is being done, see rp_job_identity() */
        char by[RP_NOTE_BY_SIZE];   /* the run that stored this: host and process */
        int32_t partition_cnt;      /* of the source, all topics together, as that run knew it; 0: it did not say */
        int64_t first;              /* where copying began in this partition */
        int64_t ends[RP_NOTE_PASS_MAX]; /* of each pass, the last one being the current */
        size_t pass_cnt;
        int64_t forgotten;          /* passes whose ends were dropped to make room: the oldest ones, counted from first */
};

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_note_print(const struct rp_note *note);

/** @returns false when the text is not such a note. */
bool rp_note_parse(struct rp_note *note, const char *text);

/** Adds the end of a new pass; when there is no room, the two oldest passes become one. */
void rp_note_add_pass(struct rp_note *note, int64_t end);

/** What a job is; two runs whose identities differ must not share progress. */
void rp_job_identity(char out[RP_NOTE_JOB_SIZE], const char *source, const char *target, int32_t partition_cnt,
                     const char *fingerprint);

#endif
