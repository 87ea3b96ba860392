/* The merge of partitions: order within each is kept, what comes next depends on positions alone. */
#include "io/reader.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, RECORDS_MAX = 400 };

struct seen { /* without padding, to be compared as bytes */
        int64_t partition;
        int64_t offset;
        int64_t timestamp_ms;
};

static unsigned random_state;

static unsigned any(unsigned below)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (random_state >> 16) % below;
}

/* Partitions of very different lengths, some empty; times that collide, run backwards and are missing; gaps. */
static void fill(struct memory_topic *topic, unsigned seed)
{
        random_state = seed;
        memory_topic_init(topic, 1 + (int32_t)any(9));
        for (int32_t p = 0; p < topic->partition_cnt; p++) {
                unsigned cnt = any(4) ? any(RECORDS_MAX / 8) : 0;
                int64_t now = any(1000);

                topic->logs[p].low = topic->logs[p].end = any(50);
                for (unsigned i = 0; i < cnt; i++) {
                        struct rp_record rec = { .timestamp_ms = any(10) ? now : -1, .key = "k", .key_len = 1 };

                        now += (int64_t)any(5) - 1;
                        memory_topic_add(topic, p, &rec, any(6) ? 0 : any(4));
                }
                topic->logs[p].end += any(3); /* the end of the log may be control records */
        }
}

/* Reads on from *ranges, at most `most` records; *ranges then says where the next one goes on. */
static size_t read_some(const struct memory_topic *topic, struct rp_range *ranges, unsigned seed, size_t most,
                        struct seen *out)
{
        struct rp_source *source = memory_source_new(topic, NULL, seed);
        struct rp_reader *reader = rp_reader_new(source, RP_READ_MERGED);
        struct rp_error err;
        struct rp_run run = { 0 };
        size_t cnt = 0;
        int64_t done, total;

        assert_int_equal(rp_reader_start(reader, ranges, &err), RP_OK);
        while (!run.done && cnt < most) {
                assert_int_equal(rp_reader_next(reader, 1000, &run, &err), RP_OK);
                for (size_t i = 0; i < run.cnt; i++) {
                        assert_true(cnt < RECORDS_MAX);
                        out[cnt++] = (struct seen){ run.records[i].partition, run.records[i].offset,
                                                    run.records[i].timestamp_ms };
                }
        }
        rp_reader_progress(reader, &done, &total);
        if (run.done)
                assert_int_equal(done, total);
        for (int32_t p = 0; p < topic->partition_cnt; p++)
                ranges[p].first = rp_reader_position(reader, p);
        rp_reader_free(reader);
        source->ops->free(source);
        return cnt;
}

static void set_ranges(const struct memory_topic *topic, struct rp_range *ranges)
{
        for (int32_t p = 0; p < topic->partition_cnt; p++)
                ranges[p] = (struct rp_range){ topic->logs[p].low, topic->logs[p].end };
}

/* The rule written down naively: take the oldest head, lowest partition first. */
static size_t merge_naively(const struct memory_topic *topic, struct seen *out)
{
        size_t at[16] = { 0 }, cnt = 0;

        for (;;) {
                int32_t best = -1;

                for (int32_t p = 0; p < topic->partition_cnt; p++) {
                        const struct memory_log *log = &topic->logs[p];

                        if (at[p] < log->cnt &&
                            (best < 0 || log->records[at[p]].timestamp_ms <
                                                 topic->logs[best].records[at[best]].timestamp_ms))
                                best = p;
                }
                if (best < 0)
                        return cnt;
                out[cnt++] = (struct seen){ best, topic->logs[best].records[at[best]].offset,
                                            topic->logs[best].records[at[best]].timestamp_ms };
                at[best]++;
        }
}

