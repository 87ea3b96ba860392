#include "policies.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The map alone, so that a test can walk all slots instead of looking for keys that hash to them. */
static int32_t owner(const kr_policy_t *policy, uint64_t hash)
{
        const kr_rule_t *rule = rule_of(policy);

        return kr_map_partition_of(&rule->map, hash, rule->partition_cnt);
}

static void assert_same_route(const kr_policy_t *a, const kr_policy_t *b)
{
        assert_string_equal(kr_rule_fingerprint(rule_of(a)), kr_rule_fingerprint(rule_of(b)));
        for (unsigned i = 0; i < 1000; i++) {
                char key[16];
                size_t len = (size_t)snprintf(key, sizeof(key), "key-%u", i);
                int32_t cnt = kr_rule_partitions(rule_of(a));

                assert_int_equal(kr_rule_partition(rule_of(a), key, len, cnt),
                                 kr_rule_partition(rule_of(b), key, len, cnt));
        }
}

static void test_equal_weights_are_javas_partition_for_every_count(void **state)
{
        (void)state;
        for (int n = 1; n <= 1000; n++) {
                kr_policy_t *policy = policy_of("'partitions':%d,'map':{'kind':'slots','slots':%d}", n, 3 * n);

                for (uint64_t s = 0; s < 3 * (uint64_t)n; s++)
                        assert_int_equal(owner(policy, s), s % (uint64_t)n);
                /* Any hash, also one that is no multiple's neighbour, and one of 64 bits. */
                for (uint64_t h = 1; h < UINT64_MAX / 31; h *= 31)
                        assert_int_equal(owner(policy, h), h % (uint64_t)n);
                kr_policy_free(policy);
        }
}

static void test_default_slots_are_a_multiple_of_the_partitions(void **state)
{
        static const struct {
                int partitions;
                uint32_t slots;
        } cases[] = { { 1, 1024 },      { 12, 12288 },       { 128, 131072 },      { 129, 66048 },   { 300, 76800 },
                      { 1000, 128000 }, { 65536, 8388608 }, { 131072, 16777216 }, { 200000, 16600000 },
                      { 1000000, 16000000 } };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                int n = cases[i].partitions;
                kr_policy_t *policy = policy_of("'partitions':%d,'map':{'kind':'slots'}", n);
                const kr_rule_t *rule = rule_of(policy);
                size_t width = n <= 256 ? 1 : n <= 65536 ? 2 : 4;

                assert_int_equal(rule->map.kind->period(&rule->map, n), cases[i].slots);
                assert_in_range(kr_rule_memory_bytes(rule), cases[i].slots * width, cases[i].slots * width + 1000);
                for (uint64_t h = 1; h < UINT64_MAX / 31; h *= 31)
                        assert_int_equal(owner(policy, h), h % (uint64_t)n);
                kr_policy_free(policy);
        }
}

static void test_weights_give_shares_and_leave_home_as_little_as_they_can(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':30,'map':{'kind':'slots','weights':{'0-23':2,'24-29':1}}");
        uint64_t held[30] = { 0 };
        unsigned home = 0;

        (void)state;
        for (uint64_t s = 0; s < 30720; s++) {
                int32_t p = owner(policy, s);

                held[p]++;
                home += p == (int32_t)(s % 30);
        }
        for (int p = 0; p < 30; p++)
                assert_in_range(held[p], p < 24 ? 1137 : 568, p < 24 ? 1138 : 569); /* 30720 * 2/54, 30720 * 1/54 */
        assert_int_equal(30720 - home, 6 * 1024 - (held[24] + held[25] + held[26] + held[27] + held[28] + held[29]));
        kr_policy_free(policy);
}

