/* repartition schema: how an Avro key is taken apart, and which of its bytes would route. */
#include "cli/command.h"
#include "cli/key_format.h"
#include "report/key_json.h"
#include "report/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTING_MAX = 4096, FRAME_MAX = 17 };

struct args {
        struct rp_common common;
        struct rp_list fields;
        const char *as;
        const char *reader_file;
        const char *key;
        const char *key_format;
        bool framed;
        struct rp_list registries;
        const char *ca_file;
        const char *policy_file;
        const char *topic;
};

static const struct rp_option options[] = {
        { "field", 0, RP_OPT_LIST, offsetof(struct args, fields), "PATH",
          "a field that routes, such as customer.id; may be repeated; without it the datum itself", NULL, 0, 0, NULL },
        { "as", 0, RP_OPT_TEXT, offsetof(struct args, as), "java|avro",
          "how the routing bytes are spelled; java for one field, avro for several", NULL, 0, 0, NULL },
        { "reader", 0, RP_OPT_INPUT, offsetof(struct args, reader_file), "FILE",
          "the reader's schema; without one, the writer's own", NULL, 0, 0, NULL },
        { "registry", 0, RP_OPT_LIST, offsetof(struct args, registries), "URL",
          "ask this schema registry for ID; may be repeated, the next one is asked when one fails", NULL, 0, 0, NULL },
        { "registry-ca", 0, RP_OPT_INPUT, offsetof(struct args, ca_file), "FILE",
          "certificates (PEM) that may sign the registry's; without it the system's", NULL, 0, 0, NULL },
        { "policy", 0, RP_OPT_INPUT, offsetof(struct args, policy_file), "FILE",
          "ask the registry of this policy, with its credentials, for the fields that its rule names", NULL, 0, 0, NULL },
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC",
          "the topic whose rule in the policy it is; needed when it has more than one", NULL, 0, 0, NULL },
        { "key", 0, RP_OPT_TEXT, offsetof(struct args, key), "KEY", "a sample key", NULL, 0, 0, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how --key is written: text, hex, base64, int32, int64 or uuid", "hex", 0, 0, rp_key_format_names },
        { "framed", 0, RP_OPT_FLAG, offsetof(struct args, framed), NULL,
          "the sample key carries a schema registry's frame: taken off with FILE, else the id in it counts", NULL, 0, 0, NULL },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static const char *const outcome_names[] = { "projected", "unframed", "missing", "unresolved" };

/* ---- the rule -------------------------------------------------------------------------------------------------- */

/* A schema's number as registries count; 0: it is none. */
static int64_t schema_id(const char *text)
{
        size_t len = strlen(text);

        return len && len < 19 && strspn(text, "0123456789") == len ? strtoll(text, NULL, 10) : 0;
}

/* A number, or 32 hex digits with dashes or without. */
static bool is_schema_name(const char *text)
{
        size_t hex = 0, dashes = 0, len = strlen(text);

        for (size_t i = 0; i < len; i++) {
                hex += isxdigit((unsigned char)text[i]) != 0;
                dashes += text[i] == '-';
        }
        return schema_id(text) || (hex == 32 && hex + dashes == len);
}

static json_t *text_list(const struct rp_list *list)
{
        json_t *array = json_array();

        for (size_t i = 0; i < list->cnt; i++)
                json_array_append_new(array, json_string(list->items[i]));
        return array;
}

/* "schemas" of the policy, or NULL. */
static json_t *registries_of(const struct args *args)
{
        json_t *registry;

        if (!args->registries.cnt)
                return NULL;
        registry = json_pack("{s:o}", "urls", text_list(&args->registries));
        if (args->ca_file)
                json_object_set_new(registry, "ca", json_string(args->ca_file));
        return json_pack("{s:{s:o}}", "registries", "main", registry);
}

/* A policy of one rule, as a user would write it. */
static kr_policy_t *make_policy(const struct args *args, const char *file, struct rp_error *err)
{
        json_t *key = json_pack("{s:s, s:{s:s}}", "use", "avro", "schema", file ? "file" : "registry", file ? file : "main");
        json_t *schemas = registries_of(args), *root;
        kr_policy_t *policy = NULL;
        struct kr_error kerr = { "out of memory" };
        char *text;

        if (args->fields.cnt)
                json_object_set_new(key, "fields", text_list(&args->fields));
        if (args->as)
                json_object_set_new(key, "as", json_string(args->as));
        if (args->reader_file)
                json_object_set_new(key, "reader", json_pack("{s:s}", "file", args->reader_file));
        if (args->framed && file)
                json_object_set_new(key, "over", json_string("payload"));
        root = json_pack("{s:i, s:{s:{s:o}}}", "keyroute", 1, "topics", "*", "key", key);
        if (schemas)
                json_object_set_new(root, "schemas", schemas);
        text = root ? json_dumps(root, 0) : NULL;
        json_decref(root);
        /* In the current folder, where relative names are the user's. */
        policy = text ? kr_policy_parse_at(text, strlen(text), "schema show", &kerr) : NULL;
        free(text);
        if (!policy)
                rp_fail(err, RP_ERR_USAGE, "%s%s", kerr.text,
                        file && is_schema_name(file) ? "; an id is asked for with --registry URL or --policy FILE" : "");
        return policy;
}

/* Whether what is to be shown is asked for rather than read from a file. */
static bool is_asked(const struct args *args)
{
        return args->registries.cnt || args->policy_file;
}

/* What the arguments name goes into a policy, which is JSON and holds no other bytes. */
static rp_err_t check_text(const char *text, struct rp_error *err)
{
        json_t *json = text ? json_string(text) : json_null();

        if (!json)
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" is no UTF-8: a policy cannot name it", text);
        json_decref(json);
        return RP_OK;
}

