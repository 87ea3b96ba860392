/* The functions and rules of other stores against what those stores themselves said: every row of two files. */
#include "hash/md5.h"
#include "hash/store.h"
#include "policy/policy.h"
#include "preset/preset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
        const char *file;
        int line;
        char *function, *input, *encoding, *output;
        unsigned char key[256]; /* the input as bytes */
        size_t key_len;
};

#define expect_row(row, ok, ...)                                                                         \
        do {                                                                                             \
                if (!(ok)) {                                                                             \
                        print_error("%s:%d: %s of \"%s\": the file says %s; ", (row)->file, (row)->line, \
                                    (row)->function, (row)->input, (row)->output);                       \
                        print_error(__VA_ARGS__);                                                        \
                        fail();                                                                          \
                }                                                                                        \
        } while (0)

/* ---- reading the file ----------------------------------------------------------------------------------------- */

static size_t from_hex(const char *text, unsigned char *out)
{
        size_t len = 0;
        unsigned byte;

        for (; isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]); text += 2) {
                assert_int_equal(sscanf(text, "%2x", &byte), 1);
                out[len++] = (unsigned char)byte;
        }
        return len;
}

static void put_be(struct row *row, uint64_t value, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++)
                row->key[i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
        row->key_len = bytes;
}

static void put_text(struct row *row, const char *text)
{
        row->key_len = strlen(text);
        assert_true(row->key_len <= sizeof(row->key));
        memcpy(row->key, text, row->key_len);
}

/* "(empty)", "hex:ff80", "note [hex 6162]" or the text as it stands. */
static void read_input(struct row *row)
{
        const char *hex = strstr(row->input, "[hex ");

        if (!strncmp(row->input, "(empty", 6))
                row->key_len = 0;
        else if (!strncmp(row->input, "hex:", 4))
                row->key_len = from_hex(row->input + 4, row->key);
        else if (hex)
                row->key_len = from_hex(hex + 5, row->key);
        else
                put_text(row, row->input);
}

static int64_t number_of(const char *text)
{
        char *end;
        int64_t value = strtoll(text, &end, 10);

        assert_true(end != text);
        return value;
}

/* The number behind a mark in the output. */
static int64_t number_behind(const struct row *row, const char *mark)
{
        const char *at = strstr(row->output, mark);

        expect_row(row, at, "it should hold \"%s\"\n", mark);
        return number_of(at + strlen(mark));
}

static uint64_t value(const struct row *row, const char *hash_name)
{
        const kr_hash_t *hash = kr_hash_find(hash_name);

        assert_non_null(hash);
        return kr_hash_value(hash, row->key, row->key_len);
}

/* What a preset says of the row's key, in its field of that name. */
static int64_t placed(const struct row *row, const char *field, const char *spec_fmt, ...)
{
        struct kr_placement placement;
        kr_preset_t *preset;
        struct kr_error err;
        va_list args;
        char spec[160];
        int64_t got = 0;
        bool found = false;

        va_start(args, spec_fmt);
        vsnprintf(spec, sizeof(spec), spec_fmt, args);
        va_end(args);
        preset = kr_preset_new(spec, NULL, &err);
        expect_row(row, preset, "%s\n", err.text);
        expect_row(row, kr_preset_place(preset, row->key, row->key_len, &placement, &err), "%s\n", err.text);
        for (size_t i = 0; i < placement.field_cnt; i++)
                if (!strcmp(placement.fields[i].name, field)) {
                        got = number_of(placement.fields[i].text);
                        found = true;
                }
        expect_row(row, found, "%s prints no %s\n", spec, field);
        kr_preset_free(preset);
        return got;
}

/* ---- one check a function of the file -------------------------------------------------------------------------- */

/* "0xc5f2f8ec", "int32 -973932308 = 0x...", "uint32 988958145". */
static uint32_t word_of(const struct row *row)
{
        const char *hex = strstr(row->output, "0x");

        return hex ? (uint32_t)strtoul(hex, NULL, 16) : (uint32_t)number_behind(row, "uint32 ");
}

static void expect_word(const struct row *row, uint64_t got)
{
        expect_row(row, got == word_of(row), "got 0x%08" PRIx64 "\n", got);
}

static void expect_number(const struct row *row, int64_t got, int64_t want)
{
        expect_row(row, got == want, "got %" PRId64 " instead of %" PRId64 "\n", got, want);
}

