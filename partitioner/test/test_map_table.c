#include "map/table_search.h"
#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t route(const kr_policy_t *policy, const void *key, size_t len)
{
        return kr_rule_partition(rule_of(policy), key, len, kr_rule_partitions(rule_of(policy)));
}

static int32_t route_text(const kr_policy_t *policy, const char *key)
{
        return route(policy, key, strlen(key));
}

static uint64_t murmur2(const char *key)
{
        return kr_hash_value(kr_hash_find("murmur2"), key, strlen(key));
}

/* A policy in a file whose topic "t" has this map, beside a file keys.tsv with these rows. */
static const char *write_policy(const char *map, const char *rows)
{
        file_write("keys.tsv", "%s", rows);
        return file_write("table.json", "{'keyroute':1,'topics':{'t':{'partitions':12,'map':{'kind':'table'%s}}}}", map);
}

static void test_pinned_keys_go_where_they_are_pinned_and_others_as_before(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':12,'map':{'kind':'table','keys':{'acme':3,'big|one':0,'':11}}");
        kr_policy_t *plain = policy_of("'partitions':12");

        (void)state;
        assert_int_equal(route_text(policy, "acme"), 3);
        assert_int_equal(route_text(policy, "big|one"), 0);
        assert_int_equal(route_text(policy, ""), 11);
        for (int i = 0; i < 2000; i++) {
                char key[20];

                snprintf(key, sizeof(key), "acme%d", i);
                assert_int_equal(route_text(policy, key), route_text(plain, key));
        }
        kr_policy_free(policy);
        kr_policy_free(plain);
}

static void test_else_is_any_other_map(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':3,'map':{'kind':'table','keys':{'zz':0},'else':{'kind':'table',"
                                        "'keys':{'yy':1},'else':{'kind':'range','bounds':['h','q']}}}");

        (void)state;
        assert_int_equal(route_text(policy, "zz"), 0);
        assert_int_equal(route_text(policy, "yy"), 1);
        assert_int_equal(route_text(policy, "z"), 2);
        assert_int_equal(route_text(policy, "a"), 0);
        kr_policy_free(policy);
}

static void test_a_heavy_key_is_spread_by_the_rest_of_the_key(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':12,'map':{'kind':'table','delimiter':'|',"
                                        "'keys':{'big':[9,2,5],'acme':7}}");
        static const int32_t list[] = { 9, 2, 5 };
        unsigned seen[3] = { 0 };

        (void)state;
        for (int i = 0; i < 3000; i++) {
                char rest[16], key[40];
                uint64_t pick;

                snprintf(rest, sizeof(rest), "user-%d", i);
                pick = murmur2(rest) % 3;
                snprintf(key, sizeof(key), "big|%s", rest);
                assert_int_equal(route_text(policy, key), list[pick]);
                seen[pick]++;
                snprintf(key, sizeof(key), "acme|%s", rest);
                assert_int_equal(route_text(policy, key), 7);
                snprintf(key, sizeof(key), "bigger|%s", rest);
                assert_int_equal(route_text(policy, key), (int32_t)(murmur2(key) % 12));
        }
        for (int i = 0; i < 3; i++)
                assert_in_range(seen[i], 900, 1100);
        /* Without a delimiter the whole key is first part, and the rest is the empty key. */
        assert_int_equal(route_text(policy, "big"), list[murmur2("") % 3]);
        assert_int_equal(route_text(policy, "big|"), list[murmur2("") % 3]);
        assert_int_equal(route_text(policy, "big|a|b"), list[murmur2("a|b") % 3]);
        kr_policy_free(policy);
}

