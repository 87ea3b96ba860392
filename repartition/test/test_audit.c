/* decide/audit, decide/skew and job/audit: every record is counted once, wherever it lies and whatever gets in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/audit.h"
#include "decide/survey.h"
#include "job/audit.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12 };

struct fixture {
        kr_policy_t *java, *crc;
        struct memory_topic topic;
};

static int setup(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));
        struct kr_error kerr;

        fixture->java = kr_policy_from_hash("murmur2", &kerr);
        fixture->crc = kr_policy_from_hash("crc32", &kerr);
        memory_topic_init(&fixture->topic, N);
        *state = fixture;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *fixture = *state;

        memory_topic_release(&fixture->topic);
        kr_policy_free(fixture->java);
        kr_policy_free(fixture->crc);
        free(fixture);
        return 0;
}

static const kr_rule_t *rule_of(const kr_policy_t *policy)
{
        return kr_policy_rule_at(policy, 0);
}

static struct rp_record record(int32_t partition, const char *key, int64_t time_ms)
{
        return (struct rp_record){ .partition = partition,
                                   .timestamp_ms = time_ms,
                                   .key = key,
                                   .key_len = key ? strlen(key) : 0,
                                   .value = "0123456789",
                                   .value_len = 10 };
}

static void put(struct fixture *fixture, const kr_policy_t *policy, const char *key, int64_t time_ms, int64_t gap)
{
        struct rp_record rec = record(kr_rule_partition(rule_of(policy), key, strlen(key), N), key, time_ms);

        memory_topic_add(&fixture->topic, rec.partition, &rec, gap);
}

static void put_many(struct fixture *fixture, const kr_policy_t *policy, int from, int to)
{
        for (int i = from; i < to; i++) {
                char key[32];

                snprintf(key, sizeof(key), "order-%d", i);
                put(fixture, policy, key, 1000 + i, i % 7 == 0 ? 2 : 0); /* gaps, as compaction and aborts leave them */
        }
}

/* ---- one record at a time ---------------------------------------------------------------------------------------- */

static void test_kinds_of_keys(void **state)
{
        struct fixture *fixture = *state;
        struct rp_audit audit;
        struct rp_error err;
        struct rp_record recs[] = {
                record(0, NULL, 5),       /* no key: right anywhere */
                record(9, "", 6),         /* the empty key at home (murmur2 of nothing, 12 partitions) */
                record(3, "", 7),         /* and away */
                record(0, "order-42", 8), /* at home */
                record(1, "order-42", 9), /* and away */
        };

        assert_int_equal(rp_audit_init(&audit, rule_of(fixture->java), N, 100, &err), RP_OK);
        for (size_t i = 0; i < sizeof(recs) / sizeof(recs[0]); i++) {
                recs[i].offset = (int64_t)i;
                assert_int_equal(rp_audit_add(&audit, &recs[i], &err), RP_OK);
        }
        assert_int_equal(audit.records, 5);
        assert_int_equal(audit.null_keys, 1);
        assert_int_equal(audit.empty_keys, 2);
        assert_int_equal(audit.keyed, 2);
        assert_int_equal(audit.misplaced, 2);
        assert_int_equal(audit.misplaced_empty_keys, 1);
        assert_int_equal(audit.bytes, 5 * 10 + 2 * 8);
        assert_int_equal(audit.partitions[0].records, 2);
        assert_int_equal(audit.partitions[1].misplaced, 1);
        assert_int_equal(audit.partitions[0].misplaced, 0);
        rp_audit_release(&audit);
}

