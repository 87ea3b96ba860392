#include "report/audit.h"

#include "report/json.h"

int rp_audit_report_print(const struct rp_audit_report *report, bool json, FILE *out)
{
        if (json)
                rp_json_print(rp_audit_report_json(report), out);
        else
                rp_audit_report_text(report, out);
        if (!rp_audit_report_is_complete(report))
                return RP_EXIT_INCOMPLETE;
        return report->audit->misplaced ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
}
