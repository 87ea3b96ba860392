/*
 * The plugin's witness alone, given records as a librdkafka would hand them over: what it says when, of whom it thinks it
 * is, what it must not judge. With a real librdkafka it is met in test_plugin_watched.
 */
#include "plugin_library.h"

#include "plugin/witness.h"
#include "registries.h"

#define POLICY                                                                                                     \
        "{\"keyroute\":1,\"topics\":{\"pinned\":{\"partitions\":12},\"free\":{},\"two\":{\"partitions\":2},"       \
        "\"slots\":{\"partitions\":12,\"map\":{\"kind\":\"slots\",\"weights\":{\"0-3\":2,\"*\":1}}},"              \
        "\"parts\":{\"partitions\":12,\"key\":{\"use\":\"field\",\"delimiter\":\"|\",\"index\":1,\"missing\":\"reject\"}}}}"

enum { PARTITION_CNT = 12 };

static bool is_forced(const char *topic, void *opaque)
{
        return opaque && !strcmp(topic, opaque);
}

static struct kr_witness *witness_new(bool is_producer)
{
        struct kr_witness *witness = calloc(1, sizeof(*witness));

        assert_non_null(witness);
        witness->router = router_new(POLICY);
        witness->is_producer = is_producer;
        witness->is_forced = is_forced;
        return witness;
}

static void witness_free(struct kr_witness *witness)
{
        router_free(witness->router);
        free(witness);
}

static void look(struct kr_witness *witness, const struct handle *handle, const char *key, int32_t partition)
{
        rd_kafka_message_t record = { .rkt = (rd_kafka_topic_t *)(uintptr_t)handle, .partition = partition,
                                      .key = (void *)(uintptr_t)key, .key_len = key ? strlen(key) : 0 };

        kr_witness_look(witness, &record);
}

static int32_t by(const char *hash, const char *key, int32_t partition_cnt)
{
        return (int32_t)(kr_hash_value(kr_hash_find(hash), key, strlen(key)) % (uint64_t)partition_cnt);
}

/* Keys from the i-th on, each put where `hash` says. @returns how many of them lie elsewhere than by murmur2. */
static size_t look_at_many(struct kr_witness *witness, const struct handle *handle, const char *hash, size_t first,
                           size_t cnt, int32_t partition_cnt)
{
        size_t misplaced = 0;

        for (size_t i = first; i < first + cnt; i++) {
                char key[40];

                snprintf(key, sizeof(key), "secret-%zu", i);
                look(witness, handle, key, by(hash, key, partition_cnt));
                misplaced += by(hash, key, partition_cnt) != by("murmur2", key, partition_cnt);
        }
        return misplaced;
}

static void test_records_in_their_place_are_silent(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle pinned = { "pinned" };

        (void)state;
        assert_int_equal(look_at_many(witness, &pinned, "murmur2", 0, 1000, PARTITION_CNT), 0);
        look(witness, &pinned, "", by("murmur2", "", PARTITION_CNT));
        kr_witness_log_totals(witness);
        assert_string_equal(log_text, "");
        witness_free(witness);
}

static void test_a_line_at_each_power_of_ten(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle pinned = { "pinned" };
        int32_t wrong = (by("murmur2", "secret-0", PARTITION_CNT) + 1) % PARTITION_CNT;
        char total[64];

        (void)state;
        look(witness, &pinned, "secret-0", wrong);
        assert_int_equal(logged("4 KEYROUTE topic pinned: records delivered elsewhere than the policy says: 1 so far (murmur2 "
                                "modulo, policy "), 1);
        for (int i = 1; i < 1500; i++)
                look(witness, &pinned, "secret-0", wrong);
        assert_int_equal(logged("KEYROUTE"), 4);
        assert_int_equal(logged(" says: 10 so far. This"), 1);
        assert_int_equal(logged(" says: 100 so far. This"), 1);
        assert_int_equal(logged(" says: 1000 so far. This"), 1);
        assert_int_equal(logged("from keyroute.policy=p.json, 12 partitions). "), 1);
        kr_witness_log_totals(witness);
        snprintf(total, sizeof(total), "elsewhere than the policy says: %d in all. ", 1500);
        assert_int_equal(logged(total), 1);
        /* One key, however often, is no evidence of a function; and no key is ever told. */
        assert_int_equal(logged("look like"), 0);
        assert_int_equal(logged("secret"), 0);
        witness_free(witness);
}

