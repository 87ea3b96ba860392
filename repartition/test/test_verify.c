/* verify on in-memory topics: clean after a rewrite, and every kind of damage found and named. */
#include "decide/note.h"
#include "decide/target.h"
#include "job/rewrite.h"
#include "job/verify.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_CNT = 3, TARGET_CNT = 5, KEYS = 40, RECORDS = 600 };

static kr_policy_t *policy;
static const kr_rule_t *rule;
static struct memory_topic source;
static struct memory_cluster cluster;
static struct rp_verify_report report;
static struct rp_error error;
static bool with_progress, with_keys;
static size_t memory_bytes;

static void add(unsigned i)
{
        char key[16], value[16];
        int64_t lag = i % SOURCE_CNT ? 0 : 150; /* one partition ends long before the others do */
        struct rp_record rec = { .timestamp_ms = 1000 + i / 3 - lag, .key = key, .value = value };

        rec.key_len = (size_t)snprintf(key, sizeof(key), "key-%u", i * 7919 % KEYS);
        rec.value_len = (size_t)snprintf(value, sizeof(value), "%u", i);
        if (i % 50 == 0) {
                rec.key = NULL;
                rec.key_len = 0;
        }
        memory_topic_add(&source, (int32_t)(i % SOURCE_CNT), &rec, 0); /* most keys live in several partitions */
}

static void rewrite(void)
{
        struct rp_source *from = memory_source_new(&source, NULL, 1);
        struct rp_sink *to = memory_sink_new(&cluster, NULL);
        struct rp_rewrite job = { .source = from, .sink = to, .rule = rule, .identity = "job", .by = "test",
                                  .transaction_ms = 1000, .transaction_bytes = 100 };
        struct rp_rewrite_report done;

        assert_int_equal(rp_rewrite_run(&job, &done, &error), RP_OK);
        to->ops->free(to);
        from->ops->free(from);
}

static rp_err_t verify(void)
{
        struct rp_source *a = memory_source_new(&source, NULL, 2), *b = memory_source_new(&cluster.target, NULL, 3);
        struct rp_range a_bounds[SOURCE_CNT], b_bounds[TARGET_CNT];
        struct rp_progress none;
        struct rp_verify job = { .source = a, .target = b, .rule = rule, .source_bounds = a_bounds,
                                 .target_bounds = b_bounds, .memory_bytes = memory_bytes, .shows_keys = with_keys };
        rp_err_t rc;

        rp_progress_init(&none, SOURCE_CNT);
        job.progress = with_progress ? &cluster.progress : &none;
        a->ops->bounds(a, a_bounds, &error);
        b->ops->bounds(b, b_bounds, &error);
        rp_verify_report_release(&report);
        rc = rp_verify_run(&job, &report, &error);
        rp_progress_release(&none);
        a->ops->free(a);
        b->ops->free(b);
        return rc;
}

static void assert_counts(uint64_t missing, uint64_t duplicate, uint64_t corrupt, uint64_t disorder, uint64_t misplaced,
                          uint64_t unexpected)
{
        const uint64_t want[RP_DIFFERENCE_CNT] = { missing, duplicate, corrupt, disorder, misplaced, unexpected };
        bool differs = false;

        assert_int_equal(verify(), RP_OK);
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++) {
                if (report.counts[kind] != want[kind])
                        fail_msg("%s: %u, not %u", rp_difference_word(kind), (unsigned)report.counts[kind],
                                 (unsigned)want[kind]);
                differs |= want[kind] > 0;
        }
        assert_int_equal(report.is_equal, !differs);
        assert_int_equal(report.parts_unnamed, 0);
}

/* The log of the target with the most records; index of a keyed record in it that has a successor of the same key. */
static struct memory_log *pick(size_t *first, size_t *second)
{
        for (int32_t p = 0; p < TARGET_CNT; p++) {
                struct memory_log *log = &cluster.target.logs[p];

                for (size_t i = 10; i < log->cnt; i++)
                        for (size_t j = i + 1; j < log->cnt; j++)
                                if (log->records[i].key && log->records[j].key &&
                                    log->records[i].key_len == log->records[j].key_len &&
                                    !memcmp(log->records[i].key, log->records[j].key, log->records[i].key_len)) {
                                        *first = i;
                                        *second = j;
                                        return log;
                                }
        }
        fail();
        return NULL;
}

