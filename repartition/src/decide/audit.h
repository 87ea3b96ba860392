/**
 * Everything an audit learns, one record at a time: how many lie where, which are misplaced by the judging rule, which
 * keys there are and which weigh most. The order of records makes no difference but for what the heaviest keys' counts
 * may lack. Some 5 MB whatever the size of the topic (20 when its keys are very long), and 100 bytes a partition. Pure;
 * belongs to one thread.
 */
#ifndef RP_AUDIT_H
#define RP_AUDIT_H

#include "decide/explain.h"
#include "decide/frames.h"
#include "decide/sample.h"
#include "decide/skew.h"
#include "error.h"
#include "record.h"

/** What was asked to be read of a partition and how far that came. */
struct rp_coverage {
        int64_t first, end; /* offsets first .. end - 1; first >= end: nothing to read */
        int64_t next;       /* reading got so far */
        int64_t lost;       /* offsets of the range that are gone for ever (retention took them meanwhile) */
        bool skipped;       /* not asked for (--partition) */
};

/** Where and when one record is; offset -1: there is none, or it comes from no topic. */
struct rp_place {
        int32_t partition;
        int64_t offset;
        int64_t time_ms; /* -1: none */
};

struct rp_audit_partition {
        uint64_t records;
        uint64_t bytes; /* of keys and values */
        uint64_t misplaced;
        struct rp_place first_misplaced, last_misplaced; /* by offset */
};

enum { RP_KEY_OUTCOMES = 4 }; /* room for each kr_key_outcome_t */

struct rp_audit {
        const kr_rule_t *rule; /* borrowed */
        int32_t partition_cnt;
        size_t sample_keys;
        struct rp_audit_partition *partitions;
        uint64_t records, bytes;
        uint64_t null_keys;     /* nobody's partition is wrong for them */
        uint64_t empty_keys;    /* hashed by Java, spread by librdkafka's default: judged, but no evidence */
        uint64_t keyed;         /* all others */
        uint64_t rejected_keys; /* the rule refuses to place them; among keyed or empty_keys */
        uint64_t unresolved_keys; /* could not be judged, since no registry gave their schema; likewise among them */
        uint64_t key_outcomes[RP_KEY_OUTCOMES]; /* by kr_key_outcome_t: what the rule's key use made of all but null keys */
        uint64_t misplaced, misplaced_empty_keys; /* the latter are among the former */
        struct rp_place first_misplaced; /* by time */
        rp_sample_t *sample;    /* of keyed records */
        rp_heavy_t *heavy;      /* likewise */
};

/**
 * @param rule         judges; accepts this partition count
 * @param sample_keys  distinct keys to sample, such as RP_SAMPLE_KEYS
 * @returns RP_OK and *audit, the caller's to rp_audit_release(); or RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_audit_init(struct rp_audit *audit, const kr_rule_t *rule, int32_t partition_cnt, size_t sample_keys,
                       struct rp_error *err);
void rp_audit_release(struct rp_audit *audit);

/** Takes one record in; RP_ERR_FATAL when memory is out. */
rp_err_t rp_audit_add(struct rp_audit *audit, const struct rp_record *rec, struct rp_error *err);

/**
 * Adds all that another audit of the same topic by the same rule has taken in, of other records: other partitions, or what
 * another thread has read. The result is that of one audit of all, but for what the heaviest keys' counts may lack.
 */
rp_err_t rp_audit_merge(struct rp_audit *audit, const struct rp_audit *from, struct rp_error *err);

enum { RP_HEAVIEST = 5 };

/** What follows from all records together. */
struct rp_measures {
        uint64_t distinct_keys;
        double distinct_error;   /* relative, 95 of 100 estimates stay below; 0: exact */
        uint64_t split_keys;     /* in more than one partition; exact when distinct_keys is */
        uint64_t *partition_keys;    /* distinct keys by partition, likewise; owned */
        uint64_t *partition_records; /* by partition; owned */
        struct rp_heavy_key heaviest[RP_HEAVIEST];
        size_t heaviest_cnt;
        struct rp_skew skew;
};

/** Everything that is concluded from an audit's records. */
struct rp_findings {
        struct rp_measures measures;
        struct rp_ways ways;
        struct rp_explanation found; /* borrows from ways */
        struct rp_frames frames;
};

/**
 * @returns RP_OK and *findings, the caller's to rp_findings_release(), which borrow the audit's rule; or RP_ERR_FATAL
 *          when memory is out.
 */
rp_err_t rp_audit_conclude(struct rp_audit *audit, struct rp_findings *findings, struct rp_error *err);
void rp_findings_release(struct rp_findings *findings);

#endif
