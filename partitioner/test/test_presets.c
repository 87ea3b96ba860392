/* Presets beyond the vectors: their maps against the stores' formulas written out, their place in policies, their
 * errors. */
#include "hash/load.h"
#include "hash/md5.h"
#include "hash/store.h"
#include "policies.h"
#include "preset/preset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static kr_preset_t *preset_of(const char *fmt, ...)
{
        struct kr_error err;
        kr_preset_t *preset;
        char spec[400];
        va_list args;

        va_start(args, fmt);
        vsnprintf(spec, sizeof(spec), fmt, args);
        va_end(args);
        preset = kr_preset_new(spec, NULL, &err);
        if (!preset)
                print_error("%s: %s\n", spec, err.text);
        assert_non_null(preset);
        return preset;
}

/* What the preset's map makes of a hash value. */
static int32_t bucket_of(const kr_preset_t *preset, uint64_t value)
{
        const struct kr_map *map = &preset->rule->map;

        return kr_map_partition_of(map, value, preset->bucket_cnt);
}

/* A fixed sequence that covers the 64 bits. */
static uint64_t next_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

static int64_t floor_mod(int64_t a, int64_t n)
{
        return (a % n + n) % n;
}

static void test_elasticsearch(void **state)
{
        static const int64_t shard_cnts[] = { 1, 2, 3, 5, 6, 7, 8, 12, 100, 511, 512, 513, 1000, 1024, 1025 };
        static const int64_t routing[] = { 2048 - 1024, 1024, 768,  640,  768,  896,  1024, 768,
                                           800,         1022, 1024, 1026, 2000, 2048, 2050 };
        static const int32_t edges[] = { INT32_MIN, INT32_MIN + 1, -1025, -1024, -1, 0, 1, 1023, INT32_MAX };
        uint64_t seed = 1;

        (void)state;
        for (size_t c = 0; c < sizeof(shard_cnts) / sizeof(shard_cnts[0]); c++) {
                int64_t shards = shard_cnts[c], factor = routing[c] / shards;
                kr_preset_t *two_step = preset_of("elasticsearch:shards=%" PRId64, shards);
                kr_preset_t *given =
                        preset_of("opensearch:shards=%" PRId64 ",routing_shards=%" PRId64, shards, 3 * shards);
                kr_preset_t *plain = preset_of("elasticsearch-new:shards=%" PRId64, shards);

                for (size_t i = 0; i < 2000; i++) {
                        int32_t h = i < 9 ? edges[i] : (int32_t)(uint32_t)next_random(&seed);
                        uint64_t value = kr_order_signed32((uint32_t)h);

                        assert_int_equal(bucket_of(two_step, value), floor_mod(h, routing[c]) / factor);
                        assert_int_equal(bucket_of(given, value), floor_mod(h, 3 * shards) / 3);
                        assert_int_equal(bucket_of(plain, value), floor_mod(h, shards));
                }
                kr_preset_free(two_step);
                kr_preset_free(given);
                kr_preset_free(plain);
        }
}

/* Checks a cut of the range against the store's own way to the stretch, at random values and on both sides of each
 * start. */
static void check_cut(const kr_preset_t *preset, uint64_t mask, int64_t (*formula)(uint64_t value, int64_t cnt))
{
        uint64_t seed = (uint64_t)preset->bucket_cnt, low = 0, high;

        for (size_t i = 0; i < 2000; i++) {
                uint64_t value = next_random(&seed) & mask;

                assert_int_equal(bucket_of(preset, value), formula(value, preset->bucket_cnt));
        }
        assert_int_equal(bucket_of(preset, 0), 0);
        assert_int_equal(bucket_of(preset, mask), preset->bucket_cnt - 1);
        /* Find where the formula steps, and see that the map steps there too. */
        for (int64_t b = 1; b < preset->bucket_cnt; b++) {
                high = mask;
                while (low < high) {
                        uint64_t middle = low + (high - low) / 2;

                        if (formula(middle, preset->bucket_cnt) >= b)
                                high = middle;
                        else
                                low = middle + 1;
                }
                assert_int_equal(bucket_of(preset, low), b);
                assert_int_equal(bucket_of(preset, low - 1), b - 1);
        }
}

static int64_t citus_formula(uint64_t value, int64_t cnt)
{
        int64_t shard = (int64_t)value / ((INT64_C(1) << 32) / cnt);

        return shard < cnt ? shard : cnt - 1;
}

