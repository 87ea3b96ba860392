/* What follow leaves behind: waypoints in the topic of jobs, and what verify and cutover make of its progress. */
#include "decide/waypoint.h"

#include "decide/cutover.h"
#include "decide/follow_note.h"
#include "decide/followed.h"
#include "decide/note.h"
#include "job/follow_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SOURCE_CNT = 4, TARGET_CNT = 3, EPOCH = 77 };

static bool put(struct rp_job_fold *fold, const char *key, const char *value)
{
        return rp_job_fold_add(fold, key, strlen(key), value, value ? strlen(value) : 0);
}

static void put_waypoint(struct rp_job_fold *fold, int32_t slot, const struct rp_waypoint_lane *lanes, size_t cnt,
                         const int64_t *ends)
{
        char key[RP_JOB_KEY_SIZE], *text = rp_waypoint_print(lanes, cnt, ends, TARGET_CNT);

        rp_job_waypoint_key(key, fold->job, lanes[0].partition, slot);
        assert_true(put(fold, key, text));
        free(text);
}

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

static void test_texts_come_back(void **unused)
{
        static const struct rp_waypoint_lane lanes[] = { { 0, 10, EPOCH }, { 1, 20, 5 }, { 3, 0, EPOCH } };
        static const int64_t ends[TARGET_CNT] = { 7, 0, 9000000000 };
        static const int64_t epochs[SOURCE_CNT] = { EPOCH, EPOCH, EPOCH, EPOCH };
        struct rp_checkpoint_state state;
        char *text = rp_waypoint_print(lanes, 3, ends, TARGET_CNT);

        (void)unused;
        assert_string_equal(text, "{\"keyroute\":1,\"source\":[[77,0,10,3,0],[5,1,20]],\"target\":[7,0,9000000000]}");
        assert_true(rp_checkpoint_state_init(&state, SOURCE_CNT, TARGET_CNT));
        state.positions[2] = 33; /* of what it was before nothing stays */
        assert_true(rp_waypoint_apply(&state, epochs, text));
        assert_int_equal(state.positions[0], 10);
        assert_int_equal(state.positions[1], -1); /* of another epoch */
        assert_int_equal(state.positions[2], -1);
        assert_int_equal(state.positions[3], 0);
        assert_int_equal(state.ends[2], 9000000000);
        free(text);
        rp_checkpoint_state_release(&state);
}

static void test_other_texts_do_not_count(void **unused)
{
        static const char *const others[] = {
                "", "{}", "[]", "{\"keyroute\":2,\"source\":[[77,0,1]],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[[77,0,1]],\"target\":[1,2]}",
                "{\"keyroute\":1,\"source\":[[77,0,1]],\"target\":[1,2,3,4]}",
                "{\"keyroute\":1,\"source\":[[77,4,1]],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[[77,-1,1]],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[[77,0]],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[[0,0,1]],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[77,0,1],\"target\":[1,2,3]}",
                "{\"keyroute\":1,\"source\":[[77,0,1]],\"target\":[1,\"2\",3]}",
                "{\"keyroute\":1,\"epoch\":77,\"seq\":0,\"full\":true,\"source\":[0,8],\"target\":[0,4],\"anchors\":[]}",
        };
        static const int64_t epochs[SOURCE_CNT] = { EPOCH, EPOCH, EPOCH, EPOCH };
        struct rp_checkpoint_state state;

        (void)unused;
        assert_true(rp_checkpoint_state_init(&state, SOURCE_CNT, TARGET_CNT));
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                if (rp_waypoint_apply(&state, epochs, others[i]))
                        fail_msg("%s", others[i]);
        rp_checkpoint_state_release(&state);
}

