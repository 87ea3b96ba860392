/* Producers route on their hot path: whatever the map and the key use, a decision asks for no memory. */
#include "count_allocations.h"
#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_routing_allocates_nothing(void **state)
{
        static const char *const maps[] = {
                "{'kind':'modulo'}",
                "{'kind':'slots','weights':{'0':2,'*':1}}",
                "{'kind':'hash-range'}",
                "{'kind':'ring'}",
                "{'kind':'range','bounds':['a','b'],'owners':[0,1,2]}",
                "{'kind':'two-level','delimiter':'|','fanout':8}",
                "{'kind':'table','delimiter':'|','keys':{'k1':[1,2,3],'k2':4},'else':{'kind':'slots'}}",
        };
        size_t before, loading = allocations;

        (void)state;
        for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
                kr_policy_t *policy = policy_of("'partitions':12,'map':%s", maps[m]);
                struct kr_routing routing;
                int32_t out[12];
                int64_t sum = 0;
                char key[40];

                before = allocations;
                for (int i = 0; i < 1000; i++) {
                        size_t len = (size_t)snprintf(key, sizeof(key), "k%d|x%d", i % 10, i);

                        sum += kr_rule_partition(rule_of(policy), key, len, 12);
                        kr_rule_route(rule_of(policy), key, len, 12, &routing);
                        sum -= routing.partition;
                        kr_rule_partitions_of_prefix(rule_of(policy), key, 2, 12, out, 12);
                }
                assert_int_equal(sum, 0);
                assert_int_equal(allocations, before);
                kr_policy_free(policy);
        }
        if (COUNTS)
                assert_true(allocations > loading + 100); /* the counter counts */
}

/* Every key use but json, whose parser allocates; with keys that it takes apart and keys that it cannot. */
static void test_projecting_allocates_nothing(void **state)
{
        static const char record[] = "{'type':'record','name':'K','fields':[{'name':'x','type':['null','long']},"
                                     "{'name':'c','type':{'type':'map','values':'int'}},{'name':'id','type':'string'},"
                                     "{'name':'e','type':{'type':'enum','name':'E','symbols':['A','B']}}]}";
        static const char *const uses[] = {
                "{'use':'field','delimiter':'|','index':[2,0]}",
                "{'use':'field','delimiter':'::','index':-1}",
                "{'use':'tag'}",
                "{'use':'payload'}",
                "{'use':'payload','known-ids':[1,2,3]}",
                "{'use':'windowed'}",
                "{'use':'avro','fields':['id'],'over':'payload','schema':{'inline':%s}}",
                "{'use':'avro','fields':['id','e','x'],'over':'payload','schema':{'inline':%s}}",
                "{'use':'avro','fields':['x'],'as':'java','over':'payload','schema':{'inline':%s},'reader':{'inline':"
                "{'type':'record','name':'K','fields':[{'name':'x','type':'double','default':1}]}}}",
        };
        static const struct { const char *data; size_t len; } keys[] = {
                { "a|b::c|{d}", 10 }, { "", 0 }, { "\0\0\0\0\1\2\4\2\2k\2\0\4me\2", 16 }, { "\0\0\0\0\1\0\0\x04me", 10 },
                { "twelve bytes", 12 },
        };
        bool projected = false, missing = false;

        (void)state;
        for (size_t u = 0; u < sizeof(uses) / sizeof(uses[0]); u++) {
                char use[1024];
                kr_policy_t *policy;
                size_t before;

                snprintf(use, sizeof(use), uses[u], record);
                policy = policy_of("'key':%s", use);
                before = allocations;
                for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
                        struct kr_routing routing;

                        kr_rule_route(rule_of(policy), keys[k].data, keys[k].len, 12, &routing);
                        projected |= routing.outcome == KR_KEY_PROJECTED;
                        missing |= routing.outcome == KR_KEY_MISSING;
                        if (kr_rule_partition(rule_of(policy), keys[k].data, keys[k].len, 12) != routing.partition)
                                fail();
                }
                assert_int_equal(allocations, before);
                kr_policy_free(policy);
        }
        assert_true(projected && missing);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_routing_allocates_nothing),
                                            cmocka_unit_test(test_projecting_allocates_nothing) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
