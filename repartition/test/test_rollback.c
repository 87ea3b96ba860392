/* The way back from a cutover as a file, and from where a repaired topic must be read again. */
#include "decide/reprocess.h"
#include "decide/rollback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_a_rollback_comes_back_as_it_was(void **unused)
{
        int64_t source[3] = { 5, -1, 0 }, target[2] = { -1, 7 };
        struct rp_rollback rollback, read;
        struct rp_error err;
        char *text;

        (void)unused;
        assert_true(rp_rollback_init(&rollback, "a", NULL, "b", "2026-11-30T00:00:00Z"));
        assert_true(rp_rollback_add(&rollback, "g", source, 3, target, 2));
        source[0] = 99; /* what was recorded first is kept */
        assert_true(rp_rollback_add(&rollback, "g", source, 3, target, 2));
        assert_true(rp_rollback_add(&rollback, "h", source, 3, target, 0));
        text = rp_rollback_print(&rollback);
        assert_int_equal(rp_rollback_parse(&read, text, "file", &err), RP_OK);
        assert_string_equal(read.source, "a");
        assert_string_equal(read.target, "b");
        assert_string_equal(read.written, "2026-11-30T00:00:00Z");
        assert_int_equal(read.group_cnt, 2);
        assert_int_equal(read.groups[0].source.items[0], 5);
        assert_int_equal(read.groups[0].source.items[1], -1);
        assert_int_equal(read.groups[0].target.items[1], 7);
        assert_int_equal(read.groups[1].source.items[0], 99);
        assert_int_equal(read.groups[1].target.cnt, 0);
        free(text);
        rp_rollback_release(&rollback);
        rp_rollback_release(&read);

        assert_true(rp_rollback_init(&rollback, "a", NULL, NULL, "now"));
        text = rp_rollback_print(&rollback);
        assert_int_equal(rp_rollback_parse(&read, text, "file", &err), RP_OK);
        assert_null(read.target);
        free(text);
        rp_rollback_release(&rollback);
        rp_rollback_release(&read);
}

static void test_several_sources_come_back_with_their_partitions(void **unused)
{
        int64_t source[3] = { 5, -1, 0 }, target[1] = { 7 };
        struct rp_topics topics;
        struct rp_rollback rollback, read;
        struct rp_error err;
        char *text, *count;

        (void)unused;
        assert_true(rp_topics_init(&topics, (const char *const[]){ "b", "a" }, (const int32_t[]){ 1, 2 }, 2));
        assert_true(rp_rollback_init(&rollback, "a+b", &topics, "c", "now"));
        assert_true(rp_rollback_add(&rollback, "g", source, 3, target, 1));
        text = rp_rollback_print(&rollback);
        assert_int_equal(rp_rollback_parse(&read, text, "file", &err), RP_OK);
        assert_string_equal(read.source, "a+b");
        assert_true(rp_topics_equal(rp_rollback_topics(&read), &topics));
        assert_int_equal(read.groups[0].source.cnt, 3);
        rp_rollback_release(&read);

        count = strstr(text, "\"partitions\": 2"); /* whose offsets are which is no longer known */
        assert_non_null(count);
        count[strlen("\"partitions\": ")] = '4';
        assert_int_equal(rp_rollback_parse(&read, text, "file", &err), RP_ERR_USAGE);
        free(text);
        rp_rollback_release(&read);
        rp_rollback_release(&rollback);
        rp_topics_release(&topics);
}

static void test_what_is_no_rollback_is_told(void **unused)
{
        static const char *const texts[] = {
                "", "{}", "[]", "{\"keyroute\": 2, \"what\": \"cutover rollback\", \"written\": \"x\", \"source\": \"a\", \"target\": null, \"groups\": []}",
                "{\"keyroute\": 1, \"what\": \"policy\", \"written\": \"x\", \"source\": \"a\", \"target\": null, \"groups\": []}",
                "{\"keyroute\": 1, \"what\": \"cutover rollback\", \"written\": \"x\", \"source\": \"a\", \"target\": 1, \"groups\": []}",
                "{\"keyroute\": 1, \"what\": \"cutover rollback\", \"written\": \"x\", \"source\": \"a\", \"target\": null, \"groups\": [{}]}",
                "{\"keyroute\": 1, \"what\": \"cutover rollback\", \"written\": \"x\", \"source\": \"a\", \"target\": null, \"groups\": "
                "[{\"group\": \"g\", \"source_offsets\": [-1], \"target_offsets\": []}]}",
        };

        (void)unused;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                struct rp_rollback rollback;
                struct rp_error err;

                assert_int_equal(rp_rollback_parse(&rollback, texts[i], "the file", &err), RP_ERR_USAGE);
                assert_non_null(strstr(err.text, "the file"));
                rp_rollback_release(&rollback);
        }
}

static void test_reading_again_begins_before_the_first_misplaced_record(void **unused)
{
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &kerr);
        struct rp_reprocess found;
        int32_t home = kr_rule_partition(kr_policy_rule_at(policy, 0), "key", 3, 4), away = (home + 1) % 4;
        struct rp_record rec = { .partition = home, .offset = 3, .timestamp_ms = 50, .key = "key", .key_len = 3 };

        (void)unused;
        assert_true(rp_reprocess_init(&found, kr_policy_rule_at(policy, 0), 4));
        rp_reprocess_add(&found, &rec); /* where it belongs */
        rec.key = NULL;
        rec.partition = away;
        rp_reprocess_add(&found, &rec); /* without a key: belongs nowhere */
        assert_int_equal(found.misplaced, 0);
        assert_int_equal(rp_reprocess_from(&found.partitions[away], 9, 0), -1);
        rec.key = "key";
        rec.offset = 20, rec.timestamp_ms = 70;
        rp_reprocess_add(&found, &rec);
        rec.offset = 10, rec.timestamp_ms = 60;
        rp_reprocess_add(&found, &rec);
        rec.offset = 30, rec.timestamp_ms = 65;
        rp_reprocess_add(&found, &rec);
        assert_int_equal(found.records, 5);
        assert_int_equal(found.misplaced, 3);
        assert_int_equal(found.partitions[away].first_misplaced, 10);
        assert_int_equal(found.partitions[home].missed_ms, 60);
        assert_int_equal(rp_reprocess_from(&found.partitions[away], -1, 0), 10);
        assert_int_equal(rp_reprocess_from(&found.partitions[home], 8, 0), 8);
        assert_int_equal(rp_reprocess_from(&found.partitions[home], -1, 0), -1); /* nothing there is that new */
        rec.timestamp_ms = -1;
        rp_reprocess_add(&found, &rec);
        assert_int_equal(rp_reprocess_from(&found.partitions[home], 8, 2), 2); /* no time: it may belong anywhere */
        rp_reprocess_release(&found);
        kr_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_rollback_comes_back_as_it_was),
                cmocka_unit_test(test_several_sources_come_back_with_their_partitions),
                cmocka_unit_test(test_what_is_no_rollback_is_told),
                cmocka_unit_test(test_reading_again_begins_before_the_first_misplaced_record),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
