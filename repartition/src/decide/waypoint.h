/**
 * Where the copies of a job that never ends lie: what follow leaves for cutover, while any number of its members come and
 * go. A member writes a waypoint into a transaction that it begins, and it says, for ever:
 *
 *         of what was copied from source partition p, everything from next on lies at or behind ends[q] in target
 *         partition q.
 *
 * That is what checkpoints of a rewrite say (decide/checkpoint.h), but each waypoint stands alone: others may be lost,
 * compacted away or stand in any order. It is true because
 *  - it names only partitions that the member holds, and next is all that anybody has copied of them by then;
 *  - ends are the ends of the target's logs after that. What others write between does not matter: it comes from partitions
 *    of their own, for which they have waypoints of their own;
 *  - it is in a transaction with at least one offset of the group, which the cluster refuses unless the member was one all
 *    the time. So none can come from a member that somebody else has replaced without its knowing.
 *
 * Each partition has an epoch, which stands beside its stored offset too (decide/follow_note.h): whoever finds nothing
 * stored there begins anew, with a new one, and what was said in an older epoch no longer counts.
 *
 * In the topic of jobs a waypoint's key is the lowest source partition that it names and a slot: so two members never write
 * one key at a time, and need no names. Slots go round by time, the finer ones sooner than the coarse, so that compaction
 * keeps a number that is bounded: two neighbours are a second apart, or a 500th of their age.
 *
 * Pure. JSON: some 500 bytes for 12 and 30 partitions, at most 45 KB for 1,000 and 1,000.
 */
#ifndef RP_WAYPOINT_H
#define RP_WAYPOINT_H

#include "decide/checkpoint.h"

enum {
        RP_WAYPOINT_LEVELS = 16,      /* the coarsest slots last for half a year */
        RP_WAYPOINT_LEVEL_SLOTS = 512,
        RP_WAYPOINT_SLOTS = RP_WAYPOINT_LEVELS * RP_WAYPOINT_LEVEL_SLOTS
};

/** A source partition that the writer holds. */
struct rp_waypoint_lane {
        int32_t partition;
        int64_t next;  /* all before it is copied, nothing from it on */
        int64_t epoch; /* above 0 */
};

/** @returns the text, the caller's to free(); NULL when out of memory. @param ends  target_cnt of them */
char *rp_waypoint_print(const struct rp_waypoint_lane *lanes, size_t cnt, const int64_t *ends, int32_t target_cnt);

/**
 * Makes the state what the text says, of those partitions whose epoch is that of the job: the others' positions are -1.
 * @param epochs  by source partition, 0: none counts
 * @returns false when the text is none, or speaks of more partitions than the state has room for
 */
bool rp_waypoint_apply(struct rp_checkpoint_state *state, const int64_t *epochs, const char *text);

/** @returns the slot for a waypoint that is written now, 0 .. RP_WAYPOINT_SLOTS - 1. @param now_ms  wall clock */
int32_t rp_waypoint_slot(int64_t now_ms);

#endif
