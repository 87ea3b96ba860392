/*
 * Following in place against in-memory twins: topics that are written to by right and wrong producers while misplaced
 * records are copied, every class compared with what one gets by looking at the whole topic, by seed.
 */
#include "job/follow_place.h"

#include "java_rule.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 3, KEYS = 5, ROUNDS = 60, SEEDS = 60 };

static struct rp_error error;
static struct memory_topic topic;
static struct faults faults;

static unsigned next_random(unsigned *state)
{
        *state = *state * 1664525u + 1013904223u;
        return *state >> 16;
}

static int32_t right_of(const char *key)
{
        return kr_rule_partition(rule, key, strlen(key), PARTITIONS);
}

static void write_one(int32_t partition, const char *key, const char *value, int64_t time_ms)
{
        struct rp_record rec = { .timestamp_ms = time_ms, .key = key, .key_len = strlen(key), .value = value,
                                 .value_len = strlen(value) };

        memory_topic_add(&topic, partition, &rec, 0);
}

static rp_err_t offsets_at(void *arg, int64_t time_ms, int64_t *offsets, struct rp_error *err)
{
        (void)arg;
        (void)err;
        for (int32_t p = 0; p < PARTITIONS; p++) {
                const struct memory_log *log = &topic.logs[p];
                size_t at = 0;

                while (at < log->cnt && log->records[at].timestamp_ms < time_ms)
                        at++;
                offsets[p] = at < log->cnt ? log->records[at].offset : -1;
        }
        return RP_OK;
}

/* ---- by looking at everything ----------------------------------------------------------------------------------------- */

static bool has_key(const struct rp_record *rec, const struct rp_record *other)
{
        return rec->key_len == other->key_len && !memcmp(rec->key, other->key, rec->key_len);
}

static bool is_equal(const struct rp_record *rec, const struct rp_record *other)
{
        return has_key(rec, other) && rec->timestamp_ms == other->timestamp_ms && rec->value_len == other->value_len &&
               !memcmp(rec->value, other->value, rec->value_len);
}

static size_t count_earlier(const struct rp_record *rec, const struct rp_record *content)
{
        const struct memory_log *log = &topic.logs[rec->partition];
        size_t cnt = 0;

        for (size_t i = 0; i < log->cnt && log->records[i].offset < rec->offset; i++)
                cnt += is_equal(&log->records[i], content);
        return cnt;
}

static rp_class_t judge_slowly(const struct rp_record *rec, int32_t right)
{
        const struct memory_log *log = &topic.logs[right];
        bool is_stale = false;
        size_t equals = 0;

        for (size_t i = 0; i < log->cnt; i++) {
                const struct rp_record *held = &log->records[i];

                equals += is_equal(held, rec);
                is_stale |= has_key(held, rec) && held->timestamp_ms >= rec->timestamp_ms && !is_equal(held, rec) &&
                            !count_earlier(rec, held);
        }
        if (equals > count_earlier(rec, rec))
                return RP_CLASS_COPIED;
        return is_stale ? RP_CLASS_STALE : RP_CLASS_SAFE;
}

/* ---- a history -------------------------------------------------------------------------------------------------------- */

struct history {
        struct rp_follow_place *place;
        struct rp_source *committed, *uncommitted;
        size_t position[PARTITIONS];
        uint64_t safe, others, too_old;
};

static void begin(struct history *history, size_t records_max, unsigned seed)
{
        struct rp_follow_place_config config = {
                .rule = rule, .topic = "source", .partition_cnt = PARTITIONS, .include = 1u << RP_CLASS_SAFE,
                .records_max = records_max, .offsets_at = offsets_at,
        };

        *history = (struct history){ 0 };
        config.committed = history->committed = memory_source_new(&topic, &faults, seed);
        config.uncommitted = history->uncommitted = memory_source_new(&topic, &faults, seed + 1);
        history->place = rp_follow_place_new(&config);
        assert_non_null(history->place);
}

static void end(struct history *history)
{
        rp_follow_place_free(history->place);
        history->committed->ops->free(history->committed);
        history->uncommitted->ops->free(history->uncommitted);
}

