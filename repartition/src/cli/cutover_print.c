#include "cli/cutover_print.h"

#include "report/json.h"
#include "report/text.h"
#include "report/wrap.h"

#include <inttypes.h>

/* An error in the middle must not read like a plan: some groups may have been moved. */
static void print_broken(const struct rp_cutover_result *result, size_t group_cnt, FILE *out)
{
        if (result->rollback_file)
                fprintf(out, "%zu of %zu groups were moved, then an error ended it. The same command goes on with the others\n",
                        result->done, group_cnt);
        else
                fputs("nothing was written: an error ended it before\n", out);
}

static void print_rollback(const char *file, FILE *out)
{
        if (file)
                fprintf(out, "\nthe way back, with the same -b, -F and -X: repartition cutover --undo %s --execute\n", file);
}

/* ---- into a new topic ------------------------------------------------------------------------------------------------ */

static void print_row(const struct rp_cutover_row *row, FILE *out)
{
        fprintf(out, "%s\n", row->name);
        if (*row->refusal) {
                fputs("  refused   ", out);
                rp_wrap(out, row->refusal, 12, 12);
                return;
        }
        fprintf(out, "  unread    %s%s record%s\n", row->is_counted ? "" : "at most ", rp_text_count(row->remaining).s,
                row->remaining == 1 ? "" : "s");
        fprintf(out, "  again     %s%s record%s that it has read already\n", row->is_counted ? "" : "at most ",
                rp_text_count(row->again).s, row->again == 1 ? "" : "s");
        if (row->from_beginning)
                fprintf(out, "  note      no checkpoint is early enough for %" PRId32 " partition%s of the source: it begins at the "
                             "beginning\n", row->from_beginning, row->from_beginning == 1 ? "" : "s");
        if (row->missing)
                fprintf(out, "  assumed   it has read nothing of %" PRId32 " partition%s that it has no offset in\n", row->missing,
                        row->missing == 1 ? "" : "s");
}

static void print_starts(const struct rp_cutover_plan *plan, const struct rp_cutover_row *row, FILE *out)
{
        fputs("  offsets  ", out);
        for (int32_t q = 0; q < plan->target_cnt && q < 12; q++)
                fprintf(out, " %" PRId32 ":%" PRId64, q, row->starts[q]);
        fprintf(out, "%s\n", plan->target_cnt > 12 ? " ... (--output json has all)" : "");
}

void rp_cutover_print_text(const struct rp_cutover_result *result, FILE *out)
{
        const struct rp_cutover_config *config = result->config;
        const struct rp_cutover_plan *plan = result->plan;

        fprintf(out, "%s → %s   %" PRId32 " → %" PRId32 " partitions   job \"%s\", %s checkpoint%s\n%s\n\n", config->source,
                config->target, plan->source_cnt, plan->target_cnt, plan->job, rp_text_count(plan->checkpoints).s,
                plan->checkpoints == 1 ? "" : "s", plan->verdict);
        for (size_t g = 0; g < plan->row_cnt; g++) {
                print_row(&plan->rows[g], out);
                if (!*plan->rows[g].refusal)
                        print_starts(plan, &plan->rows[g], out);
        }
        if (plan->left)
                fprintf(out, "\nwarning     up to %s records of \"%s\" are not copied yet: %s until its producers have moved\n",
                        rp_text_count(plan->left).s, config->source,
                        plan->is_followed ? "let follow go on" : "run rewrite again");
        fputc('\n', out);
        if (result->is_executed)
                fprintf(out, "%zu of %zu groups now go on in \"%s\": start their consumers there\n", result->done, plan->row_cnt,
                        config->target);
        else if (result->is_broken)
                print_broken(result, plan->row_cnt, out);
        else if (plan->refusal_cnt || !plan->is_verified)
                fputs("nothing was written, and --execute would write nothing either: see above\n", out);
        else
                fputs("nothing was written. To store these offsets: the same command with --execute --rollback FILE\n", out);
        print_rollback(result->rollback_file, out);
}

