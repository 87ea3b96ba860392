/**
 * Compares two topics record by record without holding either: digests first, and where they differ a second reading of
 * just the part that does, to name what is wrong. Knows no Kafka; both sides are rp_sources.
 *
 * Who needs the verdict alone (cutover): open by job/verify_topics.h, run, look at report.is_equal, and at report.ranges
 * for what it is true of. Of a report that is neither equal nor has any counts, `unsettled`, `parts_unnamed` or
 * `is_stopped` tells why.
 */
#ifndef RP_VERIFY_H
#define RP_VERIFY_H

#include "decide/differ.h"
#include "decide/tally.h"
#include "io/source.h"

#include <keyroute.h>

enum { RP_EXAMPLES_PER_KIND = 5, RP_EXAMPLE_MAX = RP_EXAMPLES_PER_KIND * RP_DIFFERENCE_CNT };

typedef enum {
        RP_COMPARE_ALL,   /* every record, and the order of each key's */
        RP_COMPARE_LATEST /* of each key the last record, a tombstone being no record; all records without a key */
} rp_compare_mode_t;

struct rp_verify_side {
        uint64_t records, keyless, bytes; /* that were read */
        uint64_t live_keys;               /* RP_COMPARE_LATEST: keys whose last record is no tombstone */
        struct rp_digest content;         /* of what is compared */
        uint64_t deleted; /* offsets below the log's start: records that retention took */
};

struct rp_verify_example {
        rp_difference_t kind;
        struct rp_verify_place {
                int32_t partition; /* -1: none on this side */
                int64_t offset;
        } source, target;
        int32_t wanted; /* RP_MISPARTITIONED: where it belongs, else -1 */
        bool has_key;   /* key is filled in, and NULL means a record without one */
        void *key;
        size_t key_len;
};

struct rp_verify_report {
        rp_compare_mode_t mode;
        struct rp_verify_side source, target;
        uint64_t keys_compared;      /* whose order, or last record, was compared */
        double keys_share;           /* of all keys, 1 unless a sample was asked for */
        uint64_t keys_differing;
        uint64_t counts[RP_DIFFERENCE_CNT];
        uint64_t parts_differing, parts_unnamed; /* of 4096; unnamed ones did not fit into the memory */
        uint64_t in_flight;          /* records that were written while this read: there, beyond the end on one side */
        uint64_t parts_moved, unsettled; /* parts that were not the same when read again, and differences within them:
                                            retention or compaction came in between, so they are told and not counted */
        uint64_t split_pieces;       /* by_partition: places that keys have beyond their first; > 0: read once more, merged */
        size_t peak_bytes;           /* of the tables of keys */
        unsigned readings;           /* how often both topics were read for the order of keys */
        bool is_by_partition;        /* proven by the sums of partitions */
        bool is_resumed;             /* went on from a state file */
        bool is_bounded_by_progress; /* the source was read up to what the job has copied */
        bool passes_are_forgotten;   /* too many passes to know the order of split keys in the oldest */
        bool is_equal;
        bool is_stopped;
        struct rp_verify_example examples[RP_EXAMPLE_MAX];
        size_t example_cnt;
        struct rp_range *ranges[2];  /* by partition, source and target: what was compared; owned */
        struct rp_tally *tallies[2]; /* by partition, NULL unless it was read so; owned */
        int32_t partition_cnts[2];
};

struct rp_verify {
        struct rp_source *source, *target;
        const kr_rule_t *rule;
        const struct rp_progress *progress; /* of the job; no mark set when there is none */
        const struct rp_range *source_bounds, *target_bounds;
        bool target_lags;       /* what the progress speaks of is in the target, but some of it beyond its bounds */
        rp_compare_mode_t mode;
        size_t memory_bytes;    /* for tables of keys and for naming differences; what sources fetch ahead is besides */
        uint64_t sample_keys;   /* compare the order of so many keys at most; 0: of all */
        bool shows_keys;

        /** With more than one thread, or for a part: opens one more source of that side. NULL otherwise. */
        rp_err_t (*open)(void *open_arg, int side, struct rp_source **source, struct rp_error *err);
        void *open_arg;
        int thread_cnt;         /* 0 is 1; more count in RP_COMPARE_ALL only */

        /** Only these partitions, of either side, by number: a part, whose tallies somebody adds up. NULL: all. */
        const bool *chosen;

        /** Where to keep what is known, to go on when it is there already; NULL: nowhere. Removed at the end. */
        const char *state_file;
        int state_interval_ms;  /* between two writings; 0: at every chance */
        const char *state_name; /* what else the state must have been written for, such as the job's name; NULL: nothing */

        /** Called often. @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
};

/**
 * @returns RP_OK and the report, equal or not; RP_ERR_INCOMPLETE when source records that were copied are gone;
 *          RP_ERR_USAGE when the state file was written for something else.
 *          *report is the caller's to rp_verify_report_release() in any case.
 */
rp_err_t rp_verify_run(const struct rp_verify *verify, struct rp_verify_report *report, struct rp_error *err);

void rp_verify_report_release(struct rp_verify_report *report);

#endif
