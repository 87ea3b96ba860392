#include "report/audit.h"

#include "report/classes.h"
#include "report/text.h"
#include "report/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        RIVALS_SHOWN = 4,    /* functions beside the verdict */
        REPROCESS_SHOWN = 4, /* partitions with their first misplaced offset, in the last line */
        TABLE_ROWS = 32,
        BARS_WIDTH = 64,
        CLIENTS_WIDTH = 56,       /* so that the table is not wider than 100 columns */
        CLIENTS_WIDTH_TIMED = 34  /* beside the column "last seen" */
};

static void print_heading(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_measures *measures = &report->findings->measures;
        const struct rp_way *judge = &report->findings->ways.list[report->findings->ways.judge];
        int32_t read_cnt = 0;

        fprintf(out, "%s   %" PRId32 " partition%s   %s record%s", report->name, audit->partition_cnt,
                audit->partition_cnt == 1 ? "" : "s", rp_text_count(audit->records).s, audit->records == 1 ? "" : "s");
        if (audit->keyed != audit->records)
                fprintf(out, " (%s keyed)", rp_text_count(audit->keyed).s);
        fprintf(out, "   %s%s key%s", measures->distinct_error > 0 ? "about " : "", rp_text_count(measures->distinct_keys).s,
                measures->distinct_keys == 1 ? "" : "s");
        if (measures->distinct_error > 0)
                fprintf(out, " (±%s)", rp_text_share(measures->distinct_error).s);
        if (report->is_topic)
                fprintf(out, "   up to %s", rp_text_time(report->as_of_ms).s);
        fprintf(out, "\njudged by %s", judge->name);
        if (report->policy_file)
                fprintf(out, " of %s, fingerprint %s\n", report->policy_file, kr_rule_fingerprint(audit->rule));
        else if (report->hash)
                fprintf(out, " (--hash)\n");
        else
                fprintf(out, ", Java's rule (no policy file given)\n");
        for (int32_t p = 0; report->is_topic && p < audit->partition_cnt; p++)
                read_cnt += !report->coverage[p].skipped;
        if (report->is_topic && read_cnt < audit->partition_cnt)
                fprintf(out, "only %" PRId32 " of the %" PRId32 " partitions, as asked for\n", read_cnt,
                        audit->partition_cnt);
}

static void print_coverage(const struct rp_audit_report *report, FILE *out)
{
        for (int32_t p = 0; report->is_topic && p < report->audit->partition_cnt; p++) {
                const struct rp_coverage *cover = &report->coverage[p];

                if (cover->skipped || cover->first >= cover->end)
                        continue;
                if (cover->lost)
                        fprintf(out, "INCOMPLETE  partition %" PRId32 ": %s offsets were deleted by retention while they "
                                "were to be read\n", p, rp_text_count((uint64_t)cover->lost).s);
                if (cover->next < cover->end)
                        fprintf(out, "INCOMPLETE  partition %" PRId32 ": read from offset %" PRId64 " to %" PRId64
                                ", not to %" PRId64 "\n", p, cover->first, cover->next - 1, cover->end - 1);
        }
}

/* What the policy's key use made of the keys. */
static void print_outcomes(const struct rp_audit_report *report, FILE *out)
{
        static const char *const words[RP_KEY_OUTCOMES] = { "by the part that the policy names", "without a frame, as they are",
                                                            "not to be taken apart", "of a schema that is not known" };
        const char *gap = "routed      ";

        for (size_t i = 0; i < RP_KEY_OUTCOMES; i++)
                if (report->audit->key_outcomes[i]) {
                        fprintf(out, "%s%s %s", gap, rp_text_count(report->audit->key_outcomes[i]).s, words[i]);
                        gap = ", ";
                }
        fputc('\n', out);
}