static json_t *offsets_json(const int64_t *offsets, int32_t cnt)
{
        json_t *list = json_array();

        for (int32_t p = 0; p < cnt; p++)
                json_array_append_new(list, offsets[p] < 0 ? json_null() : json_integer(offsets[p]));
        return list;
}

static json_t *text_or_null(const char *text)
{
        return text && *text ? json_string(text) : json_null();
}

static json_t *row_json(const struct rp_cutover_plan *plan, const struct rp_cutover_row *row)
{
        json_t *json = json_pack("{s:s}", "group", row->name);

        json_object_set_new(json, "refused", text_or_null(row->refusal));
        json_object_set_new(json, "source_offsets", offsets_json(row->source_offsets, plan->source_cnt));
        json_object_set_new(json, "target_offsets_before", offsets_json(row->target_before, plan->target_cnt));
        if (*row->refusal) {
                json_object_set_new(json, "target_offsets", json_null());
                return json;
        }
        json_object_set_new(json, "target_offsets", offsets_json(row->starts, plan->target_cnt));
        json_object_set_new(json, "unread", json_integer((json_int_t)row->remaining));
        json_object_set_new(json, "again", json_integer((json_int_t)row->again));
        json_object_set_new(json, "exact", json_boolean(row->is_counted));
        json_object_set_new(json, "assumed_unread_partitions", json_integer(row->missing));
        json_object_set_new(json, "from_beginning_partitions", json_integer(row->from_beginning));
        return json;
}

void rp_cutover_print_json(const struct rp_cutover_result *result, FILE *out)
{
        const struct rp_cutover_plan *plan = result->plan;
        json_t *groups = json_array();
        json_t *root = json_pack("{s:s, s:s, s:s, s:s}", "command", "cutover", "source", result->config->source, "target",
                                 result->config->target, "job", plan->job);

        if (plan->topics) /* by them the offsets are told apart: those of the first, then those of the second, and so on */
                json_object_set_new(root, "sources", rp_topics_json(plan->topics));
        json_object_set_new(root, "verified", json_boolean(plan->is_verified));
        json_object_set_new(root, "verdict", json_string(plan->verdict));
        json_object_set_new(root, "checkpoints", json_integer((json_int_t)plan->checkpoints));
        json_object_set_new(root, "not_copied_at_most", json_integer((json_int_t)plan->left));
        for (size_t g = 0; g < plan->row_cnt; g++)
                json_array_append_new(groups, row_json(plan, &plan->rows[g]));
        json_object_set_new(root, "groups", groups);
        json_object_set_new(root, "executed", json_boolean(result->is_executed));
        json_object_set_new(root, "rollback_file", text_or_null(result->rollback_file));
        json_dumpf(root, out, JSON_INDENT(2));
        fputc('\n', out);
        json_decref(root);
}

/* ---- after a repair in place --------------------------------------------------------------------------------------------- */

void rp_reprocess_print_text(const struct rp_reprocess_plan *plan, const struct rp_cutover_result *result, FILE *out)
{
        int32_t cnt = plan->source->partition_cnt;
        struct rp_table *table = rp_table_new("rrrr");

        fprintf(out, "%s   %" PRId32 " partitions   %s of %s records lie where the rule does not put them\n\n", plan->config->topic,
                cnt, rp_text_count(plan->found.misplaced).s, rp_text_count(plan->found.records).s);
        rp_table_cell(table, "partition");
        rp_table_cell(table, "misplaced");
        rp_table_cell(table, "missed");
        rp_table_cell(table, "read again from");
        for (int32_t p = 0; p < cnt; p++) {
                if (plan->from[p] < 0)
                        continue;
                rp_table_cell(table, "%" PRId32, p);
                rp_table_cell(table, "%s", rp_text_count(plan->found.partitions[p].misplaced).s);
                rp_table_cell(table, "%s", rp_text_count(plan->found.partitions[p].missed).s);
                rp_table_cell(table, "%" PRId64, plan->from[p]);
        }
        if (plan->found.misplaced)
                rp_table_print(table, out, 0, 2);
        rp_table_free(table);
        fputc('\n', out);
        for (size_t g = 0; g < plan->row_cnt; g++) {
                const struct rp_reprocess_row *row = &plan->rows[g];

                fprintf(out, "%s\n", row->name);
                if (*row->refusal) {
                        fputs("  refused   ", out);
                        rp_wrap(out, row->refusal, 12, 12);
                } else if (!row->moved) {
                        fputs("  stays     it has read nothing that must be read again\n", out);
                } else {
                        fprintf(out, "  again     at most %s records, in %" PRId32 " partition%s\n",
                                rp_text_count((uint64_t)row->again).s, row->moved, row->moved == 1 ? "" : "s");
                }
        }
        fputc('\n', out);
        if (result->is_executed)
                fputs("the groups were put back: start their consumers\n", out);
        else if (result->is_broken)
                print_broken(result, plan->row_cnt, out);
        else if (plan->refusal_cnt)
                fputs("nothing was written, and --execute would write nothing either: see above\n", out);
        else if (plan->row_cnt)
                fputs("nothing was written. To put the groups back: the same command with --execute --rollback FILE\n", out);
        print_rollback(result->rollback_file, out);
}