static size_t size_of(int32_t source_cnt, int32_t target_cnt, int64_t offset)
{
        struct rp_waypoint_lane *lanes = calloc((size_t)source_cnt, sizeof(*lanes));
        int64_t *ends = calloc((size_t)target_cnt, sizeof(*ends));
        size_t size;
        char *text;

        for (int32_t p = 0; p < source_cnt; p++)
                lanes[p] = (struct rp_waypoint_lane){ p, offset + p, 1796035200000 };
        for (int32_t q = 0; q < target_cnt; q++)
                ends[q] = offset + q;
        text = rp_waypoint_print(lanes, (size_t)source_cnt, ends, target_cnt);
        size = strlen(text);
        free(text);
        free(ends);
        free(lanes);
        return size;
}

static void test_sizes_are_as_stated(void **unused)
{
        (void)unused;
        assert_in_range(size_of(12, 30, 1000000000), 0, 600);
        assert_in_range(size_of(1000, 1000, 1000000000000), 0, 45000);
}

/* ---- slots ----------------------------------------------------------------------------------------------------------- */

/* A year, a waypoint a second: what compaction leaves, by age. */
static void test_slots_keep_what_is_near(void **unused)
{
        enum { YEAR = 365 * 86400 };
        int64_t *last = calloc(RP_WAYPOINT_SLOTS, sizeof(*last)), now = 1796035200;
        bool *is_kept = calloc(YEAR + 1, sizeof(*is_kept));
        int64_t before = 0;

        (void)unused;
        for (int64_t t = now - YEAR; t <= now; t++) {
                int32_t slot = rp_waypoint_slot(t * 1000 + 999);

                assert_in_range(slot, 0, RP_WAYPOINT_SLOTS - 1);
                last[slot] = t;
        }
        for (int slot = 0; slot < RP_WAYPOINT_SLOTS; slot++)
                if (last[slot])
                        is_kept[now - last[slot]] = true;
        for (int64_t age = 0; age < 180 * 86400; age++) {
                if (!is_kept[age])
                        continue;
                if (age - before > 1 && age - before > age / 500)
                        fail_msg("between %ld and %ld s ago there is none", (long)before, (long)age);
                before = age;
        }
        assert_true(before > 179 * 86400);
        free(is_kept);
        free(last);
}

static size_t count(const struct rp_job_fold *fold)
{
        size_t there = 0;

        for (size_t i = 0; i < fold->waypoint_cnt; i++)
                there += fold->waypoints[i].text != NULL;
        return there;
}

static void test_a_slot_holds_one(void **unused)
{
        struct rp_job_fold fold;
        int64_t ends[TARGET_CNT] = { 1, 2, 3 };

        (void)unused;
        assert_true(rp_job_fold_init(&fold, "job"));
        for (int64_t i = 0; i < 5000; i++) {
                struct rp_waypoint_lane lane = { (int32_t)(i % 3), i, EPOCH };

                put_waypoint(&fold, (int32_t)(i % 50), &lane, 1, ends);
        }
        for (size_t i = 0; i < fold.waypoint_cnt; i++)
                if (fold.waypoints[i].text)
                        assert_non_null(strstr(fold.waypoints[i].text, ",4")); /* of the last ones: 4,850 and later */
        assert_int_equal(count(&fold), 150); /* three partitions, fifty slots */
        assert_in_range(fold.waypoint_cap, 150, 600);
        assert_true(put(&fold, "job|waypoint|0.0", NULL)); /* a tombstone */
        assert_true(put(&fold, "job|waypoint|0", "{}") && put(&fold, "job|waypoint|-1.3", "{}") &&
                    put(&fold, "job|waypoint|0.99999999", "{}") && put(&fold, "job|waypoint|9999999999.0", "{}") &&
                    put(&fold, "other|waypoint|0.1", "{}"));
        assert_int_equal(count(&fold), 149);
        rp_job_fold_release(&fold);
        assert_true(rp_job_fold_init(&fold, "job"));
        fold.is_brief = true;
        put_waypoint(&fold, 1, &(struct rp_waypoint_lane){ 0, 1, EPOCH }, 1, ends);
        assert_int_equal(fold.waypoint_cnt, 0);
        rp_job_fold_release(&fold);
}