static void check_murmur2(struct row *row)
{
        expect_word(row, value(row, "murmur2-unsigned"));
}

static void check_murmur2_masked(struct row *row)
{
        expect_word(row, value(row, "murmur2"));
}

static void check_kafka_partition(struct row *row)
{
        expect_number(row, (int64_t)(value(row, "murmur2") % (uint64_t)number_of(strstr(row->function, "N=") + 2)),
                      number_behind(row, "partition "));
}

static void check_crc32(struct row *row)
{
        expect_word(row, value(row, "crc32"));
        if (strstr(row->output, "mod 30"))
                expect_number(row, (int64_t)(value(row, "crc32") % 30), number_behind(row, "mod 30 = "));
}

static void check_fnv1a(struct row *row)
{
        expect_word(row, value(row, "fnv1a-unsigned"));
        if (!strstr(row->output, "|h| = "))
                return;
        expect_number(row, (int64_t)value(row, "fnv1a-abs"), strtoll(strstr(row->output, "|h| = ") + 6, NULL, 16));
        expect_number(row, (int64_t)(value(row, "fnv1a-abs") % 12), number_behind(row, "sarama "));
        expect_number(row, (int64_t)(value(row, "fnv1a-masked") % 12), number_behind(row, "reference "));
        expect_number(row, (int64_t)(value(row, "fnv1a-unsigned") % 12), number_behind(row, " unsigned "));
}

static void check_fnv1a_abs(struct row *row)
{
        expect_word(row, value(row, "fnv1a-abs"));
}

static void check_fnv1a_sarama(struct row *row)
{
        expect_number(row, (int64_t)(value(row, "fnv1a-abs") % 16), number_behind(row, "partition "));
        expect_number(row, (int64_t)(value(row, "fnv1a-unsigned") % 16), number_behind(row, "unsigned gives "));
}

static void check_redis(struct row *row)
{
        expect_number(row, placed(row, "slot", "redis-cluster"), number_of(row->output));
}

static void check_kafkajs(struct row *row)
{
        expect_number(row, (int64_t)value(row, "kafkajs-legacy"), kr_sign_mask(word_of(row)));
}

static void check_cassandra(struct row *row)
{
        expect_number(row, (int64_t)(value(row, "cassandra-token") ^ (uint64_t)1 << 63), number_of(row->output));
        expect_number(row, placed(row, "token", "cassandra"), number_of(row->output));
        expect_number(row, placed(row, "token", "scylla:shards=8"), number_of(row->output));
}

/* The file gives tokens, no keys: they go to the map alone, as the hash function would give them. */
static void check_scylla(struct row *row)
{
        struct kr_error err;
        kr_preset_t *preset = kr_preset_new("scylla:shards=8", NULL, &err);
        uint64_t token = (uint64_t)number_of(row->input + strlen("token "));
        const struct kr_map *map = &preset->rule->map;

        expect_number(row, kr_map_partition_of(map, kr_order_signed64(token) << 12, 8),
                      number_of(row->output));
        kr_preset_free(preset);
}

/* "hash; two-step rule: 1 shards -> 0, 2 shards -> 1; plain floorMod: 2 -> 1, 3 -> 0" */
static void check_elasticsearch(struct row *row)
{
        const char *plain = strstr(row->output, "plain floorMod");
        int checked = 0;

        expect_word(row, value(row, "elasticsearch") ^ 0x80000000u);
        expect_number(row, placed(row, "hash", "opensearch:shards=5"), (int32_t)word_of(row));
        for (const char *arrow = row->output; (arrow = strstr(arrow, " -> ")); arrow += 4, checked++) {
                const char *shards = arrow;

                while (!strchr(" ,:", shards[-1]) || !isdigit((unsigned char)*shards))
                        shards--;
                if (arrow > plain)
                        expect_number(row, placed(row, "shard", "elasticsearch-new:shards=%d", atoi(shards)),
                                      number_of(arrow + 4));
                else
                        expect_number(row, placed(row, "shard", "elasticsearch:shards=%d", atoi(shards)),
                                      number_of(arrow + 4));
        }
        assert_int_equal(checked, 11);
}

