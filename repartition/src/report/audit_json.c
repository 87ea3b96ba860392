#include "report/audit.h"

#include "report/audit_part.h"
#include "report/classes.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>

/* The function's own name, also where it hashes another form of the key. */
static const char *hash_name(const struct rp_way *way)
{
        return way->form ? kr_hash_name(kr_rule_hash(way->rule)) : way->name;
}

static json_t *functions_json(const struct rp_explanation *found)
{
        json_t *list = json_array();

        for (size_t i = 0; i < found->function_cnt; i++) {
                const struct rp_function *function = &found->functions[i];

                json_array_append_new(
                        list, json_pack("{s:s, s:s?, s:i, s:I, s:o}", "hash", hash_name(function->way), "key_form",
                                        function->way->form ? function->way->form->name : NULL, "partitions",
                                        (int)function->partition_cnt, "agree", (json_int_t)function->agree, "share",
                                        rp_json_share(found->pairs ? (double)function->agree / (double)found->pairs : 0)));
        }
        return list;
}

static json_t *same_as_json(const struct rp_cause *cause)
{
        json_t *list = json_array();

        for (size_t i = 0; i < cause->same_as_cnt; i++) {
                const struct rp_function *same = &cause->same_as[i];

                if (same->partition_cnt == cause->partition_cnt)
                        json_array_append_new(list, json_string(same->way->name));
                else
                        json_array_append_new(list, json_sprintf("%s of %" PRId32 " partitions", same->way->name,
                                                                 same->partition_cnt));
        }
        return list;
}

static json_t *verdict_json(const struct rp_explanation *found)
{
        json_t *list = json_array();

        for (size_t i = 0; i < found->cause_cnt; i++) {
                const struct rp_cause *cause = &found->causes[i];

                json_array_append_new(
                        list,
                        json_pack("{s:s, s:s?, s:i, s:o, s:o, s:o, s:o, s:b, s:s, s:s, s:o, s:s, s:o, s:o}", "hash",
                                  hash_name(cause->way), "key_form", cause->way->form ? cause->way->form->name : NULL, "partitions", (int)cause->partition_cnt, "share",
                                  rp_json_share(cause->share), "records_share", rp_json_share(cause->records_share),
                                  "misplaced_share", rp_json_share(cause->misplaced_share), "same_as",
                                  same_as_json(cause), "same_always", (int)cause->same_always, "clients",
                                  cause->way->clients, "fix", cause->fix, "confidence",
                                  rp_json_share(cause->confidence), "sure", rp_confidence_word(cause->confidence),
                                  "first_time", rp_json_time(cause->first_ms), "last_time",
                                  rp_json_time(cause->last_ms)));
        }
        return list;
}

static json_t *place_json(const struct rp_place *place)
{
        if (place->partition < 0 || place->offset < 0)
                return json_null();
        return json_pack("{s:i, s:I, s:o}", "partition", (int)place->partition, "offset", (json_int_t)place->offset,
                         "time", rp_json_time(place->time_ms));
}

static json_t *partitions_json(const struct rp_audit_report *report)
{
        json_t *list = json_array();

        for (int32_t p = 0; p < report->audit->partition_cnt; p++) {
                const struct rp_audit_partition *partition = &report->audit->partitions[p];
                json_t *row = json_pack("{s:i, s:I, s:I, s:I}", "partition", (int)p, "records",
                                        (json_int_t)partition->records, "distinct_keys",
                                        (json_int_t)report->findings->measures.partition_keys[p], "misplaced",
                                        (json_int_t)partition->misplaced);

                if (report->is_topic) {
                        const struct rp_coverage *cover = &report->coverage[p];

                        json_object_set_new(row, "bytes", json_integer((json_int_t)partition->bytes));
                        json_object_set_new(row, "skipped", json_boolean(cover->skipped));
                        json_object_set_new(row, "first_offset", json_integer(cover->first));
                        json_object_set_new(row, "end_offset", json_integer(cover->end));
                        json_object_set_new(row, "next_offset", json_integer(cover->next));
                        json_object_set_new(row, "lost_offsets", json_integer(cover->lost));
                        json_object_set_new(row, "first_misplaced", place_json(&partition->first_misplaced));
                        json_object_set_new(row, "last_misplaced", place_json(&partition->last_misplaced));
                }
                json_array_append_new(list, row);
        }
        return list;
}

static json_t *skew_json(const struct rp_audit_report *report)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_measures *measures = &report->findings->measures;
        json_t *heaviest = json_array();

        for (size_t i = 0; i < measures->heaviest_cnt; i++) {
                const struct rp_heavy_key *heavy = &measures->heaviest[i];
                json_t *key = json_pack("{s:o, s:I, s:o}", "key_hash", json_sprintf("%016" PRIx64, heavy->hash),
                                        "records", (json_int_t)heavy->records, "share",
                                        rp_json_share((double)heavy->records / (double)audit->records));

                if (report->show_keys && heavy->key_len <= RP_HEAVY_KEY_MAX)
                        rp_json_set_key(key, heavy->key, heavy->key_len);
                json_array_append_new(heaviest, key);
        }
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I}", "max_over_mean",
                         rp_json_share(measures->skew.max_over_mean), "max_over_median",
                         rp_json_share(measures->skew.max_over_median), "chance", rp_json_share(measures->skew.chance),
                         "floor", rp_json_share(measures->skew.floor), "heaviest_keys", heaviest,
                         "heaviest_keys_error_records", (json_int_t)rp_heavy_error(audit->heavy));
}

