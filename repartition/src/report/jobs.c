#include "report/jobs.h"

#include "report/json.h"
#include "report/text.h"
#include "topic_name.h"

#include <inttypes.h>
#include <string.h>

static const char *const fates[] = {
        [RP_TOPIC_UNKNOWN] = "unknown", [RP_TOPIC_SAME] = "same",  [RP_TOPIC_THERE] = "there",
        [RP_TOPIC_MADE_ANEW] = "made-anew", [RP_TOPIC_GONE] = "gone",
};

const char *rp_job_look_state(const struct rp_job_look *look)
{
        const char *kind = rp_job_entry_kind(look->entry);

        if (look->holders.cnt)
                return "running";
        if (!kind)
                return "unknown";
        if (look->entry->has_done && strncmp(kind, "follow", 6) != 0)
                return look->entry->done.is_finished ? "finished" : "unfinished";
        if (look->extent.in_pass > 0)
                return "unfinished";
        if (!strncmp(kind, "follow", 6))
                return look->holders_are_known ? "stopped" : "unknown";
        return look->extent.in_pass == 0 ? "finished" : "unknown";
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------- */

static json_t *number(int64_t value)
{
        return value < 0 ? json_null() : json_integer(value);
}

static json_t *text_or_null(const char *text)
{
        return *text ? json_string(text) : json_null();
}

static json_t *end_json(const struct rp_job_end *end, rp_topic_fate_t fate)
{
        return json_pack("{s:s, s:o, s:o, s:I, s:s}", "topic", end->topic, "id", text_or_null(end->id), "cluster",
                         text_or_null(end->cluster), "partitions", (json_int_t)end->partition_cnt, "now", fates[fate]);
}

static json_t *lane_json(const struct rp_job_lane *lane)
{
        return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "topic", lane->topic, "partition", (int)lane->partition, "first",
                         number(lane->first), "next", number(lane->next), "pass_end", number(lane->pass_end), "end",
                         number(lane->end));
}

static void set_description(json_t *job, const struct rp_job_look *look, bool is_whole)
{
        const struct rp_job_descriptor *descriptor = look->entry->descriptor;
        json_t *sources = json_array();

        for (int32_t s = 0; s < descriptor->source_cnt; s++)
                json_array_append_new(sources, is_whole ? end_json(&descriptor->sources[s], look->sources[s])
                                                        : json_string(descriptor->sources[s].topic));
        json_object_set_new(job, "sources", sources);
        json_object_set_new(job, "target", is_whole ? end_json(&descriptor->target, look->target)
                                                    : json_string(descriptor->target.topic));
        json_object_set_new(job, "policy", json_pack("{s:o, s:s}", "rule", text_or_null(descriptor->rule), "fingerprint",
                                                     descriptor->fingerprint));
        json_object_set_new(job, "began_at", rp_json_time(descriptor->since_ms));
        if (*descriptor->include) {
                json_object_set_new(job, "include", json_string(descriptor->include));
                json_object_set_new(job, "mark", json_boolean(descriptor->marks));
        }
        json_object_set_new(job, "last_run", json_pack("{s:o, s:s, s:s}", "at", rp_json_time(look->entry->described_ms), "by",
                                                       descriptor->by, "version", descriptor->version));
}

static json_t *done_json(const struct rp_job_done *done)
{
        json_t *classes = json_object();

        for (int class = 0; class < RP_CLASS_CNT; class++)
                if (done->records[class])
                        json_object_set_new(classes, rp_class_name(class), json_integer((json_int_t)done->records[class]));
        return json_pack("{s:I, s:I, s:o}", "records", (json_int_t)rp_job_done_records(done), "bytes", (json_int_t)done->bytes,
                         "classes", classes);
}

static json_t *look_json(const struct rp_job_look *look, bool is_whole)
{
        const struct rp_job_entry *entry = look->entry;
        const char *kind = rp_job_entry_kind(entry);
        json_t *job = json_object(), *unknown = json_array();

        json_object_set_new(job, "job", json_string(entry->job));
        json_object_set_new(job, "kind", kind ? json_string(kind) : json_null());
        json_object_set_new(job, "state", json_string(rp_job_look_state(look)));
        if (entry->descriptor)
                set_description(job, look, is_whole);
        json_object_set_new(job, "last_commit_at", rp_json_time(entry->committed_ms));
        json_object_set_new(job, "running", look->holders_are_known ? json_boolean(look->holders.cnt) : json_null());
        json_object_set_new(job, "runner", look->holders.cnt ? json_string(look->holders.who) : json_null());
        json_object_set_new(job, "progress", json_pack("{s:o, s:o, s:o}", "offsets_done", number(look->extent.done),
                                                       "offsets_left_in_pass", number(look->extent.in_pass),
                                                       "offsets_left", number(look->extent.left)));
        json_object_set_new(job, "written", entry->has_done ? done_json(&entry->done) : json_null());
        json_object_set_new(job, "checkpoints", json_integer((json_int_t)entry->checkpoint_cnt));
        json_object_set_new(job, "waypoints", json_integer((json_int_t)entry->waypoint_cnt));
        if (is_whole) {
                json_t *ranges = json_array();

                for (size_t i = 0; i < look->lane_cnt; i++)
                        json_array_append_new(ranges, lane_json(&look->lanes[i]));
                json_object_set_new(job, "ranges", ranges);
        }
        for (size_t i = 0; i < sizeof(look->unknown) / sizeof(*look->unknown); i++)
                if (*look->unknown[i])
                        json_array_append_new(unknown, json_string(look->unknown[i]));
        json_object_set_new(job, "unknown", unknown);
        return job;
}

