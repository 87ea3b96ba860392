/*
 * The rewriting loop against in-memory twins: every call of a run fails once, in every way, at every place. Afterwards
 * the target must hold exactly the records that an undisturbed run gives, in the same order.
 */
#include "decide/note.h"
#include "decide/target.h"
#include "job/rewrite.h"
#include "java_rule.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_CNT = 4, TARGET_CNT = 5, KEYS = 11 };

static unsigned random_state;

static unsigned any(unsigned below)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (random_state >> 16) % below;
}

static void add(struct memory_topic *topic, int32_t partition, int64_t timestamp_ms)
{
        static int serial;
        char key[16], value[16];
        struct rp_header headers[2] = { { "a", "1", 1 }, { "a", NULL, 0 } };
        struct rp_record rec = { .timestamp_ms = timestamp_ms, .key = key, .value = value };
        unsigned which = any(KEYS + 2);

        rec.key_len = (size_t)snprintf(key, sizeof(key), "key-%u", which);
        rec.value_len = (size_t)snprintf(value, sizeof(value), "%d", serial++);
        if (which >= KEYS)
                rec.key_len = 0; /* the empty key */
        if (which == KEYS + 1)
                rec.key = NULL;
        if (any(4) == 0) {
                rec.headers = headers;
                rec.header_cnt = 2;
        }
        memory_topic_add(topic, partition, &rec, any(5) ? 0 : 2);
}

/* Keys are split over partitions on purpose; times rise by and large. */
static void grow(struct memory_topic *topic, unsigned cnt)
{
        for (unsigned i = 0; i < cnt; i++)
                add(topic, (int32_t)any((unsigned)topic->partition_cnt - 1), 1000 + i + any(3)); /* the last one stays empty */
        topic->logs[0].end++; /* a control record at the end */
}

/* ---- what must come out ----------------------------------------------------------------------------------------- */

/* Merges from at[] to ends[] by the rule and appends to the target what belongs there. */
static void expect_pass(const struct memory_topic *source, size_t *at, const int64_t *ends, struct memory_topic *target)
{
        for (;;) {
                const struct rp_record *best = NULL;

                for (int32_t p = 0; p < source->partition_cnt; p++) {
                        const struct memory_log *log = &source->logs[p];

                        if (at[p] < log->cnt && log->records[at[p]].offset < ends[p] &&
                            (!best || log->records[at[p]].timestamp_ms < best->timestamp_ms))
                                best = &log->records[at[p]];
                }
                if (!best)
                        return;
                at[best->partition]++;
                memory_topic_add(target, rp_target(rule, best, best->partition, target->partition_cnt), best, 0);
        }
}

static void assert_same_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
        assert_int_equal(!a, !b);
        assert_int_equal(a_len, b_len);
        if (a_len)
                assert_memory_equal(a, b, a_len);
}