/* Judges some records of a partition, and writes the copies that are to be. */
static void follow_some(struct history *history, int32_t p, size_t most, bool is_exact)
{
        int32_t verdicts[64];
        struct rp_record run[64];
        struct rp_record *own;
        const struct rp_follow_place_counts *counts = rp_follow_place_counts(history->place);
        uint64_t before = counts->too_old;
        size_t cnt = topic.logs[p].cnt - history->position[p], expected[RP_CLASS_CNT] = { 0 };
        uint64_t had[RP_CLASS_CNT];

        cnt = cnt < most ? cnt : most;
        if (!cnt)
                return;
        own = &topic.logs[p].records[history->position[p]];
        memcpy(run, own, cnt * sizeof(*run)); /* the log's array may move when copies are written */
        memcpy(had, counts->misplaced, sizeof(had));
        if (rp_follow_place_judge(history->place, run, cnt, verdicts, &error) != RP_OK)
                fail_msg("%s", error.text);
        rp_follow_place_settled(history->place, true);
        for (size_t i = 0; i < cnt; i++) {
                int32_t right = kr_rule_partition(rule, run[i].key, run[i].key_len, PARTITIONS);
                rp_class_t class;

                if (right == p) {
                        assert_int_equal(verdicts[i], RP_SKIP);
                        continue;
                }
                class = judge_slowly(&run[i], right);
                expected[class]++;
                if (is_exact || verdicts[i] != RP_SKIP)
                        assert_int_equal(verdicts[i], class == RP_CLASS_SAFE ? right : RP_SKIP);
                history->safe += class == RP_CLASS_SAFE;
                history->others += class != RP_CLASS_SAFE;
        }
        for (int class = 0; is_exact && class < RP_CLASS_CNT; class++)
                assert_int_equal(counts->misplaced[class] - had[class], expected[class]);
        history->too_old += counts->too_old - before;
        for (size_t i = 0; i < cnt; i++)
                if (verdicts[i] >= 0)
                        memory_topic_add(&topic, verdicts[i], &run[i], 0);
        history->position[p] += cnt;
}

static void live(unsigned seed, size_t records_max, bool is_exact, uint64_t sums[3])
{
        struct history history;
        unsigned random = seed;
        int64_t now = 1000;

        memory_topic_init(&topic, PARTITIONS);
        begin(&history, records_max, seed);
        for (int round = 0; round < ROUNDS; round++) {
                int writes = (int)(next_random(&random) % 8), looks = (int)(next_random(&random) % 5);

                for (int i = 0; i < writes; i++) {
                        char key[8], value[8];
                        int32_t place;

                        snprintf(key, sizeof(key), "k%u", next_random(&random) % KEYS);
                        snprintf(value, sizeof(value), "v%u", next_random(&random) % 3);
                        place = next_random(&random) % 2 ? right_of(key) : (int32_t)(next_random(&random) % PARTITIONS);
                        now += next_random(&random) % 3; /* often the same millisecond */
                        write_one(place, key, value, next_random(&random) % 10 ? now : now - 20);
                }
                for (int i = 0; i < looks; i++)
                        follow_some(&history, (int32_t)(next_random(&random) % PARTITIONS), 1 + next_random(&random) % 6,
                                    is_exact);
        }
        for (int32_t p = 0; p < PARTITIONS; p++)
                while (history.position[p] < topic.logs[p].cnt)
                        follow_some(&history, p, 16, is_exact);
        sums[0] += history.safe;
        sums[1] += history.others;
        sums[2] += history.too_old;
        end(&history);
        memory_topic_release(&topic);
}

static void test_classes_are_those_of_the_whole_topic(void **state)
{
        uint64_t sums[3] = { 0 };

        (void)state;
        for (unsigned seed = 1; seed <= SEEDS; seed++)
                live(seed, 100000, true, sums);
        assert_true(sums[0] > 100 && sums[1] > 100);
        assert_int_equal(sums[2], 0);
}

/* Whatever does not fit is unknown: nothing is copied that ought not to be. */
static void test_little_memory_copies_less_never_wrong(void **state)
{
        uint64_t sums[3] = { 0 };

        (void)state;
        for (unsigned seed = 1; seed <= SEEDS; seed++)
                live(seed, 12, false, sums);
        assert_true(sums[0] > 100 && sums[2] > 20);
}

/* Each call of a source fails once: the judgement says so, and the next one is right again. */
static void test_failing_reads_are_errors_not_classes(void **state)
{
        int32_t verdicts[4];
        unsigned nth = 0;

        (void)state;
        do {
                struct history history;
                rp_err_t rc;

                memory_topic_init(&topic, PARTITIONS);
                write_one(right_of("k1"), "k1", "newer", 2000);
                write_one((right_of("k1") + 1) % PARTITIONS, "k1", "older", 1000);
                faults = (struct faults){ .nth = ++nth, .kind = FAULT_LOST, .code = RP_ERR_RETRY };
                begin(&history, 1000, nth);
                rc = rp_follow_place_judge(history.place, topic.logs[(right_of("k1") + 1) % PARTITIONS].records, 1, verdicts,
                                           &error);
                assert_int_equal(rc, faults.fired ? RP_ERR_RETRY : RP_OK);
                if (rc != RP_OK) {
                        rp_follow_place_settled(history.place, false);
                        assert_int_equal(rp_follow_place_judge(history.place,
                                                               topic.logs[(right_of("k1") + 1) % PARTITIONS].records, 1,
                                                               verdicts, &error), RP_OK);
                }
                assert_int_equal(verdicts[0], RP_SKIP);
                rp_follow_place_settled(history.place, true);
                assert_int_equal(rp_follow_place_counts(history.place)->misplaced[RP_CLASS_STALE], 1);
                assert_int_equal(rp_follow_place_counts(history.place)->read, 1);
                end(&history);
                memory_topic_release(&topic);
        } while (faults.fired);
        assert_true(nth > 4);
        faults = (struct faults){ 0 };
}