/* "routing=a, _id=a_0" */
static void read_routing(struct row *row)
{
        const char *id = strstr(row->input, ", _id=");

        assert_non_null(id);
        row->key_len = (size_t)snprintf((char *)row->key, sizeof(row->key), "%.*s:%s",
                                        (int)(id - row->input) - (int)strlen("routing="),
                                        row->input + strlen("routing="), id + strlen(", _id="));
}

static int number_in(const struct row *row, const char *mark)
{
        const char *at = strstr(row->function, mark);

        assert_non_null(at);
        return atoi(at + strlen(mark));
}

static void check_elasticsearch_mod(struct row *row)
{
        int shards = number_in(row, "shard, ");

        expect_number(row, placed(row, "shard", "elasticsearch-new:shards=%d", shards), number_of(row->output));
        expect_number(row, placed(row, "shard", "elasticsearch:shards=%d,routing_shards=%d", shards, shards),
                      number_of(row->output));
}

/* Elasticsearch's own tests give an index no routing shards beyond its shards, where the two rules are one. */
static void check_elasticsearch_partitioned(struct row *row)
{
        int shards = number_in(row, "shard, "), size = number_in(row, "routing_partition_size ");

        read_routing(row);
        expect_number(row, placed(row, "shard", "elasticsearch-new:shards=%d,routing_partition_size=%d", shards, size),
                      number_of(row->output));
        expect_number(row,
                      placed(row, "shard", "elasticsearch:shards=%d,routing_shards=%d,routing_partition_size=%d",
                             shards, shards, size),
                      number_of(row->output));
}

static void check_elasticsearch_two_step(struct row *row)
{
        expect_number(row,
                      placed(row, "shard", "elasticsearch:shards=%d,routing_shards=%d", number_in(row, "shard, "),
                             number_in(row, "shards, ")),
                      number_of(row->output));
}

/* "offset 1; 12 shards -> 9" */
static void check_elasticsearch_offset(struct row *row)
{
        read_routing(row);
        expect_number(row, placed(row, "shard", "opensearch:shards=12,routing_partition_size=4"),
                      number_behind(row, "12 shards -> "));
}

/* "1 with the newer mod rule, 0 with the two-step rule and 1024 routing shards" */
static void check_elasticsearch_change(struct row *row)
{
        expect_number(row, placed(row, "shard", "elasticsearch-new:shards=2"), number_of(row->output));
        expect_number(row, placed(row, "shard", "elasticsearch:shards=2,routing_shards=1024"),
                      number_behind(row, "newer mod rule, "));
}

static int64_t as_int32(uint64_t ordered)
{
        return (int64_t)ordered - 0x80000000ll;
}

/* "...; Citus shard index of 32: 4, of 6: 0" */
static void check_citus(const struct row *row, const char *type)
{
        expect_number(row, placed(row, "shard", "citus:type=%s", type),
                      number_behind(row, "Citus shard index of 32: "));
        expect_number(row, placed(row, "shard", "citus:shards=6,type=%s", type), number_behind(row, ", of 6: "));
        expect_number(row, placed(row, "hash", "citus:type=%s", type), number_of(row->output));
        expect_number(row, placed(row, "hash", "postgres:modulus=4,type=%s", type), number_of(row->output));
}

static void check_hashtext(struct row *row)
{
        const char *mark = "extended seed 0: ";

        expect_number(row, as_int32(value(row, "postgres-text")), number_of(row->output));
        expect_number(row, (int64_t)kr_postgres_bytes_extended(row->key, row->key_len, 0), number_behind(row, mark));
        check_citus(row, "text");
}

static void check_hash_number(struct row *row)
{
        int64_t number = number_of(row->input);
        size_t width = (size_t)(row->function[strlen("pg_hashint")] - '0');

        put_be(row, (uint64_t)number, width);
        expect_number(row, as_int32(value(row, "postgres-number")), number_of(row->output));
        if (strstr(row->output, "Citus"))
                check_citus(row, "number");
}

static void read_uuid(struct row *row)
{
        char digits[33] = "";
        size_t cnt = 0;

        for (const char *c = row->input; *c; c++)
                if (*c != '-' && cnt < 32)
                        digits[cnt++] = *c;
        row->key_len = from_hex(digits, row->key);
        assert_int_equal(row->key_len, 16);
}

static void check_uuid_hash(struct row *row)
{
        read_uuid(row);
        expect_number(row, as_int32(value(row, "postgres-text")), number_of(row->output));
        expect_number(row, placed(row, "hash", "citus:type=uuid"), number_of(row->output));
}

