/* The functions and rules of other stores against what those stores themselves said: every row of other-hashes.tsv. */
#include "hash/md5.h"
#include "hash/store.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS "interop-tests/vectors/sources/other-hashes.tsv"

struct row {
        int line;
        char *function, *input, *encoding, *output;
        unsigned char key[256]; /* the input as bytes */
        size_t key_len;
};

#define expect_row(row, ok, ...)                                                                                      \
        do {                                                                                                          \
                if (!(ok)) {                                                                                          \
                        print_error("%s:%d: %s of \"%s\": the file says %s; ", VECTORS, (row)->line, (row)->function, \
                                    (row)->input, (row)->output);                                                     \
                        print_error(__VA_ARGS__);                                                                     \
                        fail();                                                                                       \
                }                                                                                                     \
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

static void check_kafkajs(struct row *row)
{
        expect_number(row, (int64_t)value(row, "kafkajs-legacy"), kr_sign_mask(word_of(row)));
}

static void check_cassandra(struct row *row)
{
        expect_number(row, (int64_t)(value(row, "cassandra-token") ^ (uint64_t)1 << 63), number_of(row->output));
}

static void check_elasticsearch(struct row *row)
{
        expect_word(row, value(row, "elasticsearch") ^ 0x80000000u);
}

static int64_t as_int32(uint64_t ordered)
{
        return (int64_t)ordered - 0x80000000ll;
}

static void check_hashtext(struct row *row)
{
        const char *mark = "extended seed 0: ";

        expect_number(row, as_int32(value(row, "postgres-text")), number_of(row->output));
        expect_number(row, (int64_t)kr_postgres_bytes_extended(row->key, row->key_len, 0), number_behind(row, mark));
}

static void check_hash_number(struct row *row)
{
        int64_t number = number_of(row->input);
        size_t width = (size_t)(row->function[strlen("pg_hashint")] - '0');

        put_be(row, (uint64_t)number, width);
        expect_number(row, as_int32(value(row, "postgres-number")), number_of(row->output));
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
                }
                memcpy(&got, &d, sizeof(d));
                put_be(row, (uint64_t)got, 8);
                got = (int64_t)value(row, "mongodb-double");
        } else if (!strcmp(row->input, "string")) {
                got = (int64_t)value(row, "mongodb-string");
        } else if (!strcmp(row->input, "oid")) {
                row->key_len = from_hex(space, row->key);
                got = (int64_t)value(row, "mongodb-objectid");
        } else if (!strcmp(row->input, "bindata")) {
                char subtype = *space;

                row->key_len = from_hex(space + 2, row->key);
                assert_true(subtype == '0' || subtype == '4');
                got = (int64_t)value(row, subtype == '4' ? "mongodb-uuid" : "mongodb-binary");
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
}

static void check_couchbase(struct row *row)
{
        char *end;
        int checked = 0;

        /* "256 vBuckets: 9; 1024: 265; 128: 9" */
        for (const char *c = row->output; *c; c = end + strspn(end, "; "), checked++) {
                uint64_t buckets = strtoull(c, &end, 10);

                end = strchr(end, ':');
                assert_non_null(end);
                expect_number(row, (int64_t)(value(row, "couchbase") % buckets), strtoll(end + 1, &end, 10));
        }
        assert_true(checked >= 3);
}

static void check_pulsar_java(struct row *row)
{
        expect_number(row, (int64_t)value(row, "java-string-hash-masked"), number_of(row->output));
}

static void check_pulsar_murmur3(struct row *row)
{
        expect_number(row, (int64_t)value(row, "murmur3-masked"), number_of(row->output));
        expect_number(row, kr_sign_mask((uint32_t)value(row, "murmur3-x86-32")), number_of(row->output));
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
}

static void check_java_string(struct row *row)
{
        int64_t code = number_of(row->output);

        expect_number(row, (int64_t)value(row, "java-string-hash"), code < 0 ? -code : code);
        expect_number(row, (int64_t)value(row, "java-string-hash-masked"), code & 0x7fffffff);
}

static void check_consumer_offsets(struct row *row)
{
        expect_number(row, (int64_t)(value(row, "java-string-hash") % 50), number_of(row->output));
}

/* 2^64 a, as long double is not exact enough to read the file's 39 digits. */
static void check_kinesis(struct row *row)
{
        unsigned char digest[KR_MD5_SIZE];
        char text[40] = "";

        kr_md5(row->key, row->key_len, digest);
        for (size_t digits = 0; digits < 39; digits++) {
                unsigned rest = 0;

                for (size_t i = 0; i < KR_MD5_SIZE; i++) {
                        unsigned part = rest << 8 | digest[i];

                        digest[i] = (unsigned char)(part / 10);
                        rest = part % 10;
                }
                memmove(text + 1, text, digits);
                text[0] = (char)('0' + rest);
        }
        expect_row(row, !strncmp(text + strspn(text, "0"), row->output, strlen(text + strspn(text, "0"))), "got %s\n",
                   text);
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
        { "redis_cluster_slot", NULL },
        { "scylla_shard", NULL },
        { "elasticsearch ", NULL },
        { "ketama", NULL },
        { "jump_consistent_hash", NULL },
        { "rdkafka-ruby partition_key", NULL },
        { "kafka-node KeyedPartitioner", NULL },
        { "pykafka hashing_partitioner", NULL },
        { "xxh32", NULL },
        { "erlang:phash2", NULL },
        { "seahash", NULL },
};

static void test_vectors(void **state)
{
        FILE *file = fopen(VECTORS, "r");
        char *line = NULL;
        size_t size = 0;
        int checked[sizeof(checks) / sizeof(checks[0])] = { 0 };
        int row_cnt = 0;
        ssize_t len;

        (void)state;
        assert_non_null(file);
        for (int number = 1; (len = getline(&line, &size, file)) > 0; number++) {
                char *rest = line;
                struct row row = { .line = number };
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
                while (i < sizeof(checks) / sizeof(checks[0]) &&
                       strncmp(row.function, checks[i].function, strlen(checks[i].function)))
                        i++;
                expect_row(&row, i < sizeof(checks) / sizeof(checks[0]), "no check is known for this function\n");
                if (checks[i].check)
                        checks[i].check(&row);
                checked[i]++;
                row_cnt++;
        }
        free(line);
        fclose(file);
        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
                if (!checked[i])
                        print_error("no row of %s is of \"%s\"\n", VECTORS, checks[i].function);
                assert_true(checked[i] > 0);
                if (!checks[i].check)
                        print_message("not offered: %s (%d rows)\n", checks[i].function, checked[i]);
        }
        print_message("%d rows\n", row_cnt);
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
                cmocka_unit_test(test_md5),
                cmocka_unit_test(test_width_and_alignment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
