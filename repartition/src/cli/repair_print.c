#include "cli/repair_print.h"

#include "decide/repair_pass.h"
#include "io/jobs_topic.h"
#include "report/classes.h"
#include "report/findings.h"
#include "report/json.h"
#include "report/text.h"
#include "report/wrap.h"

#include <inttypes.h>
#include <string.h>

static const char *noun(const struct rp_repair_facts *facts, uint64_t cnt)
{
        if (facts->tombstones)
                return cnt == 1 ? "tombstone" : "tombstones";
        return cnt == 1 ? "copy" : "copies";
}

/* The command once more, with other classes if `include` is not 0. */
static void print_command(const struct rp_repair_result *result, bool tombstones, unsigned include, bool execute, FILE *out)
{
        char classes[RP_CLASSES_SIZE];

        fputs("  repartition repair ", out);
        rp_text_shell_word(out, result->topic);
        if (tombstones)
                fputs(" --tombstones", out);
        if (include & ~(1u << RP_CLASS_SAFE))
                fprintf(out, " --include %s", rp_classes_print(classes, include & ~(1u << RP_CLASS_SAFE)));
        if (result->facts->mark && !tombstones)
                fputs(" --mark", out);
        if (result->policy_option) {
                fprintf(out, " %s ", result->policy_option);
                rp_text_shell_word(out, result->policy_value);
        }
        if (result->job_option) {
                fputs(" --job ", out);
                rp_text_shell_word(out, result->job_option);
        }
        if (strcmp(result->jobs_topic, RP_JOBS_TOPIC_DEFAULT) != 0) {
                fputs(" --jobs-topic ", out);
                rp_text_shell_word(out, result->jobs_topic);
        }
        fprintf(out, "%s%s%s\n", *result->client_args ? " " : "", result->client_args, execute ? " --execute" : "");
}

static void print_found(const struct rp_repair_result *result, FILE *out)
{
        const struct rp_repair_report *report = result->report;
        const struct rp_repair_counts *counts = &report->counts;
        uint64_t misplaced = rp_classes_sum(counts);
        uint64_t left = misplaced - counts->records[RP_CLASS_COPIED];

        fprintf(out, "read        %s record%s, %s with a key\n", rp_text_count(report->records).s,
                report->records == 1 ? "" : "s", rp_text_count(report->keyed).s);
        if (!misplaced) {
                fputs("misplaced   none\n", out);
        } else {
                fprintf(out, "misplaced   %s record%s, %s of those with a key%s\n", rp_text_count(misplaced).s,
                        misplaced == 1 ? "" : "s", rp_text_percent(misplaced, report->keyed).s,
                        left ? "" : "; all have their copy in the right partition");
                rp_classes_text(counts, 12, out);
        }
        if (counts->own_tombstones)
                fprintf(out, "tombstones  %s of this tool lie in wrong partitions\n", rp_text_count(counts->own_tombstones).s);
        if (counts->ranges > 1)
                fprintf(out, "memory      was short: the topic was read %" PRIu64 " times (--max-memory)\n", 2 * counts->ranges);
}

static void print_pending(const struct rp_repair_result *result, FILE *out)
{
        const struct rp_repair_counts *counts = &result->report->counts;
        const struct rp_repair_facts *facts = result->facts;
        char classes[RP_CLASSES_SIZE];

        if (!counts->pending) {
                fputs("to write    nothing\n", out);
                return;
        }
        if (facts->tombstones)
                fprintf(out, "to write    %s %s, one a key in each wrong partition that holds old copies of it\n",
                        rp_text_count(counts->pending).s, noun(facts, counts->pending));
        else
                fprintf(out, "to write    %s %s, %s, of %s key%s: what is %s\n", rp_text_count(counts->pending).s,
                        noun(facts, counts->pending), rp_text_bytes(counts->pending_bytes).s,
                        rp_text_count(counts->pending_keys).s, counts->pending_keys == 1 ? "" : "s",
                        rp_classes_print(classes, facts->include));
}

static void print_readers(const struct rp_repair_facts *facts, FILE *out)
{
        fputs("readers     ", out);
        if (facts->tombstones)
                rp_wrap(out, "of a wrong partition see a record without a value for each such key. Once the cleaner has run, "
                        "neither the old copies nor, later, the tombstones are there.", 12, 12);
        else if (facts->mark)
                rp_wrap(out, "see each of these records twice: the old one stays, since Kafka cannot delete one record, and the "
                        "copy stands at the end of the right partition, later than all that is there now. The copy's last "
                        "header, keyroute.origin, names the old one.", 12, 12);
        else
                rp_wrap(out, "see each of these records twice: the old one stays, since Kafka cannot delete one record, and the "
                        "copy stands at the end of the right partition, later than all that is there now. With --mark the "
                        "copy's last header names the old one, so that readers can drop it.", 12, 12);
}

