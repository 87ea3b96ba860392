#include "moment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_moments(void **state)
{
        static const struct { const char *text; int64_t ms; } good[] = {
                { "0", 0 }, { "1700000000123", 1700000000123 }, { "9223372036854775799", INT64_C(9223372036854775799) },
                { "1970-01-01T00:00:00Z", 0 }, { "2026-11-29T21:40:00Z", 1795988400000 },
                { "2026-11-29t21:40:00z", 1795988400000 }, { "2026-11-29 21:40:00Z", 1795988400000 },
                { "2026-11-29T22:40:00+01:00", 1795988400000 }, { "2026-11-29T16:10:00-05:30", 1795988400000 },
                { "2026-11-29T21:40:00.5Z", 1795988400500 }, { "2026-11-29T21:40:00.123456789Z", 1795988400123 },
                { "2024-02-29T00:00:00Z", 1709164800000 }, { "1969-12-31T23:59:59Z", -1000 },
        };
        static const char *const bad[] = {
                "", "-5", "1.5", "now", "2026-11-29", "2026-11-29T21:40:00", "2026-11-29T21:40Z", "2025-02-29T00:00:00Z",
                "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-06-31T00:00:00Z", "2026-11-29T24:00:00Z",
                "2026-11-29T21:60:00Z", "2026-11-29T21:40:60Z", "2026-11-29T21:40:00.Z", "2026-11-29T21:40:00+1:00",
                "2026-11-29T21:40:00+25:00", "2026-11-29T21:40:00Zx", "2026/11/29T21:40:00Z", "20a6-11-29T21:40:00Z",
                "9223372036854775808", "99999999999999999999",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
                int64_t ms = -7;

                if (!rp_moment_parse(good[i].text, &ms))
                        fail_msg("%s", good[i].text);
                assert_int_equal(ms, good[i].ms);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                int64_t ms;

                if (rp_moment_parse(bad[i], &ms))
                        fail_msg("%s was taken for %lld", bad[i], (long long)ms);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_moments) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