static void test_first_and_last_whatever_the_order(void **state)
{
        struct fixture *fixture = *state;
        struct rp_audit audit;
        struct rp_error err;
        struct rp_record rec = record(1, "order-42", 0);
        static const struct {
                int32_t partition;
                int64_t offset, time_ms;
        } places[] = { { 1, 20, 500 }, { 2, 7, 300 }, { 1, 10, 400 }, { 2, 9, 100 }, { 1, 30, 450 }, { 3, 1, 100 } };

        assert_int_equal(rp_audit_init(&audit, rule_of(fixture->java), N, 100, &err), RP_OK);
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                rec.partition = places[i].partition;
                rec.offset = places[i].offset;
                rec.timestamp_ms = places[i].time_ms;
                assert_int_equal(rp_audit_add(&audit, &rec, &err), RP_OK);
        }
        /* In a partition by offset; of all, by time, and where times are equal by partition. */
        assert_int_equal(audit.partitions[1].first_misplaced.offset, 10);
        assert_int_equal(audit.partitions[1].last_misplaced.offset, 30);
        assert_int_equal(audit.partitions[2].first_misplaced.offset, 7);
        assert_int_equal(audit.partitions[2].first_misplaced.time_ms, 300);
        assert_int_equal(audit.first_misplaced.partition, 2);
        assert_int_equal(audit.first_misplaced.offset, 9);
        assert_int_equal(audit.partitions[4].first_misplaced.partition, -1);
        rp_audit_release(&audit);
}

static void test_rejected_keys_are_counted_not_judged(void **state)
{
        static const char json[] = "{\"keyroute\":1,\"topics\":{\"t\":{\"key\":{\"use\":\"field\",\"delimiter\":\"|\","
                                   "\"index\":1,\"missing\":\"reject\"}}}}";
        struct kr_error kerr;
        struct rp_error err;
        struct rp_audit audit;
        struct rp_record rec = record(0, "no-delimiter", 1);
        kr_policy_t *policy = kr_policy_parse(json, strlen(json), "p.json", &kerr);

        (void)state;
        if (!policy)
                fail_msg("%s", kerr.text);
        assert_int_equal(rp_audit_init(&audit, rule_of(policy), N, 100, &err), RP_OK);
        assert_int_equal(rp_audit_add(&audit, &rec, &err), RP_OK);
        assert_int_equal(audit.rejected_keys, 1);
        assert_int_equal(audit.misplaced, 0);
        rp_audit_release(&audit);
        kr_policy_free(policy);
}

/* Nobody answers there, and no record waits. */
static const char unanswered[] =
        "{\"keyroute\":1,\"topics\":{\"t\":{\"key\":{\"use\":\"avro\",\"fields\":[\"id\"],\"schema\":{\"registry\":\"main\"}}}},"
        "\"schemas\":{\"registries\":{\"main\":{\"urls\":[\"http://127.0.0.1:1\"],\"wait_ms\":0,\"retries\":0}}}}";

static void test_unresolved_keys_are_no_rejected_ones(void **state)
{
        static const char framed[] = "\0\0\0\0\7\12alice";
        struct kr_error kerr;
        struct rp_error err;
        struct rp_audit audit;
        struct rp_record rec = { .key = framed, .key_len = sizeof(framed) - 1, .offset = 1, .timestamp_ms = 1 };
        kr_policy_t *policy = kr_policy_parse(unanswered, strlen(unanswered), "p.json", &kerr);
        struct rp_survey survey = { .source_cnt = N, .target_cnt = N, .misplaced_is_known = true };

        (void)state;
        if (!policy)
                fail_msg("%s", kerr.text);
        kr_policy_be_strict(policy);
        assert_int_equal(rp_audit_init(&audit, rule_of(policy), N, 100, &err), RP_OK);
        assert_int_equal(rp_audit_add(&audit, &rec, &err), RP_OK);
        assert_int_equal(audit.unresolved_keys, 1);
        assert_int_equal(audit.rejected_keys, 0);
        assert_int_equal(audit.key_outcomes[KR_KEY_UNRESOLVED], 1);
        assert_int_equal(audit.misplaced, 0);
        rp_audit_release(&audit);
        survey.rule = rule_of(policy);
        assert_true(rp_survey_init(&survey));
        rp_survey_add(&survey, &rec);
        assert_int_equal(survey.unresolved, 1);
        assert_int_equal(survey.rejected + survey.moved + survey.misplaced, 0);
        rp_survey_release(&survey);
        kr_policy_free(policy);
}

