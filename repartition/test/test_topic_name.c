#include "topic_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void test_names_of_topics(void **state)
{
        static const char *const legal[] = { "a", "orders.v2", "_x-9", "...", "Z" };
        static const char *const illegal[] = { "", ".", "..", "a b", "a/b", "\xc3\xa9", "a\n", "a:1" };
        char longest[251];

        (void)state;
        for (size_t i = 0; i < sizeof(legal) / sizeof(*legal); i++)
                assert_true(rp_topic_name_is_legal(legal[i]));
        for (size_t i = 0; i < sizeof(illegal) / sizeof(*illegal); i++)
                assert_false(rp_topic_name_is_legal(illegal[i]));
        memset(longest, 'x', 250);
        longest[250] = '\0';
        assert_false(rp_topic_name_is_legal(longest));
        longest[249] = '\0';
        assert_true(rp_topic_name_is_legal(longest));
}

static void test_the_first_that_is_none_is_named(void **state)
{
        const char *names[] = { "orders", "pay/ments", "" };
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_topic_names_check(names, 1, &err), RP_OK);
        assert_int_equal(rp_topic_names_check(names, 3, &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "\"pay/ments\" cannot be a topic's name: it holds \"/\"; Kafka's names are 1 to 249 of a-z "
                            "A-Z 0-9 . _ -");
}

static void test_none_is_no_topic_of_jobs(void **state)
{
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_topic_check_writable("jobs", "jobs", &err), RP_ERR_USAGE);
        assert_int_equal(rp_topic_check_writable("jobs2", "jobs", &err), RP_OK);
        assert_int_equal(rp_topic_check_writable("none", "none", &err), RP_OK);
        assert_int_equal(rp_topic_check_writable("__mine", NULL, &err), RP_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names_of_topics),
                cmocka_unit_test(test_the_first_that_is_none_is_named),
                cmocka_unit_test(test_none_is_no_topic_of_jobs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