static int64_t yugabytedb_formula(uint64_t value, int64_t cnt)
{
        int64_t tablet = 0;

        while (tablet + 1 < cnt && (tablet + 1) * 65536 / cnt <= (int64_t)value)
                tablet++;
        return tablet;
}

static int64_t scylla_formula(uint64_t value, int64_t cnt)
{
        return (int64_t)((u128)value * (u128)cnt >> 64);
}

/* Split points made in the order in which MongoDB makes them; a chunk is as many of them as lie at or below the hash.
 */
static int64_t mongodb_formula(uint64_t value, int64_t cnt)
{
        int64_t hash = (int64_t)kr_order_signed64(value), chunk = 0, width, current;

        if (cnt == 1)
                return 0;
        width = INT64_MAX / cnt * 2;
        current = width / 2;
        if (cnt % 2 == 0) {
                chunk += hash >= 0;
                current = width;
        }
        for (int64_t i = 0; i < (cnt - 1) / 2; i++) {
                chunk += hash >= current;
                chunk += hash >= -current;
                current += width;
        }
        return chunk;
}

static void test_cuts(void **state)
{
        static const struct {
                const char *spec;
                uint64_t mask;
                int64_t (*formula)(uint64_t value, int64_t cnt);
        } cuts[] = {
                { "citus:shards=%d", UINT32_MAX, citus_formula },
                { "yugabytedb:tablets=%d", 65535, yugabytedb_formula },
                { "scylla:shards=%d", UINT64_MAX, scylla_formula },
                { "scylla:ignore_msb=0,shards=%d", UINT64_MAX, scylla_formula },
                { "mongodb:chunks=%d", UINT64_MAX, mongodb_formula },
        };
        static const int cnts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32, 100, 257 };

        (void)state;
        for (size_t c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++)
                for (size_t n = 0; n < sizeof(cnts) / sizeof(cnts[0]); n++) {
                        char spec[60];
                        kr_preset_t *preset;

                        snprintf(spec, sizeof(spec), cuts[c].spec, cnts[n]);
                        preset = preset_of("%s", spec);
                        check_cut(preset, cuts[c].mask, cuts[c].formula);
                        kr_preset_free(preset);
                }
}

static void test_kinesis(void **state)
{
        (void)state;
        for (int cnt = 1; cnt <= 40; cnt++) {
                kr_preset_t *preset = preset_of("kinesis:shards=%d", cnt);
                u128 width = ~(u128)0 / (u128)cnt + (~(u128)0 % (u128)cnt == (u128)cnt - 1);

                for (int i = 0; i < 500; i++) {
                        unsigned char digest[KR_MD5_SIZE];
                        struct kr_placement placement;
                        struct kr_error err;
                        u128 value;
                        int want;

                        assert_true(kr_preset_place(preset, &i, sizeof(i), &placement, &err));
                        kr_md5(&i, sizeof(i), digest);
                        value = (u128)kr_load_be(digest, 8) << 64 | kr_load_be(digest + 8, 8);
                        /* One shard is as wide as 128 bits cannot say. */
                        want = cnt == 1 ? 0 : (int)(value / width);
                        assert_int_equal(placement.bucket, want < cnt ? want : cnt - 1);
                }
                kr_preset_free(preset);
        }
}

/* Between two shards the upper half of the hash key decides: the one that a start lies in belongs to the shard before.
 */
static void test_kinesis_starts(void **state)
{
        kr_preset_t *preset = preset_of("kinesis:shards=3"), *even = preset_of("kinesis:shards=4");

        (void)state;
        assert_int_equal(bucket_of(preset, 0x5555555555555555), 0);
        assert_int_equal(bucket_of(preset, 0x5555555555555556), 1);
        assert_int_equal(bucket_of(preset, 0xaaaaaaaaaaaaaaaa), 1);
        assert_int_equal(bucket_of(preset, 0xaaaaaaaaaaaaaaab), 2);
        assert_int_equal(bucket_of(even, 0x3fffffffffffffff), 0);
        assert_int_equal(bucket_of(even, 0x4000000000000000), 1);
        kr_preset_free(preset);
        kr_preset_free(even);
}

enum { NODE_CNT = 4, POINT_CNT = NODE_CNT * 160 };

struct point {
        uint32_t place;
        int32_t node;
};

