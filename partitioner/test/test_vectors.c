/* Every hash function of Kafka clients against the golden vectors, the field reports by name, and random keys. */
#include "keyroute.h"
#include "reference.h"
#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENTS = 8, MAX_HASHES = 64 };

/* One hash, by a policy that routes everything with it: the way that every user of the product takes. */
struct ours {
        const kr_hash_t *hash;
        kr_policy_t *policy;
        const kr_rule_t *rule;
};

static struct ours ours_of(const char *hash_name)
{
        struct kr_error err;
        struct ours ours = { kr_hash_find(hash_name), kr_policy_from_hash(hash_name, &err), NULL };

        assert_non_null(ours.hash);
        assert_non_null(ours.policy);
        ours.rule = kr_policy_rule(ours.policy, "any");
        assert_non_null(ours.rule);
        return ours;
}

static uint64_t value(const void *self, const void *key, size_t key_len)
{
        return kr_hash_value(((const struct ours *)self)->hash, key, key_len);
}

static int32_t partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        return kr_rule_partition(((const struct ours *)self)->rule, key, key_len, partition_cnt);
}

static int32_t partition_by(const char *hash_name, const char *key, int32_t partition_cnt)
{
        struct ours ours = ours_of(hash_name);
        int32_t p = partition(&ours, key, strlen(key), partition_cnt);

        kr_policy_free(ours.policy);
        return p;
}

static void test_hash_gives_every_vector_at_every_alignment(void **state)
{
        const kr_hash_t *hash = *state;
        struct ours ours = ours_of(kr_hash_name(hash));
        struct vectors *vectors = vectors_load(kr_hash_name(hash));
        struct verdict verdict =
                vectors_check(vectors, &(struct implementation){ &ours, value, partition }, ALIGNMENTS, NULL);

        if (verdict.failed)
                fail_msg("%zu vectors fail; %s", verdict.failed, verdict.first);
        assert_true(verdict.asked > 8 * 3000);
        vectors_free(vectors);
        kr_policy_free(ours.policy);
}

static void test_no_pointer_is_the_empty_key(void **state)
{
        const kr_hash_t *hash;

        (void)state;
        for (size_t i = 0; (hash = kr_hash_at(i)); i++)
                assert_int_equal(kr_hash_value(hash, NULL, 0), kr_hash_value(hash, "", 0));
}

/* ---- field reports -------------------------------------------------------------------------------------------- */

struct report {
        const char *name, *key;
        int32_t partition_cnt;
        const char *right_hash;
        int32_t right;
        const char *wrong_hash; /* what the client used instead */
        int32_t wrong;
        bool seen; /* the wrong partition was observed; else it is what the cause predicts */
};

