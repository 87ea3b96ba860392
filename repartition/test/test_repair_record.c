/* What a repair leaves in the topic of jobs: sums that go on from what is committed, whatever becomes of a transaction. */
#include "job/repair_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS_MAX = 8, TEXT_SIZE = 800 };

/* A topic of jobs and the one sink that writes to it: what was said is there once it is committed. */
struct topic {
        struct rp_sink sink;
        struct saying {
                char key[80], text[TEXT_SIZE];
        } said[KEYS_MAX], open[KEYS_MAX];
        size_t said_cnt, open_cnt;
        unsigned commits, recoveries;
        unsigned failing; /* so many commits fail; ... */
        bool is_late;     /* ... what they were to commit is committed all the same */
};

static struct topic topic;

static void put(struct saying *sayings, size_t *cnt, const char *key, const char *text)
{
        size_t at = 0;

        while (at < *cnt && strcmp(sayings[at].key, key))
                at++;
        assert_true(at < KEYS_MAX && strlen(text) < TEXT_SIZE);
        *cnt += at == *cnt;
        snprintf(sayings[at].key, sizeof(sayings[at].key), "%s", key);
        memcpy(sayings[at].text, text, strlen(text) + 1);
}

static rp_err_t begin(struct rp_sink *sink, struct rp_error *err)
{
        (void)sink, (void)err;
        topic.open_cnt = 0;
        return RP_OK;
}

static rp_err_t say(struct rp_sink *sink, const char *key, const char *text, struct rp_error *err)
{
        (void)sink, (void)err;
        put(topic.open, &topic.open_cnt, key, text);
        return RP_OK;
}

static rp_err_t commit(struct rp_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        bool fails = topic.failing > 0;

        (void)sink, (void)marks, (void)cnt;
        topic.failing -= fails;
        for (size_t i = 0; (!fails || topic.is_late) && i < topic.open_cnt; i++)
                put(topic.said, &topic.said_cnt, topic.open[i].key, topic.open[i].text);
        topic.commits += !fails || topic.is_late;
        return fails ? rp_fail(err, RP_ERR_ABORT_BATCH, "no answer") : RP_OK;
}

static rp_err_t recover(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err)
{
        (void)sink, (void)progress, (void)err;
        topic.recoveries++;
        return RP_OK;
}

static const struct rp_sink_ops ops = { .recover = recover, .begin = begin, .commit = commit, .say = say };

static rp_err_t read_topic(void *arg, struct rp_job_fold *fold, struct rp_error *err)
{
        (void)arg, (void)err;
        for (size_t i = 0; i < topic.said_cnt; i++)
                assert_true(rp_job_fold_add(fold, topic.said[i].key, strlen(topic.said[i].key), topic.said[i].text,
                                            strlen(topic.said[i].text)));
        return RP_OK;
}

static int set_up(void **state)
{
        (void)state;
        topic = (struct topic){ .sink = { .ops = &ops, .partition_cnt = 2 } };
        return 0;
}

/* One run of a job, from taking it to its end. */
struct run {
        struct rp_job_descriptor descriptor;
        struct rp_repair_record_config config;
        struct rp_repair_record *record;
};

static void start(struct run *run, const char *kind, const char *id)
{
        static const struct rp_range judged[] = { { 0, 10 }, { 3, 7 } };
        struct rp_error err;

        *run = (struct run){ .descriptor = { .source_cnt = 1, .identity = "what it is" } };
        snprintf(run->descriptor.kind, sizeof(run->descriptor.kind), "%s", kind);
        snprintf(run->descriptor.target.topic, sizeof(run->descriptor.target.topic), "orders");
        snprintf(run->descriptor.target.id, sizeof(run->descriptor.target.id), "%s", id);
        run->descriptor.sources[0] = run->descriptor.target;
        run->config = (struct rp_repair_record_config){ .job = "mend", .descriptor = &run->descriptor, .read = read_topic };
        run->record = rp_repair_record_new(&run->config);
        assert_non_null(run->record);
        assert_int_equal(rp_repair_record_begin(run->record, &err), RP_OK);
        assert_true(rp_repair_record_pass(run->record, judged, 2));
}

