/* secret: what is never shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/command.h"
#include "io/client.h"
#include "secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_names_and_addresses(void **state)
{
        static const struct { const char *name, *value; bool is_secret; } cases[] = {
                { "sasl.password", "x", true },
                { "source.sasl.password", "x", true },
                { "ssl.key.password", "x", true },
                { "ssl.keystore.password", "x", true },
                { "ssl.key.pem", "x", true },
                { "sasl.oauthbearer.client.secret", "x", true },
                { "sasl.oauthbearer.config", "x", true },
                { "sasl.kerberos.kinit.cmd", "x", true },
                { "sasl.jaas.config", "x", true },
                { "schema.registry.basic.auth.user.info", "u:p", true },
                { "url", "https://user:word@registry.example/", true },
                { "url", "https://registry.example/@", false },
                { "ssl.key.location", "/etc/key", false },
                { "ssl.certificate.pem", "x", false },
                { "sasl.oauthbearer.method", "oidc", false },
                { "sasl.username", "alice", false },
                { "sasl.mechanisms", "PLAIN", false },
                { "bootstrap.servers", "a:1,b:2", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (rp_secret_is(cases[i].name, strlen(cases[i].name), cases[i].value) != cases[i].is_secret)
                        print_error("%s\n", cases[i].name);
                assert_int_equal(rp_secret_is(cases[i].name, strlen(cases[i].name), cases[i].value), cases[i].is_secret);
        }
        /* Only the name's own bytes are looked at. */
        assert_false(rp_secret_is("client.id=password", 9, NULL));
}

static void test_blotting(void **state)
{
        char text[] = "hunter22 is not hunter2 nor hunter2", untouched[] = "ab ab";

        (void)state;
        rp_secret_blot(text, "hunter2");
        assert_string_equal(text, "...2 is not ... nor ...");
        rp_secret_blot(untouched, "ab");
        assert_string_equal(untouched, "ab ab");
}

static void test_arguments_to_copy(void **state)
{
        const char *items[] = { "sasl.password=hunter2", "client.id=us", "ssl.key.location=/k", "sasl.oauthbearer.config=hunter3" };
        struct rp_client_args args = { .bootstrap = "a:1", .config_file = "f", .properties = { .items = items, .cnt = 4 } };
        char *text = rp_client_args_text(&args);

        (void)state;
        assert_string_equal(text, "-b a:1 -F f -X sasl.password=... -X client.id=us -X ssl.key.location=/k "
                                  "-X sasl.oauthbearer.config=...");
        free(text);
}

/* Slips of the hand must not put the secret on the screen, or into a log, either. */
static void test_errors_about_properties(void **state)
{
        const char *without_equals[] = { "sasl.password:hunter2" };
        struct rp_client_config config;
        struct rp_error err;

        (void)state;
        assert_int_equal(rp_client_config_read(&config, NULL, without_equals, 1, "a:1", &err), RP_ERR_USAGE);
        assert_string_equal(err.text, "-X sasl.password: expected NAME=VALUE");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names_and_addresses),
                cmocka_unit_test(test_blotting),
                cmocka_unit_test(test_arguments_to_copy),
                cmocka_unit_test(test_errors_about_properties),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
