/* Classes of misplaced records that arrive, by what the right partition holds of late. */
#include "decide/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static rp_tail_t *tail;

static struct rp_record record(int32_t partition, int64_t offset, const char *key, const char *value, int64_t time_ms)
{
        return (struct rp_record){
                .partition = partition, .offset = offset, .timestamp_ms = time_ms,
                .key = key, .key_len = strlen(key), .value = value, .value_len = value ? strlen(value) : 0,
        };
}

static void hold(const char *key, const char *value, int64_t time_ms)
{
        struct rp_record rec = record(7, 0, key, value, time_ms);

        assert_true(rp_tail_add(tail, &rec, false));
}

static void hold_open(const char *key, const char *value, int64_t time_ms)
{
        struct rp_record rec = record(7, 0, key, value, time_ms);

        assert_true(rp_tail_add(tail, &rec, true));
}

static void hold_copy(const char *key, const char *value, int64_t time_ms, const char *origin)
{
        struct rp_header header = { RP_ORIGIN_HEADER, origin, strlen(origin) };
        struct rp_record rec = record(7, 0, key, value, time_ms);

        rec.headers = &header;
        rec.header_cnt = 1;
        assert_true(rp_tail_add(tail, &rec, false));
}

static void past(int32_t partition, int64_t offset, const char *key, const char *value, int64_t time_ms)
{
        struct rp_record rec = record(partition, offset, key, value, time_ms);

        assert_true(rp_tail_add_past(tail, &rec));
}

/* Of a record of key "k" and value "v", time 100, at partition 2, offset 50. */
static rp_class_t first_look(bool *needs_past)
{
        struct rp_record rec = record(2, 50, "k", "v", 100);

        return rp_tail_class(tail, &rec, needs_past);
}

static rp_class_t class_of(void)
{
        struct rp_record rec = record(2, 50, "k", "v", 100);

        return rp_tail_class(tail, &rec, NULL);
}

static void test_nothing_as_new_is_safe(void **state)
{
        bool needs_past = true;

        (void)state;
        assert_int_equal(first_look(&needs_past), RP_CLASS_SAFE);
        assert_false(needs_past);
        hold("k", "older", 99);
        hold("other", "newer", 200);
        assert_int_equal(first_look(&needs_past), RP_CLASS_SAFE);
        assert_false(needs_past);
}

static void test_as_new_or_newer_is_stale(void **state)
{
        bool needs_past;

        (void)state;
        hold("k", "same time", 100);
        assert_int_equal(first_look(&needs_past), RP_CLASS_STALE);
        assert_true(needs_past); /* it could be a copy of an earlier one */
        assert_int_equal(class_of(), RP_CLASS_STALE);
        past(2, 60, "k", "same time", 100);   /* a later one */
        past(3, 40, "k", "same time", 100);   /* of another partition */
        past(2, 40, "other", "same time", 100);
        assert_int_equal(class_of(), RP_CLASS_STALE);
}

static void test_copies_of_earlier_records_are_not_newer(void **state)
{
        (void)state;
        hold("k", "same time", 100);
        hold("k", "backwards", 300);
        past(2, 40, "k", "same time", 100);
        assert_int_equal(class_of(), RP_CLASS_STALE);
        past(2, 41, "k", "backwards", 300);
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        hold("k", "of others", 100);
        assert_int_equal(class_of(), RP_CLASS_STALE);
}

static void test_an_equal_record_is_the_copy(void **state)
{
        bool needs_past;

        (void)state;
        hold("k", "v", 100);
        assert_int_equal(first_look(&needs_past), RP_CLASS_COPIED);
        assert_true(needs_past);
        assert_int_equal(class_of(), RP_CLASS_COPIED);
        hold("k", "newer", 500); /* copied comes before stale */
        assert_int_equal(class_of(), RP_CLASS_COPIED);
}

static void test_of_twins_each_gets_a_copy(void **state)
{
        (void)state;
        hold("k", "v", 100);
        past(2, 40, "k", "v", 100); /* whose copy that is */
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        hold("k", "v", 100);
        assert_int_equal(class_of(), RP_CLASS_COPIED);
}

