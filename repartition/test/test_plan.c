/* decide/growth, decide/estimate and job/plan: what is counted is what the rules say, whatever gets in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decide/estimate.h"
#include "job/plan.h"
#include "memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM = 12, TO = 16, KEYS = 3000, KEYLESS = 60 };

static const char java[] = "{\"keyroute\": 1, \"topics\": {\"t\": {}, \"other\": {\"hash\": \"crc32\"}}}";

static struct rp_growth_wish wish_of(const char *policy)
{
        return (struct rp_growth_wish){
                .policy_json = policy, .policy_path = "policy.json", .topic = "t", .from = FROM, .to = TO
        };
}

/* Records where Java puts them, but every tenth one partition further; some have no key. */
static void fill(struct memory_topic *topic)
{
        struct kr_error err;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &err);
        char key[24];

        memory_topic_init(topic, FROM);
        for (int i = 0; i < KEYS; i++) {
                struct rp_record rec = { .key = key, .value = "value", .value_len = 5, .timestamp_ms = i };
                int32_t home;

                rec.key_len = (size_t)snprintf(key, sizeof(key), "key-%d", i);
                home = kr_rule_partition(kr_policy_rule(policy, "t"), key, rec.key_len, FROM);
                memory_topic_add(topic, i % 10 ? home : (home + 1) % FROM, &rec, i % 7 == 0);
        }
        for (int i = 0; i < KEYLESS; i++)
                memory_topic_add(topic, i % FROM, &(struct rp_record){ .value = "v", .value_len = 1 }, 0);
        kr_policy_free(policy);
}

static void count_by_definition(const struct memory_topic *topic, const kr_rule_t *rule, uint64_t *moved,
                                uint64_t *bytes)
{
        *moved = *bytes = 0;
        for (int32_t p = 0; p < FROM; p++)
                for (size_t i = 0; i < topic->logs[p].cnt; i++) {
                        const struct rp_record *rec = &topic->logs[p].records[i];

                        if (rec->key && kr_rule_partition(rule, rec->key, rec->key_len, TO) != p) {
                                ++*moved;
                                *bytes += rec->key_len + rec->value_len;
                        }
                }
}

static void test_every_record_is_counted_once(void **state)
{
        struct rp_growth_wish wish = wish_of(java);
        struct rp_growth_rules rules;
        struct memory_topic topic;
        struct rp_error err;

        (void)state;
        fill(&topic);
        assert_int_equal(rp_growth_rules_init(&rules, &wish, &err), RP_OK);
        for (unsigned seed = 0; seed < 5; seed++) {
                struct rp_growth growth;
                struct rp_plan_job job = { .source = memory_source_new(&topic, NULL, seed), .growth = &growth };
                uint64_t moved, bytes, sum = 0;

                assert_int_equal(rp_growth_init(&growth, &rules, FROM, TO, &err), RP_OK);
                assert_int_equal(rp_plan_run(&job, &err), RP_OK);
                assert_true(growth.records == KEYS + KEYLESS && growth.keyed == KEYS);
                assert_true(growth.misplaced == KEYS / 10);
                count_by_definition(&topic, rules.next_rule, &moved, &bytes);
                assert_true(growth.next.moved == moved && growth.next.moved_bytes == bytes);
                count_by_definition(&topic, rules.modulo_rule, &moved, &bytes);
                assert_true(growth.modulo.moved == moved && growth.modulo.moved_bytes == bytes);
                assert_true(growth.modulo.moved > 2 * growth.next.moved);
                for (int32_t p = 0; p < TO; p++)
                        sum += growth.next.loads[p];
                assert_true(sum == growth.records);
                rp_growth_release(&growth);
                job.source->ops->free(job.source);
        }
        rp_growth_rules_release(&rules);
        memory_topic_release(&topic);
}