static void test_findings(void **state)
{
        struct fixture *fixture = *state;
        struct rp_audit audit;
        struct rp_findings findings;
        struct rp_error err;
        uint64_t heaviest;

        assert_int_equal(rp_audit_init(&audit, rule_of(fixture->java), N, 10000, &err), RP_OK);
        for (int i = 0; i < 3000; i++) {
                char key[32];
                int len = snprintf(key, sizeof(key), "order-%d", i);
                struct rp_record rec = record(kr_rule_partition(audit.rule, key, (size_t)len, N), key, i);

                for (int t = 0; t < (i ? 1 : 1000); t++) /* one heavy key */
                        assert_int_equal(rp_audit_add(&audit, &rec, &err), RP_OK);
                if (i % 3)
                        continue;
                rec.partition = kr_rule_partition(rule_of(fixture->crc), key, (size_t)len, N);
                assert_int_equal(rp_audit_add(&audit, &rec, &err), RP_OK);
        }
        assert_int_equal(rp_audit_conclude(&audit, &findings, &err), RP_OK);
        assert_int_equal(findings.measures.distinct_keys, 3000);
        assert_true(findings.measures.distinct_error == 0);
        assert_int_equal(findings.measures.split_keys, audit.misplaced); /* each misplaced record's key lives at home too */
        heaviest = findings.measures.heaviest[0].records;
        assert_in_range(heaviest, 1001 - rp_heavy_error(audit.heavy), 1001);
        assert_memory_equal(findings.measures.heaviest[0].key, "order-0", 7);
        assert_true(fabs(findings.measures.skew.floor - (double)heaviest * N / (double)audit.records) < 1e-9);
        assert_int_equal(findings.found.cause_cnt, 2);
        assert_string_equal(findings.found.causes[0].way->name, "murmur2");
        assert_string_equal(findings.found.causes[1].way->name, "crc32");
        for (int32_t p = 0; p < N; p++)
                assert_int_equal(findings.measures.partition_records[p], audit.partitions[p].records);
        rp_findings_release(&findings);
        rp_audit_release(&audit);
}

/* ---- skew ---------------------------------------------------------------------------------------------------------- */

static void test_skew(void **state)
{
        static const uint64_t even[] = { 5, 5, 5, 5 }, uneven[] = { 1, 2, 3, 10 }, none[] = { 0, 0, 0 }, odd[] = { 1, 9, 2 };
        struct rp_skew skew;

        (void)state;
        assert_true(rp_skew_measure(even, 4, 1000, 5, &skew));
        assert_true(skew.max_over_mean == 1 && skew.max_over_median == 1 && skew.floor == 1);
        assert_true(rp_skew_measure(uneven, 4, 16, 9, &skew));
        assert_true(skew.max_over_mean == 2.5 && skew.max_over_median == 4 && skew.floor == 9 / 4.0);
        assert_true(rp_skew_measure(odd, 3, 16, 1, &skew));
        assert_true(skew.max_over_median == 4.5);
        assert_true(rp_skew_measure(none, 3, 0, 0, &skew));
        assert_true(skew.max_over_mean == 0 && skew.max_over_median == 0 && skew.floor == 1 && skew.chance == 0);
}

/* Balls into bins, 64 partitions: figures that were published for this formula. */
static void test_chance(void **state)
{
        static const struct {
                uint64_t per_partition;
                double want;
        } cases[] = { { 1, 3.88 }, { 4, 2.44 }, { 16, 1.72 }, { 64, 1.36 }, { 256, 1.18 }, { 1024, 1.09 }, { 15600, 1.02 } };
        uint64_t records[64] = { 1 };
        struct rp_skew skew;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                assert_true(rp_skew_measure(records, 64, 64 * cases[i].per_partition, 1, &skew));
                assert_true(fabs(skew.chance - cases[i].want) < 0.005);
        }
}

