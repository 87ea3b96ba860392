/*
 * What routing by two fields of a ten-field Avro key costs, in one run: nanoseconds a key by the whole key, by the two
 * fields with the schema from a file and with the one that a registry gave for the key's frame, and by the same two fields
 * taken out with Avro-C's own reader. The best of several rounds that take turns.
 *
 * usage: avro_cost [ROUNDS]
 */
#include "../../partitioner/test/http_server.h"

#include <keyroute.h>

#include <avro.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_CNT = 200000, KEY_MAX = 160, PARTITION_CNT = 30, FRAME_LEN = 5 };

enum { BYTES, FROM_FILE, FROM_REGISTRY, AVRO_C, WAY_CNT };

#define SCHEMA                                                                                                        \
        "{\"type\":\"record\",\"name\":\"OrderKey\",\"fields\":["                                                     \
        "{\"name\":\"region\",\"type\":\"string\"},{\"name\":\"tenant\",\"type\":\"string\"},"                        \
        "{\"name\":\"shard\",\"type\":\"int\"},{\"name\":\"created\",\"type\":\"long\"},"                             \
        "{\"name\":\"kind\",\"type\":{\"type\":\"enum\",\"name\":\"Kind\",\"symbols\":[\"A\",\"B\",\"C\"]}},"         \
        "{\"name\":\"parent\",\"type\":[\"null\",\"string\"]},{\"name\":\"weight\",\"type\":\"double\"},"             \
        "{\"name\":\"digest\",\"type\":{\"type\":\"fixed\",\"name\":\"Digest\",\"size\":8}},"                         \
        "{\"name\":\"customer\",\"type\":\"string\"},{\"name\":\"note\",\"type\":\"string\"}]}"

static struct {
        unsigned char frame[FRAME_LEN]; /* of schema 7, right before its datum */
        unsigned char bytes[KEY_MAX];
        size_t len;
} *keys;

static avro_schema_t schema;
static avro_value_iface_t *iface;
static avro_value_t value;
static const kr_hash_t *murmur2;
static volatile int64_t sink;

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* a busy machine must not look like a slow reader */
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void set_string(const char *name, const char *text)
{
        avro_value_t field;

        avro_value_get_by_name(&value, name, &field, NULL);
        avro_value_set_string(&field, text);
}

static void make_key(size_t i)
{
        avro_writer_t writer = avro_writer_memory((const char *)keys[i].bytes, KEY_MAX);
        char text[40];
        avro_value_t field, branch;

        avro_value_reset(&value);
        set_string("region", i % 2 ? "eu-central-1" : "us-east-1");
        snprintf(text, sizeof(text), "tenant-%zu", i % 977);
        set_string("tenant", text);
        avro_value_get_by_name(&value, "shard", &field, NULL);
        avro_value_set_int(&field, (int32_t)(i % 64));
        avro_value_get_by_name(&value, "created", &field, NULL);
        avro_value_set_long(&field, 1700000000000 + (int64_t)i);
        avro_value_get_by_name(&value, "kind", &field, NULL);
        avro_value_set_enum(&field, (int)(i % 3));
        avro_value_get_by_name(&value, "parent", &field, NULL);
        avro_value_set_branch(&field, (int)(i % 2), &branch);
        if (i % 2)
                avro_value_set_string(&branch, "order-parent");
        else
                avro_value_set_null(&branch);
        avro_value_get_by_name(&value, "weight", &field, NULL);
        avro_value_set_double(&field, (double)i / 3);
        avro_value_get_by_name(&value, "digest", &field, NULL);
        avro_value_set_fixed(&field, "12345678", 8);
        snprintf(text, sizeof(text), "customer-%016zx", i * 0x9e3779b97f4a7c15u);
        set_string("customer", text);
        set_string("note", "-");
        if (avro_value_write(writer, &value)) {
                fprintf(stderr, "avro_cost: %s\n", avro_strerror());
                exit(2);
        }
        keys[i].len = (size_t)avro_writer_tell(writer);
        keys[i].frame[FRAME_LEN - 1] = 7;
        avro_writer_free(writer);
}

static kr_policy_t *load(const char *key, const char *schemas)
{
        char text[2048];
        struct kr_error err;
        kr_policy_t *policy;

        snprintf(text, sizeof(text), "{\"keyroute\":1,\"topics\":{\"t\":{%s}}%s}", key, schemas);
        policy = kr_policy_parse(text, strlen(text), "bench", &err);
        if (!policy) {
                fprintf(stderr, "avro_cost: %s\n", err.text);
                exit(2);
        }
        return policy;
}

/* A registry whose every schema is ours, as a text inside a JSON text. */
static void answer(const char *path, const char *request, struct http_reply *reply, void *opaque)
{
        (void)path;
        (void)request;
        *reply = (struct http_reply){ .status = 200, .body = opaque };
}

static char *registry_body(void)
{
        char *body = malloc(2 * sizeof(SCHEMA) + 20), *at = body;

        if (!body)
                exit(2);
        at += sprintf(at, "{\"schema\":\"");
        for (const char *c = SCHEMA; *c; c++) {
                if (*c == '"')
                        *at++ = '\\';
                *at++ = *c;
        }
        strcpy(at, "\"}");
        return body;
}

