/* verify on in-memory topics: clean after a rewrite, and every kind of damage found and named. */
#include "decide/note.h"
#include "decide/order.h"
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
#include <unistd.h>

enum { SOURCE_CNT = 3, TARGET_CNT = 5, KEYS = 40, RECORDS = 600 };

static kr_policy_t *policy;
static const kr_rule_t *rule;
static struct memory_topic source;
static struct memory_cluster cluster;
static struct rp_verify_report report;
static struct rp_error error;
static bool with_progress, with_keys;
static struct rp_verify options; /* what a test asks for besides */

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

static rp_err_t open_one(void *arg, int side, struct rp_source **out, struct rp_error *err)
{
        (void)arg, (void)err;
        *out = memory_source_new(side ? &cluster.target : &source, NULL, 4 + (unsigned)side);
        return RP_OK;
}

static rp_err_t verify(void)
{
        struct rp_source *a = memory_source_new(&source, NULL, 2), *b = memory_source_new(&cluster.target, NULL, 3);
        struct rp_range a_bounds[SOURCE_CNT], b_bounds[TARGET_CNT];
        struct rp_progress none;
        struct rp_verify job = options;
        rp_err_t rc;

        rp_progress_init(&none, SOURCE_CNT);
        job.source = a;
        job.target = b;
        job.rule = rule;
        job.source_bounds = a_bounds;
        job.target_bounds = b_bounds;
        job.shows_keys = with_keys;
        job.open = open_one;
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
        memory_topic_add(&cluster.target, rp_target(rule, &odd, odd.partition, TARGET_CNT), &odd, 0);
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
        options.memory_bytes = 50 * sizeof(struct rp_entry);
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

/* ---- by partition --------------------------------------------------------------------------------------------------- */

/* Every key in one source partition, and a target that was copied from that. */
static void make_unsplit(unsigned keys, unsigned records)
{
        memory_topic_release(&source);
        memory_topic_init(&source, SOURCE_CNT);
        memory_cluster_release(&cluster);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        for (unsigned i = 0; i < records; i++) {
                char key[16], value[16];
                struct rp_record rec = { .timestamp_ms = 1000 + i, .key = key, .value = value };

                rec.key_len = (size_t)snprintf(key, sizeof(key), "k%u", i % keys);
                rec.value_len = (size_t)snprintf(value, sizeof(value), "%u", i);
                memory_topic_add(&source, (int32_t)(i % keys % SOURCE_CNT), &rec, 0);
        }
        rewrite();
}

static void swap_records(struct memory_log *log, size_t i, size_t j)
{
        struct rp_record earlier = log->records[i], later = log->records[j];

        log->records[i] = later;
        log->records[j] = earlier;
        log->records[i].offset = earlier.offset;
        log->records[j].offset = later.offset;
}

static void test_threads_prove_by_sums(void **state)
{
        struct memory_log *log;
        size_t i, j;

        (void)state;
        make_unsplit(40, 600);
        options.thread_cnt = 3;
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_true(report.is_by_partition);
        assert_int_equal(report.keys_compared, 40);
        assert_int_equal(report.source.records, 600);
        log = pick(&i, &j);
        swap_records(log, i, j);
        assert_counts(0, 0, 0, 1, 0, 0); /* not provable, so it is read as a whole and named */
        assert_false(report.is_by_partition);
        assert_int_equal(report.split_pieces, 0);
}

static void test_threads_leave_split_keys_to_the_merge(void **state)
{
        (void)state;
        options.thread_cnt = 4;
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_false(report.is_by_partition);
        assert_true(report.split_pieces > 0);
        assert_int_equal(report.keys_compared, KEYS);
}

static void test_parts_add_up(void **state)
{
        static const bool choices[2][TARGET_CNT] = { { true, false, false, true, false }, { false, true, true, false, true } };
        struct rp_tally sums[2];
        uint64_t split;

        (void)state;
        memset(sums, 0, sizeof(sums));
        make_unsplit(40, 600);
        for (int part = 0; part < 2; part++) {
                options.chosen = choices[part];
                assert_int_equal(verify(), RP_OK);
                assert_false(report.is_equal);
                for (int s = 0; s < 2; s++)
                        for (int32_t p = 0; p < report.partition_cnts[s]; p++) {
                                assert_int_equal(report.tallies[s][p].is_done, choices[part][p]);
                                if (report.tallies[s][p].is_done)
                                        rp_tally_add(&sums[s], &report.tallies[s][p]);
                        }
        }
        assert_int_equal(sums[0].records, 600);
        assert_int_equal(rp_tally_judge(&sums[0], &sums[1], &split), RP_TALLY_EQUAL);
        assert_int_equal(split, 0);
        options.chosen = NULL;
        assert_int_equal(verify(), RP_OK);
        assert_true(rp_digest_equals(report.source.content, sums[0].content));
        options.chosen = choices[0];
        options.mode = RP_COMPARE_LATEST;
        assert_int_equal(verify(), RP_ERR_USAGE);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* Keys that do not fit are read in ranges; the verdict and the names are those of one reading. */
static void test_several_readings_find_the_same(void **state)
{
        struct memory_log *log;
        size_t i, j;

        (void)state;
        make_unsplit(60000, 120000);
        options.memory_bytes = 1 << 20;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_int_equal(report.keys_compared, 60000);
        assert_true(report.readings > 1);
        assert_true(report.keys_share == 1);
        assert_true(report.peak_bytes <= options.memory_bytes);
        log = &cluster.target.logs[2];
        i = 5;
        for (j = i + 1; log->records[j].key_len != log->records[i].key_len ||
                        memcmp(log->records[j].key, log->records[i].key, log->records[i].key_len) != 0; j++)
                ;
        swap_records(log, i, j);
        assert_counts(0, 0, 0, 1, 0, 0);
        assert_int_equal(report.keys_differing, 1);
        options.thread_cnt = 2; /* half a megabyte each */
        assert_counts(0, 0, 0, 1, 0, 0);
        options.thread_cnt = 1;
        options.sample_keys = 1000;
        assert_int_equal(verify(), RP_OK);
        assert_int_equal(report.readings, 1);
        assert_true(report.keys_share < 0.1 && report.keys_compared <= 1000);
}

/* ---- compacted topics --------------------------------------------------------------------------------------------------- */

/* Takes out what a compaction may: all but the last record of each key, and tombstones. */
static void compact(struct memory_topic *topic, bool tombstones)
{
        for (int32_t p = 0; p < topic->partition_cnt; p++) {
                struct memory_log *log = &topic->logs[p];
                size_t kept = 0;

                for (size_t i = 0; i < log->cnt; i++) {
                        const struct rp_record *rec = &log->records[i];
                        bool goes = tombstones && !rec->value;

                        for (size_t j = i + 1; j < log->cnt && rec->key && !goes; j++)
                                goes = log->records[j].key && log->records[j].key_len == rec->key_len &&
                                       !memcmp(log->records[j].key, rec->key, rec->key_len);
                        if (!goes) {
                                log->records[kept++] = *rec;
                                continue;
                        }
                        free((void *)rec->key);
                        free((void *)rec->value);
                }
                log->cnt = kept;
        }
}

static void test_compacted_topics_are_compared_by_latest(void **state)
{
        size_t i, j;
        struct memory_log *log;

        (void)state;
        for (unsigned key = 0; key < 5; key++) { /* tombstones at the end of the source, copied, then cleaned away */
                char text[16];
                struct rp_record rec = { .timestamp_ms = 9000 + key, .key = text };

                rec.key_len = (size_t)snprintf(text, sizeof(text), "key-%u", key);
                memory_topic_add(&source, 0, &rec, 0);
        }
        rewrite();
        compact(&cluster.target, true);
        options.mode = RP_COMPARE_ALL;
        assert_int_equal(verify(), RP_OK);
        assert_false(report.is_equal);
        options.mode = RP_COMPARE_LATEST;
        with_progress = true;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_int_equal(report.source.live_keys, KEYS - 5);
        assert_int_equal(report.target.live_keys, KEYS - 5);
        assert_true(rp_digest_equals(report.source.content, report.target.content));
        options.thread_cnt = 3; /* of no use here, and no harm */
        assert_counts(0, 0, 0, 0, 0, 0);

        log = &cluster.target.logs[1];
        for (i = 0; !log->records[i].key; i++)
                ;
        j = i;
        *(char *)log->records[j].value ^= 1;
        assert_counts(0, 0, 1, 0, 0, 0);
        *(char *)log->records[j].value ^= 1;
        free((void *)log->records[j].value); /* a tombstone in its place */
        log->records[j].value = NULL;
        log->records[j].value_len = 0;
        assert_counts(1, 0, 0, 0, 0, 0);
        assert_int_equal(report.keys_differing, 1);
}

/* ---- while the topics live -------------------------------------------------------------------------------------------- */

static unsigned ticks_until_change;
static void (*change)(void);

static bool change_at_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        (void)arg, (void)total, (void)records;
        if (change && done >= ticks_until_change) {
                change();
                change = NULL;
        }
        return true;
}

static struct rp_record lost;

static void take_one_out(void)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);

        lost = log->records[i];
        memmove(&log->records[i], &log->records[i + 1], (log->cnt - i - 1) * sizeof(*log->records));
        log->cnt--;
}

