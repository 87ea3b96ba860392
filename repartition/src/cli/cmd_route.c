/* repartition route: where keys belong, without a broker. */
#include "cli/command.h"
#include "cli/key_format.h"
#include "cli/route_preset.h"
#include "io/standard.h"
#include "report/key_json.h"
#include "report/wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
        struct rp_common common;
        struct rp_policy_args policy;
        int64_t partitions;
        const char *topic;
        const char *key_format;
        const char *keys_file;
        const char *locations_file;
        const char *preset;
        bool first_part;
        bool all_hashes;
        bool list_hashes;
        bool list_presets;
};

static const struct rp_option options[] = {
        { "partitions", 0, RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "partitions of the topic; needed unless the policy pins them", NULL, 1, 1000000, NULL },
        RP_POLICY_OPTIONS(struct args),
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC",
          "the topic whose rule in the policy routes; needed when it has more than one", NULL, 0, 0, NULL },
        { "keys", 0, RP_OPT_STREAM, offsetof(struct args, keys_file), "FILE",
          "keys, one a line, instead of operands or standard input", NULL, 0, 0, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how keys are written: text, hex, base64, int32, int64 or uuid", "text", 0, 0, rp_key_format_names },
        { "locations", 0, RP_OPT_INPUT, offsetof(struct args, locations_file), "FILE",
          "where partitions live, such as {\"0-11\": \"site-a\"}; instead of the policy's own", NULL, 0, 0, NULL },
        { "preset", 0, RP_OPT_TEXT, offsetof(struct args, preset), "NAME[:PARAM=VALUE,...]",
          "where another store puts the keys, such as redis-cluster or elasticsearch:shards=8", NULL, 0, 0, NULL },
        { "list-presets", 0, RP_OPT_FLAG, offsetof(struct args, list_presets), NULL,
          "list the presets, what they print and what they take; no keys", NULL, 0, 0, NULL },
        { "first-part", 0, RP_OPT_FLAG, offsetof(struct args, first_part), NULL,
          "keys are first parts, as the map splits them: print every partition that can hold a key of one", NULL, 0, 0,
          NULL },
        { "all-hashes", 0, RP_OPT_FLAG, offsetof(struct args, all_hashes), NULL,
          "what every hash function that clients use makes of each key", NULL, 0, 0, NULL },
        { "list-hashes", 0, RP_OPT_FLAG, offsetof(struct args, list_hashes), NULL,
          "list the hash functions, who uses them and what mends it; no keys", NULL, 0, 0, NULL },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { HASH_MAX = 256 };

/* Everything that one key needs, made ready before the first is read. */
struct router {
        const struct args *args;
        const struct rp_key_format *format;
        kr_policy_t *policy;
        const kr_rule_t *rule;
        kr_preset_t *preset; /* --preset: instead of policy and rule */
        int32_t partition_cnt;
        kr_locations_t *locations; /* NULL: the rule's own */
        kr_policy_t *hashes[HASH_MAX]; /* --all-hashes: one policy a function, NULL-terminated */
        struct rp_key key;
        uint64_t refused_cnt;
};

static const char *keyless_name(kr_keyless_t keyless)
{
        switch (keyless) {
        case KR_SPREAD:
                return "spread";
        case KR_HASHED:
                return "hashed";
        case KR_FIRST:
                return "partition 0";
        case KR_REFUSED:
                break;
        }
        return "refused";
}

static void print_member(const char *name, const char *text)
{
        printf(", \"%s\": ", name);
        rp_print_json_string(stdout, text, strlen(text));
}

static void list_hash_json(const kr_hash_t *hash)
{
        bool is_client = kr_hash_is_client(hash);

        printf("{\"hash\": \"%s\", \"of\": \"%s\"", kr_hash_name(hash), is_client ? "client" : "store");
        print_member("clients", kr_hash_clients(hash));
        if (is_client) {
                print_member("null_key", keyless_name(kr_hash_null_key(hash)));
                print_member("empty_key", keyless_name(kr_hash_empty_key(hash)));
                print_member("fix", kr_hash_fix(hash));
        }
        puts("}");
}

static void list_hash(const kr_hash_t *hash)
{
        printf("%s\n  used by     ", kr_hash_name(hash));
        rp_wrap(stdout, kr_hash_clients(hash), 14, 14);
        if (kr_hash_is_client(hash)) {
                printf("  NULL key    %s\n  empty key   %s\n  to be Java  ", keyless_name(kr_hash_null_key(hash)),
                       keyless_name(kr_hash_empty_key(hash)));
                rp_wrap(stdout, kr_hash_fix(hash), 14, 14);
        }
        putchar('\n');
}

static int list_hashes(bool json)
{
        const kr_hash_t *hash;
        bool stores = false;

        if (!json)
                puts("By these, Kafka clients place records:\n");
        for (size_t i = 0; (hash = kr_hash_at(i)); i++) {
                if (json) {
                        list_hash_json(hash);
                        continue;
                }
                if (!kr_hash_is_client(hash) && !stores) {
                        puts("By these, other stores place their data; a policy that names one lines a topic\n"
                             "up with it:\n");
                        stores = true;
                }
                list_hash(hash);
        }
        return RP_EXIT_CLEAN;
}

static const char *location_of(const struct router *router, int32_t partition)
{
        return router->locations ? kr_locations_name(router->locations, partition)
                                 : kr_rule_location(router->rule, partition);
}

static void print_json_location(const char *location)
{
        fputs(", \"location\": ", stdout);
        if (location)
                rp_print_json_string(stdout, location, strlen(location));
        else
                fputs("null", stdout);
}

/* As many of the clients as fit a line of 80 columns; --list-hashes has them all. */
static int clients_width(const char *clients)
{
        enum { ROOM = 36 };
        size_t len = strlen(clients);

        if (len <= ROOM)
                return (int)len;
        for (len = ROOM; len && !(clients[len] == ',' || clients[len] == ';'); len--)
                ;
        return len ? (int)len : ROOM;
}

static void print_all_hashes(const struct router *router, const char *text, size_t len, bool json)
{
        if (json) {
                putchar('{');
                rp_print_json_key(stdout, router->key.data, router->key.len);
                printf(", \"partitions\": %" PRId32 ", \"functions\": [", router->partition_cnt);
        } else {
                fwrite(text, 1, len, stdout);
                printf("\n  %-18s %10s %9s   used by\n", "hash", "value", "partition");
        }
        for (size_t i = 0; router->hashes[i]; i++) {
                const kr_rule_t *rule = kr_policy_rule_at(router->hashes[i], 0);
                const kr_hash_t *hash = kr_rule_hash(rule);
                struct kr_routing routing;

                kr_rule_route(rule, router->key.data, router->key.len, router->partition_cnt, &routing);
                if (json) {
                        printf("%s{\"hash\": \"%s\", \"hash_value\": %" PRIu64 ", \"partition\": %" PRId32,
                               i ? ", " : "", kr_hash_name(hash), routing.hash, routing.partition);
                        if (router->locations)
                                print_json_location(kr_locations_name(router->locations, routing.partition));
                        putchar('}');
                } else {
                        printf("  %-18s %10" PRIu64 " %9" PRId32 "   %.*s\n", kr_hash_name(hash), routing.hash,
                               routing.partition, clients_width(kr_hash_clients(hash)), kr_hash_clients(hash));
                }
        }
        puts(json ? "]}" : "");
}

static void print_routing(struct router *router, const char *text, size_t len, bool json)
{
        struct kr_routing routing;
        const char *location;

        kr_rule_route(router->rule, router->key.data, router->key.len, router->partition_cnt, &routing);
        router->refused_cnt += routing.partition < 0;
        location = routing.partition < 0 ? NULL : location_of(router, routing.partition);
        if (json) {
                putchar('{');
                rp_print_json_key(stdout, router->key.data, router->key.len);
                printf(", \"hash\": \"%s\"", kr_hash_name(kr_rule_hash(router->rule)));
                if (routing.partition < 0) {
                        fputs(", \"hash_value\": null, \"partition\": null, \"location\": null", stdout);
                        print_member("refused", kr_strerror(routing.partition));
                } else {
                        printf(", \"hash_value\": %" PRIu64 ", \"partition\": %" PRId32, routing.hash,
                               routing.partition);
                        print_json_location(location);
                }
                puts("}");
                return;
        }
        fwrite(text, 1, len, stdout);
        if (routing.partition < 0)
                fputs("\trefused", stdout);
        else
                printf("\t%" PRId32, routing.partition);
        if (location)
                printf("\t%s", location);
        putchar('\n');
}

/* What a query for all keys with this first part has to read. */
static rp_err_t print_partitions_of(const struct router *router, const char *text, size_t len, bool json,
                                    struct rp_error *err)
{
        int32_t *partitions = malloc((size_t)router->partition_cnt * sizeof(*partitions));
        int32_t cnt;

        if (!partitions)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        cnt = kr_rule_partitions_of_prefix(router->rule, router->key.data, router->key.len, router->partition_cnt,
                                           partitions, router->partition_cnt);
        if (json) {
                putchar('{');
                rp_print_json_key(stdout, router->key.data, router->key.len);
                fputs(", \"partitions\": [", stdout);
        } else {
                fwrite(text, 1, len, stdout);
                putchar('\t');
        }
        for (int32_t i = 0; i < cnt; i++)
                printf("%s%" PRId32, i ? json ? ", " : "," : "", partitions[i]);
        puts(json ? "]}" : "");
        free(partitions);
        return RP_OK;
}

static rp_err_t route_key(struct router *router, const char *text, size_t len, struct rp_error *err)
{
        bool json = rp_is_json(&router->args->common);
        rp_err_t rc = rp_key_parse(router->format, text, len, &router->key, err);

        if (rc != RP_OK)
                return rc;
        if (router->preset)
                return rp_print_placement(router->preset, router->args->preset, &router->key, text, len,
                                          router->locations, json, err);
        if (router->args->first_part)
                return print_partitions_of(router, text, len, json, err);
        if (router->args->all_hashes)
                print_all_hashes(router, text, len, json);
        else
                print_routing(router, text, len, json);
        return RP_OK;
}

static rp_err_t route_lines(struct router *router, FILE *in, const char *name, struct rp_error *err)
{
        struct rp_error why;
        uint64_t line_cnt = 0;
        char *line = NULL;
        size_t size = 0;
        ssize_t len;
        rp_err_t rc = RP_OK;

        /* Nobody reads what we print: then there is nothing left to do, and main() says so. */
        while (!ferror(stdout) && (len = getline(&line, &size, in)) >= 0) {
                line_cnt++;
                if (len && line[len - 1] == '\n')
                        len--;
                rc = route_key(router, line, (size_t)len, &why);
                if (rc != RP_OK) {
                        rp_fail(err, rc, "%.200s: line %" PRIu64 ": %s", name, line_cnt, why.text);
                        break;
                }
        }
        if (rc == RP_OK && ferror(in))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line %" PRIu64 ": cannot read: %s", name, line_cnt + 1,
                             strerror(errno));
        free(line);
        return rc;
}