static double measure_framed(const kr_policy_t *policy)
{
        const kr_rule_t *rule = kr_policy_rule_at(policy, 0);
        double start = now_ns();
        int64_t sum = 0;

        for (size_t i = 0; i < KEY_CNT; i++)
                sum += kr_rule_partition(rule, keys[i].frame, FRAME_LEN + keys[i].len, PARTITION_CNT);
        sink = sum;
        return (now_ns() - start) / KEY_CNT;
}

static double measure(const kr_policy_t *policy)
{
        const kr_rule_t *rule = kr_policy_rule_at(policy, 0);
        double start = now_ns();
        int64_t sum = 0;

        for (size_t i = 0; i < KEY_CNT; i++)
                sum += kr_rule_partition(rule, keys[i].bytes, keys[i].len, PARTITION_CNT);
        sink = sum;
        return (now_ns() - start) / KEY_CNT;
}

/* The two fields as Avro writes them, read by Avro-C and hashed by the same function. */
static double measure_avro_c(void)
{
        double start = now_ns();
        int64_t sum = 0;

        for (size_t i = 0; i < KEY_CNT; i++) {
                static const char *const wanted[] = { "tenant", "customer" };
                avro_reader_t reader = avro_reader_memory((const char *)keys[i].bytes, (int64_t)keys[i].len);
                unsigned char out[256];
                size_t len = 0;

                avro_value_reset(&value);
                if (avro_value_read(reader, &value))
                        exit(2);
                for (int w = 0; w < 2; w++) {
                        avro_value_t field;
                        const char *text;
                        size_t size;

                        avro_value_get_by_name(&value, wanted[w], &field, NULL);
                        avro_value_get_string(&field, &text, &size);
                        out[len++] = (unsigned char)(2 * (size - 1)); /* lengths below 64; size counts a NUL */
                        memcpy(out + len, text, size - 1);
                        len += size - 1;
                }
                sum += (int64_t)(kr_hash_value(murmur2, out, len) % PARTITION_CNT);
                avro_reader_free(reader);
        }
        sink = sum;
        return (now_ns() - start) / KEY_CNT;
}

int main(int argc, char **argv)
{
        static const char *const names[WAY_CNT] = { "bytes", "avro, schema from a file", "avro, schema from a registry",
                                                    "the same by Avro-C's reader" };
        static const char fields[] = "\"key\":{\"use\":\"avro\",\"fields\":[\"tenant\",\"customer\"],\"schema\":";
        int rounds = argc > 1 ? atoi(argv[1]) : 25;
        double best[WAY_CNT];
        char *body = registry_body(), key[2048], registries[200];
        struct http_server *server = http_server_start(0, answer, body);
        kr_policy_t *policies[3];
        int64_t sums[WAY_CNT];

        keys = calloc(KEY_CNT, sizeof(*keys));
        murmur2 = kr_hash_find("murmur2");
        if (!keys || !server || avro_schema_from_json_literal(SCHEMA, &schema)) {
                fprintf(stderr, "avro_cost: %s\n", avro_strerror());
                return 2;
        }
        iface = avro_generic_class_from_schema(schema);
        avro_generic_value_new(iface, &value);
        for (size_t i = 0; i < KEY_CNT; i++)
                make_key(i);
        policies[BYTES] = load("", "");
        snprintf(key, sizeof(key), "%s{\"inline\":%s}}", fields, SCHEMA);
        policies[FROM_FILE] = load(key, "");
        snprintf(key, sizeof(key), "%s{\"registry\":\"r\"},\"missing\":\"reject\"}", fields);
        snprintf(registries, sizeof(registries), ",\"schemas\":{\"registries\":{\"r\":{\"urls\":[\"http://127.0.0.1:%d\"]}}}",
                 http_server_port(server));
        policies[FROM_REGISTRY] = load(key, registries);
        kr_policy_be_strict(policies[FROM_REGISTRY]); /* the first key waits until the schema is there */
        for (int w = 0; w < WAY_CNT; w++)
                best[w] = 1e9;
        for (int r = 0; r < rounds; r++)
                for (int w = 0; w < WAY_CNT; w++) {
                        double ns = w == AVRO_C          ? measure_avro_c()
                                    : w == FROM_REGISTRY ? measure_framed(policies[w])
                                                         : measure(policies[w]);

                        sums[w] = sink;
                        if (w > FROM_FILE && sums[w] != sums[FROM_FILE]) {
                                fprintf(stderr, "avro_cost: %s, routed otherwise\n", names[w]);
                                return 1;
                        }
                        best[w] = ns < best[w] ? ns : best[w];
                }
        printf("  %-34s %8s %8s %18s\n", "two of ten fields, keys of ~95 bytes", "ns/key", "ratio", "more than bytes");
        for (int w = 0; w < WAY_CNT; w++) {
                printf("  %-34s %8.1f %8.2f", names[w], best[w], best[w] / best[BYTES]);
                if (w != BYTES)
                        printf(" %10.1f ns%s", best[w] - best[BYTES], w == AVRO_C ? "" : " (aim <= 100)");
                putchar('\n');
        }
        for (int w = BYTES; w <= FROM_REGISTRY; w++)
                kr_policy_free(policies[w]);
        http_server_stop(server);
        avro_value_decref(&value);
        avro_value_iface_decref(iface);
        avro_schema_decref(schema);
        free(body);
        free(keys);
        return 0;
}