static void make_points(const char *const *nodes, struct point *points)
{
        for (int32_t n = 0; n < NODE_CNT; n++)
                for (int i = 0; i < 40; i++) {
                        unsigned char digest[KR_MD5_SIZE];
                        char name[80];

                        snprintf(name, sizeof(name), "%s-%d", nodes[n], i);
                        kr_md5(name, strlen(name), digest);
                        for (size_t w = 0; w < 4; w++)
                                *points++ = (struct point){ kr_load_le32(digest + 4 * w), n };
                }
}

/* The nearest of all points, looked for one by one. */
static int32_t nearest(const struct point *points, const char *key)
{
        uint32_t h = (uint32_t)kr_ketama(key, strlen(key));
        const struct point *best = points;

        for (size_t i = 1; i < POINT_CNT; i++)
                if (points[i].place - h < best->place - h)
                        best = &points[i];
        return best->node;
}

static void test_ketama(void **state)
{
        static const char *const full[] = { "cache-a:11211", "cache-b:11211", "10.1.2.3:11212", "[::1]:11213" };
        static const char *const short_names[] = { "cache-a", "cache-b", "10.1.2.3:11212", "[::1]:11213" };
        static const char *const styles[] = { "libketama", "libmemcached" };

        (void)state;
        for (size_t s = 0; s < 2; s++) {
                const char *const *names = s ? short_names : full;
                struct point points[POINT_CNT];
                kr_preset_t *preset =
                        preset_of("ketama:style=%s,nodes=%s+%s+%s+%s", styles[s], full[0], full[1], full[2], full[3]);

                make_points(names, points);
                for (int i = 0; i < 20000; i++) {
                        struct kr_placement placement;
                        struct kr_error err;
                        char key[40];

                        /* The first keys are names of points, and so lie on them. */
                        if (i < NODE_CNT * 40)
                                snprintf(key, sizeof(key), "%s-%d", names[i / 40], i % 40);
                        else
                                snprintf(key, sizeof(key), "key-%d", i);
                        assert_true(kr_preset_place(preset, key, strlen(key), &placement, &err));
                        assert_int_equal(placement.bucket, nearest(points, key));
                        assert_string_equal(placement.fields[0].text, full[placement.bucket]);
                }
                kr_preset_free(preset);
        }
}

static kr_policy_t *try_policy(const char *rule, struct kr_error *err)
{
        char text[1200];

        snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"t\":%s}}", rule);
        return kr_policy_parse(text, strlen(text), "p.json", err);
}

static const kr_rule_t *load_rule(const char *rule, kr_policy_t **policy)
{
        struct kr_error err;

        *policy = try_policy(rule, &err);
        if (!*policy)
                print_error("%s\n", err.text);
        assert_non_null(*policy);
        return kr_policy_rule(*policy, "t");
}

/* redis-cli --cluster create prints these ends for 3 and 7 masters. */
static void test_redis_masters(void **state)
{
        static const int32_t last_of_3[] = { 5460, 10922, 16383 };
        static const int32_t last_of_7[] = { 2340, 4680, 7021, 9361, 11702, 14042, 16383 };
        static const struct {
                int cnt;
                const int32_t *last;
        } layouts[] = { { 3, last_of_3 }, { 7, last_of_7 } };

        (void)state;
        for (size_t l = 0; l < 2; l++) {
                kr_policy_t *policy;
                const kr_rule_t *rule;
                const struct kr_map *map;
                char text[80];

                snprintf(text, sizeof(text), "{\"preset\":\"redis-cluster\",\"partitions\":%d}", layouts[l].cnt);
                rule = load_rule(text, &policy);
                map = &rule->map;
                for (int32_t slot = 0, master = 0; slot < 16384; slot++) {
                        master += slot > layouts[l].last[master];
                        assert_int_equal(kr_map_partition_of(map, (uint64_t)slot, layouts[l].cnt), master);
                }
                kr_policy_free(policy);
        }
}

