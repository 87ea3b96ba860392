/* repartition policy: check, compile, show and compare policies, without a broker. */
#include "cli/command.h"
#include "cli/key_format.h"
#include "io/file.h"
#include "report/json.h"
#include "report/policy.h"
#include "report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        const char *out_file;
        const char *from_file;
        const char *topic;
        const char *keys_file;
        const char *key_format;
        int64_t partitions;
        bool expand;
};

static const struct rp_option options[] = {
        { "out", 'o', RP_OPT_OUTPUT, offsetof(struct args, out_file), "FILE",
          "compile: write there, whole or not at all", NULL, 0, 0, NULL },
        { "from", 0, RP_OPT_INPUT, offsetof(struct args, from_file), "CURRENT",
          "compile: the policy in force; slots start from its tables and as few as can be move", NULL, 0, 0, NULL },
        { "expand", 0, RP_OPT_FLAG, offsetof(struct args, expand), NULL,
          "compile: write the owner of every slot, not runs of them", NULL, 0, 0, NULL },
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC", "show, diff: this topic alone", NULL, 0, 0,
          NULL },
        { "partitions", 0, RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "show, diff: the topic's count, for rules that take any", NULL, 1, 1000000, NULL },
        { "keys", 0, RP_OPT_INPUT, offsetof(struct args, keys_file), "FILE",
          "diff: count what moves on these keys, one a line", NULL, 0, 0, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "diff: how --keys writes keys: text, hex, base64, int32, int64 or uuid", "text", 0, 0, rp_key_format_names },
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static kr_policy_t *load(const char *path, struct rp_error *err)
{
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_load(path, &kerr);

        if (!policy)
                rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        return policy;
}

/* ---- check ---- */

static void print_checked(const char *path, const kr_policy_t *policy)
{
        struct rp_table *table = rp_table_new("llrll");
        const kr_rule_t *rule;

        printf("%s\n", path);
        for (size_t i = 0; (rule = kr_policy_rule_at(policy, i)); i++) {
                rp_table_cell(table, "%s", kr_rule_topic(rule));
                rp_table_cell(table, "%s", kr_rule_fingerprint(rule));
                if (kr_rule_partitions(rule))
                        rp_table_cell(table, "%" PRId32 " partitions", kr_rule_partitions(rule));
                else
                        rp_table_cell(table, "any partitions");
                rp_table_cell(table, "%s", kr_rule_describe(rule));
                rp_table_cell(table, "%s", rp_text_bytes(kr_rule_memory_bytes(rule)).s);
        }
        rp_table_print(table, stdout, 2, 3);
        rp_table_free(table);
}

static void print_checked_json(const char *path, const kr_policy_t *policy, const struct rp_error *err)
{
        json_t *out = json_pack("{s:s, s:b}", "file", path, "valid", policy != NULL);
        json_t *topics;

        if (!out)
                out = json_pack("{s:n, s:b}", "file", "valid", policy != NULL); /* a path that is not UTF-8 */
        if (!policy) {
                json_object_set_new(out, "error", json_string(err->text));
                rp_json_print(out, stdout);
                return;
        }
        topics = json_array();
        for (size_t i = 0; kr_policy_rule_at(policy, i); i++)
                json_array_append_new(topics, rp_rule_json(kr_policy_rule_at(policy, i)));
        json_object_set_new(out, "topics", topics);
        rp_json_print(out, stdout);
}

static int check(const struct args *args, char **files, int cnt)
{
        int rc = RP_EXIT_CLEAN;

        for (int i = 0; i < cnt; i++) {
                struct rp_error err;
                kr_policy_t *policy = load(files[i], &err);

                if (!policy)
                        rc = rp_die("policy", &err);
                if (rp_is_json(&args->common))
                        print_checked_json(files[i], policy, &err);
                else if (policy)
                        print_checked(files[i], policy);
                kr_policy_free(policy);
        }
        return rc;
}

/* ---- compile ---- */

/* The new file in its own folder, where the files that it names must be found. */
static rp_err_t check_written(const char *path, void *opaque, struct rp_error *err)
{
        struct rp_error why;
        kr_policy_t *policy = load(path, &why);

        (void)opaque;
        if (!policy)
                return rp_fail(err, RP_ERR_USAGE, "the compiled policy cannot stand there: %.400s", why.text);
        kr_policy_free(policy);
        return RP_OK;
}