static void print_damage(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_measures *measures = &report->findings->measures;
        const struct rp_place *first = &audit->first_misplaced;

        if (!rp_audit_report_judged(report))
                fprintf(out, "misplaced   nothing to judge: no record has a key%s\n",
                        audit->null_keys < audit->records ? " that the policy gives a partition" : "");
        else if (!audit->misplaced)
                fprintf(out, "misplaced   none: every key is where it belongs\n");
        else
                fprintf(out, "misplaced   %s record%s (%s)   ", rp_text_count(audit->misplaced).s,
                        audit->misplaced == 1 ? "" : "s",
                        rp_text_percent(audit->misplaced, rp_audit_report_judged(report)).s);
        if (audit->misplaced && measures->split_keys)
                fprintf(out, "%s%s key%s in more than one partition\n", measures->distinct_error > 0 ? "about " : "",
                        rp_text_count(measures->split_keys).s, measures->split_keys == 1 ? " lives" : "s live");
        else if (audit->misplaced)
                fprintf(out, "no%s key lives in more than one partition\n",
                        measures->distinct_error > 0 ? " sampled" : "");
        if (audit->misplaced && report->is_topic)
                fprintf(out, "first one   partition %" PRId32 ", offset %" PRId64 ", %s\n", first->partition,
                        first->offset, rp_text_time(first->time_ms).s);
        if (audit->misplaced && report->classes) {
                fputs("classes     of repair in place:\n", out);
                rp_classes_text(report->classes, 12, out);
        }
        if (audit->null_keys)
                fprintf(out, "no key      %s record%s: any partition is right\n", rp_text_count(audit->null_keys).s,
                        audit->null_keys == 1 ? "" : "s");
        if (audit->empty_keys)
                fprintf(out, "empty key   %s record%s, %s misplaced: Java hashes the empty key, librdkafka's default "
                        "spreads it\n", rp_text_count(audit->empty_keys).s, audit->empty_keys == 1 ? "" : "s",
                        rp_text_count(audit->misplaced_empty_keys).s);
        if (rp_audit_report_has_key_use(report) && audit->keyed + audit->empty_keys)
                print_outcomes(report, out);
        if (audit->rejected_keys)
                fprintf(out, "rejected    %s record%s: the policy refuses keys of this form\n",
                        rp_text_count(audit->rejected_keys).s, audit->rejected_keys == 1 ? "" : "s");
        if (audit->unresolved_keys)
                fprintf(out, "INCOMPLETE  %s record%s not judged: the registry gave no schema for %s\n",
                        rp_text_count(audit->unresolved_keys).s, audit->unresolved_keys == 1 ? "" : "s",
                        audit->unresolved_keys == 1 ? "its key" : "their keys");
}

static void print_same_as(const struct rp_cause *cause, FILE *out)
{
        fprintf(out, "  %s cannot be told from ", cause->way->name);
        for (size_t i = 0; i < cause->same_as_cnt; i++) {
                const struct rp_function *same = &cause->same_as[i];

                fprintf(out, "%s%s", i == 0 ? "" : i + 1 == cause->same_as_cnt ? " or " : ", ", same->way->name);
                if (same->partition_cnt != cause->partition_cnt)
                        fprintf(out, " of %" PRId32 " partitions", same->partition_cnt);
        }
        if (cause->same_always)
                fprintf(out, ": with %" PRId32 " partitions they are the same\n", cause->partition_cnt);
        else
                fprintf(out, " by the keys seen so far\n");
}

/* As many of the clients as a line has room for; --output json has them all. */
static int clients_width(const char *clients, size_t room)
{
        size_t len = strlen(clients);

        if (len <= room)
                return (int)len;
        for (len = room; len && clients[len] != ',' && clients[len] != ';'; len--)
                ;
        return (int)(len ? len : room);
}

