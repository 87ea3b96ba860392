/*
 * The daemon's loop against in-memory twins: partitions come, are asked back and are lost at random, another member copies
 * while they are away, the cluster refuses a member that is out before it knows, and every call of the sink fails once. All
 * of them leave waypoints, and whatever group goes on by these skips nothing.
 */
#include "job/follow.h"

#include "decide/cutover.h"
#include "decide/followed.h"
#include "decide/waypoint.h"
#include "job/follow_record.h"
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 4, GROWN = 5, TARGET = 3, RECORDS = 60, POLLS = 400, SEEDS = 150, SAID_MAX = 4, TRAIL = 30, GROUPS = 50 };

struct world {
        struct memory_topic topic;
        struct memory_cluster cluster;
        struct faults faults;
        unsigned random;
        /* The group. */
        struct rp_group group;
        bool held[GROWN], is_out;         /* is_out: the group went on without us, and we do not know */
        int64_t position[GROWN];
        int32_t partitions[GROWN];        /* of the event that waits for an answer */
        size_t partition_cnt;
        rp_group_what_t what;
        struct rp_record lent[8];
        int polls, out_for;
        bool is_draining, has_left;
        /* The sink, behind a gate. */
        struct rp_sink sink, *inner;
        /* What was judged. */
        uint64_t settled, pending, lost_events;
        /* What is said beside the copies: in the open transaction, and for good. */
        struct rp_follow_record *record;
        char *said[SAID_MAX];
        size_t said_cnt;
        struct rp_job_fold fold;
        int waypoints;
        int64_t epochs;                   /* handed out elsewhere */
        int64_t trail[TRAIL][GROWN];      /* how far all was copied at some moments */
        int trail_cnt;
};

static struct world world;
static struct rp_error error;

static unsigned next_random(void)
{
        world.random = world.random * 1664525u + 1013904223u;
        return world.random >> 16;
}

/* ---- the other members ----------------------------------------------------------------------------------------------- */

static int32_t place_of(const struct rp_record *rec)
{
        return (rec->partition + (int32_t)rec->offset) % TARGET;
}

static const struct rp_follow_note base = { .job = "the job", .by = "here", .partition_cnt = PARTITIONS, .first = -1 };

/* Each under a key of its own, so that all are looked at. */
static void keep_waypoint(int32_t lowest, const char *text)
{
        char key[RP_JOB_KEY_SIZE];

        rp_job_waypoint_key(key, "job", lowest, world.waypoints++);
        assert_true(world.waypoints < RP_WAYPOINT_SLOTS);
        assert_true(rp_job_fold_add(&world.fold, key, strlen(key), text, strlen(text)));
}

static void note_trail(void)
{
        int at = world.trail_cnt < TRAIL ? world.trail_cnt++ : (int)(next_random() % TRAIL);

        for (int32_t p = 0; p < GROWN; p++)
                world.trail[at][p] = world.cluster.progress.marks[p].next < 0 ? 0 : world.cluster.progress.marks[p].next;
}

/* Copies and stores some of a partition, as whoever has it now. */
static void copy_elsewhere(int32_t p)
{
        const struct rp_mark *mark = &world.cluster.progress.marks[p];
        int64_t next = mark->next < 0 ? 0 : mark->next, ends[TARGET];
        const struct memory_log *log = &world.topic.logs[p];
        struct rp_follow_note note;
        char *text;

        if (mark->next < 0 || !rp_follow_note_parse(&note, mark->note)) {
                note = base;
                note.first = 0;
                note.epoch = ++world.epochs;
        }
        for (int32_t q = 0; q < TARGET; q++)
                ends[q] = world.cluster.target.logs[q].end;
        text = rp_waypoint_print(&(struct rp_waypoint_lane){ p, next, note.epoch }, 1, ends, TARGET);
        if (next_random() % 2)
                keep_waypoint(p, text);
        free(text);
        for (unsigned i = next_random() % 4; i && next < (int64_t)log->cnt; i--, next++)
                memory_topic_add(&world.cluster.target, place_of(&log->records[next]), &log->records[next], 0);
        text = rp_follow_note_print(&note);
        rp_progress_set(&world.cluster.progress, p, next, text);
        free(text);
        note_trail();
}

