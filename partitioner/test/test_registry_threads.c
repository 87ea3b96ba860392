/* Many threads, a cache too small for their schemas, and a registry that comes and goes. Run under TSan too. */
#include "registries.h"

#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, IDS = 12, ROUNDS = 400 };

static char paths[IDS][32];
static int32_t want; /* the partition of "alice" */
static atomic_uint projected, unresolved, wrong;

static void *route_all(void *opaque)
{
        const kr_policy_t *policy = opaque;
        struct kr_routing routing;
        unsigned id = (unsigned)(uintptr_t)&routing >> 12;

        for (int i = 0; i < ROUNDS; i++) {
                id = id * 1103515245 + 12345;
                switch (route_framed(policy, (int)((id >> 16) % IDS) + 1, "alice", &routing)) {
                case KR_KEY_PROJECTED:
                        atomic_fetch_add(&projected, 1);
                        atomic_fetch_add(&wrong, routing.partition != want);
                        break;
                case KR_KEY_UNRESOLVED:
                        atomic_fetch_add(&unresolved, 1);
                        break;
                default:
                        atomic_fetch_add(&wrong, 1);
                }
        }
        return NULL;
}

static void fill(void)
{
        for (int i = 0; i < IDS; i++) {
                snprintf(paths[i], sizeof(paths[i]), "/schemas/ids/%d", i + 1);
                registry_has(paths[i], SCHEMA_A, "");
        }
}

static void route_by_threads(const kr_policy_t *policy)
{
        pthread_t threads[THREADS];

        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, route_all, (void *)policy), 0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        assert_int_equal(wrong, 0);
}

static int setup(void **state)
{
        kr_policy_t *plain = policy_of("'hash':'murmur2'");

        want = kr_rule_partition(rule_of(plain), "alice", 5, 1000);
        kr_policy_free(plain);
        projected = unresolved = wrong = 0;
        return registry_setup(state);
}

/* Two plans fit, twelve are wanted: what one thread reads, another takes out of the cache. */
static void test_evictions_under_readers(void **state)
{
        kr_policy_t *policy = registry_policy("", "", "");
        struct kr_schema_counts counts;

        (void)state;
        fill();
        kr_policy_start(policy, log_line, NULL);
        route_by_threads(policy);
        assert_true(projected > 0);
        for (int id = 1; id <= IDS; id++)
                assert_int_equal(route_framed(policy, id, "alice", NULL), KR_KEY_PROJECTED);
        counts = registry_counts(policy);
        assert_true(counts.evictions > 0);
        assert_int_equal(counts.plans, 2);
        kr_policy_free(policy);
}

static void *route_one(void *opaque)
{
        struct kr_routing routing;

        if (route_framed(opaque, 1, "alice", &routing) != KR_KEY_PROJECTED || routing.partition != want)
                atomic_fetch_add(&wrong, 1);
        return NULL;
}

/* All of them wait for one answer; none is asked for twice. */
static void test_threads_wait_together(void **state)
{
        static const char body[] = "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"K\\\","
                                   "\\\"fields\\\":[{\\\"name\\\":\\\"a\\\",\\\"type\\\":\\\"long\\\"},"
                                   "{\\\"name\\\":\\\"id\\\",\\\"type\\\":\\\"string\\\"}]}\"}";
        kr_policy_t *policy = registry_policy("", "", "");
        pthread_t threads[THREADS];

        (void)state;
        registry_says("/schemas/ids/1", (struct http_reply){ .status = 200, .body = body, .delay_ms = 100 });
        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, route_one, policy), 0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        assert_int_equal(wrong, 0);
        assert_int_equal(registry_requests(), 1);
        kr_policy_free(policy);
}

static void *flap(void *opaque)
{
        atomic_bool *done = opaque;

        while (!atomic_load(done)) {
                usleep(20000);
                registry_says("/schemas/ids/3", (struct http_reply){ .status = 500 });
                usleep(20000);
                registry_has("/schemas/ids/3", SCHEMA_B, ""); /* a lie, when it had the other one */
                usleep(20000);
                registry_has("/schemas/ids/3", SCHEMA_A, "");
        }
        return NULL;
}

static void test_a_registry_that_changes_its_mind(void **state)
{
        kr_policy_t *policy = registry_policy(",'wait_ms':5,'timeout_ms':50,'retries':1,'negative_ttl_ms':5", "", "");
        atomic_bool done = false;
        pthread_t flapper;

        (void)state;
        fill();
        route_until(policy, 3, "alice", KR_KEY_PROJECTED); /* so that B is the lie */
        registry_says("/schemas/ids/5", (struct http_reply){ .status = 200, .delay_ms = 600000 });
        registry_says("/schemas/ids/6", (struct http_reply){ 0 });
        assert_int_equal(pthread_create(&flapper, NULL, flap, &done), 0);
        kr_policy_start(policy, log_line, NULL);
        for (int i = 0; i < 5; i++) {
                kr_policy_start(policy, i % 2 ? log_line : NULL, NULL);
                route_by_threads(policy);
        }
        atomic_store(&done, true);
        pthread_join(flapper, NULL);
        registry_has("/schemas/ids/5", SCHEMA_A, "");
        for (int id = 1; id <= 5; id++)
                if (id != 3)
                        route_until(policy, id, "alice", KR_KEY_PROJECTED);
        kr_policy_free(policy);
}

/* A policy may go while its threads are asking. */
static void test_freed_while_asking(void **state)
{
        (void)state;
        registry_says(NULL, (struct http_reply){ .status = 200, .delay_ms = 600000 });
        for (int i = 0; i < 20; i++) {
                kr_policy_t *policy = registry_policy(",'wait_ms':1", "", "");

                kr_policy_start(policy, log_line, NULL);
                for (int id = 1; id <= i % 6; id++)
                        assert_int_equal(route_framed(policy, id, "alice", NULL), KR_KEY_UNRESOLVED);
                kr_policy_free(policy);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, registry_teardown)
        const struct CMUnitTest tests[] = {
                TEST(test_evictions_under_readers),
                TEST(test_threads_wait_together),
                TEST(test_a_registry_that_changes_its_mind),
                TEST(test_freed_while_asking),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
