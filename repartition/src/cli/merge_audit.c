/* Parts of an audit, taken up and added: the same report as that of one audit of the whole topic. */
#include "cli/merge_audit.h"

#include "cli/command.h"
#include "report/audit_part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct merged {
        struct rp_audit_part head; /* of the first part; the earliest time of all */
        const kr_rule_t *rule;
        struct rp_audit audit;
        struct rp_coverage *coverage;
        const char **from; /* by partition: the file that holds it */
};

static rp_err_t begin(struct merged *merged, const struct rp_merge_audit *merge, const struct rp_audit_part *part,
                      struct rp_error *err)
{
        merged->head = *part;
        merged->rule = rp_rule_from_args(merge->policy_args, merge->policy, part->topic, err);
        if (!merged->rule)
                return err->code;
        merged->coverage = calloc((size_t)part->partition_cnt, sizeof(*merged->coverage));
        merged->from = calloc((size_t)part->partition_cnt, sizeof(*merged->from));
        if (!merged->coverage || !merged->from)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rp_audit_init(&merged->audit, merged->rule, part->partition_cnt, part->sample_keys, err);
}

static rp_err_t check(const struct merged *merged, const struct rp_audit_part *part, const char *path, struct rp_error *err)
{
        const struct rp_audit_part *head = &merged->head;
        int32_t pinned = kr_rule_partitions(merged->rule);

        if (strcmp(part->topic, head->topic) != 0 || part->partition_cnt != head->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "%.150s is about topic \"%.100s\" of %" PRId32 " partitions, the parts before "
                               "it about \"%.100s\" of %" PRId32, path, part->topic, part->partition_cnt, head->topic,
                               head->partition_cnt);
        if (part->sample_keys != head->sample_keys)
                return rp_fail(err, RP_ERR_USAGE, "%.200s was made with --sample-keys %zu, the parts before it with %zu", path,
                               part->sample_keys, head->sample_keys);
        if (strcmp(part->fingerprint, kr_rule_fingerprint(merged->rule)) != 0 || (pinned && pinned != part->partition_cnt))
                return rp_fail(err, RP_ERR_USAGE, "%.150s was judged by another policy (%.100s, %.40s) than this one (%.100s, "
                               "%.40s): give merge the same --policy or --hash", path, part->rule, part->fingerprint,
                               kr_rule_describe(merged->rule), kr_rule_fingerprint(merged->rule));
        return RP_OK;
}

static rp_err_t take_coverage(struct merged *merged, const struct rp_coverage *coverage, const char *path, struct rp_error *err)
{
        for (int32_t p = 0; p < merged->head.partition_cnt; p++) {
                if (coverage[p].skipped)
                        continue;
                if (merged->from[p])
                        return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%.100s\" is in %.150s and in %.150s: "
                                       "give each once", p, merged->head.topic, merged->from[p], path);
                merged->from[p] = path;
                merged->coverage[p] = coverage[p];
        }
        return RP_OK;
}

static rp_err_t add(struct merged *merged, const struct rp_merge_audit *merge, const struct rp_merge_input *input,
                    struct rp_error *err)
{
        struct rp_audit_part part;
        struct rp_audit audit = { 0 };
        struct rp_coverage *coverage = NULL;
        rp_err_t rc = rp_audit_part_read(&part, input->document, input->path, err);

        if (rc == RP_OK && !merged->rule)
                rc = begin(merged, merge, &part, err);
        if (rc == RP_OK)
                rc = check(merged, &part, input->path, err);
        if (rc == RP_OK)
                rc = rp_audit_init(&audit, merged->rule, part.partition_cnt, part.sample_keys, err);
        if (rc == RP_OK && !(coverage = calloc((size_t)part.partition_cnt, sizeof(*coverage))))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = rp_audit_part_load(input->document, input->path, &audit, coverage, err);
        if (rc == RP_OK)
                rc = take_coverage(merged, coverage, input->path, err);
        if (rc == RP_OK)
                rc = rp_audit_merge(&merged->audit, &audit, err);
        if (rc == RP_OK && part.as_of_ms < merged->head.as_of_ms)
                merged->head.as_of_ms = part.as_of_ms;
        rp_audit_release(&audit);
        free(coverage);
        return rc;
}

static rp_err_t check_complete(const struct merged *merged, struct rp_error *err)
{
        for (int32_t p = 0; p < merged->head.partition_cnt; p++)
                if (!merged->from[p])
                        return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%.100s\" is in none of the parts", p,
                                       merged->head.topic);
        return RP_OK;
}

static rp_err_t print(struct merged *merged, const struct rp_merge_audit *merge, bool json, FILE *out, int *code,
                      struct rp_error *err)
{
        struct rp_findings findings;
        struct rp_audit_report report = {
                .name = merged->head.topic, .is_topic = true, .as_of_ms = merged->head.as_of_ms,
                .policy_file = merged->head.policy_file, .hash = merged->head.hash, .client_args = merged->head.client_args,
                .show_keys = merge->show_keys, .audit = &merged->audit, .findings = &findings, .coverage = merged->coverage,
        };
        rp_err_t rc = rp_audit_conclude(&merged->audit, &findings, err);

        if (rc != RP_OK)
                return rc;
        *code = rp_audit_report_print(&report, json, out);
        rp_findings_release(&findings);
        return RP_OK;
}

int rp_merge_audit(const struct rp_merge_audit *merge, const struct rp_merge_input *inputs, size_t cnt, bool json, FILE *out)
{
        struct merged merged = { 0 };
        struct rp_error err;
        rp_err_t rc = RP_OK;
        int code = RP_EXIT_CLEAN;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++)
                rc = add(&merged, merge, &inputs[i], &err);
        if (rc == RP_OK)
                rc = check_complete(&merged, &err);
        if (rc == RP_OK)
                rc = print(&merged, merge, json, out, &code, &err);
        if (rc != RP_OK)
                code = rp_die("merge", &err);
        rp_audit_release(&merged.audit);
        free(merged.coverage);
        free(merged.from);
        return code;
}