static int compile(const struct args *args, char **files, int cnt)
{
        struct rp_error err;
        struct kr_error kerr;
        kr_policy_t *current = NULL;
        char *text = NULL;
        rp_err_t rc = RP_OK;

        (void)cnt;
        if (args->from_file && !(current = load(args->from_file, &err)))
                return rp_die("policy", &err);
        text = kr_policy_compile(files[0], current, args->expand, &kerr);
        if (!text)
                rc = rp_fail(&err, RP_ERR_USAGE, "%s", kerr.text);
        else if (args->out_file)
                rc = rp_file_replace(args->out_file, text, strlen(text), check_written, NULL, &err);
        else
                fputs(text, stdout);
        free(text);
        kr_policy_free(current);
        return rc == RP_OK ? RP_EXIT_CLEAN : rp_die("policy", &err);
}

/* ---- show ---- */

/* The rule that is meant by --topic, or every rule in turn. NULL behind the last. */
static const kr_rule_t *chosen_rule(const struct args *args, const kr_policy_t *policy, size_t i)
{
        if (args->topic)
                return i ? NULL : kr_policy_rule(policy, args->topic);
        return kr_policy_rule_at(policy, i);
}

static rp_err_t no_topic(const char *path, const char *topic, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_USAGE, "%.300s: no rule for the topic \"%.249s\"", path, topic);
}

/* The count that the rule pins, else the one that was given, else 0. */
static rp_err_t count_for(const struct args *args, const kr_rule_t *rule, int32_t *cnt, struct rp_error *err)
{
        int32_t pinned = kr_rule_partitions(rule);

        /* Without --topic a given count is meant for the rules that need one. */
        if (pinned && args->topic && args->partitions && args->partitions != pinned)
                return rp_fail(err, RP_ERR_USAGE, "--partitions is %" PRId64 ", but the policy pins %" PRId32 " for %.249s",
                               args->partitions, pinned, kr_rule_topic(rule));
        *cnt = pinned ? pinned : (int32_t)args->partitions;
        return RP_OK;
}

static rp_err_t show_rule(const struct args *args, const kr_rule_t *rule, bool first, struct rp_error *err)
{
        struct rp_rule_view view;
        int32_t cnt;

        if (count_for(args, rule, &cnt, err) != RP_OK)
                return err->code;
        if (rp_rule_view(&view, rule, cnt, err) == RP_OK) {
                if (rp_is_json(&args->common)) {
                        rp_json_print(rp_rule_view_json(&view), stdout);
                } else {
                        fputs(first ? "" : "\n", stdout);
                        rp_rule_view_text(&view, stdout);
                }
                rp_rule_view_release(&view);
                return RP_OK;
        }
        rp_rule_view_release(&view);
        return err->code;
}

static int show(const struct args *args, char **files, int cnt)
{
        struct rp_error err;
        kr_policy_t *policy = load(files[0], &err);
        const kr_rule_t *rule;
        rp_err_t rc = RP_OK;

        (void)cnt;
        if (!policy)
                return rp_die("policy", &err);
        if (!chosen_rule(args, policy, 0))
                rc = no_topic(files[0], args->topic, &err);
        for (size_t i = 0; rc == RP_OK && (rule = chosen_rule(args, policy, i)); i++)
                rc = show_rule(args, rule, i == 0, &err);
        kr_policy_free(policy);
        return rc == RP_OK ? RP_EXIT_CLEAN : rp_die("policy", &err);
}

/* ---- diff ---- */

static int by_pair(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static int by_share(const void *a, const void *b)
{
        const struct kr_flow *x = a, *y = b;

        if (x->share != y->share)
                return x->share > y->share ? -1 : 1;
        return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to < y->to ? -1 : x->to > y->to);
}

/* What became of the keys of --keys. */
struct count {
        uint64_t *moved; /* from << 32 | to, one a key that moves */
        size_t moved_cnt, size;
        uint64_t key_cnt, java_a, java_b;
};