void rp_reprocess_print_json(const struct rp_reprocess_plan *plan, const struct rp_cutover_result *result, FILE *out)
{
        int32_t cnt = plan->source->partition_cnt;
        json_t *groups = json_array();
        json_t *root = json_pack("{s:s, s:s, s:I, s:I, s:o}", "command", "cutover", "topic", plan->config->topic, "records",
                                 (json_int_t)plan->found.records, "misplaced", (json_int_t)plan->found.misplaced,
                                 "reprocess_from", offsets_json(plan->from, cnt));

        for (size_t g = 0; g < plan->row_cnt; g++) {
                const struct rp_reprocess_row *row = &plan->rows[g];

                json_array_append_new(groups, json_pack("{s:s, s:o, s:o, s:o, s:I}", "group", row->name, "refused",
                                                        text_or_null(row->refusal), "offsets_before",
                                                        offsets_json(row->before, cnt), "offsets", offsets_json(row->starts, cnt),
                                                        "again_at_most", (json_int_t)row->again));
        }
        json_object_set_new(root, "groups", groups);
        json_object_set_new(root, "executed", json_boolean(result->is_executed));
        json_object_set_new(root, "rollback_file", text_or_null(result->rollback_file));
        json_dumpf(root, out, JSON_INDENT(2));
        fputc('\n', out);
        json_decref(root);
}

/* ---- taking back ------------------------------------------------------------------------------------------------------------ */

void rp_undo_print(const struct rp_rollback *rollback, const struct rp_undo_row *rows, bool is_executed, bool is_json, FILE *out)
{
        json_t *groups = json_array(), *root;

        for (size_t g = 0; g < rollback->group_cnt; g++)
                json_array_append_new(groups, json_pack("{s:s, s:i, s:i, s:i}", "group", rows[g].name, "restored",
                                                        rows[g].restored, "forgotten", rows[g].forgotten, "source_restored",
                                                        rows[g].source_restored));
        root = json_pack("{s:s, s:s, s:s?, s:s, s:b, s:o}", "command", "cutover", "source", rollback->source, "target",
                         rollback->target, "written", rollback->written, "executed", is_executed, "groups", groups);
        if (is_json) {
                json_dumpf(root, out, JSON_INDENT(2));
                fputc('\n', out);
        } else {
                fprintf(out, "back to %s\n\n", rollback->written);
                for (size_t g = 0; g < rollback->group_cnt; g++)
                        fprintf(out, "%s   in \"%s\": %" PRId32 " offset%s put back, %" PRId32 " removed%s\n", rows[g].name,
                                rollback->target ? rollback->target : rollback->source, rows[g].restored,
                                rows[g].restored == 1 ? "" : "s", rows[g].forgotten,
                                rows[g].source_restored ? "; those in the source had expired and are put back as well" : "");
                fputs(is_executed ? "\ndone: start the consumers where they were before\n"
                                  : "\nnothing was written: the same command with --execute does it\n", out);
        }
        json_decref(root);
}