static void test_spelling_does_not_change_the_table(void **state)
{
        static const char *const spellings[] = {
                "'partitions':3,'map':{'kind':'slots','slots':12,'weights':{'0':2,'1':'1.5','2':0}}",
                "'map':{'weights':{'2':0,'1':1.5,'0':'2.000'},'comment':'x','slots':12,'kind':'slots'},'partitions':3",
                "'partitions':3,'map':{'kind':'slots','slots':12,'weights':{'*':2,'1':1.5,'2-2':0}}",
                "'partitions':3,'map':{'kind':'slots','slots':12,'weights':{'0':4,'1':3,'2':0}}",
        };
        kr_policy_t *first = policy_of("%s", spellings[0]);
        kr_policy_t *other;

        (void)state;
        for (size_t i = 1; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
                kr_policy_t *policy = policy_of("%s", spellings[i]);

                assert_same_route(first, policy);
                kr_policy_free(policy);
        }
        other = policy_of("'partitions':3,'map':{'kind':'slots','slots':12,'weights':{'0':2,'1':1,'2':0}}");
        assert_string_not_equal(kr_rule_fingerprint(rule_of(first)), kr_rule_fingerprint(rule_of(other)));
        kr_policy_free(other);
        kr_policy_free(first);
}

static void test_owners_and_runs_say_the_same(void **state)
{
        kr_policy_t *owners = policy_of("'partitions':3,'map':{'kind':'slots','slots':8,'owners':[0,1,0,1,2,1,2,1]}");
        kr_policy_t *runs = policy_of("'partitions':3,'map':{'kind':'slots','slots':8,'stride':2,"
                                      "'runs':[[0,2],[2,2],[1,4]]}");
        kr_policy_t *plain = policy_of("'partitions':3,'map':{'kind':'slots','slots':8,'runs':"
                                       "[[0,1],[1,1],[0,1],[1,1],[2,1],[1,1],[2,1],[1,1]]}");
        static const int32_t want[] = { 0, 1, 0, 1, 2, 1, 2, 1 };

        (void)state;
        for (uint64_t h = 0; h < 64; h++)
                assert_int_equal(owner(runs, h), want[h % 8]);
        assert_same_route(owners, runs);
        assert_same_route(owners, plain);
        kr_policy_free(owners);
        kr_policy_free(runs);
        kr_policy_free(plain);
}

/* Reads a compiled table as the documentation tells other languages to. */
static void expand(const json_t *map, int32_t *owners)
{
        json_int_t slots = json_integer_value(json_object_get(map, "slots"));
        json_int_t stride = json_integer_value(json_object_get(map, "stride"));
        json_int_t depth = slots / stride, i = 0;
        const json_t *run;
        size_t at;

        json_array_foreach(json_object_get(map, "runs"), at, run)
                for (json_int_t n = json_integer_value(json_array_get(run, 1)); n > 0; n--, i++)
                        owners[i % depth * stride + i / depth] =
                                (int32_t)json_integer_value(json_array_get(run, 0));
        assert_int_equal(i, slots);
}

static void check_compiled(const char *path, const char *text, bool expanded)
{
        static int32_t owners[1 << 16];
        kr_policy_t *source = file_load(path);
        kr_policy_t *compiled = file_load(file_write("compiled.json", "%s", text));
        json_t *doc = json_loads(text, 0, NULL);
        json_t *map = json_object_get(json_object_get(json_object_get(doc, "topics"), "t"), "map");

        assert_same_route(source, compiled);
        if (expanded) {
                assert_int_equal(json_array_size(json_object_get(map, "owners")), 30720);
        } else {
                expand(map, owners);
                for (uint64_t s = 0; s < 30720; s++)
                        assert_int_equal(owners[s], owner(source, s));
                assert_in_range(strlen(text), 1, 3000); /* the whole table of 30,720 slots */
        }
        assert_string_equal(json_string_value(json_object_get(map, "comment")), "two big sites");
        json_decref(doc);
        kr_policy_free(source);
        kr_policy_free(compiled);
}

