/*
 * Repair against in-memory twins: every call of a run fails once, in every way; records arrive while it writes; memory is
 * short. The topic that is read is the topic that is written, as it is in earnest.
 */
#include "decide/digest.h"
#include "decide/repair_pass.h"
#include "job/repair.h"
#include "java_rule.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 5, SAFE = 1 << RP_CLASS_SAFE, ALL = SAFE | 1 << RP_CLASS_STALE | 1 << RP_CLASS_SPLIT | 1 << RP_CLASS_UNKNOWN };

static struct rp_repair_report report;
static struct rp_error error;

static unsigned random_state;

static unsigned any(unsigned below)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (random_state >> 16) % below;
}

/* ---- topics ---------------------------------------------------------------------------------------------------------- */

static int32_t home_of(const struct rp_record *rec)
{
        return kr_rule_partition(rule, rec->key, rec->key_len, PARTITIONS);
}

static void add(struct memory_topic *topic, unsigned which, int32_t partition, int64_t time_ms)
{
        static int serial;
        static const struct rp_header headers[] = { { "a", "1", 1 }, { "a", NULL, 0 } };
        char key[16], value[16];
        struct rp_record rec = { .key = key, .value = value, .timestamp_ms = time_ms };

        rec.key_len = (size_t)snprintf(key, sizeof(key), "key-%u", which);
        rec.value_len = (size_t)snprintf(value, sizeof(value), "%d", serial++);
        if (!any(5)) {
                rec.headers = headers;
                rec.header_cnt = 2;
        }
        if (!any(9))
                rec.value = NULL, rec.value_len = 0;
        memory_topic_add(topic, partition < 0 ? home_of(&rec) : partition, &rec, any(7) ? 0 : 1);
}

static void add_misplaced(struct memory_topic *topic, unsigned which, int64_t time_ms)
{
        char key[16];
        size_t len = (size_t)snprintf(key, sizeof(key), "key-%u", which);

        add(topic, which, (kr_rule_partition(rule, key, len, PARTITIONS) + 1) % PARTITIONS, time_ms);
}

/* Most keys are written right at first and wrongly, by one producer, later; some are split, some stale. */
static void fill(struct memory_topic *topic, unsigned cnt, unsigned keys)
{
        for (unsigned i = 0; i < cnt; i++) {
                unsigned key = any(keys);
                int64_t time_ms = 1000 + i;

                if (!any(8))
                        time_ms -= 300; /* a producer whose clock is behind */
                if (!any(40))
                        time_ms = -1;
                add(topic, key, i < cnt / 2 || key % 4 == 0 ? -1 : (int32_t)((key + any(15) / 14) % PARTITIONS), time_ms);
        }
        topic->logs[0].end += 2; /* control records at an end */
}

static void copy_topic(struct memory_topic *to, const struct memory_topic *from)
{
        memory_topic_init(to, from->partition_cnt);
        for (int32_t p = 0; p < from->partition_cnt; p++) {
                for (size_t i = 0; i < from->logs[p].cnt; i++)
                        memory_topic_add(to, p, &from->logs[p].records[i], from->logs[p].records[i].offset - to->logs[p].end);
                to->logs[p].end = from->logs[p].end;
        }
}

static void assert_same_topic(const struct memory_topic *got, const struct memory_topic *want, const char *when)
{
        for (int32_t p = 0; p < want->partition_cnt; p++) {
                if (got->logs[p].cnt != want->logs[p].cnt)
                        fail_msg("%s: partition %d holds %zu records, not %zu", when, (int)p, got->logs[p].cnt, want->logs[p].cnt);
                for (size_t i = 0; i < want->logs[p].cnt; i++) {
                        struct rp_digest a = rp_digest_record(&got->logs[p].records[i]);

                        if (!rp_digest_equals(a, rp_digest_record(&want->logs[p].records[i])))
                                fail_msg("%s: partition %d, record %zu differs", when, (int)p, i);
                }
        }
}

/* ---- others who write ------------------------------------------------------------------------------------------------- */

