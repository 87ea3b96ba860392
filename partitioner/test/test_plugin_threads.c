/* Threads that create, copy, use and destroy producers with the plugin at the same time; also for SAN=thread. */
#include "plugin_host.h"

#include <pthread.h>
#include <stdbool.h>

enum { THREAD_CNT = 6, ROUND_CNT = 8 };

static int setup(void **state)
{
        (void)state;
        cluster_start();
        cluster_topic("orders", 12);
        cluster_topic("clicks", 12);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        cluster_stop();
        return 0;
}

/* cmocka's assertions belong to the main thread; here the outcome is counted. */
static size_t send_all(rd_kafka_t *rk, const char *topic, int32_t (*oracle)(const char *, int32_t))
{
        int32_t where[KEY_CNT];
        size_t wrong = 0;

        for (size_t i = 0; i < KEY_CNT; i++) {
                where[i] = RD_KAFKA_RESP_ERR__FAIL;
                send_start(rk, topic, keys[i], strlen(keys[i]), 1, &where[i]);
        }
        if (rd_kafka_flush(rk, 20000))
                return KEY_CNT;
        for (size_t i = 0; i < KEY_CNT; i++)
                wrong += where[i] != oracle(keys[i], 12);
        return wrong;
}

static void *live_and_die(void *opaque)
{
        uintptr_t wrong = 0, number = (uintptr_t)opaque;

        for (size_t round = 0; round < ROUND_CNT; round++) {
                rd_kafka_conf_t *conf = conf_with_plugin(), *copy;
                bool by_java = (number + round) % 2;
                rd_kafka_t *rk;

                set(conf, "keyroute.hash", by_java ? "murmur2" : "fnv1a-abs");
                copy = rd_kafka_conf_dup(conf);
                rd_kafka_conf_destroy(conf);
                rk = producer_new(copy);
                wrong += send_all(rk, "orders", by_java ? by_murmur2 : by_fnv1a);
                wrong += send_all(rk, "clicks", by_java ? by_murmur2 : by_fnv1a);
                rd_kafka_destroy(rk);
        }
        return (void *)wrong;
}

static void run_threads(void *(*body)(void *))
{
        pthread_t threads[THREAD_CNT];

        for (size_t i = 0; i < THREAD_CNT; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i), 0);
        for (size_t i = 0; i < THREAD_CNT; i++) {
                void *wrong;

                assert_int_equal(pthread_join(threads[i], &wrong), 0);
                assert_null(wrong);
        }
}

static void test_producers_come_and_go(void **state)
{
        (void)state;
        run_threads(live_and_die);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                log_test(test_producers_come_and_go),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