static void test_compiled_policy_routes_identically(void **state)
{
        const char *path = file_write("weights.json",
                                      "{'keyroute':1,'topics':{'t':{'partitions':30,'locations':{'0-23':'big'},'map':"
                                      "{'comment':'two big sites','kind':'slots','weights':{'0-23':2,'*':1}}},"
                                      "'u':{},'v-*':{'map':{'kind':'modulo'}}}}");
        struct kr_error err;

        (void)state;
        for (int expanded = 0; expanded < 2; expanded++) {
                char *text = kr_policy_compile(path, NULL, expanded, &err);

                if (!text)
                        fail_msg("%s", err.text);
                check_compiled(path, text, expanded);
                free(text);
        }
}

/* Compiles `next` from `current` and returns the policy. */
static kr_policy_t *grow(const kr_policy_t *current, const char *next)
{
        struct kr_error err;
        char *text = kr_policy_compile(file_write("next.json", "{'keyroute':1,'topics':{'t':{%s}}}", next), current,
                                       false, &err);
        kr_policy_t *policy;

        if (!text)
                fail_msg("%s", err.text);
        policy = file_load(file_write("grown.json", "%s", text));
        free(text);
        return policy;
}

static unsigned moved_of(const kr_policy_t *a, const kr_policy_t *b, unsigned slots)
{
        unsigned moved = 0;

        for (unsigned s = 0; s < slots; s++)
                moved += owner(a, s) != owner(b, s);
        return moved;
}

/* Text needs no file, and files that it names are sought where it would stand. */
static void test_text_compiles_as_its_file_does(void **state)
{
        static const char json[] = "{\"keyroute\": 1, \"topics\": {\"t\": {\"partitions\": 3, \"map\": {\"kind\": \"slots\"}}}}";
        static const char table[] = "{\"keyroute\": 1, \"topics\": {\"t\": {\"partitions\": 3, \"map\": {\"kind\": \"table\", "
                                    "\"file\": \"no-such.tsv\"}}}}";
        struct kr_error err;
        char *from_file, *from_text;

        (void)state;
        from_file = kr_policy_compile(file_write("same.json", "%s", json), NULL, false, &err);
        from_text = kr_policy_compile_text(json, strlen(json), "same.json", NULL, false, &err);
        assert_non_null(from_text);
        assert_string_equal(from_text, from_file);
        free(from_file);
        free(from_text);
        assert_null(kr_policy_compile_text(json, strlen(json) - 1, "cut.json", NULL, false, &err));
        assert_non_null(strstr(err.text, "cut.json: line 1"));
        assert_null(kr_policy_compile_text(table, strlen(table), "/there/p.json", NULL, false, &err));
        assert_non_null(strstr(err.text, "/there/no-such.tsv"));
        assert_null(kr_policy_parse_at(table, strlen(table), "/there/p.json", &err));
        assert_non_null(strstr(err.text, "/there/no-such.tsv"));
}

static void test_growing_a_plain_topic_moves_a_quarter(void **state)
{
        kr_policy_t *java = policy_of("'partitions':12");
        kr_policy_t *grown = grow(java, "'partitions':16,'map':{'kind':'slots'}");
        kr_policy_t *back = grow(grown, "'partitions':12,'map':{'kind':'slots'}");
        uint64_t held[16] = { 0 };

        (void)state;
        assert_int_equal(4 * moved_of(java, grown, 12288), 12288); /* plain modulo: three quarters */
        assert_int_equal(4 * moved_of(grown, back, 12288), 12288);
        assert_int_equal(kr_rule_partitions(rule_of(grown)), 16);
        for (unsigned s = 0; s < 12288; s++)
                held[owner(back, s)]++;
        for (int p = 0; p < 12; p++)
                assert_int_equal(held[p], 1024);
        kr_policy_free(java);
        kr_policy_free(grown);
        kr_policy_free(back);
}

