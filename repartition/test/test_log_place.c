#include "decide/log_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static struct rp_error error;

static void test_reads_what_people_say(void **state)
{
        struct rp_log_place place;

        (void)state;
        assert_int_equal(rp_log_place_parse(&place, "from", NULL, &error), RP_OK);
        assert_int_equal(place.kind, RP_LOG_NONE);
        assert_int_equal(rp_log_place_parse(&place, "from", "1200", &error), RP_OK);
        assert_int_equal(place.kind, RP_LOG_OFFSET);
        assert_int_equal(place.value, 1200);
        assert_int_equal(rp_log_place_parse(&place, "from", "1970-01-01T00:00:01.5Z", &error), RP_OK);
        assert_int_equal(place.kind, RP_LOG_MOMENT);
        assert_int_equal(place.value, 1500);
        assert_int_equal(rp_log_place_parse(&place, "from", "0:100,12:0,2:50", &error), RP_OK);
        assert_int_equal(place.kind, RP_LOG_LIST);
        assert_int_equal(rp_log_place_listed(&place, 0), 100);
        assert_int_equal(rp_log_place_listed(&place, 12), 0);
        assert_int_equal(rp_log_place_listed(&place, 2), 50);
        assert_int_equal(rp_log_place_listed(&place, 1), -1);
        rp_log_place_release(&place);
}

static void test_refuses_the_rest(void **state)
{
        static const char *const wrong[] = { "", "-1", "1.5", "0:", ":5", "0:1,", "0:1,0:2", "0:1;1:2", "yesterday", "0:-1",
                                             "99999999999999999999", "2147483648:1", "1:2:3" };
        struct rp_log_place place;

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                if (rp_log_place_parse(&place, "to", wrong[i], &error) != RP_ERR_USAGE)
                        fail_msg("\"%s\" was taken", wrong[i]);
                assert_non_null(strstr(error.text, "--to"));
                assert_null(place.pairs);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reads_what_people_say),
                cmocka_unit_test(test_refuses_the_rest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
