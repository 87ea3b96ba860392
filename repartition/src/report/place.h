/** What a placement changes, as tables for people and as JSON. */
#ifndef RP_REPORT_PLACE_H
#define RP_REPORT_PLACE_H

#include "decide/place.h"

#include <jansson.h>
#include <stdio.h>

/* ---- locations -------------------------------------------------------------------------------------------------- */

struct rp_location_share {
        const char *name;
        uint64_t capacity; /* in millionths */
        uint64_t partitions_before, partitions;
        uint64_t weight_before, weight; /* in partitions when nothing was weighed */
};

struct rp_location_report {
        const struct rp_location_share *shares; /* by name */
        size_t cnt;
        int32_t partition_cnt;
        const int32_t *owners; /* by partition: an index into shares */
        uint64_t moves;        /* partitions that had another location */
        uint64_t unplaced;     /* partitions that had none */
        bool had_current;
        const char *unit;      /* what weight is; NULL: partitions count alike */
};

/** {"0-11":"site-a","12-23":"site-b"}, by rising partition: a policy's "locations". New reference. */
json_t *rp_locations_json(const struct rp_location_report *report);

void rp_location_report_print(const struct rp_location_report *report, FILE *out);

/** The whole report as one object, "locations" included. New reference. */
json_t *rp_location_report_json(const struct rp_location_report *report);

/* ---- brokers ---------------------------------------------------------------------------------------------------- */

struct rp_placement_report {
        const struct rp_placement *plan;
        const struct rp_assignment *current;
        const char *const *racks; /* by broker, in the plan's order; an element is NULL where no rack is known */
        const char *unit;         /* of weights: "bytes", "records", "weight"; NULL: nothing was weighed */
        const char *out_path;     /* where the plan was written; NULL: nowhere */
        const char *rollback_path;
        const char *bootstrap;    /* for the commands to type next; NULL: not known */
};

/**
 * {"version": 1, "partitions": [{"topic", "partition", "replicas", "log_dirs"}]}: what kafka-reassign-partitions takes
 * with --reassignment-json-file. New reference.
 * @param only_changed_from  leave out what is the same there (same partitions in the same order); NULL: everything
 */
json_t *rp_assignment_json(const struct rp_assignment *assignment, const struct rp_assignment *only_changed_from);

void rp_placement_report_print(const struct rp_placement_report *report, FILE *out);
json_t *rp_placement_report_json(const struct rp_placement_report *report);

#endif