/* ---- the group --------------------------------------------------------------------------------------------------------- */

static void take_some(rp_group_what_t what, bool wants_held, bool wants_all)
{
        world.partition_cnt = 0;
        for (int32_t p = 0; p < (world.polls > POLLS / 2 ? GROWN : PARTITIONS); p++)
                if (world.held[p] == wants_held && (wants_all || next_random() % 2))
                        world.partitions[world.partition_cnt++] = p;
        world.what = what;
}

static void tell(struct rp_group_event *event)
{
        event->what = world.what;
        event->partitions = world.partitions;
        event->partition_cnt = world.partition_cnt;
        world.lost_events += world.what == RP_GROUP_LOST;
}

static void rebalance(void)
{
        if (world.is_out) {
                if (world.out_for-- > 0)
                        return;
                take_some(RP_GROUP_LOST, true, true);
        } else if (world.is_draining) {
                take_some(RP_GROUP_ASSIGNED, false, true);
        } else if (next_random() % 12 == 0) {
                take_some(RP_GROUP_ASSIGNED, false, false);
        } else if (next_random() % 12 == 0) {
                take_some(RP_GROUP_REVOKED, true, false);
        } else if (next_random() % 25 == 0) {
                for (int32_t p = 0; p < GROWN; p++) {
                        if (!world.held[p])
                                continue;
                        world.is_out = true;
                        copy_elsewhere(p);
                }
                world.out_for = (int)(next_random() % 6);
        }
}

static rp_err_t group_poll(struct rp_group *group, int timeout_ms, struct rp_group_event *event, struct rp_error *err)
{
        int32_t p = (int32_t)(next_random() % GROWN);
        const struct memory_log *log = &world.topic.logs[p];

        (void)group, (void)timeout_ms, (void)err;
        assert_int_equal(world.partition_cnt, 0); /* every rebalance is answered before the next poll */
        *event = (struct rp_group_event){ .what = RP_GROUP_RECORDS, .partition = -1 };
        world.polls++;
        for (int32_t other = 0; other < GROWN && !world.is_draining; other++)
                if (!world.held[other] && next_random() % 6 == 0)
                        copy_elsewhere(other);
        rebalance();
        if (world.partition_cnt) {
                tell(event);
                return RP_OK;
        }
        if (!world.held[p])
                return RP_OK;
        while (event->cnt < 1 + next_random() % 7 && world.position[p] < (int64_t)log->cnt)
                world.lent[event->cnt++] = log->records[world.position[p]++];
        event->records = world.lent;
        if (event->cnt) {
                event->partition = p;
                event->next = world.position[p];
        } else if (next_random() % 2) { /* behind control records */
                event->partition = p;
                event->next = world.position[p];
        }
        return RP_OK;
}

static rp_err_t group_serve(struct rp_group *group, int timeout_ms, struct rp_group_event *event, struct rp_error *err)
{
        (void)group, (void)timeout_ms, (void)err;
        *event = (struct rp_group_event){ .what = RP_GROUP_RECORDS, .partition = -1 };
        rebalance();
        if (world.partition_cnt)
                tell(event);
        return RP_OK;
}

static bool is_pending(int32_t p)
{
        for (size_t i = 0; i < world.partition_cnt; i++)
                if (world.partitions[i] == p)
                        return true;
        return false;
}

static rp_err_t group_stored(struct rp_group *group, struct rp_progress *progress, int timeout_ms, struct rp_error *err)
{
        (void)group, (void)timeout_ms, (void)err;
        for (int32_t p = 0; p < progress->cnt; p++)
                if (world.held[p] || is_pending(p))
                        rp_progress_set(progress, p, world.cluster.progress.marks[p].next,
                                        world.cluster.progress.marks[p].note);
        return RP_OK;
}

