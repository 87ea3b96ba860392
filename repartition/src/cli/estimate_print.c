#include "cli/estimate_print.h"

#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>

static uint64_t scanned(const struct rp_estimate_report *report, double share)
{
        return (uint64_t)llround(share * (double)report->records);
}

static void print_chance(const struct rp_estimate_report *report, FILE *out)
{
        struct rp_table *table = rp_table_new("rrr");

        fprintf(out, "%s equal keys, placed by chance\n\n", rp_text_count(report->all_keys).s);
        rp_table_cell(table, "partitions");
        rp_table_cell(table, "fullest by formula");
        rp_table_cell(table, "by simulation");
        for (size_t i = 0; i < report->line_cnt; i++) {
                rp_table_cell(table, "%" PRId32, report->lines[i].partition_cnt);
                rp_table_cell(table, "%.2f×", report->lines[i].estimate.chance);
                rp_table_cell(table, "%.2f×", report->lines[i].estimate.simulated);
        }
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
}

static void print_line(const struct rp_estimate_report *report, const struct rp_estimate_line *line,
                       struct rp_table *table)
{
        const struct rp_estimate *estimate = &line->estimate;

        rp_table_cell(table, "%s", line->map);
        rp_table_cell(table, "%" PRId32, line->partition_cnt);
        rp_table_cell(table, "%.2f×", estimate->max_over_mean);
        rp_table_cell(table, "%.2f×", estimate->floor);
        rp_table_cell(table, "%.2f×", estimate->chance);
        rp_table_cell(table, "%.2f×", estimate->simulated);
        rp_table_cell(table, "%" PRId32, estimate->touched_max);
        if (report->records)
                rp_table_cell(table, "%s", rp_text_count(scanned(report, estimate->scanned_max)).s);
        else
                rp_table_cell(table, "%s", rp_text_share(estimate->scanned_max).s);
        rp_table_cell(table, "%d", line->lookups);
        if (estimate->moved < 0)
                rp_table_cell(table, report->grow_to ? "?" : "");
        else
                rp_table_cell(table, "%.1f %%", 100 * estimate->moved);
        if (estimate->moved_hashes < 0)
                rp_table_cell(table, "%s", "");
        else
                rp_table_cell(table, "%.1f %%", 100 * estimate->moved_hashes);
}

void rp_estimate_print_text(const struct rp_estimate_report *report, FILE *out)
{
        static const char *const heads[] = { "map",       "partitions", "fullest", "floor",  "chance",
                                             "simulated", "touches",    "scans",   "lookups" };
        const struct rp_units *groups;
        struct rp_table *table;
        uint64_t refused = 0;

        if (report->is_chance_alone) {
                print_chance(report, out);
                return;
        }
        groups = rp_demand_groups(report->demand);
        fprintf(out, "%s   %s keys", report->name, rp_text_count(report->demand->keys.cnt).s);
        if (report->demand->groups.cnt)
                fprintf(out, " in %s groups", rp_text_count(groups->cnt).s);
        if (report->is_sample)
                fprintf(out, ", a sample of some %s", rp_text_count(report->all_keys).s);
        fprintf(out, "   heaviest key %.2f %%",
                100 * (double)rp_units_heaviest(&report->demand->keys) / (double)report->demand->total);
        if (report->demand->groups.cnt)
                fprintf(out, ", heaviest group %.2f %%",
                        100 * (double)rp_units_heaviest(groups) / (double)report->demand->total);
        fputs("\n\n", out);
        table = rp_table_new("lrrrrrrrrrr");
        for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
                rp_table_cell(table, "%s", heads[i]);
        rp_table_cell(table, report->grow_to ? "moved" : "");
        rp_table_cell(table, report->grow_to ? "of hashes" : "");
        for (size_t i = 0; i < report->line_cnt; i++) {
                print_line(report, &report->lines[i], table);
                refused += report->lines[i].estimate.refused;
        }
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
        fputs("\nfullest, floor, chance: times the mean partition; the floor is set by the heaviest key or group\n"
              "touches, scans: what a query for one group reads at most\n",
              out);
        if (report->grow_to)
                fprintf(out,
                        "moved: by weight of this sample, and of all hashes, when the topic grows to %" PRId32 "\n",
                        report->grow_to);
        if (refused)
                fprintf(out, "%s keys are refused by a policy and were left out there\n", rp_text_count(refused).s);
}