/* A source of the topic in which somebody else has written more whenever its end is asked for. */
struct busy_source {
        struct rp_source base, *inner;
        struct memory_cluster *cluster;
        unsigned keys;
        int64_t time_ms;
};

static rp_err_t busy_bounds(struct rp_source *base, struct rp_range *ranges, struct rp_error *err)
{
        struct busy_source *source = (struct busy_source *)base;

        for (unsigned i = any(3); i > 0; i--)
                add(&source->cluster->target, any(source->keys), -1, source->time_ms + any(200));
        return source->inner->ops->bounds(source->inner, ranges, err);
}

static rp_err_t busy_start(struct rp_source *base, const struct rp_range *ranges, struct rp_error *err)
{
        struct busy_source *source = (struct busy_source *)base;

        return source->inner->ops->start(source->inner, ranges, err);
}

static rp_err_t busy_fetch(struct rp_source *base, int32_t partition, int timeout_ms, struct rp_batch *batch,
                           struct rp_error *err)
{
        struct busy_source *source = (struct busy_source *)base;

        return source->inner->ops->fetch(source->inner, partition, timeout_ms, batch, err);
}

static void busy_free(struct rp_source *base)
{
        struct busy_source *source = (struct busy_source *)base;

        source->inner->ops->free(source->inner);
}

static const struct rp_source_ops busy_ops = { busy_bounds, busy_start, busy_fetch, busy_free };

/* ---- commits that are seen late ----------------------------------------------------------------------------------------- */

/* A source whose end is what it was when it was asked for last: brokers answer a commit before it can be read. */
struct late_source {
        struct rp_source base, *inner;
        struct rp_range before[PARTITIONS];
        bool is_asked;
};

static rp_err_t late_bounds(struct rp_source *base, struct rp_range *ranges, struct rp_error *err)
{
        struct late_source *source = (struct late_source *)base;
        struct rp_range now[PARTITIONS];
        rp_err_t rc = source->inner->ops->bounds(source->inner, now, err);

        if (rc != RP_OK)
                return rc;
        memcpy(ranges, source->is_asked ? source->before : now, sizeof(now));
        memcpy(source->before, now, sizeof(now));
        source->is_asked = true;
        return RP_OK;
}

static rp_err_t late_start(struct rp_source *base, const struct rp_range *ranges, struct rp_error *err)
{
        struct late_source *source = (struct late_source *)base;

        return source->inner->ops->start(source->inner, ranges, err);
}

static rp_err_t late_fetch(struct rp_source *base, int32_t partition, int timeout_ms, struct rp_batch *batch,
                           struct rp_error *err)
{
        struct late_source *source = (struct late_source *)base;

        return source->inner->ops->fetch(source->inner, partition, timeout_ms, batch, err);
}

static const struct rp_source_ops late_ops = { late_bounds, late_start, late_fetch, NULL };

/* ---- records that are on their way ---------------------------------------------------------------------------------------- */

/* A sink with a queue, as producers have one: a record gets its place in the log when the queue is flushed. */
struct queueing_sink {
        struct rp_sink base, *inner;
        struct memory_cluster *cluster;
        struct memory_topic queue;
        struct { int32_t partition; int64_t offset; } written[256]; /* by the open transaction */
        size_t written_cnt;
};

static rp_err_t queueing_stored(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        return sink->inner->ops->stored(sink->inner, progress, err);
}

static rp_err_t queueing_recover(struct rp_sink *base, struct rp_progress *progress, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        return sink->inner->ops->recover(sink->inner, progress, err);
}

static rp_err_t queueing_begin(struct rp_sink *base, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        sink->written_cnt = 0;
        return sink->inner->ops->begin(sink->inner, err);
}

static rp_err_t queueing_append(struct rp_sink *base, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        (void)err;
        memory_topic_add(&sink->queue, to, rec, 0);
        return RP_OK;
}

