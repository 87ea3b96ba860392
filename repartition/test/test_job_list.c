/* What a topic of jobs tells of all jobs, and what people and programs get to see of it. */
#include "decide/job_list.h"

#include "decide/follow_note.h"
#include "report/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BEGAN_MS = 1700000000 };

static struct rp_job_list list;
static int64_t offset;

static int set_up(void **state)
{
        (void)state;
        list = (struct rp_job_list){ 0 };
        offset = 0;
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        rp_job_list_release(&list);
        return 0;
}

static void say_bytes(const void *key, size_t key_len, const char *value)
{
        const struct rp_job_said said = { .key = key, .key_len = key_len, .value = value, .value_len = value ? strlen(value) : 0,
                                          .offset = offset, .timestamp_ms = 1000 * (offset + 1) };

        assert_true(rp_job_list_add(&list, &said));
        offset++;
}

static void say(const char *key, const char *value)
{
        say_bytes(key, strlen(key), value);
}

static void describe(const char *key, const char *kind, const char *source, const char *target)
{
        struct rp_job_descriptor descriptor = { .identity = "what it is", .fingerprint = "abc", .rule = "murmur2 modulo",
                                                .by = "host h, process 7", .version = "0.1.0", .source_cnt = 1,
                                                .since_ms = BEGAN_MS };
        char *text;

        snprintf(descriptor.kind, sizeof(descriptor.kind), "%s", kind);
        snprintf(descriptor.sources[0].topic, sizeof(descriptor.sources[0].topic), "%s", source);
        snprintf(descriptor.target.topic, sizeof(descriptor.target.topic), "%s", target);
        descriptor.target.partition_cnt = 12;
        text = rp_job_descriptor_print(&descriptor);
        say(key, text);
        free(text);
}

/* ---- what is read -------------------------------------------------------------------------------------------------------- */

static void test_jobs_are_told_by_name(void **state)
{
        (void)state;
        describe("b", "follow", "orders", "orders");
        say("b|waypoint|0.17", "{}");
        describe("a", "rewrite", "orders", "orders.v2");
        say("a|checkpoint|0.0", "{\"keyroute\":1,\"seq\":0,\"full\":true,\"source\":[],\"target\":[]}");
        describe("a", "rewrite", "orders", "orders.v2"); /* a second run */
        say("a|progress|orders|3", "{\"keyroute\":1,\"next\":7}");
        rp_job_list_sort(&list);
        assert_int_equal(list.cnt, 2);
        assert_int_equal(list.damage_cnt, 0);
        assert_string_equal(list.entries[0].job, "a");
        assert_string_equal(rp_job_entry_kind(&list.entries[0]), "rewrite");
        assert_int_equal(list.entries[0].checkpoint_cnt, 1);
        assert_int_equal(list.entries[0].described_ms, 5000);
        assert_int_equal(list.entries[0].committed_ms, 6000);
        assert_int_equal(list.entries[0].fold.position_cnt, 1);
        assert_string_equal(list.entries[0].descriptor->rule, "murmur2 modulo");
        assert_string_equal(rp_job_entry_kind(&list.entries[1]), "follow-in-place");
        assert_int_equal(list.entries[1].waypoint_cnt, 1);
        assert_true(rp_job_entry_is_about(&list.entries[0], "orders"));
        assert_true(rp_job_entry_is_about(&list.entries[0], "orders.v2"));
        assert_false(rp_job_entry_is_about(&list.entries[1], "orders.v2"));
}

static void say_done(const char *key, uint64_t safe, uint64_t stale, int64_t since_ms, bool is_finished)
{
        const struct rp_job_done done = { .since_ms = since_ms, .records = { [RP_CLASS_SAFE] = safe, [RP_CLASS_STALE] = stale },
                                          .bytes = 100, .is_finished = is_finished };
        char *text = rp_job_done_print(&done);

        say(key, text);
        free(text);
}

