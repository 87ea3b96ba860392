/**
 * Which misplaced records may be copied to their right partition, and which must not be. Kafka cannot delete one record
 * and a copy lands at the tail, so a copy can turn an old value into the latest one. Each record that lies where the rule
 * does not put its key therefore has a class, judged per key over a fixed range of the topic:
 *
 *   copied   the right partition holds an equal record (or one whose header names this one as its origin): nothing to do.
 *            Equal ones are counted: two equal misplaced records need two copies
 *   stale    the right partition holds a record of the key that is not an equal one and whose time is the same or later
 *   unknown  the record has no time, or one of the key's records in the right partition has none (and it is not stale)
 *   split    none of the above, but records of the key that are not copied lie in several wrong partitions
 *   safe     all else: the copy will be the key's latest record, as it should be
 *
 * Records without a key are never misplaced; the empty key is a key. Tombstones are records like others, but for those
 * that this tool wrote into wrong partitions (their header tells): they are no data and have no class.
 *
 * Exact, with 128-bit hashes of keys and records, in bounded memory: it holds some 150 bytes for each misplaced record
 * whose key's hash lies in a range, and when the memory is used up the range shrinks; the next range is judged by reading
 * again. The topic is read twice for each: first to find the misplaced records, then to meet the right ones. In both
 * readings the order makes no difference. Pure; belongs to one thread.
 */
#ifndef RP_REPAIR_H
#define RP_REPAIR_H

#include "error.h"
#include "record.h"

#include <keyroute.h>

typedef enum { RP_CLASS_SAFE, RP_CLASS_STALE, RP_CLASS_SPLIT, RP_CLASS_UNKNOWN, RP_CLASS_COPIED, RP_CLASS_CNT } rp_class_t;

/** @returns "safe", "stale", "split", "unknown" or "copied". Static storage. */
const char *rp_class_name(rp_class_t class);

/** Names where a copy comes from: TOPIC/PARTITION/OFFSET. The last header of the copy. */
#define RP_ORIGIN_HEADER "keyroute.origin"

/** Marks a tombstone for the old copies in a wrong partition. Its value: "repair". */
#define RP_TOMBSTONE_HEADER "keyroute.tombstone"

/** Prints the value of RP_ORIGIN_HEADER; at most RP_ORIGIN_SIZE bytes with the NUL. @returns its length. */
enum { RP_ORIGIN_SIZE = 290 };
size_t rp_origin_print(char out[RP_ORIGIN_SIZE], const char *topic, int32_t partition, int64_t offset);

/** Whether the record's last header names an origin in this topic, and which. Else both are left as they are. */
bool rp_origin_read(const struct rp_record *rec, const char *topic, int32_t *partition, int64_t *offset);

/** True when the record is a tombstone that this tool wrote for old copies. */
bool rp_is_own_tombstone(const struct rp_record *rec);

struct rp_repair_config {
        const kr_rule_t *rule; /* borrowed; accepts this partition count */
        int32_t partition_cnt;
        const char *topic;     /* borrowed: origins in other topics are none */
        size_t memory_bytes;   /* bounds what is allocated, also while tables are rebuilt */
        unsigned include;      /* bits 1 << class: what is to be copied */
        bool tombstones;       /* not copies, but tombstones for the old copies of what is in its right place already */
        int64_t recent_ms;     /* misplaced records of this time or later are counted as recent */
        int64_t cutoff_ms;     /* records to be copied that are older are counted as expired; INT64_MIN: none */
};

/** Sums over all ranges concluded so far. */
struct rp_repair_counts {
        uint64_t records[RP_CLASS_CNT], bytes[RP_CLASS_CNT]; /* misplaced ones by class; bytes of keys and values */
        uint64_t keys[RP_CLASS_CNT];   /* keys with a record of the class; a key may have several */
        uint64_t recent;               /* misplaced, and of config.recent_ms or later */
        uint64_t pending, pending_bytes, pending_keys; /* to be written */
        uint64_t expired;              /* of the pending ones */
        uint64_t largest_bytes;        /* of the pending ones */
        int64_t oldest_ms, newest_ms;  /* of the pending ones; -1: none has a time */
        uint64_t own_tombstones;       /* of this tool, in wrong partitions */
        uint64_t uncovered;            /* old copies that get no tombstone: nothing as new is in the right partition */
        uint64_t ranges;               /* of key hashes: how often the topic was read twice */
};

