/* decide/survey and decide/preflight: what a plan measures, and what it says about the order that a rewrite can keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/library.h"
#include "decide/preflight.h"

#include <string.h>

struct sight {
        const char *key;
        int32_t partition;
        int64_t time_ms;
};

struct fixture {
        kr_policy_t *policy;
        struct rp_survey survey;
        struct rp_findings findings;
};

/* The one source of all that follows. */
static const struct rp_topic_facts a = { .name = "a", .exists = true, .partition_cnt = 3, .replication_factor = 3 };

static void look_at(struct fixture *fixture, const struct sight *sights, size_t cnt)
{
        struct kr_error err;
        struct rp_facts facts = { .sources = &a, .source_cnt = 1, .source = "a",
                                  .target = { .name = "b", .partition_cnt = 3, .retention_ms = RP_UNKNOWN,
                                              .before_max_ms = RP_UNKNOWN, .after_max_ms = RP_UNKNOWN },
                                  .wanted_cnt = 3, .settings_are_known = true, .survey = &fixture->survey };

        *fixture = (struct fixture){ .policy = kr_policy_from_hash("murmur2", &err) };
        assert_non_null(fixture->policy);
        fixture->survey = (struct rp_survey){ .rule = kr_policy_rule(fixture->policy, "a"), .source_cnt = 3, .target_cnt = 3,
                                              .cutoff_ms = INT64_MIN };
        assert_true(rp_survey_init(&fixture->survey));
        for (size_t i = 0; i < cnt; i++) {
                struct rp_record rec = { .partition = sights[i].partition, .offset = (int64_t)i,
                                         .timestamp_ms = sights[i].time_ms, .key = sights[i].key,
                                         .key_len = sights[i].key ? strlen(sights[i].key) : 0 };

                rp_survey_add(&fixture->survey, &rec);
        }
        rp_preflight(&facts, &fixture->findings);
}

static void release(struct fixture *fixture)
{
        rp_survey_release(&fixture->survey);
        kr_policy_free(fixture->policy);
}

static const struct rp_finding *find(const struct fixture *fixture, const char *id)
{
        for (size_t i = 0; i < fixture->findings.cnt; i++)
                if (!strcmp(fixture->findings.items[i].id, id))
                        return &fixture->findings.items[i];
        return NULL;
}

#define look(fixture, sights) look_at(fixture, sights, sizeof(sights) / sizeof(*(sights)))

static void test_times_that_rise_in_each_partition(void **state)
{
        /* Partitions lie far apart in time; that is no disorder, the merge puts it right. */
        static const struct sight sights[] = { { "k", 0, 9000 }, { "k", 1, 1000 }, { "l", 0, 9000 }, { "l", 1, 1500 },
                                               { NULL, 2, 5 },   { "k", 0, 9500 } };
        struct fixture fixture;

        (void)state;
        look(&fixture, sights);
        assert_int_equal(fixture.survey.backward, 0);
        assert_int_equal(fixture.survey.step_back_ms, 0);
        assert_int_equal(find(&fixture, "split-keys")->severity, RP_FINDING_NOTE);
        assert_non_null(strstr(find(&fixture, "split-keys")->text, "2 of 2 keys"));
        assert_null(find(&fixture, "split-keys-out-of-time"));
        release(&fixture);
}

static void test_a_backfill_behind_newer_records(void **state)
{
        /* One producer after another: partition 0 holds a week, then the same week again. */
        static const struct sight sights[] = { { "k", 0, 0 },          { "l", 0, 604800000 }, { "k", 0, 100 },
                                               { "l", 0, 302400000 },  { "k", 1, 50 },        { "m", 2, 604800000 },
                                               { "m", 2, 604800000 },  { "n", 2, -1 } };
        struct fixture fixture;
        const struct rp_finding *finding;

        (void)state;
        look(&fixture, sights);
        assert_int_equal(fixture.survey.backward, 2);
        assert_int_equal(fixture.survey.step_back_ms, 604800000 - 100);
        finding = find(&fixture, "split-keys-out-of-time");
        assert_non_null(finding);
        assert_int_equal(finding->severity, RP_FINDING_WARNING);
        /* 2 of the 7 records that carry a time */
        assert_string_equal(finding->text,
                            "1 of 4 keys seen live in several source partitions, and 2 of 7 records seen (28.6 %) are older "
                            "than one before them in their partition, by up to 7.0 days. Each partition's order is kept, so these keys "
                            "may come out up to that much out of time order: readers that need it must sort by timestamp");
        /* The promise that cannot be kept is not made. */
        assert_null(find(&fixture, "split-keys"));
        assert_int_equal(fixture.findings.refusal_cnt, 0);
        release(&fixture);
}