static void test_jobs_in_place_tell_what_they_wrote(void **state)
{
        struct rp_job_lane lanes[2] = { { .first = -1, .pass_end = -1 }, { .first = 4, .pass_end = 6 } };

        (void)state;
        describe("mend", "repair", "orders", "orders");
        say_done("mend|done|copies", 5, 0, BEGAN_MS, false);
        say_done("mend|done|copies", 7, 2, BEGAN_MS, true); /* the last word counts */
        say("mend|judged|copies", "{\"keyroute\":1,\"ranges\":[1,9,2,8]}");
        describe("mend|tombstones", "tombstones", "orders", "orders");
        say_done("mend|done|tombstones", 3, 0, BEGAN_MS, false);
        describe("along", "follow", "orders", "orders");
        say_done("along|done|0", 4, 0, BEGAN_MS, false); /* by partition */
        say_done("along|done|3", 1, 6, BEGAN_MS, false);
        say_done("along|done|4", 9, 9, BEGAN_MS - 60001, false); /* of a topic that was made anew since */
        rp_job_list_sort(&list);
        assert_int_equal(list.cnt, 3);
        assert_int_equal(list.damage_cnt, 0);
        assert_string_equal(rp_job_entry_kind(&list.entries[0]), "follow-in-place");
        assert_int_equal(list.entries[0].done.records[RP_CLASS_SAFE], 5);
        assert_int_equal(list.entries[0].done.records[RP_CLASS_STALE], 6);
        assert_int_equal(list.entries[0].done.bytes, 200);
        assert_string_equal(rp_job_entry_kind(&list.entries[1]), "repair");
        assert_int_equal(rp_job_done_records(&list.entries[1].done), 9);
        assert_true(list.entries[1].done.is_finished);
        assert_string_equal(rp_job_entry_kind(&list.entries[2]), "tombstones");
        assert_string_equal(list.entries[2].job, "mend");
        assert_int_equal(rp_job_done_records(&list.entries[2].done), 3);
        assert_false(list.entries[2].done.is_finished);
        say("mend|done|nobody", "{\"keyroute\":1,\"since_ms\":1,\"finished\":true,\"bytes\":1,\"classes\":{}}");
        say("mend|done|9999999", "{\"keyroute\":1,\"since_ms\":1,\"finished\":true,\"bytes\":1,\"classes\":{}}");
        assert_int_equal(list.entries[1].fold.saying_cnt, 2); /* copies, and what they were judged by */
        rp_job_lanes_judged(lanes, 2, &list.entries[1]);
        assert_int_equal(lanes[0].first, 1);
        assert_int_equal(lanes[0].pass_end, 9);
        assert_int_equal(lanes[1].first, 4); /* the note says it better */
        assert_int_equal(lanes[1].pass_end, 6);
}

static void test_what_was_taken_back_is_gone(void **state)
{
        (void)state;
        describe("a", "rewrite", "orders", "orders.v2");
        say("a", NULL);
        say("b", NULL); /* of which nothing else is left */
        rp_job_list_sort(&list);
        assert_int_equal(list.cnt, 1); /* something was committed once; what, nobody knows */
        assert_null(rp_job_entry_kind(&list.entries[0]));
        assert_false(rp_job_entry_is_about(&list.entries[0], "orders"));
}

static void test_damage_is_counted_and_named(void **state)
{
        static const char *const whats[] = { "no key", "a key that is no name", "no description of a job", "no checkpoint",
                                             "no position", "no waypoint", "of a kind that is not known" };

        (void)state;
        say_bytes(NULL, 0, "{}");
        say_bytes("\xff", 1, "{}");
        say("x", "{\"keyroute\":1}");
        say("x|checkpoint|0.0", "[]");
        say("x|progress|orders|0", "\"\"");
        say("x|waypoint|0.0", "{");
        say("x|tomorrow|1", "{}");
        for (int i = 0; i < 20; i++)
                say("y", "no json");
        describe("z", "rewrite", "a", "b");
        rp_job_list_sort(&list);
        assert_int_equal(list.damage_cnt, 27);
        for (size_t i = 0; i < sizeof(whats) / sizeof(*whats); i++) {
                assert_string_equal(list.damages[i].what, whats[i]);
                assert_int_equal(list.damages[i].offset, i);
        }
        assert_int_equal(list.cnt, 1); /* of the others nothing is known */
        assert_string_equal(list.entries[0].job, "z");
}

