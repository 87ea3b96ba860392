/**
 * The one place that decides how a copying job proceeds: which offsets it reads, when a transaction begins and is
 * committed, and what follows from an outcome that nobody knows. rewrite, repair and follow share it; what becomes of a
 * single record is their own decision and no concern of this one.
 *
 * Pure: no clock, no thread, no Kafka, nothing allocated while records flow. It is a dialogue. Each step asks the loop
 * around it (job/copy_loop.c; a simulator in tests) for one action, and the loop answers with what came of it:
 *
 *         struct rp_copy_action action = rp_copy_begin(&copy, now_ms);
 *         while (action.what != RP_COPY_END)
 *                 action = rp_copy_answer(&copy, perform(action));
 *
 * What it holds to, whatever the loop answers:
 *  - What is stored in the cluster is the truth. Positions in memory are dropped after any doubt and read anew from there.
 *  - After any outcome but success of BEGIN, APPEND or COMMIT the producer is not used again: first a LOOK that disturbs
 *    nobody (has another run gone on? then it wins), then RECOVER, which makes a new producer and thereby settles what
 *    was open, and only then is the progress believed.
 *  - Progress that nobody of this run stored: another run took over (RP_ERR_FENCED, told by name). Progress that went
 *    back: RP_ERR_FATAL. New starts without a commit in between are bounded.
 *  - An action that waits never keeps a transaction open beyond its limit.
 *
 * What is called a partition here is a place in the row of all the source's partitions (decide/topics.h).
 *
 * Two forms. PASSES (rewrite, repair): static partitions; a pass copies up to ends that are fixed when it begins and
 * stored in the notes (decide/note.h), so that whoever takes a killed run up reads the very same sequence. GROUP (follow):
 * partitions come and go with a consumer group's rebalances, there are no ends and no notes of this file's making.
 */
#ifndef RP_COPY_H
#define RP_COPY_H

#include "decide/topics.h"
#include "error.h"
#include "mark.h"

#include <stddef.h>

typedef enum { RP_COPY_PASSES, RP_COPY_GROUP } rp_copy_form_t;

struct rp_copy_config {
        rp_copy_form_t form;
        int32_t partition_cnt;    /* of the source */
        const char *topic;        /* the source's name, for messages */
        const struct rp_topics *topics; /* ... or those of the source, by place; NULL: one topic. Borrowed */
        const char *identity;     /* what the job is, see rp_job_identity(); PASSES */
        const char *by;           /* who runs, for the other one's error message: host and process; PASSES */
        /** PASSES: the offsets to copy, by partition; clipped to what there is. NULL: everything. */
        const struct rp_range *asked;
        /** PASSES: the partitions that this run reads, by number; others are another worker's. NULL: all. */
        const bool *is_mine;
        int64_t transaction_ms;       /* longest time a transaction stays open; see rp_transaction_pace_ms() */
        uint64_t transaction_bytes;   /* most bytes in one, 0: any. Judged between runs of records, so it is passed by one run */
        uint64_t transaction_records; /* most records in one, 0: any; likewise */
        bool is_named;                /* GROUP: the producer's name is not this run's alone, so being fenced is the end */
};

/** What the loop is to do. Every action is answered once, by rp_copy_answer(). */
typedef enum {
        RP_COPY_LOOK,    /* read the stored progress into copy->seen; disturb nobody. GROUP: of the partitions held */
        RP_COPY_RECOVER, /* make the producer anew, which fences and aborts; then read the progress into copy->seen */
        RP_COPY_BOUNDS,  /* PASSES: fill copy->bounds: low watermark and last stable offset of every partition */
        RP_COPY_READ,    /* read copy->ranges from now on. PASSES: and nothing else. GROUP: where a range is not empty;
                            first is -1 where nothing is stored: the loop's own choice, which it writes there */
        RP_COPY_TAKE,    /* get the next run of records, waiting up to wait_ms */
        RP_COPY_BEGIN,   /* begin a transaction */
        RP_COPY_APPEND,  /* go through the run that was taken last, from where the last APPEND stopped */
        RP_COPY_COMMIT,  /* commit what is open, with action.marks */
        RP_COPY_ABORT,   /* GROUP: abort what is open */
        RP_COPY_RELEASE, /* GROUP: tell the group that the partitions of the last rebalance answer are given back */
        RP_COPY_HOLD,    /* do nothing for wait_ms */
        RP_COPY_END      /* over: copy->error is RP_OK or says why. Nothing may be answered */
} rp_copy_do_t;

/** What became of the records that were appended since this was told last; counts of theirs are now due or void. */
typedef enum { RP_COPY_PENDING, RP_COPY_COMMITTED, RP_COPY_VOID } rp_copy_fate_t;

struct rp_copy_action {
        rp_copy_do_t what;
        rp_copy_fate_t fate;         /* to be heeded before the action; APPEND never brings news */
        int64_t wait_ms;             /* TAKE, HOLD */
        const struct rp_mark *marks; /* COMMIT: borrowed until the next answer */
        size_t mark_cnt;             /* may be 0 (GROUP) */
};

