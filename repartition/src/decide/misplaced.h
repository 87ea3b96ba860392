/**
 * Misplaced records and their keys in bounded memory: what decide/repair.c judges. Records are found by place and by
 * content, keys by a 128-bit hash. Holds only keys whose hash lies in low .. high; when the memory is used up, high falls.
 * Pure; belongs to one thread.
 */
#ifndef RP_MISPLACED_H
#define RP_MISPLACED_H

#include "decide/digest.h"
#include "error.h"

#include <stdint.h>

/** A key that has misplaced records. */
struct rp_misplaced_key {
        struct rp_digest id;      /* hash of its bytes; high is what ranges go by */
        struct rp_digest newest;  /* content of a right record with the latest time */
        int64_t newest_ms;        /* INT64_MIN: no right record has a time */
        int64_t second_ms;        /* the latest time of right records with another content than `newest` */
        int64_t tail_ms;          /* the latest time of right records that came since; INT64_MIN: none */
        int64_t open_ms;          /* the oldest record in the open transaction */
        uint32_t open_serial;     /* the transaction that open_ms and the next two are about */
        uint32_t open_cnt;        /* copies in it */
        uint32_t placed_cnt;      /* of these, seen in the log */
        int32_t partition;        /* scratch: where its records lie */
        uint8_t seen;             /* scratch: bits of classes */
        bool has_timeless;        /* a right record without a time */
        bool is_touched;          /* misplaced records came since */
};

/** One of its records in a wrong partition. */
struct rp_misplaced {
        struct rp_digest digest;
        int64_t offset;
        int64_t time_ms;
        int32_t partition;
        uint32_t key;      /* index of its key */
        uint32_t twin;     /* the first record of equal content, itself for that one; set by rp_misplaced_sort() */
        uint32_t copies;   /* of the first of equals: right records of that content */
        uint32_t bytes;    /* of key and value */
        uint8_t class;
        uint8_t flags;
};

struct rp_misplaced_table {
        size_t memory_bytes;
        uint64_t low, high;
        struct rp_misplaced *records; /* by partition and offset once they are sorted */
        struct rp_misplaced_key *keys;
        uint32_t record_cnt, record_cap, key_cnt, key_cap;
        uint32_t *key_slots;    /* index + 1, 0: empty; a power of two */
        uint32_t *record_slots; /* by content; the first of equals only */
        uint32_t key_slot_cnt, record_slot_cnt;
};

/** false when memory is out. */
bool rp_misplaced_init(struct rp_misplaced_table *table, size_t memory_bytes);
void rp_misplaced_release(struct rp_misplaced_table *table);

/** Forgets everything and begins with another range. */
void rp_misplaced_begin(struct rp_misplaced_table *table, uint64_t low, uint64_t high);

/** @returns the hash of a key. */
struct rp_digest rp_misplaced_key_id(const void *key, size_t key_len);

/** Whether the table is about this key. */
bool rp_misplaced_covers(const struct rp_misplaced_table *table, struct rp_digest id);

/** Adds a record; its key is made when it is new. When high falls below it, it is dropped with others. */
rp_err_t rp_misplaced_add(struct rp_misplaced_table *table, struct rp_digest id, const struct rp_misplaced *record,
                          struct rp_error *err);

/** Sorts by place and indexes by content: call once, after the last add(). RP_ERR_FATAL when memory is out. */
rp_err_t rp_misplaced_sort(struct rp_misplaced_table *table, struct rp_error *err);

/** @returns the key, or NULL. */
struct rp_misplaced_key *rp_misplaced_find_key(const struct rp_misplaced_table *table, struct rp_digest id);

/** @returns the record at that place, or NULL. Only when sorted. */
struct rp_misplaced *rp_misplaced_find(const struct rp_misplaced_table *table, int32_t partition, int64_t offset);

/** @returns the first record of that content, or NULL. Only when sorted. */
struct rp_misplaced *rp_misplaced_find_content(const struct rp_misplaced_table *table, struct rp_digest digest);

/** @returns the index of the first record of a partition, or of the next one that has some. Only when sorted. */
uint32_t rp_misplaced_start(const struct rp_misplaced_table *table, int32_t partition);

#endif
