/*
 * The plugin's partitioner callback alone, with topic handles that are mere addresses: what a real librdkafka does too
 * seldom to be tested with it. Handles that change their topic, more topics than the cache holds, counts that change,
 * threads that meet a topic at the same moment.
 */
#include "plugin_library.h"

static int32_t route(struct kr_router *router, const struct handle *handle, const char *key, int32_t partition_cnt)
{
        return kr_router_partition((const rd_kafka_topic_t *)(const void *)handle, key, strlen(key), partition_cnt,
                                   router, NULL);
}

/* ---- the tests ---------------------------------------------------------------------------------------------- */

#define POLICY \
        "{\"keyroute\":1,\"topics\":{\"a\":{},\"b\":{\"hash\":\"crc32\"},\"t-*\":{},\"pinned\":{\"partitions\":12}}}"

/* "TT0124" of 15 partitions: murmur2 says 10, zlib's crc32 (0xf208558b) says 9. */
enum { BY_MURMUR2 = 10, BY_CRC32 = 0xf208558bu % 15, BY_HOST = 14 };

static void test_an_address_may_change_its_topic(void **state)
{
        struct kr_router *router = router_new(POLICY);
        struct handle handle;

        (void)state;
        for (size_t round = 0; round < 3; round++) {
                strcpy(handle.name, "a");
                assert_int_equal(route(router, &handle, "TT0124", 15), BY_MURMUR2);
                strcpy(handle.name, "b");
                assert_int_equal(route(router, &handle, "TT0124", 15), BY_CRC32);
                strcpy(handle.name, "other");
                assert_int_equal(route(router, &handle, "TT0124", 15), BY_HOST);
        }
        assert_int_equal(logged("6 KEYROUTE topic "), 3);
        router_free(router);
}

static void test_more_topics_than_the_cache_holds(void **state)
{
        enum { TOPIC_CNT = KR_ROUTE_CNT + 50 };
        struct kr_router *router = router_new(POLICY);
        struct handle *handles = calloc(TOPIC_CNT, sizeof(*handles));

        (void)state;
        for (size_t i = 0; i < TOPIC_CNT; i++)
                snprintf(handles[i].name, sizeof(handles[i].name), "%s-%zu", i % 3 ? "t" : "u", i);
        for (size_t round = 0; round < 3; round++)
                for (size_t i = 0; i < TOPIC_CNT; i++)
                        assert_int_equal(route(router, &handles[i], "TT0124", 15), i % 3 ? BY_MURMUR2 : BY_HOST);
        assert_int_equal(logged("6 KEYROUTE topic "), KR_ROUTE_CNT);
        assert_int_equal(logged("6 KEYROUTE more than 256 topics"), 1);
        free(handles);
        router_free(router);
}

/* librdkafka takes longer names than Kafka, and asks the broker only later. */
static void test_a_name_longer_than_kafka_allows(void **state)
{
        struct kr_router *router = router_new(POLICY);
        struct handle handle = { "t-" };

        (void)state;
        memset(handle.name + 2, 'x', 400);
        assert_int_equal(route(router, &handle, "TT0124", 15), BY_MURMUR2);
        assert_int_equal(route(router, &handle, "TT0124", 15), BY_MURMUR2);
        router_free(router);
}

static void test_each_new_count_is_complained_about_once(void **state)
{
        struct kr_router *router = router_new(POLICY);
        struct handle handle = { "pinned" };

        (void)state;
        assert_in_range(route(router, &handle, "TT0124", 12), 0, 11);
        assert_int_equal(logged("topic pinned: murmur2 modulo"), 1);
        for (size_t i = 0; i < 5; i++)
                assert_int_equal(route(router, &handle, "TT0124", 16), 16);
        assert_int_equal(logged("3 KEYROUTE topic pinned has 16 partitions"), 1);
        for (size_t i = 0; i < 5; i++)
                assert_int_equal(route(router, &handle, "TT0124", 20), 20);
        assert_int_equal(logged("3 KEYROUTE topic pinned has 20 partitions"), 1);
        assert_int_equal(logged("3 KEYROUTE topic pinned has"), 2);
        kr_router_log_totals(router);
        assert_int_equal(logged("topic pinned: 10 records were refused in all"), 1);
        /* Records without a key have no home to miss. */
        assert_int_equal(
                kr_router_partition((const rd_kafka_topic_t *)(const void *)&handle, NULL, 0, 20, router, NULL), 0);
        router_free(router);
}