static void test_marks_tell_origins(void **state)
{
        bool needs_past;

        (void)state;
        hold_copy("k", "earlier", 100, "t/2/49");
        assert_int_equal(first_look(&needs_past), RP_CLASS_SAFE);
        assert_false(needs_past);
        hold_copy("k", "v", 100, "t/2/40"); /* of a twin */
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        hold_copy("k", "v", 100, "t/2/50");
        assert_int_equal(class_of(), RP_CLASS_COPIED);
        rp_tail_clear(tail);
        hold_copy("k", "later", 100, "t/2/51");
        assert_int_equal(class_of(), RP_CLASS_STALE);
        rp_tail_clear(tail);
        hold_copy("k", "of another partition", 100, "t/3/1");
        assert_int_equal(class_of(), RP_CLASS_STALE);
        rp_tail_clear(tail);
        hold_copy("k", "v", 100, "another/2/50"); /* a header like any other: not equal */
        assert_int_equal(class_of(), RP_CLASS_STALE);
        rp_tail_clear(tail);
        hold_copy("k", "v", 100, "t/2/50x");
        assert_int_equal(class_of(), RP_CLASS_STALE);
}

static void test_open_transactions_may_be_newer_but_prove_nothing(void **state)
{
        (void)state;
        hold_open("k", "v", 100);
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        hold_open("k", "newer", 101);
        assert_int_equal(class_of(), RP_CLASS_STALE);
        past(2, 30, "k", "newer", 101);
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        rp_tail_turn(tail);
        assert_int_equal(class_of(), RP_CLASS_SAFE);
        assert_int_equal(rp_tail_cnt(tail), 0);
}

static void test_without_times_nothing_is_known(void **state)
{
        struct rp_record rec = record(2, 50, "k", "v", -1);

        (void)state;
        assert_int_equal(rp_tail_class(tail, &rec, NULL), RP_CLASS_UNKNOWN);
        hold("k", "timeless", -1);
        assert_int_equal(class_of(), RP_CLASS_UNKNOWN);
}

static void test_null_and_empty_values_differ(void **state)
{
        struct rp_record tombstone = record(2, 50, "k", NULL, 100);

        (void)state;
        hold("k", "", 100);
        assert_int_equal(rp_tail_class(tail, &tombstone, NULL), RP_CLASS_STALE);
        hold("k", NULL, 100);
        assert_int_equal(rp_tail_class(tail, &tombstone, NULL), RP_CLASS_COPIED);
}

static void test_many(void **state)
{
        char key[16], value[16];

        (void)state;
        for (int i = 0; i < 20000; i++) {
                snprintf(key, sizeof(key), "k%d", i % 5000);
                snprintf(value, sizeof(value), "v%d", i);
                hold(key, value, i);
        }
        assert_int_equal(rp_tail_cnt(tail), 20000);
        for (int i = 0; i < 5000; i++) {
                struct rp_record rec = record(1, 0, key, "x", 15000 + i);

                snprintf(key, sizeof(key), "k%d", i);
                rec.key_len = strlen(key);
                assert_int_equal(rp_tail_class(tail, &rec, NULL), RP_CLASS_STALE);
                rec.timestamp_ms++;
                assert_int_equal(rp_tail_class(tail, &rec, NULL), RP_CLASS_SAFE);
        }
        rp_tail_clear(tail);
        assert_int_equal(rp_tail_cnt(tail), 0);
        assert_int_equal(class_of(), RP_CLASS_SAFE);
}

static int setup(void **state)
{
        (void)state;
        tail = rp_tail_new("t");
        return tail ? 0 : -1;
}

static int teardown(void **state)
{
        (void)state;
        rp_tail_free(tail);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nothing_as_new_is_safe, setup, teardown),
                cmocka_unit_test_setup_teardown(test_as_new_or_newer_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(test_copies_of_earlier_records_are_not_newer, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_equal_record_is_the_copy, setup, teardown),
                cmocka_unit_test_setup_teardown(test_of_twins_each_gets_a_copy, setup, teardown),
                cmocka_unit_test_setup_teardown(test_marks_tell_origins, setup, teardown),
                cmocka_unit_test_setup_teardown(test_open_transactions_may_be_newer_but_prove_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_without_times_nothing_is_known, setup, teardown),
                cmocka_unit_test_setup_teardown(test_null_and_empty_values_differ, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