static rp_err_t queueing_flush(struct rp_sink *base, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        (void)err;
        for (int32_t p = 0; p < PARTITIONS; p++)
                for (size_t i = 0; i < sink->queue.logs[p].cnt; i++) {
                        assert_true(sink->written_cnt < sizeof(sink->written) / sizeof(*sink->written));
                        sink->written[sink->written_cnt].partition = p;
                        sink->written[sink->written_cnt++].offset = sink->cluster->target.logs[p].end;
                        memory_topic_add(&sink->cluster->target, p, &sink->queue.logs[p].records[i], 0);
                }
        memory_topic_release(&sink->queue);
        memory_topic_init(&sink->queue, PARTITIONS);
        return RP_OK;
}

/* Somebody writes each of these keys once more, right before what is still queued. */
static rp_err_t queueing_commit(struct rp_sink *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        for (int32_t p = 0; p < PARTITIONS; p++)
                for (size_t i = 0; i < sink->queue.logs[p].cnt; i++) {
                        struct rp_record newer = sink->queue.logs[p].records[i];

                        newer.timestamp_ms++;
                        newer.header_cnt = 0;
                        memory_topic_add(&sink->cluster->target, p, &newer, 0);
                }
        queueing_flush(base, err);
        return sink->inner->ops->commit(sink->inner, marks, cnt, err);
}

static rp_err_t queueing_abort(struct rp_sink *base, struct rp_error *err)
{
        struct queueing_sink *sink = (struct queueing_sink *)base;

        memory_topic_release(&sink->queue);
        memory_topic_init(&sink->queue, PARTITIONS);
        for (size_t i = 0; i < sink->written_cnt; i++)
                memory_topic_remove(&sink->cluster->target, sink->written[i].partition, sink->written[i].offset);
        return sink->inner->ops->abort(sink->inner, err);
}

static const struct rp_sink_ops queueing_ops = { queueing_stored, queueing_recover, queueing_begin, queueing_append,
                                                 queueing_commit, queueing_abort, NULL, NULL, queueing_flush };

/* ---- running --------------------------------------------------------------------------------------------------------- */

struct options {
        unsigned include;
        bool mark, tombstones, only_judge, is_late, is_queued;
        size_t memory_bytes;
        bool (*tick)(void *arg, const struct rp_repair_report *report);
        void *arg;
        unsigned others_keys; /* others write records of so many keys meanwhile; 0: nobody does */
};

static rp_err_t run(struct memory_cluster *cluster, struct faults *faults, struct options options)
{
        struct rp_source *source = memory_source_new(&cluster->target, faults, 42);
        struct rp_source *tail = memory_source_new(&cluster->target, faults, 43);
        struct busy_source busy = { { &busy_ops, tail->topic, tail->partition_cnt, NULL }, tail, cluster, options.others_keys,
                                    1100 };
        struct late_source late = { { &late_ops, source->topic, source->partition_cnt, NULL }, source, { { 0 } }, false };
        struct rp_sink *sink = memory_sink_new(cluster, faults);
        struct queueing_sink queueing = { .base = { &queueing_ops, sink->partition_cnt }, .inner = sink, .cluster = cluster };
        struct rp_repair_job job = {
                .source = options.is_late ? &late.base : source, .tail = options.others_keys ? &busy.base : tail,
                .sink = options.only_judge ? NULL : options.is_queued ? &queueing.base : sink,
                .config = { .rule = rule, .include = options.include, .tombstones = options.tombstones,
                            .memory_bytes = options.memory_bytes ? options.memory_bytes : 1 << 20, .cutoff_ms = INT64_MIN },
                .mark = options.mark, .by = "host/1", .transaction_ms = 1000,
                .transaction_bytes = 60, .tick = options.tick, .arg = options.arg,
        };
        rp_err_t rc;

        memory_topic_init(&queueing.queue, PARTITIONS);
        rc = rp_repair_run(&job, &report, &error);
        memory_topic_release(&queueing.queue);
        sink->ops->free(sink);
        tail->ops->free(tail);
        source->ops->free(source);
        return rc;
}

static void begin_with(struct memory_cluster *cluster, const struct memory_topic *topic)
{
        *cluster = (struct memory_cluster){ 0 };
        copy_topic(&cluster->target, topic);
        assert_true(rp_progress_init(&cluster->progress, PARTITIONS));
}

