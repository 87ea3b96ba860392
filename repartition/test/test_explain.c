/* decide/explain: the right producers are named with the right shares, and none is named without evidence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/dispersion.h"
#include "decide/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A topic being written: producers send keys, a sample watches. */
struct topic {
        rp_sample_t *sample;
        int32_t partition_cnt;
        int32_t seen_cnt; /* the partitions that are read, from 0 on; 0: all */
        struct rp_ways ways;
        kr_policy_t *judge;
        struct rp_explanation found;
        uint64_t random;
};

static uint32_t next(struct topic *topic)
{
        topic->random = topic->random * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(topic->random >> 33);
}

static void create(struct topic *topic, int32_t partition_cnt)
{
        struct kr_error kerr;
        struct rp_error err;

        *topic = (struct topic){ .partition_cnt = partition_cnt, .random = 42 };
        topic->sample = rp_sample_new(RP_SAMPLE_KEYS, RP_SAMPLE_BYTES);
        topic->judge = kr_policy_from_hash("murmur2", &kerr);
        assert_int_equal(rp_ways_init(&topic->ways, kr_policy_rule_at(topic->judge, 0), partition_cnt, &err), RP_OK);
}

static void put(struct topic *topic, const char *key, int32_t partition, int64_t time_ms)
{
        if (topic->seen_cnt && partition >= topic->seen_cnt)
                return;
        assert_true(rp_sample_add(topic->sample, rp_sample_hash(key, strlen(key)), key, strlen(key), partition, time_ms));
}

/* Keys first .. end-1 by a client of that hash when the topic had so many partitions. */
static void produce(struct topic *topic, const char *hash, int32_t partition_cnt, unsigned first, unsigned end)
{
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_from_hash(hash, &kerr);

        for (unsigned i = first; i < end; i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "order-%u", i);

                put(topic, key, kr_rule_partition(kr_policy_rule_at(policy, 0), key, (size_t)len, partition_cnt),
                    1000 + i);
        }
        kr_policy_free(policy);
}

/* Each key `times` times, wherever. */
static void scatter(struct topic *topic, unsigned first, unsigned end, unsigned times)
{
        for (unsigned i = first; i < end; i++)
                for (unsigned t = 0; t < times; t++) {
                        char key[32];

                        snprintf(key, sizeof(key), "order-%u", i);
                        put(topic, key, (int32_t)(next(topic) % (uint32_t)topic->partition_cnt), -1);
                }
}

static void explain(struct topic *topic)
{
        struct rp_error err;
        size_t cnt;
        const struct rp_sample_key *keys = rp_sample_keys(topic->sample, &cnt);

        rp_explanation_release(&topic->found);
        assert_int_equal(rp_explain(keys, cnt, topic->partition_cnt, &topic->ways, &topic->found, &err), RP_OK);
}

static void discard(struct topic *topic)
{
        rp_explanation_release(&topic->found);
        rp_ways_release(&topic->ways);
        rp_sample_free(topic->sample);
        kr_policy_free(topic->judge);
}

static void print_found(const struct topic *topic)
{
        print_message("state %d, %zu keys, %zu pairs, rest %s %.4f\n", topic->found.state, topic->found.keys,
                      topic->found.pairs, rp_rest_name(topic->found.rest), topic->found.rest_share);
        for (size_t i = 0; i < topic->found.cause_cnt; i++)
                print_message("  %s of %d: %.4f, sure %.6f, same as %zu\n", topic->found.causes[i].way->name,
                              topic->found.causes[i].partition_cnt, topic->found.causes[i].share,
                              topic->found.causes[i].confidence, topic->found.causes[i].same_as_cnt);
}

static const struct rp_cause *find_cause(const struct topic *topic, const char *hash, int32_t partition_cnt)
{
        for (size_t i = 0; i < topic->found.cause_cnt; i++)
                if (!strcmp(topic->found.causes[i].way->name, hash) &&
                    topic->found.causes[i].partition_cnt == partition_cnt)
                        return &topic->found.causes[i];
        return NULL;
}

static const struct rp_cause *assert_cause(const struct topic *topic, const char *hash, int32_t partition_cnt,
                                           double share, double tolerance)
{
        const struct rp_cause *cause = find_cause(topic, hash, partition_cnt);

        if (!cause || fabs(cause->share - share) > tolerance) {
                print_found(topic);
                fail_msg("expected %s of %d with a share of %.3f +- %.3f", hash, partition_cnt, share, tolerance);
        }
        return cause;
}