static void append_lost(void)
{
        memory_topic_add(&cluster.target, lost.partition, &lost, 0);
}

/* The record that seems to be missing is written between the two readings. */
static void test_what_arrives_meanwhile_is_no_difference(void **state)
{
        struct memory_log *log;
        size_t i, j;

        (void)state;
        log = pick(&i, &j);
        lost = log->records[log->cnt - 1]; /* the last, so that its key stays in order */
        log->cnt--;
        log->end--;
        change = append_lost;
        ticks_until_change = 2 * RECORDS - 1; /* when both topics have been read once */
        options.tick = change_at_tick;
        assert_counts(0, 0, 0, 0, 0, 0);
        assert_null(change);
        assert_int_equal(report.in_flight, 1);
        assert_true(report.is_equal);
        free((void *)lost.key);
        free((void *)lost.value);
}

static void test_what_goes_meanwhile_is_told_and_not_counted(void **state)
{
        size_t i, j;
        struct memory_log *log;

        (void)state;
        log = pick(&i, &j);
        *(char *)log->records[i].value ^= 1; /* a difference, so that there is a second look, */
        change = take_one_out;               /* and the very record is taken out before it */
        ticks_until_change = 2 * RECORDS - 1;
        options.tick = change_at_tick;
        assert_int_equal(verify(), RP_OK);
        assert_null(change);
        assert_false(report.is_equal);
        assert_int_equal(report.parts_moved, 1);
        assert_int_equal(report.unsettled, 1);
        for (int kind = 0; kind < RP_DIFFERENCE_CNT; kind++)
                assert_int_equal(report.counts[kind], 0);
        free((void *)lost.key);
        free((void *)lost.value);
}

