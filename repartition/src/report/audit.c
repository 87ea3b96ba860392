#include "report/audit.h"

#include "report/text.h"

#include <inttypes.h>
#include <string.h>

static const double REST_IS_LITTLE = 0.01;

bool rp_audit_report_is_complete(const struct rp_audit_report *report)
{
        if (report->audit->unresolved_keys)
                return false;
        for (int32_t p = 0; report->is_topic && p < report->audit->partition_cnt; p++)
                if (!report->coverage[p].skipped && report->coverage[p].first < report->coverage[p].end &&
                    (report->coverage[p].next < report->coverage[p].end || report->coverage[p].lost))
                        return false;
        return true;
}

const char *rp_audit_report_status(const struct rp_audit_report *report)
{
        if (!rp_audit_report_is_complete(report))
                return "incomplete";
        if (!report->audit->misplaced)
                return rp_audit_report_judged(report) ? "clean" : "no-keys";
        if (report->findings->found.state != RP_EXPLAINED)
                return "undetermined";
        if (!report->findings->found.cause_cnt)
                return "unexplained";
        return report->findings->found.rest_share <= REST_IS_LITTLE ? "explained" : "partly-explained";
}

bool rp_audit_report_has_key_use(const struct rp_audit_report *report)
{
        return strcmp(kr_rule_key_use(report->audit->rule), "bytes") != 0;
}

uint64_t rp_audit_report_judged(const struct rp_audit_report *report)
{
        const struct rp_audit *audit = report->audit;

        return audit->keyed + audit->empty_keys - audit->rejected_keys - audit->unresolved_keys;
}

void rp_audit_report_command(const struct rp_audit_report *report, FILE *out)
{
        fputs("repartition rewrite ", out);
        rp_text_shell_word(out, report->name);
        fputc(' ', out);
        rp_text_shell_word(out, report->name);
        fprintf(out, ".v2 --partitions %" PRId32, report->audit->partition_cnt);
        if (report->findings->measures.split_keys) /* without it, rewrite refuses to guess their order */
                fputs(" --order merge", out);
        if (report->policy_file || report->hash) {
                fprintf(out, " --%s ", report->policy_file ? "policy" : "hash");
                rp_text_shell_word(out, report->policy_file ? report->policy_file : report->hash);
        }
        fprintf(out, "%s%s", *report->client_args ? " " : "", report->client_args);
}