static void assert_causes(const struct topic *topic, size_t cnt)
{
        if (topic->found.state != RP_EXPLAINED || topic->found.cause_cnt != cnt) {
                print_found(topic);
                fail_msg("expected %zu causes, found %zu", cnt, topic->found.cause_cnt);
        }
}

static bool is_same_as(const struct rp_cause *cause, const char *hash)
{
        for (size_t i = 0; i < cause->same_as_cnt; i++)
                if (!strcmp(cause->same_as[i].way->name, hash) &&
                    cause->same_as[i].partition_cnt == cause->partition_cnt)
                        return true;
        return false;
}

static void test_every_client_is_recognised_alone(void **state)
{
        const kr_hash_t *hash;

        (void)state;
        for (size_t i = 0; (hash = kr_hash_at(i)); i++) {
                struct topic topic;
                const struct rp_cause *cause;

                if (!kr_hash_is_client(hash))
                        continue;
                create(&topic, 12);
                produce(&topic, kr_hash_name(hash), 12, 0, 500);
                explain(&topic);
                assert_causes(&topic, 1);
                cause = assert_cause(&topic, kr_hash_name(hash), 12, 1, 0);
                assert_int_equal(cause->same_as_cnt, 0);
                assert_string_equal(rp_confidence_word(cause->confidence), "yes");
                assert_true(cause->confidence < 1);
                assert_int_equal(topic.found.rest, RP_REST_NONE);
                assert_true(topic.found.rest_share == 0);
                /* All candidates are listed, by falling agreement. */
                assert_true(topic.found.function_cnt >= 13);
                assert_string_equal(topic.found.functions[0].way->name, kr_hash_name(hash));
                assert_int_equal(topic.found.functions[0].agree, 500);
                for (size_t f = 1; f < topic.found.function_cnt; f++)
                        assert_true(topic.found.functions[f].agree <= topic.found.functions[f - 1].agree);
                discard(&topic);
        }
}

static void test_two_producers(void **state)
{
        static const struct {
                unsigned minority;
                double tolerance;
        } cases[] = { { 5000, 0.01 }, { 1000, 0.005 }, { 100, 0.003 }, { 20, 0.001 } };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct topic topic;
                double share = cases[i].minority / 10000.0;
                const struct rp_cause *java, *crc;

                create(&topic, 12);
                produce(&topic, "crc32", 12, 0, cases[i].minority);
                produce(&topic, "murmur2", 12, cases[i].minority, 10000);
                explain(&topic);
                assert_causes(&topic, 2);
                crc = assert_cause(&topic, "crc32", 12, share, cases[i].tolerance);
                java = assert_cause(&topic, "murmur2", 12, 1 - share, cases[i].tolerance);
                assert_string_equal(rp_confidence_word(crc->confidence), "yes");
                /* Every misplaced record is the CRC's doing, and none is Java's. */
                assert_true(crc->misplaced_share > 0.999 && java->misplaced_share < 0.001);
                assert_non_null(strstr(crc->fix, "murmur2_random"));
                assert_int_equal(crc->first_ms >= 1000 && crc->last_ms < 1000 + (int64_t)cases[i].minority, 1);
                discard(&topic);
        }
}

/* The same keys by both: every key lives in two partitions, unless both functions agree on it. */
static void test_two_producers_of_the_same_keys(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 30);
        produce(&topic, "murmur2", 30, 0, 3000);
        produce(&topic, "fnv1a-abs", 30, 0, 3000);
        explain(&topic);
        assert_causes(&topic, 2);
        assert_cause(&topic, "murmur2", 30, 0.5, 0.01);
        assert_cause(&topic, "fnv1a-abs", 30, 0.5, 0.01);
        discard(&topic);
}