static rp_err_t check_texts(const struct args *args, const char *what, struct rp_error *err)
{
        const char *const texts[] = { what, args->as, args->reader_file, args->ca_file };
        const struct rp_list *const lists[] = { &args->fields, &args->registries };

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                if (check_text(texts[i], err) != RP_OK)
                        return err->code;
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
                for (size_t j = 0; j < lists[i]->cnt; j++)
                        if (check_text(lists[i]->items[j], err) != RP_OK)
                                return err->code;
        return RP_OK;
}

static rp_err_t check_args(const struct args *args, const char *what, struct rp_error *err)
{
        if (is_asked(args) && !is_schema_name(what))
                return rp_fail(err, RP_ERR_USAGE, "\"%.100s\" is neither a schema's id nor a GUID, which is what registries know "
                               "them by", what);
        if (args->registries.cnt && schema_id(what) > INT32_MAX)
                return rp_fail(err, RP_ERR_USAGE, "\"%.100s\" is no schema's id: it has 4 bytes in a frame, so that %" PRId32
                               " is the last; --policy asks by a rule with longer ones", what, INT32_MAX);
        if (args->policy_file && args->registries.cnt)
                return rp_fail(err, RP_ERR_USAGE, "--policy and --registry exclude each other: the policy names its registries");
        if (args->policy_file && (args->fields.cnt || args->as || args->reader_file))
                return rp_fail(err, RP_ERR_USAGE, "--field, --as and --reader are what the rule of --policy says already");
        if (args->ca_file && !args->registries.cnt)
                return rp_fail(err, RP_ERR_USAGE, "--registry-ca is of a --registry, which is missing");
        if (args->topic && !args->policy_file)
                return rp_fail(err, RP_ERR_USAGE, "--topic chooses a rule of a --policy, which is missing");
        return RP_OK;
}

static const kr_rule_t *find_rule(const struct args *args, const char *what, kr_policy_t **policy, struct rp_error *err)
{
        struct rp_policy_args policy_args = { .policy_file = args->policy_file };

        if (check_texts(args, what, err) != RP_OK || check_args(args, what, err) != RP_OK)
                return NULL;
        if (!args->policy_file) {
                *policy = make_policy(args, is_asked(args) ? NULL : what, err);
                if (*policy)
                        kr_policy_be_strict(*policy);
                return *policy ? kr_policy_rule_at(*policy, 0) : NULL;
        }
        *policy = rp_policy_from_args(&policy_args, err);
        return *policy ? rp_rule_from_args(&policy_args, *policy, args->topic, err) : NULL;
}

