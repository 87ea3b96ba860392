/* report/audit: the text answers in the order in which a worried person asks; the JSON holds what docs/explain.md says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/audit.h"
#include "report/audit_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 100 };

/* An audit under way, its report and what was printed last. */
struct fixture {
        kr_policy_t *java, *crc;
        struct rp_audit audit;
        struct rp_findings findings;
        struct rp_coverage coverage[COUNT_MAX];
        int64_t offsets[COUNT_MAX];
        struct rp_audit_report report;
        char *printed;
        int exit_code;
};

static void begin(struct fixture *fixture, int32_t partition_cnt)
{
        struct kr_error kerr;
        struct rp_error err;

        *fixture = (struct fixture){ .java = kr_policy_from_hash("murmur2", &kerr),
                                     .crc = kr_policy_from_hash("crc32", &kerr) };
        assert_int_equal(rp_audit_init(&fixture->audit, kr_policy_rule_at(fixture->java, 0), partition_cnt, 1000, &err),
                         RP_OK);
        fixture->report = (struct rp_audit_report){ .name = "orders",
                                                    .is_topic = true,
                                                    .as_of_ms = 1795988400000,
                                                    .client_args = "-b localhost:9092",
                                                    .audit = &fixture->audit,
                                                    .findings = &fixture->findings,
                                                    .coverage = fixture->coverage };
}

static void put(struct fixture *fixture, const char *key, int32_t partition)
{
        struct rp_error err;
        struct rp_record rec = { .partition = partition,
                                 .offset = 100 + fixture->offsets[partition]++,
                                 .timestamp_ms = 1795988000000 + (int64_t)fixture->audit.records,
                                 .key = key,
                                 .key_len = strlen(key),
                                 .value = "0123456789",
                                 .value_len = 10 };

        assert_int_equal(rp_audit_add(&fixture->audit, &rec, &err), RP_OK);
}

static void produce(struct fixture *fixture, const kr_policy_t *policy, int from, int to)
{
        for (int i = from; i < to; i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "secret-%d", i);

                put(fixture, key,
                    kr_rule_partition(kr_policy_rule_at(policy, 0), key, (size_t)len, fixture->audit.partition_cnt));
        }
}

/* Concludes and prints; `lost` offsets of partition 0 count as taken by retention. */
static void print(struct fixture *fixture, bool json, int64_t lost)
{
        struct rp_error err;
        size_t len;
        FILE *out;

        for (int32_t p = 0; p < fixture->audit.partition_cnt; p++) {
                fixture->coverage[p].first = 100;
                fixture->coverage[p].end = fixture->coverage[p].next = 100 + fixture->offsets[p];
        }
        fixture->coverage[0].lost = lost;
        rp_findings_release(&fixture->findings);
        assert_int_equal(rp_audit_conclude(&fixture->audit, &fixture->findings, &err), RP_OK);
        free(fixture->printed);
        out = open_memstream(&fixture->printed, &len);
        fixture->exit_code = rp_audit_report_print(&fixture->report, json, out);
        fclose(out);
}

static void end(struct fixture *fixture)
{
        free(fixture->printed);
        rp_findings_release(&fixture->findings);
        rp_audit_release(&fixture->audit);
        kr_policy_free(fixture->java);
        kr_policy_free(fixture->crc);
}

/* Asserts that all of them are there, in this order. NULL-terminated. */
static void assert_in_order(const char *text, const char *const *wanted)
{
        const char *at = text;

        for (; *wanted; wanted++) {
                const char *found = strstr(at, *wanted);

                if (!found)
                        fail_msg("expected \"%s\" in its place in:\n%s", *wanted, text);
                at = found + strlen(*wanted);
        }
}

static void test_text_answers_in_order(void **state)
{
        static const char *const wanted[] = {
                "orders   12 partitions   1,000 records   1,000 keys   up to 2026-11-29T21:40:00Z\n",
                "judged by murmur2, Java's rule (no policy file given)\n",
                "misplaced   ", "no key lives in more than one partition\n",
                "first one   partition ", ", offset ", "2026-11-29T21:33:2",
                "written by", "murmur2", "crc32", "librdkafka's default", "others agree with: ",
                "from 1,000 distinct keys\n",
                "partitions   ", "fullest ", "chance alone would give ",
                "partition  records",
                "what to do\n", "stop it     crc32: partitioner=murmur2_random",
                "mend it     repartition rewrite orders orders.v2 --partitions 12 -b localhost:9092  ",
                "then        consumers of orders must reprocess from partition 0 offset ", NULL
        };
        struct fixture fixture;

        (void)state;
        begin(&fixture, 12);
        produce(&fixture, fixture.java, 0, 600);
        produce(&fixture, fixture.crc, 600, 1000);
        print(&fixture, false, 0);
        assert_int_equal(fixture.exit_code, RP_EXIT_DIFFERENCES);
        assert_in_order(fixture.printed, wanted);
        assert_null(strstr(fixture.printed, "secret-"));
        assert_null(strstr(fixture.printed, "INCOMPLETE"));
        for (const char *line = fixture.printed; *line; line = strchr(line, '\n') + 1) /* no line ends in blanks */
                assert_true(*line == '\n' || strchr(line, '\n')[-1] != ' ');
        end(&fixture);
}