/** Offsets first .. end-1 of a partition hold all its records that are to be written; both 0: there are none. */
struct rp_repair_span {
        int64_t first, end;
};

typedef struct rp_repair rp_repair_t;

/** @returns a judge, the caller's to rp_repair_free(); NULL when memory is out. */
rp_repair_t *rp_repair_new(const struct rp_repair_config *config);
void rp_repair_free(rp_repair_t *repair);

/** Forgets all records, not the sums, and begins with the keys whose hash is low .. high. */
void rp_repair_begin(rp_repair_t *repair, uint64_t low, uint64_t high);

/** The first reading. @returns RP_ERR_FATAL when memory is out, also when one key alone needs more than is allowed. */
rp_err_t rp_repair_note(rp_repair_t *repair, const struct rp_record *rec, struct rp_error *err);

/** Between the readings. RP_ERR_FATAL when memory is out. */
rp_err_t rp_repair_turn(rp_repair_t *repair, struct rp_error *err);

/** The second reading. Cannot fail. */
void rp_repair_meet(rp_repair_t *repair, const struct rp_record *rec);

/** After the second reading: gives each misplaced record its class and adds to the sums. */
void rp_repair_conclude(rp_repair_t *repair);

/** The end of the range, which may be lower than what was asked for. All hashes are judged when it is UINT64_MAX. */
uint64_t rp_repair_high(const rp_repair_t *repair);

/** @returns how many records of this range are to be written. */
uint64_t rp_repair_pending(const rp_repair_t *repair);

/** @returns how many of those lie in that partition at or behind that offset. */
uint64_t rp_repair_pending_from(const rp_repair_t *repair, int32_t partition, int64_t offset);

struct rp_repair_span rp_repair_span(const rp_repair_t *repair, int32_t partition);

const struct rp_repair_counts *rp_repair_counts(const rp_repair_t *repair);

/** @returns whether the record was judged in this range, and its class. For tests and reports. */
bool rp_repair_class(const rp_repair_t *repair, int32_t partition, int64_t offset, rp_class_t *class);

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/**
 * The last word on a record when its turn comes: RP_REPAIR_SKIP, or the partition that a copy (config.tombstones: a
 * tombstone for its key) is to be written to. What became stale since it was judged is skipped. May be asked again.
 */
enum { RP_REPAIR_SKIP = -1 };
int32_t rp_repair_decide(rp_repair_t *repair, const struct rp_record *rec);

/** A transaction begins: what was appended before belongs to earlier ones. */
void rp_repair_begin_transaction(rp_repair_t *repair);

/** The record was decided on, and its copy or tombstone goes into the open transaction. */
void rp_repair_append(rp_repair_t *repair, const struct rp_record *rec);

/**
 * A record beyond the range that was judged, committed or not, in the order of its partition. Our own copies tell where the
 * open transaction's lie, so what was appended must be in the log by the time that the first record of a look is read, and copies
 * of transactions before it must have arrived before it began.
 * @returns false when it is newer than a copy in the open transaction, and not behind it (config.tombstones: when there is a tombstone for
 *          it in the open transaction), which must therefore not be committed.
 */
bool rp_repair_arrive(rp_repair_t *repair, const struct rp_record *rec);

/** True when the record equals one of the misplaced records or names it as its origin; *place then tells which. */
bool rp_repair_is_copy(const rp_repair_t *repair, const struct rp_record *rec, int32_t *partition, int64_t *offset);

/** Of this range: records that were to be written but were overtaken by newer ones since (or written to again). */
uint64_t rp_repair_overtaken(const rp_repair_t *repair);

#endif