static void test_heavy_keys_among_many(void **state)
{
        rp_heavy_t *heavy = rp_heavy_new();
        struct rp_heavy_key top[4];
        uint64_t total = 0;

        (void)state;
        for (uint64_t i = 0; i < 1000000; i++) {
                uint64_t key = i % 50 == 0 ? 1 : i % 100 == 1 ? 2 : 1000 + i; /* 2 %, 1 %, the rest all different */

                rp_heavy_add(heavy, key * 0x9e3779b97f4a7c15u, &key, sizeof(key));
                total++;
        }
        assert_true(rp_heavy_error(heavy) <= total / RP_HEAVY_KEYS);
        assert_int_equal(rp_heavy_top(heavy, top, 4), 2); /* none of the others is known to be heavy */
        assert_int_equal(*(uint64_t *)(void *)top[0].key, 1);
        assert_int_equal(*(uint64_t *)(void *)top[1].key, 2);
        assert_in_range(top[0].records, 20000 - rp_heavy_error(heavy), 20000);
        assert_in_range(top[1].records, 10000 - rp_heavy_error(heavy), 10000);
        rp_heavy_free(heavy);
}

static void test_heavy_keys_are_exact_while_few(void **state)
{
        rp_heavy_t *heavy = rp_heavy_new();
        struct rp_heavy_key top[2];
        char longest[100];

        (void)state;
        memset(longest, 'x', sizeof(longest));
        assert_int_equal(rp_heavy_top(heavy, top, 2), 0);
        for (int i = 0; i < 3; i++)
                rp_heavy_add(heavy, 7, longest, sizeof(longest));
        rp_heavy_add(heavy, 8, NULL, 0);
        assert_int_equal(rp_heavy_top(heavy, top, 2), 2);
        assert_int_equal(top[0].records, 3);
        assert_int_equal(top[0].key_len, 100); /* told, though not kept */
        assert_memory_equal(top[0].key, longest, RP_HEAVY_KEY_MAX);
        assert_int_equal(rp_heavy_error(heavy), 0);
        rp_heavy_free(heavy);
}

/* ---- the job ------------------------------------------------------------------------------------------------------- */

struct ticks {
        uint64_t done, total, calls;
};

static void tick(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        struct ticks *ticks = arg;

        (void)records;
        assert_true(done >= ticks->done && done <= total); /* never backwards */
        *ticks = (struct ticks){ done, total, ticks->calls + 1 };
}

/* Audits what the source gives. coverage has N elements. */
static rp_err_t run(struct fixture *fixture, struct rp_source *source, struct rp_audit *audit,
                    struct rp_coverage *coverage, struct ticks *ticks, struct rp_error *err)
{
        struct rp_audit_job job = { .source = source, .audit = audit, .coverage = coverage, .tick = tick, .arg = ticks };

        assert_int_equal(rp_audit_init(audit, rule_of(fixture->java), source->partition_cnt, 1000, err), RP_OK);
        return rp_audit_run(&job, err);
}

static void test_reads_everything_once(void **state)
{
        struct fixture *fixture = *state;

        put_many(fixture, fixture->java, 0, 4000);
        put_many(fixture, fixture->crc, 4000, 5000);
        for (unsigned seed = 1; seed < 4; seed++) {
                struct rp_source *source = memory_source_new(&fixture->topic, NULL, seed);
                struct rp_coverage coverage[N] = { 0 };
                struct ticks ticks = { 0 };
                struct rp_audit audit;
                struct rp_error err;

                assert_int_equal(run(fixture, source, &audit, coverage, &ticks, &err), RP_OK);
                assert_int_equal(audit.records, 5000);
                assert_in_range(audit.misplaced, 850, 980); /* about 11/12 of 1,000 */
                for (int32_t p = 0; p < N; p++) {
                        assert_int_equal(audit.partitions[p].records, fixture->topic.logs[p].cnt);
                        assert_int_equal(coverage[p].next, coverage[p].end);
                        assert_int_equal(coverage[p].end, fixture->topic.logs[p].end);
                }
                assert_int_equal(ticks.done, ticks.total);
                source->ops->free(source);
                rp_audit_release(&audit);
        }
}