static rp_err_t route_all(struct router *router, char **operands, int operand_cnt, struct rp_error *err)
{
        const char *path = router->args->keys_file;
        struct rp_error why;
        rp_err_t rc = RP_OK;
        FILE *in;

        if (path && operand_cnt)
                return rp_fail(err, RP_ERR_USAGE, "keys come from operands or from --keys, not from both");
        if (operand_cnt) {
                for (int i = 0; i < operand_cnt && rc == RP_OK; i++)
                        if ((rc = route_key(router, operands[i], strlen(operands[i]), &why)) != RP_OK)
                                rp_fail(err, rc, "key %d: %s", i + 1, why.text);
                return rc;
        }
        if (!path && rp_standard_in_claim(err) != RP_OK)
                return err->code;
        if (!path || rp_is_standard(path))
                return route_lines(router, stdin, "standard input", err);
        in = fopen(path, "rb");
        if (!in)
                return rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the keys: %s", path, strerror(errno));
        rc = route_lines(router, in, path, err);
        fclose(in);
        return rc;
}

static rp_err_t choose_rule(struct router *router, struct rp_error *err)
{
        const struct args *args = router->args;

        router->policy = rp_policy_from_args(&args->policy, err);
        if (!router->policy || !(router->rule = rp_rule_from_args(&args->policy, router->policy, args->topic, err)))
                return err->code;
        router->partition_cnt = rp_partition_cnt_from_args(&args->policy, router->rule, args->partitions, err);
        return router->partition_cnt ? RP_OK : err->code;
}