static void test_the_function_is_named_when_all_keys_agree(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle pinned = { "pinned" };
        size_t misplaced = 0, at = 0;

        (void)state;
        while (misplaced < 7)
                misplaced += look_at_many(witness, &pinned, "crc32", at++, 1, PARTITION_CNT);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("look like"), 0);
        while (misplaced < 10)
                misplaced += look_at_many(witness, &pinned, "crc32", at++, 1, PARTITION_CNT);
        assert_int_equal(logged(": 10 so far; they look like crc32 ("), 1);
        assert_int_equal(logged("; they look like crc32 (librdkafka's default: "), 1);
        look_at_many(witness, &pinned, "crc32", at, 2000, PARTITION_CNT);
        assert_int_equal(logged("; they look like crc32 (librdkafka's default: "), 3);
        witness_free(witness);
}

static void test_two_functions_are_none(void **state)
{
        struct kr_witness *witness = witness_new(false);
        struct handle pinned = { "pinned" };

        (void)state;
        look_at_many(witness, &pinned, "crc32", 0, 12, PARTITION_CNT);
        look_at_many(witness, &pinned, "fnv1a-abs", 100, 12, PARTITION_CNT);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("in all; they look like no function of a known client. Their producers"), 1);
        witness_free(witness);
}

/* Two partitions leave a misplaced key one place to be: chance agrees with many a function for long. */
static void test_few_partitions_need_more_keys(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle two = { "two" };
        size_t misplaced = 0, at = 0;

        (void)state;
        while (misplaced < 23)
                misplaced += look_at_many(witness, &two, "crc32", at++, 1, 2);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("look like"), 0);
        while (misplaced < 24)
                misplaced += look_at_many(witness, &two, "crc32", at++, 1, 2);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("they look like crc32"), 1);
        witness_free(witness);
}

/* A policy by weight, and a client that hashes as Java does but knows no weights. */
static void test_the_policys_own_hash_without_its_map(void **state)
{
        struct kr_witness *witness = witness_new(false);
        struct handle slots = { "slots" };

        (void)state;
        look_at_many(witness, &slots, "murmur2", 0, 100, PARTITION_CNT);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("4 KEYROUTE topic slots: records consumed from elsewhere than the policy says: "), 3);
        assert_int_equal(logged("they look like murmur2 or kafka-python-old (Java, "), 2);
        witness_free(witness);
}

static void test_the_remedy_fits(void **state)
{
        struct handle pinned = { "pinned" };
        int32_t wrong = (by("murmur2", "a", PARTITION_CNT) + 1) % PARTITION_CNT;
        struct kr_witness *witness = witness_new(true);

        (void)state;
        look(witness, &pinned, "a", wrong); /* the partitioner was never asked */
        assert_int_equal(logged("then set keyroute.topics.force=pinned; or it names partitions itself"), 1);
        witness_free(witness);

        witness = witness_new(true);
        witness->opaque = "pinned"; /* forced already */
        look(witness, &pinned, "a", wrong);
        assert_int_equal(logged(". This program names partitions itself: let it leave them out"), 1);
        assert_int_equal(logged("keyroute.topics.force"), 0);
        witness_free(witness);

        witness = witness_new(true);
        kr_router_partition((const rd_kafka_topic_t *)(const void *)&pinned, "b", 1, PARTITION_CNT, witness->router, NULL);
        look(witness, &pinned, "a", wrong); /* it was asked, but not for this one */
        assert_int_equal(logged(". This program names partitions itself: let it leave them out"), 1);
        witness_free(witness);

        witness = witness_new(false);
        look(witness, &pinned, "a", wrong);
        assert_int_equal(logged(". Their producers do not follow the policy: repartition audit finds which"), 1);
        witness_free(witness);
}

static void test_what_is_not_judged(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle pinned = { "pinned" }, other = { "other" }, parts = { "parts" }, unknown = { "free" };
        rd_kafka_message_t record = { .rkt = (rd_kafka_topic_t *)(uintptr_t)&pinned, .partition = 3,
                                      .err = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, .key = "TT0124", .key_len = 6 };

        (void)state;
        for (int32_t p = 0; p < PARTITION_CNT; p++) {
                record.partition = p;
                kr_witness_look(witness, &record);  /* not delivered */
                look(witness, &pinned, NULL, p);    /* no key */
                look(witness, &other, "TT0124", p); /* no rule */
                look(witness, &parts, "TT0124", p); /* a key that the policy rejects */
                look(witness, &unknown, "TT0124", p); /* no pinned count, and the partitioner never was asked */
        }
        kr_witness_log_totals(witness);
        assert_string_equal(log_text, "");
        look(witness, &parts, "x|TT0124", (by("murmur2", "TT0124", PARTITION_CNT) + 1) % PARTITION_CNT);
        assert_int_equal(logged("topic parts: records delivered elsewhere"), 1);
        witness_free(witness);
}

