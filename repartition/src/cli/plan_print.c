#include "cli/plan_print.h"

#include "report/wrap.h"
#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1200, STEP_MAX = 8, NOTICE_MAX = 8 };

struct lines {
        char *text[STEP_MAX > NOTICE_MAX ? STEP_MAX : NOTICE_MAX];
        size_t cnt;
};

static void add(struct lines *lines, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct lines *lines, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        if (vasprintf(&lines->text[lines->cnt], fmt, args) < 0)
                abort();
        lines->cnt++;
        va_end(args);
}

static void release(struct lines *lines)
{
        for (size_t i = 0; i < lines->cnt; i++)
                free(lines->text[i]);
}

static bool is_growth(const struct rp_plan_report *report)
{
        return report->growth->to != report->growth->from;
}

/* A command with the user's own way to reach the cluster. The caller's to free(). */
static char *command(const struct rp_plan_report *report, const char *name, const char *more)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        if (!out)
                abort();
        fprintf(out, "repartition %s ", name);
        rp_text_shell_word(out, report->topic);
        fputs(more, out);
        if (report->bootstrap) {
                fputs(" -b ", out);
                rp_text_shell_word(out, report->bootstrap);
        }
        if (report->config_file) {
                fputs(" -F ", out);
                rp_text_shell_word(out, report->config_file);
        }
        fclose(out);
        return text;
}

static void list_steps(const struct rp_plan_report *report, struct lines *steps)
{
        const struct rp_growth *growth = report->growth;
        const char *file = report->out ? report->out : "planned.json";
        char more[LINE_MAX_BYTES], *text;

        if (!growth->rules->next_rule) {
                add(steps, "choose a map that can grow: modulo and slots can; see docs/capacity.md");
                return;
        }
        if (growth->misplaced) {
                text = command(report, "audit", "");
                add(steps, "find out who misplaces records now, and stop them: %s", text);
                free(text);
        }
        if (report->out)
                add(steps,
                    "keep %s: it is the policy that routes \"%s\" as planned here, and all other topics as before",
                    file, report->into ? report->into : report->topic);
        else
                add(steps, "write the policy that routes as planned here: this command again with --out %s", file);
        if (!report->into) {
                add(steps,
                    "to keep the order of every key, plan with --into %s.v2 and copy into that: moved records cannot "
                    "be "
                    "taken out of \"%s\"",
                    report->topic, report->topic);
                snprintf(more, sizeof(more), "kafka-topics --alter --topic %.249s --partitions %" PRId32 ", ",
                         report->topic, growth->to);
                add(steps,
                    "or in place, where readers can bear it: stop the producers, %sstart them with %s "
                    "(keyroute.policy, or KEYROUTE_POLICY); records that are there stay where they are",
                    is_growth(report) ? more : "", file);
                return;
        }
        snprintf(more, sizeof(more), " %.249s --partitions %" PRId32 " --policy %s", report->into, growth->to, file);
        text = command(report, "rewrite", more);
        add(steps, "copy everything, in order, into the new topic: %s --execute", text);
        free(text);
        snprintf(more, sizeof(more), " %.249s --policy %s", report->into, file);
        text = command(report, "verify", more);
        add(steps, "prove the copy: %s", text);
        free(text);
        add(steps,
            "give every producer %s (keyroute.policy, or KEYROUTE_POLICY) and the new topic's name; run rewrite once "
            "more for what came meanwhile; then move the readers",
            file);
}

