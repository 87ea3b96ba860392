/** How far a job has come in each partition of its source, and the offsets that it reads. Plain values. */
#ifndef RP_MARK_H
#define RP_MARK_H

#include <stdbool.h>
#include <stdint.h>

/** Times that are none, by the protocol's own values: a partition's beginning, and its (last stable) end. */
#define RP_TIME_EARLIEST INT64_C(-2)
#define RP_TIME_LATEST INT64_C(-1)

/** Offsets first .. end-1 of one partition. */
struct rp_range {
        int64_t first;
        int64_t end;
};

/** How far a job has come in one partition of its source, as stored beside the records themselves. */
struct rp_mark {
        int32_t partition;
        int64_t next; /* offset of the first record that is not yet copied; -1: nothing stored */
        char *note;   /* what the job wrote there, see decide/note.h; NULL when nothing */
};

/** The marks of all partitions of the source, by partition number. */
struct rp_progress {
        struct rp_mark *marks;
        int32_t cnt;
};

/** Makes cnt empty marks. false when out of memory. */
bool rp_progress_init(struct rp_progress *progress, int32_t cnt);
void rp_progress_release(struct rp_progress *progress);

/** Adds empty marks up to cnt. false when out of memory; what is there stays. */
bool rp_progress_grow(struct rp_progress *progress, int32_t cnt);

/** Replaces one mark; the note is copied (NULL allowed). false when out of memory. */
bool rp_progress_set(struct rp_progress *progress, int32_t partition, int64_t next, const char *note);

#endif
