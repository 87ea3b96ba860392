/**
 * A verify of some of the partitions (`--partitions`) as part of a JSON report, and the joining of such reports. Each
 * holds a tally of every partition that it has read, and the ranges of all, so that parts of other moments are noticed.
 */
#ifndef RP_VERIFY_PART_H
#define RP_VERIFY_PART_H

#include "job/verify.h"

#include <jansson.h>
#include <stdio.h>

/** @returns the tallies of the report, a new reference. */
json_t *rp_verify_part_json(const struct rp_verify_report *report);

void rp_verify_part_text(const struct rp_verify_report *report, FILE *out);

/** One JSON document of a part, and the name of its file for messages. */
struct rp_merge_input {
        const char *path;
        json_t *document;
};

/**
 * Joins parts that together hold every partition of both topics once, and prints what follows.
 * @returns the exit code; errors were printed by then.
 */
int rp_merge_verify(const struct rp_merge_input *inputs, size_t cnt, bool json, FILE *out);

#endif