/* No safe record is left, and another run writes nothing. */
static void assert_settled(struct memory_cluster *cluster, struct options options)
{
        unsigned commits = cluster->commits;

        options.tick = NULL;
        options.others_keys = 0;
        assert_int_equal(run(cluster, NULL, options), RP_OK);
        assert_int_equal(report.written, 0);
        assert_int_equal(report.counts.pending, 0);
        assert_int_equal(report.counts.records[RP_CLASS_SAFE], 0);
        assert_int_equal(cluster->commits, commits);
}

/* ---- tests ----------------------------------------------------------------------------------------------------------- */

static void test_plain_run(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        uint64_t safe, stale, split, unknown;
        size_t appended = 0;

        (void)state;
        random_state = 1;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 400, 60);
        begin_with(&cluster, &topic);
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE, .only_judge = true }), RP_OK);
        safe = report.counts.records[RP_CLASS_SAFE];
        stale = report.counts.records[RP_CLASS_STALE];
        split = report.counts.records[RP_CLASS_SPLIT];
        unknown = report.counts.records[RP_CLASS_UNKNOWN];
        assert_true(safe > 20 && stale > 5 && split > 10 && unknown > 3);
        assert_int_equal(report.counts.records[RP_CLASS_COPIED], 0);
        assert_int_equal(report.counts.pending, safe);
        assert_int_equal(report.records, 400);
        assert_same_topic(&cluster.target, &topic, "judging");

        assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE }), RP_OK);
        assert_int_equal(report.written, safe);
        assert_int_equal(report.overtaken + report.gone + report.recoveries, 0);
        for (int32_t p = 0; p < PARTITIONS; p++)
                for (size_t i = topic.logs[p].cnt; i < cluster.target.logs[p].cnt; i++, appended++)
                        assert_int_equal(home_of(&cluster.target.logs[p].records[i]), p);
        assert_int_equal(appended, safe);
        assert_settled(&cluster, (struct options){ .include = SAFE });
        assert_int_equal(report.counts.records[RP_CLASS_COPIED], safe);

        /* The other classes on demand, each once. */
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = ALL }), RP_OK);
        assert_int_equal(report.written, stale + split + unknown);
        assert_settled(&cluster, (struct options){ .include = ALL });
        assert_int_equal(report.counts.records[RP_CLASS_COPIED], safe + stale + split + unknown);

        /* Only what is newer. */
        add_misplaced(&cluster.target, 1001, 9000);
        add_misplaced(&cluster.target, 1001, 9001);
        add_misplaced(&cluster.target, 1002, 9000);
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE }), RP_OK);
        assert_int_equal(report.written, 3);
        assert_settled(&cluster, (struct options){ .include = SAFE });
        memory_cluster_release(&cluster);
        memory_topic_release(&topic);
}

/* Another run, and another, until one ends well. */
static void finish(struct memory_cluster *cluster, struct options options)
{
        int runs = 0;

        while (run(cluster, NULL, options) != RP_OK)
                assert_true(++runs < 3);
}

static void test_every_call_fails_once(void **state)
{
        static const struct { fault_t kind; rp_err_t code; unsigned more; } ways[] = {
                { FAULT_LOST, RP_ERR_RETRY, 0 },       { FAULT_LATE, RP_ERR_RETRY, 0 },  { FAULT_LOST, RP_ERR_ABORT_BATCH, 1 },
                { FAULT_LATE, RP_ERR_ABORT_BATCH, 0 }, { FAULT_CRASH, RP_ERR_FATAL, 0 },
        };
        static const struct options all[] = {
                { .include = SAFE }, { .include = ALL, .mark = true }, { .include = SAFE, .memory_bytes = 20000 }
        };
        struct memory_topic topic;

        (void)state;
        random_state = 2;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 400, 90);
        for (size_t o = 0; o < sizeof(all) / sizeof(*all); o++) {
                struct memory_cluster want;

                begin_with(&want, &topic);
                assert_int_equal(run(&want, NULL, all[o]), RP_OK);
                assert_true(report.written > 50 && (o < 2 || report.passes > 1));
                for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
                        struct faults faults = { .fired = true };

                        for (unsigned nth = 1; faults.fired; nth += nth < 60 ? 1 : 7) {
                                struct memory_cluster cluster;
                                char when[64];

                                faults = (struct faults){ .nth = nth, .kind = ways[w].kind, .code = ways[w].code,
                                                          .more = ways[w].more };
                                begin_with(&cluster, &topic);
                                if (run(&cluster, &faults, all[o]) != RP_OK)
                                        finish(&cluster, all[o]);
                                snprintf(when, sizeof(when), "options %zu, way %zu, call %u", o, w, nth);
                                assert_same_topic(&cluster.target, &want.target, when);
                                memory_cluster_release(&cluster);
                        }
                }
                memory_cluster_release(&want);
        }
        memory_topic_release(&topic);
}

