/**
 * Compares two topics record by record without holding either: digests first, and where they differ a second reading of
 * just the part that does, to name what is wrong. Knows no Kafka; both sides are rp_sources.
 */
#ifndef RP_VERIFY_H
#define RP_VERIFY_H

#include "decide/differ.h"
#include "io/sink.h"
#include "io/source.h"

#include <keyroute.h>

enum { RP_EXAMPLES_PER_KIND = 5, RP_EXAMPLE_MAX = RP_EXAMPLES_PER_KIND * RP_DIFFERENCE_CNT };

struct rp_verify_side {
        uint64_t records, keyless, bytes;
        struct rp_digest content;
        uint64_t deleted; /* offsets below the log's start: records that retention took */
};

struct rp_verify_example {
        rp_difference_t kind;
        struct rp_place {
                int32_t partition; /* -1: none on this side */
                int64_t offset;
        } source, target;
        int32_t wanted; /* RP_MISPARTITIONED: where it belongs, else -1 */
        bool has_key;   /* key is filled in, and NULL means a record without one */
        void *key;
        size_t key_len;
};

struct rp_verify_report {
        struct rp_verify_side source, target;
        uint64_t keys_compared;      /* whose order was compared */
        double keys_share;           /* of all keys, 1 unless memory ran out */
        uint64_t keys_differing;
        uint64_t counts[RP_DIFFERENCE_CNT];
        uint64_t parts_differing, parts_unnamed; /* of 4096; unnamed ones did not fit into the memory */
        bool is_bounded_by_progress; /* the source was read up to what the job has copied */
        bool passes_are_forgotten;   /* too many passes to know the order of split keys in the oldest */
        bool is_equal;
        bool is_stopped;
        struct rp_verify_example examples[RP_EXAMPLE_MAX];
        size_t example_cnt;
};

struct rp_verify {
        struct rp_source *source, *target;
        const kr_rule_t *rule;
        const struct rp_progress *progress; /* of the job; no mark set when there is none */
        const struct rp_range *source_bounds, *target_bounds;
        size_t memory_bytes;
        bool shows_keys;
        /** Called often. @returns false to stop. May be NULL. */
        bool (*tick)(void *arg, uint64_t done, uint64_t total, uint64_t records);
        void *arg;
};

/**
 * @returns RP_OK and the report, equal or not; RP_ERR_INCOMPLETE when source records that were copied are gone.
 *          *report is the caller's to rp_verify_report_release() in any case.
 */
rp_err_t rp_verify_run(const struct rp_verify *verify, struct rp_verify_report *report, struct rp_error *err);

void rp_verify_report_release(struct rp_verify_report *report);

#endif
