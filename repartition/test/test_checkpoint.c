/* Checkpoints, the records of jobs, and what cutover makes of them: against a copying job that is played here. */
#include "decide/checkpoint.h"
#include "decide/cutover.h"
#include "decide/holder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SOURCE_CNT = 4, TARGET_CNT = 3, EPOCH = 77 };

static void mark(struct rp_mark *marks, int32_t p, int64_t next)
{
        marks[p] = (struct rp_mark){ .partition = p, .next = next };
}

/* ---- writing and reading ------------------------------------------------------------------------------------------- */

static void test_deltas_lead_to_what_was_written(void **unused)
{
        struct rp_checkpoint_log log;
        struct rp_checkpoint_state state;
        struct rp_progress stored = { 0 };
        int64_t ends[TARGET_CNT] = { 5, 0, 9 };
        unsigned seed = 1;
        size_t full_cnt = 0;

        (void)unused;
        assert_true(rp_checkpoint_log_init(&log, SOURCE_CNT, TARGET_CNT, 1000));
        assert_true(rp_checkpoint_state_init(&state, SOURCE_CNT, TARGET_CNT));
        log.epoch = state.epoch = EPOCH;
        assert_true(rp_progress_init(&stored, SOURCE_CNT));
        rp_checkpoint_log_restart(&log, &stored, ends);
        for (int i = 0; i < 200; i++) {
                struct rp_mark marks[SOURCE_CNT];
                size_t cnt = 0;
                bool is_full, wants = rp_checkpoint_log_wants_anchors(&log);
                char *text;

                for (int32_t p = 0; p < SOURCE_CNT; p++)
                        if (rand_r(&seed) % 3 == 0) {
                                int64_t now = log.positions[p] < 0 ? 0 : log.positions[p];

                                mark(marks, (int32_t)cnt, now + rand_r(&seed) % 100);
                                marks[cnt++].partition = p;
                                if (wants)
                                        log.anchors[p] = (struct rp_anchor){ now, 0x1234u + (unsigned)p };
                        }
                for (int n = rand_r(&seed) % 5; n > 0; n--)
                        rp_checkpoint_log_wrote(&log, rand_r(&seed) % TARGET_CNT, rand_r(&seed) % (20 * (i + 1)));
                rp_checkpoint_log_wrote(&log, 0, -1); /* a retry whose offset the broker did not repeat */
                text = rp_checkpoint_log_print(&log, marks, cnt);
                assert_non_null(text);
                assert_int_equal(rp_checkpoint_seq(text, &is_full), 1000 + i);
                assert_int_equal(is_full, i % RP_CHECKPOINT_FULL_EVERY == 0);
                assert_int_equal(is_full, wants);
                full_cnt += is_full;
                assert_true(rp_checkpoint_state_apply(&state, text));
                free(text);
                rp_checkpoint_log_told(&log);
                for (int32_t p = 0; p < SOURCE_CNT; p++)
                        assert_int_equal(state.positions[p], log.positions[p]);
                for (int32_t q = 0; q < TARGET_CNT; q++)
                        assert_int_equal(state.ends[q], log.ends[q]);
        }
        assert_int_equal(full_cnt, 4);
        assert_int_equal(state.anchors[2].digest, 0x1236);
        rp_checkpoint_log_release(&log);
        rp_checkpoint_state_release(&state);
        rp_progress_release(&stored);
}

static void test_a_delta_without_its_forerunner_does_not_count(void **unused)
{
        struct rp_checkpoint_state state;

        (void)unused;
        assert_true(rp_checkpoint_state_init(&state, SOURCE_CNT, TARGET_CNT));
        state.epoch = 5;
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":1,\"full\":false,\"source\":[0,3],\"target\":[]}"));
        assert_true(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":7,\"full\":true,\"source\":[0,10,1,0],\"target\":[2,4],\"anchors\":[]}"));
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":9,\"full\":false,\"source\":[0,3],\"target\":[]}"));
        assert_int_equal(state.positions[0], 10);
        assert_true(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":8,\"full\":false,\"source\":[0,3,1,2],\"target\":[0,6,2,1]}"));
        assert_int_equal(state.positions[0], 13);
        assert_int_equal(state.positions[1], 2);
        assert_int_equal(state.positions[2], -1);
        assert_int_equal(state.ends[0], 6);
        assert_int_equal(state.ends[2], 5);
        /* Of another epoch, of partitions that there are not, and no JSON at all: none counts, nor what builds upon it. */
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":6,\"seq\":9,\"full\":true,\"source\":[],\"target\":[],\"anchors\":[]}"));
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":9,\"full\":false,\"source\":[4,1],\"target\":[]}"));
        assert_int_equal(state.seq, -1);
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":10,\"full\":false,\"source\":[],\"target\":[]}"));
        assert_false(rp_checkpoint_state_apply(&state, "{"));
        assert_false(rp_checkpoint_state_apply(&state, "{\"keyroute\":1,\"epoch\":5,\"seq\":9,\"full\":true,\"source\":[1],\"target\":[],\"anchors\":[]}"));
        rp_checkpoint_state_release(&state);
}