static void test_key_outcomes_are_counted(void **state)
{
        struct kr_router *router = router_new("{\"keyroute\":1,\"topics\":{\"framed\":{\"key\":{\"use\":\"payload\"}},"
                                              "\"parts\":{\"key\":{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1,"
                                              "\"missing\":\"reject\"}},\"plain\":{}}}");
        struct handle framed = { "framed" }, parts = { "parts" }, plain = { "plain" };
        static const char key[] = "\0\0\0\0\7TT0124";

        (void)state;
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(kr_router_partition((const rd_kafka_topic_t *)(const void *)&framed, key, sizeof(key) - 1, 15,
                                                     router, NULL), BY_MURMUR2);
        assert_int_equal(logged("topic framed: a key"), 0);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(route(router, &framed, "TT0124", 15), BY_MURMUR2);
        assert_int_equal(logged("topic framed: a key has no registry frame and routes as it is"), 1);
        assert_int_equal(route(router, &parts, "a|TT0124", 15), BY_MURMUR2);
        assert_int_equal(route(router, &parts, "TT0124", 15), 15); /* refused, and said to be */
        assert_int_equal(logged("topic parts: a key"), 0);
        route(router, &plain, "TT0124", 15);
        kr_router_log_totals(router);
        assert_int_equal(logged("4 KEYROUTE topic framed: of 5 keys 3 routed by the part that the policy names, 2 without a "
                                "frame, as they are"), 1);
        assert_int_equal(logged("topic parts: of 2 keys 1 routed by the part that the policy names, 1 that could not be taken apart"),
                         1);
        assert_int_equal(logged("topic plain: of"), 0);
        router_free(router);
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

enum { THREAD_CNT = 4, SHARED_CNT = 30, ROUND_CNT = 300 };

static struct handle shared[SHARED_CNT];
static pthread_barrier_t barrier;

/* Each topic is met by all threads at once: of every three, one is refused, one has a rule, one has none. */
static void *meet_all_topics(void *opaque)
{
        struct kr_router *router = opaque;
        uintptr_t wrong = 0;

        for (size_t i = 0; i < SHARED_CNT; i++) {
                pthread_barrier_wait(&barrier);
                for (size_t again = 0; again < 3; again++) {
                        int32_t want = i % 3 == 0 ? 16 : i % 3 == 1 ? BY_MURMUR2 : BY_HOST;

                        wrong += route(router, &shared[i], "TT0124", i % 3 == 0 ? 16 : 15) != want;
                }
        }
        return (void *)wrong;
}

static void run_threads(struct kr_router *router)
{
        pthread_t threads[THREAD_CNT];

        for (size_t i = 0; i < THREAD_CNT; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, meet_all_topics, router), 0);
        for (size_t i = 0; i < THREAD_CNT; i++) {
                void *wrong;

                assert_int_equal(pthread_join(threads[i], &wrong), 0);
                assert_null(wrong);
        }
}

/* Also records that came while another thread made their topic's entry. */
static void assert_counts_are_complete(struct kr_router *router)
{
        uint64_t unframed = atomic_load(&router->others.outcome_cnt[KR_KEY_UNFRAMED]);
        uint64_t refused = atomic_load(&router->others.refused_record_cnt);

        for (size_t i = 0; i < KR_ROUTE_CNT; i++) {
                unframed += atomic_load(&router->routes[i].outcome_cnt[KR_KEY_UNFRAMED]);
                refused += atomic_load(&router->routes[i].refused_record_cnt);
        }
        assert_int_equal(unframed, SHARED_CNT / 3 * 3 * THREAD_CNT);
        assert_int_equal(refused, SHARED_CNT / 3 * 3 * THREAD_CNT);
        kr_router_log_totals(router);
        assert_int_equal(logged("records counted apart from their topics: "),
                         (atomic_load(&router->others.outcome_cnt[KR_KEY_UNFRAMED]) != 0) +
                                 (atomic_load(&router->others.refused_record_cnt) != 0));
}

static void test_threads_agree_and_log_once(void **state)
{
        char policy[4096] = "{\"keyroute\":1,\"topics\":{\"t-*\":{\"key\":{\"use\":\"payload\"}}";

        (void)state;
        for (size_t i = 0; i < SHARED_CNT; i++) {
                snprintf(shared[i].name, sizeof(shared[i].name), "%s-%zu",
                         i % 3 == 0   ? "p"
                         : i % 3 == 1 ? "t"
                                      : "u",
                         i);
                if (i % 3 == 0)
                        snprintf(policy + strlen(policy), sizeof(policy) - strlen(policy),
                                 ",\"%.9s\":{\"partitions\":12}", shared[i].name);
        }
        strcat(policy, "}}");
        assert_int_equal(pthread_barrier_init(&barrier, NULL, THREAD_CNT), 0);
        for (size_t round = 0; round < ROUND_CNT; round++) {
                struct kr_router *router = router_new(policy);

                run_threads(router);
                for (size_t i = 0; i < SHARED_CNT; i++) {
                        char part[600];

                        snprintf(part, sizeof(part), i % 3 == 0 ? "topic %.100s has 16 " : "topic %.100s: ", shared[i].name);
                        assert_int_equal(logged(part), i % 3 == 1 ? 2 : 1);
                        if (i % 3 != 1)
                                continue;
                        snprintf(part, sizeof(part), "topic %.100s: a key has no registry frame", shared[i].name);
                        assert_int_equal(logged(part), 1);
                }
                assert_counts_are_complete(router);
                router_free(router);
        }
        pthread_barrier_destroy(&barrier);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_address_may_change_its_topic),
                cmocka_unit_test(test_more_topics_than_the_cache_holds),
                cmocka_unit_test(test_a_name_longer_than_kafka_allows),
                cmocka_unit_test(test_each_new_count_is_complained_about_once),
                cmocka_unit_test(test_key_outcomes_are_counted),
                cmocka_unit_test(test_threads_agree_and_log_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