static json_t *share_or_null(double share)
{
        return share < 0 ? json_null() : rp_json_share(share);
}

static json_t *line_json(const struct rp_estimate_report *report, const struct rp_estimate_line *line)
{
        const struct rp_estimate *estimate = &line->estimate;
        json_t *json = json_object();

        if (!report->is_chance_alone)
                json_object_set_new(json, "map", json_string(line->map));
        json_object_set_new(json, "partitions", json_integer(line->partition_cnt));
        json_object_set_new(json, "chance", rp_json_share(estimate->chance));
        json_object_set_new(json, "chance_simulated", rp_json_share(estimate->simulated));
        if (report->is_chance_alone)
                return json;
        json_object_set_new(json, "max_over_mean", rp_json_share(estimate->max_over_mean));
        json_object_set_new(json, "placed_units", json_integer((json_int_t)estimate->unit_cnt));
        json_object_set_new(json, "heaviest_share", rp_json_share(estimate->heaviest_share));
        json_object_set_new(json, "floor", rp_json_share(estimate->floor));
        json_object_set_new(json, "partitions_touched", json_integer(estimate->touched_max));
        json_object_set_new(json, "partitions_touched_mean", rp_json_share(estimate->touched_mean));
        json_object_set_new(json, "scanned_share", rp_json_share(estimate->scanned_max));
        json_object_set_new(json, "scanned_share_mean", rp_json_share(estimate->scanned_mean));
        if (report->records) {
                json_object_set_new(json, "scanned_records",
                                    json_integer((json_int_t)scanned(report, estimate->scanned_max)));
                json_object_set_new(json, "scanned_records_mean",
                                    json_integer((json_int_t)scanned(report, estimate->scanned_mean)));
        }
        json_object_set_new(json, "lookups", json_integer(line->lookups));
        json_object_set_new(json, "refused_keys", json_integer((json_int_t)estimate->refused));
        if (report->grow_to) {
                json_object_set_new(json, "moved_share", share_or_null(estimate->moved));
                json_object_set_new(json, "moved_share_of_hashes", share_or_null(estimate->moved_hashes));
        }
        return json;
}

void rp_estimate_print_json(const struct rp_estimate_report *report, FILE *out)
{
        json_t *json = json_object(), *lines = json_array();

        if (report->is_chance_alone) {
                json_object_set_new(json, "keys", json_integer((json_int_t)report->all_keys));
        } else {
                const struct rp_demand *demand = report->demand;

                json_object_set_new(json, "from", json_string(report->name));
                json_object_set_new(json, "keys", json_integer((json_int_t)demand->keys.cnt));
                json_object_set_new(json, "groups", json_integer((json_int_t)rp_demand_groups(demand)->cnt));
                json_object_set_new(json, "is_sample", json_boolean(report->is_sample));
                if (report->all_keys) {
                        json_object_set_new(json, "distinct_keys", json_integer((json_int_t)report->all_keys));
                        json_object_set_new(json, "distinct_keys_error", rp_json_share(report->all_keys_error));
                }
                json_object_set_new(json, "weight", json_real(rp_demand_unscaled(demand, demand->total)));
        }
        if (report->grow_to)
                json_object_set_new(json, "grow_to", json_integer(report->grow_to));
        for (size_t i = 0; i < report->line_cnt; i++)
                json_array_append_new(lines, line_json(report, &report->lines[i]));
        json_object_set_new(json, "maps", lines);
        rp_json_print(json, out);
}
