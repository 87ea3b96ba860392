#include "decide/lead.h"

#include <jansson.h>
#include <stdio.h>

char *rp_lead_note_print(const struct rp_lead_note *note)
{
        json_t *root = json_pack("{s:i, s:s, s:s}", "workers", note->workers, "run", note->run, "by", note->by);
        char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

        json_decref(root);
        return text;
}

bool rp_lead_note_parse(struct rp_lead_note *note, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        const char *run, *by;
        int workers;
        bool is_valid = root && json_unpack(root, "{s:i, s:s, s:s}", "workers", &workers, "run", &run, "by", &by) == 0 &&
                        workers >= 1 && workers <= RP_WORKERS_MAX;

        *note = (struct rp_lead_note){ 0 };
        if (is_valid) {
                note->workers = workers;
                is_valid = snprintf(note->run, sizeof(note->run), "%s", run) < (int)sizeof(note->run) &&
                           snprintf(note->by, sizeof(note->by), "%s", by) < (int)sizeof(note->by);
        }
        json_decref(root);
        return is_valid;
}

rp_err_t rp_lead_fail_fenced(struct rp_error *err, const char *by)
{
        if (by)
                return rp_fail(err, RP_ERR_FENCED,
                               "fenced: another run of this job has taken over (%s). Nothing that this run left open will be "
                               "seen; let the other one finish", by);
        return rp_fail(err, RP_ERR_FENCED,
                       "fenced: another run of this job has taken over. Nothing that this run left open will be seen; look "
                       "for a second repartition with the same --job, and let one of them finish");
}