static rp_err_t count_key(struct count *count, const struct rp_rule_diff *diff, const kr_rule_t *java,
                          const struct rp_key *key, struct rp_error *err)
{
        int32_t from = kr_rule_partition(diff->a.rule, key->data, key->len, diff->a.partition_cnt);
        int32_t to = kr_rule_partition(diff->b.rule, key->data, key->len, diff->b.partition_cnt);

        if (from == KR_ERR_KEY_UNRESOLVED || to == KR_ERR_KEY_UNRESOLVED)
                return rp_fail(err, RP_ERR_INCOMPLETE, "%s", kr_strerror(KR_ERR_KEY_UNRESOLVED));
        /* Whatever the other reason for which a key is refused. */
        from = from < 0 ? -1 : from;
        to = to < 0 ? -1 : to;
        count->key_cnt++;
        count->java_a += from == kr_rule_partition(java, key->data, key->len, diff->a.partition_cnt);
        count->java_b += to == kr_rule_partition(java, key->data, key->len, diff->b.partition_cnt);
        if (from == to)
                return RP_OK;
        if (count->moved_cnt == count->size) {
                size_t size = count->size ? 2 * count->size : 1024;
                uint64_t *grown = realloc(count->moved, size * sizeof(*grown));

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                count->moved = grown;
                count->size = size;
        }
        count->moved[count->moved_cnt++] = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
        return RP_OK;
}

static rp_err_t count_lines(struct count *count, const struct args *args, const struct rp_rule_diff *diff,
                            const kr_rule_t *java, FILE *in, struct rp_error *err)
{
        const struct rp_key_format *format = rp_key_format_find(args->key_format);
        struct rp_key key = { 0 };
        struct rp_error why;
        char *line = NULL;
        size_t size = 0;
        ssize_t len;
        rp_err_t rc = RP_OK;

        while (rc == RP_OK && (len = getline(&line, &size, in)) >= 0) {
                if (len && line[len - 1] == '\n')
                        len--;
                rc = rp_key_parse(format, line, (size_t)len, &key, &why);
                if (rc == RP_OK)
                        rc = count_key(count, diff, java, &key, &why);
                if (rc != RP_OK)
                        rp_fail(err, rc, "%.200s: line %" PRIu64 ": %s", args->keys_file, count->key_cnt + 1, why.text);
        }
        if (rc == RP_OK && ferror(in))
                rc = rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the keys: %s", args->keys_file, strerror(errno));
        if (rc == RP_OK && !count->key_cnt)
                rc = rp_fail(err, RP_ERR_USAGE, "%.300s: there are no keys in it", args->keys_file);
        free(line);
        rp_key_release(&key);
        return rc;
}

/* Puts what was counted in the place of what was computed. */
static rp_err_t take_count(const struct count *count, struct rp_rule_diff *diff, struct rp_error *err)
{
        struct kr_comparison *change = &diff->change;
        struct kr_flow *flows = malloc((count->moved_cnt + 1) * sizeof(*flows));
        size_t cnt = 0;

        if (!flows)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (count->moved_cnt)
                qsort(count->moved, count->moved_cnt, sizeof(*count->moved), by_pair);
        for (size_t i = 0; i < count->moved_cnt; i++) {
                if (!i || count->moved[i] != count->moved[i - 1])
                        flows[cnt++] = (struct kr_flow){ (int32_t)(uint32_t)(count->moved[i] >> 32),
                                                         (int32_t)(uint32_t)count->moved[i], 0 };
                flows[cnt - 1].share += 1 / (double)count->key_cnt;
        }
        qsort(flows, cnt, sizeof(*flows), by_share);
        free(change->flows);
        change->flows = flows;
        change->flow_cnt = cnt;
        change->moved = (double)count->moved_cnt / (double)count->key_cnt;
        diff->key_cnt = count->key_cnt;
        diff->a.java_basis = diff->b.java_basis = KR_EXACT;
        diff->a.java_share = (double)count->java_a / (double)count->key_cnt;
        diff->b.java_share = (double)count->java_b / (double)count->key_cnt;
        return RP_OK;
}

static rp_err_t count_on_keys(const struct args *args, struct rp_rule_diff *diff, struct rp_error *err)
{
        struct kr_error kerr;
        struct count count = { 0 };
        kr_policy_t *java = kr_policy_from_hash("murmur2", &kerr);
        FILE *in = fopen(args->keys_file, "rb");
        rp_err_t rc;

        diff->keys_file = args->keys_file;
        if (!java)
                rc = rp_fail(err, RP_ERR_FATAL, "%s", kerr.text);
        else if (!in)
                rc = rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the keys: %s", args->keys_file, strerror(errno));
        else
                rc = count_lines(&count, args, diff, kr_policy_rule_at(java, 0), in, err);
        if (rc == RP_OK)
                rc = take_count(&count, diff, err);
        if (in)
                fclose(in);
        free(count.moved);
        kr_policy_free(java);
        return rc;
}