static void test_size_for_a_thousand_partitions_is_as_stated(void **unused)
{
        struct rp_checkpoint_log log;
        struct rp_progress stored = { 0 };
        int64_t *ends = calloc(1000, sizeof(*ends));
        struct rp_mark marks[1000];
        char *text;

        (void)unused;
        assert_true(rp_checkpoint_log_init(&log, 1000, 1000, 0) && rp_progress_init(&stored, 1000));
        rp_checkpoint_log_restart(&log, &stored, ends);
        for (int turn = 0; turn < 2; turn++) {
                for (int32_t p = 0; p < 1000; p++) {
                        mark(marks, p, INT64_C(10000000000) + turn * 10000);
                        rp_checkpoint_log_wrote(&log, p, INT64_C(10000000000) + turn * 10000);
                        log.anchors[p] = (struct rp_anchor){ INT64_C(10000000000), UINT64_MAX };
                }
                text = rp_checkpoint_log_print(&log, marks, 1000);
                assert_non_null(text);
                assert_in_range(strlen(text), turn ? 15000 : 60000, turn ? 20000 : 75000);
                free(text);
                rp_checkpoint_log_told(&log);
        }
        rp_checkpoint_log_release(&log);
        rp_progress_release(&stored);
        free(ends);
}

static void test_anchors_tell_records_apart(void **unused)
{
        struct rp_record a = { .key = "k", .key_len = 1, .value = "v", .value_len = 1, .timestamp_ms = 5 };
        struct rp_record null_value = a, empty_value = a, null_key = a, shifted = a, later = a;

        (void)unused;
        null_value.value = NULL, null_value.value_len = 0;
        empty_value.value = "", empty_value.value_len = 0;
        null_key.key = NULL, null_key.key_len = 0;
        shifted.key = "kv", shifted.key_len = 2, shifted.value = "", shifted.value_len = 0;
        later.timestamp_ms = 6;
        assert_int_equal(rp_anchor_digest(&a), rp_anchor_digest(&a));
        assert_int_not_equal(rp_anchor_digest(&null_value), rp_anchor_digest(&empty_value));
        assert_int_not_equal(rp_anchor_digest(&null_value), rp_anchor_digest(&null_key));
        assert_int_not_equal(rp_anchor_digest(&a), rp_anchor_digest(&shifted));
        assert_int_not_equal(rp_anchor_digest(&a), rp_anchor_digest(&later));
}

/* ---- records of jobs ------------------------------------------------------------------------------------------------ */

static bool put(struct rp_job_fold *fold, const char *key, const char *value)
{
        return rp_job_fold_add(fold, key, strlen(key), value, value ? strlen(value) : 0);
}

