/**
 * Everything that a topic of jobs tells, of all jobs: what each is, and that it was heard of. For people who ask what was ever
 * done to a topic; what a job itself goes by is read by decide/job_record.h. Records that nobody can read are counted, and
 * the first of them named: one that is damaged must not hide the others. Pure.
 */
#ifndef RP_JOB_LIST_H
#define RP_JOB_LIST_H

#include "decide/job_record.h"

enum { RP_JOB_DAMAGE_MAX = 8, RP_JOB_DAMAGE_KEY_MAX = 120 };

/** One job; what it wrote as tombstones later counts as another one of the same name. */
struct rp_job_entry {
        char *job;
        bool is_of_tombstones;
        struct rp_job_descriptor *descriptor;  /* the last one; NULL: none that could be read */
        int64_t described_ms;                  /* when that one was committed; -1: not known */
        int64_t committed_ms;                  /* when any record of the job was last committed; -1: not known */
        uint64_t checkpoint_cnt, waypoint_cnt; /* that are in the topic, those included that compaction will take away */
        bool has_done;                         /* it tells what it has written: jobs in place do */
        struct rp_job_done done;               /* once rp_job_list_sort() was called */
        struct rp_job_fold fold;               /* the positions of a job between two clusters, and what jobs in place say */
};

/** A record that could not be read. */
struct rp_job_damage {
        int64_t offset;
        char key[RP_JOB_DAMAGE_KEY_MAX];       /* its first bytes */
        size_t key_len;
        const char *what;                      /* is wrong with it; static */
};

struct rp_job_list {
        struct rp_job_entry *entries;          /* by name, once rp_job_list_sort() was called */
        size_t cnt, cap;
        struct rp_job_damage damages[RP_JOB_DAMAGE_MAX]; /* the first ones */
        uint64_t damage_cnt;                   /* all */
};

void rp_job_list_release(struct rp_job_list *list);

/** A record of the topic, in its order. */
struct rp_job_said {
        const void *key, *value; /* value NULL: a tombstone, which takes back what its key said */
        size_t key_len, value_len;
        int64_t offset, timestamp_ms;
};

/** @returns false when out of memory. */
bool rp_job_list_add(struct rp_job_list *list, const struct rp_job_said *said);

/** By name, and sums up what is said of each. To be called once, when all is added. */
void rp_job_list_sort(struct rp_job_list *list);

/** Whether the job reads or writes that topic. One that nobody has described does not. */
bool rp_job_entry_is_about(const struct rp_job_entry *entry, const char *topic);

/** What the job does, in one word: "rewrite", "follow", "follow-in-place", "repair", "tombstones"; NULL: not described. */
const char *rp_job_entry_kind(const struct rp_job_entry *entry);

/* ---- how far a job has come ------------------------------------------------------------------------------------------ */

/** A partition of a source, as known by now; -1: not known, or none. */
struct rp_job_lane {
        char topic[256];
        int32_t partition;
        int64_t first;    /* where copying began */
        int64_t next;     /* all before is dealt with */
        int64_t pass_end; /* where the pass ends that it is in; of a job in passes */
        int64_t end;      /* of the partition, now */
};

/** Takes from the note beside the stored offset where copying began, and the end of the pass; whatever kind of note it is. */
void rp_job_lane_note(struct rp_job_lane *lane, const char *note);

/** Takes what is said of the offsets that the last pass of a job in place was about, where no note has told it. */
void rp_job_lanes_judged(struct rp_job_lane *lanes, int32_t cnt, const struct rp_job_entry *entry);

struct rp_job_extent {
        int64_t done;     /* offsets between first and next; -1: not known */
        int64_t in_pass;  /* offsets that a pass has begun with and not finished: above 0 it was interrupted, or goes on; -1 */
        int64_t left;     /* offsets that the partitions hold behind next, at most as many records; -1 */
};

struct rp_job_extent rp_job_extent(const struct rp_job_lane *lanes, size_t cnt);

#endif
