/** The classes of misplaced records (decide/repair.h), for people and for programs: repair and audit print them alike. */
#ifndef RP_REPORT_CLASSES_H
#define RP_REPORT_CLASSES_H

#include "decide/repair.h"

#include <jansson.h>
#include <stdio.h>

/** One line a class that occurs, with count, share, keys and what it means; indented. */
void rp_classes_text(const struct rp_repair_counts *counts, size_t indent, FILE *out);

/** @returns an object with one of records, bytes and keys for each class; new reference. */
json_t *rp_classes_json(const struct rp_repair_counts *counts);

/** @returns misplaced records of all classes. */
uint64_t rp_classes_sum(const struct rp_repair_counts *counts);

#endif
