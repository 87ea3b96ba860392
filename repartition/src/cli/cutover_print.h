/** What cutover prints. */
#ifndef RP_CUTOVER_PRINT_H
#define RP_CUTOVER_PRINT_H

#include "job/cutover.h"
#include "job/reprocess.h"

#include <stdio.h>

struct rp_cutover_result {
        const struct rp_cutover_config *config;
        const struct rp_cutover_plan *plan;
        bool is_executed, is_broken; /* all groups were moved; it ended by an error, which is told behind */
        size_t done;               /* groups that got their offsets */
        const char *rollback_file; /* NULL: none written */
};

void rp_cutover_print_text(const struct rp_cutover_result *result, FILE *out);
void rp_cutover_print_json(const struct rp_cutover_result *result, FILE *out);

void rp_reprocess_print_text(const struct rp_reprocess_plan *plan, const struct rp_cutover_result *result, FILE *out);
void rp_reprocess_print_json(const struct rp_reprocess_plan *plan, const struct rp_cutover_result *result, FILE *out);

void rp_undo_print(const struct rp_rollback *rollback, const struct rp_undo_row *rows, bool is_executed, bool is_json, FILE *out);

#endif