static const struct report reports[] = {
        { "kafkajs #357", "100:48069", 12, "murmur2", 9, "kafkajs-legacy", 6, true },
        { "kafkajs #1154", "TT0124", 15, "murmur2", 10, "crc32", 9, true },
        { "confluent-kafka-python #1481", "Struct{documentKey={\"_id\": \"638d1b94ce8def06be68b439\"}}", 50, "murmur2",
          40, "crc32", 36, true },
        { "node-rdkafka #817", "fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, "murmur2", 26, "crc32", 23, false },
        { "node-sinek #39", "wu", 10, "murmur2", 0, "murmur2-seed0", 5, true },
        { "kafka-go's \"20\"", "20", 16, "fnv1a-abs", 1, "fnv1a-unsigned", 15, true },
};

static bool holds_wrong_answer(const struct vectors *vectors, const struct report *report)
{
        for (size_t i = 0; i < vectors->cnt; i++) {
                const struct vector *vector = &vectors->at[i];

                if (vector->invalid && vector->key_len == strlen(report->key) &&
                    !memcmp(vector->key, report->key, vector->key_len) && vector->answer_cnt == 1 &&
                    vector->answers[0].partition_cnt == report->partition_cnt &&
                    vector->answers[0].partition == report->wrong)
                        return true;
        }
        return false;
}

static void test_report_is_explained(void **state)
{
        const struct report *report = *state;
        struct vectors *vectors = vectors_load(report->right_hash);

        assert_int_equal(partition_by(report->right_hash, report->key, report->partition_cnt), report->right);
        assert_int_equal(partition_by(report->wrong_hash, report->key, report->partition_cnt), report->wrong);
        assert_int_not_equal(report->right, report->wrong);
        assert_true(holds_wrong_answer(vectors, report) == report->seen);
        vectors_free(vectors);
}

/* ---- properties ----------------------------------------------------------------------------------------------- */

/* xorshift64: the same keys in every run. */
static uint64_t next_random(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static void test_random_keys_hash_as_the_reference_does(void **state)
{
        const kr_hash_t *murmur2 = kr_hash_find("murmur2-unsigned");
        const kr_hash_t *crc32 = kr_hash_find("crc32");
        const kr_hash_t *fnv1a = kr_hash_find("fnv1a-unsigned");
        unsigned char buffer[8 + 300];
        uint64_t seed = 0x6b6579726f757465u;

        (void)state;
        for (int i = 0; i < 20000; i++) {
                size_t len = next_random(&seed) % 301;
                unsigned char *key = buffer + next_random(&seed) % 8;

                for (size_t b = 0; b < len; b++)
                        key[b] = (unsigned char)(next_random(&seed) >> 24);
                assert_int_equal(kr_hash_value(murmur2, key, len), reference_murmur2(key, len));
                assert_int_equal(kr_hash_value(crc32, key, len), reference_crc32(key, len));
                assert_int_equal(kr_hash_value(fnv1a, key, len), reference_fnv1a(key, len));
        }
}

static void test_partition_is_the_value_modulo_any_count(void **state)
{
        const kr_hash_t *hash;
        uint64_t seed = 42;

        (void)state;
        for (size_t i = 0; (hash = kr_hash_at(i)) && kr_hash_is_client(hash); i++) {
                struct ours ours = ours_of(kr_hash_name(hash));

                for (int n = 0; n < 2000; n++) {
                        uint64_t key = next_random(&seed);
                        int32_t small = 1 + (int32_t)(next_random(&seed) % 100);
                        int32_t large = 1 + (int32_t)(next_random(&seed) % INT32_MAX);
                        uint64_t h = kr_hash_value(hash, &key, sizeof(key));

                        assert_true(h <= UINT32_MAX);
                        assert_int_equal(partition(&ours, &key, sizeof(key), small), h % (uint64_t)small);
                        assert_int_equal(partition(&ours, &key, sizeof(key), large), h % (uint64_t)large);
                        assert_int_equal(partition(&ours, &key, sizeof(key), 1), 0);
                        /* A count that changed in between leaves no trace. */
                        assert_int_equal(partition(&ours, &key, sizeof(key), small), h % (uint64_t)small);
                }
                kr_policy_free(ours.policy);
        }
}

struct share {
        const struct vectors *vectors;
        const struct ours *ours;
        struct verdict verdict;
};

static void *check_in_thread(void *arg)
{
        struct share *share = arg;

        share->verdict =
                vectors_check(share->vectors, &(struct implementation){ share->ours, value, partition }, 1, NULL);
        return NULL;
}

static void test_threads_share_one_policy(void **state)
{
        struct ours ours = ours_of("murmur2");
        struct vectors *vectors = vectors_load("murmur2");
        struct share shares[4];
        pthread_t threads[4];

        (void)state;
        for (int i = 0; i < 4; i++) {
                shares[i] = (struct share){ .vectors = vectors, .ours = &ours };
                assert_int_equal(pthread_create(&threads[i], NULL, check_in_thread, &shares[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
                assert_int_equal(pthread_join(threads[i], NULL), 0);
                if (shares[i].verdict.failed)
                        fail_msg("thread %d: %s", i, shares[i].verdict.first);
        }
        vectors_free(vectors);
        kr_policy_free(ours.policy);
}

int main(void)
{
        static const struct CMUnitTest fixed[] = {
                cmocka_unit_test(test_no_pointer_is_the_empty_key),
                cmocka_unit_test(test_random_keys_hash_as_the_reference_does),
                cmocka_unit_test(test_partition_is_the_value_modulo_any_count),
                cmocka_unit_test(test_threads_share_one_policy),
        };
        static struct CMUnitTest tests[MAX_HASHES];
        const size_t fixed_cnt = sizeof(fixed) / sizeof(fixed[0]);
        const size_t report_cnt = sizeof(reports) / sizeof(reports[0]);
        const kr_hash_t *hash;
        size_t cnt = 0;

        for (size_t i = 0; (hash = kr_hash_at(i)) && cnt + report_cnt + fixed_cnt < MAX_HASHES; i++)
                if (kr_hash_is_client(hash))
                        tests[cnt++] =
                                (struct CMUnitTest){ .name = kr_hash_name(hash),
                                                     .test_func = test_hash_gives_every_vector_at_every_alignment,
                                                     .initial_state = (void *)(uintptr_t)hash };
        for (size_t i = 0; i < report_cnt; i++)
                tests[cnt++] = (struct CMUnitTest){ .name = reports[i].name,
                                                    .test_func = test_report_is_explained,
                                                    .initial_state = (void *)(uintptr_t)&reports[i] };
        memcpy(tests + cnt, fixed, sizeof(fixed));
        /* cmocka_run_group_tests() takes its count from an array's size; unused rows have no function and are left out.
         */
        return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