static void test_slots_stay_those_the_topic_was_born_with(void **state)
{
        kr_policy_t *born = policy_of("'partitions':10,'map':{'kind':'slots','slots':1020}");
        kr_policy_t *grown = grow(born, "'partitions':13,'map':{'kind':'slots','slots':1020}");
        kr_policy_t *weighted = grow(grown, "'partitions':13,'map':{'kind':'slots','weights':{'0':0,'*':1}}");
        unsigned left = 0;

        (void)state;
        assert_int_equal(rule_of(grown)->map.kind->period(&rule_of(grown)->map, 13), 1020);
        assert_int_equal(moved_of(born, grown, 1020), 1020 - 6 * 79 - 4 * 78); /* 1020 / 13 = 78.5 */
        for (unsigned s = 0; s < 1020; s++)
                left += owner(grown, s) == 0;
        assert_int_equal(moved_of(grown, weighted, 1020), left);
        kr_policy_free(born);
        kr_policy_free(grown);
        kr_policy_free(weighted);
}

static void test_starting_table_must_fit(void **state)
{
        static const struct {
                const char *current, *next, *want;
        } cases[] = {
                { "", "'partitions':16,'map':{'kind':'slots'}", "the current policy does not pin the partitions" },
                { "'partitions':12,'hash':'crc32'", "'partitions':16,'map':{'kind':'slots'}",
                  "the current policy routes this topic by another key or hash" },
                { "'partitions':12,'key':{'use':'tag'}", "'partitions':16,'map':{'kind':'slots'}",
                  "the current policy routes this topic by another key or hash" },
                { "'partitions':12,'map':{'kind':'slots'}", "'partitions':16,'map':{'kind':'slots','slots':1600}",
                  "topics.t.map.slots: the current table has 12288 slots" },
                { "'partitions':12", "'partitions':16,'map':{'kind':'slots','slots':1600}",
                  "topics.t.map.slots: expected a multiple of 12" },
        };
        struct kr_error err;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                kr_policy_t *current = policy_of("%s", cases[i].current);
                const char *path = file_write("next.json", "{'keyroute':1,'topics':{'t':{%s}}}", cases[i].next);

                assert_null(kr_policy_compile(path, current, false, &err));
                if (!strstr(err.text, cases[i].want) || !strstr(err.text, path))
                        fail_msg("expected \"%s\", got \"%s\"", cases[i].want, err.text);
                kr_policy_free(current);
        }
}