static rp_err_t transact(struct run *run, uint64_t safe, uint64_t stale, bool is_committed)
{
        const uint64_t records[RP_CLASS_CNT] = { [RP_CLASS_SAFE] = safe, [RP_CLASS_STALE] = stale };
        struct rp_error err;
        rp_err_t rc = begin(&topic.sink, &err);

        assert_int_equal(rp_repair_record_committing(run->record, &topic.sink, records, 10 * (safe + stale), &err), RP_OK);
        if (is_committed)
                rc = commit(&topic.sink, NULL, 0, &err);
        rp_repair_record_settled(run->record, is_committed);
        return rc;
}

static rp_err_t finish(struct run *run)
{
        struct rp_error err;

        return rp_repair_record_finish(run->record, &topic.sink, 2, &err);
}

static void end(struct run *run)
{
        rp_repair_record_free(run->record);
        run->record = NULL;
}

static const char *said(const char *key)
{
        for (size_t i = 0; i < topic.said_cnt; i++)
                if (!strcmp(topic.said[i].key, key))
                        return topic.said[i].text;
        return NULL;
}

static void assert_done(const char *key, uint64_t safe, uint64_t stale, bool is_finished)
{
        struct rp_job_done done;

        assert_true(rp_job_done_parse(&done, said(key)));
        assert_int_equal(done.records[RP_CLASS_SAFE], safe);
        assert_int_equal(done.records[RP_CLASS_STALE], stale);
        assert_int_equal(done.bytes, 10 * (safe + stale));
        assert_int_equal(done.is_finished, is_finished);
}

/* ---- tests ----------------------------------------------------------------------------------------------------------- */

static void test_sums_are_of_what_is_committed(void **state)
{
        struct run run;

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 3, 0, true);
        assert_done("mend|done|copies", 3, 0, false);
        assert_string_equal(said("mend|judged|copies"), "{\"keyroute\":1,\"ranges\":[0,10,3,7]}");
        transact(&run, 5, 1, false); /* void: the same records come again */
        transact(&run, 5, 1, true);
        assert_done("mend|done|copies", 8, 1, false);
        assert_int_equal(finish(&run), RP_OK);
        assert_done("mend|done|copies", 8, 1, true);
        end(&run);
        assert_int_equal(topic.said_cnt, 3); /* the same keys over and over */
}

static void test_whoever_goes_on_adds_to_the_sum(void **state)
{
        const struct rp_job_done done = { .since_ms = 42, .records = { [RP_CLASS_SAFE] = 3 }, .bytes = 30 };
        struct rp_job_descriptor descriptor;
        struct run run;
        char *text;

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 1, 0, true);
        run.descriptor.since_ms = 42; /* as if that had been long ago */
        text = rp_job_descriptor_print(&run.descriptor);
        put(topic.said, &topic.said_cnt, "mend", text);
        free(text);
        text = rp_job_done_print(&done);
        put(topic.said, &topic.said_cnt, "mend|done|copies", text);
        free(text);
        end(&run); /* killed */
        start(&run, "repair", "x");
        transact(&run, 2, 0, true);
        assert_done("mend|done|copies", 5, 0, false);
        assert_int_equal(finish(&run), RP_OK);
        end(&run);
        assert_true(rp_job_descriptor_parse(&descriptor, said("mend")));
        assert_int_equal(descriptor.since_ms, 42);
}

static void test_killed_before_the_end_was_said(void **state)
{
        struct run run;

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 3, 0, true);
        end(&run);
        start(&run, "repair", "x"); /* and finds nothing more to do */
        assert_int_equal(finish(&run), RP_OK);
        assert_done("mend|done|copies", 3, 0, true);
        end(&run);
}

static void test_nothing_done_is_nothing_said(void **state)
{
        struct run run;

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 0, 0, true); /* progress alone */
        assert_int_equal(topic.said_cnt, 0);
        topic.commits = 0;
        assert_int_equal(finish(&run), RP_OK);
        assert_int_equal(topic.commits, 0);
        end(&run);
        start(&run, "repair", "x");
        transact(&run, 1, 0, true);
        assert_int_equal(finish(&run), RP_OK);
        end(&run);
        topic.commits = 0;
        start(&run, "repair", "x"); /* a second run */
        assert_int_equal(finish(&run), RP_OK);
        assert_int_equal(topic.commits, 0);
        end(&run);
}