/* Whichever call fails: an error, or the whole truth. */
static void test_every_failing_call_is_told(void **state)
{
        struct rp_growth_wish wish = wish_of(java);
        struct rp_growth_rules rules;
        struct memory_topic topic;
        struct rp_error err;
        bool fired = true;

        (void)state;
        fill(&topic);
        assert_int_equal(rp_growth_rules_init(&rules, &wish, &err), RP_OK);
        for (unsigned nth = 1; fired; nth++) {
                struct faults faults = { .nth = nth, .kind = FAULT_LOST, .code = RP_ERR_RETRY };
                struct rp_growth growth;
                struct rp_plan_job job = { .source = memory_source_new(&topic, &faults, 1), .growth = &growth };
                rp_err_t rc;

                assert_int_equal(rp_growth_init(&growth, &rules, FROM, TO, &err), RP_OK);
                rc = rp_plan_run(&job, &err);
                fired = faults.fired;
                assert_true(rc == (fired ? RP_ERR_RETRY : RP_OK));
                assert_true(fired || growth.records == KEYS + KEYLESS);
                rp_growth_release(&growth);
                job.source->ops->free(job.source);
        }
        rp_growth_rules_release(&rules);
        memory_topic_release(&topic);
}

static bool stop_at_once(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        (void)arg;
        (void)records;
        assert_true(done <= total);
        return false;
}

static void test_a_tick_can_stop_it(void **state)
{
        struct rp_growth_wish wish = wish_of(java);
        struct rp_growth_rules rules;
        struct rp_growth growth;
        struct memory_topic topic;
        struct rp_error err;
        struct rp_plan_job job = { .growth = &growth, .tick = stop_at_once };

        (void)state;
        fill(&topic);
        job.source = memory_source_new(&topic, NULL, 1);
        assert_int_equal(rp_growth_rules_init(&rules, &wish, &err), RP_OK);
        assert_int_equal(rp_growth_init(&growth, &rules, FROM, TO, &err), RP_OK);
        assert_int_equal(rp_plan_run(&job, &err), RP_OK);
        assert_true(job.is_stopped && growth.records < KEYS);
        rp_growth_release(&growth);
        rp_growth_rules_release(&rules);
        job.source->ops->free(job.source);
        memory_topic_release(&topic);
}