static json_t *policy_json(const struct rp_audit_report *report)
{
        const kr_rule_t *rule = report->audit->rule;

        return json_pack("{s:s, s:s, s:s*}", "rule", kr_rule_describe(rule), "fingerprint", kr_rule_fingerprint(rule),
                         "file", report->policy_file);
}

/* "schema id is part of the hashed bytes", with what taking the frame off would do; null when that is no cause. */
static json_t *frames_json(const struct rp_audit_report *report)
{
        const struct rp_frames *frames = &report->findings->frames;

        if (!frames->is_cause)
                return json_null();
        return json_pack("{s:s, s:o, s:I, s:I, s:b, s:{s:s, s:o, s:I}}", "cause", RP_FRAMES_CAUSE, "framed_share",
                         rp_json_share((double)frames->framed / (double)frames->keys), "ids", (json_int_t)frames->ids,
                         "torn_keys", (json_int_t)(frames->torn + 0.5), "exact", (int)frames->is_exact, "forecast", "key_use",
                         "payload", "moved_share", rp_json_share(frames->moved_share), "reunited_keys",
                         (json_int_t)(frames->torn + 0.5));
}

static json_t *outcomes_json(const struct rp_audit *audit)
{
        static const char *const names[RP_KEY_OUTCOMES] = { "projected", "unframed", "missing", "unresolved" };
        json_t *json = json_object();

        for (size_t i = 0; i < RP_KEY_OUTCOMES; i++)
                json_object_set_new(json, names[i], json_integer((json_int_t)audit->key_outcomes[i]));
        return json;
}

static json_t *command_json(const struct rp_audit_report *report)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        json_t *string;

        if (!out)
                abort();
        rp_audit_report_command(report, out);
        fclose(out);
        string = json_string(text);
        free(text);
        return string ? string : json_null(); /* a topic's name is ASCII; a policy file's may be anything */
}

json_t *rp_audit_report_json(const struct rp_audit_report *report)
{
        const struct rp_audit *audit = report->audit;
        const struct rp_measures *measures = &report->findings->measures;
        uint64_t judged = rp_audit_report_judged(report);
        const struct rp_explanation *found = &report->findings->found;
        json_t *json = json_object();

        json_object_set_new(json, report->is_topic ? "topic" : "observed", json_string(report->name));
        json_object_set_new(json, "status", json_string(rp_audit_report_status(report)));
        if (report->is_topic) {
                json_object_set_new(json, "complete", json_boolean(rp_audit_report_is_complete(report)));
                json_object_set_new(json, "as_of", rp_json_time(report->as_of_ms));
        }
        json_object_set_new(json, "partitions", json_integer(audit->partition_cnt));
        json_object_set_new(json, "policy", policy_json(report));
        json_object_set_new(json, "records", json_integer((json_int_t)audit->records));
        json_object_set_new(json, "keyed", json_integer((json_int_t)audit->keyed));
        json_object_set_new(json, "empty_keys", json_integer((json_int_t)audit->empty_keys));
        json_object_set_new(json, "null_keys", json_integer((json_int_t)audit->null_keys));
        json_object_set_new(json, "rejected_keys", json_integer((json_int_t)audit->rejected_keys));
        json_object_set_new(json, "unresolved_keys", json_integer((json_int_t)audit->unresolved_keys));
        if (rp_audit_report_has_key_use(report))
                json_object_set_new(json, "key_outcomes", outcomes_json(audit));
        if (report->is_topic)
                json_object_set_new(json, "bytes", json_integer((json_int_t)audit->bytes));
        json_object_set_new(json, "distinct_keys", json_integer((json_int_t)measures->distinct_keys));
        json_object_set_new(json, "distinct_keys_error", rp_json_share(measures->distinct_error));
        json_object_set_new(json, "split_keys", json_integer((json_int_t)measures->split_keys));
        json_object_set_new(json, "misplaced", json_integer((json_int_t)audit->misplaced));
        json_object_set_new(json, "misplaced_share",
                            rp_json_share(judged ? (double)audit->misplaced / (double)judged : 0));
        json_object_set_new(json, "misplaced_empty_keys", json_integer((json_int_t)audit->misplaced_empty_keys));
        if (report->is_topic)
                json_object_set_new(json, "first_misplaced", place_json(&audit->first_misplaced));
        if (report->classes)
                json_object_set_new(json, "classes", rp_classes_json(report->classes));
        json_object_set_new(json, "functions", functions_json(found));
        json_object_set_new(json, "verdict", verdict_json(found));
        json_object_set_new(json, "unexplained",
                            json_pack("{s:s, s:o, s:o, s:o, s:s}", "kind", rp_rest_name(found->rest), "share",
                                      rp_json_share(found->rest_share), "records_share",
                                      rp_json_share(found->rest_records_share), "misplaced_share",
                                      rp_json_share(found->rest_misplaced_share), "text", rp_rest_text(found->rest)));
        json_object_set_new(json, "schema_ids", frames_json(report));
        json_object_set_new(json, "sample",
                            json_pack("{s:I, s:I, s:b, s:I, s:I}", "keys", (json_int_t)found->keys, "pairs",
                                      (json_int_t)found->pairs, "complete", (int)rp_sample_is_complete(audit->sample),
                                      "long_keys", (json_int_t)found->long_keys, "keys_needed",
                                      (json_int_t)found->keys_needed));
        json_object_set_new(json, "skew", skew_json(report));
        json_object_set_new(json, "per_partition", partitions_json(report));
        if (report->is_topic && audit->misplaced)
                json_object_set_new(json, "mend", command_json(report));
        if (report->part_sample_keys)
                json_object_set_new(json, "part", rp_audit_part_json(report, report->part_sample_keys));
        return json;
}