/* A preset in a policy is its expansion: the same fingerprint, and the bucket that route --preset prints. */
static void test_policies(void **state)
{
        static const struct {
                const char *rule, *same, *spec;
        } cases[] = {
                { "{\"preset\":\"elasticsearch-new:shards=2\"}",
                  "{\"partitions\":2,\"hash\":\"elasticsearch\",\"map\":{\"kind\":\"slots\",\"slots\":2,\"owners\":[0,"
                  "1]}}",
                  "elasticsearch-new:shards=2" },
                { "{\"preset\":\"elasticsearch:shards=5\",\"partitions\":5}", NULL, "elasticsearch:shards=5" },
                { "{\"preset\":\"redis-cluster\"}",
                  "{\"partitions\":16384,\"key\":{\"use\":\"tag\"},\"hash\":\"crc16\"}", "redis-cluster" },
                { "{\"preset\":\"couchbase:vbuckets=64\",\"locations\":{\"0-63\":\"x\"}}",
                  "{\"partitions\":64,\"hash\":\"couchbase\",\"map\":{\"kind\":\"modulo\"}}", "couchbase:vbuckets=64" },
                { "{\"preset\":\"citus:shards=4,type=text\"}",
                  "{\"partitions\":4,\"hash\":\"postgres-text\",\"map\":{\"kind\":\"hash-range\",\"bounds\":"
                  "[1073741824,2147483648,3221225472],\"owners\":[0,1,2,3]}}",
                  "citus:shards=4" },
                { "{\"preset\":\"smartclient\"}", "{\"partitions\":30,\"hash\":\"crc32\"}", "smartclient" },
                { "{\"preset\":\"scylla:shards=12\"}", NULL, "scylla:shards=12" },
                { "{\"preset\":\"kinesis:shards=3\"}", NULL, "kinesis:shards=3" },
                { "{\"preset\":\"mongodb:chunks=6\"}", NULL, "mongodb:chunks=6" },
                { "{\"preset\":\"yugabytedb:tablets=24\"}", NULL, "yugabytedb:tablets=24" },
                { "{\"preset\":\"postgres:modulus=6\"}", "{\"partitions\":6,\"hash\":\"postgres-partition-text\"}",
                  "postgres:modulus=6" },
                { "{\"preset\":\"pulsar:partitions=6\"}", "{\"partitions\":6,\"hash\":\"java-string-hash-masked\"}",
                  "pulsar:partitions=6" },
                { "{\"preset\":\"pinot:partitions=6\"}", "{\"partitions\":6}", "pinot:partitions=6" },
                { "{\"preset\":\"flink\"}", "{\"partitions\":128,\"hash\":\"flink-string\"}", "flink" },
                { "{\"preset\":\"ketama:style=libketama,nodes=a:1+b:1*2+c:1\"}", NULL,
                  "ketama:style=libketama,nodes=a:1+b:1*2+c:1" },
        };

        (void)state;
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                kr_preset_t *preset = preset_of("%s", cases[c].spec);
                kr_policy_t *policy, *plain = NULL;
                const kr_rule_t *rule = load_rule(cases[c].rule, &policy);

                assert_int_equal(kr_rule_partitions(rule), kr_preset_buckets(preset));
                if (cases[c].same)
                        assert_string_equal(kr_rule_fingerprint(rule),
                                            kr_rule_fingerprint(load_rule(cases[c].same, &plain)));
                for (int i = 0; i < 1000; i++) {
                        struct kr_placement placement;
                        struct kr_error err;
                        char key[40];

                        snprintf(key, sizeof(key), i % 2 ? "order-%d" : "{u%d}\xc3\xa9\xf0\x9f\x98\x80", i);
                        assert_true(kr_preset_place(preset, key, strlen(key), &placement, &err));
                        assert_int_equal(kr_rule_partition(rule, key, strlen(key), kr_rule_partitions(rule)),
                                         placement.bucket);
                }
                kr_policy_free(plain);
                kr_policy_free(policy);
                kr_preset_free(preset);
        }
}

