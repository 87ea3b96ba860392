#include "cli/verify_part.h"

#include "cli/command.h"
#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const side_names[2] = { "source", "target" };

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static json_t *digest_json(struct rp_digest digest)
{
        char text[RP_DIGEST_TEXT_SIZE];

        rp_digest_print(digest, text);
        return json_string(text);
}

static json_t *rows_json(const struct rp_tally *tallies, int32_t cnt)
{
        json_t *rows = json_array();

        for (int32_t p = 0; p < cnt; p++)
                if (tallies[p].is_done)
                        json_array_append_new(
                                rows, json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "partition", (int)p, "records",
                                                (json_int_t)tallies[p].records, "keyless", (json_int_t)tallies[p].keyless,
                                                "bytes", (json_int_t)tallies[p].bytes, "keys", (json_int_t)tallies[p].keys,
                                                "mispartitioned", (json_int_t)tallies[p].mispartitioned, "content_digest",
                                                digest_json(tallies[p].content), "order_digest",
                                                digest_json(tallies[p].order)));
        return rows;
}

json_t *rp_verify_part_json(const struct rp_verify_report *report)
{
        return json_pack("{s:o, s:o}", side_names[0], rows_json(report->tallies[0], report->partition_cnts[0]), side_names[1],
                         rows_json(report->tallies[1], report->partition_cnts[1]));
}

void rp_verify_part_text(const struct rp_verify_report *report, FILE *out)
{
        int32_t done[2] = { 0 };

        for (int s = 0; s < 2; s++)
                for (int32_t p = 0; p < report->partition_cnts[s]; p++)
                        done[s] += report->tallies[s][p].is_done;
        fprintf(out, "part     %" PRId32 " of %" PRId32 " source partitions, %" PRId32 " of %" PRId32 " target partitions, "
                "%s mispartitioned\n\n", done[0], report->partition_cnts[0], done[1], report->partition_cnts[1],
                rp_text_count(report->counts[RP_MISPARTITIONED]).s);
        fputs("A part decides nothing: save each part's --output json, then  repartition merge PART.json...\n", out);
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

struct merged {
        const char *topics[2];
        int32_t cnts[2];
        const char *job, *fingerprint, *rule;
        struct rp_tally *tallies[2];
        int32_t *from[2]; /* by partition: which input holds it, -1: none yet */
        struct rp_tally sums[2];
};

static rp_err_t fail_form(const struct rp_merge_input *input, const char *what, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_USAGE, "%.200s: %.200s: this is not a part as verify --partitions --output json writes it",
                       input->path, what);
}

static bool read_digest(const char *text, struct rp_digest *digest)
{
        return strlen(text) == RP_DIGEST_TEXT_SIZE - 1 && strspn(text, "0123456789abcdef") == RP_DIGEST_TEXT_SIZE - 1 &&
               sscanf(text, "%16" SCNx64 "%16" SCNx64, &digest->high, &digest->low) == 2;
}

/* The ranges of all partitions, which every part holds and which must be the same in all. */
static rp_err_t read_ranges(struct merged *merged, const struct rp_merge_input *input, bool is_first, int s, json_t *side,
                            struct rp_error *err)
{
        json_t *ranges = json_object_get(side, "ranges"), *range;
        size_t p;

        if (!json_is_array(ranges) || json_array_size(ranges) != (size_t)merged->cnts[s])
                return fail_form(input, "ranges", err);
        json_array_foreach(ranges, p, range) {
                struct rp_range *known = &merged->tallies[s][p].range;
                json_int_t first, end;
                json_error_t why;

                if (json_unpack_ex(range, &why, 0, "{s:I, s:I}", "first_offset", &first, "end_offset", &end))
                        return fail_form(input, why.text, err);
                if (is_first)
                        *known = (struct rp_range){ first, end };
                else if (known->first != first || known->end != end)
                        return rp_fail(err, RP_ERR_USAGE,
                                       "%.150s: partition %zu of topic \"%.100s\" stands for offsets %" PRId64 " to %" PRId64
                                       ", in the other parts for %" PRId64 " to %" PRId64
                                       ": the parts were begun at different moments; run them while nothing is written",
                                       input->path, p, merged->topics[s], (int64_t)first, (int64_t)end - 1, known->first,
                                       known->end - 1);
        }
        return RP_OK;
}

static rp_err_t read_row(struct merged *merged, const struct rp_merge_input *inputs, size_t at, int s, json_t *row,
                         struct rp_error *err)
{
        struct rp_tally *tally;
        json_int_t records, keyless, bytes, keys, mispartitioned;
        const char *content, *order;
        int partition;
        json_error_t why;

