/* Producers route on their hot path: whatever the map, a decision asks for no memory. */
#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS 0 /* the sanitizer brings its own malloc() */
#else
#define COUNTS 1
#endif

static size_t allocations;

#if COUNTS
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t cnt, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Visible, so that the libraries below us are counted as well. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
        allocations++;
        return __libc_malloc(size);
}

void *calloc(size_t cnt, size_t size)
{
        allocations++;
        return __libc_calloc(cnt, size);
}

void *realloc(void *old, size_t size)
{
        allocations++;
        return __libc_realloc(old, size);
}

#pragma GCC visibility pop
#endif

static void test_routing_allocates_nothing(void **state)
{
        static const char *const maps[] = {
                "{'kind':'modulo'}",
                "{'kind':'slots','weights':{'0':2,'*':1}}",
                "{'kind':'hash-range'}",
                "{'kind':'ring'}",
                "{'kind':'range','bounds':['a','b'],'owners':[0,1,2]}",
                "{'kind':'two-level','delimiter':'|','fanout':8}",
                "{'kind':'table','delimiter':'|','keys':{'k1':[1,2,3],'k2':4},'else':{'kind':'slots'}}",
        };
        size_t before, loading = allocations;

        (void)state;
        for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
                kr_policy_t *policy = policy_of("'partitions':12,'map':%s", maps[m]);
                struct kr_routing routing;
                int32_t out[12];
                int64_t sum = 0;
                char key[40];

                before = allocations;
                for (int i = 0; i < 1000; i++) {
                        size_t len = (size_t)snprintf(key, sizeof(key), "k%d|x%d", i % 10, i);

                        sum += kr_rule_partition(rule_of(policy), key, len, 12);
                        kr_rule_route(rule_of(policy), key, len, 12, &routing);
                        sum -= routing.partition;
                        kr_rule_partitions_of_prefix(rule_of(policy), key, 2, 12, out, 12);
                }
                assert_int_equal(sum, 0);
                assert_int_equal(allocations, before);
                kr_policy_free(policy);
        }
        if (COUNTS)
                assert_true(allocations > loading + 100); /* the counter counts */
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_routing_allocates_nothing) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