/* The count of a rule that takes any is that of the other rule. Both 0: nobody knows. */
static rp_err_t counts_for(const struct args *args, const kr_rule_t *a, const kr_rule_t *b, int32_t cnts[2],
                           struct rp_error *err)
{
        if (count_for(args, a, &cnts[0], err) != RP_OK || count_for(args, b, &cnts[1], err) != RP_OK)
                return err->code;
        if (!cnts[0])
                cnts[0] = cnts[1];
        if (!cnts[1])
                cnts[1] = cnts[0];
        return RP_OK;
}

static rp_err_t diff_both(const struct args *args, struct rp_rule_diff *diff, const kr_rule_t *a, const kr_rule_t *b,
                          struct rp_error *err)
{
        struct kr_error kerr;
        int32_t cnts[2];

        diff->identical = !strcmp(kr_rule_fingerprint(a), kr_rule_fingerprint(b));
        if (counts_for(args, a, b, cnts, err) != RP_OK || rp_rule_view(&diff->a, a, cnts[0], err) != RP_OK ||
            rp_rule_view(&diff->b, b, cnts[1], err) != RP_OK)
                return err->code;
        if (diff->identical || !cnts[0])
                return RP_OK;
        if (!kr_rule_compare(a, cnts[0], b, cnts[1], &diff->change, &kerr))
                return rp_fail(err, RP_ERR_USAGE, "%s", kerr.text);
        return args->keys_file ? count_on_keys(args, diff, err) : RP_OK;
}

static rp_err_t diff_topic(const struct args *args, const char *topic, const kr_rule_t *a, const kr_rule_t *b, bool *differs,
                           struct rp_error *err)
{
        struct rp_rule_diff diff = { .topic = topic, .a.rule = a, .b.rule = b, .change.basis = KR_UNKNOWN };
        rp_err_t rc = a && b ? diff_both(args, &diff, a, b, err) : RP_OK;

        if (rc == RP_OK) {
                if (rp_is_json(&args->common))
                        rp_json_print(rp_rule_diff_json(&diff), stdout);
                else
                        rp_rule_diff_text(&diff, stdout);
                *differs = *differs || !diff.identical;
        }
        kr_comparison_release(&diff.change);
        rp_rule_view_release(&diff.a);
        rp_rule_view_release(&diff.b);
        return rc;
}

/* The other policy's rule for a name or pattern: the one spelled alike; for a name also the pattern that it matches. */
static const kr_rule_t *counterpart(const kr_policy_t *policy, const char *topic)
{
        const kr_rule_t *rule;

        for (size_t i = 0; (rule = kr_policy_rule_at(policy, i)); i++)
                if (!strcmp(kr_rule_topic(rule), topic))
                        return rule;
        return strpbrk(topic, "*?") ? NULL : kr_policy_rule(policy, topic);
}

static rp_err_t diff_all(const struct args *args, const kr_policy_t *a, const kr_policy_t *b, bool *differs,
                         struct rp_error *err)
{
        const kr_rule_t *rule;
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && (rule = kr_policy_rule_at(a, i)); i++)
                rc = diff_topic(args, kr_rule_topic(rule), rule, counterpart(b, kr_rule_topic(rule)), differs, err);
        /* What the second policy names and the first does not spell: every pair was told once. */
        for (size_t i = 0; rc == RP_OK && (rule = kr_policy_rule_at(b, i)); i++) {
                const kr_rule_t *other = counterpart(a, kr_rule_topic(rule));

                if (!other || strcmp(kr_rule_topic(other), kr_rule_topic(rule)))
                        rc = diff_topic(args, kr_rule_topic(rule), other, rule, differs, err);
        }
        return rc;
}

static rp_err_t diff_chosen(const struct args *args, char **files, const kr_policy_t *a, const kr_policy_t *b, bool *differs,
                            struct rp_error *err)
{
        const kr_rule_t *rule_a, *rule_b;

        if (!args->topic)
                return diff_all(args, a, b, differs, err);
        rule_a = kr_policy_rule(a, args->topic);
        rule_b = kr_policy_rule(b, args->topic);
        if (!rule_a || !rule_b)
                return no_topic(files[rule_a ? 1 : 0], args->topic, err);
        return diff_topic(args, args->topic, rule_a, rule_b, differs, err);
}