static json_t *damage_json(const struct rp_job_list *list)
{
        json_t *first = json_array();

        for (uint64_t i = 0; i < list->damage_cnt && i < RP_JOB_DAMAGE_MAX; i++) {
                const struct rp_job_damage *damage = &list->damages[i];
                json_t *one = json_pack("{s:I, s:s}", "offset", (json_int_t)damage->offset, "what", damage->what);

                rp_json_set_key(one, damage->key, damage->key_len);
                json_array_append_new(first, one);
        }
        return json_pack("{s:I, s:o}", "records", (json_int_t)list->damage_cnt, "first", first);
}

static json_t *document_json(const struct rp_jobs_document *document)
{
        json_t *jobs = json_array();

        for (size_t i = 0; i < document->look_cnt; i++)
                json_array_append_new(jobs, look_json(&document->looks[i], document->is_whole));
        return json_pack("{s:s, s:s, s:b, s:I, s:o, s:o}", "command", "jobs", "jobs_topic", document->topic, "exists",
                         document->exists, "records", (json_int_t)document->record_cnt, "unreadable",
                         damage_json(document->list), "jobs", jobs);
}

/* ---- text -------------------------------------------------------------------------------------------------------------- */

/* What stands in the topic may have been written by anybody: nothing in it may drive a terminal. */
static void print_foreign(FILE *out, const char *text)
{
        rp_text_key(out, text, strlen(text), 300);
}

static void print_label(FILE *out, const char *label)
{
        fprintf(out, "  %-12s", label);
}

static void print_end(FILE *out, const struct rp_job_end *end, rp_topic_fate_t fate)
{
        print_foreign(out, end->topic);
        if (fate == RP_TOPIC_MADE_ANEW)
                fputs(" (deleted and made again since)", out);
        else if (fate == RP_TOPIC_GONE)
                fputs(" (is not there)", out);
}

static void print_description(FILE *out, const struct rp_job_look *look)
{
        const struct rp_job_descriptor *descriptor = look->entry->descriptor;

        fputs("  ", out);
        print_foreign(out, rp_job_entry_kind(look->entry));
        for (int32_t s = 0; s < descriptor->source_cnt; s++) {
                fputs(s ? ", " : " ", out);
                print_end(out, &descriptor->sources[s], look->sources[s]);
        }
        fputs(" to ", out);
        print_end(out, &descriptor->target, look->target);
        fprintf(out, ", %" PRId32 " partitions\n", descriptor->target.partition_cnt);
        print_label(out, "policy");
        if (*descriptor->rule) {
                print_foreign(out, descriptor->rule);
                fputs(", ", out);
        }
        fputs("fingerprint ", out);
        print_foreign(out, descriptor->fingerprint);
        fputc('\n', out);
        if (*descriptor->include) {
                print_label(out, "copies");
                print_foreign(out, descriptor->include);
                fputs(descriptor->marks ? ", with a mark\n" : "\n", out);
        }
        print_label(out, "began");
        fprintf(out, "%s\n", rp_text_time(descriptor->since_ms).s);
        print_label(out, "last run");
        fprintf(out, "%s, ", rp_text_time(look->entry->described_ms).s);
        print_foreign(out, descriptor->by);
        fputs(", version ", out);
        print_foreign(out, descriptor->version);
        fputc('\n', out);
}

static void print_extent(FILE *out, const struct rp_job_extent *extent)
{
        if (extent->done < 0 && extent->left < 0)
                return;
        print_label(out, "progress");
        if (extent->done >= 0)
                fprintf(out, "%s offsets are done", rp_text_count((uint64_t)extent->done).s);
        if (extent->in_pass > 0)
                fprintf(out, ", %s are left of the pass", rp_text_count((uint64_t)extent->in_pass).s);
        if (extent->left >= 0)
                fprintf(out, "%s%s at most are left in all", extent->done >= 0 ? ", " : "",
                        rp_text_count((uint64_t)extent->left).s);
        fputc('\n', out);
}

