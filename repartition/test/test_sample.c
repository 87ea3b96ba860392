/* decide/sample: the same sample whatever the order, merged from any parts, within its limits, and an honest count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A small generator with a fixed seed: the tests are the same on every machine. */
static uint64_t next(uint64_t *state)
{
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return *state >> 33;
}

struct row {
        char key[24];
        int32_t partition;
        int64_t time_ms;
};

static struct row *make_rows(size_t cnt, size_t key_cnt, uint64_t seed)
{
        struct row *rows = malloc(cnt * sizeof(*rows));

        assert_non_null(rows);
        for (size_t i = 0; i < cnt; i++) {
                snprintf(rows[i].key, sizeof(rows[i].key), "key-%llu", (unsigned long long)(next(&seed) % key_cnt));
                rows[i].partition = (int32_t)(next(&seed) % 12);
                rows[i].time_ms = next(&seed) % 8 ? (int64_t)(next(&seed) % 1000000) : -1;
        }
        return rows;
}

static void shuffle(struct row *rows, size_t cnt, uint64_t seed)
{
        for (size_t i = cnt; i > 1; i--) {
                size_t j = next(&seed) % i;
                struct row row = rows[i - 1];

                rows[i - 1] = rows[j];
                rows[j] = row;
        }
}

static void add_rows(rp_sample_t *sample, const struct row *rows, size_t cnt)
{
        for (size_t i = 0; i < cnt; i++) {
                size_t len = strlen(rows[i].key);

                assert_true(rp_sample_add(sample, rp_sample_hash(rows[i].key, len), rows[i].key, len, rows[i].partition,
                                          rows[i].time_ms));
        }
}

static void assert_same(rp_sample_t *a, rp_sample_t *b)
{
        size_t a_cnt, b_cnt;
        const struct rp_sample_key *left = rp_sample_keys(a, &a_cnt), *right = rp_sample_keys(b, &b_cnt);

        assert_int_equal(a_cnt, b_cnt);
        assert_true(rp_sample_weight(a) == rp_sample_weight(b));
        for (size_t i = 0; i < a_cnt; i++) {
                assert_true(left[i].hash == right[i].hash && left[i].records == right[i].records);
                assert_int_equal(left[i].key_len, right[i].key_len);
                assert_int_equal(!left[i].key, !right[i].key);
                if (left[i].key)
                        assert_memory_equal(left[i].key, right[i].key, left[i].key_len);
                assert_int_equal(left[i].cell_cnt, right[i].cell_cnt);
                for (size_t c = 0; c < left[i].cell_cnt; c++) {
                        assert_int_equal(left[i].cells[c].partition, right[i].cells[c].partition);
                        assert_int_equal(left[i].cells[c].records, right[i].cells[c].records);
                        assert_int_equal(left[i].cells[c].first_ms, right[i].cells[c].first_ms);
                        assert_int_equal(left[i].cells[c].last_ms, right[i].cells[c].last_ms);
                }
        }
}

static void test_order_and_merging_make_no_difference(void **state)
{
        static const struct {
                size_t keys, bytes;
        } limits[] = { { 1, 1 << 20 }, { 64, 1 << 20 }, { 1000, 1 << 20 }, { 1000, 20000 }, { 100000, 1 << 24 } };
        const size_t cnt = 40000;
        struct row *rows = make_rows(cnt, 9000, 1);

        (void)state;
        for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
                rp_sample_t *whole = rp_sample_new(limits[l].keys, limits[l].bytes);
                rp_sample_t *shuffled = rp_sample_new(limits[l].keys, limits[l].bytes);
                rp_sample_t *merged = rp_sample_new(limits[l].keys, limits[l].bytes);

                add_rows(whole, rows, cnt);
                for (size_t part = 0; part < 7; part++) {
                        rp_sample_t *one = rp_sample_new(limits[l].keys, limits[l].bytes);

                        add_rows(one, rows + part * cnt / 7, (part + 1) * cnt / 7 - part * cnt / 7);
                        assert_true(rp_sample_merge(merged, one));
                        rp_sample_free(one);
                }
                shuffle(rows, cnt, l + 5);
                add_rows(shuffled, rows, cnt);
                assert_same(whole, shuffled);
                assert_same(whole, merged);
                rp_sample_free(whole);
                rp_sample_free(shuffled);
                rp_sample_free(merged);
        }
        free(rows);
}

static void test_exact_below_the_limit(void **state)
{
        struct row *rows = make_rows(5000, 800, 2);
        rp_sample_t *sample = rp_sample_new(800, 1 << 20);
        uint64_t records = 0;
        double error = -1;
        size_t cnt;
        const struct rp_sample_key *keys;

        (void)state;
        add_rows(sample, rows, 5000);
        keys = rp_sample_keys(sample, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                uint64_t sum = 0;

                for (size_t c = 0; c < keys[i].cell_cnt; c++)
                        sum += keys[i].cells[c].records;
                assert_int_equal(sum, keys[i].records);
                records += sum;
        }
        assert_int_equal(records, 5000); /* nothing was lost on the way */
        assert_true(rp_sample_is_complete(sample));
        assert_int_equal(rp_sample_distinct(sample, &error), cnt);
        assert_true(error == 0);
        rp_sample_free(sample);
        free(rows);
}

