#include "report/findings.h"

#include "report/wrap.h"

static const char *const severities[] = { "note", "warning", "refused" };

void rp_findings_print(const struct rp_findings *findings, FILE *out)
{
        for (size_t i = 0; i < findings->cnt; i++) {
                fprintf(out, "%-11s ", severities[findings->items[i].severity]);
                rp_wrap(out, findings->items[i].text, 12, 12);
        }
}

json_t *rp_findings_json(const struct rp_findings *findings)
{
        json_t *list = json_array();

        for (size_t i = 0; i < findings->cnt; i++)
                json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "severity",
                                                      severities[findings->items[i].severity], "id",
                                                      findings->items[i].id, "text", findings->items[i].text));
        return list;
}