static void test_marks_are_added_behind_the_record_s_own_headers(void **state)
{
        struct rp_header own[2] = { { "a", "1", 1 }, { "b", NULL, 0 } };
        struct rp_record rec = { .partition = 2, .offset = 77, .key = "k", .key_len = 1, .headers = own, .header_cnt = 2,
                                 .native = own };
        struct rp_follow_place_config config = { .rule = rule, .topic = "source", .partition_cnt = PARTITIONS, .marks = true };
        struct history history;
        const struct rp_record *out;

        (void)state;
        memory_topic_init(&topic, PARTITIONS);
        begin(&history, 10, 1);
        assert_ptr_equal(rp_follow_place_dress(history.place, &rec), &rec);
        rp_follow_place_free(history.place);
        config.committed = history.committed;
        config.uncommitted = history.uncommitted;
        history.place = rp_follow_place_new(&config);
        out = rp_follow_place_dress(history.place, &rec);
        assert_int_equal(out->header_cnt, 3);
        assert_string_equal(out->headers[0].name, "a");
        assert_null(out->headers[1].value);
        assert_string_equal(out->headers[2].name, "keyroute.origin");
        assert_int_equal(out->headers[2].value_len, strlen("source/2/77"));
        assert_memory_equal(out->headers[2].value, "source/2/77", strlen("source/2/77"));
        assert_null(out->native);
        end(&history);
        memory_topic_release(&topic);
}

static void test_refused_keys(void **state)
{
        static const char text[] = "{\"keyroute\": 1, \"topics\": {\"source\": {\"key\": {\"use\": \"field\", \"delimiter\": \":\", "
                                   "\"index\": 1, \"missing\": \"reject\"}}}}";
        struct kr_error kerr;
        kr_policy_t *strict = kr_policy_parse(text, strlen(text), "test", &kerr);
        struct rp_record run[2] = { { .key = "no field", .key_len = 8, .partition = 1, .offset = 5 },
                                    { .key = NULL, .partition = 1, .offset = 6 } };
        struct rp_follow_place_config config = { .topic = "source", .partition_cnt = PARTITIONS };
        struct history history;
        int32_t verdicts[2];

        (void)state;
        if (!strict)
                fail_msg("%s", kerr.text);
        memory_topic_init(&topic, PARTITIONS);
        begin(&history, 10, 1);
        rp_follow_place_free(history.place);
        config.rule = kr_policy_rule(strict, "source");
        config.committed = history.committed;
        config.uncommitted = history.uncommitted;
        history.place = rp_follow_place_new(&config);
        assert_int_equal(rp_follow_place_judge(history.place, run, 2, verdicts, &error), RP_OK);
        assert_int_equal(verdicts[0], RP_REFUSE);
        assert_int_equal(error.code, RP_ERR_BAD_RECORD);
        assert_non_null(strstr(error.text, "partition 1, offset 5"));
        rp_follow_place_free(history.place);
        config.skips_refused = true;
        history.place = rp_follow_place_new(&config);
        assert_int_equal(rp_follow_place_judge(history.place, run, 2, verdicts, &error), RP_OK);
        assert_int_equal(verdicts[0], RP_SKIP);
        assert_int_equal(verdicts[1], RP_SKIP);
        rp_follow_place_settled(history.place, true);
        assert_int_equal(rp_follow_place_counts(history.place)->refused, 1);
        assert_int_equal(rp_follow_place_counts(history.place)->right, 1);
        end(&history);
        memory_topic_release(&topic);
        kr_policy_free(strict);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_classes_are_those_of_the_whole_topic),
                cmocka_unit_test(test_little_memory_copies_less_never_wrong),
                cmocka_unit_test(test_failing_reads_are_errors_not_classes),
                cmocka_unit_test(test_marks_are_added_behind_the_record_s_own_headers),
                cmocka_unit_test(test_refused_keys),
        };

        return cmocka_run_group_tests(tests, java_rule_set_up, java_rule_tear_down);
}