/* Where a store leaves the layout to people, a policy gives it: buckets or stretches of the ring to partitions. */
static void test_own_maps(void **state)
{
        kr_policy_t *policy;
        const kr_rule_t *rule =
                load_rule("{\"preset\":\"redis-cluster\",\"partitions\":2,\"map\":{\"kind\":\"slots\",\"slots\":16384,"
                          "\"runs\":[[1,12182],[0,1],[1,4201]]}}",
                          &policy);

        (void)state;
        assert_int_equal(kr_rule_partition(rule, "foo", 3, 2), 0);
        assert_int_equal(kr_rule_partition(rule, "a{foo}b", 7, 2), 0);
        assert_int_equal(kr_rule_partition(rule, "bar", 3, 2), 1);
        kr_policy_free(policy);
        /* Flink's operators own equal stretches of the key groups: "order-42" is in group 45 of 128, operator 1 of 4.
         */
        rule = load_rule("{\"preset\":\"flink\",\"partitions\":4}", &policy);
        assert_int_equal(kr_rule_partition(rule, "order-42", 8, 4), 1);
        kr_policy_free(policy);
        /* A ring of two nodes: tokens up to 0 belong to the first, those above to the second. */
        rule = load_rule("{\"preset\":\"cassandra\",\"partitions\":2,\"key\":{\"use\":\"field\",\"index\":0,"
                         "\"delimiter\":\"/\"},\"map\":{\"kind\":\"hash-range\",\"bounds\":[\"0x8000000000000001\"]}}",
                         &policy);
        assert_int_equal(kr_rule_partition(rule, "a/x", 3, 2), 0);        /* token of a: -8839064797231613815 */
        assert_int_equal(kr_rule_partition(rule, "\xc3\xa9/x", 4, 2), 1); /* of é: 5461403030378599040 */
        kr_policy_free(policy);
}

/* A compiled policy names no preset: its reader needs a hash, a modulus and an array. */
static void test_compiled(void **state)
{
        static const char policy_text[] =
                "{\"keyroute\":1,\"topics\":{\"a\":{\"preset\":\"redis-cluster\",\"partitions\":3,\"comment\":\"kept\"}"
                ","
                "\"b\":{\"preset\":\"elasticsearch:shards=5\",\"locations\":{\"0\":\"x\"}},"
                "\"c\":{\"preset\":\"couchbase\",\"partitions\":2,\"map\":{\"kind\":\"slots\",\"slots\":1024}},"
                "\"d\":{\"preset\":\"smartclient\"},\"e\":{}}}";
        const char *path = file_write("presets.json", "%s", policy_text);

        (void)state;
        for (int expand = 0; expand < 2; expand++) {
                struct kr_error err = { "" };
                char *text = kr_policy_compile(path, NULL, expand, &err);
                kr_policy_t *policy = file_load(path), *compiled;

                assert_string_equal(err.text, "");
                assert_null(strstr(text, "preset\""));
                assert_non_null(strstr(text, "kept"));
                compiled = file_load(file_write("compiled.json", "%s", text));
                for (size_t i = 0; i < 5; i++)
                        assert_string_equal(kr_rule_fingerprint(kr_policy_rule_at(policy, i)),
                                            kr_rule_fingerprint(kr_policy_rule_at(compiled, i)));
                assert_string_equal(kr_rule_location(kr_policy_rule(compiled, "b"), 0), "x");
                kr_policy_free(compiled);
                kr_policy_free(policy);
                free(text);
        }
}

static void test_policy_errors(void **state)
{
        static const struct {
                const char *rule, *error;
        } cases[] = {
                { "{\"preset\":7}", "p.json: topics.t.preset: expected a string" },
                { "{\"preset\":\"redis\"}",
                  "p.json: topics.t.preset: no preset \"redis\"; did you mean \"redis-cluster\"?" },
                { "{\"preset\":\"dynamodb\",\"partitions\":3}", "p.json: topics.t.preset: preset dynamodb: DynamoDB "
                                                                "does not publish how it hashes partition keys, so "
                                                                "nothing outside it can tell where one goes" },
                { "{\"preset\":\"redis-cluster\",\"hash\":\"crc16\"}",
                  "p.json: topics.t.hash: the preset \"redis-cluster\" says this: leave one of the two out" },
                { "{\"preset\":\"redis-cluster\",\"key\":{\"use\":\"bytes\"}}",
                  "p.json: topics.t.key: the preset \"redis-cluster\" says this: leave one of the two out" },
                { "{\"preset\":\"redis-cluster\",\"partitions\":20000}",
                  "p.json: topics.t.preset: preset redis-cluster: expected a partition for each of 16384 slots, or for "
                  "each of "
                  "at most 1000 masters" },
                { "{\"preset\":\"elasticsearch:shards=8\",\"partitions\":6}",
                  "p.json: topics.t.preset: preset elasticsearch: it has 8 buckets and the topic 6 partitions: make "
                  "them "
                  "equal" },
                { "{\"preset\":\"elasticsearch:shards=8\",\"map\":{\"kind\":\"modulo\"}}",
                  "p.json: topics.t.preset: preset elasticsearch: it brings its own map: leave \"map\" out" },
                { "{\"preset\":\"elasticsearch:shards=8,routing_partition_size=2\"}",
                  "p.json: topics.t.preset: preset elasticsearch: a policy routes by one key, and this rule needs the "
                  "routing and the _id" },
                { "{\"preset\":\"cassandra\",\"partitions\":3}",
                  "p.json: topics.t.preset: preset cassandra: it gives places on a ring: say by a \"map\" of kind "
                  "hash-range who owns which stretch" },
                { "{\"preset\":\"jump:buckets=3\"}", "p.json: topics.t.preset: preset jump: no policy can say this "
                                                     "rule; it is for repartition route alone" },
                { "{\"preset\":\"flink\",\"partitions\":200}",
                  "p.json: topics.t.preset: preset flink: it has 128 buckets and the topic 200 partitions: make them "
                  "equal, or give a \"map\" from buckets to partitions" },
                { "{\"preset\":\"smartclient\",\"partitions\":0}",
                  "p.json: topics.t.partitions: expected a whole number from 1 to 1000000" },
                { "{\"preset\":\"smartclient\",\"mapp\":{}}",
                  "p.json: topics.t: unknown field \"mapp\"; did you mean \"map\"?" },
        };

        (void)state;
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                struct kr_error err = { "" };
                kr_policy_t *policy = try_policy(cases[c].rule, &err);

                if (policy || strncmp(err.text, cases[c].error, strlen(cases[c].error)))
                        print_error("%s\n  gives %s\n  not   %s\n", cases[c].rule, err.text, cases[c].error);
                assert_null(policy);
                assert_int_equal(strncmp(err.text, cases[c].error, strlen(cases[c].error)), 0);
        }
}