static void test_malformed_tables_are_told_where(void **state)
{
#define SLOTS(more) "'partitions':3,'map':{'kind':'slots'" more "}"
        static const struct {
                const char *rule, *want;
        } cases[] = {
                { "'map':{'kind':'slots'}", "p.json: topics.t.map: this map names partitions: the rule needs" },
                { SLOTS(",'slots':0"), "topics.t.map.slots: expected a whole number from 1 to 16777216, found 0" },
                { SLOTS(",'slots':16777217"), "topics.t.map.slots: expected a whole number from 1 to 16777216" },
                { SLOTS(",'slots':'12'"), "topics.t.map.slots: expected a whole number" },
                { SLOTS(",'slots':1024"), "topics.t.map.slots: expected a multiple of 3, so that equal weights are Java's" },
                { SLOTS(",'weight':{}"), "topics.t.map: unknown field \"weight\"; did you mean \"weights\"?" },
                { SLOTS(",'weights':[]"), "topics.t.map.weights: expected an object such as" },
                { SLOTS(",'weights':{'0-2':0}"), "topics.t.map.weights: every weight is 0" },
                { SLOTS(",'weights':{'0-1':1}"), "topics.t.map.weights: partition 2 has no weight" },
                { SLOTS(",'weights':{'0-2':1,'1':2}"), "topics.t.map.weights[\"1\"]: partition 1 has two weights" },
                { SLOTS(",'weights':{'0-3':1}"), "topics.t.map.weights[\"0-3\"]: partition 3 does not exist; the highest is 2" },
                { SLOTS(",'weights':{'2-0':1}"), "topics.t.map.weights[\"2-0\"]: a range must rise; did you mean \"0-2\"?" },
                { SLOTS(",'weights':{'a':1}"), "topics.t.map.weights.a: expected a partition such as" },
                { SLOTS(",'weights':{'*':-1}"), "topics.t.map.weights.*: expected a weight from 0 to 1000000" },
                { SLOTS(",'weights':{'*':1e-7}"), "topics.t.map.weights.*: expected a weight" },
                { SLOTS(",'weights':{'*':'1,5'}"), "topics.t.map.weights.*: expected a weight" },
                { SLOTS(",'weights':{'*':true}"), "topics.t.map.weights.*: expected a weight" },
                { SLOTS(",'weights':{'*':1000001}"), "topics.t.map.weights.*: expected a weight" },
                { SLOTS(",'owners':[0,1,2]"), "topics.t.map: \"slots\" is missing" },
                { SLOTS(",'slots':3,'owners':[0,1]"), "topics.t.map.owners: expected an array with one partition for each" },
                { SLOTS(",'slots':3,'owners':{}"), "topics.t.map.owners: expected an array" },
                { SLOTS(",'slots':3,'owners':[0,1,3]"), "topics.t.map.owners[2]: expected a whole number from 0 to 2, found 3" },
                { SLOTS(",'slots':3,'owners':[0,-1,2]"), "topics.t.map.owners[1]: expected a whole number from 0 to 2" },
                { SLOTS(",'slots':3,'owners':[0,1,2],'weights':{'*':1}"), "exclude each other" },
                { SLOTS(",'slots':3,'owners':[0,1,2],'runs':[]"), "exclude each other" },
                { SLOTS(",'slots':6,'stride':2"), "\"stride\" is the order of \"runs\", which are missing" },
                { SLOTS(",'slots':6,'stride':4,'runs':[[0,6]]"), "topics.t.map.stride: expected a number that divides the 6" },
                { SLOTS(",'slots':6,'stride':0,'runs':[[0,6]]"), "topics.t.map.stride: expected a whole number from 1 to 6" },
                { SLOTS(",'slots':6,'runs':{}"), "topics.t.map.runs: expected an array of runs" },
                { SLOTS(",'slots':6,'runs':[[0,6],1]"), "topics.t.map.runs[1]: expected a run such as" },
                { SLOTS(",'slots':6,'runs':[[0]]"), "topics.t.map.runs[0]: expected a run such as" },
                { SLOTS(",'slots':6,'runs':[[0,5]]"), "topics.t.map.runs: the runs have 5 slots together, expected 6" },
                { SLOTS(",'slots':6,'runs':[[0,5],[1,2]]"), "topics.t.map.runs[1]: the runs up to this one have more than 6" },
                { SLOTS(",'slots':6,'runs':[[3,6]]"), "topics.t.map.runs[0][0]: expected a whole number from 0 to 2" },
                { SLOTS(",'slots':6,'runs':[[0,0],[0,6]]"), "topics.t.map.runs[0][1]: expected a whole number from 1" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (!strstr(error_of(cases[i].rule), cases[i].want))
                        fail_msg("%s\nexpected \"%s\"\ngot      \"%s\"", cases[i].rule, cases[i].want,
                                 error_of(cases[i].rule));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_equal_weights_are_javas_partition_for_every_count),
                cmocka_unit_test(test_default_slots_are_a_multiple_of_the_partitions),
                cmocka_unit_test(test_weights_give_shares_and_leave_home_as_little_as_they_can),
                cmocka_unit_test(test_spelling_does_not_change_the_table),
                cmocka_unit_test(test_owners_and_runs_say_the_same),
                cmocka_unit_test(test_compiled_policy_routes_identically),
                cmocka_unit_test(test_text_compiles_as_its_file_does),
                cmocka_unit_test(test_growing_a_plain_topic_moves_a_quarter),
                cmocka_unit_test(test_slots_stay_those_the_topic_was_born_with),
                cmocka_unit_test(test_starting_table_must_fit),
                cmocka_unit_test(test_malformed_tables_are_told_where),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