/* ---- cutover ----------------------------------------------------------------------------------------------------------- */

/* A job that began anew copies into a target of which the waypoints from before say nothing. */
static void test_another_epoch_says_nothing(void **unused)
{
        static const struct rp_waypoint_lane lanes[] = { { 0, 0, EPOCH }, { 1, 0, EPOCH }, { 2, 0, EPOCH }, { 3, 0, EPOCH } };
        static const struct rp_waypoint_lane later[] = { { 0, 50, EPOCH }, { 1, 50, EPOCH }, { 2, 50, EPOCH },
                                                         { 3, 50, EPOCH + 1 } };
        int64_t ends[TARGET_CNT] = { 0, 0, 0 }, far[TARGET_CNT] = { 90, 80, 70 };
        int64_t epochs[SOURCE_CNT] = { EPOCH, EPOCH, EPOCH, EPOCH };
        int64_t positions[SOURCE_CNT] = { 60, 60, 60, 60 }, starts[TARGET_CNT];
        struct rp_cutover_group group = { .positions = positions, .starts = starts };
        struct rp_job_fold rewrite, follow;
        const struct rp_cutover_facts facts = { .fold = &rewrite, .followed = &follow, .epochs = epochs,
                                                .source_cnt = SOURCE_CNT, .target_cnt = TARGET_CNT };

        (void)unused;
        assert_true(rp_job_fold_init(&rewrite, "rewrite") && rp_job_fold_init(&follow, "follow"));
        put_waypoint(&follow, 1, lanes, 4, ends);
        put_waypoint(&follow, 2, later, 4, far);
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(group.from_beginning, 0);
        assert_int_equal(starts[0], 0); /* since partition 3 of the later one is of another epoch */
        epochs[3] = EPOCH + 1;
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(starts[0], 90);
        assert_int_equal(starts[2], 70);
        positions[3] = 49;
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(group.from_beginning, 1);
        epochs[0] = epochs[1] = epochs[2] = epochs[3] = 0; /* an older version stored the last offsets */
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(group.from_beginning, SOURCE_CNT);
        rp_job_fold_release(&rewrite);
        rp_job_fold_release(&follow);
}

static void test_how_things_are_now_is_a_checkpoint(void **unused)
{
        int64_t next[SOURCE_CNT] = { 60, 60, 60, -1 }, ends[TARGET_CNT] = { 9, 8, 7 };
        int64_t positions[SOURCE_CNT] = { 60, 60, 60, -1 }, starts[TARGET_CNT];
        struct rp_cutover_group group = { .positions = positions, .starts = starts };
        struct rp_job_fold fold;
        const struct rp_cutover_facts facts = { .fold = &fold, .positions = next, .ends = ends, .source_cnt = SOURCE_CNT,
                                                .target_cnt = TARGET_CNT };

        (void)unused;
        assert_true(rp_job_fold_init(&fold, "job"));
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(group.from_beginning, 0);
        assert_int_equal(starts[0], 9);
        positions[1] = 59;
        assert_true(rp_cutover_starts(&facts, &group, 1));
        assert_int_equal(group.from_beginning, 1);
        assert_int_equal(starts[0], -1);
        rp_job_fold_release(&fold);
}

/* ---- progress of both ----------------------------------------------------------------------------------------------------- */

static void set_rewritten(struct rp_progress *progress, int32_t p, int64_t first, int64_t end, int64_t next)
{
        struct rp_note note = { .first = first };
        char *text;

        rp_note_add_pass(&note, end);
        text = rp_note_print(&note);
        assert_true(rp_progress_set(progress, p, next, text));
        free(text);
}

static void set_followed(struct rp_progress *progress, int32_t p, rp_from_t from, int64_t first, int64_t next)
{
        const struct rp_follow_note note = { .from = from, .first = first, .epoch = EPOCH + p, .partition_cnt = SOURCE_CNT };
        char *text = rp_follow_note_print(&note);

        assert_true(rp_progress_set(progress, p, next, text));
        free(text);
}