static void test_disorder_hurts_only_split_keys(void **state)
{
        static const struct sight sights[] = { { "k", 0, 500 }, { "k", 0, 480 }, { "l", 1, 100 } };
        struct fixture fixture;

        (void)state;
        look(&fixture, sights);
        assert_int_equal(fixture.survey.backward, 1);
        assert_int_equal(fixture.survey.step_back_ms, 20);
        assert_null(find(&fixture, "split-keys"));
        assert_null(find(&fixture, "split-keys-out-of-time"));
        release(&fixture);
}

static void test_spans_are_said_in_words(void **state)
{
        static const struct { int64_t ms; const char *said; } cases[] = {
                { 1, "by up to 1 ms." },           { 999, "by up to 999 ms." },        { 1000, "by up to 1.0 seconds." },
                { 90000, "by up to 1.5 minutes." }, { 7200000, "by up to 2.0 hours." }, { 86400000, "by up to 1.0 days." },
                { INT64_MAX, "days." },
        };
        struct fixture fixture;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct sight sights[] = { { "k", 0, cases[i].ms }, { "k", 0, 0 }, { "k", 1, 0 } };

                look(&fixture, sights);
                assert_non_null(strstr(find(&fixture, "split-keys-out-of-time")->text, cases[i].said));
                release(&fixture);
        }
}

static void test_the_longest_warning_is_whole(void **state)
{
        struct fixture fixture;
        struct rp_facts facts = { .survey = &fixture.survey, .wanted_cnt = 3, .sources = &a, .source_cnt = 1, .source = "a",
                                  .target.name = "b" };

        (void)state;
        fixture.survey = (struct rp_survey){ .records = UINT64_MAX, .backward = UINT64_MAX, .split_keys = UINT64_MAX,
                                             .keys = UINT64_MAX, .keys_are_capped = true, .step_back_ms = INT64_MAX };
        rp_preflight(&facts, &fixture.findings);
        assert_non_null(strstr(find(&fixture, "split-keys-out-of-time")->text, "sort by timestamp"));
}

static void test_a_pinned_policy_is_refused_once(void **state)
{
        struct fixture fixture = { .survey = { .records = 5, .rejected = 5, .oldest_ms = -1, .newest_ms = -1 } };
        struct rp_facts facts = { .survey = &fixture.survey, .wanted_cnt = 3, .policy_pin = 4,
                                  .sources = &a, .source_cnt = 1, .source = "a",
                                  .target = { .name = "b", .exists = true, .partition_cnt = 3 } };

        (void)state;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_non_null(find(&fixture, "policy-pin"));
        facts.policy_pin = 3;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_non_null(find(&fixture, "rejected-keys"));
}

static void test_progress_of_somebody_else_is_no_start(void **state)
{
        struct fixture fixture = { .survey.oldest_ms = -1, .survey.newest_ms = -1 };
        struct rp_facts facts = { .survey = &fixture.survey, .wanted_cnt = 3, .job = "mine", .has_progress = true,
                                  .sources = &a, .source_cnt = 1, .source = "a",
                                  .target = { .name = "b", .exists = true, .partition_cnt = 3 },
                                  .target_has_records = true };

        (void)state;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 0);

        facts.other_job = "rewrite a to b, 3 partitions, policy 0123";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "other-job")->text,
                            "under the name \"mine\" another job has stored its progress (rewrite a to b, 3 partitions, policy "
                            "0123): choose another --job, or the same policy and partition count");

        facts.other_job = NULL;
        facts.progress_is_foreign = true;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "foreign-progress")->text,
                            "the offsets stored under \"mine\" were not written by this tool: choose another --job");
}

static struct rp_facts healthy_facts(struct rp_survey *survey)
{
        return (struct rp_facts){
                .sources = &a, .source_cnt = 1, .source = "a",
                .target = { .name = "b", .exists = true, .partition_cnt = 3, .replication_factor = 3, .in_sync_cnt = 3,
                            .min_insync_replicas = 2, .retention_ms = RP_UNKNOWN, .before_max_ms = RP_UNKNOWN,
                            .after_max_ms = RP_UNKNOWN },
                .broker_cnt = 3, .wanted_cnt = 3, .settings_are_known = true, .job = "mine", .survey = survey,
                .library_name = "2.0.2", .library = 0x020002ff, .codecs = "gzip,snappy,ssl,lz4,zstd",
        };
}

