/* repartition schema: how an Avro key is taken apart, and which of its bytes would route. */
#include "cli/command.h"
#include "cli/key_format.h"
#include "report/key_json.h"
#include "report/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTING_MAX = 4096 };

struct args {
        struct rp_common common;
        struct rp_list fields;
        const char *as;
        const char *reader_file;
        const char *key;
        const char *key_format;
        bool framed;
};

static const struct rp_option options[] = {
        { "field", 0, RP_OPT_LIST, offsetof(struct args, fields), "PATH",
          "a field that routes, such as customer.id; may be repeated; without it the datum itself", NULL, 0, 0, NULL },
        { "as", 0, RP_OPT_TEXT, offsetof(struct args, as), "java|avro",
          "how the routing bytes are spelled; java for one field, avro for several", NULL, 0, 0, NULL },
        { "reader", 0, RP_OPT_TEXT, offsetof(struct args, reader_file), "FILE",
          "the reader's schema; without one, the writer's own", NULL, 0, 0, NULL },
        { "key", 0, RP_OPT_TEXT, offsetof(struct args, key), "KEY", "a sample key", NULL, 0, 0, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how --key is written: text, hex, base64, int32, int64 or uuid", "hex", 0, 0, rp_key_format_names },
        { "framed", 0, RP_OPT_FLAG, offsetof(struct args, framed), NULL,
          "keys carry a schema registry's frame, which is taken off first", NULL, 0, 0, NULL },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static const char *const outcome_names[] = { "projected", "unframed", "missing", "unresolved" };

/* A policy of one rule, as a user would write it. */
static kr_policy_t *make_policy(const struct args *args, const char *path, struct rp_error *err)
{
        json_t *fields = json_array(), *key, *root;
        kr_policy_t *policy = NULL;
        struct kr_error kerr = { "out of memory" };
        char *text;

        for (size_t i = 0; i < args->fields.cnt; i++)
                json_array_append_new(fields, json_string(args->fields.items[i]));
        key = json_pack("{s:s, s:{s:s}}", "use", "avro", "schema", "file", path);
        if (args->fields.cnt)
                json_object_set(key, "fields", fields);
        if (args->as)
                json_object_set_new(key, "as", json_string(args->as));
        if (args->reader_file)
                json_object_set_new(key, "reader", json_pack("{s:s}", "file", args->reader_file));
        if (args->framed)
                json_object_set_new(key, "over", json_string("payload"));
        json_decref(fields);
        root = json_pack("{s:i, s:{s:{s:o}}}", "keyroute", 1, "topics", "*", "key", key);
        text = root ? json_dumps(root, 0) : NULL;
        json_decref(root);
        /* In the current folder, where relative names are the user's. */
        policy = text ? kr_policy_parse_at(text, strlen(text), "schema show", &kerr) : NULL;
        free(text);
        if (!policy)
                rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        return policy;
}

static void print_hex(const unsigned char *data, size_t len)
{
        for (size_t i = 0; i < len; i++)
                printf("%02x", data[i]);
}

static void print_sample(const kr_rule_t *rule, const struct rp_key *key)
{
        unsigned char out[ROUTING_MAX];
        size_t len, shown;
        kr_key_outcome_t outcome = kr_rule_routing_bytes(rule, key->data, key->len, out, sizeof(out), &len);

        shown = len < sizeof(out) ? len : sizeof(out);
        printf("\nkey      %zu bytes, %s\nroutes   %zu bytes, 0x", key->len, outcome_names[outcome], len);
        print_hex(out, shown);
        fputs(shown < len ? "…" : "", stdout);
        if (shown && rp_is_printable(out, shown))
                printf("  \"%.*s\"", (int)shown, (const char *)out);
        puts(outcome >= KR_KEY_MISSING ? "  (the whole key)" : "");
}

static void print_json(const kr_rule_t *rule, const char *plan, const struct rp_key *key)
{
        unsigned char out[ROUTING_MAX];
        size_t len;

        fputs("{\"plan\": ", stdout);
        rp_print_json_string(stdout, plan, strlen(plan));
        if (key) {
                kr_key_outcome_t outcome = kr_rule_routing_bytes(rule, key->data, key->len, out, sizeof(out), &len);

                printf(", \"outcome\": \"%s\", \"routing_len\": %zu, \"routing_hex\": \"", outcome_names[outcome], len);
                print_hex(out, len < sizeof(out) ? len : sizeof(out));
                putchar('"');
        }
        puts("}");
}

static int show(const struct args *args, const char *path)
{
        struct rp_error err;
        struct rp_key key = { 0 };
        kr_policy_t *policy = make_policy(args, path, &err);
        const kr_rule_t *rule = policy ? kr_policy_rule_at(policy, 0) : NULL;
        char *plan = rule ? kr_rule_key_plan(rule) : NULL;
        int rc = RP_EXIT_CLEAN;

        if (!policy || (args->key && rp_key_parse(rp_key_format_find(args->key_format), args->key, strlen(args->key), &key,
                                                  &err) != RP_OK)) {
                rc = rp_die("schema", &err);
        } else if (!plan) {
                rp_fail(&err, RP_ERR_FATAL, "out of memory");
                rc = rp_die("schema", &err);
        } else if (rp_is_json(&args->common)) {
                print_json(rule, plan, args->key ? &key : NULL);
        } else {
                fputs(plan, stdout);
                if (args->key)
                        print_sample(rule, &key);
        }
        free(plan);
        rp_key_release(&key);
        kr_policy_free(policy);
        return rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct rp_error err;

        (void)operand_cnt;
        if (!strcmp(operands[0], "show"))
                return show(raw, operands[1]);
        rp_fail(&err, RP_ERR_USAGE, "expected \"show FILE\", found \"%.60s\"", operands[0]);
        return rp_die("schema", &err);
}

const struct rp_command rp_cmd_schema = {
        .name = "schema",
        .operands = "show FILE",
        .summary = "Shows how an Avro key is taken apart, and which of its bytes route",
        .description =
                "Compiles the schema of FILE as a policy with the key use avro would, and prints the plan by which keys are\n"
                "walked: what is skipped, what is taken and how it is spelled. With --key also what becomes of that key.",
        .examples = "  repartition schema show order-key.avsc --field customer.id\n"
                    "  repartition schema show v2.avsc --field id --reader v3.avsc --framed --key 00000000070a616c696365\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = 2,
        .run = run,
};