/* Stops at the n-th look around. */
static bool stop_after(void *arg, const struct rp_repair_report *now)
{
        int *left = arg;

        (void)now;
        return (*left)-- > 0;
}

static void stop_anywhere(bool is_late)
{
        struct memory_topic topic;
        struct memory_cluster want;
        bool was_stopped = true, was_stopped_writing = false;

        random_state = 3;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 300, 60);
        begin_with(&want, &topic);
        assert_int_equal(run(&want, NULL, (struct options){ .include = ALL }), RP_OK);
        for (int ticks = 0; was_stopped; ticks++) {
                struct memory_cluster cluster;
                int left = ticks;

                begin_with(&cluster, &topic);
                assert_int_equal(run(&cluster, NULL, (struct options){ .include = ALL, .tick = stop_after, .arg = &left,
                                                                       .is_late = is_late }), RP_OK);
                was_stopped = report.is_stopped;
                was_stopped_writing |= was_stopped && report.written;
                finish(&cluster, (struct options){ .include = ALL, .is_late = is_late });
                assert_true(!was_stopped || report.is_interrupted == report.resumes);
                assert_same_topic(&cluster.target, &want.target, "stopped");
                memory_cluster_release(&cluster);
        }
        assert_true(was_stopped_writing);
        memory_cluster_release(&want);
        memory_topic_release(&topic);
}

static void test_stopped_anywhere_goes_on(void **state)
{
        (void)state;
        stop_anywhere(false);
        stop_anywhere(true);
}

static uint64_t misplaced(void)
{
        uint64_t sum = 0;

        for (int class = 0; class < RP_CLASS_CNT; class++)
                sum += report.counts.records[class];
        return sum;
}

/* What is misplaced is of what was read, also where a run that took another up is stopped in its turn. */
static void test_stopped_twice_tells_what_it_read(void **state)
{
        struct memory_topic topic;
        bool was_resumed = false;

        (void)state;
        random_state = 3;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 300, 60);
        for (int first = 0, was_stopped = 1; was_stopped; first++) {
                struct memory_cluster cluster;
                int left = first;

                begin_with(&cluster, &topic);
                assert_int_equal(run(&cluster, NULL, (struct options){ .include = ALL, .tick = stop_after, .arg = &left }), RP_OK);
                was_stopped = report.is_stopped;
                left = first; /* as far once more */
                assert_int_equal(run(&cluster, NULL, (struct options){ .include = ALL, .tick = stop_after, .arg = &left }), RP_OK);
                was_resumed |= report.is_stopped && report.resumes && report.written;
                assert_true(misplaced() <= report.keyed && report.keyed <= report.records);
                memory_cluster_release(&cluster);
        }
        assert_true(was_resumed);
        memory_topic_release(&topic);
}

static void test_other_options_begin_anew(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        int left = 100;

        (void)state;
        random_state = 4;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 300, 60);
        begin_with(&cluster, &topic);
        do {
                int ticks = ++left;

                memory_cluster_release(&cluster);
                begin_with(&cluster, &topic);
                assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE, .tick = stop_after, .arg = &ticks }), RP_OK);
        } while (!report.written);
        assert_true(report.is_stopped);
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = ALL }), RP_OK);
        assert_true(report.is_interrupted && !report.resumes && report.counts.records[RP_CLASS_COPIED]);
        assert_settled(&cluster, (struct options){ .include = ALL });
        memory_cluster_release(&cluster);
        memory_topic_release(&topic);
}

