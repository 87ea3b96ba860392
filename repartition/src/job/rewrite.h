/**
 * Copies a topic, or several, into another one, each record to the partition that a rule gives it, exactly once and in order.
 *
 * What is peculiar to a rewrite: where each record goes, and what is counted of them. How copying proceeds, and what
 * follows when something goes wrong, is decided in decide/copy.h and performed by job/copier.h.
 */
#ifndef RP_REWRITE_H
#define RP_REWRITE_H

#include "io/sink.h"
#include "io/source.h"

#include <keyroute.h>

/** What a run did. Counts of records are of committed ones only. */
struct rp_rewrite_report {
        uint64_t records;         /* copied */
        uint64_t bytes;           /* keys and values copied */
        uint64_t keyless;         /* of the records: without a key */
        uint64_t moved;           /* of the records: with a key, and another partition number than before */
        uint64_t misplaced;       /* of the records: not where the rule puts the key in the source */
        uint64_t unordered;       /* of the records: older than one of their own partition that this run copied before them, so
                                     that no merge can have both orders, and the partition's goes first */
        bool misplaced_is_known;  /* false when the rule is pinned to another count than the source has */
        uint64_t transactions;    /* committed */
        uint64_t rolled_back;     /* transactions that turned out void, their records were copied again */
        uint64_t uncertain;       /* outcomes that had to be looked up in the stored progress */
        uint64_t recoveries;      /* producers made anew, the first one not counted */
        uint64_t passes;          /* taken part in */
        bool is_resumed;          /* stored progress was found at the start */
        bool is_stopped;          /* the caller asked to stop; progress is kept */
        uint64_t done, total;     /* offsets of the current pass, for a progress line */
        uint64_t uncommitted;     /* records in the open transaction */
        const char *trouble;      /* why the last new start was needed; for tick() alone, NULL: none was */
};

struct rp_rewrite {
        struct rp_source *source;
        struct rp_sink *sink;
        const kr_rule_t *rule;
        const char *identity;      /* see rp_job_identity() */
        const char *by;            /* who runs, for the other one's error message: host and process */
        const bool *is_mine;       /* the source partitions that this run copies, by number; NULL: all */
        rp_err_t (*confirm)(void *arg, struct rp_error *err); /* see rp_copier; may be NULL */
        void *confirm_arg;
        const struct rp_range *asked; /* what is to be copied, by source partition; NULL: all */
        int64_t transaction_ms;    /* longest time a transaction stays open */
        int64_t transaction_bytes; /* ... and most bytes in one */
        /** Called often. @returns false to commit what is open and stop. May be NULL. */
        bool (*tick)(void *arg, const struct rp_rewrite_report *report);
        void *arg;
        int64_t (*hold)(void *arg, uint64_t bytes, uint64_t records); /* see rp_copier; may be NULL */
        void *hold_arg;
        const int64_t *transaction_ms_now; /* see rp_copier.transaction_ms; may be NULL */
};

/**
 * Runs until everything up to the source's last stable offsets, as they are when it begins, is copied.
 * @returns RP_OK (also when stopped, and when there was nothing new); RP_ERR_FENCED when another run of the job took
 *          over; RP_ERR_INCOMPLETE when source records are gone; RP_ERR_USAGE when the stored progress is of another
 *          job; otherwise what kept failing. *report is filled in any case.
 */
rp_err_t rp_rewrite_run(const struct rp_rewrite *rewrite, struct rp_rewrite_report *report, struct rp_error *err);

#endif