static void test_what_was_not_read_is_never_clean(void **state)
{
        static const char *const wanted[] = { "INCOMPLETE  partition 0: 7 offsets were deleted by retention", "misplaced",
                                              NULL };
        struct fixture fixture;
        json_t *json;

        (void)state;
        begin(&fixture, 12);
        produce(&fixture, fixture.java, 0, 600);
        print(&fixture, false, 7);
        assert_int_equal(fixture.exit_code, RP_EXIT_INCOMPLETE);
        assert_in_order(fixture.printed, wanted);
        print(&fixture, true, 7);
        assert_int_equal(fixture.exit_code, RP_EXIT_INCOMPLETE);
        json = json_loads(fixture.printed, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(json, "status")), "incomplete");
        assert_false(json_boolean_value(json_object_get(json, "complete")));
        json_decref(json);
        print(&fixture, false, 0);
        assert_int_equal(fixture.exit_code, RP_EXIT_CLEAN);
        end(&fixture);
}

static void test_reading_that_broke_off_is_told(void **state)
{
        struct fixture fixture;
        struct rp_error err;
        char *text;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        (void)state;
        begin(&fixture, 2);
        produce(&fixture, fixture.java, 0, 100);
        fixture.coverage[1] = (struct rp_coverage){ .first = 100, .end = 300, .next = 150 };
        assert_int_equal(rp_audit_conclude(&fixture.audit, &fixture.findings, &err), RP_OK);
        assert_int_equal(rp_audit_report_print(&fixture.report, false, out), RP_EXIT_INCOMPLETE);
        fclose(out);
        assert_non_null(strstr(text, "INCOMPLETE  partition 1: read from offset 100 to 149, not to 299\n"));
        free(text);
        end(&fixture);
}

static void test_many_partitions_show_the_worst(void **state)
{
        struct fixture fixture;
        size_t rows = 0;

        (void)state;
        begin(&fixture, COUNT_MAX);
        produce(&fixture, fixture.java, 0, 600);
        produce(&fixture, fixture.crc, 600, 1400);
        print(&fixture, false, 0);
        assert_non_null(strstr(fixture.printed, "32 of 100 partitions shown, those with the most misplaced records"));
        for (const char *at = fixture.printed; (at = strstr(at, "2026-11-29T21:33:2")); at++)
                rows++;
        assert_true(rows >= 64); /* first and last of each row */
        assert_non_null(strstr(fixture.printed, "… (--output json has all)\n"));
        end(&fixture);
}