static int diff(const struct args *args, char **files, int cnt)
{
        struct rp_error err;
        kr_policy_t *a = load(files[0], &err), *b = a ? load(files[1], &err) : NULL;
        bool differs = false;
        rp_err_t rc = RP_ERR_USAGE;

        (void)cnt;
        if (b && args->keys_file) {
                rp_policy_judge(a);
                rp_policy_judge(b);
        }
        if (b)
                rc = diff_chosen(args, files, a, b, &differs, &err);
        kr_policy_free(a);
        kr_policy_free(b);
        if (rc != RP_OK)
                return rp_die("policy", &err);
        return differs ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
}

/* ---- */

static const struct verb {
        const char *name, *operands;
        int least, most; /* files; most -1: any number */
        int (*run)(const struct args *args, char **files, int cnt);
        const char *options; /* of the rows above, those that mean something to it */
} verbs[] = {
        { "check", "FILE...", 1, -1, check, "" },
        { "compile", "FILE", 1, 1, compile, "out from expand" },
        { "show", "FILE", 1, 1, show, "topic partitions" },
        { "diff", "A B", 2, 2, diff, "topic partitions keys" },
};

/* An option that a verb would silently ignore is a mistake: --from with diff, say. */
static const char *stray_option(const struct args *args, const struct verb *verb)
{
        const struct {
                const char *name;
                bool given;
        } given[] = { { "out", args->out_file },   { "from", args->from_file },         { "expand", args->expand },
                      { "topic", args->topic },    { "partitions", args->partitions },  { "keys", args->keys_file } };

        for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
                if (given[i].given && !strstr(verb->options, given[i].name))
                        return given[i].name;
        return NULL;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct rp_error err;

        for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
                const struct verb *verb = &verbs[i];
                const char *stray;

                if (strcmp(verb->name, operands[0]))
                        continue;
                stray = stray_option(args, verb);
                if (operand_cnt - 1 < verb->least || (verb->most >= 0 && operand_cnt - 1 > verb->most))
                        rp_fail(&err, RP_ERR_USAGE, "%s: expected %s, got %d file%s", verb->name, verb->operands,
                                operand_cnt - 1, operand_cnt == 2 ? "" : "s");
                else if (stray)
                        rp_fail(&err, RP_ERR_USAGE, "%s takes no --%s", verb->name, stray);
                else if (rp_input_operands(operands + 1, operand_cnt - 1, &err) == RP_OK)
                        return verb->run(args, operands + 1, operand_cnt - 1);
                return rp_die("policy", &err);
        }
        rp_fail(&err, RP_ERR_USAGE, "expected check, compile, show or diff, got \"%.60s\"", operands[0]);
        return rp_die("policy", &err);
}

const struct rp_command rp_cmd_policy = {
        .name = "policy",
        .operands = "check|compile|show|diff FILE...",
        .summary = "Checks, compiles, shows and compares policies, without a broker",
        .description =
                "check reads policies as the plugin would and prints the fingerprint of each topic's rule; the exit code is 2\n"
                "when one of them is wrong.\n\n"
                "compile spells everything out: weights become the owner of each slot, a ring becomes its ranges, so that\n"
                "any language can route by it. The result is a policy and has the same fingerprints. With --from CURRENT\n"
                "the slots start from the table in force, and only as many move as the new weights or the new number of\n"
                "partitions need: that is how a topic grows.\n\n"
                "show prints each rule, its memory, the share of the keys that each partition gets and the share that still\n"
                "goes where Java's rule sends it.\n\n"
                "diff tells what share of the keys goes to another partition by B than by A, and from where to where. It is\n"
                "computed exactly where the maps allow, else counted on random keys, always the same; with --keys it is\n"
                "counted on yours. The exit code is 1 when a topic is routed differently.\n\n"
                "FILE, CURRENT, A or B may be - for standard input, once. The files that such a policy names are named by their\n"
                "full paths.\n\n"
                "With --output json one object a line: a file (check), a topic (show, diff).",
        .examples = "  repartition policy check keyroute.json\n"
                    "  repartition policy compile keyroute.json -o compiled.json\n"
                    "  repartition policy compile grown.json --from keyroute.json -o compiled.json\n"
                    "  repartition policy diff keyroute.json compiled.json\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_min = 1,
        .operand_max = -1,
        .run = run,
};
