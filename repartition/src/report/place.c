#include "report/place.h"

#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONE 1e6 /* capacities are in millionths */

/* Millionths as people wrote them: 6, 1.5 */
static struct rp_text decimal(uint64_t millionths)
{
        struct rp_text text;
        size_t len = (size_t)snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%06u", millionths / 1000000,
                                      (unsigned)(millionths % 1000000));

        while (text.s[len - 1] == '0')
                text.s[--len] = '\0';
        if (text.s[len - 1] == '.')
                text.s[len - 1] = '\0';
        return text;
}

static struct rp_text hundredths(uint64_t value)
{
        struct rp_text text;

        snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%02u", value / 100, (unsigned)(value % 100));
        return text;
}

static struct rp_text amount(uint64_t value, const char *unit)
{
        return unit && !strcmp(unit, "bytes") ? rp_text_bytes(value) : rp_text_count(value);
}

/* ---- locations -------------------------------------------------------------------------------------------------- */

json_t *rp_locations_json(const struct rp_location_report *report)
{
        json_t *json = json_object();
        char key[32];

        for (int32_t first = 0, last; first < report->partition_cnt; first = last + 1) {
                for (last = first; last + 1 < report->partition_cnt; last++)
                        if (report->owners[last + 1] != report->owners[first])
                                break;
                if (first == last)
                        snprintf(key, sizeof(key), "%" PRId32, first);
                else
                        snprintf(key, sizeof(key), "%" PRId32 "-%" PRId32, first, last);
                json_object_set_new(json, key, json_string(report->shares[report->owners[first]].name));
        }
        return json;
}

static uint64_t weight_sum(const struct rp_location_report *report, bool before)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < report->cnt; i++)
                sum += before ? report->shares[i].weight_before : report->shares[i].weight;
        return sum;
}

static uint64_t capacity_sum(const struct rp_location_report *report)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < report->cnt; i++)
                sum += report->shares[i].capacity;
        return sum;
}

/* How many times its due share the location has that is worst off; 0 when there is nothing to share. */
static double spread_of(const struct rp_location_report *report, bool before)
{
        double worst = 0, sum = (double)weight_sum(report, before);

        for (size_t i = 0; sum > 0 && i < report->cnt; i++) {
                const struct rp_location_share *share = &report->shares[i];
                double weight = (double)(before ? share->weight_before : share->weight);
                double ratio = share->capacity ? weight / sum * (double)capacity_sum(report) / (double)share->capacity : 0;

                worst = ratio > worst ? ratio : worst;
        }
        return worst;
}

void rp_location_report_print(const struct rp_location_report *report, FILE *out)
{
        struct rp_table *table = rp_table_new(report->unit ? "lrrrrr" : "lrrrr");

        rp_table_cell(table, "location");
        rp_table_cell(table, "capacity");
        rp_table_cell(table, "partitions");
        if (report->unit)
                rp_table_cell(table, "%s", report->unit);
        rp_table_cell(table, "share");
        rp_table_cell(table, "due");
        for (size_t i = 0; i < report->cnt; i++) {
                const struct rp_location_share *share = &report->shares[i];

                rp_table_cell(table, "%s", share->name);
                rp_table_cell(table, "%s", decimal(share->capacity).s);
                if (report->had_current)
                        rp_table_cell(table, "%s → %s", rp_text_count(share->partitions_before).s,
                                      rp_text_count(share->partitions).s);
                else
                        rp_table_cell(table, "%s", rp_text_count(share->partitions).s);
                if (report->unit)
                        rp_table_cell(table, "%s", amount(share->weight, report->unit).s);
                rp_table_cell(table, "%s", rp_text_percent(share->weight, weight_sum(report, false)).s);
                rp_table_cell(table, "%s", rp_text_percent(share->capacity, capacity_sum(report)).s);
        }
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
        fprintf(out, "\nspread  the fullest has %.2f times its due share", spread_of(report, false));
        if (report->had_current)
                fprintf(out, ", before %.2f times", spread_of(report, true));
        fputc('\n', out);
        if (!report->had_current)
                return;
        fprintf(out, "moves   %s of %s partitions (%s)", rp_text_count(report->moves).s,
                rp_text_count((uint64_t)report->partition_cnt).s,
                rp_text_percent(report->moves, (uint64_t)report->partition_cnt).s);
        if (!report->unit && report->moves)
                fputs("; these shares cannot be had with fewer", out);
        if (report->unplaced)
                fprintf(out, "; %s that had no location got one", rp_text_count(report->unplaced).s);
        fputc('\n', out);
}

