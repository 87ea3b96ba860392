#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static kr_policy_t *parse(const char *json, struct kr_error *err)
{
        return kr_policy_parse(json, strlen(json), "p.json", err);
}

static void test_default_is_java(void **state)
{
        struct kr_error err;
        kr_policy_t *policy = parse("{\"keyroute\":1,\"topics\":{\"orders\":{}}}", &err);

        (void)state;
        assert_non_null(policy);
        assert_int_equal(kr_rule_partition(kr_policy_rule(policy, "orders"), "TT0124", 6, 15), 10);
        assert_null(kr_policy_rule(policy, "other"));
        kr_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_default_is_java),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