static void delete_heads(void)
{
        for (int32_t p = 0; p < SOURCE_CNT; p++)
                source.logs[p].low = (int64_t)source.logs[p].cnt / 2;
}

static void test_retention_between_the_readings(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);

        (void)state;
        *(char *)log->records[log->cnt - 1].value ^= 1;
        change = delete_heads;
        ticks_until_change = 2 * RECORDS - 1;
        options.tick = change_at_tick;
        assert_int_equal(verify(), RP_OK);
        assert_null(change);
        assert_false(report.is_equal);
        assert_int_equal(report.counts[RP_MISSING] + report.counts[RP_UNEXPECTED], 0);
}

/* ---- interrupted and taken up again --------------------------------------------------------------------------------- */

static unsigned ticks_left;

static bool stop_at_tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        (void)arg, (void)done, (void)total, (void)records;
        return ticks_left == 0 || --ticks_left > 0;
}

/* Stops at every few ticks; whatever is found in the end must be what one go finds. */
static void assert_resumes(unsigned every, unsigned least_stops)
{
        struct rp_verify_report whole;
        unsigned stops = 0;
        char path[] = "/tmp/test-verify-state-XXXXXX";
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        close(fd);
        unlink(path);
        options.tick = NULL;
        options.state_file = NULL;
        assert_int_equal(verify(), RP_OK);
        whole = report;
        report = (struct rp_verify_report){ 0 };
        options.tick = stop_at_tick;
        options.state_file = path;
        options.state_interval_ms = 3600000;
        for (;;) {
                ticks_left = every;
                if (verify() != RP_OK)
                        fail_msg("after %u stops: %s", stops, error.text);
                if (!report.is_stopped)
                        break;
                assert_int_equal(access(path, F_OK), 0);
                assert_true(++stops < 10000);
                every += every / 4 + 1; /* the second look starts anew each time, so give it the time that it needs */
        }
        assert_true(stops >= least_stops);
        assert_true(report.is_resumed);
        assert_int_equal(access(path, F_OK), -1);
        whole.is_resumed = true;
        for (int s = 0; s < 2; s++) {
                size_t len = (size_t)whole.partition_cnts[s] * sizeof(struct rp_range);

                assert_memory_equal(whole.ranges[s], report.ranges[s], len);
                if (whole.tallies[s])
                        assert_memory_equal(whole.tallies[s], report.tallies[s],
                                            (size_t)whole.partition_cnts[s] * sizeof(struct rp_tally));
                free(whole.ranges[s]);
                free(whole.tallies[s]);
                whole.ranges[s] = report.ranges[s];
                whole.tallies[s] = report.tallies[s];
        }
        /* A table that was taken up has grown in other steps, which decides how many keys go into one reading. */
        whole.peak_bytes = report.peak_bytes;
        whole.readings = report.readings;
        assert_memory_equal(&whole, &report, sizeof(whole));
}

