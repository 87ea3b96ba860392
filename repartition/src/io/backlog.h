/**
 * What was read ahead of one partition, in memory of our own. librdkafka keeps some 330 bytes for every message besides the
 * record's own, and all of an answer of a broker, or of a batch that was compressed, for as long as one message of it lives;
 * here a record takes its own bytes and 32, and nothing else waits for it.
 */
#ifndef RP_BACKLOG_H
#define RP_BACKLOG_H

#include "io/source.h"

struct rp_chunk;

/** What the backlogs of one thread have in common. */
struct rp_backlog_pool {
        size_t chunk_size;              /* of the pieces that memory is taken in, and that are lent out */
        void (*release)(void *native);  /* of a record that was kept and not taken over; NULL: none is kept */
        struct rp_chunk *idle;
};

struct rp_backlog {
        int32_t partition;              /* of the records that are lent; set by the caller */
        struct rp_chunk *first, *last;  /* not lent yet, by offset */
        struct rp_chunk *lent;
        struct rp_record *records;      /* of the lent one */
        size_t cap;
        size_t bytes;                   /* of all of it, with what kept records hold */
        int64_t newest_ms;              /* time of the record that was added last */
};

/**
 * Adds a record behind those that are there.
 * @param native  NULL: the record is copied, with its headers. Else nothing of it is, it lives as long as native does: the
 *                lent record's native handle points to this pointer, and who takes it over sets it to NULL
 * @returns false when out of memory; native is the caller's still
 */
bool rp_backlog_add(struct rp_backlog_pool *pool, struct rp_backlog *backlog, const struct rp_record *rec, void *native);

/** Nothing is there to be lent. */
bool rp_backlog_is_empty(const struct rp_backlog *backlog);

/** Lends the next records, until the next call; gives back what was lent before. false when out of memory. */
bool rp_backlog_lend(struct rp_backlog_pool *pool, struct rp_backlog *backlog, struct rp_batch *batch);

/** Forgets everything, also what is lent. */
void rp_backlog_clear(struct rp_backlog_pool *pool, struct rp_backlog *backlog);

/** After all its backlogs are cleared. */
void rp_backlog_pool_release(struct rp_backlog_pool *pool);

#endif