/* ---- while others write ------------------------------------------------------------------------------------------------ */

static bool is_copy(const struct rp_record *rec)
{
        return rec->header_cnt && !strcmp(rec->headers[rec->header_cnt - 1].name, RP_ORIGIN_HEADER);
}

/* In its right partition no record of this run stands behind a newer one that another producer wrote. */
static void assert_nothing_old_behind_new(const struct memory_topic *before, const struct memory_cluster *cluster)
{
        for (int32_t p = 0; p < PARTITIONS; p++) {
                const struct memory_log *log = &cluster->target.logs[p];

                for (size_t i = before->logs[p].cnt; i < log->cnt; i++)
                        for (size_t older = 0; older < i; older++) {
                                const struct rp_record *a = &log->records[older], *b = &log->records[i];

                                if (a->key_len == b->key_len && !memcmp(a->key, b->key, b->key_len) && is_copy(b) &&
                                    a->timestamp_ms >= b->timestamp_ms)
                                        fail_msg("partition %d: the copy at %d is older than %d", (int)p, (int)i, (int)older);
                        }
        }
}

static void test_newer_records_win(void **state)
{
        uint64_t overtaken = 0, written = 0;

        (void)state;
        for (unsigned seed = 0; seed < 120; seed++) {
                struct options options = { .include = SAFE, .mark = true, .others_keys = 60, .is_queued = seed % 2 };
                struct memory_topic topic;
                struct memory_cluster cluster;

                random_state = seed;
                memory_topic_init(&topic, PARTITIONS);
                for (unsigned i = 0; i < 200; i++) /* times rise everywhere: only who comes later can make a copy old */
                        add(&topic, any(60), i < 60 ? -1 : (int32_t)(i % PARTITIONS), 1000 + i);
                begin_with(&cluster, &topic);
                assert_int_equal(run(&cluster, NULL, options), RP_OK);
                assert_nothing_old_behind_new(&topic, &cluster);
                assert_int_equal(report.gone, 0);
                overtaken += report.overtaken;
                assert_int_equal(report.recoveries, 0);
                written += report.written;
                assert_settled(&cluster, (struct options){ .include = SAFE, .mark = true });
                memory_cluster_release(&cluster);
                memory_topic_release(&topic);
        }
        assert_true(overtaken > 50 && written > 500);
}

/* ---- tombstones --------------------------------------------------------------------------------------------------------- */

static void test_tombstones_follow_copies(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        size_t tombstones = 0;

        (void)state;
        random_state = 5;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 400, 60);
        begin_with(&cluster, &topic);
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE }), RP_OK);
        assert_int_equal(run(&cluster, NULL, (struct options){ .tombstones = true }), RP_OK);
        assert_true(report.written > 10 && report.counts.uncovered > 10);
        for (int32_t p = 0; p < PARTITIONS; p++)
                for (size_t i = topic.logs[p].cnt; i < cluster.target.logs[p].cnt; i++) {
                        const struct rp_record *rec = &cluster.target.logs[p].records[i];

                        if (!rp_is_own_tombstone(rec))
                                continue;
                        tombstones++;
                        assert_true(home_of(rec) != p && !rec->value && rec->header_cnt == 1);
                }
        assert_int_equal(tombstones, report.written);
        assert_settled(&cluster, (struct options){ .tombstones = true });
        assert_int_equal(report.counts.own_tombstones, tombstones);
        assert_settled(&cluster, (struct options){ .include = SAFE });
        memory_cluster_release(&cluster);
        memory_topic_release(&topic);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------------ */

static rp_err_t refuse(void *arg, const struct rp_repair_report *now, struct rp_error *err)
{
        (void)arg;
        assert_true(now->counts.pending > 0);
        return rp_fail(err, RP_ERR_USAGE, "no");
}