json_t *rp_location_report_json(const struct rp_location_report *report)
{
        json_t *shares = json_array(), *json;
        double sum = (double)weight_sum(report, false), capacity = (double)capacity_sum(report);

        for (size_t i = 0; i < report->cnt; i++) {
                const struct rp_location_share *share = &report->shares[i];
                json_t *row = json_pack("{s:s, s:f, s:I}", "location", share->name, "capacity",
                                        (double)share->capacity / ONE, "partitions",
                                        (json_int_t)share->partitions);

                if (report->had_current)
                        json_object_set_new(row, "partitions_before", json_integer((json_int_t)share->partitions_before));
                json_object_set_new(row, "weight", json_integer((json_int_t)share->weight));
                json_object_set_new(row, "share", rp_json_share(sum > 0 ? (double)share->weight / sum : 0));
                json_object_set_new(row, "due_share", rp_json_share((double)share->capacity / capacity));
                json_array_append_new(shares, row);
        }
        json = json_pack("{s:i, s:o, s:s, s:o, s:o}", "partitions", (int)report->partition_cnt, "locations",
                         rp_locations_json(report), "weighed_by", report->unit ? report->unit : "partitions", "shares",
                         shares, "spread", rp_json_share(spread_of(report, false)));
        if (report->had_current) {
                json_object_set_new(json, "spread_before", rp_json_share(spread_of(report, true)));
                json_object_set_new(json, "moves", json_integer((json_int_t)report->moves));
                json_object_set_new(json, "moves_share",
                                    rp_json_share((double)report->moves / (double)report->partition_cnt));
                json_object_set_new(json, "unplaced_before", json_integer((json_int_t)report->unplaced));
        }
        return json;
}

/* ---- brokers ---------------------------------------------------------------------------------------------------- */

static bool has_racks(const struct rp_placement_report *report)
{
        for (size_t b = 0; b < report->plan->broker_cnt; b++)
                if (report->racks[b])
                        return true;
        return false;
}

static void print_brokers(const struct rp_placement_report *report, FILE *out)
{
        bool racks = has_racks(report);
        char alignment[9] = "r";
        struct rp_table *table;

        strcat(alignment, racks ? "l" : "");
        strcat(alignment, report->unit ? "rrrrrr" : "rrrrr");
        table = rp_table_new(alignment);
        rp_table_cell(table, "broker");
        if (racks)
                rp_table_cell(table, "rack");
        rp_table_cell(table, "capacity");
        rp_table_cell(table, "replicas");
        rp_table_cell(table, "due");
        rp_table_cell(table, "leaders");
        rp_table_cell(table, "due");
        if (report->unit)
                rp_table_cell(table, "%s", report->unit);
        for (size_t b = 0; b < report->plan->broker_cnt; b++) {
                const struct rp_broker_share *share = &report->plan->shares[b];

                rp_table_cell(table, "%" PRId32, share->broker.id);
                if (racks)
                        rp_table_cell(table, "%s", report->racks[b] ? report->racks[b] : "-");
                rp_table_cell(table, "%s", decimal(share->broker.capacity).s);
                rp_table_cell(table, "%s → %s", rp_text_count(share->replicas_before).s, rp_text_count(share->replicas).s);
                rp_table_cell(table, "%s", hundredths(share->due_hundredths).s);
                rp_table_cell(table, "%s → %s", rp_text_count(share->leaders_before).s, rp_text_count(share->leaders).s);
                rp_table_cell(table, "%s", hundredths(share->leaders_due_hundredths).s);
                if (report->unit)
                        rp_table_cell(table, "%s → %s", amount(share->weight_before, report->unit).s,
                                      amount(share->weight, report->unit).s);
        }
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
}

static void print_topics(const struct rp_placement_report *report, FILE *out)
{
        const struct rp_assignment *current = report->current;

        for (size_t p = 0; p < current->cnt; p++)
                if (!p || strcmp(current->items[p].topic, current->items[p - 1].topic))
                        fprintf(out, "%s%s", p ? ", " : "", current->items[p].topic);
        fprintf(out, "   %s partitions   %s replicas\n\n", rp_text_count(current->cnt).s,
                rp_text_count(report->plan->replica_cnt).s);
}

static void print_next_steps(const struct rp_placement_report *report, FILE *out)
{
        const char *bootstrap = report->bootstrap ? report->bootstrap : "HOST:PORT";

        fprintf(out, "\nwrote     ");
        rp_text_shell_word(out, report->out_path);
        fputs("\nand       ", out);
        rp_text_shell_word(out, report->rollback_path);
        fputs("   (the way back)\nnext      kafka-reassign-partitions --bootstrap-server ", out);
        rp_text_shell_word(out, bootstrap);
        fputs(" --reassignment-json-file ", out);
        rp_text_shell_word(out, report->out_path);
        fputs(" --execute --throttle 50000000\n"
              "          the same with --verify instead, until all is complete; it also takes the throttle away\n", out);
        if (!report->plan->leader_changes)
                return;
        fputs("          kafka-leader-election --bootstrap-server ", out);
        rp_text_shell_word(out, bootstrap);
        fputs(" --election-type preferred --path-to-json-file ", out);
        rp_text_shell_word(out, report->out_path);
        fputc('\n', out);
}