static void check_joined(const struct rp_progress *progress, int32_t p, int64_t first, int64_t before, int64_t next)
{
        struct rp_note note;

        assert_true(rp_note_parse(&note, progress->marks[p].note));
        assert_int_equal(progress->marks[p].next, next);
        assert_int_equal(note.first, first);
        assert_int_equal(note.ends[note.pass_cnt - 1], next);
        assert_int_equal(note.pass_cnt, before < 0 ? 1 : 2);
        if (before >= 0)
                assert_int_equal(note.ends[0], before);
}

static void test_progress_of_both_is_joined(void **unused)
{
        const struct rp_range bounds[SOURCE_CNT] = { { 3, 100 }, { 3, 100 }, { 3, 100 }, { 3, 100 } };
        struct rp_progress progress = { 0 }, followed = { 0 };
        int64_t epochs[SOURCE_CNT];
        struct rp_error err;

        (void)unused;
        assert_true(rp_progress_init(&progress, SOURCE_CNT) && rp_progress_init(&followed, SOURCE_CNT));
        assert_false(rp_followed_has_any(&followed));
        set_rewritten(&progress, 0, 3, 50, 50);
        set_rewritten(&progress, 1, 3, 50, 40); /* left in the middle of its pass */
        set_rewritten(&progress, 2, 3, 60, 60); /* follow has not come to it */
        set_followed(&followed, 0, RP_FROM_REWRITE, 50, 90);
        set_followed(&followed, 1, RP_FROM_REWRITE, 40, 80);
        set_followed(&followed, 3, RP_FROM_EARLIEST, 5, 70); /* came later */
        assert_true(rp_followed_has_any(&followed));
        assert_int_equal(rp_followed_join(&progress, &followed, bounds, &err), RP_OK);
        check_joined(&progress, 0, 3, 50, 90);
        check_joined(&progress, 1, 3, 40, 80);
        check_joined(&progress, 2, 3, 60, 60);
        check_joined(&progress, 3, 5, -1, 70);
        rp_followed_epochs(&followed, epochs);
        assert_int_equal(epochs[1], EPOCH + 1);
        assert_int_equal(epochs[2], 0);
        rp_progress_release(&progress);
        rp_progress_release(&followed);
}

/* Jobs of versions that did not write down where they began. */
static void test_where_an_old_job_began(void **unused)
{
        const struct rp_range bounds[SOURCE_CNT] = { { 3, 100 }, { 3, 100 }, { 3, 100 }, { 3, 100 } };
        struct rp_progress progress = { 0 }, followed = { 0 };
        struct rp_error err;

        (void)unused;
        assert_true(rp_progress_init(&progress, SOURCE_CNT) && rp_progress_init(&followed, SOURCE_CNT));
        set_rewritten(&progress, 0, 7, 50, 50);
        set_followed(&followed, 0, RP_FROM_REWRITE, -1, 90);
        set_followed(&followed, 1, RP_FROM_EARLIEST, -1, 80);
        assert_int_equal(rp_followed_join(&progress, &followed, bounds, &err), RP_OK);
        check_joined(&progress, 0, 7, 50, 90);
        check_joined(&progress, 1, 3, -1, 80);
        set_followed(&followed, 2, RP_FROM_LATEST, -1, 80);
        assert_int_equal(rp_followed_join(&progress, &followed, bounds, &err), RP_ERR_USAGE);
        assert_non_null(strstr(err.text, "where follow began in partition 2 is not known"));
        set_followed(&followed, 2, RP_FROM_LATEST, 20, 80);
        assert_true(rp_progress_set(&followed, 3, 1, "somebody else's"));
        assert_int_equal(rp_followed_join(&progress, &followed, bounds, &err), RP_ERR_USAGE);
        rp_progress_release(&progress);
        rp_progress_release(&followed);
}

/* ---- who writes them ------------------------------------------------------------------------------------------------------- */

static char said[4][240];
static int said_cnt;