/* Whatever map is in force: the least that can move, or a reason. */
static void test_next_rules(void **state)
{
        static const struct {
                const char *rule, *weights;
                double next, modulo;
                const char *why_not;
        } cases[] = {
                { "{}", NULL, 0.25, 0.75, NULL },
                { "{\"partitions\": 12, \"hash\": \"crc32\"}", NULL, 0.25, 0.75, NULL },
                { "{\"partitions\": 12, \"map\": {\"kind\": \"slots\"}}", NULL, 0.25, 0.75, NULL },
                /* weights of before stay, newcomers weigh 1: 4 of 28 */
                { "{\"partitions\": 12, \"map\": {\"kind\": \"slots\", \"weights\": {\"0-11\": 2}}}", NULL, 4.0 / 28,
                  -1, NULL },
                { "{\"partitions\": 12, \"map\": {\"kind\": \"slots\"}}", "{\"0-11\": 1, \"*\": 0}", 0, -1, NULL },
                { "{}", "{\"12\": 1, \"*\": 0}", 1, -1, NULL },
                { "{\"partitions\": 12, \"map\": {\"kind\": \"ring\"}}", NULL, 0.25, -1, NULL },
                { "{\"partitions\": 12, \"map\": {\"kind\": \"two-level\", \"fanout\": 2, \"delimiter\": \"|\"}}",
                  "{\"*\": 1}", -1, -1, "unknown field \"weights\"" },
                { "{}", "{\"16\": 1}", -1, -1, "partition 16 does not exist" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char policy[400];
                struct rp_growth_wish wish = wish_of(policy);
                struct rp_growth_rules rules;
                struct rp_error err;

                snprintf(policy, sizeof(policy), "{\"keyroute\": 1, \"topics\": {\"t\": %s, \"o\": {}}}",
                         cases[i].rule);
                wish.weights_json = cases[i].weights;
                wish.into = i % 2 ? "t.v2" : NULL;
                if (rp_growth_rules_init(&rules, &wish, &err) != RP_OK)
                        fail_msg("%zu: %s", i, err.text);
                if (cases[i].why_not) {
                        assert_null(rules.next_rule);
                        if (!strstr(rules.why_not, cases[i].why_not))
                                fail_msg("%zu: %s", i, rules.why_not);
                } else {
                        kr_policy_t *again;
                        struct kr_error kerr;

                        if (!rules.next_rule || fabs(rules.next_share - cases[i].next) > (i == 6 ? 0.03 : 0.0005))
                                fail_msg("%zu: %f moves, %s", i, rules.next_share, rules.why_not);
                        assert_int_equal(kr_rule_partitions(rules.next_rule), TO);
                        again = kr_policy_parse(rules.next_json, strlen(rules.next_json), "again", &kerr);
                        assert_string_equal(kr_rule_fingerprint(kr_policy_rule(again, wish.into ? "t.v2" : "t")),
                                            kr_rule_fingerprint(rules.next_rule));
                        assert_non_null(kr_policy_rule(again, "o"));
                        if (wish.into)
                                assert_int_not_equal(kr_rule_partitions(kr_policy_rule(again, "t")), TO);
                        kr_policy_free(again);
                }
                if (cases[i].modulo >= 0)
                        assert_true(fabs(rules.modulo_share - cases[i].modulo) < 1e-9);
                rp_growth_rules_release(&rules);
        }
}

static void test_a_policy_that_cannot_be_used(void **state)
{
        static const char *const cases[][2] = {
                { "{\"keyroute\": 1, \"topics\": {\"x\": {}}}", "policy.json: no rule for topic \"t\"" },
                { "{\"keyroute\": 1, \"topics\": {\"t\": {\"hash\": \"x\"}}}", "policy.json: topics.t.hash" },
                { "{\"keyroute\": 1, \"topics\": {\"t\": {\"partitions\": 20, \"locations\": {\"19\": \"a\"}}}}",
                  "topics.t.locations" },
                { "[", "policy.json: line 1" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct rp_growth_wish wish = wish_of(cases[i][0]);
                struct rp_growth_rules rules;
                struct rp_error err;

                assert_int_equal(rp_growth_rules_init(&rules, &wish, &err), RP_ERR_USAGE);
                if (!strstr(err.text, cases[i][1]))
                        fail_msg("%zu: %s", i, err.text);
        }
}

/* ---- estimate ------------------------------------------------------------------------------------------------------
 */

static void add_tenants(struct rp_demand *demand)
{
        char key[32];

        *demand = (struct rp_demand){ 0 };
        for (int tenant = 0; tenant < 30; tenant++)
                for (int i = 0; i <= tenant; i++) {
                        size_t len = (size_t)snprintf(key, sizeof(key), "t%02d|%03d", tenant, i);

                        assert_true(rp_demand_add(demand, key, len, key, 3, 2, (tenant + i) % 8));
                }
        assert_true(rp_demand_seal(demand));
}

static struct rp_estimate estimate_of(const struct rp_demand *demand, const char *name)
{
        struct rp_strategy_config config = { .hash = "murmur2", .delimiter = "|", .fanout = 3 };
        struct rp_strategy strategy;
        struct rp_estimate estimate;
        struct rp_error err;

        if (rp_strategy_init(&strategy, name, demand, &config, 8, 12, &err) != RP_OK)
                fail_msg("%s", err.text);
        assert_int_equal(rp_estimate(&strategy, demand, &estimate, &err), RP_OK);
        rp_strategy_release(&strategy);
        return estimate;
}

static void test_what_a_query_reads(void **state)
{
        static const struct {
                const char *name;
                int32_t touched;
                bool all;
        } cases[] = {
                { "modulo", 8, true },          { "slots", 8, true },      { "ring", 8, true },
                { "range", 8, true },           { "two-level", 3, false }, { "modulo-by-group", 1, false },
                { "slots-by-group", 1, false }, { "table", 1, false },     { "given", 8, true },
        };
        struct rp_demand demand;

        (void)state;
        add_tenants(&demand);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct rp_estimate estimate = estimate_of(&demand, cases[i].name);

                assert_int_equal(estimate.touched_max, cases[i].touched);
                assert_true((estimate.scanned_max == 1) == cases[i].all);
                assert_true(estimate.scanned_mean <= estimate.scanned_max + 1e-9);
                assert_true(estimate.max_over_mean >= 1 && estimate.max_over_mean <= 8);
                assert_true(estimate.max_over_mean + 1e-9 >= estimate.floor);
        }
        /* The heaviest group has 30 of 465 keys, the heaviest key one of them. */
        assert_true(fabs(estimate_of(&demand, "table").heaviest_share - 30.0 / 465) < 1e-9);
        assert_true(fabs(estimate_of(&demand, "modulo").heaviest_share - 1.0 / 465) < 1e-9);
        assert_int_equal(estimate_of(&demand, "table").unit_cnt, 30);
        /* A group of one query reads what lies beside it as well: the whole of its partition. */
        assert_true(fabs(estimate_of(&demand, "table").scanned_max - estimate_of(&demand, "table").max_over_mean / 8) <
                    1e-9);
        rp_demand_release(&demand);
}

/* A policy that routes by a field lets a query do the same, though no map says so. */
static void test_a_policy_that_routes_by_the_group(void **state)
{
        static const char by_field[] =
                "{\"keyroute\": 1, \"topics\": {\"t\": {\"key\": {\"use\": \"field\", \"delimiter\": \"|\", "
                "\"index\": 0}}}}";
        static const char *const policies[] = { by_field, java };
        struct rp_demand demand;

        (void)state;
        add_tenants(&demand);
        for (int i = 0; i < 2; i++) {
                struct rp_strategy strategy;
                struct rp_estimate estimate;
                struct rp_error err;

                assert_int_equal(rp_strategy_init_policy(&strategy, "p", policies[i], "p.json", "t", 8, 12, &err),
                                 RP_OK);
                assert_int_equal(rp_estimate(&strategy, &demand, &estimate, &err), RP_OK);
                assert_int_equal(estimate.touched_max, i ? 8 : 1);
                assert_true(estimate.moved > 0 && fabs(estimate.moved_hashes - 1.0 / 3) < 1e-3); /* 8 to 12, by slots */
                rp_strategy_release(&strategy);
        }
        rp_demand_release(&demand);
}

static void test_a_table_fills_newcomers_even_beside_a_giant(void **state)
{
        struct rp_demand demand = { 0 };
        struct rp_strategy_config config = { .hash = "murmur2" };
        struct rp_strategy strategy;
        struct rp_estimate estimate;
        struct rp_error err;
        char key[16];

        (void)state;
        for (int i = 0; i < 100; i++) {
                size_t len = (size_t)snprintf(key, sizeof(key), "k%d", i);

                assert_true(rp_demand_add(&demand, key, len, NULL, 0, i ? 1 : 100, -1));
        }
        assert_true(rp_demand_seal(&demand));
        assert_int_equal(rp_strategy_init(&strategy, "table", &demand, &config, 4, 6, &err), RP_OK);
        assert_int_equal(rp_estimate(&strategy, &demand, &estimate, &err), RP_OK);
        /* Three partitions with 33 each become five with about 20. */
        if (!(fabs(estimate.moved - 39.0 / 199) < 0.011))
                fail_msg("%f", estimate.moved);
        rp_strategy_release(&strategy);
        rp_demand_release(&demand);
}

static void test_splitting_a_key(void **state)
{
        struct rp_demand demand = { 0 };
        struct rp_error err;

        (void)state;
        assert_true(rp_demand_add(&demand, "a", 1, NULL, 0, 10, 2) && rp_demand_add(&demand, "b|1", 3, NULL, 0, 1, 0) &&
                    rp_demand_add(&demand, "b", 1, NULL, 0, 1, 0));
        assert_true(rp_demand_seal(&demand));
        assert_int_equal(rp_demand_split(&demand, rp_demand_find(&demand, "a", 1), 3, "|", &err), RP_OK);
        assert_int_equal(demand.keys.cnt, 5);
        assert_true(rp_demand_find(&demand, "a", 1) == UINT32_MAX);
        for (int i = 0; i < 3; i++) {
                char name[8];
                uint32_t at;

                snprintf(name, sizeof(name), "a|%d", i);
                at = rp_demand_find(&demand, name, 3);
                assert_true(at == (i ? (uint32_t)i + 2 : 0));
                assert_true(demand.keys.list[at].weight == (i ? 3u : 4u) && demand.keys.list[at].partition == 2);
        }
        assert_int_equal(rp_demand_split(&demand, rp_demand_find(&demand, "b", 1), 2, "|", &err), RP_ERR_USAGE);
        rp_demand_release(&demand);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_record_is_counted_once),
                cmocka_unit_test(test_every_failing_call_is_told),
                cmocka_unit_test(test_a_tick_can_stop_it),
                cmocka_unit_test(test_next_rules),
                cmocka_unit_test(test_a_policy_that_cannot_be_used),
                cmocka_unit_test(test_what_a_query_reads),
                cmocka_unit_test(test_a_policy_that_routes_by_the_group),
                cmocka_unit_test(test_a_table_fills_newcomers_even_beside_a_giant),
                cmocka_unit_test(test_splitting_a_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