static void test_spec_errors(void **state)
{
        static const struct {
                const char *spec, *error;
        } cases[] = {
                { "", "no preset \"\"; repartition route --list-presets lists them" },
                { "casandra", "no preset \"casandra\"; did you mean \"cassandra\"?" },
                { "rendezvous",
                  "preset rendezvous: rendezvous hashing names neither the hash nor how key and node go into "
                  "it, so two programs that use it need not agree" },
                { "cassandra:x=1", "preset cassandra: it takes no parameters, found \"x\"" },
                { "couchbase:", "preset couchbase: expected PARAM=VALUE, found \"\"" },
                { "couchbase:vbuckets", "preset couchbase: expected PARAM=VALUE, found \"vbuckets\"" },
                { "couchbase:vbucket=64", "preset couchbase: no parameter \"vbucket\"; did you mean \"vbuckets\"?" },
                { "couchbase:vbuckets=64,vbuckets=64", "preset couchbase: vbuckets is given twice" },
                { "couchbase:vbuckets=",
                  "preset couchbase: vbuckets: expected a whole number from 1 to 32768, found \"\"" },
                { "couchbase:vbuckets=-1",
                  "preset couchbase: vbuckets: expected a whole number from 1 to 32768, found \"-1\"" },
                { "couchbase:vbuckets=99999999999999999999", "preset couchbase: vbuckets: expected a whole number from "
                                                             "1 to 32768, found \"99999999999999999999\"" },
                { "couchbase:vbuckets=100", "preset couchbase: vbuckets: expected a power of two, found 100" },
                { "elasticsearch", "preset elasticsearch: shards is missing (index.number_of_shards): "
                                   "elasticsearch:shards=..." },
                { "elasticsearch:shards=6,routing_shards=1024",
                  "preset elasticsearch: routing_shards: expected a multiple of shards, 6" },
                { "elasticsearch:shards=6,routing_partition_size=6",
                  "preset elasticsearch: routing_partition_size: expected fewer than shards, 6" },
                { "elasticsearch:shards=6,separator=",
                  "preset elasticsearch: separator: expected a character or more" },
                { "elasticsearch-new:shards=6,routing_shards=12",
                  "preset elasticsearch-new: no parameter \"routing_shards\"; expected one such as \"shards\"" },
                { "citus:type=bigint", "preset citus: type: expected one of text, number, uuid, found \"bigint\"" },
                { "flink:parallelism=129", "preset flink: parallelism: expected at most max_parallelism, 128" },
                { "ketama:style=libketama,nodes=a", "preset ketama: nodes: expected HOST:PORT, found \"a\"" },
                { "ketama:style=libketama,nodes=a:1+", "preset ketama: nodes: expected HOST:PORT, found \"\"" },
                { "ketama:style=libketama,nodes=a:1*0",
                  "preset ketama: nodes: a:1: expected a weight from 1 to 100000, found \"0\"" },
                { "ketama:style=libketama,nodes=a:1*x",
                  "preset ketama: nodes: a:1: expected a weight from 1 to 100000, found \"x\"" },
                { "ketama:nodes=a:1", "preset ketama: style is missing (who names the points: libmemcached (no default "
                                      "port) or libketama): ketama:style=..." },
                { "jump:buckets=3,hash=md4",
                  "preset jump: hash: no hash \"md4\"; repartition route --list-hashes lists them" },
        };

        (void)state;
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                struct kr_error err = { "" };

                assert_null(kr_preset_new(cases[c].spec, NULL, &err));
                assert_string_equal(err.text, cases[c].error);
        }
}