/* Everything but what the heaviest keys' counts may lack, which is bounded. */
static void assert_same(struct rp_audit *a, struct rp_audit *b)
{
        size_t cnt, other_cnt;
        const struct rp_sample_key *keys = rp_sample_keys(a->sample, &cnt), *others = rp_sample_keys(b->sample, &other_cnt);

        assert_int_equal(a->records, b->records);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->null_keys, b->null_keys);
        assert_int_equal(a->empty_keys, b->empty_keys);
        assert_int_equal(a->keyed, b->keyed);
        assert_int_equal(a->misplaced, b->misplaced);
        assert_int_equal(a->misplaced_empty_keys, b->misplaced_empty_keys);
        assert_memory_equal(a->key_outcomes, b->key_outcomes, sizeof(a->key_outcomes));
        assert_memory_equal(a->partitions, b->partitions, (size_t)a->partition_cnt * sizeof(*a->partitions));
        assert_int_equal(a->first_misplaced.partition, b->first_misplaced.partition);
        assert_int_equal(a->first_misplaced.offset, b->first_misplaced.offset);
        assert_int_equal(cnt, other_cnt);
        for (size_t i = 0; i < cnt; i++) {
                assert_int_equal(keys[i].hash, others[i].hash);
                assert_int_equal(keys[i].records, others[i].records);
                assert_int_equal(keys[i].cell_cnt, others[i].cell_cnt);
                assert_memory_equal(keys[i].cells, others[i].cells, keys[i].cell_cnt * sizeof(*keys[i].cells));
        }
        assert_true(rp_sample_distinct(a->sample, &(double){ 0 }) == rp_sample_distinct(b->sample, &(double){ 0 }));
        assert_true(rp_heavy_error(a->heavy) <= a->keyed / RP_HEAVY_KEYS);
}

static rp_err_t open_one(void *arg, struct rp_source **source, struct rp_error *err)
{
        (void)err;
        *source = memory_source_new(arg, NULL, 9);
        return RP_OK;
}

static rp_err_t open_none(void *arg, struct rp_source **source, struct rp_error *err)
{
        (void)arg, (void)source;
        return rp_fail(err, RP_ERR_RETRY, "no such luck");
}

static void test_threads_find_the_same(void **state)
{
        struct fixture *fixture = *state;
        struct rp_source *source;
        struct rp_coverage coverage[N] = { 0 }, whole_coverage[N] = { 0 };
        struct ticks ticks = { 0 };
        struct rp_audit whole, audit;
        struct rp_error err;

        put_many(fixture, fixture->java, 0, 4000);
        put_many(fixture, fixture->crc, 3000, 5000);
        source = memory_source_new(&fixture->topic, NULL, 1);
        coverage[5].skipped = whole_coverage[5].skipped = true;
        assert_int_equal(run(fixture, source, &whole, whole_coverage, &ticks, &err), RP_OK);
        for (int threads = 2; threads < 20; threads += 5) {
                struct rp_audit_job job = { .source = source, .audit = &audit, .coverage = coverage, .thread_cnt = threads,
                                            .open = open_one, .arg = &fixture->topic };

                assert_int_equal(rp_audit_init(&audit, rule_of(fixture->java), N, 1000, &err), RP_OK);
                assert_int_equal(rp_audit_run(&job, &err), RP_OK);
                assert_same(&audit, &whole);
                assert_memory_equal(coverage, whole_coverage, sizeof(coverage));
                rp_audit_release(&audit);
                job.open = open_none;
                assert_int_equal(rp_audit_init(&audit, rule_of(fixture->java), N, 1000, &err), RP_OK);
                assert_int_equal(rp_audit_run(&job, &err), RP_ERR_RETRY);
                assert_int_equal(audit.records, 0);
                assert_int_equal(coverage[3].next, coverage[3].first);
                rp_audit_release(&audit);
        }
        source->ops->free(source);
        rp_audit_release(&whole);
}

static void test_heavy_counts_add_up(void **state)
{
        rp_heavy_t *whole = rp_heavy_new(), *parts[3] = { rp_heavy_new(), rp_heavy_new(), rp_heavy_new() };
        struct rp_heavy_key top[2], merged[2];

        (void)state;
        for (uint64_t i = 0; i < 90000; i++) {
                uint64_t key = i % 9 == 0 ? 1 : i % 9 == 1 ? 2 : 100 + i % 20000;
                uint64_t hash = key * 0x9e3779b97f4a7c15u;

                if (i % 27 == 1)
                        key = 1, hash = 0x9e3779b97f4a7c15u;
                rp_heavy_add(whole, hash, &key, sizeof(key));
                rp_heavy_add(parts[i / 30000], hash, &key, sizeof(key));
        }
        rp_heavy_merge(parts[0], parts[1]);
        rp_heavy_merge(parts[0], parts[2]);
        assert_int_equal(rp_heavy_top(whole, top, 2), 2);
        assert_int_equal(rp_heavy_top(parts[0], merged, 2), 2);
        assert_int_equal(top[0].hash, merged[0].hash);
        assert_int_equal(top[1].hash, merged[1].hash);
        assert_in_range(merged[0].records, 13334 - rp_heavy_error(parts[0]), 13334);
        assert_true(rp_heavy_error(parts[0]) > 0 && rp_heavy_error(parts[0]) <= 90000 / RP_HEAVY_KEYS);
        rp_heavy_free(whole);
        for (int i = 0; i < 3; i++)
                rp_heavy_free(parts[i]);
}