static void test_clean_after_a_rewrite(void **state)
{
        (void)state;
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_int_equal(report.source.records, RECORDS);
        assert_int_equal(report.target.records, RECORDS);
        assert_int_equal(report.keys_compared, KEYS);
        assert_true(rp_digest_equals(report.source.content, report.target.content));
        assert_int_equal(report.example_cnt, 0);
        with_progress = false; /* one pass: the order is the same */
        assert_counts(0, 0, 0, 0, 0, 0);
}

static void test_newer_source_records_do_not_count_with_progress(void **state)
{
        (void)state;
        for (unsigned i = 0; i < 9; i++)
                add(i + 3); /* older times than the last ones copied */
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_true(report.is_bounded_by_progress);
        with_progress = false;
        assert_int_equal(verify(), RP_OK);
        assert_int_equal(report.counts[RP_MISSING], 9);

        /* Copied in a second pass, they stand behind newer ones: right by passes, and known to be. */
        rewrite();
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        with_progress = false;
        assert_int_equal(verify(), RP_OK);
        assert_true(report.counts[RP_OUT_OF_ORDER] > 0);
}

static void test_missing(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);
        struct rp_record lost = log->records[i];

        (void)state;
        memmove(&log->records[i], &log->records[i + 1], (log->cnt - i - 1) * sizeof(*log->records));
        log->cnt--;
        with_keys = true;
        assert_counts(1, 0, 0, 0, 0, 0);
        assert_int_equal(report.example_cnt, 1);
        assert_int_equal(report.examples[0].target.partition, -1);
        assert_true(report.examples[0].source.partition >= 0);
        assert_true(report.examples[0].has_key);
        assert_int_equal(report.examples[0].key_len, lost.key_len);
        assert_memory_equal(report.examples[0].key, lost.key, lost.key_len);
        free((void *)lost.key);
        free((void *)lost.value);
}

static void test_duplicate(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);
        struct rp_record copy = log->records[i];

        (void)state;
        memory_topic_add(&cluster.target, copy.partition, &copy, 0);
        assert_counts(0, 1, 0, 0, 0, 0);
        assert_int_equal(report.examples[0].target.partition, copy.partition);
        assert_int_equal(report.examples[0].target.offset, log->end - 1);
}

static void test_corrupt(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);

        (void)state;
        *(char *)log->records[i].value ^= 1;
        assert_counts(0, 0, 1, 0, 0, 0);
        assert_int_equal(report.examples[0].target.offset, log->records[i].offset);
        assert_true(report.examples[0].source.partition >= 0);
        assert_false(report.examples[0].has_key); /* not asked for */
        *(char *)log->records[i].value ^= 1;
        log->records[i].timestamp_ms++;
        assert_counts(0, 0, 1, 0, 0, 0);
}

static void test_corrupt_keyless(void **state)
{
        (void)state;
        for (int32_t p = 0; p < TARGET_CNT; p++)
                for (size_t i = 0; i < cluster.target.logs[p].cnt; i++)
                        if (!cluster.target.logs[p].records[i].key) {
                                *(char *)cluster.target.logs[p].records[i].value ^= 1;
                                assert_counts(0, 0, 1, 0, 0, 0);
                                return;
                        }
        fail();
}

static void test_null_is_not_empty(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);

        (void)state;
        free((void *)log->records[i].value);
        log->records[i].value = NULL;
        log->records[i].value_len = 0;
        assert_counts(0, 0, 1, 0, 0, 0);
}

static void test_out_of_order(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);
        struct rp_record earlier = log->records[i], later = log->records[j];

        (void)state;
        log->records[i] = later;
        log->records[j] = earlier;
        log->records[i].offset = earlier.offset;
        log->records[j].offset = later.offset;
        assert_int_equal(verify(), RP_OK);
        assert_false(report.is_equal);
        assert_true(rp_digest_equals(report.source.content, report.target.content)); /* the content alone looks well */
        assert_int_equal(report.counts[RP_OUT_OF_ORDER], 1);
        assert_int_equal(report.keys_differing, 1);
        assert_int_equal(report.counts[RP_MISSING] + report.counts[RP_UNEXPECTED] + report.counts[RP_CORRUPT], 0);
}