/* "text modulus 4", "int modulus 12", "bigint modulus 6". */
static void check_partition_by_hash(struct row *row)
{
        const char *type = row->function + strlen("pg_partition_by_hash ");
        uint64_t modulus = (uint64_t)number_of(strstr(type, "modulus ") + 8);
        bool is_text = !strncmp(type, "text", 4);

        if (!is_text)
                put_be(row, (uint64_t)number_of(row->input), *type == 'b' ? 8 : 4);
        expect_number(
                row, (int64_t)(value(row, is_text ? "postgres-partition-text" : "postgres-partition-number") % modulus),
                number_behind(row, "remainder "));
        expect_number(
                row,
                placed(row, "remainder", "postgres:modulus=%" PRIu64 ",type=%s", modulus, is_text ? "text" : "number"),
                number_behind(row, "remainder "));
}

static void check_mongodb(struct row *row)
{
        char *space = strchr(row->input, ' ');
        int64_t want = number_of(row->output), got = 0;
        double d;

        assert_non_null(space);
        *space++ = '\0';
        put_text(row, space);
        if (!strcmp(row->input, "number")) {
                d = strtod(space, NULL);
                if (!strpbrk(space, ".e")) {
                        put_be(row, (uint64_t)number_of(space), 8);
                        expect_number(row, (int64_t)(value(row, "mongodb-number") ^ (uint64_t)1 << 63), want);
                        expect_number(row, placed(row, "hash", "mongodb:type=number"), want);
                }
                memcpy(&got, &d, sizeof(d));
                put_be(row, (uint64_t)got, 8);
                got = (int64_t)value(row, "mongodb-double");
                expect_number(row, placed(row, "hash", "mongodb:type=double"), want);
        } else if (!strcmp(row->input, "string")) {
                got = (int64_t)value(row, "mongodb-string");
                expect_number(row, placed(row, "hash", "mongodb"), want);
        } else if (!strcmp(row->input, "oid")) {
                row->key_len = from_hex(space, row->key);
                got = (int64_t)value(row, "mongodb-objectid");
                expect_number(row, placed(row, "hash", "mongodb:type=objectid"), want);
        } else if (!strcmp(row->input, "bindata")) {
                char subtype = *space;

                row->key_len = from_hex(space + 2, row->key);
                assert_true(subtype == '0' || subtype == '4');
                got = (int64_t)value(row, subtype == '4' ? "mongodb-uuid" : "mongodb-binary");
                expect_number(row, placed(row, "hash", subtype == '4' ? "mongodb:type=uuid" : "mongodb:type=binary"),
                              want);
        } else if (!strcmp(row->input, "bool")) {
                row->key[0] = !strcmp(space, "True");
                got = (int64_t)kr_mongodb_value(KR_MONGODB_BOOL, row->key, 1);
        } else {
                assert_string_equal(row->input, "minkey");
                got = (int64_t)kr_mongodb_value(KR_MONGODB_MINKEY, NULL, 0);
        }
        expect_number(row, (int64_t)((uint64_t)got ^ (uint64_t)1 << 63), want);
}

/* Columns lie one behind the other: "5" with "int4", "(1, 2, 'sample string')" with "int4, int4, text". */
static void check_yugabytedb(struct row *row)
{
        const char *c = row->input;
        size_t len = 0;
        float real;
        uint32_t bits;

        if (!strncmp(row->encoding, "smallint", 8)) {
                put_be(row, (uint64_t)number_of(row->input), 2);
        } else if (!strncmp(row->encoding, "real", 4)) {
                real = strtof(row->input, NULL);
                memcpy(&bits, &real, sizeof(bits));
                put_be(row, bits, 4);
        } else if (strncmp(row->encoding, "text", 4)) {
                for (c += *c == '('; *c && *c != ')'; c += strspn(c, ", ")) {
                        unsigned char before[sizeof(row->key)];

                        memcpy(before, row->key, len);
                        if (*c == '\'') {
                                size_t text_len = strcspn(c + 1, "'");

                                memcpy(before + len, c + 1, text_len);
                                len += text_len;
                                c += text_len + 2;
                        } else {
                                put_be(row, (uint64_t)number_of(c), 4);
                                memcpy(before + len, row->key, 4);
                                len += 4;
                                c += strspn(c, "-0123456789");
                        }
                        memcpy(row->key, before, len);
                }
                row->key_len = len;
        }
        expect_number(row, (int64_t)value(row, "yugabytedb"), number_of(row->output));
        expect_number(row, placed(row, "hash_code", "yugabytedb"), number_of(row->output));
}