        if (json_unpack_ex(row, &why, 0, "{s:i, s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "partition", &partition, "records",
                           &records, "keyless", &keyless, "bytes", &bytes, "keys", &keys, "mispartitioned", &mispartitioned,
                           "content_digest", &content, "order_digest", &order))
                return fail_form(&inputs[at], why.text, err);
        if (partition < 0 || partition >= merged->cnts[s])
                return fail_form(&inputs[at], "a partition that the topic does not have", err);
        if (merged->from[s][partition] >= 0)
                return rp_fail(err, RP_ERR_USAGE, "partition %d of topic \"%.100s\" is in %.150s and in %.150s: give each once",
                               partition, merged->topics[s], inputs[merged->from[s][partition]].path, inputs[at].path);
        merged->from[s][partition] = (int32_t)at;
        tally = &merged->tallies[s][partition];
        tally->records = (uint64_t)records;
        tally->keyless = (uint64_t)keyless;
        tally->bytes = (uint64_t)bytes;
        tally->keys = (uint64_t)keys;
        tally->mispartitioned = (uint64_t)mispartitioned;
        if (!read_digest(content, &tally->content) || !read_digest(order, &tally->order))
                return fail_form(&inputs[at], "a digest", err);
        rp_tally_add(&merged->sums[s], tally);
        return RP_OK;
}

static rp_err_t make_room(struct merged *merged, int s, struct rp_error *err)
{
        merged->tallies[s] = calloc((size_t)merged->cnts[s], sizeof(*merged->tallies[s]));
        merged->from[s] = calloc((size_t)merged->cnts[s], sizeof(*merged->from[s]));
        if (!merged->tallies[s] || !merged->from[s])
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int32_t p = 0; p < merged->cnts[s]; p++)
                merged->from[s][p] = -1;
        return RP_OK;
}

static rp_err_t read_side(struct merged *merged, const struct rp_merge_input *inputs, size_t at, int s, struct rp_error *err)
{
        json_t *side = json_object_get(inputs[at].document, side_names[s]), *row;
        json_t *rows = json_object_get(json_object_get(inputs[at].document, "part"), side_names[s]);
        const char *topic;
        int cnt;
        size_t i;
        json_error_t why;
        rp_err_t rc;

        if (json_unpack_ex(side, &why, 0, "{s:s, s:i}", "topic", &topic, "partitions", &cnt))
                return fail_form(&inputs[at], why.text, err);
        if (cnt < 1 || !json_is_array(rows))
                return fail_form(&inputs[at], "part", err);
        if (at == 0) {
                merged->topics[s] = topic;
                merged->cnts[s] = cnt;
                rc = make_room(merged, s, err);
                if (rc != RP_OK)
                        return rc;
        } else if (strcmp(topic, merged->topics[s]) != 0 || cnt != merged->cnts[s]) {
                return rp_fail(err, RP_ERR_USAGE, "%.150s is about topic \"%.100s\" of %d partitions, %.150s about \"%.100s\" of %"
                               PRId32, inputs[at].path, topic, cnt, inputs[0].path, merged->topics[s], merged->cnts[s]);
        }
        rc = read_ranges(merged, &inputs[at], at == 0, s, side, err);
        json_array_foreach(rows, i, row) {
                if (rc == RP_OK)
                        rc = read_row(merged, inputs, at, s, row, err);
        }
        return rc;
}

static rp_err_t read_head(struct merged *merged, const struct rp_merge_input *inputs, size_t at, struct rp_error *err)
{
        const char *fingerprint, *rule;
        const char *job = json_string_value(json_object_get(inputs[at].document, "job"));
        json_error_t why;

        if (json_unpack_ex(inputs[at].document, &why, 0, "{s:{s:s, s:s}}", "policy", "fingerprint", &fingerprint, "rule", &rule))
                return fail_form(&inputs[at], why.text, err);
        if (at == 0) {
                merged->fingerprint = fingerprint;
                merged->rule = rule;
                merged->job = job;
                return RP_OK;
        }
        if (strcmp(fingerprint, merged->fingerprint) != 0)
                return rp_fail(err, RP_ERR_USAGE, "%.200s was judged by the policy %.40s, %.200s by %.40s", inputs[at].path,
                               fingerprint, inputs[0].path, merged->fingerprint);
        if (!job != !merged->job || (job && strcmp(job, merged->job) != 0))
                return rp_fail(err, RP_ERR_USAGE, "%.200s goes by the progress of job \"%.60s\", %.200s by that of \"%.60s\"",
                               inputs[at].path, job ? job : "none", inputs[0].path, merged->job ? merged->job : "none");
        return RP_OK;
}

static rp_err_t check_complete(const struct merged *merged, struct rp_error *err)
{
        for (int s = 0; s < 2; s++)
                for (int32_t p = 0; p < merged->cnts[s]; p++)
                        if (merged->from[s][p] < 0)
                                return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%s\" is in none of the parts",
                                               p, merged->topics[s]);
        return RP_OK;
}