typedef enum { RP_COPY_KEEPS, RP_COPY_ASSIGNED, RP_COPY_REVOKED, RP_COPY_LOST } rp_copy_rebalance_t;

/** What came of an action. Members that are not named for the action are not looked at. */
struct rp_copy_answer {
        int64_t now_ms;             /* monotonic; may lag behind while records flow without a wait */
        rp_err_t code;              /* every action: RP_OK, or what went wrong ... */
        const struct rp_error *err; /* ... in words; borrowed */
        bool wants_stop;            /* every action: commit what is open, then end. Need not be repeated */
        int64_t hold_ms;            /* READ, TAKE, APPEND, HOLD: do not go on for so long; 0: go on */
        int64_t transaction_ms;     /* every action: the longest time for a transaction from now on; 0: as it was */

        size_t cnt;                 /* TAKE: records in the run */
        bool has_moved;             /* TAKE, GROUP, with cnt 0: nothing is left before `next`, not even control records */
        bool is_done;               /* TAKE: PASSES: every range is read to its end; cnt is 0 then */
        int32_t partition;          /* TAKE, with cnt > 0 or has_moved: of the run */
        int64_t next;               /* TAKE, with cnt > 0 or has_moved: where reading goes on in it after the run */

        bool needs_transaction;     /* APPEND: stopped before a record to be written, since no transaction was open */
        uint64_t records, bytes;    /* APPEND: appended by this action */

        /** TAKE (with cnt 0) and HOLD, GROUP: the group gave or took these partitions. Borrowed. */
        rp_copy_rebalance_t rebalance;
        const int32_t *partitions;
        size_t partition_cnt;
};

/** Figures for reports. */
struct rp_copy_stats {
        uint64_t records, bytes;  /* committed */
        uint64_t uncommitted;     /* records in the open transaction */
        uint64_t transactions;    /* committed; those that only stored progress count as well */
        uint64_t rolled_back;     /* transactions that turned out void, their records were or will be read again */
        uint64_t uncertain;       /* commits whose outcome had to be looked up in the stored progress */
        uint64_t recoveries;      /* producers made anew, the first one not counted */
        uint64_t passes;          /* taken part in */
        bool is_resumed;          /* stored progress was found at the start */
        bool is_stopped;          /* ended because the loop wanted to stop; progress is kept */
        struct rp_error trouble;  /* why the last new start was needed; "" when none was */
};

/* What is known of one partition; private. */
struct rp_copy_lane {
        int64_t position; /* all before it was handed out and is appended or skipped; -1: not read by us */
        int64_t pending;  /* what is stored if the pending commit took place */
        char *note;       /* of the pass; NULL where the partition has no part in it */
        bool is_held;     /* ours: by config (PASSES) or by the group */
        bool joins, leaves;
};

struct rp_copy {
        /* For the loop, to fill or to read when an action says so. partition_cnt elements each. */
        struct rp_range *bounds;
        struct rp_range *ranges;
        struct rp_progress seen;
        struct rp_copy_stats stats;
        struct rp_error error;       /* once the action is END */

        /* The rest is private. */
        struct rp_copy_config config;
        struct rp_copy_lane *lanes;
        struct rp_progress stored;   /* the truth, as last read or committed */
        struct rp_mark *marks;
        struct rp_copy_action asked;
        int reason;                  /* why a LOOK, BEGIN or COMMIT was asked for */
        int64_t now_ms, opened_ms, dirty_ms, commit_ms, hold_ms;
        uint64_t opened_records, opened_bytes;
        rp_copy_rebalance_t rebalance;
        int32_t run_partition;
        int64_t run_next;
        int recoveries_in_a_row;
        bool is_started;             /* the first progress was read */
        bool is_open, is_pending;    /* a transaction is open; a commit was tried and its outcome is unknown */
        bool is_dirty, carries_all;  /* a commit would store something new; the next one stores every mark of the pass */
        bool is_done, is_stopping;
};

/** @param config  its strings and arrays are borrowed while the copy lives. false when out of memory. */
bool rp_copy_init(struct rp_copy *copy, const struct rp_copy_config *config);
void rp_copy_release(struct rp_copy *copy);

/** GROUP: makes room for partitions that the source got since, before a TAKE that names them is answered. */
bool rp_copy_grow(struct rp_copy *copy, int32_t partition_cnt);

/** The first action. */
struct rp_copy_action rp_copy_begin(struct rp_copy *copy, int64_t now_ms);

/** Takes in what came of the action asked for last. @returns the next one. */
struct rp_copy_action rp_copy_answer(struct rp_copy *copy, const struct rp_copy_answer *answer);

/** True when a transaction is open, or may be: an END then leaves something to abort. */
static inline bool rp_copy_is_open(const struct rp_copy *copy)
{
        return copy->is_open;
}

/** True for a partition that is this run's own: by the config, or as the group has it. */
bool rp_copy_is_held(const struct rp_copy *copy, int32_t partition);

/** Where the job stands in a partition: everything before it is in the open transaction or stored. -1: not read here. */
int64_t rp_copy_position(const struct rp_copy *copy, int32_t partition);

#endif