static void test_partition_counts_that_no_topic_has_are_damage(void **state)
{
        static const char *const counts[] = { "-1", "2000000000", "9000000000000" };
        char text[600];

        (void)state;
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
                snprintf(text, sizeof(text), "{\"keyroute\":1,\"kind\":\"rewrite\",\"job\":\"\",\"policy\":\"\","
                         "\"by\":\"\",\"version\":\"\",\"since_ms\":1,\"source\":{\"topic\":\"a\",\"id\":\"\",\"cluster\":\"\","
                         "\"partitions\":%s},"
                         "\"target\":{\"topic\":\"b\",\"id\":\"\",\"cluster\":\"\",\"partitions\":1}}", counts[i]);
                say("x", text);
        }
        assert_int_equal(list.damage_cnt, 3);
}

/* ---- how far a job has come ------------------------------------------------------------------------------------------------ */

static struct rp_job_lane lane(int64_t first, int64_t next, int64_t pass_end, int64_t end)
{
        return (struct rp_job_lane){ .topic = "orders", .first = first, .next = next, .pass_end = pass_end, .end = end };
}

static void test_extent_sums_what_is_known(void **state)
{
        const struct rp_job_lane lanes[] = { lane(10, 30, 50, 70), lane(-1, 5, -1, -1), lane(0, -1, -1, 7) };
        struct rp_job_extent extent = rp_job_extent(lanes, 3), none = rp_job_extent(lanes, 0);

        (void)state;
        assert_int_equal(extent.done, 20);
        assert_int_equal(extent.in_pass, 20);
        assert_int_equal(extent.left, 47); /* a partition that nobody has come to is left whole */
        assert_int_equal(none.done, -1);
        assert_int_equal(none.in_pass, -1);
        assert_int_equal(none.left, -1);
}

static void test_extent_of_a_partition_that_is_shorter_than_it_was(void **state)
{
        const struct rp_job_lane lanes[] = { lane(0, 30, 20, 10) };
        struct rp_job_extent extent = rp_job_extent(lanes, 1);

        (void)state;
        assert_int_equal(extent.in_pass, 0);
        assert_int_equal(extent.left, 0);
}

static void test_extent_of_numbers_that_are_none(void **state)
{
        const struct rp_job_lane lanes[] = { lane(0, INT64_MAX, INT64_MAX, INT64_MAX), lane(0, INT64_MAX, INT64_MAX, 0),
                                             lane(INT64_MAX, 0, INT64_MAX, INT64_MAX), lane(INT64_MIN, 3, INT64_MIN, INT64_MIN) };
        struct rp_job_extent extent = rp_job_extent(lanes, 4);

        (void)state;
        assert_int_equal(extent.done, INT64_MAX);
        assert_int_equal(extent.in_pass, INT64_MAX);
        assert_int_equal(extent.left, INT64_MAX);
}

static void test_notes_of_any_kind_tell_the_beginning(void **state)
{
        const struct rp_follow_note note = { .job = "j", .by = "b", .first = 4, .epoch = 1 };
        struct rp_job_lane one = lane(-1, 9, -1, 9), other = one, foreign = one;
        char *follow = rp_follow_note_print(&note);

        (void)state;
        rp_job_lane_note(&one, "{\"keyroute\":1,\"job\":\"j\",\"by\":\"b\",\"of\":1,\"first\":3,\"passes\":[5,8],"
                               "\"forgotten\":0}");
        assert_int_equal(one.first, 3);
        assert_int_equal(one.pass_end, 8);
        rp_job_lane_note(&other, follow);
        assert_int_equal(other.first, 4);
        assert_int_equal(other.pass_end, -1);
        rp_job_lane_note(&foreign, NULL);
        assert_int_equal(foreign.first, -1);
        assert_int_equal(foreign.pass_end, -1);
        free(follow);
}

static void test_state_in_one_word(void **state)
{
        struct rp_job_look look = { .extent = { -1, -1, -1 }, .holders_are_known = true };

        (void)state;
        describe("a", "rewrite", "orders", "orders.v2");
        describe("b", "follow", "orders", "orders.v2");
        look.entry = &list.entries[0];
        assert_string_equal(rp_job_look_state(&look), "unknown"); /* its progress is gone */
        look.extent.in_pass = 0;
        assert_string_equal(rp_job_look_state(&look), "finished");
        look.extent.in_pass = 1;
        assert_string_equal(rp_job_look_state(&look), "unfinished");
        look.holders.cnt = 1;
        assert_string_equal(rp_job_look_state(&look), "running");
        look = (struct rp_job_look){ .entry = &list.entries[1], .extent = { 5, -1, 5 }, .holders_are_known = true };
        assert_string_equal(rp_job_look_state(&look), "stopped");
        look.holders_are_known = false;
        assert_string_equal(rp_job_look_state(&look), "unknown");
}