static void print_written(const struct rp_repair_result *result, FILE *out)
{
        const struct rp_repair_report *report = result->report;

        if (!report->written && !report->passes) {
                fputs("written     nothing\n", out);
                return;
        }
        fprintf(out, "written     %s %s, %s in %s, %s transaction%s", rp_text_count(report->written).s,
                noun(result->facts, report->written), rp_text_bytes(report->written_bytes).s,
                rp_text_duration(result->elapsed_ms).s, rp_text_count(report->transactions).s,
                report->transactions == 1 ? "" : "s");
        if (report->recoveries)
                fprintf(out, "; %" PRIu64 " new starts, %" PRIu64 " rolled back and written again, %" PRIu64
                             " looked up after an uncertain outcome", report->recoveries, report->rolled_back,
                        report->uncertain);
        fputc('\n', out);
        if (report->overtaken)
                fprintf(out, "overtaken   %s meanwhile: %s\n", rp_text_count(report->overtaken).s,
                        result->facts->tombstones ? "their keys were written to again, and got no tombstone"
                                                  : "stale now, since something as new arrived; left where they are");
        if (report->gone)
                fprintf(out, "gone        %s meanwhile, by compaction or retention\n", rp_text_count(report->gone).s);
}

static void print_unstable(const struct rp_unstable *unstable, FILE *out)
{
        char text[400];

        snprintf(text, sizeof(text), "the copy at partition %" PRId32 ", offset %" PRId64 " (of partition %" PRId32
                 ", offset %" PRId64 ") cannot be read committed yet: somebody's transaction is open since offset %" PRId64
                 ". Nothing is written before it has ended (kafka-transactions.sh find-hanging)", unstable->partition,
                 unstable->offset, unstable->of_partition, unstable->of_offset, unstable->stable);
        fputs("not yet     ", out);
        rp_wrap(out, text, 12, 12);
}

/* What is left to be typed. */
static void print_next(const struct rp_repair_result *result, FILE *out)
{
        const struct rp_repair_counts *counts = &result->report->counts;
        const struct rp_repair_facts *facts = result->facts;
        unsigned others = 0;

        for (int class = 0; class < RP_CLASS_CNT; class++)
                if (counts->records[class] && class != RP_CLASS_COPIED)
                        others |= 1u << class;
        others &= ~facts->include & ~(1u << RP_CLASS_SAFE);
        if (facts->tombstones)
                others = 0;
        fputc('\n', out);
        if (result->is_fenced) {
                fputs("not finished by this run: another one has taken over\n", out);
        } else if (result->is_outdated) {
                fputs("not finished, and not to be gone on with\n", out);
        } else if (result->report->is_stopped || result->is_failed) {
                fputs("not finished; the progress is kept. To go on:\n", out);
                print_command(result, facts->tombstones, facts->include, true, out);
        } else if (result->is_executed) {
                fputs("to see what is left:\n", out);
                print_command(result, facts->tombstones, 0, false, out);
        } else if (result->findings->refusal_cnt) {
                fputs("nothing was written, and --execute would not begin either: see what is refused above\n", out);
        } else if (result->report->unstable.exists) {
                fputs("nothing was written, and --execute would not begin yet\n", out);
        } else if (counts->pending) {
                fputs("nothing was written. To write:\n", out);
                print_command(result, facts->tombstones, facts->include, true, out);
        } else {
                fputs("nothing was written, and --execute would write nothing\n", out);
        }
        if (others && !result->is_executed && !result->findings->refusal_cnt) {
                char classes[RP_CLASSES_SIZE];

                fprintf(out, "what is %s stays where it is. Copies of it would stand behind what may be newer; if that does no "
                             "harm:\n", rp_classes_print(classes, others));
                print_command(result, false, facts->include | others, false, out);
        }
}