static void assert_same_topic(const struct memory_topic *got, const struct memory_topic *want)
{
        for (int32_t p = 0; p < want->partition_cnt; p++) {
                assert_int_equal(got->logs[p].cnt, want->logs[p].cnt);
                for (size_t i = 0; i < want->logs[p].cnt; i++) {
                        const struct rp_record *a = &got->logs[p].records[i], *b = &want->logs[p].records[i];

                        assert_same_bytes(a->value, a->value_len, b->value, b->value_len);
                        assert_same_bytes(a->key, a->key_len, b->key, b->key_len);
                        assert_int_equal(a->timestamp_ms, b->timestamp_ms);
                        assert_int_equal(a->header_cnt, b->header_cnt);
                        for (size_t h = 0; h < b->header_cnt; h++) {
                                assert_string_equal(a->headers[h].name, b->headers[h].name);
                                assert_same_bytes(a->headers[h].value, a->headers[h].value_len, b->headers[h].value,
                                                  b->headers[h].value_len);
                        }
                }
        }
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static struct rp_rewrite_report report;
static struct rp_error error;
static const struct rp_topics *row; /* of the source; NULL: one topic */

static rp_err_t run_as(const char *by, const char *identity, const struct memory_topic *topic,
                       struct memory_cluster *cluster, struct faults *faults,
                       bool (*tick)(void *, const struct rp_rewrite_report *), void *arg)
{
        struct rp_source *source = memory_source_new(topic, faults, 42);
        struct rp_sink *sink = memory_sink_new(cluster, faults);
        struct rp_rewrite rewrite = {
                .source = source, .sink = sink, .rule = rule, .identity = identity, .by = by,
                .transaction_ms = 1000, .transaction_bytes = 40, .tick = tick, .arg = arg,
        };
        rp_err_t rc;

        source->topics = row;
        rc = rp_rewrite_run(&rewrite, &report, &error);
        sink->ops->free(sink);
        source->ops->free(source);
        return rc;
}

static rp_err_t run(const struct memory_topic *topic, struct memory_cluster *cluster, struct faults *faults)
{
        return run_as("host/1", "job", topic, cluster, faults, NULL, NULL);
}

/* A new topic of so many records, the first run of a job that copied them, and what came of it. */
static void copy_first(unsigned cnt, struct memory_topic *topic, struct memory_cluster *cluster)
{
        random_state = 3;
        memory_topic_init(topic, SOURCE_CNT);
        memory_cluster_init(cluster, SOURCE_CNT, TARGET_CNT);
        grow(topic, cnt);
        assert_int_equal(run(topic, cluster, NULL), RP_OK);
}

static int64_t *ends_of(const struct memory_topic *topic, int64_t *ends)
{
        for (int32_t p = 0; p < topic->partition_cnt; p++)
                ends[p] = topic->logs[p].end;
        return ends;
}

static void test_plain_run(void **state)
{
        struct memory_topic topic, want;
        struct memory_cluster cluster;
        size_t at[SOURCE_CNT] = { 0 };
        int64_t ends[SOURCE_CNT];
        unsigned commits;

        (void)state;
        random_state = 1;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_topic_init(&want, TARGET_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        grow(&topic, 300);
        expect_pass(&topic, at, ends_of(&topic, ends), &want);
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_same_topic(&cluster.target, &want);
        assert_int_equal(report.records, 300);
        assert_true(report.keyless > 0 && report.keyless < 300);
        assert_true(report.misplaced > 0 && report.moved > 0);
        assert_false(report.is_resumed);
        assert_int_equal(report.uncertain + report.rolled_back + report.recoveries, 0);
        assert_int_equal(report.transactions, cluster.commits);
        for (int32_t p = 0; p < SOURCE_CNT; p++)
                assert_int_equal(cluster.progress.marks[p].next, topic.logs[p].end);

        /* Again: nothing is new, nothing is written. */
        commits = cluster.commits;
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_true(report.is_resumed);
        assert_int_equal(report.records, 0);
        assert_int_equal(cluster.commits, commits);

        /* Only what is newer is copied. */
        grow(&topic, 10);
        expect_pass(&topic, at, ends_of(&topic, ends), &want);
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_int_equal(report.records, 10);
        assert_same_topic(&cluster.target, &want);

        memory_topic_release(&topic);
        memory_topic_release(&want);
        memory_cluster_release(&cluster);
}

/* Committed progress and committed records must agree at every moment that another process could see. */
static void assert_progress_is_true(const struct memory_topic *topic, const struct memory_cluster *cluster)
{
        size_t stored = 0, there = 0;

        for (int32_t p = 0; p < topic->partition_cnt; p++)
                for (size_t i = 0; i < topic->logs[p].cnt; i++)
                        stored += topic->logs[p].records[i].offset < cluster->progress.marks[p].next;
        for (int32_t p = 0; p < cluster->target.partition_cnt; p++)
                there += cluster->target.logs[p].cnt;
        assert_int_equal(there, stored);
}

static unsigned survive_each_fault(fault_t kind, rp_err_t code, unsigned more)
{
        unsigned nth = 1;

        for (bool fired = true; fired; nth++) {
                struct faults faults = { .nth = nth, .more = more, .kind = kind, .code = code };
                struct memory_topic topic, want;
                struct memory_cluster cluster;
                size_t at[SOURCE_CNT] = { 0 };
                int64_t ends[SOURCE_CNT];
                unsigned commits;
                rp_err_t rc;

                random_state = nth;
                memory_topic_init(&topic, SOURCE_CNT);
                memory_topic_init(&want, TARGET_CNT);
                memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
                grow(&topic, 80);
                expect_pass(&topic, at, ends_of(&topic, ends), &want);
                rc = run(&topic, &cluster, &faults);
                fired = faults.fired;
                assert_progress_is_true(&topic, &cluster);
                if (!fired)
                        assert_int_equal(rc, RP_OK);
                if (rc != RP_OK) {
                        /* The next process: the source has grown meanwhile, which must not mix the passes. */
                        grow(&topic, 15);
                        bool had_begun = cluster.progress.marks[0].next >= 0;

                        if (!had_begun) {
                                memory_topic_release(&want);
                                memory_topic_init(&want, TARGET_CNT);
                                memset(at, 0, sizeof(at));
                        }
                        expect_pass(&topic, at, ends_of(&topic, ends), &want);
                        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
                }
                assert_same_topic(&cluster.target, &want);
                assert_progress_is_true(&topic, &cluster);
                commits = cluster.commits;
                assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
                assert_int_equal(cluster.commits, commits);
                memory_topic_release(&topic);
                memory_topic_release(&want);
                memory_cluster_release(&cluster);
        }
        return nth;
}

static void test_survives_each_fault(void **state)
{
        static const struct {
                fault_t kind;
                rp_err_t code;
                unsigned more;
        } cases[] = {
                { FAULT_LOST, RP_ERR_RETRY, 0 }, { FAULT_LOST, RP_ERR_ABORT_BATCH, 0 }, { FAULT_LOST, RP_ERR_FATAL, 0 },
                { FAULT_LATE, RP_ERR_RETRY, 0 }, { FAULT_LATE, RP_ERR_ABORT_BATCH, 0 }, { FAULT_LATE, RP_ERR_FATAL, 0 },
                { FAULT_LOST, RP_ERR_RETRY, 1 }, { FAULT_LATE, RP_ERR_RETRY, 2 }, { FAULT_LATE, RP_ERR_ABORT_BATCH, 4 },
                { FAULT_CRASH, RP_ERR_FATAL, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                assert_true(survive_each_fault(cases[i].kind, cases[i].code, cases[i].more) > 100); /* it was a long run indeed */
}

/* The sink fails several times in a row, its recovery included, and the job goes on all the same. */
static void test_recovery_that_fails_is_tried_again(void **state)
{
        unsigned ended_well = 0;

        (void)state;
        for (unsigned nth = 20; nth < 60; nth++) {
                struct faults faults = { .nth = nth, .more = 2, .kind = FAULT_LOST, .code = RP_ERR_RETRY };
                struct memory_topic topic;
                struct memory_cluster cluster;
                struct rp_source *source;
                struct rp_sink *sink;
                struct rp_rewrite rewrite = { .rule = rule, .identity = "job", .by = "host/1", .transaction_ms = 1000,
                                              .transaction_bytes = 40 };

                random_state = nth;
                memory_topic_init(&topic, SOURCE_CNT);
                memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
                grow(&topic, 60);
                rewrite.source = source = memory_source_new(&topic, NULL, 42); /* what the source says is not in doubt */
                rewrite.sink = sink = memory_sink_new(&cluster, &faults);
                assert_int_equal(rp_rewrite_run(&rewrite, &report, &error), RP_OK);
                assert_int_equal(report.records, 60);
                assert_progress_is_true(&topic, &cluster);
                ended_well += faults.fired;
                sink->ops->free(sink);
                source->ops->free(source);
                memory_topic_release(&topic);
                memory_cluster_release(&cluster);
        }
        assert_int_equal(ended_well, 40);
}

/* Every partition knows every pass, also one that had nothing new: verify counts passes from the end. */
static void test_a_pass_is_noted_everywhere(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct rp_note note;

        (void)state;
        copy_first(50, &topic, &cluster);
        add(&topic, 1, 5000);
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        for (int32_t p = 0; p < SOURCE_CNT; p++) {
                assert_true(rp_note_parse(&note, cluster.progress.marks[p].note));
                assert_int_equal(note.pass_cnt, 2);
                assert_int_equal(note.ends[1], topic.logs[p].end);
        }
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

/* It began before the source got one more, and was late: of that one's passes it knew nothing. */
static void test_a_run_that_knows_fewer_partitions_does_not_go_on(void **state)
{
        struct memory_topic topic, before;
        struct memory_cluster cluster;
        unsigned commits;

        (void)state;
        copy_first(50, &topic, &cluster);
        commits = cluster.commits;
        grow(&topic, 50);
        before = topic;
        before.partition_cnt--;
        assert_int_equal(run(&before, &cluster, NULL), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "this run knows 3"));
        assert_int_equal(cluster.commits, commits);
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_int_equal(report.records, 50);
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_uncertain_commit_is_looked_up(void **state)
{
        bool saw_committed = false, saw_void = false;

        (void)state;
        for (unsigned nth = 1;; nth++) {
                struct faults faults = { .nth = nth, .kind = nth % 2 ? FAULT_LATE : FAULT_LOST, .code = RP_ERR_RETRY };
                struct memory_topic topic;
                struct memory_cluster cluster;

                random_state = 5;
                memory_topic_init(&topic, SOURCE_CNT);
                memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
                grow(&topic, 60);
                if (run(&topic, &cluster, &faults) == RP_OK) {
                        assert_int_equal(report.records, 60); /* counted once, whatever happened */
                        assert_int_equal(report.transactions, cluster.commits);
                        saw_committed |= report.uncertain && !report.rolled_back;
                        saw_void |= report.uncertain && report.rolled_back;
                }
                memory_topic_release(&topic);
                memory_cluster_release(&cluster);
                if (!faults.fired)
                        break;
        }
        assert_true(saw_committed);
        assert_true(saw_void);
}

/* ---- two runs of one job ------------------------------------------------------------------------------------------ */

struct twin {
        const struct memory_topic *topic;
        struct memory_cluster *cluster;
        unsigned starts_at, ticks;
        rp_err_t rc;
        bool ran;
};

static bool start_twin(void *arg, const struct rp_rewrite_report *progress)
{
        struct twin *twin = arg;
        struct rp_rewrite_report saved = report;

        (void)progress;
        if (++twin->ticks != twin->starts_at)
                return true;
        twin->ran = true;
        twin->rc = run_as("host/2", "job", twin->topic, twin->cluster, NULL, NULL, NULL);
        report = saved;
        return true;
}

static void test_one_of_two_runs_wins(void **state)
{
        unsigned starts_at = 1;

        (void)state;
        for (bool ran = true; ran; starts_at++) {
                struct memory_topic topic, want;
                struct memory_cluster cluster;
                struct twin twin = { &topic, &cluster, starts_at, 0, RP_OK, false };
                size_t at[SOURCE_CNT] = { 0 };
                int64_t ends[SOURCE_CNT];
                rp_err_t rc;

                random_state = 9;
                memory_topic_init(&topic, SOURCE_CNT);
                memory_topic_init(&want, TARGET_CNT);
                memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
                grow(&topic, 50);
                expect_pass(&topic, at, ends_of(&topic, ends), &want);
                rc = run_as("host/1", "job", &topic, &cluster, NULL, start_twin, &twin);
                ran = twin.ran;
                if (ran) {
                        assert_int_equal(twin.rc, RP_OK);
                        if (rc != RP_OK) { /* else the first one had nothing left to do */
                                assert_int_equal(rc, RP_ERR_FENCED);
                                assert_non_null(strstr(error.text, "another run"));
                        }
                } else {
                        assert_int_equal(rc, RP_OK);
                }
                assert_same_topic(&cluster.target, &want);
                memory_topic_release(&topic);
                memory_topic_release(&want);
                memory_cluster_release(&cluster);
        }
        assert_true(starts_at > 10);
}

struct disturbance {
        struct twin twin;
        struct faults *faults;
        bool forgets; /* instead of starting a twin: the cluster loses the job's progress */
};

/* Something happens to the job at one moment, and this run then hears of some trouble that tells nothing of it. */
static bool disturb(void *arg, const struct rp_rewrite_report *progress)
{
        struct disturbance *disturbance = arg;
        struct twin *twin = &disturbance->twin;
        bool is_now = twin->ticks + 1 == twin->starts_at;

        if (disturbance->forgets && is_now)
                for (int32_t p = 0; p < SOURCE_CNT; p++)
                        rp_progress_set(&twin->cluster->progress, p, -1, NULL);
        if (disturbance->forgets)
                twin->ticks++;
        else
                start_twin(twin, progress);
        if (is_now)
                disturbance->faults->nth = disturbance->faults->calls + 1;
        return true;
}

static rp_err_t run_disturbed(bool forgets, struct memory_topic *topic, struct memory_cluster *cluster)
{
        struct faults faults = { .kind = FAULT_LOST, .code = RP_ERR_RETRY };
        struct disturbance disturbance = { { topic, cluster, 6, 0, RP_OK, false }, &faults, forgets };
        rp_err_t rc;

        random_state = 9;
        memory_topic_init(topic, SOURCE_CNT);
        memory_cluster_init(cluster, SOURCE_CNT, TARGET_CNT);
        grow(topic, 50);
        /* Faults of the sink alone: what the source says is not in doubt. */
        struct rp_source *source = memory_source_new(topic, NULL, 42);
        struct rp_sink *sink = memory_sink_new(cluster, &faults);
        struct rp_rewrite rewrite = { .source = source, .sink = sink, .rule = rule, .identity = "job", .by = "host/1",
                                      .transaction_ms = 1000, .transaction_bytes = 40, .tick = disturb,
                                      .arg = &disturbance };

        rc = rp_rewrite_run(&rewrite, &report, &error);
        assert_true(faults.fired);
        if (!forgets)
                assert_true(disturbance.twin.ran && disturbance.twin.rc == RP_OK);
        sink->ops->free(sink);
        source->ops->free(source);
        return rc;
}

static void test_trouble_after_a_take_over_does_not_take_back(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;

        (void)state;
        assert_int_equal(run_disturbed(false, &topic, &cluster), RP_ERR_FENCED);
        assert_non_null(strstr(error.text, "host/2"));
        assert_int_equal(cluster.epoch, 2); /* the two runs' own; the loser did not make another producer */
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_lost_progress_is_no_progress(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;

        (void)state;
        assert_int_equal(run_disturbed(true, &topic, &cluster), RP_ERR_FATAL);
        assert_non_null(strstr(error.text, "lost the job's progress"));
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_winner_is_named(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct twin twin = { &topic, &cluster, 5, 0, RP_OK, false };

        (void)state;
        random_state = 9;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        grow(&topic, 50);
        assert_int_equal(run_as("host/1", "job", &topic, &cluster, NULL, start_twin, &twin), RP_ERR_FENCED);
        assert_non_null(strstr(error.text, "host/2"));
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

/* ---- stopping and refusing ------------------------------------------------------------------------------------------ */

static bool stop_at(void *arg, const struct rp_rewrite_report *progress)
{
        unsigned *left = arg;

        (void)progress;
        return (*left)-- > 1;
}

static void test_stop_keeps_progress(void **state)
{
        struct memory_topic topic, want;
        struct memory_cluster cluster;
        size_t at[SOURCE_CNT] = { 0 };
        int64_t ends[SOURCE_CNT];

        (void)state;
        random_state = 3;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_topic_init(&want, TARGET_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        grow(&topic, 100);
        expect_pass(&topic, at, ends_of(&topic, ends), &want);
        for (unsigned lives = 0;; lives++) {
                unsigned left = 3;

                assert_true(lives < 200);
                assert_int_equal(run_as("host/1", "job", &topic, &cluster, NULL, stop_at, &left), RP_OK);
                assert_progress_is_true(&topic, &cluster);
                if (!report.is_stopped)
                        break;
        }
        assert_same_topic(&cluster.target, &want);
        memory_topic_release(&topic);
        memory_topic_release(&want);
        memory_cluster_release(&cluster);
}

/* What comes in a later pass is behind all of the pass before, whatever its time: no partition's times run backwards by that. */
static void test_only_times_that_run_backwards_in_a_partition_are_counted(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        unsigned left = 3;

        (void)state;
        random_state = 5;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        for (int i = 0; i < 50; i++)
                add(&topic, 0, 1000 + i);
        add(&topic, 1, 1000);
        assert_int_equal(run_as("host/1", "job", &topic, &cluster, NULL, stop_at, &left), RP_OK);
        assert_true(report.is_stopped && report.records < 50);
        for (int i = 0; i < 10; i++)
                add(&topic, 1, 1001 + i); /* older than partition 0's last, for the next pass */
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_int_equal(report.passes, 2);
        assert_int_equal(report.unordered, 0);

        add(&topic, 1, 5000);
        add(&topic, 1, 1500);
        add(&topic, 0, 1400); /* not older than what partition 0 has */
        add(&topic, 1, 4999);
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_int_equal(report.unordered, 2);
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_refuses_progress_of_another_job(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        unsigned commits;

        (void)state;
        copy_first(20, &topic, &cluster);
        grow(&topic, 20);
        commits = cluster.commits;
        assert_int_equal(run_as("host/1", "other job", &topic, &cluster, NULL, NULL, NULL), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "another job"));
        rp_progress_set(&cluster.progress, 2, 7, "written by a consumer");
        assert_int_equal(run(&topic, &cluster, NULL), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "not written by this tool"));
        assert_int_equal(cluster.commits, commits);
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_says_when_the_source_lost_records(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;

        (void)state;
        copy_first(20, &topic, &cluster);
        grow(&topic, 20);
        topic.logs[1].low = topic.logs[1].end - 1;
        assert_int_equal(run(&topic, &cluster, NULL), RP_ERR_INCOMPLETE);
        assert_non_null(strstr(error.text, "partition 1"));
        assert_non_null(strstr(error.text, "before they were copied"));
        topic.logs[1].low = 0;
        topic.logs[1].end = 1; /* made anew */
        assert_int_equal(run(&topic, &cluster, NULL), RP_ERR_INCOMPLETE);
        assert_non_null(strstr(error.text, "made anew"));
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

/* Where a record lies, and lay wrongly, is by its own topic's partitions. */
static void test_several_topics_are_judged_each_by_its_own_count(void **state)
{
        static const char key[] = "key-1";
        struct rp_record keyless = { .timestamp_ms = 1, .value = "x", .value_len = 1 };
        struct rp_record keyed = { .timestamp_ms = 1, .key = key, .key_len = strlen(key), .value = "y", .value_len = 1 };
        int32_t home = kr_rule_partition(rule, key, strlen(key), 3), to = kr_rule_partition(rule, key, strlen(key), TARGET_CNT);
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct rp_topics topics;

        (void)state;
        assert_true(rp_topics_init(&topics, (const char *const[]){ "b", "a" }, (const int32_t[]){ 3, 1 }, 2));
        row = &topics;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        memory_topic_add(&topic, 0, &keyed, 0);                  /* a 0: in its place, as is everything there */
        memory_topic_add(&topic, 1 + home, &keyed, 0);           /* b: in its place */
        memory_topic_add(&topic, 1 + (home + 1) % 3, &keyed, 0); /* b: not in its place */
        memory_topic_add(&topic, 3, &keyless, 0);                /* b 2 */
        assert_int_equal(run(&topic, &cluster, NULL), RP_OK);
        assert_int_equal(report.records, 4);
        assert_int_equal(report.misplaced, 1);
        assert_int_equal(report.moved, (to != 0) + (to != home) + (to != (home + 1) % 3));
        assert_int_equal(cluster.target.logs[to].cnt, to == 2 ? 4 : 3);
        assert_int_equal(cluster.target.logs[2].cnt, to == 2 ? 4 : 1);

        memory_topic_add(&topic, 3, &keyless, 0);
        topic.logs[3].low = topic.logs[3].end;
        assert_int_equal(run(&topic, &cluster, NULL), RP_ERR_INCOMPLETE);
        assert_non_null(strstr(error.text, "partition 2 of topic \"b\""));
        row = NULL;
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
        rp_topics_release(&topics);
}

static void test_gives_up_when_nothing_helps(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct faults faults = { .nth = 30, .kind = FAULT_CRASH };

        (void)state;
        random_state = 3;
        memory_topic_init(&topic, SOURCE_CNT);
        memory_cluster_init(&cluster, SOURCE_CNT, TARGET_CNT);
        grow(&topic, 60);
        assert_true(run(&topic, &cluster, &faults) != RP_OK);
        assert_true(faults.calls < 60); /* it did not go on trying for ever */
        memory_topic_release(&topic);
        memory_cluster_release(&cluster);
}

static void test_notes(void **state)
{
        struct rp_note note = { .job = "j \"x\"", .by = "h/1", .first = 3, .partition_cnt = 7 }, back;
        char *text;

        (void)state;
        for (int64_t i = 0; i < RP_NOTE_PASS_MAX + 20; i++)
                rp_note_add_pass(&note, INT64_C(9000000000000000) + i);
        text = rp_note_print(&note);
        assert_non_null(text);
        assert_true(strlen(text) < 4096); /* offset.metadata.max.bytes */
        assert_true(rp_note_parse(&back, text));
        assert_string_equal(back.job, note.job);
        assert_string_equal(back.by, note.by);
        assert_int_equal(back.first, 3);
        assert_int_equal(back.partition_cnt, 7);
        assert_int_equal(back.forgotten, 20);
        assert_int_equal(back.pass_cnt, RP_NOTE_PASS_MAX);
        assert_int_equal(back.ends[RP_NOTE_PASS_MAX - 1], INT64_C(9000000000000000) + RP_NOTE_PASS_MAX + 19);
        free(text);
        assert_false(rp_note_parse(&back, NULL));
        assert_false(rp_note_parse(&back, ""));
        assert_false(rp_note_parse(&back, "{}"));
        assert_false(rp_note_parse(&back, "{\"keyroute\":2,\"job\":\"\",\"by\":\"\",\"first\":0,\"passes\":[],\"forgotten\":0}"));
        assert_false(rp_note_parse(&back, "{\"keyroute\":1,\"job\":\"\",\"by\":\"\",\"first\":0,\"passes\":[\"x\"],\"forgotten\":0}"));
}

static void test_pace(void **state)
{
        (void)state;
        assert_int_equal(rp_transaction_pace_ms(40, 1000), 1000); /* 40 ms commits, as measured: the bound */
        assert_int_equal(rp_transaction_pace_ms(20, 1000), 500);
        assert_int_equal(rp_transaction_pace_ms(0, 1000), 100);
        assert_int_equal(rp_transaction_pace_ms(5000, 1000), 1000);
        assert_int_equal(rp_transaction_pace_ms(0, 50), 50);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain_run),
                cmocka_unit_test(test_survives_each_fault),
                cmocka_unit_test(test_recovery_that_fails_is_tried_again),
                cmocka_unit_test(test_a_pass_is_noted_everywhere),
                cmocka_unit_test(test_a_run_that_knows_fewer_partitions_does_not_go_on),
                cmocka_unit_test(test_uncertain_commit_is_looked_up),
                cmocka_unit_test(test_one_of_two_runs_wins),
                cmocka_unit_test(test_winner_is_named),
                cmocka_unit_test(test_trouble_after_a_take_over_does_not_take_back),
                cmocka_unit_test(test_lost_progress_is_no_progress),
                cmocka_unit_test(test_stop_keeps_progress),
                cmocka_unit_test(test_only_times_that_run_backwards_in_a_partition_are_counted),
                cmocka_unit_test(test_refuses_progress_of_another_job),
                cmocka_unit_test(test_says_when_the_source_lost_records),
                cmocka_unit_test(test_several_topics_are_judged_each_by_its_own_count),
                cmocka_unit_test(test_gives_up_when_nothing_helps),
                cmocka_unit_test(test_notes),
                cmocka_unit_test(test_pace),
        };

        return cmocka_run_group_tests(tests, java_rule_set_up, java_rule_tear_down);
}