static void test_another_topic_of_that_name_begins_a_sum_of_its_own(void **state)
{
        struct run run;

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 3, 0, true);
        end(&run);
        start(&run, "repair", "y");
        transact(&run, 0, 2, true);
        assert_done("mend|done|copies", 0, 2, false);
        end(&run);
}

static void test_tombstones_leave_copies_as_they_were_said(void **state)
{
        struct rp_job_descriptor descriptor;
        struct run run;
        char copies[TEXT_SIZE];

        (void)state;
        start(&run, "repair", "x");
        transact(&run, 3, 0, true);
        assert_int_equal(finish(&run), RP_OK);
        end(&run);
        snprintf(copies, sizeof(copies), "%s", said("mend"));
        start(&run, "tombstones", "x");
        transact(&run, 0, 7, true);
        assert_int_equal(finish(&run), RP_OK);
        end(&run);
        assert_string_equal(said("mend"), copies);
        assert_done("mend|done|copies", 3, 0, true);
        assert_done("mend|done|tombstones", 0, 7, true);
        assert_true(rp_job_descriptor_parse(&descriptor, said("mend|tombstones")));
        assert_string_equal(descriptor.kind, "tombstones");
}

static void test_the_end_is_said_over_again_while_nobody_answers(void **state)
{
        struct run run;

        (void)state;
        for (int is_late = 0; is_late < 2; is_late++) {
                set_up(NULL);
                start(&run, "repair", "x");
                transact(&run, 3, 0, true);
                topic.failing = 2;
                topic.is_late = is_late;
                assert_int_equal(finish(&run), RP_OK);
                assert_int_equal(topic.recoveries, 2);
                assert_done("mend|done|copies", 3, 0, true);
                end(&run);
        }
        set_up(NULL);
        start(&run, "repair", "x");
        transact(&run, 3, 0, true);
        topic.failing = 100;
        assert_int_equal(finish(&run), RP_ERR_ABORT_BATCH);
        assert_done("mend|done|copies", 3, 0, false);
        end(&run);
}

static void test_texts_that_are_no_sums(void **state)
{
        static const char *const texts[] = { NULL, "", "{}", "[]", "{\"keyroute\":2,\"since_ms\":1,\"finished\":true,\"bytes\":1,"
                                             "\"classes\":{}}", "{\"keyroute\":1,\"since_ms\":1,\"finished\":true,\"bytes\":-1,"
                                             "\"classes\":{}}", "{\"keyroute\":1,\"since_ms\":1,\"finished\":true,\"bytes\":1,"
                                             "\"classes\":{\"safe\":-5}}",
                                             "{\"keyroute\":1,\"since_ms\":-1,\"finished\":true,\"bytes\":1,"
                                             "\"classes\":{}}" };
        struct rp_job_done done;
        struct rp_range range;

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
                assert_false(rp_job_done_parse(&done, texts[i]));
        assert_false(rp_job_judged_parse(&range, 1, "{}"));
        assert_true(rp_job_judged_parse(&range, 1, "{\"ranges\":[3]}"));
        assert_int_equal(range.first, 3);
        assert_int_equal(range.end, -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_sums_are_of_what_is_committed, set_up),
                cmocka_unit_test_setup(test_whoever_goes_on_adds_to_the_sum, set_up),
                cmocka_unit_test_setup(test_killed_before_the_end_was_said, set_up),
                cmocka_unit_test_setup(test_nothing_done_is_nothing_said, set_up),
                cmocka_unit_test_setup(test_another_topic_of_that_name_begins_a_sum_of_its_own, set_up),
                cmocka_unit_test_setup(test_tombstones_leave_copies_as_they_were_said, set_up),
                cmocka_unit_test_setup(test_the_end_is_said_over_again_while_nobody_answers, set_up),
                cmocka_unit_test(test_texts_that_are_no_sums),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