static void test_four_producers(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 50);
        produce(&topic, "murmur2", 50, 0, 4000);
        produce(&topic, "crc32", 50, 4000, 7000);
        produce(&topic, "fnv1a-abs", 50, 7000, 9000);
        produce(&topic, "murmur2-unsigned", 50, 9000, 10000);
        explain(&topic);
        assert_causes(&topic, 4);
        assert_cause(&topic, "murmur2", 50, 0.4, 0.015);
        assert_cause(&topic, "crc32", 50, 0.3, 0.01);
        assert_cause(&topic, "fnv1a-abs", 50, 0.2, 0.01);
        assert_cause(&topic, "murmur2-unsigned", 50, 0.1, 0.015);
        discard(&topic);
}

static void test_grown_topic(void **state)
{
        struct topic topic;
        const struct rp_cause *old;

        (void)state;
        create(&topic, 12);
        produce(&topic, "murmur2", 6, 0, 1500);
        produce(&topic, "murmur2", 12, 1500, 6000);
        explain(&topic);
        assert_causes(&topic, 2);
        assert_cause(&topic, "murmur2", 12, 0.75, 0.02);
        old = assert_cause(&topic, "murmur2", 6, 0.25, 0.02);
        assert_non_null(strstr(old->fix, "6 partitions"));
        discard(&topic);

        /* Grown twice, with another client beside. */
        create(&topic, 48);
        produce(&topic, "crc32", 12, 0, 800);
        produce(&topic, "crc32", 30, 800, 2000);
        produce(&topic, "murmur2", 48, 2000, 4000);
        explain(&topic);
        assert_causes(&topic, 3);
        assert_cause(&topic, "crc32", 12, 0.2, 0.02);
        assert_cause(&topic, "crc32", 30, 0.3, 0.02);
        assert_cause(&topic, "murmur2", 48, 0.5, 0.02);
        discard(&topic);

        /* Grown from one partition: no function can be named for the old records, and none is. */
        create(&topic, 12);
        produce(&topic, "crc32", 1, 0, 1000);
        produce(&topic, "murmur2", 12, 1000, 2000);
        explain(&topic);
        assert_causes(&topic, 1);
        assert_cause(&topic, "murmur2", 12, 0.5, 0.03);
        assert_int_equal(topic.found.rest, RP_REST_ONE_PARTITION);
        assert_int_equal(topic.found.rest_partition, 0);
        discard(&topic);
}

/* Of two functions a part of a topic shows such keys only as both an older count and the present one explain. */
static void test_a_part_of_a_topic_is_not_taken_for_an_older_one(void **state)
{
        (void)state;
        for (int32_t seen = 1; seen <= 11; seen++) {
                struct topic topic;

                create(&topic, 12);
                topic.seen_cnt = seen;
                produce(&topic, "murmur2", 12, 0, 1000);
                produce(&topic, "crc32", 12, 1000, 2000);
                explain(&topic);
                for (size_t i = 0; i < topic.found.cause_cnt; i++)
                        if (topic.found.causes[i].partition_cnt != 12) {
                                print_found(&topic);
                                fail_msg("%d partitions of 12 were taken for an older topic", seen);
                        }
                discard(&topic);
        }
}

static void test_large_partition_counts(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 1000);
        produce(&topic, "murmur2", 700, 0, 300);
        produce(&topic, "murmur2", 1000, 300, 2900);
        produce(&topic, "crc32", 1000, 2900, 3000);
        explain(&topic);
        assert_causes(&topic, 3);
        assert_cause(&topic, "murmur2", 700, 0.1, 0.01);
        assert_cause(&topic, "crc32", 1000, 1 / 30.0, 0.005);
        discard(&topic);
}

static void test_power_of_two_hides_sign_handling(void **state)
{
        struct topic topic;
        const struct rp_cause *cause;

        (void)state;
        create(&topic, 64);
        produce(&topic, "murmur2-unsigned", 64, 0, 3000);
        explain(&topic);
        assert_causes(&topic, 1);
        /* Named by the rule that judges, since that is in the class. */
        cause = assert_cause(&topic, "murmur2", 64, 1, 0);
        assert_true(is_same_as(cause, "murmur2-unsigned"));
        assert_false(is_same_as(cause, "murmur2-abs")); /* |h| differs: -h has other low bits */
        assert_true(cause->same_always);
        assert_string_equal(rp_confidence_word(cause->confidence), "yes");
        discard(&topic);

        create(&topic, 2);
        produce(&topic, "crc32", 2, 0, 3000);
        explain(&topic);
        cause = assert_cause(&topic, "crc32", 2, 1, 0);
        assert_true(is_same_as(cause, "crc32-signed-abs")); /* at 2 even |h| is the same */
        assert_true(cause->same_always);
        discard(&topic);
}