void rp_repair_print(const struct rp_repair_result *result, FILE *out)
{
        const struct rp_repair_facts *facts = result->facts;

        fprintf(out, "%s   %" PRId32 " partitions   by %s, fingerprint %s\n\n", result->topic, result->partition_cnt,
                kr_rule_describe(result->rule), kr_rule_fingerprint(result->rule));
        if (result->was_read) {
                print_found(result, out);
                if (!result->is_executed) {
                        print_pending(result, out);
                        if (result->report->counts.pending)
                                print_readers(facts, out);
                }
        }
        fprintf(out, "job         \"%s\" (its progress and its transactions go by this name)\n", result->job);
        rp_findings_print(result->findings, out);
        if (result->is_executed)
                print_written(result, out);
        if (result->report->unstable.exists)
                print_unstable(&result->report->unstable, out);
        print_next(result, out);
}

/* ---- JSON ----------------------------------------------------------------------------------------------------------- */

static json_t *number(uint64_t value)
{
        return json_integer((json_int_t)value);
}

static json_t *pending_json(const struct rp_repair_counts *counts)
{
        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "records", (json_int_t)counts->pending, "bytes",
                         (json_int_t)counts->pending_bytes, "keys", (json_int_t)counts->pending_keys, "expired",
                         (json_int_t)counts->expired, "largest_record_bytes", (json_int_t)counts->largest_bytes, "oldest",
                         rp_json_time(counts->oldest_ms), "newest", rp_json_time(counts->newest_ms));
}

static json_t *run_json(const struct rp_repair_result *result)
{
        const struct rp_repair_report *report = result->report;
        json_t *json = json_object();

        json_object_set_new(json, "finished", json_boolean(!report->is_stopped && !result->is_failed));
        json_object_set_new(json, "records", number(report->written));
        json_object_set_new(json, "bytes", number(report->written_bytes));
        json_object_set_new(json, "overtaken", number(report->overtaken));
        json_object_set_new(json, "gone", number(report->gone));
        json_object_set_new(json, "resumed", json_boolean(report->resumes));
        json_object_set_new(json, "passes", number(report->passes));
        json_object_set_new(json, "transactions_committed", number(report->transactions));
        json_object_set_new(json, "transactions_rolled_back", number(report->rolled_back));
        json_object_set_new(json, "transactions_uncertain", number(report->uncertain));
        json_object_set_new(json, "recoveries", number(report->recoveries));
        json_object_set_new(json, "elapsed_ms", json_integer(result->elapsed_ms));
        return json;
}

static json_t *unstable_json(const struct rp_unstable *unstable)
{
        if (!unstable->exists)
                return json_null();
        return json_pack("{s:i, s:I, s:I, s:i, s:I}", "partition", (int)unstable->partition, "offset",
                         (json_int_t)unstable->offset, "last_stable_offset", (json_int_t)unstable->stable, "of_partition",
                         (int)unstable->of_partition, "of_offset", (json_int_t)unstable->of_offset);
}

json_t *rp_repair_json(const struct rp_repair_result *result)
{
        const struct rp_repair_facts *facts = result->facts;
        const struct rp_repair_report *report = result->report;
        json_t *root = json_object(), *include = json_array();

        for (int class = 0; class < RP_CLASS_CNT; class++)
                if (facts->include & 1u << class && !facts->tombstones)
                        json_array_append_new(include, json_string(rp_class_name(class)));
        json_object_set_new(root, "command", json_string("repair"));
        json_object_set_new(root, "topic", json_string(result->topic));
        json_object_set_new(root, "partitions", json_integer(result->partition_cnt));
        json_object_set_new(root, "job", json_string(result->job));
        json_object_set_new(root, "policy", json_pack("{s:s, s:s}", "rule", kr_rule_describe(result->rule), "fingerprint",
                                                      kr_rule_fingerprint(result->rule)));
        json_object_set_new(root, "writes", json_string(facts->tombstones ? "tombstones" : "copies"));
        json_object_set_new(root, "include", include);
        json_object_set_new(root, "mark", json_boolean(facts->mark));
        json_object_set_new(root, "executed", json_boolean(result->is_executed));
        json_object_set_new(root, "records", number(report->records));
        json_object_set_new(root, "keyed", number(report->keyed));
        json_object_set_new(root, "misplaced", number(rp_classes_sum(&report->counts)));
        json_object_set_new(root, "classes", rp_classes_json(&report->counts));
        json_object_set_new(root, "recent", number(report->counts.recent));
        json_object_set_new(root, "own_tombstones", number(report->counts.own_tombstones));
        json_object_set_new(root, "pending", pending_json(&report->counts));
        json_object_set_new(root, "unstable", unstable_json(&report->unstable));
        json_object_set_new(root, "ranges", number(report->counts.ranges));
        json_object_set_new(root, "findings", rp_findings_json(result->findings));
        json_object_set_new(root, "result", result->is_executed ? run_json(result) : json_null());
        return root;
}