static void check_couchbase(struct row *row)
{
        char *end;
        int checked = 0;

        /* "256 vBuckets: 9; 1024: 265; 128: 9" */
        for (const char *c = row->output; *c; c = end + strspn(end, "; "), checked++) {
                uint64_t buckets = strtoull(c, &end, 10);
                int64_t want;

                end = strchr(end, ':');
                assert_non_null(end);
                want = strtoll(end + 1, &end, 10);
                expect_number(row, (int64_t)(value(row, "couchbase") % buckets), want);
                expect_number(row, placed(row, "vbucket", "couchbase:vbuckets=%" PRIu64, buckets), want);
        }
        assert_true(checked >= 3);
}

/* "node index 2 when points are named host:port (...); 2 when the default port is left out (...)" */
static void check_ketama(struct row *row)
{
        static const char nodes[] = "10.0.1.1:11211+10.0.1.2:11211+10.0.1.3:11211";

        assert_string_equal(row->function, "ketama, nodes 10.0.1.1/2/3 port 11211, weight 1");
        expect_number(row, placed(row, "index", "ketama:nodes=%s,style=libketama", nodes),
                      number_behind(row, "node index "));
        expect_number(row, placed(row, "index", "ketama:nodes=%s,style=libmemcached", nodes),
                      number_behind(row, "); "));
}

static void check_jump(struct row *row)
{
        put_be(row, strtoull(row->input, NULL, 10), 8);
        expect_number(row, placed(row, "bucket", "jump:buckets=%d", number_in(row, "N=")), number_of(row->output));
}

static void check_pulsar_java(struct row *row)
{
        expect_number(row, (int64_t)value(row, "java-string-hash-masked"), number_of(row->output));
        expect_number(row, placed(row, "partition", "pulsar:partitions=7"), number_of(row->output) % 7);
}

static void check_pulsar_murmur3(struct row *row)
{
        expect_number(row, (int64_t)value(row, "murmur3-masked"), number_of(row->output));
        expect_number(row, placed(row, "partition", "pulsar:partitions=7,hash=Murmur3_32Hash"),
                      number_of(row->output) % 7);
        expect_number(row, kr_sign_mask((uint32_t)value(row, "murmur3-x86-32")), number_of(row->output));
}

static void check_xxhash32(struct row *row)
{
        expect_number(row, (int64_t)value(row, "xxhash32"), strtoll(row->output, NULL, 16));
        expect_number(row, (int64_t)(value(row, "xxhash32") % 12), number_behind(row, "N=12: "));
}

static void check_flink(struct row *row)
{
        const char *text = strchr(row->input, ' ') + 1;
        bool is_string = !strncmp(row->input, "String", 6);

        if (is_string)
                put_text(row, text);
        else
                put_be(row, (uint64_t)number_of(text), *row->input == 'L' ? 8 : 4);
        expect_number(row, (int64_t)value(row, is_string ? "flink-string" : "flink-number"),
                      number_behind(row, "murmurHash "));
        expect_number(row, placed(row, "key_group", "flink:type=%s", is_string ? "text" : "number"),
                      number_behind(row, "key group "));
        expect_number(row, placed(row, "operator", "flink:parallelism=4,type=%s", is_string ? "text" : "number"),
                      number_behind(row, "operator of 4: "));
}

static void check_java_string(struct row *row)
{
        int64_t code = number_of(row->output);

        expect_number(row, (int64_t)value(row, "java-string-hash"), code < 0 ? -code : code);
        expect_number(row, (int64_t)value(row, "java-string-hash-masked"), code & 0x7fffffff);
}

static void check_consumer_offsets(struct row *row)
{
        expect_number(row, placed(row, "partition", "consumer-offsets"), number_of(row->output));
}