static rp_err_t group_start(struct rp_group *group, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        (void)group, (void)err;
        for (size_t i = 0; i < cnt; i++) {
                assert_true(marks[i].next >= 0);
                assert_true(world.held[marks[i].partition] || is_pending(marks[i].partition));
                world.held[marks[i].partition] = true;
                world.position[marks[i].partition] = marks[i].next;
        }
        for (size_t i = 0; i < world.partition_cnt; i++)
                assert_true(world.held[world.partitions[i]]); /* all of an assignment are named */
        world.partition_cnt = 0;
        return RP_OK;
}

static rp_err_t group_give(struct rp_group *group, struct rp_error *err)
{
        (void)group, (void)err;
        assert_true(world.partition_cnt > 0);
        for (size_t i = 0; i < world.partition_cnt; i++)
                world.held[world.partitions[i]] = false;
        if (world.what == RP_GROUP_LOST)
                world.is_out = false;
        world.partition_cnt = 0;
        return RP_OK;
}

static int64_t group_end(struct rp_group *group, int32_t partition)
{
        (void)group;
        return world.topic.logs[partition].end;
}

static void group_leave(struct rp_group *group, int timeout_ms)
{
        (void)group, (void)timeout_ms;
        world.has_left = true;
}

static const struct rp_group_ops group_ops = { .poll = group_poll, .serve = group_serve, .stored = group_stored,
                                               .start = group_start, .give = group_give, .end = group_end,
                                               .leave = group_leave };

/* ---- the sink ------------------------------------------------------------------------------------------------------------ */

static void forget_said(bool is_committed)
{
        for (size_t i = 0; i < world.said_cnt; i++) {
                if (is_committed && strncmp(world.said[i], "{\"keyroute\":1,\"source\"", 22) == 0)
                        keep_waypoint(0, world.said[i]);
                free(world.said[i]);
        }
        world.said_cnt = 0;
}

static rp_err_t sink_say(struct rp_sink *sink, const char *key, const char *text, struct rp_error *err)
{
        (void)sink, (void)err;
        assert_int_equal(strncmp(key, "job", 3), 0);
        assert_true(world.said_cnt < SAID_MAX);
        world.said[world.said_cnt++] = strdup(text);
        return RP_OK;
}

static rp_err_t sink_stored(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err)
{
        (void)sink;
        return group_stored(&world.group, progress, 0, err);
}

static rp_err_t sink_recover(struct rp_sink *sink, struct rp_progress *progress, struct rp_error *err)
{
        struct rp_progress all = { 0 };
        rp_err_t rc;

        forget_said(false);
        assert_true(rp_progress_init(&all, GROWN));
        rc = world.inner->ops->recover(world.inner, &all, err);
        rp_progress_release(&all);
        return rc == RP_OK ? sink_stored(sink, progress, err) : rc;
}

static rp_err_t sink_begin(struct rp_sink *sink, struct rp_error *err)
{
        (void)sink;
        return world.inner->ops->begin(world.inner, err);
}

static rp_err_t sink_append(struct rp_sink *sink, const struct rp_record *rec, int32_t to, struct rp_error *err)
{
        (void)sink;
        return world.inner->ops->append(world.inner, rec, to, err);
}

static rp_err_t sink_commit(struct rp_sink *sink, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        unsigned before = world.cluster.commits;
        struct rp_follow_note note;
        rp_err_t rc;

        (void)sink;
        for (size_t i = 0; i < cnt; i++) {
                assert_true(world.held[marks[i].partition]);
                assert_true(rp_follow_note_parse(&note, marks[i].note));
                assert_string_equal(note.job, base.job);
                assert_int_equal(note.first, 0);
        }
        if (world.is_out && cnt) /* who sends no offsets is not looked at */
                return rp_fail(err, RP_ERR_ABORT_BATCH, "not a member any more");
        rc = world.inner->ops->commit(world.inner, marks, cnt, err);
        forget_said(world.cluster.commits > before);
        note_trail();
        return rc;
}

static rp_err_t sink_abort(struct rp_sink *sink, struct rp_error *err)
{
        (void)sink;
        forget_said(false);
        return world.inner->ops->abort(world.inner, err);
}

