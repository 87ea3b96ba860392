/* Every planted mistake is caught by the golden vectors, through the checker that our own functions pass. */
#include "doubles.h"
#include "keyroute.h"
#include "reference.h"
#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLES = 63 };

static struct vectors *vectors;

static int load(void **state)
{
        (void)state;
        vectors = vectors_load("murmur2");
        return 0;
}

static int unload(void **state)
{
        (void)state;
        vectors_free(vectors);
        return 0;
}

/* The cells of the base table: its 46 keys, for its 11 counts. The numbers in doubles.c are of these alone. */
static bool in_base_table(const struct vector *vector, int32_t partition_cnt)
{
        static const int32_t counts[] = { 1, 2, 3, 6, 7, 12, 30, 50, 64, 96, 1000 };

        if (strcmp(vector->group, "base") != 0)
                return false;
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
                if (counts[i] == partition_cnt)
                        return true;
        return false;
}

static void test_double_is_caught(void **state)
{
        const wrong_t *wrong = *state;
        const struct implementation impl = { wrong, NULL, wrong_partition };
        struct verdict base = vectors_check(vectors, &impl, 1, in_base_table);
        struct verdict all = vectors_check(vectors, &impl, 1, NULL);

        assert_int_equal(base.failed, wrong_caught_cnt(wrong));
        assert_true(all.failed > 0);
        assert_true(all.failed >= base.failed);
        assert_true(all.first[0] != '\0');
}

static int32_t reference_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        (void)self;
        return (int32_t)((reference_murmur2(key, key_len) & 0x7fffffffu) % (uint32_t)partition_cnt);
}

static int32_t our_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        return kr_rule_partition(self, key, key_len, partition_cnt);
}

/* Without this a checker that fails everything would pass the 63 tests. */
static void test_right_implementations_pass(void **state)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &err);
        const struct implementation right[] = {
                { kr_policy_rule(policy, "any"), NULL, our_partition },
                { NULL, NULL, reference_partition },
        };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct verdict verdict = vectors_check(vectors, &right[i], 1, NULL);

                if (verdict.failed)
                        fail_msg("%s", verdict.first);
                assert_true(verdict.asked > 5000);
        }
        assert_int_equal(vectors_check(vectors, &right[0], 1, in_base_table).asked, 46 * 11);
        kr_policy_free(policy);
}

int main(void)
{
        static struct CMUnitTest tests[DOUBLES + 1];
        const wrong_t *wrong;

        tests[0] = (struct CMUnitTest)cmocka_unit_test(test_right_implementations_pass);
        for (size_t i = 0; (wrong = wrong_at(i)); i++) {
                if (i == DOUBLES)
                        abort();
                tests[1 + i] = (struct CMUnitTest){ .name = wrong_name(wrong),
                                                    .test_func = test_double_is_caught,
                                                    .initial_state = (void *)(uintptr_t)wrong };
        }
        return cmocka_run_group_tests_name("doubles", tests, load, unload);
}