static void test_merge_is_the_rule(void **state)
{
        (void)state;
        for (unsigned seed = 1; seed <= ROUNDS; seed++) {
                struct memory_topic topic;
                struct rp_range ranges[16];
                struct seen got[RECORDS_MAX], want[RECORDS_MAX];
                size_t cnt;

                fill(&topic, seed);
                cnt = merge_naively(&topic, want);
                set_ranges(&topic, ranges);
                assert_int_equal(read_some(&topic, ranges, seed, SIZE_MAX, got), cnt);
                assert_memory_equal(got, want, cnt * sizeof(*got));
                for (int32_t p = 0; p < topic.partition_cnt; p++)
                        assert_int_equal(ranges[p].first, topic.logs[p].end);
                memory_topic_release(&topic);
        }
}

static void test_resumes_anywhere_with_the_same_sequence(void **state)
{
        (void)state;
        for (unsigned seed = 1; seed <= ROUNDS; seed++) {
                struct memory_topic topic;
                struct rp_range ranges[16];
                struct seen got[RECORDS_MAX], want[RECORDS_MAX];
                size_t cnt, have = 0, lives = 0;

                fill(&topic, seed);
                cnt = merge_naively(&topic, want);
                set_ranges(&topic, ranges);
                /* Each life reads a little, with other batch sizes than the ones before. */
                while (have < cnt) {
                        have += read_some(&topic, ranges, seed * 1000 + (unsigned)lives, 1 + any(20), got + have);
                        lives++;
                        assert_true(lives <= cnt);
                }
                assert_int_equal(have, cnt);
                assert_memory_equal(got, want, cnt * sizeof(*got));
                memory_topic_release(&topic);
        }
}

static void test_any_order_gives_every_record_and_keeps_partitions(void **state)
{
        (void)state;
        for (unsigned seed = 1; seed <= ROUNDS; seed++) {
                struct memory_topic topic;
                struct rp_range ranges[16];
                size_t at[16] = { 0 };
                struct rp_source *source;
                struct rp_reader *reader;
                struct rp_error err;
                struct rp_run run = { 0 };

                fill(&topic, seed);
                set_ranges(&topic, ranges);
                source = memory_source_new(&topic, NULL, seed);
                reader = rp_reader_new(source, RP_READ_ANY);
                assert_int_equal(rp_reader_start(reader, ranges, &err), RP_OK);
                while (!run.done) {
                        assert_int_equal(rp_reader_next(reader, 1000, &run, &err), RP_OK);
                        for (size_t i = 0; i < run.cnt; i++) {
                                int32_t p = run.records[i].partition;

                                assert_int_equal(run.records[i].offset, topic.logs[p].records[at[p]].offset);
                                at[p]++;
                        }
                }
                for (int32_t p = 0; p < topic.partition_cnt; p++)
                        assert_int_equal(at[p], topic.logs[p].cnt);
                rp_reader_free(reader);
                source->ops->free(source);
                memory_topic_release(&topic);
        }
}

static void test_error_of_the_source_is_passed_on(void **state)
{
        struct memory_topic topic;
        struct rp_range ranges[16];
        unsigned nth = 1;

        (void)state;
        fill(&topic, 7);
        for (bool fired = true; fired; nth++) {
                struct faults faults = { .nth = nth, .kind = FAULT_LOST, .code = RP_ERR_INCOMPLETE };
                struct rp_source *source = memory_source_new(&topic, &faults, 7);
                struct rp_reader *reader = rp_reader_new(source, RP_READ_MERGED);
                struct rp_error err;
                struct rp_run run = { 0 };
                rp_err_t rc;

                set_ranges(&topic, ranges);
                rc = rp_reader_start(reader, ranges, &err);
                while (rc == RP_OK && !run.done)
                        rc = rp_reader_next(reader, 1000, &run, &err);
                fired = faults.fired;
                assert_int_equal(rc, fired ? RP_ERR_INCOMPLETE : RP_OK);
                rp_reader_free(reader);
                source->ops->free(source);
        }
        assert_true(nth > 10);
        memory_topic_release(&topic);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_merge_is_the_rule),
                cmocka_unit_test(test_resumes_anywhere_with_the_same_sequence),
                cmocka_unit_test(test_any_order_gives_every_record_and_keeps_partitions),
                cmocka_unit_test(test_error_of_the_source_is_passed_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