static void test_fold_keeps_to_its_own_job(void **unused)
{
        struct rp_job_descriptor descriptor = { .kind = "rewrite", .identity = "rewrite a to b", .fingerprint = "f",
                                                .sources = { { "a", "idA", "c1", 4 } }, .source_cnt = 1,
                                                .target = { "b", "idB", "c2", 3 },
                                                .by = "host h, process 1", .version = "0", .since_ms = EPOCH };
        struct rp_job_descriptor read;
        struct rp_progress progress = { 0 };
        struct rp_job_fold fold;
        char key[RP_JOB_KEY_SIZE], *text = rp_job_descriptor_print(&descriptor), *note = rp_job_progress_print(12, "{\"x\":1}");

        (void)unused;
        assert_true(rp_job_fold_init(&fold, "job"));
        assert_true(put(&fold, "job", text) && put(&fold, "job2", "{}") && put(&fold, "jo", "{}") && put(&fold, "other|progress|a|0", note));
        assert_true(rp_job_fold_add(&fold, NULL, 0, "x", 1));
        assert_true(rp_job_descriptor_parse(&read, fold.descriptor));
        assert_memory_equal(&read, &descriptor, sizeof(read));
        assert_int_equal(rp_job_fold_epoch(&fold), EPOCH);
        rp_job_progress_key(key, "job", "a|b", 3);
        assert_true(put(&fold, key, note));
        rp_job_progress_key(key, "job", "a", 1);
        assert_true(put(&fold, key, note));
        assert_true(rp_progress_init(&progress, 4) && rp_job_fold_progress(&fold, "a", &progress));
        assert_int_equal(progress.marks[1].next, 12);
        assert_string_equal(progress.marks[1].note, "{\"x\":1}");
        assert_int_equal(progress.marks[3].next, -1);
        assert_true(rp_job_fold_progress(&fold, "a|b", &progress));
        assert_int_equal(progress.marks[3].next, 12);
        assert_true(put(&fold, key, NULL)); /* a tombstone: nothing stored any more */
        assert_true(rp_job_fold_progress(&fold, "a", &progress));
        assert_int_equal(progress.marks[1].next, -1);
        assert_null(progress.marks[1].note);
        assert_true(put(&fold, "job|progress|nothing", note) && put(&fold, "job|checkpoint|99999999.1", "{\"seq\":1,\"full\":true}"));
        assert_int_equal(fold.shard_cnt, 0);
        assert_false(rp_job_name_is_legal("a|b") || rp_job_name_is_legal(""));
        assert_true(rp_job_name_is_legal("keyroute.a.b"));
        assert_true(put(&fold, "job", NULL));
        assert_int_equal(rp_job_fold_epoch(&fold), 0);
        rp_job_fold_release(&fold);
        rp_progress_release(&progress);
        free(text);
        free(note);
}

static void test_a_topic_made_again_is_another_one(void **unused)
{
        struct rp_job_descriptor stored = { .sources = { { "a", "idA", "c", 4 } }, .source_cnt = 1,
                                            .target = { "b", "", "c", 3 } };
        struct rp_job_descriptor now = stored;
        char text[480];

        (void)unused;
        assert_false(rp_job_descriptor_differs(&stored, &now, text, sizeof(text)));
        snprintf(now.target.id, sizeof(now.target.id), "new"); /* was not known before: says nothing */
        assert_false(rp_job_descriptor_differs(&stored, &now, text, sizeof(text)));
        snprintf(now.sources[0].id, sizeof(now.sources[0].id), "idX");
        assert_true(rp_job_descriptor_differs(&stored, &now, text, sizeof(text)));
        assert_non_null(strstr(text, "source topic \"a\" was deleted and made again"));
        now = stored;
        snprintf(now.target.cluster, sizeof(now.target.cluster), "d");
        assert_true(rp_job_descriptor_differs(&stored, &now, text, sizeof(text)));
        assert_non_null(strstr(text, "another cluster"));
}

/* ---- cutover, against a job played here ------------------------------------------------------------------------------- */

enum { RECORDS = 3000, SHARDS = 2 };

struct played {
        struct { int32_t from; int64_t offset; } target[TARGET_CNT][RECORDS * SOURCE_CNT];
        int64_t end[TARGET_CNT];
        int64_t position[SOURCE_CNT];
};

static void describe(struct rp_job_fold *fold, int64_t epoch)
{
        struct rp_job_descriptor descriptor = { .kind = "rewrite", .source_cnt = 1, .since_ms = epoch };
        char *text = rp_job_descriptor_print(&descriptor);

        assert_true(put(fold, fold->job, text));
        free(text);
}

/* One transaction of one producer: some records of each of its partitions, interleaved with control records. */
static void play(struct played *played, struct rp_job_fold *fold, struct rp_checkpoint_log *log, int shard, int shards,
                 unsigned *seed, bool loses_it)
{
        struct rp_mark marks[SOURCE_CNT];
        size_t cnt = 0;
        char key[RP_JOB_KEY_SIZE], *text;

        for (int n = rand_r(seed) % 40; n > 0; n--) {
                int32_t p = rand_r(seed) % SOURCE_CNT, q = rand_r(seed) % TARGET_CNT;

                if (p % shards != shard || played->position[p] == RECORDS)
                        continue;
                played->target[q][played->end[q]].from = p;
                played->target[q][played->end[q]].offset = played->position[p]++;
                rp_checkpoint_log_wrote(log, q, played->end[q]++);
        }
        for (int32_t p = shard; p < SOURCE_CNT; p += shards) {
                mark(marks, (int32_t)cnt, played->position[p]);
                marks[cnt++].partition = p;
        }
        for (int32_t q = 0; q < TARGET_CNT; q++) /* the mark that ends the transaction */
                played->target[q][played->end[q]++].from = -1;
        rp_job_checkpoint_key(key, fold->job, shard, log->seq, rp_checkpoint_log_wants_anchors(log));
        text = rp_checkpoint_log_print(log, marks, cnt);
        if (!loses_it)
                assert_true(put(fold, key, text));
        free(text);
        rp_checkpoint_log_told(log);
}

