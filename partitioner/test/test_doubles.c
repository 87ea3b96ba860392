/* Every planted mistake is caught by the golden vectors, through the checker that our own functions pass. */
#include "doubles.h"
#include "keyroute.h"
#include "reference.h"
#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLES = 64 };

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

/* Without this a checker that fails everything would pass the 64 tests. */
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

/* ---- which vector catches which double -------------------------------------------------------------------------- */

enum { MAX_CLIENT_HASHES = 32 };

/*
 * One who has a file's function wrong: a double as it is (against Java's function), its mistake in the key or the reduction
 * made with that function, or the function of another file.
 */
struct mistaken {
        const char *kind, *name;
        const wrong_t *wrong;   /* NULL: the function of rule */
        const kr_rule_t *rule;  /* what wrong is made over; NULL: nothing */
        const struct vector *vector;
};

static int32_t mistaken_partition(const void *self, const void *key, size_t key_len, int32_t partition_cnt)
{
        const struct mistaken *who = self;

        if (!who->wrong)
                return our_partition(who->rule, key, key_len, partition_cnt);
        if (!who->rule)
                return wrong_partition(who->wrong, key, key_len, partition_cnt);
        if (wrong_step(who->wrong) == WRONG_KEY)
                return wrong_partition_over(who->wrong, our_partition, who->rule, key, key_len, partition_cnt);
        return wrong_reduced(who->wrong, who->vector->raw, partition_cnt);
}

static bool catches(const struct vector *vector, struct mistaken who)
{
        who.vector = vector;
        return !vector_passes(vector, &(struct implementation){ &who, NULL, mistaken_partition });
}

/* The functions of all files, by policies that route with them. */
static struct functions {
        kr_policy_t *policy[MAX_CLIENT_HASHES];
        const char *name[MAX_CLIENT_HASHES];
        size_t cnt;
} functions;

static int load_functions(void **state)
{
        const kr_hash_t *hash;
        struct kr_error err;

        (void)state;
        for (size_t i = 0; (hash = kr_hash_at(i)); i++) {
                if (!kr_hash_is_client(hash))
                        continue;
                assert_true(functions.cnt < MAX_CLIENT_HASHES);
                functions.name[functions.cnt] = kr_hash_name(hash);
                functions.policy[functions.cnt] = kr_policy_from_hash(kr_hash_name(hash), &err);
                assert_non_null(functions.policy[functions.cnt++]);
        }
        return load(state);
}

static int unload_functions(void **state)
{
        for (size_t i = 0; i < functions.cnt; i++)
                kr_policy_free(functions.policy[i]);
        functions.cnt = 0;
        return unload(state);
}

static const kr_rule_t *function(size_t i)
{
        return kr_policy_rule(functions.policy[i], "any");
}

/* @returns the i-th who has file's function wrong, kind NULL past the end */
static struct mistaken mistaken_at(size_t file, const char *reduction, size_t i)
{
        static const char *const kinds[] = { [WRONG_KEY] = "key", [WRONG_HASH] = "hash", [WRONG_REDUCTION] = "reduction" };
        bool java = !strcmp(functions.name[file], "murmur2");
        const wrong_t *wrong;

        for (size_t d = 0; (wrong = wrong_at(d)); d++) {
                if (!java && (wrong_step(wrong) == WRONG_HASH || wrong_is_right_for(wrong, reduction)))
                        continue;
                if (i-- == 0)
                        return (struct mistaken){ kinds[wrong_step(wrong)], wrong_name(wrong), wrong,
                                                  java ? NULL : function(file), NULL };
        }
        for (size_t other = 0; other < functions.cnt; other++)
                if (other != file && i-- == 0)
                        return (struct mistaken){ "function", functions.name[other], NULL, function(other), NULL };
        return (struct mistaken){ 0 };
}

/* A vector that catches nobody says nothing: it costs every user time and hides those that do. */
static void test_every_vector_catches_somebody(void **state)
{
        (void)state;
        for (size_t file = 0; file < functions.cnt; file++) {
                struct vectors *of = vectors_load(functions.name[file]);

                for (size_t v = 0; v < of->cnt; v++) {
                        struct mistaken who = { 0 };
                        bool caught = false;

                        for (size_t i = 0; !caught && (who = mistaken_at(file, of->reduction, i)).kind; i++)
                                caught = catches(&of->at[v], who);
                        if (!caught)
                                fail_msg("%s, tcId %d (%s): %s: nobody is caught by it", functions.name[file],
                                         of->at[v].id, of->at[v].group, of->at[v].comment);
                }
                vectors_free(of);
        }
}

/* For interop-tests/vectors/catches: file, kind of mistake, name, and the vectors that catch it. */
static int report(void)
{
        load_functions(NULL);
        for (size_t file = 0; file < functions.cnt; file++) {
                struct vectors *of = vectors_load(functions.name[file]);
                struct mistaken who;

                for (size_t i = 0; (who = mistaken_at(file, of->reduction, i)).kind; i++) {
                        printf("%s\t%s\t%s\t", functions.name[file], who.kind, who.name);
                        for (size_t v = 0; v < of->cnt; v++)
                                if (catches(&of->at[v], who))
                                        printf("%d ", of->at[v].id);
                        putchar('\n');
                }
                vectors_free(of);
        }
        unload_functions(NULL);
        return 0;
}

int main(int argc, char **argv)
{
        static struct CMUnitTest tests[DOUBLES + 2];
        const wrong_t *wrong;

        if (argc == 2 && !strcmp(argv[1], "--report"))
                return report();
        tests[0] = (struct CMUnitTest)cmocka_unit_test(test_right_implementations_pass);
        tests[1] = (struct CMUnitTest)cmocka_unit_test(test_every_vector_catches_somebody);
        for (size_t i = 0; (wrong = wrong_at(i)); i++) {
                if (i == DOUBLES)
                        abort();
                tests[2 + i] = (struct CMUnitTest){ .name = wrong_name(wrong),
                                                    .test_func = test_double_is_caught,
                                                    .initial_state = (void *)(uintptr_t)wrong };
        }
        return cmocka_run_group_tests_name("doubles", tests, load_functions, unload_functions);
}