static void print_causes(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_explanation *found = &report->findings->found;
        bool has_times = false;
        struct rp_table *table;

        for (size_t i = 0; i < found->cause_cnt; i++)
                has_times = has_times || found->causes[i].last_ms >= 0;
        table = rp_table_new(has_times ? "lrrlll" : "lrrll");
        rp_table_cell(table, "written by");
        rp_table_cell(table, "of keys");
        rp_table_cell(table, "of records");
        rp_table_cell(table, "sure");
        if (has_times)
                rp_table_cell(table, "last seen");
        rp_table_cell(table, "used by");
        for (size_t i = 0; i < found->cause_cnt; i++) {
                const struct rp_cause *cause = &found->causes[i];

                if (cause->partition_cnt == report->audit->partition_cnt)
                        rp_table_cell(table, "  %s", cause->way->name);
                else
                        rp_table_cell(table, "  %s of %" PRId32 " partitions", cause->way->name, cause->partition_cnt);
                rp_table_cell(table, "%s", rp_text_share(cause->share).s);
                rp_table_cell(table, "%s", rp_text_share(cause->records_share).s);
                rp_table_cell(table, "%s", rp_confidence_word(cause->confidence));
                if (has_times)
                        rp_table_cell(table, "%s", cause->last_ms < 0 ? "-" : rp_text_time(cause->last_ms).s);
                rp_table_cell(table, "%.*s",
                              clients_width(cause->way->clients, has_times ? CLIENTS_WIDTH_TIMED : CLIENTS_WIDTH),
                              cause->way->clients);
        }
        if (found->rest != RP_REST_NONE) {
                rp_table_cell(table, "  nobody known");
                rp_table_cell(table, "%s", rp_text_share(found->rest_share).s);
                rp_table_cell(table, "%s", rp_text_share(found->rest_records_share).s);
                rp_table_cell(table, "%s", "");
                if (has_times)
                        rp_table_cell(table, "%s", "");
                rp_table_cell(table, "%s", rp_rest_text(found->rest));
        }
        rp_table_print(table, out, 0, 3);
        rp_table_free(table);
        for (size_t i = 0; i < found->cause_cnt; i++)
                if (found->causes[i].same_as_cnt)
                        print_same_as(&found->causes[i], out);
}

static bool is_cause(const struct rp_explanation *found, const struct rp_function *function)
{
        for (size_t i = 0; i < found->cause_cnt; i++)
                if (found->causes[i].way == function->way && found->causes[i].partition_cnt == function->partition_cnt)
                        return true;
        return false;
}

/* What other functions would have got right, so that the verdict can be seen to stand out. */
static void print_rivals(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_explanation *found = &report->findings->found;
        const struct rp_way *judge = &report->findings->ways.list[report->findings->ways.judge];
        char *line = NULL;
        size_t size = 0, shown = 0;
        FILE *text = open_memstream(&line, &size);

        if (!text)
                return;
        for (size_t i = 0; i < found->function_cnt; i++) {
                const struct rp_function *function = &found->functions[i];

                if (is_cause(found, function) || !function->way->is_client)
                        continue;
                if (shown >= RIVALS_SHOWN && function->way != judge)
                        continue;
                fprintf(text, "%s%s %s", shown ? ", " : "others agree with: ", function->way->name,
                        rp_text_percent(function->agree, found->pairs).s);
                shown++;
        }
        fprintf(text, "; chance gives %s", rp_text_share(1.0 / report->audit->partition_cnt).s);
        fclose(text);
        if (shown) {
                fputs("  ", out);
                rp_wrap(out, line, 2, 4);
        }
        free(line);
}

static void print_who(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_explanation *found = &report->findings->found;

        switch (found->state) {
        case RP_EXPLAINED:
                print_causes(report, out);
                print_rivals(report, out);
                fprintf(out, "  from %s distinct keys%s\n", rp_text_count(found->keys).s,
                        rp_sample_is_complete(report->audit->sample) ? "" : ", a sample of all");
                break;
        case RP_UNDETERMINED:
                fprintf(out, "written by  undetermined: %s distinct key%s %s too few, %s more would do\n",
                        rp_text_count(found->keys).s, found->keys == 1 ? "" : "s", found->keys == 1 ? "is" : "are",
                        rp_text_count(found->keys_needed).s);
                break;
        case RP_NO_KEYS:
                fprintf(out, "written by  undetermined: there is no key to go by\n");
                break;
        case RP_ONE_PARTITION:
                fprintf(out, "written by  anybody: with one partition every client does the same\n");
                break;
        }
        if (found->long_keys)
                fprintf(out, "  %s sampled key%s longer than %d bytes left out\n", rp_text_count(found->long_keys).s,
                        found->long_keys == 1 ? "" : "s", RP_SAMPLE_KEY_MAX);
}