static void test_partitions_of_a_prefix(void **state)
{
        kr_policy_t *policy = policy_of("'partitions':12,'map':{'kind':'table','delimiter':'|','keys':{'big':[9,2,5],"
                                        "'acme':7},'else':{'kind':'two-level','delimiter':'|','fanout':4}}");
        kr_policy_t *other = policy_of("'partitions':12,'map':{'kind':'table','delimiter':'|','keys':{'acme':7},"
                                       "'else':{'kind':'two-level','delimiter':'.','fanout':4}}");
        kr_policy_t *whole = policy_of("'partitions':12,'map':{'kind':'table','keys':{'acme|1':7},"
                                       "'else':{'kind':'two-level','delimiter':'|','fanout':4}}");
        int32_t out[12];

        (void)state;
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "big", 3, 12, out, 12), 3);
        assert_memory_equal(out, ((const int32_t[]){ 9, 2, 5 }), 3 * sizeof(*out));
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "big", 3, 12, out, 1), 3);
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "acme", 4, 12, out, 12), 1);
        assert_int_equal(out[0], 7);
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "small", 5, 12, out, 12), 4);
        for (int i = 0; i < 4; i++)
                assert_int_equal(out[i], (int32_t)((murmur2("small") + (uint64_t)i) % 12));
        /* Behind another delimiter, and where whole keys are pinned, keys that begin alike may be anywhere. */
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(other), "small", 5, 12, out, 12), 12);
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(other), "acme", 4, 12, out, 12), 1);
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(whole), "acme", 4, 12, out, 12), 12);
        assert_int_equal(kr_rule_partitions_of_prefix(rule_of(policy), "big", 3, 11, out, 11), KR_ERR_PARTITION_COUNT);
        kr_policy_free(policy);
        kr_policy_free(other);
        kr_policy_free(whole);
}

static void test_keys_from_a_file(void **state)
{
        kr_policy_t *policy = file_load(write_policy(",'keys':{'inline':1},'file':'keys.tsv'",
                                                     "acme\t3\ntab\there\t4\n\t5\ncr\t6\r\n\xff\t7\nlast\t8"));

        (void)state;
        assert_int_equal(route_text(policy, "inline"), 1);
        assert_int_equal(route_text(policy, "acme"), 3);
        assert_int_equal(route_text(policy, "tab\there"), 4);
        assert_int_equal(route_text(policy, ""), 5);
        assert_int_equal(route_text(policy, "cr"), 6);
        assert_int_equal(route_text(policy, "\xff"), 7);
        assert_int_equal(route_text(policy, "last"), 8);
        assert_int_equal(route_text(policy, "tab"), (int32_t)(murmur2("tab") % 12));
        kr_policy_free(policy);
}

static void test_keys_in_hex(void **state)
{
        kr_policy_t *policy = file_load(write_policy(",'key-format':'hex','keys':{'00ff00':1},'file':'keys.tsv'",
                                                     "0A0B\t2\n\t3\n"));

        (void)state;
        assert_int_equal(route(policy, "\0\xff\0", 3), 1);
        assert_int_equal(route(policy, "\x0a\x0b", 2), 2);
        assert_int_equal(route(policy, NULL, 0), 3);
        kr_policy_free(policy);
}

