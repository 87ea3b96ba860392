/* The table of hash functions: names, and what it says about clients. The values themselves: test_vectors.c. */
#include "keyroute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ctype.h>
#include <string.h>

/* What clients of each function do with records that have nothing to hash, read from or seen in the clients themselves.
 */
static const struct {
        const char *name;
        kr_keyless_t null_key, empty_key;
} clients[] = {
        { "murmur2", KR_SPREAD, KR_HASHED }, /* Java; librdkafka's murmur2_random hashes the empty key too    */
        { "crc32", KR_SPREAD, KR_SPREAD },   /* librdkafka's consistent_random: an empty key is no key        */
        { "crc32-signed-abs", KR_SPREAD, KR_HASHED }, /* Sarama: NULL at random */
        { "fnv1a-abs", KR_SPREAD, KR_HASHED },
        { "fnv1a-masked", KR_SPREAD, KR_HASHED },
        { "fnv1a-unsigned", KR_SPREAD, KR_HASHED },
        { "murmur2-unsigned", KR_SPREAD, KR_HASHED }, /* @platformatic/kafka: NULL round robin, no partitioner asked */
        { "murmur2-abs", KR_SPREAD, KR_HASHED },
        { "murmur2-seed0", KR_SPREAD, KR_HASHED },
        { "kafkajs-legacy", KR_SPREAD, KR_HASHED }, /* NULL round robin over available partitions                    */
        { "java-string-hash", KR_REFUSED, KR_HASHED },
        { "java-bytes-hash", KR_SPREAD, KR_HASHED },
        { "kafka-python-old", KR_HASHED, KR_HASHED }, /* str(None) is a text like any other */
};

static const size_t client_cnt = sizeof(clients) / sizeof(clients[0]);

static void test_every_client_function_is_there_with_its_rules(void **state)
{
        size_t found = 0;
        const kr_hash_t *hash;

        (void)state;
        for (size_t i = 0; i < client_cnt; i++) {
                hash = kr_hash_find(clients[i].name);
                if (!hash)
                        fail_msg("%s is missing", clients[i].name);
                assert_true(kr_hash_is_client(hash));
                assert_int_equal(kr_hash_null_key(hash), clients[i].null_key);
                assert_int_equal(kr_hash_empty_key(hash), clients[i].empty_key);
        }
        for (size_t i = 0; (hash = kr_hash_at(i)); i++)
                found += kr_hash_is_client(hash);
        assert_int_equal(found, client_cnt);
}

static void test_names_are_unique_and_found(void **state)
{
        const kr_hash_t *hash, *other;

        (void)state;
        assert_string_equal(kr_hash_name(kr_hash_at(0)), "murmur2"); /* the default stands first */
        for (size_t i = 0; (hash = kr_hash_at(i)); i++) {
                const char *name = kr_hash_name(hash);

                assert_ptr_equal(kr_hash_find(name), hash);
                assert_true(islower((unsigned char)name[0]));
                for (const char *c = name; *c; c++)
                        assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-');
                for (size_t j = 0; (other = kr_hash_at(j)); j++)
                        assert_true((i == j) == !strcmp(name, kr_hash_name(other)));
        }
}

static void test_other_names_are_not_found(void **state)
{
        static const char *const wrong[] = { "",           "murmur",   "murmur22",      "Murmur2",
                                             "murmur2 ",   " murmur2", "MURMUR2",       "murmur2_random",
                                             "consistent", "fnv1a",    "kafkajs_legacy" };

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                assert_null(kr_hash_find(wrong[i]));
        assert_null(kr_hash_at((size_t)-1));
}

static void expect_one_line(const char *text)
{
        size_t len = strlen(text);

        assert_true(len > 0);
        assert_false(isspace((unsigned char)text[0]) || isspace((unsigned char)text[len - 1]));
        for (size_t i = 0; i < len; i++)
                assert_true(isprint((unsigned char)text[i]));
}

static void test_texts_are_one_line_each(void **state)
{
        const kr_hash_t *hash;

        (void)state;
        for (size_t i = 0; (hash = kr_hash_at(i)); i++) {
                expect_one_line(kr_hash_clients(hash));
                expect_one_line(kr_hash_fix(hash));
        }
}

static void test_functions_differ_on_some_key(void **state)
{
        static const char *const keys[] = { "user-1", "order-42", "21", "kafka", "abc", "100:48069", "wu" };

        (void)state;
        for (size_t i = 0; i < client_cnt; i++) {
                for (size_t j = i + 1; j < client_cnt; j++) {
                        int differs = 0;

                        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
                                differs |= kr_hash_value(kr_hash_find(clients[i].name), keys[k], strlen(keys[k])) !=
                                           kr_hash_value(kr_hash_find(clients[j].name), keys[k], strlen(keys[k]));
                        if (!differs)
                                fail_msg("%s and %s are one function", clients[i].name, clients[j].name);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_client_function_is_there_with_its_rules),
                cmocka_unit_test(test_names_are_unique_and_found),
                cmocka_unit_test(test_other_names_are_not_found),
                cmocka_unit_test(test_texts_are_one_line_each),
                cmocka_unit_test(test_functions_differ_on_some_key),
        };

        return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