static void test_mispartitioned(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j), *other;
        struct rp_record moved = log->records[i];
        int32_t wrong = (moved.partition + 1) % TARGET_CNT;

        (void)state;
        other = &cluster.target.logs[wrong];
        memmove(&log->records[i], &log->records[i + 1], (log->cnt - i - 1) * sizeof(*log->records));
        log->cnt--;
        memory_topic_add(&cluster.target, wrong, &moved, 0);
        assert_int_equal(verify(), RP_OK);
        assert_int_equal(report.counts[RP_MISPARTITIONED], 1);
        assert_false(report.is_equal);
        assert_int_equal(report.examples[0].kind, RP_MISPARTITIONED);
        assert_int_equal(report.examples[0].target.partition, wrong);
        assert_int_equal(report.examples[0].target.offset, other->end - 1);
        assert_int_equal(report.examples[0].wanted, moved.partition);
        assert_int_equal(report.counts[RP_MISSING] + report.counts[RP_UNEXPECTED], 0);
        free((void *)moved.key);
        free((void *)moved.value);
}

static void test_unexpected(void **state)
{
        struct rp_record odd = { .key = "key-1", .key_len = 5, .value = "not from the source", .value_len = 19 };

        (void)state;
        memory_topic_add(&cluster.target, rp_target(rule, &odd, TARGET_CNT), &odd, 0);
        assert_counts(0, 0, 0, 0, 0, 1);
        assert_int_equal(report.examples[0].source.partition, -1);
}

static void test_all_is_missing(void **state)
{
        (void)state;
        memory_topic_release(&cluster.target);
        memory_topic_init(&cluster.target, TARGET_CNT);
        assert_counts(RECORDS, 0, 0, 0, 0, 0);
        assert_int_equal(report.example_cnt, RP_EXAMPLES_PER_KIND);
}

static void test_says_when_naming_does_not_fit(void **state)
{
        (void)state;
        memory_topic_release(&cluster.target);
        memory_topic_init(&cluster.target, TARGET_CNT);
        memory_bytes = 50 * sizeof(struct rp_entry);
        assert_int_equal(verify(), RP_OK);
        assert_false(report.is_equal);
        assert_true(report.parts_unnamed > 0 && report.parts_unnamed < report.parts_differing);
        assert_true(report.counts[RP_MISSING] > 0 && report.counts[RP_MISSING] < RECORDS);
}

static void test_says_when_the_source_is_gone(void **state)
{
        (void)state;
        source.logs[1].low = 5;
        with_progress = true;
        assert_int_equal(verify(), RP_ERR_INCOMPLETE);
        assert_non_null(strstr(error.text, "partition 1"));
}

static int set_up(void **state)
{
        struct kr_error kerr;

        (void)state;
        policy = kr_policy_from_hash("murmur2", &kerr);
        rule = policy ? kr_policy_rule(policy, "source") : NULL;
        memory_topic_init(&source, SOURCE_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        for (unsigned i = 0; i < RECORDS; i++)
                add(i);
        rewrite();
        with_progress = with_keys = false;
        memory_bytes = 16 << 20;
        return rule ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        rp_verify_report_release(&report);
        memory_topic_release(&source);
        memory_cluster_release(&cluster);
        kr_policy_free(policy);
        return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                test(test_clean_after_a_rewrite),
                test(test_newer_source_records_do_not_count_with_progress),
                test(test_missing),
                test(test_duplicate),
                test(test_corrupt),
                test(test_corrupt_keyless),
                test(test_null_is_not_empty),
                test(test_out_of_order),
                test(test_mispartitioned),
                test(test_unexpected),
                test(test_all_is_missing),
                test(test_says_when_naming_does_not_fit),
                test(test_says_when_the_source_is_gone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