static void test_skipped_partitions(void **state)
{
        struct fixture *fixture = *state;
        struct rp_coverage coverage[N] = { 0 };
        struct ticks ticks = { 0 };
        struct rp_source *source;
        struct rp_audit audit;
        struct rp_error err;

        put_many(fixture, fixture->java, 0, 2000);
        source = memory_source_new(&fixture->topic, NULL, 1);
        for (int32_t p = 0; p < N; p++)
                coverage[p].skipped = p != 3 && p != 7;
        assert_int_equal(run(fixture, source, &audit, coverage, &ticks, &err), RP_OK);
        assert_int_equal(audit.records, fixture->topic.logs[3].cnt + fixture->topic.logs[7].cnt);
        assert_int_equal(audit.partitions[0].records, 0);
        source->ops->free(source);
        rp_audit_release(&audit);
}

/* A source whose log is cut at the front while it is read, as retention does. */
struct shrinking {
        struct rp_source base;
        struct rp_source *inner;
        struct memory_topic *topic;
        int fetches_left;
        int64_t cut_at; /* of partition 0: its new low watermark */
        int64_t next;   /* of partition 0 */
};

static rp_err_t shrinking_bounds(struct rp_source *source, struct rp_range *ranges, struct rp_error *err)
{
        struct shrinking *self = (struct shrinking *)source;
        rp_err_t rc = self->inner->ops->bounds(self->inner, ranges, err);

        if (self->fetches_left <= 0)
                ranges[0].first = self->cut_at;
        return rc;
}

static rp_err_t shrinking_start(struct rp_source *source, const struct rp_range *ranges, struct rp_error *err)
{
        struct shrinking *self = (struct shrinking *)source;

        self->next = ranges[0].first;
        return self->inner->ops->start(self->inner, ranges, err);
}

static rp_err_t shrinking_fetch(struct rp_source *source, int32_t partition, int timeout_ms, struct rp_batch *batch,
                                struct rp_error *err)
{
        struct shrinking *self = (struct shrinking *)source;
        rp_err_t rc;

        if (partition != 0)
                return self->inner->ops->fetch(self->inner, partition, timeout_ms, batch, err);
        if (--self->fetches_left < 0 && self->next < self->cut_at)
                return rp_fail(err, RP_ERR_INCOMPLETE, "records are gone");
        rc = self->inner->ops->fetch(self->inner, partition, timeout_ms, batch, err);
        self->next = batch->next;
        return rc;
}

static const struct rp_source_ops shrinking_ops = {
        .bounds = shrinking_bounds, .start = shrinking_start, .fetch = shrinking_fetch
};

