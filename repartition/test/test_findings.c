/* What is found before a rewrite begins: each finding by the facts that call for it, and by no others. */
#include "decide/preflight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t DAY_MS = 86400000;
static struct rp_survey survey;
static struct rp_topic_facts source;
static struct rp_facts facts;
static struct rp_findings findings;

static const struct rp_finding *find(const char *id)
{
        rp_preflight(&facts, &findings);
        for (size_t i = 0; i < findings.cnt; i++)
                if (!strcmp(findings.items[i].id, id))
                        return &findings.items[i];
        return NULL;
}

/* The finding is there with that severity, and alone. */
static void assert_only(const char *id, rp_severity_t severity)
{
        const struct rp_finding *finding = find(id);

        if (!finding || findings.cnt != 1)
                fail_msg("%s: %zu findings, the first is %s", id, findings.cnt, findings.cnt ? findings.items[0].id : "none");
        assert_int_equal(finding->severity, severity);
        assert_int_equal(findings.refusal_cnt, severity == RP_FINDING_REFUSAL);
}

static void assert_nothing(void)
{
        rp_preflight(&facts, &findings);
        if (findings.cnt)
                fail_msg("%s: %s", findings.items[0].id, findings.items[0].text);
}

static void test_nothing_speaks_against_a_plain_copy(void **state)
{
        (void)state;
        assert_nothing();
}

static void test_topics(void **state)
{
        (void)state;
        facts.target.name = "orders";
        assert_only("same-topic", RP_FINDING_REFUSAL);
        facts.target.name = "orders.v2";
        facts.policy_pin = 12;
        assert_only("policy-pin", RP_FINDING_REFUSAL);
        facts.policy_pin = 16;
        source.leaderless_cnt = 1;
        assert_only("leaderless", RP_FINDING_REFUSAL);
        source.leaderless_cnt = 0;
        facts.target.replication_factor = 4;
        assert_only("replication", RP_FINDING_REFUSAL);
        facts.target.replication_factor = 1;
        assert_only("min-insync", RP_FINDING_REFUSAL);
        facts.target.replication_factor = 3;
        facts.settings_are_known = false;
        assert_only("settings-unknown", RP_FINDING_NOTE);
}

static void test_existing_target(void **state)
{
        (void)state;
        facts.target.exists = true;
        assert_nothing();
        facts.target.partition_cnt = 15;
        assert_only("partition-count", RP_FINDING_REFUSAL);
        assert_non_null(strstr(findings.items[0].text, "15"));
        facts.target.partition_cnt = 16;
        facts.target_has_records = true;
        assert_only("not-empty", RP_FINDING_REFUSAL);
        facts.has_progress = true;
        assert_nothing();
        facts.target_has_records = false;
        assert_only("target-emptied", RP_FINDING_WARNING);
        facts.target.exists = false;
        assert_only("target-gone", RP_FINDING_REFUSAL);
}

static void test_times(void **state)
{
        (void)state;
        facts.target.timestamp_type = "LogAppendTime";
        assert_only("timestamp-type", RP_FINDING_REFUSAL);
        assert_non_null(strstr(findings.items[0].text, "--config message.timestamp.type=CreateTime"));
        facts.target.timestamp_type = "CreateTime";
        survey.expired = 25;
        assert_only("retention", RP_FINDING_WARNING);
        assert_non_null(strstr(findings.items[0].text, "25.0 %"));
        facts.target.cleanup_policy = "compact"; /* then age deletes nothing */
        assert_only("compacted", RP_FINDING_NOTE);
        facts.target.cleanup_policy = "delete";
        facts.target.retention_ms = -1;
        assert_nothing();
        survey.expired = 0;
        facts.target.before_max_ms = DAY_MS;
        assert_only("timestamp-before", RP_FINDING_REFUSAL);
        facts.target.before_max_ms = INT64_MAX;
        survey.newest_ms = facts.now_ms + DAY_MS;
        facts.target.after_max_ms = DAY_MS / 24;
        assert_only("timestamp-after", RP_FINDING_REFUSAL);
        facts.target.after_max_ms = RP_UNKNOWN;
        assert_nothing();
        survey.split_keys = 3;
        assert_only("split-keys", RP_FINDING_NOTE);
        survey.timeless = 1;
        assert_int_equal(find("no-time")->severity, RP_FINDING_WARNING);
        survey.split_keys = 0;
        assert_nothing();
}