/* Every fact that must stop a job before it begins, alone, and the word and the text that name it. */
static void test_what_would_stop_the_job_in_the_middle(void **state)
{
        struct rp_survey survey = { .oldest_ms = -1, .newest_ms = -1 };
        struct fixture fixture;
        struct rp_facts facts = healthy_facts(&survey);

        (void)state;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 0);

        facts.target.in_sync_cnt = 1;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "in-sync")->text,
                            "a partition of \"b\" has 1 replicas in sync now and min.insync.replicas=2: nothing can be "
                            "written until its brokers are back");

        facts = healthy_facts(&survey);
        facts.denials[0] = "this user lacks Write on topic \"b\"";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "rights")->text, facts.denials[0]);

        facts = healthy_facts(&survey);
        facts.rights_are_unknown = true;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 0);
        assert_int_equal(find(&fixture, "rights-unknown")->severity, RP_FINDING_NOTE);

        /* The cluster's own words, unless plainer ones of ours say it already. */
        facts = healthy_facts(&survey);
        facts.target.exists = false;
        facts.create_error = "cannot create topic \"b\": no";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "create")->text, facts.create_error);
        facts.target.replication_factor = 4;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_non_null(find(&fixture, "replication"));
}

static void test_what_follow_has_copied_is_not_copied_again(void **state)
{
        struct rp_survey survey = { .oldest_ms = -1, .newest_ms = -1 };
        struct rp_mark own[] = { { 0, 100, NULL }, { 1, 100, NULL }, { 2, -1, NULL } };
        struct rp_mark others[] = { { 0, 100, NULL }, { 1, 99, NULL }, { 2, -1, NULL } };
        struct rp_progress progress = { own, 3 }, followed = { others, 3 };
        struct fixture fixture;
        struct rp_facts facts = healthy_facts(&survey);

        (void)state;
        facts.has_progress = true;
        facts.target_has_records = true;
        facts.follow_job = "keyroute.follow.a.b";
        facts.progress = &progress;
        facts.followed = &followed;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 0);

        others[1].next = 101;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "followed")->text,
                            "follow has gone on from here: in partition 1 group \"keyroute.follow.a.b\" stands at offset 101, "
                            "this job at 100, and what lies between would be copied a second time. Let follow go on, or rewrite "
                            "into another topic than \"b\"");

        /* A partition that was empty when the rewrite ended. Several are one refusal. */
        others[2].next = 1;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 1);
        others[1].next = 100;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_non_null(strstr(find(&fixture, "followed")->text, "in partition 2 "));

        facts.followed = NULL;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 0);
        assert_int_equal(find(&fixture, "follow-unknown")->severity, RP_FINDING_NOTE);
        facts.follow_job = NULL;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 0);
}

static void test_codecs_that_the_library_lacks(void **state)
{
        struct rp_survey survey = { .oldest_ms = -1, .newest_ms = -1 };
        struct fixture fixture;
        struct rp_topic_facts source = a;
        struct rp_facts facts = healthy_facts(&survey);

        (void)state;
        facts.sources = &source;
        facts.target.compression_type = "zstd";
        source.compression_type = "producer";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 0);
        facts.codecs = "gzip, zstdx, notzstd, lz4"; /* whole words only */
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_string_equal(find(&fixture, "codec")->text, "\"b\" is compressed by zstd (compression.type), which this "
                                                           "librdkafka (2.0.2) was built without: use one that has it");
        source.compression_type = "snappy";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 2);
        facts.codecs = NULL; /* not known is no reason */
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.cnt, 0);
}

static void test_a_librdkafka_that_loses_records(void **state)
{
        struct rp_survey survey = { .oldest_ms = -1, .newest_ms = -1 };
        struct fixture fixture;
        struct rp_facts facts = healthy_facts(&survey);

        (void)state;
        facts.library = 0x010802ff;
        facts.library_name = "1.8.2";
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 1);
        assert_non_null(strstr(find(&fixture, "librdkafka")->text, "librdkafka 1.8.2: "));
        assert_non_null(strstr(find(&fixture, "librdkafka")->text, "--allow-librdkafka"));
        facts.library_is_allowed = true;
        rp_preflight(&facts, &fixture.findings);
        assert_int_equal(fixture.findings.refusal_cnt, 0);
        assert_int_equal(find(&fixture, "librdkafka")->severity, RP_FINDING_WARNING);
}

