/**
 * An audit of some partitions as a part of its JSON report (`audit --partitions`), complete enough to be taken up again
 * elsewhere and merged with others: rp_audit_merge(). Holds the sampled keys.
 */
#ifndef RP_AUDIT_PART_H
#define RP_AUDIT_PART_H

#include "report/audit.h"

/** @param sample_keys  as the audit was asked for. @returns a new reference. */
json_t *rp_audit_part_json(const struct rp_audit_report *report, size_t sample_keys);

/** A part as it was read. Texts are borrowed from the document. */
struct rp_audit_part {
        const char *topic, *fingerprint, *rule;
        const char *policy_file, *hash, *client_args; /* as the part's command had them; the first two may be NULL */
        int64_t as_of_ms;
        int32_t partition_cnt;
        size_t sample_keys;
};

/**
 * Reads what a report says about itself.
 * @param path  for messages
 * @returns RP_ERR_USAGE when it is not the report of a part.
 */
rp_err_t rp_audit_part_read(struct rp_audit_part *part, const json_t *document, const char *path, struct rp_error *err);

/**
 * Takes up what a part has read.
 * @param audit     initialised for the part's partition count and sample, and nothing added
 * @param coverage  one a partition; those that the part has read are filled in, of the others `skipped` is set
 * @returns RP_ERR_USAGE when the document contradicts itself; RP_ERR_FATAL when memory is out.
 */
rp_err_t rp_audit_part_load(const json_t *document, const char *path, struct rp_audit *audit, struct rp_coverage *coverage,
                            struct rp_error *err);

#endif