static rp_err_t say(struct rp_sink *sink, const char *key, const char *text, struct rp_error *err)
{
        (void)sink, (void)err;
        snprintf(said[said_cnt++], sizeof(said[0]), "%.90s %.140s", key, text);
        return RP_OK;
}

static rp_err_t ends_of(void *arg, int64_t *ends, struct rp_error *err)
{
        (void)arg, (void)err;
        ends[0] = 5;
        return RP_OK;
}

static void test_what_is_said_and_when(void **unused)
{
        static const struct rp_sink_ops ops = { .say = say };
        const struct rp_follow_note base = { .job = "j", .by = "b", .first = -1 };
        struct rp_sink sink = { .ops = &ops, .partition_cnt = 1 };
        const struct rp_follow_record_config config = { .note = &base, .sink = &sink, .job = "job", .descriptor = "{what}",
                                                        .target_cnt = 1, .pace_ms = 3600000, .ends = ends_of };
        struct rp_follow_record *record = rp_follow_record_new(&config);
        struct rp_mark held = { .partition = 2, .next = 8 };
        struct rp_follow_note note = base;
        struct rp_error err;
        char *text;

        (void)unused;
        note.first = 4;
        note.epoch = 99;
        text = rp_follow_note_print(&note);
        assert_true(rp_follow_record_started(record, 2, 8, text));
        assert_string_equal(rp_follow_record_note(record, 2), text);
        free(text);
        /* Without an offset the cluster does not look who we are, so nothing is said. */
        assert_int_equal(rp_follow_record_begun(record, &held, 1, &err), RP_OK);
        assert_int_equal(rp_follow_record_committing(record, 0, &err), RP_OK);
        rp_follow_record_settled(record, true);
        assert_int_equal(said_cnt, 0);
        /* What is void is said again. */
        for (int i = 0; i < 2; i++) {
                said_cnt = 0;
                assert_int_equal(rp_follow_record_begun(record, &held, 1, &err), RP_OK);
                assert_int_equal(rp_follow_record_committing(record, 1, &err), RP_OK);
                rp_follow_record_settled(record, i);
                assert_int_equal(said_cnt, 2);
                assert_string_equal(said[0], "job {what}");
                assert_int_equal(strncmp(said[1], "job|waypoint|2.", 15), 0);
                assert_non_null(strstr(said[1], " {\"keyroute\":1,\"source\":[[99,2,8]],\"target\":[5]}"));
        }
        /* What is said for good is said once; the next waypoint is not due for an hour, unless partitions come. */
        said_cnt = 0;
        assert_int_equal(rp_follow_record_begun(record, &held, 1, &err), RP_OK);
        assert_int_equal(rp_follow_record_committing(record, 1, &err), RP_OK);
        rp_follow_record_settled(record, true);
        assert_int_equal(said_cnt, 0);
        assert_true(rp_follow_record_started(record, 0, 6, NULL));
        assert_true(rp_follow_note_parse(&note, rp_follow_record_note(record, 0)));
        assert_int_equal(note.first, 6);
        assert_true(note.epoch > 1600000000000);
        assert_int_equal(rp_follow_record_begun(record, &held, 1, &err), RP_OK);
        assert_int_equal(rp_follow_record_committing(record, 1, &err), RP_OK);
        assert_int_equal(said_cnt, 1);
        /* A note of an older version does not say where it began; from now on there are waypoints all the same. */
        note.first = -1;
        note.epoch = 0;
        text = rp_follow_note_print(&note);
        assert_true(rp_follow_record_started(record, 1, 30, text));
        assert_true(rp_follow_note_parse(&note, rp_follow_record_note(record, 1)));
        assert_int_equal(note.first, -1);
        assert_true(note.epoch > 1600000000000);
        free(text);
        rp_follow_record_free(record);
}