static void test_records(void **state)
{
        (void)state;
        survey.rejected = 1;
        assert_only("rejected-keys", RP_FINDING_REFUSAL);
        survey.rejected = 0;
        survey.unresolved = 1;
        assert_only("unresolved-keys", RP_FINDING_REFUSAL);
        survey.unresolved = 0;
        survey.largest_bytes = 3000000;
        assert_only("record-size", RP_FINDING_WARNING);
        survey.largest_bytes = 1000;
        source.max_message_bytes = 2000000;
        assert_only("record-size", RP_FINDING_WARNING);
        source.max_message_bytes = 1048588;
        survey.keyless = 10;
        assert_only("keyless", RP_FINDING_NOTE);
        facts.target.cleanup_policy = "compact,delete";
        assert_int_equal(find("compacted-keyless")->severity, RP_FINDING_REFUSAL);
        survey.keyless = 0;
        facts.target.cleanup_policy = "delete";
        facts.target.retention_bytes = 1 << 30;
        assert_nothing();
        facts.wanted_cnt = facts.target.partition_cnt = 6;
        facts.policy_pin = 0;
        assert_only("retention-bytes", RP_FINDING_WARNING);
}

/* ---- the survey that feeds it ---------------------------------------------------------------------------------------- */

static void test_survey(void **state)
{
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &kerr);
        const kr_rule_t *rule = kr_policy_rule(policy, "orders");
        struct rp_survey seen = { .rule = rule, .source_cnt = 4, .target_cnt = 8, .cutoff_ms = 100 };
        char key[16];

        (void)state;
        assert_true(rp_survey_init(&seen));
        for (int i = 0; i < 1000; i++) {
                int len = snprintf(key, sizeof(key), "key-%d", i % 100);
                int32_t home = kr_rule_partition(rule, key, (size_t)len, 4);
                struct rp_record rec = { .partition = i < 10 ? (home + 1) % 4 : home, .key = key, .key_len = (size_t)len,
                                         .value = "v", .value_len = 1, .timestamp_ms = 90 + i };

                rp_survey_add(&seen, &rec);
        }
        rp_survey_add(&seen, &(struct rp_record){ .timestamp_ms = -1, .value = "keyless", .value_len = 7 });
        assert_int_equal(seen.records, 1001);
        assert_int_equal(seen.keyless, 1);
        assert_int_equal(seen.timeless, 1);
        assert_int_equal(seen.keys, 100);
        assert_int_equal(seen.split_keys, 10);
        assert_int_equal(seen.misplaced, 10);
        assert_int_equal(seen.expired, 10);
        assert_int_equal(seen.oldest_ms, 90);
        assert_int_equal(seen.newest_ms, 1089);
        assert_int_equal(seen.largest_bytes, 7);
        assert_true(seen.moved > 300 && seen.moved < 700); /* 4 to 8 partitions: half of the keys */
        rp_survey_release(&seen);
        kr_policy_free(policy);
}

static int set_up(void **state)
{
        (void)state;
        survey = (struct rp_survey){ .records = 100, .bytes = 10000, .largest_bytes = 1000, .keys = 10 };
        source = (struct rp_topic_facts){
                .name = "orders", .exists = true, .partition_cnt = 12, .replication_factor = 3, .in_sync_cnt = 3,
                .timestamp_type = "CreateTime", .cleanup_policy = "delete", .retention_ms = 7 * DAY_MS,
                .retention_bytes = -1, .max_message_bytes = 1048588, .min_insync_replicas = 2,
                .before_max_ms = INT64_MAX, .after_max_ms = DAY_MS / 24,
        };
        facts = (struct rp_facts){
                .sources = &source, .source_cnt = 1, .source = "orders", .broker_cnt = 3, .wanted_cnt = 16,
                .settings_are_known = true, .survey = &survey,
                .now_ms = INT64_C(1800000000000),
        };
        facts.target = source;
        facts.target.name = "orders.v2";
        facts.target.exists = false;
        facts.target.partition_cnt = 16;
        survey.oldest_ms = facts.now_ms - 2 * DAY_MS;
        survey.newest_ms = facts.now_ms;
        return 0;
}

#define test(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
        const struct CMUnitTest tests[] = {
                test(test_nothing_speaks_against_a_plain_copy),
                test(test_topics),
                test(test_existing_target),
                test(test_times),
                test(test_records),
                test(test_survey),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