static void test_order_and_place_of_the_rows_do_not_change_the_fingerprint(void **state)
{
        static const struct {
                const char *map, *rows;
        } spellings[] = {
                { ",'delimiter':'|','keys':{'a':1,'b':[2,3],'c':4}", "" },
                { ",'keys':{'c':[4],'a':1,'b':[2,3]},'delimiter':'|','else':{'kind':'modulo'}", "" },
                { ",'delimiter':'|','file':'keys.tsv'", "b\t2,3\na\t1\nc\t4\n" },
                { ",'delimiter':'|','first':1,'keys':{'b':[2,3]},'file':'keys.tsv'", "c\t4\na\t1\n" },
                { ",'delimiter':'|','key-format':'hex','keys':{'61':1,'62':[2,3],'63':4}", "" },
        };
        static const struct {
                const char *map, *rows;
        } others[] = {
                { ",'delimiter':'|','keys':{'a':1,'b':[3,2],'c':4}", "" },
                { ",'delimiter':'|','keys':{'a':1,'b':[2,3],'c':5}", "" },
                { ",'delimiter':'|','keys':{'a':1,'b':[2,3],'d':4}", "" },
                { ",'delimiter':'|','keys':{'a':4,'b':[2,3],'c':1}", "" },
                { ",'delimiter':'.','keys':{'a':1,'b':[2,3],'c':4}", "" },
                { ",'delimiter':'|','first':2,'keys':{'a':1,'b':[2,3],'c':4}", "" },
                { ",'delimiter':'|','keys':{'a':1,'b':[2,3],'c':4},'else':{'kind':'slots'}", "" },
        };
        char print[17];
        kr_policy_t *policy = file_load(write_policy(spellings[0].map, spellings[0].rows));

        (void)state;
        strcpy(print, kr_rule_fingerprint(rule_of(policy)));
        kr_policy_free(policy);
        for (size_t i = 1; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
                policy = file_load(write_policy(spellings[i].map, spellings[i].rows));
                assert_string_equal(kr_rule_fingerprint(rule_of(policy)), print);
                kr_policy_free(policy);
        }
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
                policy = file_load(write_policy(others[i].map, others[i].rows));
                assert_string_not_equal(kr_rule_fingerprint(rule_of(policy)), print);
                kr_policy_free(policy);
        }
}

static size_t name(char *key, size_t size, int32_t i)
{
        return (size_t)snprintf(key, size, "%x", (unsigned)i * 2654435761u);
}

/* All buckets together, the overflowing ones too. */
static void test_many_keys_are_all_found_and_no_others(void **state)
{
        enum { ROWS = 200000 };
        struct kr_table table = { .partition_cnt = 1000 };
        struct kr_table_entry entry;
        size_t at = 0, twice, walked = 0;
        char text[200], key[300];
        const int32_t *list;

        (void)state;
        for (int32_t i = 0; i < ROWS; i++) {
                size_t len = name(key, sizeof(key), i);
                int32_t p = i % 1000;

                assert_null(kr_table_add(&table, (struct kr_bytes){ (unsigned char *)key, len }, &p, 1, text));
        }
        assert_true(kr_table_seal(&table, &twice));
        assert_in_range(kr_table_memory(&table), ROWS * 16, ROWS * 26);
        for (int32_t i = 0; i < 2 * ROWS; i++) {
                size_t len = name(key, sizeof(key), i);
                int32_t found = kr_table_find(&table, (struct kr_bytes){ (unsigned char *)key, len }, &list);

                if (found != (i < ROWS ? i % 1000 : KR_TABLE_NONE))
                        fail_msg("key %d: %d", i, found);
        }
        for (; kr_table_next(&table, &at, &entry); walked++) {
                assert_int_equal(kr_table_find_hash(&table, &entry, &list), entry.target - 1);
                /* Every bit counts: those that choose the bucket, those of the first look, and the others. */
                for (int bit = 0; bit < 64; bit += 9) {
                        struct kr_table_entry other = { entry.high ^ (uint64_t)1 << bit, entry.low, 0 };

                        assert_int_equal(kr_table_find_hash(&table, &other, &list), KR_TABLE_NONE);
                }
                entry.low ^= 1u << walked % 32;
                assert_int_equal(kr_table_find_hash(&table, &entry, &list), KR_TABLE_NONE);
        }
        assert_int_equal(walked, ROWS);
        kr_table_release(&table);
}