/* What the sample happens not to tell apart is something else: it is listed, but not as the same for ever. */
static void test_a_small_minority_is_a_class_too(void **state)
{
        struct topic topic;
        const struct rp_cause *cause = NULL;

        (void)state;
        create(&topic, 12);
        produce(&topic, "murmur2", 12, 0, 2000);
        produce(&topic, "crc32", 12, 2000, 2008);
        explain(&topic);
        assert_causes(&topic, 2);
        for (size_t i = 0; i < topic.found.cause_cnt; i++)
                if (strcmp(topic.found.causes[i].way->name, "murmur2"))
                        cause = &topic.found.causes[i];
        assert_non_null(cause);
        assert_true(!strcmp(cause->way->name, "crc32") || is_same_as(cause, "crc32"));
        assert_false(cause->same_always && cause->same_as_cnt);
        discard(&topic);
}

static void test_noise_is_not_explained_away(void **state)
{
        static const int32_t counts[] = { 2, 3, 12, 64, 500 };

        (void)state;
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                struct topic topic;

                create(&topic, counts[i]);
                scatter(&topic, 0, 1500, 6);
                explain(&topic);
                assert_causes(&topic, 0);
                assert_int_equal(topic.found.rest, RP_REST_KEYS_IGNORED);
                assert_true(topic.found.rest_share == 1);
                discard(&topic);
        }
}

/* Round robin over some partitions must not look like functions of a smaller count. */
static void test_uneven_noise(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 12);
        produce(&topic, "murmur2", 12, 0, 4500);
        topic.partition_cnt = 4;
        scatter(&topic, 4500, 4600, 5);
        topic.partition_cnt = 12;
        explain(&topic);
        assert_causes(&topic, 1);
        assert_int_equal(topic.found.rest, RP_REST_KEYS_IGNORED);
        discard(&topic);
}

static void test_function_beside_noise(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 12);
        produce(&topic, "crc32", 12, 0, 2000);
        scatter(&topic, 2000, 4000, 1);
        explain(&topic);
        assert_causes(&topic, 1);
        assert_cause(&topic, "crc32", 12, 0.5, 0.03);
        assert_true(fabs(topic.found.rest_share - 0.5) < 0.03);
        assert_int_equal(topic.found.rest, RP_REST_SEEN_ONCE);
        discard(&topic);
}

static void test_unknown_function(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 12);
        for (unsigned i = 0; i < 1000; i++) {
                char key[32];

                snprintf(key, sizeof(key), "order-%u", i);
                for (int t = 0; t < 3; t++)
                        put(&topic, key, (int32_t)(i * 2654435761u >> 16) % 12, -1);
        }
        explain(&topic);
        assert_causes(&topic, 0);
        assert_int_equal(topic.found.rest, RP_REST_OTHER_FUNCTION);
        discard(&topic);
}

/*
 * Numbered keys, placed by their number: the polynomial hashes read the same digits and agree with it more often than
 * chance has it, and so do those of smaller counts. None of them did it.
 */
static void test_a_likeness_is_no_cause(void **state)
{
        static const int32_t counts[] = { 4, 10, 12, 64 };
        static const char *const forms[] = { "customer-%u", "%u", "%x" };

        (void)state;
        for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
                for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
                        struct topic topic;

                        create(&topic, counts[c]);
                        for (unsigned i = 0; i < 2500; i++) {
                                char key[32];

                                snprintf(key, sizeof(key), f == 0 ? "customer-%u" : f == 1 ? "%u" : "%x", i);
                                put(&topic, key, (int32_t)i % counts[c], -1);
                                put(&topic, key, (int32_t)i % counts[c], -1);
                        }
                        explain(&topic);
                        if (topic.found.cause_cnt)
                                print_message("%s, %d partitions\n", forms[f], counts[c]);
                        assert_causes(&topic, 0);
                        assert_int_equal(topic.found.rest, RP_REST_OTHER_FUNCTION);
                        discard(&topic);
                }
}

