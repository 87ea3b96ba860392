/* repartition explain: who placed these keys, from observed pairs of key and partition, without a broker. */
#include "cli/command.h"
#include "cli/key_format.h"
#include "report/audit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_policy_args policy;
        int64_t partitions;
        int64_t sample_keys;
        const char *observed;
        const char *key_format;
        const char *topic;
        bool show_keys;
};

static const struct rp_option options[] = {
        { "partitions", 0, RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "partitions of the topic; needed unless the policy pins them", NULL, 1, 1000000, NULL },
        { "observed", 0, RP_OPT_STREAM, offsetof(struct args, observed), "FILE",
          "one record a line: key, tab, partition", NULL, 0, 0, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how keys are written: text, hex, base64, int32, int64 or uuid", "text", 0, 0, rp_key_format_names },
        RP_POLICY_OPTIONS(struct args),
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC",
          "the topic whose rule in the policy judges; needed when it has more than one", NULL, 0, 0, NULL },
        RP_AUDIT_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

/* "key TAB partition" may head the file. */
static bool is_heading(const char *line, size_t len)
{
        static const char heading[] = "key\tpartition";

        while (len && isspace((unsigned char)line[len - 1]))
                len--;
        return len == strlen(heading) && !strncasecmp(line, heading, len);
}

/* The partition in the last column; *key_len becomes the length of what stands before it. */
static rp_err_t parse_partition(const char *line, size_t len, int32_t partition_cnt, size_t *key_len,
                                int32_t *partition, struct rp_error *err)
{
        const char *tab = memchr(line, '\t', len);
        char text[24];
        long long value;
        char *end;
        size_t text_len;

        if (!tab)
                return rp_fail(err, RP_ERR_USAGE, "expected a key, a tab and a partition, found no tab");
        *key_len = (size_t)(tab - line);
        text_len = len - *key_len - 1;
        snprintf(text, sizeof(text), "%.*s", (int)(text_len < sizeof(text) ? text_len : sizeof(text)), tab + 1);
        value = strtoll(text, &end, 10);
        while (*end == '\r' || *end == ' ')
                end++;
        if (!isdigit((unsigned char)text[0]) || *end || text_len >= sizeof(text) || strlen(text) != text_len)
                return rp_fail(err, RP_ERR_USAGE, "expected a partition after the tab, found \"%s\"%s", text,
                               memchr(tab + 1, '\t', text_len) ? "; a key that holds tabs can be given as hex or base64"
                                                               : "");
        if (value >= partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "partition %.*s, but with %" PRId32 " partitions the last is %" PRId32,
                               (int)strspn(text, "0123456789"), text, partition_cnt, partition_cnt - 1);
        *partition = (int32_t)value;
        return RP_OK;
}

static rp_err_t read_observed(struct rp_audit *audit, const struct args *args, FILE *in, const char *name,
                              struct rp_error *err)
{
        const struct rp_key_format *format = rp_key_format_find(args->key_format);
        struct rp_error why;
        struct rp_key key = { 0 };
        uint64_t line_cnt = 0;
        char *line = NULL;
        size_t size = 0;
        ssize_t got;
        rp_err_t rc = RP_OK;

        while (rc == RP_OK && (got = getline(&line, &size, in)) >= 0) {
                struct rp_record rec = { .offset = -1, .timestamp_ms = -1 };
                size_t len = (size_t)got, key_len = 0;

                if (len && line[len - 1] == '\n')
                        len--;
                if (++line_cnt == 1 && is_heading(line, len))
                        continue;
                rc = parse_partition(line, len, audit->partition_cnt, &key_len, &rec.partition, &why);
                if (rc == RP_OK)
                        rc = rp_key_parse(format, line, key_len, &key, &why);
                if (rc != RP_OK) {
                        rp_fail(err, rc, "%.200s: line %" PRIu64 ": %.280s", name, line_cnt, why.text);
                        break;
                }
                rec.key = key.data;
                rec.key_len = key.len;
                rc = rp_audit_add(audit, &rec, err);
        }
        if (rc == RP_OK && ferror(in))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line %" PRIu64 ": cannot read: %s", name, line_cnt + 1,
                             strerror(errno));
        else if (rc == RP_OK && !audit->records)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: expected at least one line with a key, a tab and a partition",
                             name);
        rp_key_release(&key);
        free(line);
        return rc;
}

static rp_err_t read_file(struct rp_audit *audit, const struct args *args, const char *name, struct rp_error *err)
{
        FILE *in;
        rp_err_t rc;

        if (!strcmp(args->observed, "-"))
                return read_observed(audit, args, stdin, name, err);
        in = fopen(args->observed, "rb");
        if (!in)
                return rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the observed pairs: %s", name, strerror(errno));
        rc = read_observed(audit, args, in, name, err);
        fclose(in);
        return rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct args *args = raw;
        struct rp_audit audit = { 0 };
        struct rp_findings findings = { 0 };
        struct rp_audit_report report = { .audit = &audit, .findings = &findings, .client_args = "" };
        struct rp_error err;
        kr_policy_t *policy = NULL;
        const kr_rule_t *rule;
        int32_t partition_cnt;
        int rc;

        (void)operands;
        (void)operand_cnt;
        if (!args->observed) {
                rp_fail(&err, RP_ERR_USAGE, "--observed FILE is missing: lines of key, tab and partition; \"-\" is standard "
                        "input");
                return rp_die("explain", &err);
        }
        report.name = strcmp(args->observed, "-") ? args->observed : "standard input";
        report.policy_file = args->policy.policy_file;
        report.hash = args->policy.hash;
        report.show_keys = args->show_keys;
        policy = rp_policy_from_args(&args->policy, &err);
        if (policy && (rule = rp_rule_from_args(&args->policy, policy, args->topic, &err)) &&
            (partition_cnt = rp_partition_cnt_from_args(&args->policy, rule, args->partitions, &err)) &&
            rp_audit_init(&audit, rule, partition_cnt, (size_t)args->sample_keys, &err) == RP_OK &&
            read_file(&audit, args, report.name, &err) == RP_OK && rp_audit_conclude(&audit, &findings, &err) == RP_OK)
                rc = rp_audit_report_print(&report, rp_is_json(&args->common), stdout);
        else
                rc = rp_die("explain", &err);
        rp_findings_release(&findings);
        rp_audit_release(&audit);
        kr_policy_free(policy);
        return rc;
}

const struct rp_command rp_cmd_explain = {
        .name = "explain",
        .operands = "",
        .summary = "Names the hash functions behind observed partitions, without a broker",
        .description =
                "Reads pairs of key and partition as they were observed, one record a line, and finds out which clients\n"
                "placed them: every known hash function, with the topic's partition count and all smaller ones that it\n"
                "may have had before, competes for the distinct keys. Mixtures of several producers are taken apart.\n"
                "The report says how sure each finding is, which functions cannot be told apart, and which\n"
                "configuration line mends it. Too few distinct keys give no verdict.\n\n"
                "The exit code is 0 when every key is where the judging rule puts it, else 1. That rule is Java's\n"
                "(murmur2) unless --hash or --policy says otherwise.\n\n"
                "With --output json one object; docs/explain.md describes its fields.",
        .examples = "  repartition explain --partitions 12 --observed seen.tsv\n"
                    "  kcat -C -b localhost:9092 -t orders -e -q -f '%k\\t%p\\n' |\n"
                    "    repartition explain --partitions 12 --observed -\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .run = run,
};
