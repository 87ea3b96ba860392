/** The report of `verify`, and of `merge` over its parts: a text for people, one JSON object for programs (docs/verify.md). */
#ifndef RP_VERIFY_PRINT_H
#define RP_VERIFY_PRINT_H

#include "job/verify.h"

#include <jansson.h>
#include <stdio.h>

/** All that a report tells. Everything is borrowed. */
struct rp_verify_document {
        const char *source, *target; /* topics */
        const struct rp_topics *topics; /* of the source by place, where it is several; NULL: one */
        const char *job;             /* where the source was bounded by its progress */
        const kr_rule_t *rule;
        const char *mode_reason;
        size_t max_memory;
        bool is_part;                /* of the partitions; nothing is decided */
        const struct rp_verify_report *report;
};

/** Prints the text, or the JSON object on one line. @returns the exit code. */
int rp_verify_print(const struct rp_verify_document *document, bool json, FILE *out);

#endif
