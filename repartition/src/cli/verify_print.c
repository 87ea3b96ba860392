#include "cli/verify_print.h"

#include "cli/verify_part.h"
#include "decide/order.h"
#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>

static bool has_differences(const struct rp_verify_report *report)
{
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                if (report->counts[kind])
                        return true;
        return report->parts_unnamed > 0;
}

/* What changed while it was looked at is neither equal nor different: it has to be looked at again. */
static bool is_open(const struct rp_verify_report *report)
{
        return !report->is_equal && !has_differences(report) && report->unsettled;
}

static int exit_code(const struct rp_verify_document *document)
{
        if (document->is_part)
                return has_differences(document->report) ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
        if (is_open(document->report))
                return RP_EXIT_INCOMPLETE;
        return document->report->is_equal ? RP_EXIT_CLEAN : RP_EXIT_DIFFERENCES;
}

/* A place of the source as its topic counts. */
static struct rp_verify_place by_topic(const struct rp_verify_document *document, struct rp_verify_place place)
{
        if (place.partition >= 0)
                place.partition = rp_topics_partition(document->topics, place.partition);
        return place;
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void print_place(FILE *out, const char *topic, struct rp_verify_place place)
{
        if (place.partition >= 0)
                fprintf(out, "  %s partition %" PRId32 " offset %" PRId64, topic, place.partition, place.offset);
}

static void print_examples(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;

        for (size_t i = 0; i < report->example_cnt; i++) {
                const struct rp_verify_example *example = &report->examples[i];

                if (i == 0)
                        fputs("\nthe first ones\n", out);
                fprintf(out, "  %-15s", rp_difference_word(example->kind));
                if (example->source.partition >= 0)
                        print_place(out, rp_topics_name(document->topics, document->source, example->source.partition),
                                    by_topic(document, example->source));
                print_place(out, document->target, example->target);
                if (example->wanted >= 0)
                        fprintf(out, "  belongs in partition %" PRId32, example->wanted);
                if (example->has_key) {
                        fputs("  key ", out);
                        if (example->key)
                                rp_text_key(out, example->key, example->key_len, 80);
                        else
                                fputs("none", out);
                }
                fputc('\n', out);
        }
}

static void print_side(const char *label, const char *topic, const struct rp_verify_side *side, bool latest, FILE *out)
{
        char digest[RP_DIGEST_TEXT_SIZE];

        rp_digest_print(side->content, digest);
        fprintf(out, "%-8s %s  %s records, %s", label, topic, rp_text_count(side->records).s, rp_text_bytes(side->bytes).s);
        if (latest)
                fprintf(out, ", %s keys with a value", rp_text_count(side->live_keys).s);
        fprintf(out, "  content %s\n", digest);
}

static void print_keys(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;
        bool latest = report->mode == RP_COMPARE_LATEST;

        fprintf(out, "%-8s of %s keys compared", latest ? "latest" : "order", rp_text_count(report->keys_compared).s);
        if (report->keys_share < 1)
                fprintf(out, ", %s of all, as a sample", rp_text_share(report->keys_share).s);
        fprintf(out, ", %s differ\n", rp_text_count(report->keys_differing).s);
}

static void print_memory(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;

        fprintf(out, "memory   %s for keys, of %s; a million keys take %s at most", rp_text_bytes(report->peak_bytes).s,
                rp_text_bytes(document->max_memory).s, rp_text_bytes(RP_ORDER_BYTES_PER_MILLION_KEYS).s);
        if (report->readings > 1)
                fprintf(out, "\n         so both topics were read %u times", report->readings);
        fputc('\n', out);
}

static void print_doubts(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;

        if (report->parts_unnamed)
                fprintf(out, "%" PRIu64 " of %" PRIu64 " differing parts were too large to be named: raise --max-memory\n",
                        report->parts_unnamed, report->parts_differing);
        if (report->in_flight)
                fprintf(out, "%s records were just being written: missing at the end that was fixed, there when looked at again\n",
                        rp_text_count(report->in_flight).s);
        if (report->parts_moved)
                fprintf(out, "%" PRIu64 " of %" PRIu64 " differing parts were not the same when read again (retention or "
                        "compaction):\n%s differences in them are not counted%s\n", report->parts_moved,
                        report->parts_differing, rp_text_count(report->unsettled).s,
                        report->unsettled ? "; verify once more" : "");
        if (report->passes_are_forgotten)
                fputs("the job ran so often that the ends of its oldest passes are forgotten: keys that live in several\n"
                      "source partitions may be called out-of-order although they were copied in order\n", out);
        if (report->target.deleted && !report->is_equal)
                fprintf(out, "%s: %s offsets lie before its start: retention or DeleteRecords took records from it\n",
                        document->target, rp_text_count(report->target.deleted).s);
}

static void print_verdict(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;

        if (is_open(report))
                fputs("undecided: the topics changed while they were compared\n", out);
        else if (!report->is_equal)
                fputs("the topics differ\n", out);
        else if (report->mode == RP_COMPARE_LATEST)
                fputs("equal: the same last record of every key, every record in its place\n", out);
        else
                fprintf(out, "equal: the same records, %s in the same order, every record in its place\n",
                        report->keys_share < 1 ? "those of the sampled keys" : "every key's");
}

static void print_text(const struct rp_verify_document *document, FILE *out)
{
        const struct rp_verify_report *report = document->report;
        bool latest = report->mode == RP_COMPARE_LATEST;

        print_side("source", document->source, &report->source, latest, out);
        print_side("target", document->target, &report->target, latest, out);
        if (report->is_bounded_by_progress)
                fprintf(out, "         compared up to what job \"%s\" has copied\n", document->job);
        fprintf(out, "mode     %s: %s\n", latest ? "latest record of each key" : "all records", document->mode_reason);
        if (report->is_by_partition)
                fputs("         by partition, as sums\n", out);
        if (document->is_part) {
                rp_verify_part_text(report, out);
                return;
        }
        print_keys(document, out);
        print_memory(document, out);
        fputc('\n', out);
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                fprintf(out, "%-15s %s%s\n", rp_difference_word(kind),
                        report->parts_unnamed && kind != RP_MISPARTITIONED ? "at least " : "",
                        rp_text_count(report->counts[kind]).s);
        print_examples(document, out);
        fputc('\n', out);
        print_doubts(document, out);
        print_verdict(document, out);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *side_json(const struct rp_verify_document *document, int s)
{
        const struct rp_verify_report *report = document->report;
        const struct rp_verify_side *side = s ? &report->target : &report->source;
        char digest[RP_DIGEST_TEXT_SIZE];
        json_t *json, *ranges = json_array();

        rp_digest_print(side->content, digest);
        json = json_pack("{s:s, s:i, s:I, s:I, s:I, s:s}", "topic", s ? document->target : document->source, "partitions",
                         (int)report->partition_cnts[s], "records", (json_int_t)side->records, "keyless",
                         (json_int_t)side->keyless, "bytes", (json_int_t)side->bytes, "content_digest", digest);
        if (report->mode == RP_COMPARE_LATEST)
                json_object_set_new(json, "live_keys", json_integer((json_int_t)side->live_keys));
        for (int32_t p = 0; p < report->partition_cnts[s]; p++) {
                const struct rp_topics *topics = s ? NULL : document->topics;
                json_t *range = json_pack("{s:i, s:I, s:I}", "partition", (int)rp_topics_partition(topics, p), "first_offset",
                                          (json_int_t)report->ranges[s][p].first, "end_offset",
                                          (json_int_t)report->ranges[s][p].end);

                if (topics)
                        json_object_set_new(range, "topic", json_string(rp_topics_name(topics, NULL, p)));
                json_array_append_new(ranges, range);
        }
        json_object_set_new(json, "ranges", ranges);
        return json;
}

static json_t *place_json(struct rp_verify_place place)
{
        if (place.partition < 0)
                return json_null();
        return json_pack("{s:i, s:I}", "partition", (int)place.partition, "offset", (json_int_t)place.offset);
}

static json_t *source_place_json(const struct rp_verify_document *document, struct rp_verify_place place)
{
        json_t *json = place_json(by_topic(document, place));

        if (document->topics && place.partition >= 0)
                json_object_set_new(json, "topic", json_string(rp_topics_name(document->topics, NULL, place.partition)));
        return json;
}

static json_t *examples_json(const struct rp_verify_document *document)
{
        const struct rp_verify_report *report = document->report;
        json_t *list = json_array();

        for (size_t i = 0; i < report->example_cnt; i++) {
                const struct rp_verify_example *example = &report->examples[i];
                json_t *json = json_pack("{s:s, s:o, s:o}", "kind", rp_difference_word(example->kind), "source",
                                         source_place_json(document, example->source), "target", place_json(example->target));

                if (example->wanted >= 0)
                        json_object_set_new(json, "belongs_in", json_integer(example->wanted));
                if (example->has_key && example->key)
                        rp_json_set_key(json, example->key, example->key_len);
                else if (example->has_key)
                        json_object_set_new(json, "key", json_null());
                json_array_append_new(list, json);
        }
        return list;
}

static json_t *counts_json(const struct rp_verify_report *report)
{
        json_t *json = json_object();

        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                json_object_set_new(json, rp_difference_word(kind), json_integer((json_int_t)report->counts[kind]));
        return json;
}

static json_t *to_json(const struct rp_verify_document *document)
{
        const struct rp_verify_report *report = document->report;
        json_t *json = json_object();
        bool is_decided = !document->is_part && !is_open(report);

        json_object_set_new(json, "command", json_string("verify"));
        json_object_set_new(json, "equal", is_decided ? json_boolean(report->is_equal) : json_null());
        json_object_set_new(json, "source", side_json(document, 0));
        json_object_set_new(json, "target", side_json(document, 1));
        json_object_set_new(json, "job", report->is_bounded_by_progress ? json_string(document->job) : json_null());
        json_object_set_new(json, "policy", json_pack("{s:s, s:s}", "rule", kr_rule_describe(document->rule), "fingerprint",
                                                      kr_rule_fingerprint(document->rule)));
        json_object_set_new(json, "mode", json_string(report->mode == RP_COMPARE_LATEST ? "latest" : "all"));
        json_object_set_new(json, "mode_reason", json_string(document->mode_reason));
        if (document->is_part) {
                json_object_set_new(json, "part", rp_verify_part_json(report));
                return json;
        }
        json_object_set_new(json, "keys_compared", json_integer((json_int_t)report->keys_compared));
        json_object_set_new(json, "keys_share", rp_json_share(report->keys_share));
        json_object_set_new(json, "keys_differing", json_integer((json_int_t)report->keys_differing));
        json_object_set_new(json, "counts_are_exact", json_boolean(!report->parts_unnamed));
        json_object_set_new(json, "differences", counts_json(report));
        json_object_set_new(json, "in_flight", json_integer((json_int_t)report->in_flight));
        json_object_set_new(json, "unsettled", json_integer((json_int_t)report->unsettled));
        json_object_set_new(json, "examples", examples_json(document));
        json_object_set_new(json, "by_partition", json_boolean(report->is_by_partition));
        json_object_set_new(json, "resumed", json_boolean(report->is_resumed));
        json_object_set_new(json, "memory",
                            json_pack("{s:I, s:I, s:I, s:i}", "max_bytes", (json_int_t)document->max_memory, "peak_bytes",
                                      (json_int_t)report->peak_bytes, "bytes_per_million_keys",
                                      (json_int_t)RP_ORDER_BYTES_PER_MILLION_KEYS, "readings", (int)report->readings));
        return json;
}

int rp_verify_print(const struct rp_verify_document *document, bool json, FILE *out)
{
        if (json)
                rp_json_print(to_json(document), out);
        else
                print_text(document, out);
        return exit_code(document);
}