/* A key that is not of the type said is refused, for the hash functions themselves cannot. */
static void test_key_errors(void **state)
{
        static const struct {
                const char *spec, *key, *error;
        } cases[] = {
                { "citus:type=number", "abc",
                  "preset citus: a key of type number has 1, 2, 4 or 8 bytes, big-endian; this one has 3" },
                { "mongodb:type=objectid", "abc",
                  "preset mongodb: a key of type objectid has 12 bytes; this one has 3" },
                { "mongodb:type=double", "abcd",
                  "preset mongodb: a key of type double has 8 bytes, IEEE 754 big-endian; this one has 4" },
                { "postgres:modulus=2,type=uuid", "",
                  "preset postgres: a key of type uuid has 16 bytes; this one has 0" },
                { "jump:buckets=2", "abc",
                  "preset jump: expected a key of 8 bytes, a big-endian number (--key-format "
                  "int64), or hash=NAME for other keys" },
                { "elasticsearch:shards=4,routing_partition_size=2", "abc",
                  "preset elasticsearch: with routing_partition_size a key is ROUTING:_ID; this one has no \":\"" },
        };

        (void)state;
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                kr_preset_t *preset = preset_of("%s", cases[c].spec);
                struct kr_placement placement;
                struct kr_error err = { "" };

                assert_false(kr_preset_place(preset, cases[c].key, strlen(cases[c].key), &placement, &err));
                assert_string_equal(err.text, cases[c].error);
                kr_preset_free(preset);
        }
}

/* The list is in order, every row says what it is, and every parameter has at most one kind of value. */
static void test_list(void **state)
{
        const struct kr_preset_info *info, *last = NULL;

        (void)state;
        for (size_t i = 0; (info = kr_preset_info_at(i)); last = info, i++) {
                size_t cnt = 0;

                assert_true(!last || strcmp(last->name, info->name) < 0);
                assert_true(*info->store && *info->prints && *info->source);
                for (; info->params[cnt].name; cnt++)
                        assert_false(info->params[cnt].choices && info->params[cnt].max);
                assert_true(cnt <= KR_PRESET_PARAM_MAX);
        }
        assert_non_null(last);
}

/* The key's form settles `type` where the spec does not, and only where the preset has that word. */
static void test_type_from_key(void **state)
{
        struct kr_error err;
        kr_preset_t *preset = kr_preset_new("citus", "number", &err);

        (void)state;
        assert_string_equal(kr_preset_type(preset), "number");
        kr_preset_free(preset);
        preset = kr_preset_new("citus:type=text", "number", &err);
        assert_string_equal(kr_preset_type(preset), "text");
        kr_preset_free(preset);
        preset = kr_preset_new("flink", "uuid", &err);
        assert_string_equal(kr_preset_type(preset), "text");
        kr_preset_free(preset);
        preset = kr_preset_new("redis-cluster", "number", &err);
        assert_null(kr_preset_type(preset));
        kr_preset_free(preset);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_elasticsearch), cmocka_unit_test(test_cuts),
                cmocka_unit_test(test_kinesis),       cmocka_unit_test(test_kinesis_starts),
                cmocka_unit_test(test_ketama),        cmocka_unit_test(test_redis_masters),
                cmocka_unit_test(test_policies),      cmocka_unit_test(test_own_maps),
                cmocka_unit_test(test_policy_errors), cmocka_unit_test(test_compiled),
                cmocka_unit_test(test_spec_errors),   cmocka_unit_test(test_key_errors),
                cmocka_unit_test(test_list),          cmocka_unit_test(test_type_from_key),
        };

        return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