static void print_done(FILE *out, const struct rp_job_done *done)
{
        const char *between = " (";

        print_label(out, "written");
        fprintf(out, "%s records, %s", rp_text_count(rp_job_done_records(done)).s, rp_text_bytes(done->bytes).s);
        for (int class = 0; class < RP_CLASS_CNT; class++)
                if (done->records[class]) {
                        fprintf(out, "%s%s %s", between, rp_class_name(class), rp_text_count(done->records[class]).s);
                        between = ", ";
                }
        fputs(*between == ',' ? ")\n" : "\n", out);
}

static void print_lane_cell(struct rp_table *table, const char *label, int64_t offset)
{
        if (offset < 0)
                rp_table_cell(table, "%s ?", label);
        else
                rp_table_cell(table, "%s %" PRId64, label, offset);
}

static void print_whole(FILE *out, const struct rp_job_look *look)
{
        struct rp_table *table = rp_table_new("llrrrr");
        struct rp_error ignored;

        fprintf(out, "  %-12s%s checkpoints, %s waypoints\n", "records", rp_text_count(look->entry->checkpoint_cnt).s,
                rp_text_count(look->entry->waypoint_cnt).s);
        for (size_t i = 0; i < look->lane_cnt; i++) {
                const struct rp_job_lane *lane = &look->lanes[i];

                rp_table_cell(table, "%s", rp_topic_name_check(lane->topic, &ignored) == RP_OK ? lane->topic : "?");
                rp_table_cell(table, "partition %" PRId32, lane->partition);
                print_lane_cell(table, "from", lane->first);
                print_lane_cell(table, "done up to", lane->next);
                print_lane_cell(table, "pass ends at", lane->pass_end);
                print_lane_cell(table, "ends at", lane->end);
        }
        rp_table_print(table, out, 4, 2);
        rp_table_free(table);
}

static void print_look(FILE *out, const struct rp_job_look *look, bool is_whole)
{
        fputc('\n', out);
        print_foreign(out, look->entry->job);
        fputc('\n', out);
        if (look->entry->descriptor)
                print_description(out, look);
        else
                fputs("  not described: what it does cannot be told\n", out);
        print_label(out, "last commit");
        fprintf(out, "%s\n", rp_text_time(look->entry->committed_ms).s);
        if (look->entry->has_done)
                print_done(out, &look->entry->done);
        print_extent(out, &look->extent);
        print_label(out, "state");
        fputs(rp_job_look_state(look), out);
        if (look->holders.cnt) {
                fputs(": ", out);
                print_foreign(out, look->holders.who);
                if (look->holders.cnt > 1)
                        fprintf(out, ", and %zu more", look->holders.cnt - 1);
        }
        fputc('\n', out);
        for (size_t i = 0; i < sizeof(look->unknown) / sizeof(*look->unknown); i++)
                if (*look->unknown[i]) {
                        print_label(out, "not known");
                        print_foreign(out, look->unknown[i]);
                        fputc('\n', out);
                }
        if (is_whole)
                print_whole(out, look);
}

static void print_damage(FILE *out, const struct rp_job_list *list)
{
        if (!list->damage_cnt)
                return;
        fprintf(out, "\n%s record%s of it could not be read:\n", rp_text_count(list->damage_cnt).s,
                list->damage_cnt == 1 ? "" : "s");
        for (uint64_t i = 0; i < list->damage_cnt && i < RP_JOB_DAMAGE_MAX; i++) {
                const struct rp_job_damage *damage = &list->damages[i];

                fprintf(out, "  offset %" PRId64 ", key ", damage->offset);
                rp_text_key(out, damage->key, damage->key_len, RP_JOB_DAMAGE_KEY_MAX);
                fprintf(out, ": %s\n", damage->what);
        }
        if (list->damage_cnt > RP_JOB_DAMAGE_MAX)
                fprintf(out, "  and %s more\n", rp_text_count(list->damage_cnt - RP_JOB_DAMAGE_MAX).s);
}

static void print_document(const struct rp_jobs_document *document, FILE *out)
{
        size_t cnt = document->list->cnt;

        fputs("topic \"", out);
        print_foreign(out, document->topic);
        if (!document->exists) {
                fputs("\" does not exist: no job has left a record here\n", out);
                return;
        }
        fprintf(out, "\": %s job%s, %s record%s\n", rp_text_count(cnt).s, cnt == 1 ? "" : "s",
                rp_text_count(document->record_cnt).s, document->record_cnt == 1 ? "" : "s");
        for (size_t i = 0; i < document->look_cnt; i++)
                print_look(out, &document->looks[i], document->is_whole);
        print_damage(out, document->list);
}

void rp_jobs_print(const struct rp_jobs_document *document, bool is_json, FILE *out)
{
        if (is_json)
                rp_json_print(document_json(document), out);
        else
                print_document(document, out);
}
