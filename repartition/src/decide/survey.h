/**
 * What a topic's records are like, as far as a plan needs to know: how many would move, how old and how large they are,
 * whether keys are split over partitions, whether times run backwards. Fed record by record, those of one partition by
 * rising offset, from a sample or from everything. Pure.
 */
#ifndef RP_SURVEY_H
#define RP_SURVEY_H

#include "decide/split.h"
#include "decide/topics.h"
#include "record.h"

#include <keyroute.h>

struct rp_survey {
        /* set by the caller */
        const kr_rule_t *rule;
        int32_t source_cnt, target_cnt; /* partitions */
        const struct rp_topics *topics; /* of the source, NULL: one; records go by the place in their row. Borrowed */
        int64_t cutoff_ms;              /* records before this time are counted as expired; INT64_MIN: none */
        struct rp_split *exact;         /* counts the keys instead of the survey itself, all of them; NULL: does not */

        uint64_t records, bytes;        /* bytes of keys and values */
        uint64_t keyless;
        uint64_t moved;                 /* keyed, and another partition number in the target */
        uint64_t misplaced;             /* keyed, and not where the rule puts the key in the source */
        bool misplaced_is_known;        /* false when the rule is pinned to another count */
        uint64_t rejected;              /* keyed, and refused by the rule */
        uint64_t unresolved;            /* keyed, and of a schema that no registry gave */
        uint64_t timeless;              /* carry no time */
        uint64_t expired;
        uint64_t largest_bytes;         /* key and value of the largest record */
        int64_t oldest_ms, newest_ms;   /* -1: no record had a time */
        uint64_t keys, split_keys;      /* distinct keys seen, and those seen in more than one source partition; with
                                           `exact`, what that one found, for the caller to fill in */
        uint64_t split_records;         /* records with such keys; only with `exact` */
        bool keys_are_capped;           /* there were more keys than are kept track of */
        bool has_failed;                /* out of memory: the figures are of no use */
        uint64_t backward;              /* carry an older time than a record before them in their partition */
        int64_t step_back_ms;           /* the largest difference of this kind */

        struct rp_survey_slot *slots;
        size_t slot_cnt;
        int64_t *partition_newest_ms;   /* source_cnt of them; -1: no record had a time */
};

/** Call once rule, counts and cutoff are set. false when out of memory. */
bool rp_survey_init(struct rp_survey *survey);
void rp_survey_add(struct rp_survey *survey, const struct rp_record *rec);
void rp_survey_release(struct rp_survey *survey);

/** How many records of each partition are looked at first, to know how long records are. */
int64_t rp_survey_probe(int32_t partition_cnt);

/**
 * How many records more from each of some places of every partition make a sample, by those that were looked at so far.
 * @param left  offsets in all
 * @returns INT64_MAX when it is all so little that no sample is needed
 */
int64_t rp_survey_chunk(const struct rp_survey *survey, uint64_t left, int places);

#endif