static void test_what_follow_asks_of_librdkafka(void **state)
{
        static const unsigned uses = RP_LIBRARY_WRITE | RP_LIBRARY_GROUP;
        struct rp_findings findings = { 0 };

        (void)state;
        rp_preflight_library(0x020002ff, "2.0.2", RP_LIBRARY_WRITE, false, &findings);
        assert_int_equal(findings.cnt, 0);
        rp_preflight_library(0x020002ff, "2.0.2", uses, false, &findings);
        assert_int_equal(findings.cnt, 1);
        assert_int_equal(findings.items[0].severity, RP_FINDING_WARNING);
        assert_non_null(strstr(findings.items[0].text, "librdkafka 2.0.2: the cooperative-sticky assignment can spin"));

        /* follow prints the first one when it refuses. */
        findings = (struct rp_findings){ 0 };
        rp_preflight_library(0x010802ff, "1.8.2", uses, false, &findings);
        assert_int_equal(findings.cnt, 2);
        assert_int_equal(findings.refusal_cnt, 1);
        assert_int_equal(findings.items[0].severity, RP_FINDING_REFUSAL);
        assert_non_null(strstr(findings.items[0].text, "--allow-librdkafka takes the risk"));

        findings = (struct rp_findings){ 0 };
        rp_preflight_library(0x010802ff, "1.8.2", uses, true, &findings);
        assert_int_equal(findings.cnt, 2);
        assert_int_equal(findings.refusal_cnt, 0);

        findings = (struct rp_findings){ 0 };
        rp_preflight_library(0x021000ff, "2.16.0", uses, false, &findings);
        assert_int_equal(findings.cnt, 0);
}

static void test_sample(void **state)
{
        struct rp_survey survey = { .source_cnt = 10 };

        (void)state;
        assert_int_equal(rp_survey_probe(10), 61);
        assert_int_equal(rp_survey_probe(1000), 1);
        /* Nothing seen, as of a topic of aborted records: by the count alone. */
        assert_int_equal(rp_survey_chunk(&survey, 200000, 4), INT64_MAX);
        assert_int_equal(rp_survey_chunk(&survey, 200001, 4), 2501);
        /* Short records: 100,000 of them, whatever their length. */
        survey.records = 600;
        survey.bytes = 600 * 100;
        assert_int_equal(rp_survey_chunk(&survey, 200000, 4), INT64_MAX);
        assert_int_equal(rp_survey_chunk(&survey, 4000000, 4), 2501);
        /* Long ones: 64 MiB of them; twice as much is still looked at whole. */
        survey.bytes = 600 * 10000;
        assert_int_equal(rp_survey_chunk(&survey, 13420, 4), INT64_MAX);
        assert_int_equal(rp_survey_chunk(&survey, 300000, 4), 168);
        survey.bytes = UINT64_C(600) * 500000000;
        assert_int_equal(rp_survey_chunk(&survey, 300000, 4), 1);
}

/* --config would be refused there: the advice must be one that can be followed. */
static void test_settings_of_a_target_that_exists_are_not_set_by_config(void **state)
{
        for (int exists = 0; exists < 2; exists++) {
                struct rp_survey survey = { .records = 10, .expired = 5, .keyless = 1, .largest_bytes = 2000 };
                struct rp_findings findings = { 0 };
                struct rp_facts facts = { .sources = &a, .source_cnt = 1, .source = "a", .wanted_cnt = 3, .survey = &survey,
                                          .settings_are_known = true,
                                          .target = { .name = "b", .exists = exists, .partition_cnt = 3, .retention_ms = 1000,
                                                      .cleanup_policy = "compact,delete", .max_message_bytes = 1000,
                                                      .before_max_ms = RP_UNKNOWN, .after_max_ms = RP_UNKNOWN } };
                int advice = 0;

                rp_preflight(&facts, &findings);
                for (size_t i = 0; i < findings.cnt; i++) {
                        const char *text = findings.items[i].text;

                        advice += strstr(text, exists ? "kafka-configs --alter --add-config " : "--config ") != NULL;
                        assert_true(!exists || !strstr(text, " --config "));
                }
                assert_int_equal(advice, 3);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sample),
                cmocka_unit_test(test_times_that_rise_in_each_partition),
                cmocka_unit_test(test_a_backfill_behind_newer_records),
                cmocka_unit_test(test_disorder_hurts_only_split_keys),
                cmocka_unit_test(test_spans_are_said_in_words),
                cmocka_unit_test(test_the_longest_warning_is_whole),
                cmocka_unit_test(test_a_pinned_policy_is_refused_once),
                cmocka_unit_test(test_progress_of_somebody_else_is_no_start),
                cmocka_unit_test(test_what_would_stop_the_job_in_the_middle),
                cmocka_unit_test(test_what_follow_has_copied_is_not_copied_again),
                cmocka_unit_test(test_settings_of_a_target_that_exists_are_not_set_by_config),
                cmocka_unit_test(test_codecs_that_the_library_lacks),
                cmocka_unit_test(test_a_librdkafka_that_loses_records),
                cmocka_unit_test(test_what_follow_asks_of_librdkafka),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