/* But a function beside one that is like it is found. */
static void test_a_cause_beside_its_likeness(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 12);
        for (unsigned i = 0; i < 2000; i++) {
                char key[32];

                snprintf(key, sizeof(key), "order-%u", i);
                put(&topic, key, (int32_t)i % 12, -1);
        }
        produce(&topic, "java-string-hash", 12, 2000, 3000);
        produce(&topic, "murmur2", 12, 3000, 3300);
        explain(&topic);
        assert_non_null(find_cause(&topic, "murmur2", 12));
        assert_non_null(find_cause(&topic, "java-string-hash", 12));
        assert_true(find_cause(&topic, "java-string-hash", 12)->share > 0.25);
        assert_causes(&topic, 2);
        discard(&topic);
}

/*
 * Producers have keys of their own. Here the unexplained keys are of another form than the explained ones, and on the
 * latter two functions are one: which of the two is right by chance more often on the former says nothing.
 */
static void test_producers_with_keys_of_their_own(void **state)
{
        static const struct {
                const char *hash, *mine, *theirs;
                int32_t partition_cnt;
        } cases[] = {
                { "kafka-python-old", "\303\234n\303\257-%u", "\303\234n\303\257-1%03u", 4 },
                { "java-string-hash", "1000%03u", "1001%03u", 30 },
                { "murmur2", "order-%u", "\303\234%u", 12 },
        };

        (void)state;
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                struct kr_error kerr;
                kr_policy_t *policy = kr_policy_from_hash(cases[c].hash, &kerr);
                struct topic topic;

                create(&topic, cases[c].partition_cnt);
                for (unsigned i = 0; i < 1300; i++) {
                        char key[32];
                        int len = snprintf(key, sizeof(key), i < 1000 ? cases[c].mine : cases[c].theirs, i % 1000);

                        put(&topic, key,
                            i < 1000 ? kr_rule_partition(kr_policy_rule_at(policy, 0), key, (size_t)len,
                                                         cases[c].partition_cnt) :
                                       (int32_t)(next(&topic) % (uint32_t)cases[c].partition_cnt), -1);
                }
                explain(&topic);
                assert_causes(&topic, 1);
                if (strcmp(topic.found.causes[0].way->name, cases[c].hash) &&
                    !is_same_as(&topic.found.causes[0], cases[c].hash)) {
                        print_found(&topic);
                        fail_msg("%s was not found", cases[c].hash);
                }
                discard(&topic);
                kr_policy_free(policy);
        }
}

static void test_dispersion(void **state)
{
        enum { CNT = 20000, N = 12 };
        int32_t *predicted = malloc(CNT * sizeof(*predicted)), *seen = malloc(CNT * sizeof(*seen));
        unsigned char *is_explained = malloc(CNT);
        struct topic topic = { .random = 7 };

        (void)state;
        for (size_t i = 0; i < CNT; i++) { /* independent, and very uneven */
                uint32_t draw = next(&topic) % 100;

                predicted[i] = (int32_t)(next(&topic) % N);
                seen[i] = draw < 60 ? 3 : draw < 90 ? 4 : (int32_t)(draw % N);
                is_explained[i] = predicted[i] == seen[i];
        }
        assert_true(rp_dispersion(predicted, seen, is_explained, CNT, N, N) < 2);
        assert_true(rp_dispersion(predicted, seen, is_explained, 29, N, N) == 1); /* too few to tell */
        for (size_t i = 0; i < CNT; i++) { /* even goes to even */
                seen[i] = (predicted[i] + 2 * (int32_t)(next(&topic) % (N / 2))) % N;
                is_explained[i] = predicted[i] == seen[i];
        }
        assert_true(rp_dispersion(predicted, seen, is_explained, CNT, N, N) > 100);
        for (size_t i = 0; i < CNT; i++) { /* an older count; what is left never was where it sends to partition 0 */
                predicted[i] = (int32_t)(next(&topic) % 6);
                seen[i] = predicted[i] == 0 ? 0 : (int32_t)(next(&topic) % N);
                is_explained[i] = predicted[i] == seen[i];
        }
        assert_true(rp_dispersion(predicted, seen, is_explained, CNT, 6, N) > 30);
        free(predicted);
        free(seen);
        free(is_explained);
}