static void test_json_has_the_fields_of_the_contract(void **state)
{
        static const char *const fields[] = { "topic",         "status",       "complete",        "as_of",
                                              "partitions",    "policy",       "records",         "keyed",
                                              "empty_keys",    "null_keys",    "rejected_keys",   "unresolved_keys", "bytes",
                                              "distinct_keys", "split_keys",   "misplaced",       "misplaced_share",
                                              "functions",     "verdict",      "unexplained",     "sample",
                                              "skew",          "per_partition", "first_misplaced", "mend",
                                              "distinct_keys_error", "misplaced_empty_keys", "schema_ids" };
        static const char *const function_fields[] = { "hash", "key_form", "partitions", "agree", "share" };
        static const char *const verdict_fields[] = { "hash",        "partitions",      "share",      "same_as",
                                                      "clients",     "fix",             "confidence", "sure",
                                                      "same_always", "misplaced_share", "records_share", "first_time",
                                                      "last_time", "key_form" };
        struct fixture fixture;
        json_t *json, *first;

        (void)state;
        begin(&fixture, 12);
        produce(&fixture, fixture.java, 0, 600);
        produce(&fixture, fixture.crc, 600, 1000);
        print(&fixture, true, 0);
        assert_int_equal(fixture.exit_code, RP_EXIT_DIFFERENCES);
        assert_ptr_equal(strchr(fixture.printed, '\n'), fixture.printed + strlen(fixture.printed) - 1); /* one line */
        assert_null(strstr(fixture.printed, "secret-"));
        json = json_loads(fixture.printed, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
                if (!json_object_get(json, fields[i]))
                        fail_msg("no field %s", fields[i]);
        assert_int_equal(json_object_size(json), sizeof(fields) / sizeof(fields[0]));
        assert_string_equal(json_string_value(json_object_get(json, "as_of")), "2026-11-29T21:40:00.000Z");
        first = json_array_get(json_object_get(json, "functions"), 0);
        for (size_t i = 0; i < sizeof(function_fields) / sizeof(function_fields[0]); i++)
                assert_non_null(json_object_get(first, function_fields[i]));
        first = json_array_get(json_object_get(json, "verdict"), 0);
        for (size_t i = 0; i < sizeof(verdict_fields) / sizeof(verdict_fields[0]); i++)
                assert_non_null(json_object_get(first, verdict_fields[i]));
        assert_int_equal(json_object_size(first), sizeof(verdict_fields) / sizeof(verdict_fields[0]));
        assert_string_equal(json_string_value(json_object_get(json, "mend")),
                            "repartition rewrite orders orders.v2 --partitions 12 -b localhost:9092");
        json_decref(json);
        end(&fixture);
}

static void test_keys_only_when_asked_for(void **state)
{
        struct fixture fixture;

        (void)state;
        begin(&fixture, 12);
        for (int i = 0; i < 50; i++)
                put(&fixture, "secret \x1b[2J key", 3);
        print(&fixture, false, 0);
        assert_null(strstr(fixture.printed, "key\n"));
        assert_non_null(strstr(fixture.printed, "(--show-keys names it)"));
        fixture.report.show_keys = true;
        print(&fixture, false, 0);
        assert_non_null(strstr(fixture.printed, "0x736563726574201b")); /* in hex: it would clear the screen */
        print(&fixture, true, 0);
        assert_non_null(strstr(fixture.printed, "\"key\":\"c2VjcmV0"));
        assert_null(strstr(fixture.printed, "key_text"));
        end(&fixture);
}

static void test_too_few_keys_and_one_partition(void **state)
{
        struct fixture fixture;

        (void)state;
        begin(&fixture, 12);
        put(&fixture, "order-42", 3);
        print(&fixture, false, 0);
        assert_non_null(strstr(fixture.printed, "written by  undetermined: 1 distinct key is too few, "));
        assert_int_equal(fixture.exit_code, RP_EXIT_DIFFERENCES);
        end(&fixture);
        begin(&fixture, 1);
        put(&fixture, "order-42", 0);
        print(&fixture, false, 0);
        assert_non_null(strstr(fixture.printed, "with one partition every client does the same"));
        assert_int_equal(fixture.exit_code, RP_EXIT_CLEAN);
        end(&fixture);
}

/* What a part writes is all that there is to know: taken up, it writes the same again. */
static void test_a_part_can_be_taken_up(void **state)
{
        struct fixture fixture;
        struct rp_coverage coverage[12] = { 0 };
        struct rp_audit_report again;
        struct rp_audit_part part;
        struct rp_audit audit;
        struct rp_error err;
        json_t *json, *copy;
        char *text, *copy_text;

        (void)state;
        begin(&fixture, 12);
        produce(&fixture, fixture.java, 0, 3000); /* more than are sampled, and than are counted one by one */
        produce(&fixture, fixture.crc, 2500, 3500);
        put(&fixture, "binary \xff\x01", 3);
        fixture.report.part_sample_keys = 1000;
        fixture.coverage[4].skipped = true;
        print(&fixture, true, 2);
        json = json_loads(fixture.printed, 0, NULL);
        assert_non_null(json);
        assert_int_equal(rp_audit_part_read(&part, json, "x.json", &err), RP_OK);
        assert_string_equal(part.topic, "orders");
        assert_string_equal(part.client_args, "-b localhost:9092");
        assert_null(part.policy_file);
        assert_int_equal(part.sample_keys, 1000);
        assert_int_equal(rp_audit_init(&audit, fixture.audit.rule, part.partition_cnt, part.sample_keys, &err), RP_OK);
        if (rp_audit_part_load(json, "x.json", &audit, coverage, &err) != RP_OK)
                fail_msg("%s", err.text);
        assert_true(coverage[4].skipped);
        assert_int_equal(coverage[0].lost, 2);
        again = fixture.report;
        again.audit = &audit;
        again.coverage = coverage;
        copy = rp_audit_part_json(&again, part.sample_keys);
        text = json_dumps(json_object_get(json, "part"), JSON_COMPACT);
        copy_text = json_dumps(copy, JSON_COMPACT);
        assert_string_equal(text, copy_text);
        free(text);
        free(copy_text);
        json_decref(copy);
        json_decref(json);
        rp_audit_release(&audit);
        end(&fixture);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text_answers_in_order),
                cmocka_unit_test(test_what_was_not_read_is_never_clean),
                cmocka_unit_test(test_reading_that_broke_off_is_told),
                cmocka_unit_test(test_many_partitions_show_the_worst),
                cmocka_unit_test(test_json_has_the_fields_of_the_contract),
                cmocka_unit_test(test_keys_only_when_asked_for),
                cmocka_unit_test(test_too_few_keys_and_one_partition),
                cmocka_unit_test(test_a_part_can_be_taken_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
