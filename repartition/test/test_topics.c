/* Several topics as one row of partitions: places, stored numbers, and what the topics are called together. */
#include "decide/checkpoint.h"
#include "decide/cutover.h"
#include "decide/job_record.h"
#include "decide/topics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rp_topics row_of(const char *const *names, const int32_t *cnts, int32_t cnt)
{
        struct rp_topics topics;

        assert_true(rp_topics_init(&topics, names, cnts, cnt));
        return topics;
}

static void test_places_go_by_name_and_partition(void **unused)
{
        static const char *const names[] = { "us", "eu", "asia" };
        struct rp_topics topics = row_of(names, (const int32_t[]){ 3, 2, 1 }, 3);
        struct rp_topics same = row_of((const char *const[]){ "eu", "asia", "us" }, (const int32_t[]){ 2, 1, 3 }, 3);
        struct rp_topics grown = row_of(names, (const int32_t[]){ 3, 4, 1 }, 3);

        (void)unused;
        assert_int_equal(topics.partition_cnt, 6);
        assert_string_equal(rp_topics_name(&topics, NULL, 0), "asia");
        assert_string_equal(rp_topics_name(&topics, NULL, 2), "eu");
        assert_int_equal(rp_topics_partition(&topics, 2), 1);
        assert_string_equal(rp_topics_name(&topics, NULL, 3), "us");
        assert_int_equal(rp_topics_partition(&topics, 5), 2);
        assert_int_equal(rp_topics_count(&topics, 0, 5), 3);
        assert_int_equal(rp_topics_find(&topics, NULL, "eu", 1), 2);
        assert_int_equal(rp_topics_find(&topics, NULL, "eu", 2), -1);
        assert_int_equal(rp_topics_find(&topics, NULL, "e", 0), -1);
        assert_true(rp_topics_equal(&topics, &same));
        assert_false(rp_topics_equal(&topics, &grown) || rp_topics_equal(&topics, NULL));
        assert_true(rp_topics_equal(NULL, NULL));
        assert_false(rp_topics_all_have(&topics, 3, 3));
        rp_topics_release(&topics);
        rp_topics_release(&same);
        rp_topics_release(&grown);
}

static void test_of_one_topic_places_are_partitions(void **unused)
{
        (void)unused;
        assert_string_equal(rp_topics_name(NULL, "orders", 7), "orders");
        assert_int_equal(rp_topics_partition(NULL, 7), 7);
        assert_int_equal(rp_topics_count(NULL, 12, 7), 12);
        assert_int_equal(rp_topics_find(NULL, "orders", "orders", 7), 7);
        assert_int_equal(rp_topics_find(NULL, "orders", "order", 7), -1);
        assert_int_equal(rp_topics_code(NULL, 7), 7);
        assert_int_equal(rp_topics_place(NULL, 7, 12), 7);
        assert_int_equal(rp_topics_place(NULL, 12, 12), -1);
        assert_true(rp_topics_all_have(NULL, 12, 12));
}

static void test_stored_numbers_stay_when_a_topic_grows(void **unused)
{
        static const char *const names[] = { "a", "b" };
        struct rp_topics before = row_of(names, (const int32_t[]){ 2, 3 }, 2);
        struct rp_topics after = row_of(names, (const int32_t[]){ 4, 3 }, 2);

        (void)unused;
        for (int32_t place = 0; place < before.partition_cnt; place++) {
                int64_t code = rp_topics_code(&before, place);
                int32_t now = rp_topics_place(&after, code, after.partition_cnt);

                assert_int_equal(rp_topics_place(&before, code, before.partition_cnt), place);
                assert_string_equal(rp_topics_name(&after, NULL, now), rp_topics_name(&before, NULL, place));
                assert_int_equal(rp_topics_partition(&after, now), rp_topics_partition(&before, place));
        }
        assert_int_equal(rp_topics_place(&before, rp_topics_code(&after, 3), before.partition_cnt), -1);
        assert_int_equal(rp_topics_place(&before, -1, before.partition_cnt), -1);
        rp_topics_release(&before);
        rp_topics_release(&after);
}

static void test_one_name_for_all(void **unused)
{
        char label[RP_TOPICS_LABEL_SIZE], other[RP_TOPICS_LABEL_SIZE], name[250];
        const char *many[RP_TOPICS_MAX];
        char texts[RP_TOPICS_MAX][16];

        (void)unused;
        rp_topics_label(label, (const char *const[]){ "orders" }, 1);
        assert_string_equal(label, "orders");
        memset(name, 'x', 249);
        name[249] = '\0';
        rp_topics_label(label, (const char *const[]){ name }, 1);
        assert_string_equal(label, name);
        rp_topics_label(label, (const char *const[]){ "us", "eu" }, 2);
        assert_string_equal(label, "eu+us");
        for (int i = 0; i < RP_TOPICS_MAX; i++) {
                snprintf(texts[i], sizeof(texts[i]), "topic-%02d", i);
                many[i] = texts[i];
        }
        rp_topics_label(label, many, RP_TOPICS_MAX);
        assert_memory_equal(label, "topic-00+63-more+", 17);
        rp_topics_label(other, many, RP_TOPICS_MAX - 1);
        assert_string_not_equal(label, other);
        texts[40][0] = 'u';
        rp_topics_label(other, many, RP_TOPICS_MAX);
        assert_string_not_equal(label, other);
}