static void test_a_count_that_the_partitioner_knows(void **state)
{
        struct kr_witness *witness = witness_new(true);
        struct handle open = { "free" };
        const rd_kafka_topic_t *rkt = (const rd_kafka_topic_t *)(const void *)&open;
        int32_t before = by("murmur2", "TT0124", 15), after = by("murmur2", "TT0124", 16);

        (void)state;
        kr_router_partition(rkt, "a", 1, 15, witness->router, NULL);
        look(witness, &open, "TT0124", before);
        assert_int_equal(logged("KEYROUTE topic free: records"), 0);
        /* It grows: what is on its way was placed by the count of before. */
        kr_router_partition(rkt, "a", 1, 16, witness->router, NULL);
        assert_int_not_equal(before, after);
        look(witness, &open, "TT0124", before);
        look(witness, &open, "TT0124", after);
        look(witness, &open, "TT0124", 17); /* grown again, and we have not heard of it */
        assert_int_equal(logged("KEYROUTE topic free: records"), 0);
        look(witness, &open, "TT0124", (after + 1) % 16 == before ? (after + 2) % 16 : (after + 1) % 16);
        assert_int_equal(logged("KEYROUTE topic free: records delivered elsewhere than the policy says: 1 so far"), 1);
        assert_int_equal(logged(", 16 partitions). This program names partitions itself"), 1);
        witness_free(witness);
}

/* Where the partitioner serves a topic, keys are fetched only when there is a reason to. */
static void test_a_served_topic_is_spot_checked(void **state)
{
        struct handle pinned = { "pinned" };
        rd_kafka_message_t record = { .rkt = (rd_kafka_topic_t *)(uintptr_t)&pinned, .key = "TT0124", .key_len = 6,
                                      .partition = (by("murmur2", "TT0124", PARTITION_CNT) + 1) % PARTITION_CNT };

        (void)state;
        for (int reason = 0; reason < 3; reason++) {
                struct kr_witness *witness = witness_new(true);

                kr_router_partition(record.rkt, "a", 1, PARTITION_CNT, witness->router, NULL);
                for (record.offset = 1; record.offset < KR_WITNESS_SPOT_CNT; record.offset++)
                        kr_witness_look(witness, &record);
                assert_int_equal(logged("elsewhere"), 0);
                if (reason == 0) { /* a record without a partition, or without a key, is none */
                        rd_kafka_message_t sent = record;

                        sent.partition = RD_KAFKA_PARTITION_UA;
                        kr_witness_note_sent(witness, &sent);
                        sent.partition = 3;
                        sent.key = NULL;
                        kr_witness_note_sent(witness, &sent);
                } else if (reason == 1) { /* the program names a partition */
                        kr_witness_note_sent(witness, &record);
                } else { /* a spot check found one */
                        kr_witness_look(witness, &record);
                        assert_int_equal(logged(": 1 so far ("), 1);
                }
                for (record.offset = 1; record.offset < KR_WITNESS_SPOT_CNT; record.offset++)
                        kr_witness_look(witness, &record);
                kr_witness_log_totals(witness);
                assert_int_equal(logged(" in all. "), reason > 0);
                assert_int_equal(logged(": 63 in all. "), reason == 1);
                assert_int_equal(logged(": 64 in all. "), reason == 2);
                witness_free(witness);
        }
}

static void test_a_topic_that_outgrew_its_policy(void **state)
{
        struct kr_witness *witness = witness_new(false);
        struct handle pinned = { "pinned" };

        (void)state;
        look(witness, &pinned, "TT0124", 12);
        look(witness, &pinned, "TT0124", 13);
        look_at_many(witness, &pinned, "murmur2", 0, 200, 16);
        kr_witness_log_totals(witness);
        assert_int_equal(logged("KEYROUTE"), 1);
        assert_int_equal(logged("4 KEYROUTE topic pinned has more partitions than the policy (keyroute.policy=p.json) was made "
                                "for, 12: "), 1);
        witness_free(witness);

        /* A producer's own partitioner knows without meeting such a record; it says so itself, and refuses. */
        witness = witness_new(true);
        kr_router_partition((const rd_kafka_topic_t *)(const void *)&pinned, "a", 1, 16, witness->router, NULL);
        look_at_many(witness, &pinned, "murmur2", 0, 200, 12);
        look_at_many(witness, &pinned, "crc32", 0, 200, 12);
        assert_int_equal(logged("KEYROUTE"), 1);
        assert_int_equal(logged("3 KEYROUTE topic pinned has 16 partitions"), 1);
        witness_free(witness);
}