static void list_notices(const struct rp_plan_report *report, struct lines *notices)
{
        const struct rp_growth *growth = report->growth;

        if (growth->rules->next_rule)
                add(notices,
                    "keys that move (%s of the keyed records) are read by another member of each group: what it keeps "
                    "per partition, such as state stores and caches, must be built anew for them",
                    rp_text_percent(growth->next.moved, growth->keyed).s);
        if (is_growth(report)) {
                add(notices,
                    "groups rebalance, and partitions %" PRId32 " to %" PRId32
                    " are new: readers that start at the end "
                    "(auto.offset.reset=latest) miss what comes there before they notice",
                    growth->from, growth->to - 1);
                add(notices,
                    "producers with a policy made for %" PRId32
                    " partitions refuse their records once the topic has %" PRId32
                    "; those without a policy place them by plain modulo",
                    growth->from, growth->to);
        } else {
                add(notices,
                    "producers without the policy go on placing evenly, by plain modulo: audit --policy finds them");
        }
        add(notices,
            "topics that are joined with this one by key need the same policy and the same number of partitions");
        if (!report->into)
                add(notices,
                    "a moved key has old records in one partition and new ones in another: its order is lost across "
                    "the change, and a compacted topic keeps the old value for ever");
        if (growth->records > growth->keyed)
                add(notices, "%s records have no key: no policy moves them",
                    rp_text_count(growth->records - growth->keyed).s);
}

static void add_row(struct rp_table *table, const struct rp_growth *growth, const char *name,
                    const struct rp_growth_tally *tally, double of_hashes)
{
        rp_table_cell(table, "%s", name);
        rp_table_cell(table, "%s", rp_text_percent(tally->moved, growth->keyed).s);
        if (of_hashes < 0)
                rp_table_cell(table, "%s", "?");
        else
                rp_table_cell(table, "%.1f %%", 100 * of_hashes);
        rp_table_cell(table, "%s", rp_text_count(tally->moved).s);
        rp_table_cell(table, "%s", rp_text_bytes(tally->moved_bytes).s);
        rp_table_cell(table, "%.2f×", rp_max_over_mean(tally->loads, growth->to));
}

static int64_t time_ms(const struct rp_plan_report *report, uint64_t records)
{
        return (int64_t)((double)records * 1000 / (double)report->rate);
}

static void print_list(const char *title, const struct lines *lines, bool numbered, FILE *out)
{
        fprintf(out, "\n%s\n", title);
        for (size_t i = 0; i < lines->cnt; i++) {
                if (numbered)
                        fprintf(out, "  %zu  ", i + 1);
                else
                        fputs("  -  ", out);
                rp_wrap(out, lines->text[i], 5, 5);
        }
}

void rp_plan_print_text(const struct rp_plan_report *report, FILE *out)
{
        const struct rp_growth *growth = report->growth;
        const struct rp_growth_rules *rules = growth->rules;
        struct rp_table *table = rp_table_new("lrrrrr");
        struct lines steps = { 0 }, notices = { 0 };

        fprintf(out, "%s   %" PRId32, report->topic, growth->from);
        if (is_growth(report))
                fprintf(out, " → %" PRId32, growth->to);
        fprintf(out, " partitions   %s records (%s keyed), %s\nby %s, fingerprint %s\n\n",
                rp_text_count(growth->records).s, rp_text_count(growth->keyed).s, rp_text_bytes(growth->bytes).s,
                kr_rule_describe(rules->now_rule), kr_rule_fingerprint(rules->now_rule));
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "moved");
        rp_table_cell(table, "of hashes");
        rp_table_cell(table, "records");
        rp_table_cell(table, "bytes");
        rp_table_cell(table, "fullest");
        rp_table_cell(table, "as it is");
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "%.2f×", rp_max_over_mean(growth->loads, growth->from));
        if (is_growth(report))
                add_row(table, growth, "by plain modulo", &growth->modulo, rules->modulo_share);
        if (rules->next_rule)
                add_row(table, growth, kr_rule_describe(rules->next_rule), &growth->next, rules->next_share);
        rp_table_print(table, out, 0, 2);
        rp_table_free(table);
        if (!rules->next_rule)
                fprintf(out, "not by the policy's own map: %s\n", rules->why_not);
        else
                fprintf(out, "planned policy: fingerprint %s\n", kr_rule_fingerprint(rules->next_rule));
        fprintf(out, "\ntime        %s to copy everything", rp_text_duration(time_ms(report, growth->records)).s);
        if (rules->next_rule)
                fprintf(out, ", %s for the moved records alone",
                        rp_text_duration(time_ms(report, growth->next.moved)).s);
        fprintf(out, "\n            at %s records/s%s\n", rp_text_count(report->rate).s,
                report->rate_is_measured ? ", as fast as this plan read; --rate takes what rewrite printed" : "");
        if (growth->misplaced)
                fprintf(out, "misplaced   %s of the keyed records are not where the rule in force puts them\n",
                        rp_text_percent(growth->misplaced, growth->keyed).s);
        list_steps(report, &steps);
        list_notices(report, &notices);
        print_list("what to do", &steps, true, out);
        print_list("what readers will notice", &notices, false, out);
        release(&steps);
        release(&notices);
}