static const struct rp_sink_ops sink_ops = { .stored = sink_stored, .recover = sink_recover, .begin = sink_begin,
                                             .append = sink_append, .commit = sink_commit, .abort = sink_abort, .say = sink_say };

/* ---- the job --------------------------------------------------------------------------------------------------------------- */

static rp_err_t judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err)
{
        (void)arg, (void)err;
        for (size_t i = 0; i < cnt; i++)
                verdicts[i] = place_of(&records[i]);
        world.pending += cnt;
        return RP_OK;
}

static void settled(void *arg, bool is_committed)
{
        (void)arg;
        rp_follow_record_settled(world.record, is_committed);
        world.settled += is_committed ? world.pending : 0;
        world.pending = 0;
}

static rp_err_t begin_at(void *arg, struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        (void)arg, (void)err;
        for (size_t i = 0; i < cnt; i++)
                marks[i].next = 0;
        return RP_OK;
}

static bool started(void *arg, int32_t partition, int64_t next, const char *note)
{
        (void)arg;
        return rp_follow_record_started(world.record, partition, next, note);
}

static const char *note_of(void *arg, int32_t partition)
{
        (void)arg;
        return rp_follow_record_note(world.record, partition);
}

static rp_err_t begun(void *arg, const struct rp_mark *held, size_t cnt, struct rp_error *err)
{
        (void)arg;
        for (size_t i = 0; i < cnt; i++)
                assert_true(world.held[held[i].partition]);
        return rp_follow_record_begun(world.record, held, cnt, err);
}

static rp_err_t committing(void *arg, size_t offset_cnt, struct rp_error *err)
{
        (void)arg;
        return rp_follow_record_committing(world.record, offset_cnt, err);
}

/* Brokers do not always answer. */
static rp_err_t target_ends(void *arg, int64_t *ends, struct rp_error *err)
{
        (void)arg;
        for (int32_t q = 0; q < TARGET; q++)
                ends[q] = world.cluster.target.logs[q].end;
        return next_random() % 50 ? RP_OK : rp_fail(err, RP_ERR_RETRY, "no answer");
}

static bool is_done(void)
{
        for (int32_t p = 0; p < GROWN; p++)
                if (world.position[p] < (int64_t)world.topic.logs[p].cnt || !world.held[p])
                        return false;
        return true;
}

static bool tick(void *arg, const struct rp_follow_status *status, struct rp_error *err)
{
        (void)arg;
        assert_true(status->partition_cnt <= GROWN);
        err->code = RP_OK;
        world.is_draining |= world.polls > POLLS;
        return !world.is_draining || !is_done();
}

static int64_t hold(void *arg, uint64_t bytes, uint64_t records)
{
        (void)arg, (void)bytes, (void)records;
        return next_random() % 40 == 0 ? 1 : 0;
}

static void begin_world(unsigned seed)
{
        char value[16];

        world = (struct world){ .random = seed };
        memory_topic_init(&world.topic, GROWN);
        memory_cluster_init(&world.cluster, GROWN, TARGET);
        world.inner = memory_sink_new(&world.cluster, &world.faults);
        for (int32_t p = 0; p < GROWN; p++)
                for (int i = 0; i < RECORDS; i++) {
                        struct rp_record rec = { .timestamp_ms = i, .key = "k", .key_len = 1, .value = value };

                        rec.value_len = (size_t)snprintf(value, sizeof(value), "%d/%d", (int)p, i);
                        memory_topic_add(&world.topic, p, &rec, 0);
                }
        world.group = (struct rp_group){ .ops = &group_ops, .topic = "source", .name = "g", .partition_cnt = PARTITIONS };
        world.sink = (struct rp_sink){ .ops = &sink_ops, .partition_cnt = TARGET };
        assert_true(rp_job_fold_init(&world.fold, "job"));
}

static void end_world(void)
{
        forget_said(false);
        rp_job_fold_release(&world.fold);
        world.inner->ops->free(world.inner);
        memory_cluster_release(&world.cluster);
        memory_topic_release(&world.topic);
}

