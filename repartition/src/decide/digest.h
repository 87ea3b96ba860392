/**
 * Digests of records: of one record, and of any number of them without regard to order. Pure.
 *
 * A record's digest is a 128-bit XXH3 over key, value, headers and timestamp, encoded so that no two different records
 * share an encoding: lengths stand before contents, NULL is not empty, headers keep order and duplicates. Where the
 * record lies (partition, offset) is not part of it. The same on every machine.
 */
#ifndef RP_DIGEST_H
#define RP_DIGEST_H

#include "record.h"

struct rp_digest {
        uint64_t high, low;
};

struct rp_digest rp_digest_record(const struct rp_record *rec);

/** Adds modulo 2^128: the sum of many is the digest of the multiset. */
void rp_digest_add(struct rp_digest *sum, struct rp_digest digest);

bool rp_digest_equals(struct rp_digest a, struct rp_digest b);

enum { RP_DIGEST_TEXT_SIZE = 33 };

/** 32 hex digits. */
void rp_digest_print(struct rp_digest digest, char out[RP_DIGEST_TEXT_SIZE]);

/**
 * The group in which a record's order and whereabouts are judged: its key. Records without a key have no order; they are
 * grouped by time, so that one whose value was damaged still meets its original. Never 0.
 */
uint64_t rp_digest_group(const struct rp_record *rec);

#endif
