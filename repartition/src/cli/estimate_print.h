/** What `estimate` found, as a table for people or one JSON object (fields: docs/capacity.md). */
#ifndef RP_ESTIMATE_PRINT_H
#define RP_ESTIMATE_PRINT_H

#include "decide/estimate.h"

#include <stdio.h>

struct rp_estimate_line {
        char map[512];
        int32_t partition_cnt;
        int lookups; /* per access, in a table with a row for each group */
        struct rp_estimate estimate;
};

struct rp_estimate_report {
        const char *name; /* the file or the topic */
        const struct rp_demand *demand;
        bool is_chance_alone; /* --keys: nothing but all_keys and the chance is known */
        bool is_sample;       /* of a topic with more keys than were kept */
        uint64_t all_keys;    /* of the topic, or of --keys; 0: those of the demand */
        double all_keys_error;
        uint64_t records; /* in a query's span; 0: not given */
        int32_t grow_to;  /* 0: not asked for */
        struct rp_estimate_line *lines;
        size_t line_cnt;
};

void rp_estimate_print_text(const struct rp_estimate_report *report, FILE *out);
void rp_estimate_print_json(const struct rp_estimate_report *report, FILE *out);

#endif
