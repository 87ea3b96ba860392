#include "io/within.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <semaphore.h>

struct errand {
        sem_t go_on, released;
        int result;
};

static void work(void *raw)
{
        struct errand *errand = raw;

        sem_wait(&errand->go_on);
        errand->result = 42;
}

static void release(void *raw)
{
        struct errand *errand = raw;

        sem_post(&errand->released);
}

static void test_what_returns_is_waited_for(void **state)
{
        struct errand errand = { .result = 0 };

        (void)state;
        sem_init(&errand.go_on, 0, 1);
        sem_init(&errand.released, 0, 0);
        assert_true(rp_call_within(60000, work, release, &errand));
        assert_int_equal(errand.result, 42);
        assert_int_equal(sem_trywait(&errand.released), -1); /* still the caller's */
}

static void test_what_hangs_is_left_and_cleans_up_after_itself(void **state)
{
        struct errand errand = { .result = 0 };

        (void)state;
        sem_init(&errand.go_on, 0, 0);
        sem_init(&errand.released, 0, 0);
        assert_false(rp_call_within(20, work, release, &errand));
        assert_int_equal(errand.result, 0);
        sem_post(&errand.go_on);
        sem_wait(&errand.released);
        assert_int_equal(errand.result, 42);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_returns_is_waited_for),
                cmocka_unit_test(test_what_hangs_is_left_and_cleans_up_after_itself),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
