/*
 * What routing costs by each map, in one run: nanoseconds a key and the ratio to `modulo`, the best of several rounds that
 * take turns. Keys are 25 bytes, a million of them; the table pins all (hits), or as many others (misses).
 *
 * usage: route_cost [ROUNDS]
 */
#include <keyroute.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_CNT = 1000000, KEY_LEN = 25, PARTITION_CNT = 30 };

static char (*keys)[KEY_LEN + 7];

struct contender {
        const char *name;
        const char *rule; /* the map, in JSON; %s is the file of pinned keys */
        const char *aim;  /* for the ratio */
        kr_policy_t *policy;
        double best_ns;
};

static struct contender contenders[] = {
        { "modulo", "'partitions':30", "1", NULL, 1e9 },
        { "slots, 30 partitions", "'partitions':30,'map':{'kind':'slots','weights':{'0-11':2,'*':1}}", "<= 1.2",
          NULL, 1e9 },
        { "slots, 1,000 partitions", "'partitions':1000,'map':{'kind':'slots','weights':{'0-11':2,'*':1}}", "<= 1.2",
          NULL, 1e9 },
        { "hash-range, 30 ranges", "'partitions':30,'map':{'kind':'hash-range'}", "-", NULL, 1e9 },
        { "ring, 30 x 256 points", "'partitions':30,'map':{'kind':'ring'}", "-", NULL, 1e9 },
        { "range, 4 ranges", "'partitions':4,'map':{'kind':'range','bounds':['customer-4','customer-8','customer-c']}",
          "-", NULL, 1e9 },
        { "two-level, fanout 8",
          "'partitions':30,'map':{'kind':'two-level','delimiter':'-','fanout':8}", "-", NULL, 1e9 },
        { "table of a million, hits", "'partitions':30,'map':{'kind':'table','file':'%s'}", "<= 6",
          NULL, 1e9 },
        { "table of a million, misses", "'partitions':30,'map':{'kind':'table','file':'%s.others'}", "-",
          NULL, 1e9 },
};

enum { CONTENDER_CNT = sizeof(contenders) / sizeof(contenders[0]) };

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* a busy machine must not look like a slow map */
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void write_keys(const char *path, uint64_t stride)
{
        FILE *file = fopen(path, "w");

        if (!file) {
                perror(path);
                exit(2);
        }
        /* In another order than the one in which they are looked up: no help from neighbours in memory. */
        for (uint64_t i = 0; i < KEY_CNT; i++)
                fprintf(file, "customer-%016" PRIx64 "\t%" PRIu64 "\n", (i * 7919 % KEY_CNT + 1) * stride,
                        i % PARTITION_CNT);
        fclose(file);
}

static kr_policy_t *load(const char *rule, const char *path)
{
        struct kr_error err;
        kr_policy_t *policy;
        char text[600], fields[500];

        snprintf(fields, sizeof(fields), "%s", rule);
        if (strstr(rule, "%s"))
                snprintf(fields + (strstr(rule, "%s") - rule), sizeof(fields) - (size_t)(strstr(rule, "%s") - rule), "%s%s",
                         path, strstr(rule, "%s") + 2);
        snprintf(text, sizeof(text), "{'keyroute':1,'topics':{'t':{%s}}}", fields);
        for (char *c = text; *c; c++)
                *c = *c == '\'' ? '"' : *c;
        policy = kr_policy_parse(text, strlen(text), "bench", &err);
        if (!policy) {
                fprintf(stderr, "route_cost: %s\n", err.text);
                exit(2);
        }
        return policy;
}

static volatile int64_t sink;

static double measure(const kr_policy_t *policy)
{
        const kr_rule_t *rule = kr_policy_rule_at(policy, 0);
        int32_t cnt = kr_rule_partitions(rule);
        double start = now_ns();
        int64_t sum = 0;

        for (int i = 0; i < KEY_CNT; i++)
                sum += kr_rule_partition(rule, keys[i], KEY_LEN, cnt);
        sink = sum;
        return (now_ns() - start) / KEY_CNT;
}

int main(int argc, char **argv)
{
        const uint64_t stride = 0x9e3779b97f4a7c15u;
        int rounds = argc > 1 ? atoi(argv[1]) : 15;
        char path[] = "/tmp/keyroute-bench-XXXXXX", others[64];
        int fd = mkstemp(path);

        keys = calloc(KEY_CNT, sizeof(*keys));
        if (fd < 0 || !keys)
                return 2;
        close(fd);
        snprintf(others, sizeof(others), "%s.others", path);
        write_keys(path, stride);
        write_keys(others, stride + 2);
        for (uint64_t i = 0; i < KEY_CNT; i++)
                snprintf(keys[i], sizeof(keys[i]), "customer-%016" PRIx64, (i + 1) * stride);
        for (int c = 0; c < CONTENDER_CNT; c++)
                contenders[c].policy = load(contenders[c].rule, path);
        unlink(path);
        unlink(others);
        for (int r = 0; r < rounds; r++)
                for (int c = 0; c < CONTENDER_CNT; c++) {
                        double ns = measure(contenders[c].policy);

                        contenders[c].best_ns = ns < contenders[c].best_ns ? ns : contenders[c].best_ns;
                }
        printf("  %-28s %8s %8s %8s %14s\n", "murmur2, keys of 25 bytes", "ns/key", "ratio", "aim", "memory");
        for (int c = 0; c < CONTENDER_CNT; c++) {
                printf("  %-28s %8.1f %8.2f %8s %12zu B\n", contenders[c].name, contenders[c].best_ns,
                       contenders[c].best_ns / contenders[0].best_ns, contenders[c].aim,
                       kr_rule_memory_bytes(kr_policy_rule_at(contenders[c].policy, 0)));
                kr_policy_free(contenders[c].policy);
        }
        free(keys);
        return 0;
}