/* Beside the hash, the length and the last bytes must agree. */
static void test_what_is_kept_of_a_key(void **state)
{
        static const char *const keys[] = { "", "x", "xyz", "wxyz", "vwxyz", "Vwxyz", "vwxyZ", "zzzzzzzzzzzzzzzzzzwxyz" };
        uint32_t kept[8];

        (void)state;
        for (int i = 0; i < 8; i++)
                kept[i] = (uint32_t)kr_table_hash((struct kr_bytes){ (const unsigned char *)keys[i], strlen(keys[i]) }).high;
        for (int i = 0; i < 8; i++)
                for (int j = 0; j < i; j++)
                        assert_int_equal(kept[i] == kept[j], !strcmp(keys[i], "Vwxyz") && !strcmp(keys[j], "vwxyz"));
}

static void test_compiling_spells_out_what_stands_behind(void **state)
{
        const char *path = write_policy(",'file':'keys.tsv','else':{'kind':'slots','weights':{'0':2,'*':1}}", "a\t1\n");
        struct kr_error err;
        char *text = kr_policy_compile(path, NULL, false, &err);
        kr_policy_t *policy = file_load(path), *compiled;

        (void)state;
        if (!text)
                fail_msg("%s", err.text);
        assert_null(strstr(text, "weights"));
        assert_non_null(strstr(text, "\"file\": \"keys.tsv\""));
        compiled = file_load(file_write("compiled.json", "%s", text));
        assert_string_equal(kr_rule_fingerprint(rule_of(policy)), kr_rule_fingerprint(rule_of(compiled)));
        free(text);
        kr_policy_free(policy);
        kr_policy_free(compiled);
}

static void test_slots_behind_a_table_grow_from_the_current_ones(void **state)
{
        struct kr_error err;
        kr_policy_t *current = policy_of("'partitions':9,'map':{'kind':'table','keys':{'a':1},'else':{'kind':'slots'}}");
        char *text = kr_policy_compile(write_policy(",'keys':{'b':10},'else':{'kind':'slots'}", ""), current, false, &err);
        kr_policy_t *grown;
        unsigned moved = 0;

        (void)state;
        if (!text)
                fail_msg("%s", err.text);
        grown = file_load(file_write("grown.json", "%s", text));
        for (int i = 0; i < 12000; i++) {
                char key[20];
                size_t len = (size_t)snprintf(key, sizeof(key), "k%d", i);

                moved += kr_rule_partition(rule_of(current), key, len, 9) != kr_rule_partition(rule_of(grown), key, len, 12);
        }
        assert_in_range(moved, 2800, 3200); /* a quarter */
        free(text);
        kr_policy_free(current);
        kr_policy_free(grown);
}

static void check_error(const char *map, const char *rows, const char *want)
{
        const char *path = write_policy(map, rows);
        struct kr_error err;
        kr_policy_t *policy = kr_policy_load(path, &err);

        if (policy)
                fail_msg("accepted: %s", map);
        if (!strstr(err.text, want))
                fail_msg("%s\nexpected \"%s\"\ngot      \"%s\"", map, want, err.text);
}

