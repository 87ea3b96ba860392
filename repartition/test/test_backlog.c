/* io/backlog: records that were read ahead come out as they went in, and hold no more memory than is told. */
#include "io/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int released;

static void release(void *native)
{
        released++;
        free(native);
}

static struct rp_backlog_pool pool;
static struct rp_backlog backlog;

static int set_up(void **state)
{
        (void)state;
        pool = (struct rp_backlog_pool){ .chunk_size = 1024, .release = release };
        backlog = (struct rp_backlog){ .partition = 7 };
        released = 0;
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        rp_backlog_clear(&pool, &backlog);
        rp_backlog_pool_release(&pool);
        return backlog.bytes != 0;
}

static struct rp_record record(int64_t offset, const char *key, const char *value)
{
        return (struct rp_record){ .partition = 1, .offset = offset, .timestamp_ms = 1000 + offset, .key = key,
                                   .key_len = key ? strlen(key) : 0, .value = value, .value_len = value ? strlen(value) : 0 };
}

static void assert_same(const struct rp_record *is, const struct rp_record *was)
{
        assert_int_equal(is->partition, 7);
        assert_int_equal(is->offset, was->offset);
        assert_int_equal(is->timestamp_ms, was->timestamp_ms);
        assert_int_equal(is->log_append_time, was->log_append_time);
        assert_int_equal(!is->key, !was->key);
        assert_int_equal(!is->value, !was->value);
        assert_int_equal(is->key_len, was->key_len);
        assert_int_equal(is->value_len, was->value_len);
        assert_int_equal(is->header_cnt, was->header_cnt);
        if (was->key_len)
                assert_memory_equal(is->key, was->key, was->key_len);
        if (was->value_len)
                assert_memory_equal(is->value, was->value, was->value_len);
        for (size_t i = 0; i < was->header_cnt; i++) {
                assert_string_equal(is->headers[i].name, was->headers[i].name);
                assert_int_equal(!is->headers[i].value, !was->headers[i].value);
                assert_int_equal(is->headers[i].value_len, was->headers[i].value_len);
                if (was->headers[i].value_len)
                        assert_memory_equal(is->headers[i].value, was->headers[i].value, was->headers[i].value_len);
        }
}

static void test_what_went_in_comes_out(void **state)
{
        static const struct rp_header headers[] = { { "a", "1", 1 }, { "", NULL, 0 }, { "a", "", 0 } };
        struct rp_record records[] = { record(3, "key", "value"), record(4, NULL, "keyless"), record(5, "tombstone", NULL),
                                       record(8, "", ""), record(9, NULL, NULL), record(10, "odd", "len") };
        struct rp_batch batch;

        (void)state;
        records[1].log_append_time = true;
        records[2].headers = records[5].headers = headers;
        records[2].header_cnt = records[5].header_cnt = 3;
        for (size_t i = 0; i < 6; i++)
                assert_true(rp_backlog_add(&pool, &backlog, &records[i], NULL));
        assert_int_equal(backlog.newest_ms, 1010);
        assert_false(rp_backlog_is_empty(&backlog));
        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
        assert_int_equal(batch.cnt, 6);
        assert_int_equal(batch.next, 11);
        for (size_t i = 0; i < 6; i++)
                assert_same(&batch.records[i], &records[i]);
        assert_true(rp_backlog_is_empty(&backlog));
        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
        assert_int_equal(batch.cnt, 0);
        assert_int_equal(backlog.bytes, 0);
}

/* What is lent stays as it is while more comes in; what was lent is used again, so that memory does not grow. */
static void test_memory_is_used_again(void **state)
{
        int64_t added = 0, seen = 0;
        size_t most = 0;
        char value[64];

        (void)state;
        for (int round = 0; round < 1000; round++) {
                struct rp_batch batch;

                for (int i = 0; i < 30; i++) {
                        struct rp_record rec;

                        snprintf(value, sizeof(value), "value-%d", (int)added);
                        rec = record(added++, "key", value);
                        assert_true(rp_backlog_add(&pool, &backlog, &rec, NULL));
                }
                most = backlog.bytes > most ? backlog.bytes : most;
                do {
                        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
                        for (size_t i = 0; i < batch.cnt; i++, seen++) {
                                assert_int_equal(batch.records[i].offset, seen);
                                snprintf(value, sizeof(value), "value-%d", (int)seen);
                                assert_memory_equal(batch.records[i].value, value, strlen(value));
                        }
                } while (batch.cnt);
        }
        assert_int_equal(seen, added);
        assert_int_equal(most, 2 * pool.chunk_size); /* 30 records of 48 or 56 bytes */
}

static void test_a_long_record_has_its_own_memory(void **state)
{
        char *text = malloc(100001);
        struct rp_record small = record(1, "k", "v"), large;
        struct rp_batch batch;

        (void)state;
        memset(text, 'x', 100000);
        text[100000] = '\0';
        large = record(2, "k", text);
        assert_true(rp_backlog_add(&pool, &backlog, &small, NULL));
        assert_true(rp_backlog_add(&pool, &backlog, &large, NULL));
        small.offset = 3;
        assert_true(rp_backlog_add(&pool, &backlog, &small, NULL));
        assert_in_range(backlog.bytes, 102000, 103000);
        for (int64_t offset = 1; offset <= 3; offset++) {
                assert_true(rp_backlog_lend(&pool, &backlog, &batch));
                assert_int_equal(batch.cnt, 1);
                assert_int_equal(batch.records[0].offset, offset);
                assert_int_equal(batch.records[0].value_len, offset == 2 ? 100000 : 1);
        }
        free(text);
}

/* Natives are released once: by who took them over, or with the memory that they came in. */
static void test_kept_records(void **state)
{
        struct rp_batch batch;
        void **taken;

        (void)state;
        for (int64_t i = 0; i < 4; i++) {
                char *native = malloc(20);
                struct rp_record rec;

                memcpy(native, "the record's bytes", 19);
                rec = record(i, native, native + 4);
                assert_true(rp_backlog_add(&pool, &backlog, &rec, native));
        }
        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
        assert_int_equal(batch.cnt, 4);
        assert_string_equal(batch.records[3].value, "record's bytes");
        taken = batch.records[2].native;
        assert_ptr_equal(*taken, batch.records[2].key);
        free(*taken);
        *taken = NULL;
        assert_int_equal(released, 0);
        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
        assert_int_equal(released, 3);
        assert_int_equal(backlog.bytes, 0);
}

static void test_clearing_releases_all(void **state)
{
        (void)state;
        for (int64_t i = 0; i < 100; i++) {
                char *native = calloc(1, 20);
                struct rp_record rec = record(i, native, native);
                struct rp_batch batch;

                assert_true(rp_backlog_add(&pool, &backlog, &rec, native));
                if (i == 50)
                        assert_true(rp_backlog_lend(&pool, &backlog, &batch));
        }
        rp_backlog_clear(&pool, &backlog);
        assert_int_equal(released, 100);
        assert_int_equal(backlog.bytes, 0);
        assert_true(rp_backlog_is_empty(&backlog));
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                test(test_what_went_in_comes_out), test(test_memory_is_used_again), test(test_a_long_record_has_its_own_memory),
                test(test_kept_records), test(test_clearing_releases_all),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
