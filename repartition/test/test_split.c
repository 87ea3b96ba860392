#include "decide/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 20000, PARTITIONS = 6 };

/* Key i has i % 5 + 1 records; those of every seventh key change partition, the last one alone. */
static unsigned pass(struct rp_split *split)
{
        unsigned records = 0;

        for (unsigned round = 0; round < 5; round++)
                for (unsigned i = 0; i < KEYS; i++) {
                        char key[16];
                        unsigned cnt = i % 5 + 1;
                        int32_t partition = (int32_t)(i % PARTITIONS);

                        if (round >= cnt)
                                continue;
                        if (i % 7 == 0 && cnt > 1 && round == cnt - 1)
                                partition = (partition + 1) % PARTITIONS;
                        assert_true(rp_split_add(split, key, (size_t)snprintf(key, sizeof(key), "key-%u", i), partition));
                        records++;
                }
        return records;
}

static unsigned count(size_t memory_bytes)
{
        struct rp_split split;
        unsigned split_keys = 0, split_records = 0;

        for (unsigned i = 0; i < KEYS; i += 7) {
                split_keys += i % 5 > 0;
                split_records += i % 5 > 0 ? i % 5 + 1 : 0;
        }
        assert_true(rp_split_init(&split, memory_bytes));
        do
                pass(&split);
        while (rp_split_next_pass(&split));
        assert_int_equal(split.keys, KEYS);
        assert_int_equal(split.split_keys, split_keys);
        assert_int_equal(split.split_records, split_records);
        if (memory_bytes > 1 << 16)
                assert_true(split.slot_cnt * sizeof(*split.slots) * 3 / 2 <= memory_bytes);
        rp_split_release(&split);
        return split.passes;
}

static void test_counts_are_exact_however_little_memory_there_is(void **state)
{
        (void)state;
        assert_int_equal(count(16 << 20), 1);
        assert_true(count(256 << 10) > 1);
        assert_true(count(0) > 20);
}

static void test_the_empty_key_is_a_key(void **state)
{
        struct rp_split split;

        (void)state;
        assert_true(rp_split_init(&split, 1 << 20));
        assert_true(rp_split_add(&split, NULL, 0, 1));
        assert_true(rp_split_add(&split, "", 0, 1));
        assert_true(rp_split_add(&split, "a", 1, 2));
        assert_true(rp_split_add(&split, "", 0, 3));
        assert_false(rp_split_next_pass(&split));
        assert_int_equal(split.keys, 2);
        assert_int_equal(split.split_keys, 1);
        assert_int_equal(split.split_records, 3);
        rp_split_release(&split);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts_are_exact_however_little_memory_there_is),
                cmocka_unit_test(test_the_empty_key_is_a_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