static rp_err_t live(struct rp_copy_stats *stats)
{
        struct rp_follow job = { .group = &world.group, .sink = &world.sink, .transaction_ms = 20, .transaction_records = 9,
                                 .judge = judge, .settled = settled, .begin_at = begin_at, .tick = tick, .hold = hold,
                                 .started = started, .note = note_of, .begun = begun, .committing = committing };
        const struct rp_follow_record_config record = { .note = &base, .sink = &world.sink, .job = "job", .descriptor = "{}",
                                                        .target_cnt = TARGET, .ends = target_ends };
        rp_err_t rc;

        world.record = rp_follow_record_new(&record);
        assert_non_null(world.record);
        rc = rp_follow_run(&job, stats, &error);
        rp_follow_record_free(world.record);
        return rc;
}

/* None that the group has not read may lie before its starts. @returns those that it sees again. */
static uint64_t check_group(unsigned seed, const struct rp_cutover_group *group)
{
        uint64_t again = 0;

        for (int32_t q = 0; q < TARGET; q++)
                for (size_t i = 0; i < world.cluster.target.logs[q].cnt; i++) {
                        const struct rp_record *rec = &world.cluster.target.logs[q].records[i];
                        int p, number;
                        char text[16];

                        snprintf(text, sizeof(text), "%.*s", (int)rec->value_len, (const char *)rec->value);
                        assert_int_equal(sscanf(text, "%d/%d", &p, &number), 2);
                        if (rec->offset < group->starts[q] && number >= group->positions[p])
                                fail_msg("seed %u: a group at %d of partition %d would skip %s", seed,
                                         (int)group->positions[p], p, text);
                        again += rec->offset >= group->starts[q] && number < group->positions[p];
                }
        return again;
}

/*
 * Groups that have read all, that stand where all was copied to at some moment, and that stand anywhere. @returns what those
 * in the middle see again.
 */
static uint64_t check_groups(unsigned seed)
{
        int64_t positions[GROUPS][GROWN], starts[GROUPS][TARGET], epochs[GROWN], next[GROWN], ends[TARGET];
        struct rp_cutover_group groups[GROUPS];
        struct rp_job_fold none;
        const struct rp_cutover_facts facts = { .fold = &none, .followed = &world.fold, .epochs = epochs, .positions = next,
                                                .ends = ends, .source_cnt = GROWN, .target_cnt = TARGET };
        uint64_t again = 0;

        for (int g = 0; g < GROUPS; g++) {
                groups[g] = (struct rp_cutover_group){ .positions = positions[g], .starts = starts[g] };
                for (int32_t p = 0; p < GROWN; p++)
                        positions[g][p] = !g ? RECORDS : g <= world.trail_cnt ? world.trail[g - 1][p]
                                                                              : next_random() % (RECORDS + 1);
        }
        assert_true(rp_job_fold_init(&none, "rewrite"));
        rp_followed_epochs(&world.cluster.progress, epochs);
        for (int32_t p = 0; p < GROWN; p++)
                next[p] = world.cluster.progress.marks[p].next;
        for (int32_t q = 0; q < TARGET; q++)
                ends[q] = world.cluster.target.logs[q].end;
        assert_true(rp_cutover_starts(&facts, groups, GROUPS));
        assert_int_equal(check_group(seed, &groups[0]), 0);
        for (int g = 1; g < GROUPS; g++) {
                uint64_t of_this = check_group(seed, &groups[g]);

                again += g <= world.trail_cnt ? of_this : 0;
        }
        rp_job_fold_release(&none);
        return again / (uint64_t)world.trail_cnt;
}