static void test_resumed_is_as_uninterrupted(void **state)
{
        size_t i, j;
        struct memory_log *log = pick(&i, &j);

        (void)state;
        with_progress = true;
        assert_resumes(3, 3);
        assert_true(report.is_equal);
        swap_records(log, i, j);
        *(char *)log->records[0].value ^= 1;
        assert_resumes(7, 3);
        assert_true(report.counts[RP_OUT_OF_ORDER] && report.counts[RP_CORRUPT]);
        options.mode = RP_COMPARE_LATEST;
        assert_resumes(5, 3);
}

static void test_resumed_over_several_readings(void **state)
{
        (void)state;
        make_unsplit(40000, 40000);
        options.memory_bytes = RP_ORDER_MEMORY_MIN;
        assert_resumes(40, 3);
        assert_true(report.readings > 2 && report.is_equal);
}

static void test_resumed_by_partition(void **state)
{
        static const bool choice[TARGET_CNT] = { true, true, true, true, true };

        (void)state;
        options.chosen = choice;
        assert_resumes(1, 1);
}

static void test_refuses_a_state_of_something_else(void **state)
{
        char path[] = "/tmp/test-verify-state-XXXXXX";
        int fd = mkstemp(path);

        (void)state;
        assert_true(write(fd, "no state at all, but something", 30) == 30);
        close(fd);
        options.state_file = path;
        assert_int_equal(verify(), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "is not a state file"));
        unlink(path);
        options.tick = stop_at_tick;
        ticks_left = 20;
        assert_int_equal(verify(), RP_OK);
        assert_true(report.is_stopped);
        options.mode = RP_COMPARE_LATEST;
        assert_int_equal(verify(), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "is of another comparison"));
        options.mode = RP_COMPARE_ALL;
        options.state_name = "another-job";
        assert_int_equal(verify(), RP_ERR_USAGE);
        options.state_name = NULL;
        cluster.target.logs[1].end -= 3; /* the topic was made anew and is shorter */
        cluster.target.logs[1].cnt -= 3;
        assert_int_equal(verify(), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "but it ends at"));
        cluster.target.logs[1].end += 3;
        cluster.target.logs[1].cnt += 3;
        assert_int_equal(truncate(path, 5000), 0);
        assert_int_equal(verify(), RP_ERR_USAGE);
        unlink(path);
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
        options = (struct rp_verify){ .memory_bytes = 16 << 20 };
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
                test(test_threads_prove_by_sums),
                test(test_threads_leave_split_keys_to_the_merge),
                test(test_parts_add_up),
                test(test_several_readings_find_the_same),
                test(test_compacted_topics_are_compared_by_latest),
                test(test_what_arrives_meanwhile_is_no_difference),
                test(test_what_goes_meanwhile_is_told_and_not_counted),
                test(test_retention_between_the_readings),
                test(test_resumed_is_as_uninterrupted),
                test(test_resumed_over_several_readings),
                test(test_resumed_by_partition),
                test(test_refuses_a_state_of_something_else),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