/* What was said when a topic had fewer partitions is read with the row as it is now. */
static void test_checkpoints_outlive_growth(void **unused)
{
        static const char *const names[] = { "a", "b" };
        struct rp_topics before = row_of(names, (const int32_t[]){ 1, 2 }, 2);
        struct rp_topics after = row_of(names, (const int32_t[]){ 3, 2 }, 2);
        struct rp_mark marks[] = { { 0, 10, NULL }, { 1, 20, NULL }, { 2, 30, NULL } };
        struct rp_checkpoint_log log;
        struct rp_job_fold fold;
        struct rp_job_descriptor descriptor = { .kind = "rewrite", .since_ms = 5, .source_cnt = 2,
                                                .sources = { { "a", "A", "", 1 }, { "b", "B", "", 2 } },
                                                .target = { "c", "", "", 1 } };
        struct rp_job_descriptor now = descriptor;
        struct rp_anchor anchors[5];
        int64_t positions[5];
        char *text, why[480];

        (void)unused;
        assert_true(rp_checkpoint_log_init(&log, 3, 1, 0) && rp_job_fold_init(&fold, "job"));
        log.topics = &before;
        log.epoch = 5;
        log.anchors[2] = (struct rp_anchor){ 29, 0xabc };
        text = rp_checkpoint_log_print(&log, marks, 3);
        assert_true(rp_job_fold_add(&fold, "job|checkpoint|0.0", 18, text, strlen(text)));
        free(text);
        text = rp_job_descriptor_print(&descriptor);
        assert_true(rp_job_fold_add(&fold, "job", 3, text, strlen(text)));
        free(text);
        fold.topics = &after;
        assert_true(rp_job_fold_anchors(&fold, after.partition_cnt, 1, anchors, positions));
        assert_int_equal(positions[0], 10);
        assert_int_equal(positions[1], -1); /* partitions that a has got since */
        assert_int_equal(positions[2], -1);
        assert_int_equal(positions[3], 20);
        assert_int_equal(positions[4], 30);
        assert_int_equal(anchors[4].offset, 29);
        assert_int_equal(anchors[4].digest, 0xabc);

        assert_true(rp_job_descriptor_parse(&descriptor, fold.descriptor));
        assert_int_equal(descriptor.source_cnt, 2);
        assert_false(rp_job_descriptor_differs(&descriptor, &now, why, sizeof(why)));
        strcpy(now.sources[1].id, "C");
        assert_true(rp_job_descriptor_differs(&descriptor, &now, why, sizeof(why)));
        assert_non_null(strstr(why, "source topic \"b\" was deleted and made again"));
        rp_job_fold_release(&fold);
        rp_checkpoint_log_release(&log);
        rp_topics_release(&before);
        rp_topics_release(&after);
}

/* As the program wrote it that knew of one source only. */
static void test_what_was_stored_before_there_were_several_is_read(void **unused)
{
        static const char descriptor_text[] =
                "{\"keyroute\":1,\"kind\":\"rewrite\",\"job\":\"rewrite a to b, 3 partitions, policy f\",\"policy\":\"f\","
                "\"source\":{\"topic\":\"a\",\"id\":\"idA\",\"cluster\":\"c\",\"partitions\":2},"
                "\"target\":{\"topic\":\"b\",\"id\":\"idB\",\"cluster\":\"c\",\"partitions\":3},"
                "\"by\":\"host h, process 1\",\"version\":\"0.1.0\",\"since_ms\":77}";
        static const char full[] =
                "{\"keyroute\":1,\"epoch\":77,\"seq\":4,\"full\":true,\"source\":[0,8,1,3],\"target\":[0,4,2,6],"
                "\"anchors\":[1,2,\"00000000000000ff\"]}";
        static const char progress[] = "{\"keyroute\":1,\"next\":8,\"note\":\"x\"}";
        struct rp_job_descriptor descriptor;
        struct rp_progress marks = { 0 };
        struct rp_anchor anchors[2];
        struct rp_job_fold fold;
        int64_t positions[2];
        char *again;

        (void)unused;
        assert_true(rp_job_fold_init(&fold, "job"));
        assert_true(rp_job_fold_add(&fold, "job", 3, descriptor_text, strlen(descriptor_text)));
        assert_true(rp_job_fold_add(&fold, "job|checkpoint|0.4", 18, full, strlen(full)));
        assert_true(rp_job_fold_add(&fold, "job|progress|a|1", 16, progress, strlen(progress)));
        assert_true(rp_job_descriptor_parse(&descriptor, fold.descriptor));
        assert_int_equal(descriptor.source_cnt, 1);
        assert_string_equal(descriptor.sources[0].id, "idA");
        again = rp_job_descriptor_print(&descriptor);
        assert_string_equal(again, descriptor_text); /* and nothing else is written for one source today */
        free(again);
        assert_true(rp_job_fold_anchors(&fold, 2, 3, anchors, positions));
        assert_int_equal(positions[0], 8);
        assert_int_equal(positions[1], 3);
        assert_int_equal(anchors[1].digest, 0xff);
        assert_true(rp_progress_init(&marks, 2) && rp_job_fold_progress(&fold, "a", &marks));
        assert_int_equal(marks.marks[1].next, 8);
        rp_progress_release(&marks);
        rp_job_fold_release(&fold);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_places_go_by_name_and_partition),
                cmocka_unit_test(test_of_one_topic_places_are_partitions),
                cmocka_unit_test(test_stored_numbers_stay_when_a_topic_grows),
                cmocka_unit_test(test_one_name_for_all),
                cmocka_unit_test(test_checkpoints_outlive_growth),
                cmocka_unit_test(test_what_was_stored_before_there_were_several_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