/* Every record once; those of a source partition in its order, in each partition of the target. */
static void check_target(unsigned seed)
{
        bool seen[GROWN][RECORDS] = { { false } };
        int cnt = 0;

        for (int32_t to = 0; to < TARGET; to++) {
                int last[GROWN] = { -1, -1, -1, -1, -1 };

                for (size_t i = 0; i < world.cluster.target.logs[to].cnt; i++, cnt++) {
                        const struct rp_record *rec = &world.cluster.target.logs[to].records[i];
                        int p, number;
                        char text[16];

                        snprintf(text, sizeof(text), "%.*s", (int)rec->value_len, (const char *)rec->value);
                        assert_int_equal(sscanf(text, "%d/%d", &p, &number), 2);
                        if (seen[p][number])
                                fail_msg("seed %u: record %s is there twice", seed, text);
                        if (number < last[p])
                                fail_msg("seed %u: record %s is out of order", seed, text);
                        seen[p][number] = true;
                        last[p] = number;
                }
        }
        if (cnt != GROWN * RECORDS)
                fail_msg("seed %u: %d of %d records", seed, cnt, GROWN * RECORDS);
}

static void test_rebalances(void **state)
{
        uint64_t lost = 0, recoveries = 0, again = 0;

        (void)state;
        for (unsigned seed = 1; seed <= SEEDS; seed++) {
                struct rp_copy_stats stats;

                begin_world(seed);
                if (live(&stats) != RP_OK)
                        fail_msg("seed %u: %s", seed, error.text);
                check_target(seed);
                assert_true(world.has_left);
                assert_int_equal(world.pending, 0);
                assert_int_equal(world.settled, stats.records);
                again += check_groups(seed);
                lost += world.lost_events;
                recoveries += stats.recoveries;
                end_world();
        }
        assert_true(lost > SEEDS && recoveries > 0);
        assert_in_range(again / SEEDS, 0, GROWN * RECORDS / 20); /* 3 of 300 */
}

static void test_each_call_of_the_sink_fails_once(void **state)
{
        static const fault_t kinds[] = { FAULT_LOST, FAULT_LATE };

        (void)state;
        for (size_t kind = 0; kind < 2; kind++)
                for (unsigned nth = 2; nth < 400; nth += 3) { /* the first is the start: it may fail */
                        struct rp_copy_stats stats;

                        begin_world(nth);
                        world.faults = (struct faults){ .nth = nth, .kind = kinds[kind], .code = RP_ERR_ABORT_BATCH };
                        if (live(&stats) != RP_OK)
                                fail_msg("call %u: %s", nth, error.text);
                        check_target(nth);
                        check_groups(nth);
                        assert_true(stats.recoveries >= (uint64_t)world.faults.fired);
                        end_world();
                }
}

static rp_err_t refuse(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts, struct rp_error *err)
{
        (void)arg, (void)cnt;
        for (size_t i = 0; i < cnt; i++) {
                verdicts[i] = place_of(&records[i]);
                if (records[i].offset == 30) {
                        verdicts[i] = RP_REFUSE;
                        rp_fail(err, RP_ERR_BAD_RECORD, "refused");
                        return RP_OK;
                }
        }
        return RP_OK;
}

static void test_a_refused_record_ends_the_job_and_shows_nothing_of_its_transaction(void **state)
{
        struct rp_copy_stats stats;
        const struct rp_follow_record_config record = { .note = &base, .sink = &world.sink, .job = "job" };
        struct rp_follow job = { .group = &world.group, .sink = &world.sink, .transaction_ms = 10000, .judge = refuse,
                                 .begin_at = begin_at, .tick = tick, .started = started, .note = note_of };

        (void)state;
        begin_world(4);
        world.record = rp_follow_record_new(&record);
        world.is_draining = true;
        assert_int_equal(rp_follow_run(&job, &stats, &error), RP_ERR_BAD_RECORD);
        assert_string_equal(error.text, "refused");
        assert_true(world.has_left);
        for (int32_t p = 0; p < GROWN; p++)
                assert_true(world.cluster.progress.marks[p].next <= 30);
        rp_follow_record_free(world.record);
        end_world();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rebalances),
                cmocka_unit_test(test_each_call_of_the_sink_fails_once),
                cmocka_unit_test(test_a_refused_record_ends_the_job_and_shows_nothing_of_its_transaction),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
