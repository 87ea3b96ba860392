/*
 * Several workers against in-memory twins: together they do what one does, whatever fails in one of them; and none goes on
 * when another run has taken the job, also one that had trouble and made its producer anew afterwards.
 */
#include "decide/lead.h"
#include "job/workers.h"
#include "java_rule.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_CNT = 5, TARGET_CNT = 4, WORKERS = 3, RECORDS = 200, TROUBLED = 2 };

static struct rp_error error;
static struct rp_rewrite_report report;

struct world {
        struct memory_topic topic;
        struct memory_cluster cluster, lead;
        struct faults *faults; /* of the troubled worker's sink */
        unsigned fenced;       /* ids that were fenced */
        unsigned begun, taken_at, commits_then; /* transactions of the troubled worker */
        bool names_itself;     /* the run that takes the job over has already written its name */
};

static void set_up_world(struct world *world)
{
        *world = (struct world){ .faults = NULL };
        memory_topic_init(&world->topic, SOURCE_CNT);
        memory_cluster_init(&world->cluster, SOURCE_CNT, TARGET_CNT);
        memory_cluster_init(&world->lead, 1, 1);
        for (int i = 0; i < RECORDS; i++) {
                char key[16], value[16];
                struct rp_record rec = { .timestamp_ms = i, .key = key, .value = value };
                int which = i % 23;

                rec.key_len = (size_t)snprintf(key, sizeof(key), "key-%d", which);
                rec.value_len = (size_t)snprintf(value, sizeof(value), "%d", i);
                memory_topic_add(&world->topic, which % SOURCE_CNT, &rec, 0);
        }
}

static void tear_down_world(struct world *world)
{
        memory_topic_release(&world->topic);
        memory_cluster_release(&world->cluster);
        memory_cluster_release(&world->lead);
}

static rp_err_t fence(void *arg, int worker, struct rp_error *err)
{
        struct world *world = arg;

        (void)err;
        world->fenced++;
        world->cluster.epochs[worker]++;
        return RP_OK;
}

/* What another run does, in its order: it takes the lead, writes its name, and fences all workers. */
static void take_over(struct world *world)
{
        pthread_mutex_lock(&world->lead.lock);
        world->lead.epoch++;
        if (world->names_itself)
                rp_progress_set(&world->lead.progress, 0, 0, "{\"workers\":1,\"run\":\"other\",\"by\":\"host/2\"}");
        pthread_mutex_unlock(&world->lead.lock);
        pthread_mutex_lock(&world->cluster.lock);
        world->cluster.epoch++; /* a single worker's id is the lead's */
        for (int id = 1; id < MEMORY_IDS; id++)
                world->cluster.epochs[id]++;
        world->commits_then = world->cluster.commits;
        if (world->faults)
                world->faults->nth = world->faults->calls + 1; /* the troubled one hears of something else first */
        pthread_mutex_unlock(&world->cluster.lock);
}

static struct world *taken; /* for the one sink that takes part in the play */
static struct rp_sink_ops disturbing;
static rp_err_t (*begin)(struct rp_sink *sink, struct rp_error *err);

static rp_err_t begin_disturbed(struct rp_sink *sink, struct rp_error *err)
{
        if (++taken->begun == taken->taken_at)
                take_over(taken);
        return begin(sink, err);
}

static void disturb(struct world *world, struct rp_sink *sink)
{
        taken = world;
        disturbing = *sink->ops;
        begin = disturbing.begin;
        disturbing.begin = begin_disturbed;
        sink->ops = &disturbing;
}

static rp_err_t open_worker(void *arg, int worker, const bool *is_mine, struct rp_source **source, struct rp_sink **sink,
                            struct rp_error *err)
{
        struct world *world = arg;

        (void)is_mine, (void)err;
        *source = memory_source_new(&world->topic, NULL, (unsigned)worker);
        *sink = memory_sink_new_as(&world->cluster, worker == TROUBLED ? world->faults : NULL, worker);
        if (worker == TROUBLED && world->taken_at)
                disturb(world, *sink);
        return RP_OK;
}

static bool tick(void *arg, const struct rp_rewrite_report *sum)
{
        (void)arg;
        return sum->records <= RECORDS;
}

static rp_err_t run(struct world *world, int workers)
{
        struct rp_sink *lead = memory_sink_new(&world->lead, NULL);
        struct rp_rewrite rewrite = { .rule = rule, .identity = "job", .by = "host/1",
                                      .transaction_ms = 1000, .transaction_bytes = 60, .tick = tick, .arg = world };
        struct rp_workers job = { .cnt = workers, .rewrite = &rewrite, .partition_cnt = SOURCE_CNT, .lead = lead,
                                  .lead_cnt = 1, .fence = fence, .open = open_worker, .arg = world };
        rp_err_t rc;

        if (workers == 1) {
                rewrite.source = memory_source_new(&world->topic, NULL, 1);
                rewrite.sink = memory_sink_new(&world->cluster, world->faults);
                if (world->taken_at)
                        disturb(world, rewrite.sink);
        }
        rc = rp_workers_run(&job, &report, &error);
        if (workers == 1) {
                rewrite.sink->ops->free(rewrite.sink);
                rewrite.source->ops->free(rewrite.source);
        }
        lead->ops->free(lead);
        return rc;
}

