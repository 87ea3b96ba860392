/* decide/library: which versions of librdkafka are refused, which are warned of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/library.h"

#include <stdio.h>
#include <string.h>

#define RELEASE(major, minor, patch) ((uint32_t)(major) << 24 | (minor) << 16 | (patch) << 8 | 0xff)

static void test_verdicts(void **state)
{
        static const struct {
                uint32_t version;
                unsigned uses;
                size_t cnt;
                int is_fatal;       /* the first one */
                const char *source; /* of the first one */
        } cases[] = {
                { RELEASE(1, 6, 1), RP_LIBRARY_WRITE, 1, 1, "issue 3575" },
                { RELEASE(1, 8, 0), RP_LIBRARY_WRITE, 1, 1, "issue 3575" },
                { RELEASE(1, 8, 2), RP_LIBRARY_WRITE, 1, 1, "changelog of 1.9.0" },
                { RELEASE(1, 9, 0), RP_LIBRARY_WRITE, 1, 0, "changelog of 2.0.0" },
                { RELEASE(1, 9, 2), RP_LIBRARY_WRITE, 1, 0, "changelog of 2.0.0" },
                /* Debian 12's: nothing that a job comes near. */
                { RELEASE(2, 0, 2), RP_LIBRARY_WRITE, 0, 0, NULL },
                { RELEASE(2, 1, 1), RP_LIBRARY_WRITE, 0, 0, NULL },
                { RELEASE(2, 2, 0), RP_LIBRARY_WRITE, 1, 0, "issue 4736" },
                { RELEASE(2, 4, 0), RP_LIBRARY_WRITE, 2, 0, "issue 4736" },
                { RELEASE(2, 5, 0), RP_LIBRARY_WRITE, 1, 0, "issues 4778 and 4964" },
                { RELEASE(2, 8, 0), RP_LIBRARY_WRITE, 1, 0, "issues 4778 and 4964" },
                { RELEASE(2, 10, 0), RP_LIBRARY_WRITE, 0, 0, NULL },
                { RELEASE(2, 16, 0), RP_LIBRARY_WRITE, 0, 0, NULL },
                { RELEASE(2, 0, 2), RP_LIBRARY_GROUP, 1, 0, "issue 4783" },
                { RELEASE(2, 10, 0), RP_LIBRARY_GROUP, 1, 0, "issue 5051" },
                { RELEASE(2, 16, 0), RP_LIBRARY_WRITE | RP_LIBRARY_GROUP, 0, 0, NULL },
                { RELEASE(9, 0, 0), RP_LIBRARY_WRITE | RP_LIBRARY_GROUP, 0, 0, NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const struct rp_library_flaw *flaws[8] = { NULL };
                size_t cnt = rp_library_flaws(cases[i].version, cases[i].uses, flaws, 8);

                if (cnt != cases[i].cnt)
                        print_error("version %08x: %zu flaws\n", (unsigned)cases[i].version, cnt);
                assert_int_equal(cnt, cases[i].cnt);
                if (cnt) {
                        assert_int_equal(flaws[0]->is_fatal, cases[i].is_fatal);
                        assert_string_equal(flaws[0]->source, cases[i].source);
                }
        }
}

static void test_no_more_than_asked_for(void **state)
{
        const struct rp_library_flaw *flaws[2] = { NULL };

        (void)state;
        assert_int_equal(rp_library_flaws(RELEASE(2, 4, 0), RP_LIBRARY_WRITE | RP_LIBRARY_GROUP, flaws, 1), 1);
        assert_null(flaws[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdicts),
                cmocka_unit_test(test_no_more_than_asked_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