void rp_placement_report_print(const struct rp_placement_report *report, FILE *out)
{
        const struct rp_placement *plan = report->plan;

        print_topics(report, out);
        print_brokers(report, out);
        fprintf(out, "\nmoves     %s of %s replicas (%s)", rp_text_count(plan->moves).s, rp_text_count(plan->replica_cnt).s,
                rp_text_percent(plan->moves, plan->replica_cnt).s);
        if (report->unit && plan->moves)
                fprintf(out, ", %s%s%s", amount(plan->weight_moved, report->unit).s,
                        strcmp(report->unit, "bytes") ? " " : "", strcmp(report->unit, "bytes") ? report->unit : "");
        if (plan->moves && plan->moves == plan->moves_least)
                fputs("; these shares cannot be had with fewer", out);
        else if (plan->moves)
                fprintf(out, "; the shares alone need %s, racks and one replica a broker the rest",
                        rp_text_count(plan->moves_least).s);
        fprintf(out, "\nleaders   %s of %s partitions get another preferred leader\n",
                rp_text_count(plan->leader_changes).s, rp_text_count(plan->next.cnt).s);
        if (has_racks(report))
                fprintf(out, "racks     %s partitions were crowded in fewer racks than they could use; %s are after\n",
                        rp_text_count(plan->crowded_before).s, rp_text_count(plan->crowded).s);
        if (report->out_path)
                print_next_steps(report, out);
        else if (!plan->changed_cnt)
                fputs("\nnothing is to be changed, and no file was written\n", out);
        else
                fputs("\nno file was written; --out FILE writes the plan and the way back\n", out);
}

json_t *rp_assignment_json(const struct rp_assignment *assignment, const struct rp_assignment *only_changed_from)
{
        json_t *list = json_array();

        for (size_t p = 0; p < assignment->cnt; p++) {
                const struct rp_holding *holding = &assignment->items[p];
                json_t *replicas, *log_dirs;

                if (only_changed_from && rp_holding_is_same(holding, &only_changed_from->items[p]))
                        continue;
                replicas = json_array();
                log_dirs = json_array();
                for (int32_t r = 0; r < holding->replica_cnt; r++) {
                        json_array_append_new(replicas, json_integer(holding->replicas[r]));
                        json_array_append_new(log_dirs, json_string("any"));
                }
                json_array_append_new(list, json_pack("{s:s, s:i, s:o, s:o}", "topic", holding->topic, "partition",
                                                      (int)holding->partition, "replicas", replicas, "log_dirs",
                                                      log_dirs));
        }
        return json_pack("{s:i, s:o}", "version", 1, "partitions", list);
}

static json_t *broker_json(const struct rp_broker_share *share, const char *rack, const char *unit)
{
        json_t *row = json_pack("{s:i, s:s?, s:f, s:I, s:I, s:f, s:I, s:I, s:f}", "broker", (int)share->broker.id, "rack",
                                rack, "capacity", (double)share->broker.capacity / ONE, "replicas_before",
                                (json_int_t)share->replicas_before, "replicas", (json_int_t)share->replicas,
                                "replicas_due", (double)share->due_hundredths / 100, "leaders_before",
                                (json_int_t)share->leaders_before, "leaders", (json_int_t)share->leaders, "leaders_due",
                                (double)share->leaders_due_hundredths / 100);

        if (unit) {
                json_object_set_new(row, "weight_before", json_integer((json_int_t)share->weight_before));
                json_object_set_new(row, "weight", json_integer((json_int_t)share->weight));
        }
        return row;
}

json_t *rp_placement_report_json(const struct rp_placement_report *report)
{
        const struct rp_placement *plan = report->plan;
        const struct rp_assignment *current = report->current;
        json_t *topics = json_array(), *brokers = json_array(), *moves, *json;

        for (size_t p = 0; p < current->cnt; p++)
                if (!p || strcmp(current->items[p].topic, current->items[p - 1].topic))
                        json_array_append_new(topics, json_string(current->items[p].topic));
        for (size_t b = 0; b < plan->broker_cnt; b++)
                json_array_append_new(brokers, broker_json(&plan->shares[b], report->racks[b], report->unit));
        moves = json_pack("{s:I, s:I, s:I, s:I}", "replicas", (json_int_t)plan->moves, "replicas_least",
                          (json_int_t)plan->moves_least, "leaders", (json_int_t)plan->leader_changes, "partitions",
                          (json_int_t)plan->changed_cnt);
        if (report->unit)
                json_object_set_new(moves, "weight", json_integer((json_int_t)plan->weight_moved));
        json = json_pack("{s:o, s:I, s:I, s:s?, s:o, s:o}", "topics", topics, "partitions", (json_int_t)current->cnt,
                         "replicas", (json_int_t)plan->replica_cnt, "weighed_by", report->unit, "brokers", brokers,
                         "moves", moves);
        json_object_set_new(json, "crowded_partitions_before", json_integer((json_int_t)plan->crowded_before));
        json_object_set_new(json, "crowded_partitions", json_integer((json_int_t)plan->crowded));
        json_object_set_new(json, "reassignment", rp_assignment_json(&plan->next, current));
        json_object_set_new(json, "rollback", rp_assignment_json(current, &plan->next));
        if (report->out_path) {
                json_object_set_new(json, "out", json_string(report->out_path));
                json_object_set_new(json, "rollback_file", json_string(report->rollback_path));
        }
        return json;
}
