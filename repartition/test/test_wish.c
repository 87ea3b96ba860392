/* What a control socket is asked: all of a line is good, or nothing of it counts. */
#include "decide/wish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static rp_err_t parse(const char *text, rp_wish_t *wish, struct rp_limits *limits, struct rp_error *err)
{
        char line[600];

        snprintf(line, sizeof(line), "%s", text);
        return rp_wish_parse(line, wish, limits, err);
}

static void test_wishes(void **state)
{
        static const struct {
                const char *line;
                rp_wish_t wish;
                struct rp_limits limits;
        } cases[] = {
                { "status", RP_WISH_STATUS, { 1000, 0, 10000, true, 1000 } },
                { " pause ", RP_WISH_PAUSE, { 1000, 0, 10000, true, 1000 } },
                { "resume", RP_WISH_RESUME, { 1000, 0, 10000, true, 1000 } },
                { "stop", RP_WISH_STOP, { 1000, 0, 10000, true, 1000 } },
                { "set throttle-bytes=10M", RP_WISH_SET, { 10000000, 0, 10000, true, 1000 } },
                { "set throttle-bytes=none", RP_WISH_SET, { 0, 0, 10000, true, 1000 } },
                { "set  throttle-bytes=none  throttle-records=2K max-lag=0 transaction-ms=20 ", RP_WISH_SET,
                  { 0, 2000, 0, true, 20 } },
                { "set throttle-records=1Ti transaction-ms=10000", RP_WISH_SET,
                  { 1000, INT64_C(1) << 40, 10000, true, 10000 } },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct rp_limits limits = { 1000, 0, 10000, true, 1000 };
                struct rp_error err;
                rp_wish_t wish;

                if (parse(cases[i].line, &wish, &limits, &err) != RP_OK)
                        fail_msg("%s: %s", cases[i].line, err.text);
                assert_int_equal(wish, cases[i].wish);
                assert_int_equal(limits.bytes_per_second, cases[i].limits.bytes_per_second);
                assert_int_equal(limits.records_per_second, cases[i].limits.records_per_second);
                assert_int_equal(limits.lag_max, cases[i].limits.lag_max);
                assert_int_equal(limits.transaction_ms, cases[i].limits.transaction_ms);
        }
}

static void test_complaints(void **state)
{
        static const struct {
                const char *line, *text;
        } cases[] = {
                { "", "no command \"\"; there are status, pause" },
                { "Status", "no command \"Status\"" },
                { "statusx", "no command \"statusx\"" },
                { "pause now", "pause stands alone, got \"now\"" },
                { "set", "expected NAME=VALUE, got nothing" },
                { "set throttle-bytes", "expected NAME=VALUE, got \"throttle-bytes\"" },
                { "set throttle-bytes = 5", "throttle-bytes" },
                { "set throttle-bytes=", "throttle-bytes: expected none, or" },
                { "set throttle-bytes=0", "throttle-bytes: 0 is no rate" }, /* who wants it held must not set it free */
                { "set throttle-bytes=-1", "throttle-bytes: expected none, or" },
                { "set throttle-records=1025Gi", "up to 1Ti, got \"1025Gi\"" },
                { "set throttle-bytes=5 throttle=7", "no setting \"throttle\"" },
                { "set throttle-bytes=5 transaction-ms=19", "transaction-ms: expected a whole number from 20 to 10000" },
                { "set throttle-bytes=5 transaction-ms=500ms", "transaction-ms" },
                { "set throttle-bytes=5 transaction-ms=99999999999999999999", "transaction-ms" },
                { "set throttle-bytes=5 max-lag=-1", "max-lag: expected" },
        };
        struct rp_limits limits = { 1000, 0, 10000, true, 1000 };
        struct rp_error err;
        rp_wish_t wish;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                if (parse(cases[i].line, &wish, &limits, &err) != RP_ERR_USAGE)
                        fail_msg("\"%s\" was understood", cases[i].line);
                if (!strstr(err.text, cases[i].text))
                        fail_msg("\"%s\": \"%s\" does not say \"%s\"", cases[i].line, err.text, cases[i].text);
                assert_int_equal(limits.bytes_per_second, 1000); /* not even what stood before the mistake */
        }
        limits.has_groups = false;
        assert_int_equal(parse("set max-lag=5", &wish, &limits, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "watches no group"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_wishes),
                cmocka_unit_test(test_complaints),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