static void print_frames(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_frames *frames = &report->findings->frames;
        const char *about = frames->is_exact ? "" : "about ";
        char *line = NULL;
        size_t size = 0;
        FILE *text;

        if (!frames->is_cause)
                return;
        text = open_memstream(&line, &size);
        if (!text)
                return;
        fprintf(text, RP_FRAMES_CAUSE ": %s of the keys carry a registry frame (%zu schema ids), and %s%s entities live in "
                "several partitions, under another id in each. With \"key\": {\"use\": \"payload\"} in a policy %s of the "
                "records would move and these would be reunited; key use avro (audit --policy FILE forecasts it) also "
                "unites keys whose schemas differ in more than the id",
                rp_text_share((double)frames->framed / (double)frames->keys).s, frames->ids, about,
                rp_text_count((uint64_t)(frames->torn + 0.5)).s, rp_text_share(frames->moved_share).s);
        fclose(text);
        fputs("torn keys   ", out);
        rp_wrap(out, line, 12, 12);
        free(line);
}

static void print_skew(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_measures *measures = &report->findings->measures;
        const struct rp_heavy_key *top = measures->heaviest;

        fputs("partitions   ", out);
        rp_text_bars(out, measures->partition_records, (size_t)audit->partition_cnt, BARS_WIDTH);
        fprintf(out, "   fullest %.2f× the mean", measures->skew.max_over_mean);
        if (measures->skew.chance > 0)
                fprintf(out, "; chance alone would give %.2f×", measures->skew.chance);
        fputc('\n', out);
        if (!measures->heaviest_cnt || top[0].records * 1000 < audit->records)
                return;
        fprintf(out, "heaviest key %s of all records", rp_text_percent(top[0].records, audit->records).s);
        if (measures->skew.floor > 1.005)
                fprintf(out, ": no placement gets the fullest below %.2f×", measures->skew.floor);
        fputs(report->show_keys ? "\n" : "   (--show-keys names it)\n", out);
        for (size_t i = 0; i < measures->heaviest_cnt && report->show_keys; i++) {
                size_t len = top[i].key_len;

                fprintf(out, "  %7s  ", rp_text_percent(top[i].records, audit->records).s);
                rp_text_key(out, top[i].key, len < RP_HEAVY_KEY_MAX ? len : RP_HEAVY_KEY_MAX, RP_HEAVY_KEY_MAX);
                fputs(len > RP_HEAVY_KEY_MAX ? "…\n" : "\n", out);
        }
}

/* The partitions with the most misplaced records, when there are too many to show. */
static bool is_shown(const struct rp_audit *audit, int32_t partition)
{
        int32_t worse = 0;

        if (audit->partition_cnt <= TABLE_ROWS)
                return true;
        for (int32_t p = 0; p < audit->partition_cnt && worse < TABLE_ROWS; p++)
                worse += audit->partitions[p].misplaced > audit->partitions[partition].misplaced ||
                         (audit->partitions[p].misplaced == audit->partitions[partition].misplaced && p < partition);
        return worse < TABLE_ROWS && audit->partitions[partition].misplaced;
}

static void print_place(struct rp_table *table, const struct rp_place *place)
{
        if (place->partition < 0)
                rp_table_cell(table, "-");
        else
                rp_table_cell(table, "%" PRId64 "  %s", place->offset, rp_text_time(place->time_ms).s);
}

