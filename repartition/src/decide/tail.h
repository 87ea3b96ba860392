/**
 * Which of the misplaced records that arrive may be copied to their right partition at once: judged by what that partition
 * holds of late, since a copy lands at its tail. The classes are those of decide/repair.h; records come one by one here, so
 * nothing is known of what will come, and `split` is not told apart: a key's records of several wrong partitions are each
 * judged by time against what is in the right one, copies included.
 *
 * Exact as far as it is told the right partition's records from the first one on whose time is the misplaced record's or
 * later (which is what ListOffsets by time finds): all before are older. A record in the right partition that equals an
 * earlier one of the key in the misplaced record's own partition is a copy of that one, and never newer: a partition's order
 * is kept. So a second reading may be needed, of that partition; only when there is something to explain.
 *
 * Keys and contents are known by 64-bit hashes. Pure; belongs to one thread.
 */
#ifndef RP_TAIL_H
#define RP_TAIL_H

#include "decide/repair.h"

#include <stddef.h>

typedef struct rp_tail rp_tail_t;

/** @param topic  borrowed: origins in other topics are none. @returns the caller's to rp_tail_free(), or NULL. */
rp_tail_t *rp_tail_new(const char *topic);
void rp_tail_free(rp_tail_t *tail);

/** Forgets what was told of right partitions. */
void rp_tail_clear(rp_tail_t *tail);

/** Records told of and not forgotten. Each takes some 50 bytes. */
size_t rp_tail_cnt(const rp_tail_t *tail);

/**
 * Tells a record of a right partition.
 * @param is_open  its transaction is not committed, and may never be: it may be newer, but is no copy to rely on.
 *                 Forgotten by rp_tail_turn().
 * @returns false when out of memory.
 */
bool rp_tail_add(rp_tail_t *tail, const struct rp_record *rec, bool is_open);

/** A new run of records is judged: forgets open transactions and what was told of wrong partitions. */
void rp_tail_turn(rp_tail_t *tail);

/**
 * The class of a misplaced record, for which the right partition's tail was told.
 * @param needs_past  set when the class depends on earlier records of its own partition, from the first one on whose time
 *                    is its own or later: tell them by rp_tail_add_past() and ask again. Until then the class is the one
 *                    that writes nothing. NULL: they were told
 */
rp_class_t rp_tail_class(const rp_tail_t *tail, const struct rp_record *rec, bool *needs_past);

/**
 * True for a record that is stale by nothing but records of open transactions, which may yet be aborted: its class is decided
 * when they are. To be asked once its past was told.
 */
bool rp_tail_is_undecided(const rp_tail_t *tail, const struct rp_record *rec);

/** Tells a record of a wrong partition, misplaced like the one that is judged. false when out of memory. */
bool rp_tail_add_past(rp_tail_t *tail, const struct rp_record *rec);

#endif