/* "281949768489412648962353822266799178366; even split of 4 shards: 3": 39 digits, so they are compared as text. */
static void check_kinesis(struct row *row)
{
        struct kr_placement placement;
        struct kr_error err;
        kr_preset_t *preset = kr_preset_new("kinesis:shards=4", NULL, &err);

        assert_true(kr_preset_place(preset, row->key, row->key_len, &placement, &err));
        assert_string_equal(placement.fields[1].name, "hash_key");
        expect_row(row, !strncmp(row->output, placement.fields[1].text, strcspn(row->output, ";")), "got %s\n",
                   placement.fields[1].text);
        expect_number(row, placement.bucket, number_behind(row, "even split of 4 shards: "));
        kr_preset_free(preset);
}

/* The functions of the file, by their name's beginning. What no product function answers to stands here as well. */
static const struct {
        const char *function;
        void (*check)(struct row *row); /* NULL: not offered */
} checks[] = {
        { "kafka_murmur2 & 0x7fffffff", check_murmur2_masked },
        { "kafka_murmur2", check_murmur2 },
        { "kafka default partitioner", check_kafka_partition },
        { "crc32_ieee", check_crc32 },
        { "fnv1a_32, librdkafka |h|", check_fnv1a_abs },
        { "fnv1a_32, sarama, N=16", check_fnv1a_sarama },
        { "fnv1a_32", check_fnv1a },
        { "kafkajs LegacyPartitioner", check_kafkajs },
        { "cassandra_token", check_cassandra },
        { "elasticsearch_murmur3", check_elasticsearch },
        { "pg_hashtext", check_hashtext },
        { "pg_hashint", check_hash_number },
        { "pg_uuid_hash", check_uuid_hash },
        { "pg_partition_by_hash", check_partition_by_hash },
        { "mongodb_hashed", check_mongodb },
        { "yugabyte_hash16", check_yugabytedb },
        { "couchbase_vbucket", check_couchbase },
        { "pulsar JavaStringHash", check_pulsar_java },
        { "pulsar Murmur3_32Hash", check_pulsar_murmur3 },
        { "flink_key_group", check_flink },
        { "java_String.hashCode", check_java_string },
        { "__consumer_offsets", check_consumer_offsets },
        { "kinesis_md5", check_kinesis },
        { "redis_cluster_slot", check_redis },
        { "scylla_shard (nr_shards=8, ignore_msb=12)", check_scylla },
        { "elasticsearch routing_partition_size=4", check_elasticsearch_offset },
        { "elasticsearch shard, 2 shards", check_elasticsearch_change },
        { "elasticsearch shard, 4 shards, routing_partition_size 3, newer mod rule", check_elasticsearch_partitioned },
        { "elasticsearch shard, 6 shards, routing_partition_size 2", check_elasticsearch_partitioned },
        { "elasticsearch shard, 8 shards, floorMod(hash, 8)", check_elasticsearch_mod },
        { "elasticsearch shard, 12 shards, 768 routing shards", check_elasticsearch_two_step },
        { "ketama, nodes", check_ketama },
        { "jump_consistent_hash N=", check_jump },
        { "rdkafka-ruby partition_key", NULL },
        { "kafka-node KeyedPartitioner", NULL },
        { "pykafka hashing_partitioner", NULL },
        { "xxh32", check_xxhash32 },
        { "erlang:phash2", NULL },
        { "seahash", NULL },
};

enum { CHECK_CNT = sizeof(checks) / sizeof(checks[0]) };

static int check_file(const char *path, int checked[CHECK_CNT])
{
        FILE *file = fopen(path, "r");
        char *line = NULL;
        size_t size = 0;
        int row_cnt = 0;
        ssize_t len;

        assert_non_null(file);
        for (int number = 1; (len = getline(&line, &size, file)) > 0; number++) {
                struct row row = { .file = path, .line = number };
                char *rest = line;
                size_t i = 0;

                line[len - 1] = '\0';
                row.function = strsep(&rest, "\t");
                row.input = strsep(&rest, "\t");
                row.encoding = strsep(&rest, "\t");
                row.output = strsep(&rest, "\t");
                assert_non_null(rest);
                if (number == 1)
                        continue;
                read_input(&row);
                while (i < CHECK_CNT && strncmp(row.function, checks[i].function, strlen(checks[i].function)))
                        i++;
                expect_row(&row, i < CHECK_CNT, "no check is known for this function\n");
                if (checks[i].check)
                        checks[i].check(&row);
                checked[i]++;
                row_cnt++;
        }
        free(line);
        fclose(file);
        return row_cnt;
}