static void test_foreign_progress_is_refused(void **state)
{
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct rp_source *source;
        struct rp_repair_job job = { .config = { .rule = rule, .include = SAFE, .memory_bytes = 1 << 20 }, .by = "me",
                                     .transaction_ms = 1000, .check = refuse };

        (void)state;
        random_state = 6;
        memory_topic_init(&topic, PARTITIONS);
        fill(&topic, 300, 60);
        begin_with(&cluster, &topic);
        rp_progress_set(&cluster.progress, 1, 5, "somebody's own");
        assert_int_equal(run(&cluster, NULL, (struct options){ .include = SAFE }), RP_ERR_USAGE);
        assert_non_null(strstr(error.text, "were not written by a repair"));
        assert_same_topic(&cluster.target, &topic, "refused");
        memory_cluster_release(&cluster);

        /* What check() says is the end of it. */
        begin_with(&cluster, &topic);
        job.source = source = memory_source_new(&cluster.target, NULL, 1);
        job.tail = memory_source_new(&cluster.target, NULL, 2);
        job.sink = memory_sink_new(&cluster, NULL);
        assert_int_equal(rp_repair_run(&job, &report, &error), RP_ERR_USAGE);
        assert_string_equal(error.text, "no");
        assert_same_topic(&cluster.target, &topic, "refused");
        job.sink->ops->free(job.sink);
        job.tail->ops->free(job.tail);
        source->ops->free(source);
        memory_cluster_release(&cluster);
        memory_topic_release(&topic);
}

static void test_passes_as_text(void **state)
{
        struct rp_repair_pass pass = { .topic = "a.topic", .partition_cnt = 12, .fingerprint = "0123456789abcdef", .include = ALL,
                                       .mark = true, .low = 5, .high = UINT64_MAX, .number = 7 };
        struct rp_repair_pass read;
        char text[RP_NOTE_JOB_SIZE];
        unsigned classes;
        const char *word;
        size_t len;

        (void)state;
        rp_repair_pass_print(text, &pass);
        assert_string_equal(text, "repair a.topic, 12 partitions, policy 0123456789abcdef, writes safe,stale,split,unknown+mark, "
                                  "keys 0000000000000005 to ffffffffffffffff, pass 7");
        assert_true(rp_repair_pass_parse(&read, text));
        assert_true(rp_repair_pass_is_alike(&read, &pass));
        assert_true(read.low == 5 && read.high == UINT64_MAX && read.number == 7);
        read.mark = false;
        assert_false(rp_repair_pass_is_alike(&read, &pass));
        for (size_t cut = 0; cut < strlen(text); cut++) {
                char part[RP_NOTE_JOB_SIZE];

                snprintf(part, sizeof(part), "%.*s", (int)cut, text);
                assert_false(rp_repair_pass_parse(&read, part));
        }
        assert_false(rp_repair_pass_parse(&read, "rewrite a to b, 12 partitions, policy 0123456789abcdef"));
        pass = (struct rp_repair_pass){ .topic = "t", .partition_cnt = 1, .fingerprint = "f", .tombstones = true };
        rp_repair_pass_print(text, &pass);
        assert_true(rp_repair_pass_parse(&read, text) && rp_repair_pass_is_alike(&read, &pass));

        assert_true(rp_classes_parse("stale", &classes, &word, &len) && classes == 1u << RP_CLASS_STALE);
        assert_true(rp_classes_parse("split,unknown", &classes, &word, &len) &&
                    classes == (1u << RP_CLASS_SPLIT | 1u << RP_CLASS_UNKNOWN));
        assert_false(rp_classes_parse("split,copied", &classes, &word, &len));
        assert_true(len == 6 && !strncmp(word, "copied", len));
        assert_false(rp_classes_parse("", &classes, &word, &len));
        assert_false(rp_classes_parse("safe,", &classes, &word, &len));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain_run),
                cmocka_unit_test(test_every_call_fails_once),
                cmocka_unit_test(test_stopped_anywhere_goes_on),
                cmocka_unit_test(test_stopped_twice_tells_what_it_read),
                cmocka_unit_test(test_other_options_begin_anew),
                cmocka_unit_test(test_newer_records_win),
                cmocka_unit_test(test_tombstones_follow_copies),
                cmocka_unit_test(test_foreign_progress_is_refused),
                cmocka_unit_test(test_passes_as_text),
        };

        return cmocka_run_group_tests(tests, java_rule_set_up, java_rule_tear_down);
}