static void print_partitions(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_audit *audit = report->audit;
        struct rp_table *table = rp_table_new(report->is_topic ? "rrrrrll" : "rrrr");
        int32_t shown = 0;

        rp_table_cell(table, "partition");
        rp_table_cell(table, "records");
        if (report->is_topic)
                rp_table_cell(table, "bytes");
        rp_table_cell(table, "keys");
        rp_table_cell(table, "misplaced");
        if (report->is_topic) {
                rp_table_cell(table, "first misplaced at");
                rp_table_cell(table, "last misplaced at");
        }
        for (int32_t p = 0; p < audit->partition_cnt; p++) {
                const struct rp_audit_partition *partition = &audit->partitions[p];

                if ((report->is_topic && report->coverage[p].skipped) || !is_shown(audit, p))
                        continue;
                shown++;
                rp_table_cell(table, "%" PRId32, p);
                rp_table_cell(table, "%s", rp_text_count(partition->records).s);
                if (report->is_topic)
                        rp_table_cell(table, "%s", rp_text_bytes(partition->bytes).s);
                rp_table_cell(table, "%s", rp_text_count(report->findings->measures.partition_keys[p]).s);
                rp_table_cell(table, "%s", rp_text_count(partition->misplaced).s);
                if (report->is_topic) {
                        print_place(table, &partition->first_misplaced);
                        print_place(table, &partition->last_misplaced);
                }
        }
        if (shown) {
                fputc('\n', out);
                rp_table_print(table, out, 0, 2);
        }
        if (audit->partition_cnt > TABLE_ROWS && shown)
                fprintf(out, "%" PRId32 " of %s partitions shown, those with the most misplaced records "
                        "(--output json has all)\n", shown, rp_text_count((uint64_t)audit->partition_cnt).s);
        else if (audit->partition_cnt > TABLE_ROWS)
                fprintf(out, "\nno misplaced records in any of %s partitions (--output json has all)\n",
                        rp_text_count((uint64_t)audit->partition_cnt).s);
        rp_table_free(table);
}

static bool does_damage(const struct rp_cause *cause)
{
        return cause->misplaced_share > 0.0005;
}

/* From where consumers have to read again: what they have read from there on may have been in the wrong partition. */
static void print_reprocess(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_audit *audit = report->audit;
        int32_t affected = 0;
        char *line = NULL;
        size_t size = 0;
        FILE *text = open_memstream(&line, &size);

        if (!text)
                return;
        fprintf(text, "consumers of %s must reprocess from partition ", report->name);
        for (int32_t p = 0; p < audit->partition_cnt; p++)
                if (audit->partitions[p].misplaced && affected++ < REPROCESS_SHOWN)
                        fprintf(text, "%s%" PRId32 " offset %" PRId64, affected > 1 ? ", " : "", p,
                                audit->partitions[p].first_misplaced.offset);
        if (affected > REPROCESS_SHOWN)
                fputs(", … (--output json has all)", text);
        fclose(text);
        fprintf(out, "  %-9s   ", "then");
        rp_wrap(out, line, 14, 14);
        free(line);
}

static void print_remedy(const struct rp_audit_report *report, FILE *out)
{
        const struct rp_explanation *found = &report->findings->found;
        const char *label = "stop it";
        bool has_unknown = found->rest != RP_REST_NONE && found->rest_misplaced_share > 0.0005, has_any = has_unknown;

        for (size_t i = 0; i < found->cause_cnt; i++)
                has_any |= does_damage(&found->causes[i]);
        if (!has_any && !report->is_topic)
                return; /* pairs without a verdict: there is no topic to mend and nobody to stop */
        fputs("\nwhat to do\n", out);
        for (size_t i = 0; i < found->cause_cnt; i++)
                if (does_damage(&found->causes[i])) {
                        fprintf(out, "  %-9s   %s: %s\n", label, found->causes[i].way->name, found->causes[i].fix);
                        label = "";
                }
        if (has_unknown)
                fprintf(out, "  %-9s   the unknown: find the producers that choose partitions themselves, and let the key "
                        "choose\n", label);
        if (!report->is_topic)
                return;
        fprintf(out, "  %-9s   ", "mend it");
        rp_audit_report_command(report, out);
        fputs("   (a plan first)\n", out);
        print_reprocess(report, out);
}

void rp_audit_report_text(const struct rp_audit_report *report, FILE *out)
{
        print_heading(report, out);
        print_coverage(report, out);
        fputc('\n', out);
        print_damage(report, out);
        if (report->audit->records) {
                fputc('\n', out);
                print_who(report, out);
                print_frames(report, out);
                fputc('\n', out);
                print_skew(report, out);
                print_partitions(report, out);
        }
        if (report->audit->misplaced)
                print_remedy(report, out);
}
