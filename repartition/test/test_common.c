#include "cli/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_policy_from_args(void **state)
{
        char path[] = "/tmp/test_common.XXXXXX";
        int fd = mkstemp(path);
        struct rp_error err;
        kr_policy_t *policy;

        (void)state;
        assert_true(fd >= 0);
        assert_true(write(fd, "{\"keyroute\":1,\"topics\":{\"t\":{\"hash\":\"crc32\"}}}", 46) == 46);
        close(fd);

        policy = rp_policy_from_args(&(struct rp_policy_args){ 0 }, &err); /* nothing asked for: Java's rule */
        assert_string_equal(kr_hash_name(kr_rule_hash(kr_policy_rule(policy, "any"))), "murmur2");
        kr_policy_free(policy);
        policy = rp_policy_from_args(&(struct rp_policy_args){ .hash = "fnv1a-abs" }, &err);
        assert_string_equal(kr_hash_name(kr_rule_hash(kr_policy_rule(policy, "any"))), "fnv1a-abs");
        kr_policy_free(policy);
        policy = rp_policy_from_args(&(struct rp_policy_args){ .policy_file = path }, &err);
        assert_string_equal(kr_hash_name(kr_rule_hash(kr_policy_rule(policy, "t"))), "crc32");
        assert_null(kr_policy_rule(policy, "any"));
        kr_policy_free(policy);

        assert_null(rp_policy_from_args(&(struct rp_policy_args){ .policy_file = path, .hash = "crc32" }, &err));
        assert_int_equal(err.code, RP_ERR_USAGE);
        assert_string_equal(err.text, "--policy and --hash exclude each other: the policy file names the hash");
        assert_null(rp_policy_from_args(&(struct rp_policy_args){ .hash = "murmur" }, &err));
        assert_int_equal(err.code, RP_ERR_USAGE);
        assert_string_equal(err.text, "--hash: no hash \"murmur\"; did you mean \"murmur2\"?");
        unlink(path);
        assert_null(rp_policy_from_args(&(struct rp_policy_args){ .policy_file = path }, &err));
        assert_int_equal(err.code, RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "cannot read the policy file: No such file or directory"));
}

static void test_wants(void **state)
{
        struct rp_common common = { .output = "json", .progress = "always" };

        (void)state;
        assert_true(rp_is_json(&common));
        assert_true(rp_wants_progress(&common));
        common.progress = "never";
        common.output = "text";
        assert_false(rp_is_json(&common));
        assert_false(rp_wants_progress(&common));
        common.progress = "auto";
        common.quiet = true;
        assert_false(rp_wants_progress(&common));
}

static void test_client_args_are_told_without_secrets(void **state)
{
        const char *properties[] = { "client.rack=a b", "sasl.password=top", "ssl.key.pem=top", "ssl.keystore.password=top",
                                     "sasl.oauthbearer.client.secret=top" };
        struct rp_client_args args = { 0 };
        char *text = rp_client_args_text(&args);

        (void)state;
        assert_string_equal(text, "");
        free(text);
        args = (struct rp_client_args){ .bootstrap = "host:1", .config_file = "my file", .properties = { properties, 5 } };
        text = rp_client_args_text(&args);
        assert_string_equal(text, "-b host:1 -F 'my file' -X 'client.rack=a b' -X sasl.password=... -X ssl.key.pem=... "
                                  "-X ssl.keystore.password=... -X sasl.oauthbearer.client.secret=...");
        free(text);
}

static void test_exit_codes(void **state)
{
        static const struct {
                rp_err_t code;
                int want;
        } cases[] = {
                { RP_OK, 0 }, { RP_ERR_USAGE, 2 }, { RP_ERR_BAD_RECORD, 3 }, { RP_ERR_RETRY, 3 },
                { RP_ERR_ABORT_BATCH, 3 }, { RP_ERR_INCOMPLETE, 3 }, { RP_ERR_FENCED, 4 }, { RP_ERR_FATAL, 3 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_int_equal(rp_exit_code(cases[i].code), cases[i].want);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_policy_from_args),
                cmocka_unit_test(test_wants),
                cmocka_unit_test(test_client_args_are_told_without_secrets),
                cmocka_unit_test(test_exit_codes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