static json_t *lines_json(struct lines *lines)
{
        json_t *list = json_array();

        for (size_t i = 0; i < lines->cnt; i++)
                json_array_append_new(list, json_string(lines->text[i]));
        release(lines);
        return list;
}

static json_t *tally_json(const struct rp_growth *growth, const kr_rule_t *rule, const struct rp_growth_tally *tally,
                          double of_hashes)
{
        json_t *loads;
        json_t *json;

        if (!rule)
                return json_null();
        loads = json_array();
        for (int32_t p = 0; p < growth->to; p++)
                json_array_append_new(loads, json_integer((json_int_t)tally->loads[p]));
        json = json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "rule", kr_rule_describe(rule), "fingerprint",
                         kr_rule_fingerprint(rule), "moved_share",
                         rp_json_share(growth->keyed ? (double)tally->moved / (double)growth->keyed : 0),
                         "moved_share_of_hashes", of_hashes < 0 ? json_null() : rp_json_share(of_hashes),
                         "moved_records", (json_int_t)tally->moved, "moved_bytes", (json_int_t)tally->moved_bytes,
                         "refused_records", (json_int_t)tally->refused, "max_over_mean",
                         rp_json_share(rp_max_over_mean(tally->loads, growth->to)), "records_per_partition", loads);
        return json;
}

void rp_plan_print_json(const struct rp_plan_report *report, FILE *out)
{
        const struct rp_growth *growth = report->growth;
        const struct rp_growth_rules *rules = growth->rules;
        struct lines steps = { 0 }, notices = { 0 };
        json_t *json = json_object();

        list_steps(report, &steps);
        list_notices(report, &notices);
        json_object_set_new(json, "topic", json_string(report->topic));
        json_object_set_new(json, "partitions", json_integer(growth->from));
        json_object_set_new(json, "planned_partitions", json_integer(growth->to));
        json_object_set_new(json, "rule", json_string(kr_rule_describe(rules->now_rule)));
        json_object_set_new(json, "fingerprint", json_string(kr_rule_fingerprint(rules->now_rule)));
        json_object_set_new(json, "records", json_integer((json_int_t)growth->records));
        json_object_set_new(json, "keyed", json_integer((json_int_t)growth->keyed));
        json_object_set_new(json, "bytes", json_integer((json_int_t)growth->bytes));
        json_object_set_new(json, "misplaced", json_integer((json_int_t)growth->misplaced));
        json_object_set_new(json, "max_over_mean", rp_json_share(rp_max_over_mean(growth->loads, growth->from)));
        json_object_set_new(json, "modulo",
                            tally_json(growth, rules->modulo_rule, &growth->modulo, rules->modulo_share));
        json_object_set_new(json, "planned", tally_json(growth, rules->next_rule, &growth->next, rules->next_share));
        if (!rules->next_rule)
                json_object_set_new(json, "why_not", json_string(rules->why_not));
        json_object_set_new(json, "records_per_s", json_integer((json_int_t)report->rate));
        json_object_set_new(json, "rate_is_measured", json_boolean(report->rate_is_measured));
        json_object_set_new(json, "copy_ms", json_integer(time_ms(report, growth->records)));
        json_object_set_new(json, "move_ms",
                            rules->next_rule ? json_integer(time_ms(report, growth->next.moved)) : json_null());
        json_object_set_new(json, "steps", lines_json(&steps));
        json_object_set_new(json, "notices", lines_json(&notices));
        json_object_set_new(json, "policy", rules->next_json ? json_loads(rules->next_json, 0, NULL) : json_null());
        rp_json_print(json, out);
}