static void assert_note_tells(const struct rp_follow_record *record, int32_t partition, uint64_t safe, uint64_t stale)
{
        struct rp_follow_note note;

        assert_true(rp_follow_note_parse(&note, rp_follow_record_note(record, partition)));
        assert_int_equal(note.done.records[RP_CLASS_SAFE], safe);
        assert_int_equal(note.done.records[RP_CLASS_STALE], stale);
        assert_int_equal(note.done.bytes, 5 * (safe + stale));
        assert_int_equal(note.first, 6);
}

/* The sum goes with the partition, by its note, from one member to the next. */
static void test_what_a_follow_in_place_says(void **unused)
{
        static const struct rp_sink_ops ops = { .say = say };
        const struct rp_follow_note base = { .job = "j", .by = "b", .first = -1, .born_ms = 77 };
        struct rp_sink sink = { .ops = &ops, .partition_cnt = 1 };
        const struct rp_follow_record_config config = { .note = &base, .sink = &sink, .job = "job", .descriptor = "{what}",
                                                        .in_place = true, .target_cnt = 1 };
        const struct rp_record rec = { .partition = 3, .key = "key", .key_len = 3, .value = "va", .value_len = 2 };
        struct rp_follow_record *record = rp_follow_record_new(&config), *heir;
        struct rp_mark held = { .partition = 3, .next = 8 };
        struct rp_error err;

        (void)unused;
        said_cnt = 0;
        assert_true(rp_follow_record_started(record, 3, 6, NULL));
        /* Nothing copied, nothing said; and no waypoint, for which nobody could ask where a target ends. */
        assert_int_equal(rp_follow_record_begun(record, &held, 1, &err), RP_OK);
        assert_int_equal(rp_follow_record_committing(record, 1, &err), RP_OK);
        rp_follow_record_settled(record, true);
        assert_int_equal(said_cnt, 0);
        assert_note_tells(record, 3, 0, 0);
        /* What is void is said again, and counted once. */
        for (int i = 0; i < 2; i++) {
                said_cnt = 0;
                rp_follow_record_copies(record, &rec, RP_CLASS_SAFE);
                rp_follow_record_copies(record, &rec, RP_CLASS_STALE);
                assert_int_equal(rp_follow_record_committing(record, 1, &err), RP_OK);
                assert_note_tells(record, 3, 1, 1); /* what is about to be stored */
                rp_follow_record_settled(record, i);
                assert_note_tells(record, 3, i, i);
                assert_int_equal(said_cnt, 2);
                assert_string_equal(said[0], "job {what}");
                assert_string_equal(said[1], "job|done|3 {\"keyroute\":1,\"since_ms\":77,\"finished\":false,\"bytes\":10,"
                                             "\"classes\":{\"safe\":1,\"stale\":1}}");
        }
        heir = rp_follow_record_new(&config);
        assert_true(rp_follow_record_started(heir, 3, 9, rp_follow_record_note(record, 3)));
        rp_follow_record_free(record);
        said_cnt = 0;
        rp_follow_record_copies(heir, &rec, RP_CLASS_SAFE);
        assert_int_equal(rp_follow_record_committing(heir, 1, &err), RP_OK);
        rp_follow_record_settled(heir, true);
        assert_note_tells(heir, 3, 2, 1);
        assert_true(strlen(rp_follow_record_note(heir, 3)) < 4096); /* the brokers' limit */
        rp_follow_record_free(heir);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_texts_come_back),
                cmocka_unit_test(test_other_texts_do_not_count),
                cmocka_unit_test(test_sizes_are_as_stated),
                cmocka_unit_test(test_slots_keep_what_is_near),
                cmocka_unit_test(test_a_slot_holds_one),
                cmocka_unit_test(test_another_epoch_says_nothing),
                cmocka_unit_test(test_how_things_are_now_is_a_checkpoint),
                cmocka_unit_test(test_progress_of_both_is_joined),
                cmocka_unit_test(test_where_an_old_job_began),
                cmocka_unit_test(test_what_is_said_and_when),
                cmocka_unit_test(test_what_a_follow_in_place_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