/* The store's rule stands for everything that a policy would say. */
static rp_err_t choose_preset(struct router *router, struct rp_error *err)
{
        const struct args *args = router->args;
        const char *other = args->policy.policy_file ? "--policy"
                            : args->policy.hash      ? "--hash"
                            : args->topic            ? "--topic"
                            : args->partitions       ? "--partitions"
                            : args->all_hashes       ? "--all-hashes"
                            : args->first_part       ? "--first-part"
                                                     : NULL;

        if (other)
                return rp_fail(err, RP_ERR_USAGE, "--preset is a store's own rule; leave %s out", other);
        if (rp_preset_open(args->preset, args->key_format, &router->preset, err) != RP_OK)
                return err->code;
        router->partition_cnt = kr_preset_buckets(router->preset);
        if (args->locations_file && !router->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "--locations names buckets, and this preset knows places on a ring alone");
        return RP_OK;
}

static rp_err_t prepare(struct router *router, struct rp_error *err)
{
        const struct args *args = router->args;
        const kr_hash_t *hash;
        struct kr_error kerr;

        router->format = rp_key_format_find(args->key_format);
        if (args->all_hashes && !args->preset && (args->policy.policy_file || args->policy.hash))
                return rp_fail(err, RP_ERR_USAGE, "--all-hashes compares the functions; leave %s out",
                               args->policy.policy_file ? "--policy" : "--hash");
        if (args->all_hashes && args->first_part)
                return rp_fail(err, RP_ERR_USAGE, "--all-hashes compares hashes of whole keys; leave --first-part out");
        if (args->preset ? choose_preset(router, err) != RP_OK : choose_rule(router, err) != RP_OK)
                return err->code;
        for (size_t i = 0, cnt = 0; args->all_hashes && (hash = kr_hash_at(i)); i++) {
                if (!kr_hash_is_client(hash))
                        continue;
                if (cnt == HASH_MAX - 1)
                        abort(); /* the table of hashes grew: raise HASH_MAX */
                router->hashes[cnt] = kr_policy_from_hash(kr_hash_name(hash), &kerr);
                if (!router->hashes[cnt++])
                        return rp_fail(err, RP_ERR_FATAL, "%s", kerr.text);
        }
        if (args->locations_file) {
                router->locations = kr_locations_load(args->locations_file, router->partition_cnt, &kerr);
                if (!router->locations)
                        return rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        }
        return RP_OK;
}

