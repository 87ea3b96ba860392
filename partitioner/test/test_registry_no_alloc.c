/* What a schema in the cache costs a record: no memory and no lock. */
#include "count_allocations.h"
#include "registries.h"

#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* Each thread's own: those of the client and the server may do as they like. */
static _Thread_local size_t locks;

#if COUNTS
#pragma GCC visibility push(default) /* so that keyroute-schemas.so and the libraries below it are counted as well */

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
        static int (*real)(pthread_mutex_t *);

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        locks++;
        return real(mutex);
}

#pragma GCC visibility pop
#endif

static void test_a_hit_takes_no_memory_and_no_lock(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");
        size_t allocations_before, locks_before;

        (void)state;
        registry_has("/schemas/ids/7", SCHEMA_A, "");
        locks_before = locks;
        allocations_before = allocations;
        assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_PROJECTED);
        if (COUNTS) { /* the counts count */
                assert_true(locks > locks_before);
                assert_true(allocations > allocations_before);
        }
        locks_before = locks;
        allocations_before = allocations;
        for (int i = 0; i < 1000; i++)
                assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_PROJECTED);
        assert_int_equal(allocations, allocations_before);
        assert_int_equal(locks, locks_before);
        kr_policy_free(policy);
}

static void test_a_bad_id_takes_neither(void **state)
{
        kr_policy_t *policy = registry_policy(",'negative_ttl_ms':86400000", "", "");
        size_t allocations_before, locks_before;

        (void)state;
        assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
        locks_before = locks;
        allocations_before = allocations;
        for (int i = 0; i < 1000; i++)
                assert_int_equal(route_framed(policy, 7, "alice", NULL), KR_KEY_UNRESOLVED);
        assert_int_equal(allocations, allocations_before);
        assert_int_equal(locks, locks_before);
        kr_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_hit_takes_no_memory_and_no_lock, registry_setup, registry_teardown),
                cmocka_unit_test_setup_teardown(test_a_bad_id_takes_neither, registry_setup, registry_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
