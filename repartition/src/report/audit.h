/**
 * The report of `audit` and `explain`: is it broken, how badly, who did it, what do I type now. One struct of findings,
 * a text of it for people and a JSON object for programs (fields: docs/explain.md).
 */
#ifndef RP_REPORT_AUDIT_H
#define RP_REPORT_AUDIT_H

#include "decide/audit.h"
#include "decide/repair.h"

#include <jansson.h>
#include <stdio.h>

/** All that a report tells. Everything is borrowed. */
struct rp_audit_report {
        const char *name;        /* the topic, or the file of observed placements */
        bool is_topic;           /* else there are no offsets, times and bytes */
        int64_t as_of_ms;        /* wall clock when the range was fixed; of a topic */
        const char *policy_file; /* or NULL */
        const char *hash;        /* of --hash; or NULL */
        const char *client_args; /* -b and -F as the user gave them, for commands to copy; "" when none */
        bool show_keys;          /* keys may be personal data */
        size_t part_sample_keys; /* 0; or the sample's limit, and JSON holds all that is needed to merge it with others */
        const struct rp_audit *audit;
        const struct rp_findings *findings;
        const struct rp_coverage *coverage; /* by partition; of a topic */
        const struct rp_repair_counts *classes; /* of the misplaced records; NULL: not asked for */
};

/** True when everything that was asked for was read, and no key stayed unjudged because a registry did not answer. */
bool rp_audit_report_is_complete(const struct rp_audit_report *report);

/** Records whose partition was judged: with a key, the empty one too, that the rule gives a partition. */
uint64_t rp_audit_report_judged(const struct rp_audit_report *report);

/** True when the judging rule routes by a part of the key. */
bool rp_audit_report_has_key_use(const struct rp_audit_report *report);

/** Prints the command that mends the topic, with the user's own way to reach the cluster; no line end. */
void rp_audit_report_command(const struct rp_audit_report *report, FILE *out);

void rp_audit_report_text(const struct rp_audit_report *report, FILE *out);

/** @returns a new reference. */
json_t *rp_audit_report_json(const struct rp_audit_report *report);

/** Prints the text, or the JSON object on one line. @returns the exit code: incomplete, differences or clean. */
int rp_audit_report_print(const struct rp_audit_report *report, bool json, FILE *out);

/** @returns one word for the whole, such as "clean" or "explained" (docs/explain.md lists them). Static storage. */
const char *rp_audit_report_status(const struct rp_audit_report *report);

#endif