/* ---- what is printed ------------------------------------------------------------------------------------------------------- */

static char *printed(const struct rp_jobs_document *document, bool is_json)
{
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        rp_jobs_print(document, is_json, out);
        fclose(out);
        return text;
}

static void test_text_and_json(void **state)
{
        struct rp_job_look look = { .extent = { 1200, 30, 45 }, .holders_are_known = true };
        struct rp_jobs_document document = { .topic = "keyroute-jobs", .exists = true, .record_cnt = 1, .list = &list,
                                             .looks = &look, .look_cnt = 1 };
        char *text;

        (void)state;
        describe("a", "rewrite", "orders", "orders.v2");
        look.entry = &list.entries[0];
        text = printed(&document, false);
        assert_string_equal(text, "topic \"keyroute-jobs\": 1 job, 1 record\n\n"
                                  "a\n"
                                  "  rewrite orders to orders.v2, 12 partitions\n"
                                  "  policy      murmur2 modulo, fingerprint abc\n"
                                  "  began       1970-01-20T16:13:20Z\n"
                                  "  last run    1970-01-01T00:00:01Z, host h, process 7, version 0.1.0\n"
                                  "  last commit 1970-01-01T00:00:01Z\n"
                                  "  progress    1,200 offsets are done, 30 are left of the pass, 45 at most are left in all\n"
                                  "  state       unfinished\n");
        free(text);
        text = printed(&document, true);
        assert_string_equal(text, "{\"command\":\"jobs\",\"jobs_topic\":\"keyroute-jobs\",\"exists\":true,\"records\":1,"
                                  "\"unreadable\":{\"records\":0,\"first\":[]},\"jobs\":[{\"job\":\"a\",\"kind\":\"rewrite\","
                                  "\"state\":\"unfinished\",\"sources\":[\"orders\"],\"target\":\"orders.v2\","
                                  "\"policy\":{\"rule\":\"murmur2 modulo\",\"fingerprint\":\"abc\"},"
                                  "\"began_at\":\"1970-01-20T16:13:20.000Z\",\"last_run\":{\"at\":\"1970-01-01T00:00:01.000Z\","
                                  "\"by\":\"host h, process 7\",\"version\":\"0.1.0\"},"
                                  "\"last_commit_at\":\"1970-01-01T00:00:01.000Z\",\"running\":false,\"runner\":null,"
                                  "\"progress\":{\"offsets_done\":1200,\"offsets_left_in_pass\":30,\"offsets_left\":45},"
                                  "\"written\":null,"
                                  "\"checkpoints\":0,\"waypoints\":0,\"unknown\":[]}]}\n");
        free(text);
}

static void test_nothing_in_the_topic_drives_a_terminal(void **state)
{
        struct rp_job_lane one = { .topic = "\x1b[2J", .first = 0, .next = 1, .pass_end = 2, .end = 3 };
        struct rp_job_look look = { .extent = { -1, -1, -1 }, .lanes = &one, .lane_cnt = 1 };
        struct rp_jobs_document document = { .topic = "keyroute-jobs", .exists = true, .list = &list, .looks = &look,
                                             .look_cnt = 1, .is_whole = true };
        char *text;

        (void)state;
        say("\x1b[2Jbad", "{}");
        describe("\x1b[2J", "rew\x1b[2J", "or\x1b[2J", "\x1b[2J");
        look.entry = &list.entries[1];
        text = printed(&document, false);
        assert_null(strchr(text, '\x1b'));
        assert_non_null(strstr(text, "done up to 1"));
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_jobs_are_told_by_name, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_jobs_in_place_tell_what_they_wrote, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_was_taken_back_is_gone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_damage_is_counted_and_named, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_partition_counts_that_no_topic_has_are_damage, set_up, tear_down),
                cmocka_unit_test(test_extent_sums_what_is_known),
                cmocka_unit_test(test_extent_of_a_partition_that_is_shorter_than_it_was),
                cmocka_unit_test(test_extent_of_numbers_that_are_none),
                cmocka_unit_test(test_notes_of_any_kind_tell_the_beginning),
                cmocka_unit_test_setup_teardown(test_state_in_one_word, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_text_and_json, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_nothing_in_the_topic_drives_a_terminal, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
