/* Which topics rewrite --topics takes, and what it calls their copies. */
#include "decide/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void judge(const char *regex, const char *form, const char *name, rp_pattern_verdict_t want)
{
        struct rp_pattern pattern;
        struct rp_error err;

        assert_int_equal(rp_pattern_init(&pattern, regex, form, "keyroute-jobs", &err), RP_OK);
        assert_int_equal(rp_pattern_judge(&pattern, name), want);
        rp_pattern_release(&pattern);
}

static void test_the_whole_name_matches_or_none_of_it(void **state)
{
        (void)state;
        judge("orders", "{}.v2", "orders", RP_PATTERN_TAKEN);
        judge("orders", "{}.v2", "orders.eu", RP_PATTERN_OTHER);
        judge("orders", "{}.v2", "my-orders", RP_PATTERN_OTHER);
        judge("a|ab", "{}.v2", "ab", RP_PATTERN_TAKEN); /* the longest, not the first alternative */
        judge("orders\\.(eu|us)", "{}.v2", "orders.us", RP_PATTERN_TAKEN);
        judge("orders\\.(eu|us)", "{}.v2", "ordersxus", RP_PATTERN_OTHER);
        judge("^ord.*$", "{}.v2", "orders", RP_PATTERN_TAKEN);
}

static void test_what_is_never_copied(void **state)
{
        (void)state;
        judge(".*", "{}.v2", "__consumer_offsets", RP_PATTERN_INTERNAL);
        judge(".*", "{}.v2", "keyroute-jobs", RP_PATTERN_INTERNAL);
        judge(".*", "{}.v2", "orders.v2", RP_PATTERN_TARGET);
        judge(".*", "{}.v2", ".v2", RP_PATTERN_TAKEN); /* the copy of no name */
        judge(".*", "new-{}", "new-orders", RP_PATTERN_TARGET);
        judge(".*", "new-{}.x", "new-.x", RP_PATTERN_TAKEN);
        judge(".*", "new-{}.x", "new-a.x", RP_PATTERN_TARGET);
        judge(".*", "aa{}aa", "aaa", RP_PATTERN_TAKEN); /* head and tail do not share letters */
        judge(".*", "{}", "orders", RP_PATTERN_TAKEN);
}

static void test_names_of_copies(void **state)
{
        char name[RP_PATTERN_NAME_SIZE];
        struct rp_pattern pattern;
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_pattern_init(&pattern, ".*", "new-{}.v2", "none", &err), RP_OK);
        rp_pattern_target(&pattern, "orders", name);
        assert_string_equal(name, "new-orders.v2");
        rp_pattern_release(&pattern);
}

static void test_refusals(void **state)
{
        struct rp_pattern pattern;
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_pattern_init(&pattern, ".*", "all", "none", &err), RP_ERR_USAGE);
        assert_int_equal(rp_pattern_init(&pattern, ".*", "{}-{}", "none", &err), RP_ERR_USAGE);
        assert_int_equal(rp_pattern_init(&pattern, "(", "{}.v2", "none", &err), RP_ERR_USAGE);
        assert_int_equal(rp_pattern_init(&pattern, "[a", "{}.v2", "none", &err), RP_ERR_USAGE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_whole_name_matches_or_none_of_it),
                cmocka_unit_test(test_what_is_never_copied),
                cmocka_unit_test(test_names_of_copies),
                cmocka_unit_test(test_refusals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