static void test_one_partition_by_hand(void **state)
{
        struct topic topic;

        (void)state;
        create(&topic, 12);
        for (unsigned i = 0; i < 1000; i++) {
                char key[32];

                snprintf(key, sizeof(key), "order-%u", i);
                put(&topic, key, 5, -1);
        }
        explain(&topic);
        assert_causes(&topic, 0);
        assert_int_equal(topic.found.rest, RP_REST_ONE_PARTITION);
        assert_int_equal(topic.found.rest_partition, 5);
        discard(&topic);
}

static void test_never_from_too_few_keys(void **state)
{
        static const struct {
                int32_t partitions;
                unsigned keys;
                bool enough;
        } cases[] = { { 12, 1, false }, { 12, 9, false }, { 12, 10, true }, { 2, 10, false }, { 2, 20, true },
                      { 100000, 1, false } };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct topic topic;

                create(&topic, cases[i].partitions);
                for (int t = 0; t < 1000; t++) /* a thousand records are no more evidence than one */
                        produce(&topic, "murmur2", cases[i].partitions, 0, cases[i].keys);
                explain(&topic);
                if (cases[i].enough) {
                        assert_causes(&topic, 1);
                        assert_cause(&topic, "murmur2", cases[i].partitions, 1, 0);
                } else {
                        assert_int_equal(topic.found.state, RP_UNDETERMINED);
                        assert_int_equal(topic.found.cause_cnt, 0);
                        /* With as many more as it asks for, it knows. */
                        produce(&topic, "murmur2", cases[i].partitions, cases[i].keys,
                                cases[i].keys + (unsigned)topic.found.keys_needed);
                        explain(&topic);
                        assert_causes(&topic, 1);
                }
                discard(&topic);
        }
}

static void test_nothing_to_go_by(void **state)
{
        struct topic topic;
        char *key = calloc(1, RP_SAMPLE_KEY_MAX + 2);

        (void)state;
        create(&topic, 12);
        explain(&topic);
        assert_int_equal(topic.found.state, RP_NO_KEYS);
        /* Empty keys are no evidence: some clients hash them, some spread them. */
        for (int i = 0; i < 100; i++)
                put(&topic, "", 9, -1);
        explain(&topic);
        assert_int_equal(topic.found.state, RP_NO_KEYS);
        /* Nor are keys whose bytes are not kept, but they are counted. */
        memset(key, 'k', RP_SAMPLE_KEY_MAX + 1);
        for (int i = 0; i < 100; i++) {
                key[0] = (char)i;
                assert_true(rp_sample_add(topic.sample, rp_sample_hash(key, RP_SAMPLE_KEY_MAX + 1), key,
                                          RP_SAMPLE_KEY_MAX + 1, i % 12, -1));
        }
        explain(&topic);
        assert_int_equal(topic.found.state, RP_NO_KEYS);
        assert_true(topic.found.long_keys >= 99);
        discard(&topic);

        create(&topic, 1);
        produce(&topic, "murmur2", 1, 0, 100);
        explain(&topic);
        assert_int_equal(topic.found.state, RP_ONE_PARTITION);
        discard(&topic);
        free(key);
}

static void test_a_policy_of_our_own_is_a_candidate(void **state)
{
        static const char json[] = "{\"keyroute\":1,\"topics\":{\"t\":{\"partitions\":12,\"key\":{\"use\":\"field\","
                                   "\"delimiter\":\"-\",\"index\":1}}}}";
        struct topic topic;
        struct kr_error kerr;
        struct rp_error err;
        kr_policy_t *policy = kr_policy_parse(json, strlen(json), "p.json", &kerr);

        (void)state;
        if (!policy)
                fail_msg("%s", kerr.text);
        create(&topic, 12);
        rp_ways_release(&topic.ways);
        assert_int_equal(rp_ways_init(&topic.ways, kr_policy_rule_at(policy, 0), 12, &err), RP_OK);
        for (unsigned i = 0; i < 1000; i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "order-%u", i);

                put(&topic, key, kr_rule_partition(kr_policy_rule_at(policy, 0), key, (size_t)len, 12), -1);
        }
        produce(&topic, "murmur2", 12, 1000, 2000);
        explain(&topic);
        assert_causes(&topic, 2);
        assert_cause(&topic, kr_rule_describe(kr_policy_rule_at(policy, 0)), 12, 0.5, 0.02);
        assert_cause(&topic, "murmur2", 12, 0.5, 0.02);
        discard(&topic);
        kr_policy_free(policy);
}

