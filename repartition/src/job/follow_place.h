/**
 * follow TOPIC: what becomes of a record when misplaced ones are copied, as they arrive, to where they belong in the same
 * topic. The judge of job/follow.h; the classes are those of decide/tail.h.
 *
 * Right partitions are read only while misplaced records come, from the first record on that is as late as they are, and
 * each of their records once, as long as they fit into memory.
 */
#ifndef RP_FOLLOW_PLACE_H
#define RP_FOLLOW_PLACE_H

#include "decide/tail.h"
#include "error.h"
#include "io/reader.h"
#include "io/source.h"
#include "job/copy_loop.h"

#include <keyroute.h>

/** Of stored progress only: what a transaction did that turned out void is not counted. */
struct rp_follow_place_counts {
        uint64_t read;
        uint64_t right;          /* where they belong; those without a key are everywhere */
        uint64_t refused;        /* the policy has no place for their keys */
        uint64_t own_tombstones; /* which repair wrote for old copies */
        uint64_t misplaced[RP_CLASS_CNT];
        uint64_t too_old;        /* of the unknown ones: more would have to be read than fits */
        uint64_t copied, copied_bytes; /* written by this run */
};

struct rp_follow_place_config {
        const kr_rule_t *rule;
        const char *topic;
        int32_t partition_cnt;
        struct rp_source *committed, *uncommitted; /* of the topic, list headers; borrowed */
        unsigned include;        /* bits 1 << class: what is copied */
        bool marks;              /* copies name their origin in a header */
        bool skips_refused;      /* a key without a place is counted; else it ends the job */
        size_t records_max;      /* of right partitions that are kept in memory; some 50 bytes each */
        /** As rp_offsets_at() of the topic: for each partition the first offset of that time or later, or -1. */
        rp_err_t (*offsets_at)(void *arg, int64_t time_ms, int64_t *offsets, struct rp_error *err);
        void *offsets_arg;
        /** Told of each record that is to be copied, of which class it is; again, when it is judged again. May be NULL. */
        void (*copies)(void *offsets_arg, const struct rp_record *rec, rp_class_t class);
        /**
         * How long the end of an open transaction is waited for whose records would make one stale. Another member's that was
         * fenced holds copies that its successor is to make again: they end with it, aborted. 0: not at all
         */
        int64_t open_wait_ms;
        bool (*goes_on)(void *offsets_arg); /* false ends that wait, and leaves the run for later. NULL: true */
};

struct rp_follow_place;

/** @returns NULL when out of memory. */
struct rp_follow_place *rp_follow_place_new(const struct rp_follow_place_config *config);
void rp_follow_place_free(struct rp_follow_place *place);

const struct rp_follow_place_counts *rp_follow_place_counts(const struct rp_follow_place *place);

/** In the form of job/follow.h; arg is a struct rp_follow_place. */
rp_err_t rp_follow_place_judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts,
                               struct rp_error *err);
void rp_follow_place_settled(void *arg, bool is_committed);
const struct rp_record *rp_follow_place_dress(void *arg, const struct rp_record *rec);

#endif