/* Asking one would make librdkafka's threads wait, or the program's. Nobody asks. */
static void test_no_registry_is_asked(void **state)
{
        static const char key[] = "\0\0\0\0\7\2\14TT0124";
        struct kr_witness *witness = witness_new(false);
        struct handle pinned = { "pinned" };
        rd_kafka_message_t record = { .rkt = (rd_kafka_topic_t *)(uintptr_t)&pinned, .key = (void *)(uintptr_t)key,
                                      .key_len = sizeof(key) - 1 };
        struct kr_error err;
        unsigned before = registry_requests();

        (void)state;
        kr_policy_free((kr_policy_t *)witness->router->policy);
        witness->router->policy = registry_parse(
                &err, "{'keyroute':1,'topics':{'pinned':{'partitions':12,'key':{'use':'avro','fields':['id'],'schema':"
                      "{'registry':'main'}}}},'schemas':{'registries':{'main':{'urls':['http://127.0.0.1:%d']}}}}");
        if (!witness->router->policy)
                fail_msg("%s", err.text);
        for (record.partition = 0; record.partition < PARTITION_CNT; record.partition++)
                kr_witness_look(witness, &record);
        kr_witness_log_totals(witness);
        assert_string_equal(log_text, "");
        assert_int_equal(registry_requests(), before);
        witness_free(witness);
}

/* ---- threads: brokers' threads report deliveries of one topic at the same time -------------------------------- */

enum { THREAD_CNT = 4, LOOK_CNT = 5000 };

static pthread_barrier_t barrier;

static void *look_from_a_thread(void *opaque)
{
        static struct handle handles[3] = { { "pinned" }, { "slots" }, { "other" } };

        pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < LOOK_CNT; i++)
                look_at_many(opaque, &handles[i % 3], "crc32", i, 1, PARTITION_CNT);
        return NULL;
}

static void test_threads_lose_no_record_and_no_line(void **state)
{
        struct kr_witness *witness = witness_new(true);
        pthread_t threads[THREAD_CNT];
        size_t misplaced = 0;
        char text[128];

        (void)state;
        assert_int_equal(pthread_barrier_init(&barrier, NULL, THREAD_CNT), 0);
        for (size_t i = 0; i < THREAD_CNT; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, look_from_a_thread, witness), 0);
        for (size_t i = 0; i < THREAD_CNT; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        pthread_barrier_destroy(&barrier);
        for (size_t i = 0; i < LOOK_CNT; i += 3) {
                char key[40];

                snprintf(key, sizeof(key), "secret-%zu", i);
                misplaced += by("crc32", key, PARTITION_CNT) != by("murmur2", key, PARTITION_CNT);
        }
        for (unsigned long n = 1; n <= 1000; n *= 10) {
                snprintf(text, sizeof(text), "topic pinned: records delivered elsewhere than the policy says: %lu so far", n);
                assert_int_equal(logged(text), 1);
        }
        kr_witness_log_totals(witness);
        /* A topic's first record may meet another thread that is just making its entry, and then is not judged. */
        for (size_t i = 0; i < KR_ROUTE_CNT; i++)
                if (!strcmp(witness->router->routes[i].topic, "pinned"))
                        assert_in_range(atomic_load(&witness->topics[i].misplaced_cnt), THREAD_CNT * misplaced - THREAD_CNT,
                                        THREAD_CNT * misplaced);
        assert_int_equal(logged("in all; they look like crc32 (librdkafka"), 2); /* pinned and slots */
        assert_int_equal(logged("they look like crc32 ("), logged("they look like"));
        assert_int_equal(logged("topic other"), 0);
        witness_free(witness);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_records_in_their_place_are_silent),
                cmocka_unit_test(test_a_line_at_each_power_of_ten),
                cmocka_unit_test(test_the_function_is_named_when_all_keys_agree),
                cmocka_unit_test(test_two_functions_are_none),
                cmocka_unit_test(test_few_partitions_need_more_keys),
                cmocka_unit_test(test_the_policys_own_hash_without_its_map),
                cmocka_unit_test(test_the_remedy_fits),
                cmocka_unit_test(test_what_is_not_judged),
                cmocka_unit_test(test_a_count_that_the_partitioner_knows),
                cmocka_unit_test(test_a_served_topic_is_spot_checked),
                cmocka_unit_test(test_a_topic_that_outgrew_its_policy),
                cmocka_unit_test_setup_teardown(test_no_registry_is_asked, registry_setup, registry_teardown),
                cmocka_unit_test(test_threads_lose_no_record_and_no_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