/* A pinned policy that is Java's rule all the same is no second candidate. */
static void test_a_pinned_plain_rule_is_known(void **state)
{
        static const char json[] = "{\"keyroute\":1,\"topics\":{\"t\":{\"partitions\":12,\"hash\":\"crc32\"}}}";
        struct rp_ways ways;
        struct kr_error kerr;
        struct rp_error err;
        kr_policy_t *policy = kr_policy_parse(json, strlen(json), "p.json", &kerr);

        (void)state;
        assert_int_equal(rp_ways_init(&ways, kr_policy_rule_at(policy, 0), 12, &err), RP_OK);
        assert_string_equal(ways.list[ways.judge].name, "crc32");
        rp_ways_release(&ways);
        kr_policy_free(policy);
}

static void test_order_and_merging_make_no_difference(void **state)
{
        struct topic a, b;
        rp_sample_t *part;

        (void)state;
        create(&a, 12);
        produce(&a, "murmur2", 12, 0, 30000);
        produce(&a, "crc32", 12, 20000, 40000);
        explain(&a);
        create(&b, 12);
        produce(&b, "crc32", 12, 20000, 40000);
        part = b.sample;
        b.sample = rp_sample_new(RP_SAMPLE_KEYS, RP_SAMPLE_BYTES);
        produce(&b, "murmur2", 12, 0, 30000);
        assert_true(rp_sample_merge(b.sample, part));
        rp_sample_free(part);
        explain(&b);
        assert_int_equal(a.found.cause_cnt, 2);
        assert_int_equal(b.found.cause_cnt, 2);
        for (size_t i = 0; i < 2; i++) { /* to the last bit */
                assert_string_equal(a.found.causes[i].way->name, b.found.causes[i].way->name);
                assert_true(a.found.causes[i].share == b.found.causes[i].share);
                assert_true(a.found.causes[i].records_share == b.found.causes[i].records_share);
                assert_true(a.found.causes[i].confidence == b.found.causes[i].confidence);
        }
        discard(&a);
        discard(&b);
}

/* One key with a million records is one key: shares are of keys, and records are told apart from them. */
static void test_hot_keys_do_not_vote_twice(void **state)
{
        struct topic topic;
        const struct rp_cause *crc;

        (void)state;
        create(&topic, 12);
        produce(&topic, "murmur2", 12, 0, 1000);
        for (int t = 0; t < 999; t++)
                produce(&topic, "crc32", 12, 2000, 2001);
        produce(&topic, "crc32", 12, 2000, 2100);
        explain(&topic);
        assert_causes(&topic, 2);
        crc = assert_cause(&topic, "crc32", 12, 1 / 11.0, 0.01);
        assert_true(crc->records_share > 0.5);
        discard(&topic);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_client_is_recognised_alone),
                cmocka_unit_test(test_two_producers),
                cmocka_unit_test(test_two_producers_of_the_same_keys),
                cmocka_unit_test(test_four_producers),
                cmocka_unit_test(test_grown_topic),
                cmocka_unit_test(test_a_part_of_a_topic_is_not_taken_for_an_older_one),
                cmocka_unit_test(test_large_partition_counts),
                cmocka_unit_test(test_power_of_two_hides_sign_handling),
                cmocka_unit_test(test_a_small_minority_is_a_class_too),
                cmocka_unit_test(test_noise_is_not_explained_away),
                cmocka_unit_test(test_uneven_noise),
                cmocka_unit_test(test_function_beside_noise),
                cmocka_unit_test(test_unknown_function),
                cmocka_unit_test(test_a_likeness_is_no_cause),
                cmocka_unit_test(test_a_cause_beside_its_likeness),
                cmocka_unit_test(test_producers_with_keys_of_their_own),
                cmocka_unit_test(test_dispersion),
                cmocka_unit_test(test_one_partition_by_hand),
                cmocka_unit_test(test_never_from_too_few_keys),
                cmocka_unit_test(test_nothing_to_go_by),
                cmocka_unit_test(test_a_policy_of_our_own_is_a_candidate),
                cmocka_unit_test(test_a_pinned_plain_rule_is_known),
                cmocka_unit_test(test_order_and_merging_make_no_difference),
                cmocka_unit_test(test_hot_keys_do_not_vote_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
