/**
 * Puts misplaced records of a topic right in place: judges them (decide/repair.h), then copies those of the chosen classes
 * to the partitions that the rule gives, exactly once and in merged order, by the loop that all copying jobs share
 * (job/copier.h). Or, on compacted topics and later, writes tombstones for the old copies.
 *
 * A pass is judged once, up to ends that are stored with its progress: a run that takes up a killed one comes to the same
 * classes, whatever the killed one has written. What was written beyond those ends is looked at before each commit
 * (job/repair_sink.h). When the misplaced records do not fit into memory, there are several passes, each over the keys of
 * a range of hashes. Knows no Kafka.
 */
#ifndef RP_JOB_REPAIR_H
#define RP_JOB_REPAIR_H

#include "decide/copy.h"
#include "decide/repair.h"
#include "io/sink.h"
#include "io/source.h"
#include "job/repair_record.h"

/** A copy of a misplaced record that committed readers cannot see yet, since somebody's transaction is open before it. */
struct rp_unstable {
        bool exists;
        int32_t partition;   /* where the copy lies ... */
        int64_t offset;
        int64_t stable;      /* ... and up to where that partition can be read committed */
        int32_t of_partition; /* what it is a copy of */
        int64_t of_offset;
};

/** What a repair found and did. Counts of records are of committed ones only. */
struct rp_repair_report {
        struct rp_repair_counts counts; /* as found, before anything was written */
        uint64_t records, keyed;        /* in the topic */
        struct rp_unstable unstable;    /* the first one that was met */
        bool is_interrupted;            /* a pass of such a repair was found unfinished ... */
        bool resumes;                   /* ... and is, or would be, taken up */

        uint64_t written, written_bytes;
        uint64_t overtaken;             /* not written: something newer arrived (tombstones: were written again) meanwhile */
        uint64_t gone;                  /* not written: compaction or retention took them meanwhile */
        uint64_t passes;                /* that had something to write */
        uint64_t transactions, rolled_back, uncertain, recoveries, uncommitted;
        const char *trouble;            /* what went wrong last and was overcome; NULL: nothing. Borrowed until the next tick */
        bool is_stopped;                /* the caller asked to stop; progress is kept */

        bool is_writing;                /* for a progress line: what is done now, in offsets */
        uint64_t done, total, seen;     /* seen: records, read or written */
};

struct rp_repair_job {
        struct rp_source *source;  /* committed records, with their headers */
        struct rp_source *tail;    /* the same topic, uncommitted ones and all; NULL without a sink: not looked at */
        struct rp_sink *sink;      /* to the same topic; NULL: only judge */
        struct rp_repair_config config; /* rule, memory, choice; count and topic are the source's */
        bool mark;                 /* copies name their origin */
        struct rp_repair_record *record; /* what others will be told of it; NULL: nothing */
        const char *by;            /* who runs, for the other one's error message: host and process */
        int64_t transaction_ms;    /* longest time a transaction stays open */
        uint64_t transaction_bytes;
        /**
         * Asked once what is found (job->sink: before anything of it is written). May be NULL.
         * @returns anything but RP_OK to go no further
         */
        rp_err_t (*check)(void *arg, const struct rp_repair_report *report, struct rp_error *err);
        /**
         * Asked before each commit whether the topic is still what was judged: the same one, with as many partitions. May be NULL.
         * @returns anything but RP_OK to commit nothing more
         */
        rp_err_t (*unchanged)(void *arg, struct rp_error *err);
        /** Waits so long at most until what is in the topic can be read committed. May be NULL. */
        rp_err_t (*await_stable)(void *arg, int most_ms, struct rp_error *err);
        /** As in struct rp_copier; both may be NULL. */
        int64_t (*hold)(void *arg, uint64_t bytes, uint64_t records);
        void *hold_arg;
        const int64_t *transaction_ms_now;
        /** Called often. @returns false to commit what is open and stop. May be NULL. */
        bool (*tick)(void *arg, const struct rp_repair_report *report);
        void *arg;
};

/**
 * Looks at what is stored under the job's name, for a plan; rp_repair_run() does so by itself.
 * @returns RP_OK and sets is_interrupted and resumes of *report, nothing else; RP_ERR_USAGE when it was not stored by a
 *          repair of this topic.
 */
rp_err_t rp_repair_look_back(const struct rp_repair_job *job, const struct rp_progress *progress,
                             struct rp_repair_report *report, struct rp_error *err);

/**
 * Judges everything and, with a sink, writes what is to be written.
 * @returns RP_OK (also when stopped, and when there was nothing to do; without a sink also when report->unstable tells
 *          that it would not begin); RP_ERR_INCOMPLETE when copies cannot be read committed yet, or when records are gone
 *          that were being read; RP_ERR_FENCED when another run took over; RP_ERR_USAGE when the stored progress is
 *          another job's; what check() returned; otherwise what kept failing. *report is filled in any case.
 */
rp_err_t rp_repair_run(const struct rp_repair_job *job, struct rp_repair_report *report, struct rp_error *err);

#endif
