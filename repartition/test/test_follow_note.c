/* What follow stores beside its offsets, and where a new partition or instance begins. */
#include "decide/follow_note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rp_follow_note note = { .from = RP_FROM_TIME, .time_ms = 1234, .born_ms = 5678, .partition_cnt = 12 };

static void test_notes_come_back(void **state)
{
        struct rp_follow_note back;

        (void)state;
        rp_follow_identity(note.job, "orders", "orders.v2", 30, "abc");
        assert_string_equal(note.job, "follow orders to orders.v2, 30 partitions, policy abc");
        snprintf(note.by, sizeof(note.by), "host h, process 7");
        for (note.from = RP_FROM_EARLIEST; note.from <= RP_FROM_REWRITE; note.from++) {
                char *text = rp_follow_note_print(&note);

                assert_non_null(text);
                assert_true(strlen(text) < 4096); /* the brokers' limit */
                assert_true(rp_follow_note_parse(&back, text));
                assert_string_equal(back.job, note.job);
                assert_string_equal(back.by, note.by);
                assert_int_equal(back.from, note.from);
                assert_int_equal(back.time_ms, 1234);
                assert_int_equal(back.born_ms, 5678);
                assert_int_equal(back.partition_cnt, 12);
                free(text);
        }
        rp_follow_identity(note.job, "orders", NULL, 12, "abc");
        assert_string_equal(note.job, "follow orders in place, 12 partitions, policy abc");
}

static void test_foreign_texts_are_no_notes(void **state)
{
        static const char *const foreign[] = {
                NULL, "", "{}", "[]", "leader epoch 3", "{\"keyroute\":1,\"job\":\"rewrite a to b\",\"by\":\"h\"}",
                "{\"keyroute_follow\":2,\"job\":\"j\",\"by\":\"b\",\"from\":\"latest\",\"time_ms\":0,\"born_ms\":0,\"partitions\":1}",
                "{\"keyroute_follow\":1,\"job\":\"j\",\"by\":\"b\",\"from\":\"never\",\"time_ms\":0,\"born_ms\":0,\"partitions\":1}",
                "{\"keyroute_follow\":1,\"job\":\"j\",\"by\":\"b\",\"from\":\"latest\",\"time_ms\":0,\"born_ms\":0}",
        };
        struct rp_follow_note back;

        (void)state;
        for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
                assert_false(rp_follow_note_parse(&back, foreign[i]));
}

static void test_where_it_begins(void **state)
{
        static const struct { rp_from_t from; int32_t partition; bool is_birth; int64_t want; } cases[] = {
                { RP_FROM_EARLIEST, 3, true, RP_TIME_EARLIEST }, { RP_FROM_EARLIEST, 3, false, RP_TIME_EARLIEST },
                { RP_FROM_LATEST, 3, true, RP_TIME_LATEST },
                { RP_FROM_LATEST, 3, false, 5678 },  /* not what is the latest now: that would skip what came since */
                { RP_FROM_TIME, 11, true, 1234 }, { RP_FROM_TIME, 11, false, 1234 },
                { RP_FROM_REWRITE, 3, true, RP_TIME_EARLIEST },
                /* Partitions that came later hold nothing that was there before. */
                { RP_FROM_LATEST, 12, true, RP_TIME_EARLIEST }, { RP_FROM_LATEST, 12, false, RP_TIME_EARLIEST },
                { RP_FROM_TIME, 40, false, RP_TIME_EARLIEST },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                note.from = cases[i].from;
                assert_int_equal(rp_follow_begin(&note, cases[i].partition, cases[i].is_birth), cases[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_notes_come_back),
                cmocka_unit_test(test_foreign_texts_are_no_notes),
                cmocka_unit_test(test_where_it_begins),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