static void test_vectors(void **state)
{
        int checked[CHECK_CNT] = { 0 };

        (void)state;
        assert_true(check_file("interop-tests/vectors/sources/other-hashes.tsv", checked) > 250);
        assert_true(check_file("interop-tests/vectors/sources/store-lengths.tsv", checked) > 190);
        for (size_t i = 0; i < CHECK_CNT; i++) {
                if (!checked[i])
                        print_error("no row is of \"%s\"\n", checks[i].function);
                assert_true(checked[i] > 0);
                if (!checks[i].check)
                        print_message("not offered: %s (%d rows)\n", checks[i].function, checked[i]);
        }
}

/* A double hashes as the whole number that MongoDB cuts it to. */
static void test_mongodb_doubles(void **state)
{
        static const struct {
                double d;
                int64_t number;
        } cases[] = {
                { 0.0, 0 },
                { -0.0, 0 },
                { 1.5, 1 },
                { -1.789, -1 },
                { 1e18, 1000000000000000000 },
                { 0x1p63, INT64_MAX },
                { 1e19, INT64_MAX },
                { 1e300, INT64_MAX },
                { -0x1p63, INT64_MIN },
                { -1e19, INT64_MIN },
                { -1e300, INT64_MIN },
                { (double)INFINITY, INT64_MAX },
                { (double)-INFINITY, INT64_MIN },
                { (double)NAN, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct row as_double = { 0 }, as_number = { 0 };
                uint64_t bits;

                memcpy(&bits, &cases[i].d, sizeof(bits));
                put_be(&as_double, bits, 8);
                put_be(&as_number, (uint64_t)cases[i].number, 8);
                assert_int_equal(value(&as_double, "mongodb-double"), value(&as_number, "mongodb-number"));
        }
}

/* Lengths around the block and the padding, fed in one piece and in pieces; digests are RFC 1321's and md5sum's. */
static void test_md5(void **state)
{
        static const struct {
                const char *text, *digest;
        } cases[] = {
                { "", "d41d8cd98f00b204e9800998ecf8427e" },
                { "abc", "900150983cd24fb0d6963f7d28e17f72" },
                { "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                  "57edf4a22be3c955ac49da2e2107b67a" },
                { "1234567890123456789012345678901234567890123456789012345", "c9ccf168914a1bcfc3229f1948e67da0" },
                { "12345678901234567890123456789012345678901234567890123456", "49f193adce178490e34d1b3a4ec0064c" },
                { "1234567890123456789012345678901234567890123456789012345678901234",
                  "eb6c4179c0a7c82cc2828c1e6338e165" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                unsigned char want[KR_MD5_SIZE], got[KR_MD5_SIZE];
                struct kr_md5 md5;
                size_t len = strlen(cases[i].text);

                assert_int_equal(from_hex(cases[i].digest, want), KR_MD5_SIZE);
                kr_md5(cases[i].text, len, got);
                assert_memory_equal(got, want, KR_MD5_SIZE);
                for (size_t cut = 0; cut <= len; cut++) {
                        kr_md5_init(&md5);
                        kr_md5_update(&md5, cases[i].text, cut);
                        kr_md5_update(&md5, cases[i].text + cut, len - cut);
                        kr_md5_final(&md5, got);
                        assert_memory_equal(got, want, KR_MD5_SIZE);
                }
        }
}

/* No value leaves the width that the table promises, and none depends on where in memory the key lies. */
static void test_width_and_alignment(void **state)
{
        unsigned char buf[80];
        const kr_hash_t *hash;

        (void)state;
        for (size_t h = 0; (hash = kr_hash_at(h)); h++) {
                if (kr_hash_is_client(hash))
                        continue;
                for (size_t len = 0; len <= 64; len++) {
                        uint64_t first = 0;

                        for (size_t shift = 0; shift < 8; shift++) {
                                uint64_t got;

                                for (size_t i = 0; i < len; i++)
                                        buf[shift + i] = (unsigned char)(i * 131 + 7 + len);
                                got = kr_hash_value(hash, len ? buf + shift : NULL, len);
                                if (!shift)
                                        first = got;
                                assert_int_equal(got, first);
                                assert_true(hash->bits == 64 || got >> hash->bits == 0);
                        }
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_mongodb_doubles),
                cmocka_unit_test(test_md5),
                cmocka_unit_test(test_width_and_alignment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
