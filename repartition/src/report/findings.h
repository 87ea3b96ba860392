/** What a pre-flight found, for people and for programs. */
#ifndef RP_REPORT_FINDINGS_H
#define RP_REPORT_FINDINGS_H

#include "decide/preflight.h"

#include <jansson.h>
#include <stdio.h>

/** One paragraph each, the severity before it: note, warning, refused. */
void rp_findings_print(const struct rp_findings *findings, FILE *out);

/** @returns an array of objects with severity, id and text; new reference. */
json_t *rp_findings_json(const struct rp_findings *findings);

#endif