/* ---- the sample key -------------------------------------------------------------------------------------------- */

static unsigned hex_digit(char digit)
{
        return (unsigned)(isdigit((unsigned char)digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

/* The frame that a registry's serializer puts before keys of this schema, which is a number or a GUID. @returns its length. */
static size_t make_frame(const char *schema, unsigned char frame[FRAME_MAX])
{
        bool is_guid = strlen(schema) >= 32;
        uint32_t id = (uint32_t)strtoul(schema, NULL, 10);
        size_t len = 1;

        memset(frame, 0, FRAME_MAX);
        if (!is_guid) {
                for (int i = 0; i < 4; i++)
                        frame[len++] = (unsigned char)(id >> 8 * (3 - i));
                return len;
        }
        frame[0] = 1;
        for (size_t digits = 0; *schema && digits < 32; schema++)
                if (*schema != '-') {
                        frame[1 + digits / 2] = (unsigned char)(frame[1 + digits / 2] << 4 | hex_digit(*schema));
                        digits++;
                }
        return FRAME_MAX;
}

static rp_err_t read_key(const struct args *args, const char *what, struct rp_key *key, struct rp_error *err)
{
        unsigned char frame[FRAME_MAX], *framed;
        size_t len;

        if (rp_key_parse(rp_key_format_find(args->key_format), args->key, strlen(args->key), key, err) != RP_OK)
                return err->code;
        if (args->framed || !args->registries.cnt)
                return RP_OK;
        /* The rule reads a key by the schema that its frame names: this one. */
        len = make_frame(what, frame);
        framed = malloc(len + key->len);
        if (!framed)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        memcpy(framed, frame, len);
        if (key->len)
                memcpy(framed + len, key->data, key->len);
        len += key->len;
        rp_key_release(key);
        *key = (struct rp_key){ .data = framed, .len = len, .buf = framed, .size = len };
        return RP_OK;
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

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

static int show(const struct args *args, const char *what)
{
        struct rp_error err;
        struct kr_error kerr = { "out of memory" };
        struct rp_key key = { 0 };
        kr_policy_t *policy = NULL;
        const kr_rule_t *rule = find_rule(args, what, &policy, &err);
        char *plan = NULL;
        int rc = RP_EXIT_CLEAN;

        if (rule)
                plan = is_asked(args) ? kr_rule_schema_plan(rule, what, &kerr) : kr_rule_key_plan(rule);
        if (rule && !plan)
                rp_fail(&err, is_asked(args) ? RP_ERR_INCOMPLETE : RP_ERR_FATAL, "%s", kerr.text);
        if (!plan || (args->key && read_key(args, what, &key, &err) != RP_OK)) {
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
        if (strcmp(operands[0], "show") != 0)
                rp_fail(&err, RP_ERR_USAGE, "expected \"show FILE\" or \"show ID\", found \"%.60s\"", operands[0]);
        else if (rp_input_operands(operands + 1, 1, &err) == RP_OK)
                return show(raw, operands[1]);
        return rp_die("schema", &err);
}

const struct rp_command rp_cmd_schema = {
        .name = "schema",
        .operands = "show FILE|ID",
        .summary = "Shows how an Avro key is taken apart, and which of its bytes route",
        .description =
                "Compiles the schema of FILE as a policy with the key use avro would, and prints the plan by which keys are\n"
                "walked: what is skipped, what is taken and how it is spelled. With --key also what becomes of that key.\n"
                "With --registry or --policy the schema is the one that the registry gives for ID, a number or a GUID. - as\n"
                "FILE is standard input.",
        .examples = "  repartition schema show order-key.avsc --field customer.id\n"
                    "  repartition schema show v2.avsc --field id --reader v3.avsc --framed --key 00000000070a616c696365\n"
                    "  repartition schema show 7 --registry http://localhost:8081 --field id --key 0a616c696365\n"
                    "  repartition schema show 7 --policy policy.json --topic orders\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 2,
        .operand_max = 2,
        .run = run,
};