static bool starts_of(const struct rp_job_fold *fold, struct rp_cutover_group *group)
{
        const struct rp_cutover_facts facts = { .fold = fold, .source_cnt = SOURCE_CNT, .target_cnt = TARGET_CNT };

        return rp_cutover_starts(&facts, group, 1);
}

static void check_group(const struct played *played, const struct rp_job_fold *fold, const int64_t *positions, bool is_tight)
{
        int64_t starts[TARGET_CNT];
        struct rp_cutover_group group = { .positions = positions, .starts = starts };
        uint64_t doubles = 0;

        assert_true(starts_of(fold, &group));
        for (int32_t q = 0; q < TARGET_CNT; q++)
                for (int64_t o = 0; o < played->end[q]; o++) {
                        int32_t p = played->target[q][o].from;

                        if (p < 0)
                                continue;
                        if (o < starts[q]) /* skipped, so the group must have read it */
                                assert_true(played->target[q][o].offset < positions[p]);
                        else
                                doubles += played->target[q][o].offset < positions[p];
                }
        if (is_tight)
                assert_in_range(doubles, 0, 200);
}

static void test_cutover_skips_nothing(void **unused)
{
        (void)unused;
        for (unsigned seed = 1; seed <= 60; seed++) {
                struct played *played = calloc(1, sizeof(*played));
                struct rp_checkpoint_log logs[SHARDS];
                struct rp_job_fold fold;
                struct rp_progress stored = { 0 };
                int64_t positions[SOURCE_CNT], *ends = calloc(TARGET_CNT, sizeof(*ends));
                int64_t trail[400][SOURCE_CNT];
                unsigned random = seed;
                int shards = 1 + (int)(seed % SHARDS), turns = 0;
                bool is_mine[SHARDS][SOURCE_CNT];

                assert_true(rp_job_fold_init(&fold, "job") && rp_progress_init(&stored, SOURCE_CNT));
                describe(&fold, EPOCH);
                for (int s = 0; s < shards; s++) {
                        assert_true(rp_checkpoint_log_init(&logs[s], SOURCE_CNT, TARGET_CNT, 0));
                        logs[s].epoch = EPOCH;
                        for (int32_t p = 0; p < SOURCE_CNT; p++)
                                is_mine[s][p] = p % shards == s;
                        logs[s].is_mine = is_mine[s];
                        rp_checkpoint_log_restart(&logs[s], &stored, ends);
                }
                for (; turns < 300; turns++) {
                        int s = rand_r(&random) % shards;

                        /* At times a producer is made anew, and at times a checkpoint is compacted away. */
                        if (rand_r(&random) % 50 == 0) {
                                for (int32_t p = 0; p < SOURCE_CNT; p++) /* as it is read: of all producers */
                                        stored.marks[p].next = played->position[p];
                                rp_checkpoint_log_restart(&logs[s], &stored, played->end);
                        }
                        play(played, &fold, &logs[s], s, shards, &random, seed % 3 == 0 && rand_r(&random) % 20 == 0);
                        memcpy(trail[turns], played->position, sizeof(trail[turns]));
                }
                /* Groups that stand at random places, and one that stands where the job stood at some moment. */
                for (int i = 0; i < 20; i++) {
                        for (int32_t p = 0; p < SOURCE_CNT; p++)
                                positions[p] = played->position[p] ? rand_r(&random) % (played->position[p] + 1) : 0;
                        check_group(played, &fold, positions, false);
                }
                for (int i = 0; i < 20; i++)
                        check_group(played, &fold, trail[rand_r(&random) % turns], seed % 3 != 0);
                memcpy(positions, played->position, sizeof(positions));
                check_group(played, &fold, positions, seed % 3 != 0);
                /* Nothing is known of a job that began anew. */
                describe(&fold, EPOCH + 1);
                struct rp_cutover_group group = { .positions = positions, .starts = ends };
                assert_true(starts_of(&fold, &group));
                assert_int_equal(group.from_beginning, SOURCE_CNT);
                assert_int_equal(ends[0], -1);
                for (int s = 0; s < shards; s++)
                        rp_checkpoint_log_release(&logs[s]);
                rp_job_fold_release(&fold);
                rp_progress_release(&stored);
                free(ends);
                free(played);
        }
}