/* ---- result --------------------------------------------------------------------------------------------------------- */

static const char *order_word(const struct merged *merged, rp_tally_verdict_t verdict, bool content_equal)
{
        if (!content_equal || merged->sums[1].mispartitioned || verdict == RP_TALLY_UNDECIDED)
                return "undecided";
        return verdict == RP_TALLY_EQUAL ? "equal" : "different";
}

static void print_json(const struct merged *merged, rp_tally_verdict_t verdict, bool content_equal, uint64_t split, size_t cnt,
                       FILE *out)
{
        json_t *json = json_object();

        json_object_set_new(json, "command", json_string("merge"));
        json_object_set_new(json, "kind", json_string("verify"));
        json_object_set_new(json, "parts", json_integer((json_int_t)cnt));
        json_object_set_new(json, "equal", verdict == RP_TALLY_UNDECIDED ? json_null() : json_boolean(verdict == RP_TALLY_EQUAL));
        json_object_set_new(json, "content_equal", json_boolean(content_equal));
        json_object_set_new(json, "order", json_string(order_word(merged, verdict, content_equal)));
        json_object_set_new(json, "split_pieces", json_integer((json_int_t)split));
        json_object_set_new(json, "mispartitioned", json_integer((json_int_t)merged->sums[1].mispartitioned));
        for (int s = 0; s < 2; s++) {
                const struct rp_tally *sum = &merged->sums[s];

                json_object_set_new(json, side_names[s],
                                    json_pack("{s:s, s:i, s:I, s:I, s:I, s:o}", "topic", merged->topics[s], "partitions",
                                              (int)merged->cnts[s], "records", (json_int_t)sum->records, "keyless",
                                              (json_int_t)sum->keyless, "bytes", (json_int_t)sum->bytes, "content_digest",
                                              digest_json(sum->content)));
        }
        json_object_set_new(json, "job", merged->job ? json_string(merged->job) : json_null());
        json_object_set_new(json, "policy", json_pack("{s:s, s:s}", "rule", merged->rule, "fingerprint", merged->fingerprint));
        rp_json_print(json, out);
}

static void print_text(const struct merged *merged, rp_tally_verdict_t verdict, bool content_equal, uint64_t split, size_t cnt,
                       FILE *out)
{
        for (int s = 0; s < 2; s++) {
                char digest[RP_DIGEST_TEXT_SIZE];

                rp_digest_print(merged->sums[s].content, digest);
                fprintf(out, "%-8s %s  %s records, %s  content %s\n", side_names[s], merged->topics[s],
                        rp_text_count(merged->sums[s].records).s, rp_text_bytes(merged->sums[s].bytes).s, digest);
        }
        fprintf(out, "parts    %zu, every partition once\n", cnt);
        fprintf(out, "order    %s\n", order_word(merged, verdict, content_equal));
        fprintf(out, "mispartitioned  %s\n\n", rp_text_count(merged->sums[1].mispartitioned).s);
        if (verdict == RP_TALLY_UNDECIDED)
                fprintf(out, "the same records, every one in its place; but keys live in several partitions of %s (%s places\n"
                        "beyond each key's first), and their order can be seen by a verify of the whole alone\n",
                        merged->topics[0], rp_text_count(split).s);
        else if (verdict == RP_TALLY_EQUAL)
                fputs("equal: the same records, every key's in the same order, every record in its place\n", out);
        else
                fputs("the topics differ: a verify of the whole names what does\n", out);
}

int rp_merge_verify(const struct rp_merge_input *inputs, size_t cnt, bool json, FILE *out)
{
        struct merged merged = { 0 };
        struct rp_error err;
        rp_err_t rc = RP_OK;
        int code;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                rc = read_head(&merged, inputs, i, &err);
                for (int s = 0; rc == RP_OK && s < 2; s++)
                        rc = read_side(&merged, inputs, i, s, &err);
        }
        if (rc == RP_OK)
                rc = check_complete(&merged, &err);
        if (rc == RP_OK) {
                bool content_equal = merged.sums[0].records == merged.sums[1].records &&
                                     rp_digest_equals(merged.sums[0].content, merged.sums[1].content);
                uint64_t split;
                rp_tally_verdict_t verdict = rp_tally_judge(&merged.sums[0], &merged.sums[1], &split);

                (json ? print_json : print_text)(&merged, verdict, content_equal, split, cnt, out);
                code = verdict == RP_TALLY_EQUAL ? RP_EXIT_CLEAN :
                       verdict == RP_TALLY_DIFFERENT ? RP_EXIT_DIFFERENCES : RP_EXIT_INCOMPLETE;
        } else {
                code = rp_die("merge", &err);
        }
        for (int s = 0; s < 2; s++) {
                free(merged.tallies[s]);
                free(merged.from[s]);
        }
        return code;
}