static void release(struct router *router)
{
        for (size_t i = 0; router->hashes[i]; i++)
                kr_policy_free(router->hashes[i]);
        kr_locations_free(router->locations);
        kr_preset_free(router->preset);
        kr_policy_free(router->policy);
        rp_key_release(&router->key);
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct router router = { .args = args };
        struct rp_error err;
        int rc = RP_EXIT_CLEAN;

        if (!isatty(STDOUT_FILENO))
                setvbuf(stdout, NULL, _IOFBF, 1 << 16);
        if (args->list_hashes)
                return list_hashes(rp_is_json(&args->common));
        if (args->list_presets) {
                rp_list_presets(rp_is_json(&args->common));
                return RP_EXIT_CLEAN;
        }
        if (prepare(&router, &err) != RP_OK || route_all(&router, operands, operand_cnt, &err) != RP_OK) {
                rc = rp_die("route", &err);
        } else if (router.refused_cnt) {
                if (!args->common.quiet)
                        fprintf(stderr, "repartition route: %" PRIu64 " keys are refused by the policy\n",
                                router.refused_cnt);
                rc = RP_EXIT_DIFFERENCES;
        }
        release(&router);
        return rc;
}

const struct rp_command rp_cmd_route = {
        .name = "route",
        .operands = "[KEY...]",
        .summary = "Prints the partition that keys belong in, without a broker",
        .description =
                "Prints KEY, partition and, where it is known, location, with tabs between, one line a key. Keys are the\n"
                "operands, else the lines of --keys FILE, else the lines of standard input; a line loses its newline and\n"
                "nothing else. With --key-format hex and base64 an empty line is the empty key.\n\n"
                "The rule is Java's (murmur2) unless --hash or --policy says otherwise. A key that the policy refuses\n"
                "is printed as \"refused\", and the exit code is then 1.\n\n"
                "With --first-part, KEY and the partitions that a query for all keys with that first part must read: a few\n"
                "where the policy's map splits keys (two-level, table with a delimiter), else all of them.\n\n"
                "With --preset, KEY and what the store itself would say: its slot, shard or token, then what it was made\n"
                "from; --list-presets names the columns. Numbers and UUIDs are keys by --key-format.\n\n"
                "With --output json one object a line: key (base64), key_text (where it is printable), hash,\n"
                "hash_value, partition, location; or partitions; or preset and the columns by their names.",
        .examples = "  repartition route --partitions 12 customer-42\n"
                    "  repartition route --policy keyroute.json --topic orders < keys.txt\n"
                    "  repartition route --partitions 12 --all-hashes customer-42\n"
                    "  repartition route --preset elasticsearch:shards=8 customer-42\n"
                    "  repartition route --partitions 12 --key-format int64 --output json 1001 1002\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_max = -1,
        .run = run,
};