/* A sampled key's counts are complete although its first records may have come while the sample was still growing. */
static void test_counts_of_sampled_keys_are_complete(void **state)
{
        const size_t cnt = 60000;
        struct row *rows = make_rows(cnt, 5000, 3);
        rp_sample_t *sample = rp_sample_new(100, 1 << 20), *all = rp_sample_new(10000, 1 << 24);
        const struct rp_sample_key *few, *many;
        size_t few_cnt, many_cnt;

        (void)state;
        add_rows(sample, rows, cnt);
        add_rows(all, rows, cnt);
        few = rp_sample_keys(sample, &few_cnt);
        many = rp_sample_keys(all, &many_cnt);
        assert_int_equal(few_cnt, 100);
        assert_true(many_cnt > 4900);
        for (size_t i = 0; i < few_cnt; i++) { /* both by rising hash: the small one is the large one's beginning */
                assert_true(few[i].hash == many[i].hash);
                assert_int_equal(few[i].records, many[i].records);
        }
        rp_sample_free(sample);
        rp_sample_free(all);
        free(rows);
}

static void test_estimate_keeps_its_promise(void **state)
{
        size_t outside = 0;

        (void)state;
        for (uint64_t run = 0; run < 40; run++) {
                rp_sample_t *sample = rp_sample_new(1024, 1 << 20);
                double error;
                uint64_t estimate;

                for (uint64_t i = 0; i < 50000; i++) {
                        uint64_t key = run << 32 | i;

                        assert_true(rp_sample_add(sample, rp_sample_hash(&key, sizeof(key)), &key, sizeof(key), 0, -1));
                }
                estimate = rp_sample_distinct(sample, &error);
                assert_true(error > 0.05 && error < 0.07);
                outside += fabs((double)estimate - 50000) > error * 50000;
                rp_sample_free(sample);
        }
        assert_true(outside <= 6); /* 2 of 40 expected; the keys are fixed, so this is no gamble */
}

static void test_long_keys_cannot_fill_the_memory(void **state)
{
        rp_sample_t *sample = rp_sample_new(1000, 256 << 10);
        size_t cnt, with_bytes = 0, without = 0, bytes = 0;
        const struct rp_sample_key *keys;
        unsigned char *key = calloc(1, 1 << 20);
        double error;

        (void)state;
        for (uint32_t i = 0; i < 4000; i++) {
                /* One in ten is enormous, one in ten as long as is kept, the others are short. */
                size_t len = i % 10 == 0 ? 1 << 20 : i % 10 == 1 ? RP_SAMPLE_KEY_MAX : 8;

                memcpy(key, &i, sizeof(i));
                assert_true(rp_sample_add(sample, i % 10 ? rp_sample_hash(key, len) : rp_sample_hash(key, 8) ^ 1, key,
                                          len, (int32_t)(i % 3), 5));
        }
        keys = rp_sample_keys(sample, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                with_bytes += keys[i].key != NULL;
                without += keys[i].key == NULL;
                bytes += keys[i].key ? keys[i].key_len : 0;
                assert_true(keys[i].key || keys[i].key_len == 1 << 20);
        }
        assert_true(bytes <= 256 << 10);
        assert_true(with_bytes > 50 && without > 5);
        assert_true(fabs((double)rp_sample_distinct(sample, &error) - 4000) < 1000); /* the cut made no key likelier */
        rp_sample_free(sample);
        free(key);
}

static void test_one_key_in_every_partition_is_bounded(void **state)
{
        rp_sample_t *sample = rp_sample_new(1000, 128 << 10);
        size_t cnt, cells = 0;
        const struct rp_sample_key *keys;

        (void)state;
        for (int32_t round = 0; round < 3; round++)
                for (int32_t partition = 0; partition < 2000; partition++)
                        for (uint32_t key = 0; key < 20; key++)
                                assert_true(rp_sample_add(sample, rp_sample_hash(&key, sizeof(key)), &key, sizeof(key),
                                                          (partition * 7919) % 2000, -1));
        keys = rp_sample_keys(sample, &cnt);
        assert_int_equal(cnt, 2); /* 64 kB each */
        for (size_t i = 0; i < cnt; i++) {
                cells += keys[i].cell_cnt;
                assert_int_equal(keys[i].records, 6000);
                for (size_t c = 0; c < keys[i].cell_cnt; c++) {
                        assert_int_equal(keys[i].cells[c].partition, (int32_t)c);
                        assert_int_equal(keys[i].cells[c].records, 3);
                }
        }
        assert_int_equal(cells, 4000);
        rp_sample_free(sample);
}

static void test_empty_sample(void **state)
{
        rp_sample_t *sample = rp_sample_new(16, 1 << 10), *other = rp_sample_new(16, 1 << 10);
        double error;
        size_t cnt;

        (void)state;
        assert_int_equal(rp_sample_distinct(sample, &error), 0);
        assert_true(rp_sample_merge(sample, other));
        rp_sample_keys(sample, &cnt);
        assert_int_equal(cnt, 0);
        assert_true(rp_sample_weight(sample) == 1);
        rp_sample_free(sample);
        rp_sample_free(other);
        rp_sample_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order_and_merging_make_no_difference),
                cmocka_unit_test(test_exact_below_the_limit),
                cmocka_unit_test(test_counts_of_sampled_keys_are_complete),
                cmocka_unit_test(test_estimate_keeps_its_promise),
                cmocka_unit_test(test_long_keys_cannot_fill_the_memory),
                cmocka_unit_test(test_one_key_in_every_partition_is_bounded),
                cmocka_unit_test(test_empty_sample),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
