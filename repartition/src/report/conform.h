/** What `conform` tells: text for people, JSON for programs, JUnit XML and TAP for build servers. */
#ifndef RP_REPORT_CONFORM_H
#define RP_REPORT_CONFORM_H

#include "decide/conform.h"

#include <stdio.h>

struct rp_conform_report {
        const char *subject;     /* the command, or the topic whose records were looked at */
        const char *policy_file; /* or NULL */
        const struct rp_conform *conform;
        const struct rp_vectors *vectors;
};

void rp_conform_report_text(const struct rp_conform_report *report, FILE *out);
void rp_conform_report_json(const struct rp_conform_report *report, FILE *out);

/** One test case a key. */
void rp_conform_report_junit(const struct rp_conform_report *report, FILE *out);
void rp_conform_report_tap(const struct rp_conform_report *report, FILE *out);

#endif