static void test_malformed_tables_are_told_where(void **state)
{
#define FILE_MAP ",'file':'keys.tsv'"
        static const struct {
                const char *map, *rows, *want;
        } cases[] = {
                { "", "", "topics.t.map: expected \"keys\"" },
                { ",'keys':[]", "", "topics.t.map.keys: expected an object" },
                { ",'keys':{'a':12}", "", "topics.t.map.keys.a: partition 12 does not exist; the highest is 11" },
                { ",'keys':{'a':-1}", "", "topics.t.map.keys.a: expected a whole number" },
                { ",'keys':{'a':'1'}", "", "topics.t.map.keys.a: expected a whole number" },
                { ",'keys':{'a':[1,2]}", "", "topics.t.map.keys.a: several partitions for one key need \"delimiter\"" },
                { ",'delimiter':'|','keys':{'a':[]}", "", "topics.t.map.keys.a: a key has 1 to 1024 partitions" },
                { ",'delimiter':'|','keys':{'a':[1,1]}", "", "topics.t.map.keys.a: partition 1 is named twice" },
                { ",'delimiter':'|','keys':{'a':[1,'x']}", "", "topics.t.map.keys.a[1]: expected a whole number" },
                { ",'delimiter':'|','keys':{'a|b':1}", "", "topics.t.map.keys[\"a|b\"]: no key has this first part" },
                { ",'first-bytes':2,'keys':{'abc':1}", "", "topics.t.map.keys.abc: no key has this first part" },
                { ",'delimiter':'','keys':{'a':1}", "", "topics.t.map.delimiter: expected a delimiter of 1 to 16 bytes" },
                { ",'delimiter':'12345678901234567','keys':{'a':1}", "", "topics.t.map.delimiter: expected a delimiter" },
                { ",'first':2,'keys':{'a':1}", "", "topics.t.map: expected \"delimiter\"" },
                { ",'delimiter':'|','first':0,'keys':{'a':1}", "", "topics.t.map.first: expected a whole number from 1 to 100" },
                { ",'delimiter':'|','first-bytes':2,'keys':{'a':1}", "", "topics.t.map.first-bytes: \"first-bytes\" splits without" },
                { ",'first-bytes':0,'keys':{'a':1}", "", "topics.t.map.first-bytes: expected a whole number" },
                { ",'key-format':'base64','keys':{'a':1}", "", "topics.t.map.key-format: expected \"text\" or \"hex\"" },
                { ",'key-format':'hex','keys':{'abc':1}", "", "topics.t.map.keys.abc: expected the key in pairs of hex" },
                { ",'key-format':'hex','keys':{'ab':1,'AB':2}", "", "topics.t.map.keys: a key is there twice" },
                { ",'keys':{'a':1,'a':2}", "", "duplicate object key" },
                { ",'keys':{'a':1},'else':{'kind':'modul'}", "", "topics.t.map.else.kind: no map \"modul\"; did you mean \"modulo\"?" },
                { ",'keys':{'a':1},'else':{'kind':'slots','slots':7}", "", "topics.t.map.else.slots: expected a multiple of 12" },
                { ",'file':'missing.tsv'", "", "missing.tsv: cannot read the keys: No such file" },
                { ",'file':'.'", "", "expected a file with keys, found a directory" },
                { ",'file':''", "", "topics.t.map.file: expected the name of a file" },
                { ",'file':7", "", "topics.t.map.file: expected a string" },
                { FILE_MAP, "a\t1\nb\n", "keys.tsv: line 2: expected a key, a tab, and a partition" },
                { FILE_MAP, "a\t1\n\nb\t2\n", "keys.tsv: line 2: expected a key, a tab" },
                { FILE_MAP, "a\t1\nb\tx\n", "keys.tsv: line 2: expected a key, a tab" },
                { FILE_MAP, "a\t1\nb\t\n", "keys.tsv: line 2: expected a key, a tab" },
                { FILE_MAP, "a\t1\nb\t1,\n", "keys.tsv: line 2: expected a key, a tab" },
                { FILE_MAP, "a\t1 \n", "keys.tsv: line 1: expected a key, a tab" },
                { FILE_MAP, "a\t-1\n", "keys.tsv: line 1: expected a key, a tab" },
                { FILE_MAP, "a\t12\n", "keys.tsv: line 1: partition 12 does not exist; the highest is 11" },
                { FILE_MAP, "a\t99999999999999999999\n", "keys.tsv: line 1: partition 2147483647 does not exist" },
                { FILE_MAP, "a\t1,2\n", "keys.tsv: line 1: several partitions for one key need" },
                { FILE_MAP, "a\t1\nb\t2\na\t1\n", "keys.tsv: line 3: this key is there already" },
                { FILE_MAP ",'keys':{'b':1}", "a\t1\nb\t2\n", "keys.tsv: line 2: this key is there already" },
                { FILE_MAP ",'delimiter':'|'", "a\t1,2,1\n", "keys.tsv: line 1: partition 1 is named twice" },
                { FILE_MAP ",'key-format':'hex'", "0\t1\n", "keys.tsv: line 1: expected the key in pairs of hex digits" },
                { FILE_MAP, "\xef\xbb\xbf" "a\t1\n", "keys.tsv: line 1: the file starts with a byte order mark" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                check_error(cases[i].map, cases[i].rows, cases[i].want);
        assert_non_null(strstr(error_of("'partitions':12,'map':{'kind':'table','file':'keys.tsv'}"),
                               "topics.t.map.file: a relative name needs a policy file"));
        assert_non_null(strstr(error_of("'map':{'kind':'table','keys':{'a':0}}"), "this map names partitions"));
        assert_non_null(strstr(error_of("'partitions':1,'map':{'kind':'table','keys':{},'else':{'kind':'table','keys':{},"
                                        "'else':{'kind':'table','keys':{},'else':{'kind':'table','keys':{},'else':{"
                                        "'kind':'table','keys':{},'else':{'kind':'modulo'}}}}}}"),
                               "maps stand at most 4 deep"));
}

/* Limits that a file would be too large to show. */
static void test_limits(void **state)
{
        struct kr_table table = { .partition_cnt = 2000, .split = &(struct kr_split){ .first_len = 9 } };
        struct kr_bytes key = { (const unsigned char *)"k", 1 };
        int32_t partitions[1025];
        char text[200];

        (void)state;
        for (int32_t i = 0; i < 1025; i++)
                partitions[i] = i;
        assert_string_equal(kr_table_add(&table, key, partitions, 1025, text), "a key has 1 to 1024 partitions");
        assert_null(kr_table_add(&table, key, partitions, 1024, text));
        table.row_cnt = KR_TABLE_ROW_MAX;
        assert_string_equal(kr_table_add(&table, key, partitions, 1, text), "a table has at most 10000000 keys");
        table.row_cnt = 1;
        kr_table_release(&table);
}

static void test_endless_lines_and_long_keys(void **state)
{
        static char line[400000];
        struct kr_error err;

        (void)state;
        memset(line, 'x', sizeof(line) - 1);
        write_policy(FILE_MAP, "");
        file_write("keys.tsv", "a\t1\n%s\t1\n", line);
        assert_null(kr_policy_load(file_write("table.json", "{'keyroute':1,'topics':{'t':{'partitions':12,'map':"
                                              "{'kind':'table','file':'keys.tsv'}}}}"), &err));
        assert_non_null(strstr(err.text, "keys.tsv: line 2: longer than the"));
        check_error(FILE_MAP, line + sizeof(line) - 40000, "keys.tsv: line 1: expected a key, a tab");
        strcpy(line + sizeof(line) - 3, "\t1");
        check_error(FILE_MAP, line + sizeof(line) - 40000, "keys.tsv: line 1: a key of a table has at most 32767 bytes");
        kr_policy_free(file_load(write_policy(FILE_MAP, line + sizeof(line) - 32767 - 3)));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pinned_keys_go_where_they_are_pinned_and_others_as_before),
                cmocka_unit_test(test_else_is_any_other_map),
                cmocka_unit_test(test_a_heavy_key_is_spread_by_the_rest_of_the_key),
                cmocka_unit_test(test_partitions_of_a_prefix),
                cmocka_unit_test(test_keys_from_a_file),
                cmocka_unit_test(test_keys_in_hex),
                cmocka_unit_test(test_order_and_place_of_the_rows_do_not_change_the_fingerprint),
                cmocka_unit_test(test_many_keys_are_all_found_and_no_others),
                cmocka_unit_test(test_what_is_kept_of_a_key),
                cmocka_unit_test(test_compiling_spells_out_what_stands_behind),
                cmocka_unit_test(test_slots_behind_a_table_grow_from_the_current_ones),
                cmocka_unit_test(test_malformed_tables_are_told_where),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_endless_lines_and_long_keys),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