static void test_partitions_that_do_not_matter(void **unused)
{
        struct rp_job_fold fold;
        int64_t positions[SOURCE_CNT] = { 10, -1, -1, -1 }, starts[TARGET_CNT];
        struct rp_cutover_group group = { .positions = positions, .starts = starts };

        (void)unused;
        assert_true(rp_job_fold_init(&fold, "job"));
        describe(&fold, EPOCH);
        assert_true(put(&fold, "job|checkpoint|0.0", "{\"keyroute\":1,\"epoch\":77,\"seq\":0,\"full\":true,\"source\":[0,8,1,3],\"target\":[0,4,1,5,2,6],\"anchors\":[0,7,\"00000000000000ff\"]}"));
        assert_true(put(&fold, "job|checkpoint|0.d1", "{\"keyroute\":1,\"epoch\":77,\"seq\":1,\"full\":false,\"source\":[0,3],\"target\":[0,1]}"));
        assert_true(starts_of(&fold, &group));
        assert_int_equal(starts[0], 4);
        assert_int_equal(starts[2], 6);
        assert_int_equal(group.used, 1);
        assert_int_equal(group.from_beginning, 0);
        positions[0] = 11;
        assert_true(starts_of(&fold, &group));
        assert_int_equal(starts[0], 5);
        positions[1] = 2; /* before the first checkpoint: from the beginning */
        assert_true(starts_of(&fold, &group));
        assert_int_equal(starts[0], -1);
        assert_int_equal(group.from_beginning, 1);
        struct rp_anchor anchors[SOURCE_CNT];
        assert_true(rp_job_fold_anchors(&fold, SOURCE_CNT, TARGET_CNT, anchors, positions));
        assert_int_equal(positions[0], 11);
        assert_int_equal(positions[2], -1);
        assert_int_equal(anchors[0].offset, 7);
        assert_int_equal(anchors[0].digest, 0xff);
        assert_int_equal(anchors[1].offset, -1);
        rp_job_fold_release(&fold);
}

/* ---- holders ------------------------------------------------------------------------------------------------------------ */

static void test_holders_are_known_again(void **unused)
{
        struct rp_holder me = { "host", 10, 500, 4026531836 }, other = { "host", 11, 400, 4026531836 }, read;
        struct rp_process_facts lives = { .exists = true, .started = 400 }, gone = { 0 },
                                again = { .exists = true, .started = 900 }, stopped = { true, true, 400 };
        char text[RP_HOLDER_TEXT_SIZE];

        (void)unused;
        rp_holder_print(&other, text);
        assert_string_equal(text, "repartition/host/11/400/4026531836");
        assert_true(rp_holder_parse(&read, text));
        assert_string_equal(read.host, "host");
        assert_int_equal(read.pid, 11);
        assert_false(rp_holder_parse(&read, "rdkafka") || rp_holder_parse(&read, "repartition/host/11/400") ||
                     rp_holder_parse(&read, "repartition/host/11/400/1x"));
        assert_int_equal(rp_holder_judge(&other, &me, &lives), RP_HOLDER_LIVES);
        assert_int_equal(rp_holder_judge(&other, &me, &gone), RP_HOLDER_DEAD);
        assert_int_equal(rp_holder_judge(&other, &me, &again), RP_HOLDER_DEAD); /* its number was given to another process */
        assert_int_equal(rp_holder_judge(&other, &me, &stopped), RP_HOLDER_UNKNOWN);
        other.numbered = 7; /* a container: its process 11 is not ours */
        assert_int_equal(rp_holder_judge(&other, &me, &gone), RP_HOLDER_UNKNOWN);
        other = (struct rp_holder){ "elsewhere", 11, 400, 4026531836 };
        assert_int_equal(rp_holder_judge(&other, &me, &gone), RP_HOLDER_UNKNOWN);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_deltas_lead_to_what_was_written),
                cmocka_unit_test(test_a_delta_without_its_forerunner_does_not_count),
                cmocka_unit_test(test_size_for_a_thousand_partitions_is_as_stated),
                cmocka_unit_test(test_anchors_tell_records_apart),
                cmocka_unit_test(test_fold_keeps_to_its_own_job),
                cmocka_unit_test(test_a_topic_made_again_is_another_one),
                cmocka_unit_test(test_cutover_skips_nothing),
                cmocka_unit_test(test_partitions_that_do_not_matter),
                cmocka_unit_test(test_holders_are_known_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