/* Every record once, each key in order, and the progress at the ends. */
static void assert_done(const struct world *world)
{
        int last[23];
        unsigned cnt = 0;

        memset(last, -1, sizeof(last));
        for (int32_t p = 0; p < TARGET_CNT; p++)
                for (size_t i = 0; i < world->cluster.target.logs[p].cnt; i++) {
                        const struct rp_record *rec = &world->cluster.target.logs[p].records[i];
                        int value = atoi(rec->value);

                        assert_true(value > last[value % 23]);
                        last[value % 23] = value;
                        cnt++;
                }
        assert_int_equal(cnt, RECORDS);
        for (int32_t p = 0; p < SOURCE_CNT; p++)
                assert_int_equal(world->cluster.progress.marks[p].next, world->topic.logs[p].end);
}

static int noted_workers(const struct world *world)
{
        struct rp_lead_note note;

        assert_true(rp_lead_note_parse(&note, world->lead.progress.marks[0].note));
        return note.workers;
}

static void test_share_the_work_and_agree_in_any_number(void **state)
{
        static const int counts[] = { 3, 1, 5, 2 };
        struct world world;
        unsigned commits = 0;

        (void)state;
        set_up_world(&world);
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
                int former = i ? counts[i - 1] : 0;

                world.fenced = 0;
                assert_int_equal(run(&world, counts[i]), RP_OK);
                assert_int_equal(report.records, i ? 0 : RECORDS);
                assert_int_equal(world.fenced, former > counts[i] ? former : counts[i]);
                assert_int_equal(noted_workers(&world), counts[i]);
                assert_done(&world);
                if (!i)
                        commits = world.cluster.commits;
                assert_int_equal(world.cluster.commits, commits);
        }
        tear_down_world(&world);
}

static void test_survive_each_fault_of_one(void **state)
{
        static const fault_t kinds[] = { FAULT_LOST, FAULT_LATE };

        (void)state;
        for (size_t kind = 0; kind < 2; kind++)
                for (unsigned nth = 1; nth < 60; nth++) {
                        struct faults faults = { .nth = nth, .kind = kinds[kind], .code = RP_ERR_RETRY };
                        struct world world;
                        rp_err_t rc;

                        set_up_world(&world);
                        world.faults = &faults;
                        rc = run(&world, WORKERS);
                        if (nth == 1)
                                assert_int_equal(rc, RP_ERR_RETRY); /* its first step */
                        else
                                assert_int_equal(rc, RP_OK);
                        world.faults = NULL;
                        assert_int_equal(run(&world, WORKERS), RP_OK);
                        assert_done(&world);
                        tear_down_world(&world);
                }
}

static void test_none_goes_on_after_a_take_over(void **state)
{
        (void)state;
        for (unsigned variant = 0; variant < 6; variant++)
                for (unsigned at = 1; at < 8; at++) {
                        struct faults faults = { .kind = FAULT_LOST, .code = RP_ERR_RETRY };
                        struct world world;
                        bool is_alone = variant >= 4; /* it would fence the other run before that could write its name */

                        set_up_world(&world);
                        world.taken_at = at;
                        world.names_itself = variant & 1 || is_alone;
                        world.faults = variant & 2 || variant == 5 ? &faults : NULL;
                        assert_int_equal(run(&world, is_alone ? 1 : WORKERS), RP_ERR_FENCED);
                        assert_non_null(strstr(error.text, "another run"));
                        assert_int_equal(world.begun, at);
                        assert_int_equal(world.cluster.commits, world.commits_then);
                        assert_true(!world.faults || faults.fired);
                        tear_down_world(&world);
                }
}

static void test_notes_of_the_lead(void **state)
{
        struct rp_lead_note note = { .workers = 8, .run = "1.2", .by = "host \"x\"" }, back;
        char *text = rp_lead_note_print(&note);

        (void)state;
        assert_true(rp_lead_note_parse(&back, text));
        assert_int_equal(back.workers, 8);
        assert_string_equal(back.run, note.run);
        assert_string_equal(back.by, note.by);
        free(text);
        assert_false(rp_lead_note_parse(&back, NULL));
        assert_false(rp_lead_note_parse(&back, "{}"));
        assert_false(rp_lead_note_parse(&back, "{\"workers\":0,\"run\":\"\",\"by\":\"\"}"));
        assert_false(rp_lead_note_parse(&back, "{\"workers\":257,\"run\":\"\",\"by\":\"\"}"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_share_the_work_and_agree_in_any_number),
                cmocka_unit_test(test_survive_each_fault_of_one),
                cmocka_unit_test(test_none_goes_on_after_a_take_over),
                cmocka_unit_test(test_notes_of_the_lead),
        };

        return cmocka_run_group_tests(tests, java_rule_set_up, java_rule_tear_down);
}
