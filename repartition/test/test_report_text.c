/* report/text and report/progress: every number has one spelling, and rounding never hides or invents anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/progress.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

/* What was printed to an open_memstream; freed by the next call. */
static char *captured;
static size_t captured_len;
static FILE *capture(void)
{
        FILE *out;

        free(captured);
        captured = NULL;
        out = open_memstream(&captured, &captured_len);
        assert_non_null(out);
        return out;
}

static void test_counts(void **state)
{
        (void)state;
        assert_string_equal(rp_text_count(0).s, "0");
        assert_string_equal(rp_text_count(999).s, "999");
        assert_string_equal(rp_text_count(1000).s, "1,000");
        assert_string_equal(rp_text_count(48211).s, "48,211");
        assert_string_equal(rp_text_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}

static void test_percent_keeps_nothing_and_all_apart(void **state)
{
        (void)state;
        assert_string_equal(rp_text_percent(0, 0).s, "0.0 %");
        assert_string_equal(rp_text_percent(0, 7).s, "0.0 %");
        assert_string_equal(rp_text_percent(1, 1000000).s, "<0.1 %");
        assert_string_equal(rp_text_percent(22104, 47880).s, "46.2 %");
        assert_string_equal(rp_text_percent(999999, 1000000).s, ">99.9 %");
        assert_string_equal(rp_text_percent(7, 7).s, "100.0 %");
        assert_string_equal(rp_text_percent(UINT64_MAX - 1, UINT64_MAX).s, ">99.9 %");
}

static void test_bytes_and_durations(void **state)
{
        (void)state;
        assert_string_equal(rp_text_bytes(0).s, "0 B");
        assert_string_equal(rp_text_bytes(999).s, "999 B");
        assert_string_equal(rp_text_bytes(1000).s, "1.0 kB");
        assert_string_equal(rp_text_bytes(999960).s, "1.0 MB");
        assert_string_equal(rp_text_bytes(1234567).s, "1.2 MB");
        assert_string_equal(rp_text_bytes(UINT64_MAX).s, "18.4 EB");
        assert_string_equal(rp_text_duration(850).s, "850 ms");
        assert_string_equal(rp_text_duration(12345).s, "12.3 s");
        assert_string_equal(rp_text_duration(245000).s, "4 min 05 s");
        assert_string_equal(rp_text_duration(7630000).s, "2 h 07 min");
        assert_string_equal(rp_text_duration(273600000).s, "3 d 04 h");
}

static void test_times(void **state)
{
        (void)state;
        assert_string_equal(rp_text_time(-1).s, "no time");
        assert_string_equal(rp_text_time(0).s, "1970-01-01T00:00:00Z");
        assert_string_equal(rp_text_time(1795992000999).s, "2026-11-29T22:40:00Z");
        assert_string_equal(rp_text_time_ms(1795992000999).s, "2026-11-29T22:40:00.999Z");
        assert_non_null(strstr(rp_text_time(INT64_MAX).s, " ms")); /* no calendar reaches it */
}

static void test_bars(void **state)
{
        const uint64_t values[] = { 0, 7, 14, 1 }, none[] = { 0, 0 };
        FILE *out = capture();

        (void)state;
        rp_text_bars(out, values, 4, 80);
        fclose(out);
        assert_string_equal(captured, "▁▅█▂");
        out = capture();
        rp_text_bars(out, values, 4, 2); /* folded: the largest of each half */
        fclose(out);
        assert_string_equal(captured, "▅█");
        out = capture();
        rp_text_bars(out, none, 2, 2);
        fclose(out);
        assert_string_equal(captured, "▁▁");
        assert_int_equal(rp_text_width("▁▁é"), 3);
}

static void test_shell_words(void **state)
{
        static const struct {
                const char *word, *want;
        } cases[] = {
                { "orders.v2", "orders.v2" },
                { "localhost:9092,b:1", "localhost:9092,b:1" },
                { "", "''" },
                { "a b", "'a b'" },
                { "it's", "'it'\\''s'" },
                { "$(rm)", "'$(rm)'" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                FILE *out = capture();

                rp_text_shell_word(out, cases[i].word);
                fclose(out);
                assert_string_equal(captured, cases[i].want);
        }
}

static void test_keys(void **state)
{
        static const struct {
                const char *key;
                size_t len, max;
                const char *want;
        } cases[] = {
                { "order-42", 8, 64, "order-42" },
                { "order-42", 8, 5, "order…" },
                { "\xc3\xa9\xc3\xa9", 4, 3, "é…" },
                { "a\0b", 3, 64, "0x610062" },
                { "\x1b[2J", 4, 64, "0x1b5b324a" }, /* nothing that moves the cursor reaches a terminal */
                { "", 0, 64, "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                FILE *out = capture();

                rp_text_key(out, cases[i].key, cases[i].len, cases[i].max);
                fclose(out);
                assert_string_equal(captured, cases[i].want);
        }
}

static void test_table(void **state)
{
        struct rp_table *table = rp_table_new("lrl");
        FILE *out = capture();

        (void)state;
        rp_table_cell(table, "written by");
        rp_table_cell(table, "share");
        rp_table_cell(table, "used by");
        rp_table_cell(table, "crc32");
        rp_table_cell(table, "%d %%", 5);
        rp_table_cell(table, "Zoë");
        rp_table_cell(table, "é");
        rp_table_cell(table, "%s", "");
        rp_table_cell(table, "%s", "");
        rp_table_print(table, out, 2, 3);
        fclose(out);
        rp_table_free(table);
        assert_string_equal(captured, "  written by   share   used by\n"
                                      "  crc32          5 %   Zoë\n"
                                      "  é\n");
}

static void test_empty_right_cell_keeps_the_columns(void **state)
{
        struct rp_table *table = rp_table_new("lrr");
        FILE *out = capture();

        (void)state;
        for (int i = 0; i < 2; i++) {
                rp_table_cell(table, "x");
                rp_table_cell(table, "%s", i ? "" : "1234");
                rp_table_cell(table, "5");
        }
        rp_table_print(table, out, 0, 2);
        fclose(out);
        rp_table_free(table);
        assert_string_equal(captured, "x  1234  5\nx        5\n");
}

static void test_progress(void **state)
{
        struct rp_progress_line line;
        FILE *out = tmpfile();
        char text[400] = "";

        (void)state;
        assert_non_null(out);
        rp_progress_line_start(&line, out, true, "audit orders", 1000);
        rp_progress_line_update(&line, 50, 100, 40, 2000); /* too early for a log */
        rp_progress_line_update(&line, 1, 1000, 1000, 12000);
        rp_progress_line_update(&line, 250, 1000, 2000, 22000);
        rp_progress_line_end(&line);
        rp_progress_line_update(&line, 1000, 1000, 2000, 99000);
        rewind(out);
        assert_true(fread(text, 1, sizeof(text) - 1, out) > 0);
        fclose(out);
        assert_string_equal(text, "audit orders  0.1 %  1,000 records  90/s\n"
                                  "audit orders  25.0 %  2,000 records  95/s  1 min 03 s left\n");
}

static void test_progress_not_wanted(void **state)
{
        struct rp_progress_line line;
        FILE *out = tmpfile();

        (void)state;
        rp_progress_line_start(&line, out, false, "audit orders", 0);
        rp_progress_line_update(&line, 1, 2, 3, 100000);
        rp_progress_line_end(&line);
        assert_int_equal(ftell(out), 0);
        fclose(out);
}

static int release(void **state)
{
        (void)state;
        free(captured);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts),
                cmocka_unit_test(test_percent_keeps_nothing_and_all_apart),
                cmocka_unit_test(test_bytes_and_durations),
                cmocka_unit_test(test_times),
                cmocka_unit_test(test_bars),
                cmocka_unit_test(test_shell_words),
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_empty_right_cell_keeps_the_columns),
                cmocka_unit_test(test_progress),
                cmocka_unit_test(test_progress_not_wanted),
        };

        return cmocka_run_group_tests(tests, NULL, release);
}