static void test_retention_in_between_is_told_and_survived(void **state)
{
        struct fixture *fixture = *state;
        int64_t lost = 0;

        put_many(fixture, fixture->java, 0, 6000);
        for (int fetches = 1; fetches < 5; fetches++) {
                const struct memory_log *log = &fixture->topic.logs[0];
                int64_t end = log->end, cut = end - 20;
                size_t left = 0;
                struct shrinking source = { { &shrinking_ops, "t", N, NULL }, memory_source_new(&fixture->topic, NULL, 5),
                                            &fixture->topic, fetches, cut, 0 };
                struct rp_coverage coverage[N] = { 0 };
                struct ticks ticks = { 0 };
                struct rp_audit audit;
                struct rp_error err;

                assert_int_equal(run(fixture, &source.base, &audit, coverage, &ticks, &err), RP_OK);
                assert_int_equal(coverage[0].next, end);
                lost += coverage[0].lost;
                for (size_t i = 0; i < log->cnt; i++)
                        left += log->records[i].offset < cut - coverage[0].lost || log->records[i].offset >= cut;
                assert_int_equal(audit.partitions[0].records, left); /* all that was not lost, each once */
                for (int32_t p = 1; p < N; p++) {
                        assert_int_equal(coverage[p].lost, 0);
                        assert_int_equal(audit.partitions[p].records, fixture->topic.logs[p].cnt);
                }
                assert_int_equal(ticks.done, ticks.total);
                source.inner->ops->free(source.inner);
                rp_audit_release(&audit);
        }
        assert_true(lost > 0);
}

/* Each call of the source fails in turn: an error is never a clean result, and coverage tells how far it came. */
static void test_every_failing_call(void **state)
{
        struct fixture *fixture = *state;
        bool fired = true;

        put_many(fixture, fixture->java, 0, 600);
        for (unsigned nth = 1; fired; nth++) {
                struct faults faults = { .nth = nth, .kind = FAULT_LOST, .code = RP_ERR_RETRY };
                struct rp_source *source = memory_source_new(&fixture->topic, &faults, 3);
                struct rp_coverage coverage[N] = { 0 };
                struct ticks ticks = { 0 };
                struct rp_audit audit;
                struct rp_error err;
                uint64_t records = 0;
                rp_err_t rc = run(fixture, source, &audit, coverage, &ticks, &err);

                fired = faults.fired;
                assert_int_equal(rc, fired ? RP_ERR_RETRY : RP_OK);
                for (int32_t p = 0; p < N; p++) {
                        const struct memory_log *log = &fixture->topic.logs[p];
                        size_t before = 0;

                        while (before < log->cnt && log->records[before].offset < coverage[p].next)
                                before++;
                        assert_int_equal(audit.partitions[p].records, before); /* exactly what the coverage claims */
                        records += before;
                }
                assert_int_equal(audit.records, records);
                source->ops->free(source);
                rp_audit_release(&audit);
        }
}

static void test_empty_topic(void **state)
{
        struct fixture *fixture = *state;
        struct rp_source *source = memory_source_new(&fixture->topic, NULL, 1);
        struct rp_coverage coverage[N] = { 0 };
        struct ticks ticks = { 0 };
        struct rp_findings findings;
        struct rp_audit audit;
        struct rp_error err;

        assert_int_equal(run(fixture, source, &audit, coverage, &ticks, &err), RP_OK);
        assert_int_equal(audit.records, 0);
        assert_int_equal(rp_audit_conclude(&audit, &findings, &err), RP_OK);
        assert_int_equal(findings.found.state, RP_NO_KEYS);
        assert_int_equal(findings.measures.heaviest_cnt, 0);
        rp_findings_release(&findings);
        source->ops->free(source);
        rp_audit_release(&audit);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_kinds_of_keys, setup, teardown),
                cmocka_unit_test_setup_teardown(test_first_and_last_whatever_the_order, setup, teardown),
                cmocka_unit_test(test_rejected_keys_are_counted_not_judged),
                cmocka_unit_test(test_unresolved_keys_are_no_rejected_ones),
                cmocka_unit_test_setup_teardown(test_findings, setup, teardown),
                cmocka_unit_test(test_skew),
                cmocka_unit_test(test_chance),
                cmocka_unit_test(test_heavy_keys_among_many),
                cmocka_unit_test(test_heavy_keys_are_exact_while_few),
                cmocka_unit_test_setup_teardown(test_reads_everything_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_threads_find_the_same, setup, teardown),
                cmocka_unit_test(test_heavy_counts_add_up),
                cmocka_unit_test_setup_teardown(test_skipped_partitions, setup, teardown),
                cmocka_unit_test_setup_teardown(test_retention_in_between_is_told_and_survived, setup, teardown),
                cmocka_unit_test_setup_teardown(test_every_failing_call, setup, teardown),
                cmocka_unit_test_setup_teardown(test_empty_topic, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
