/**
 * What a run that has several workers writes down about itself, beside an offset of its own. Its workers write under
 * transactional ids that do not fence those of a run with another count of workers, so there must be one place that tells
 * which run holds the job, and how many ids a later run has to fence. Pure; JSON.
 */
#ifndef RP_LEAD_H
#define RP_LEAD_H

#include "decide/note.h"
#include "error.h"

enum { RP_LEAD_RUN_SIZE = 40, RP_WORKERS_MAX = 256 };

struct rp_lead_note {
        int workers;                /* 1 .. RP_WORKERS_MAX */
        char run[RP_LEAD_RUN_SIZE]; /* unlike any other run's */
        char by[RP_NOTE_BY_SIZE];   /* host and process */
};

/** @returns the text, the caller's to free(); NULL when out of memory. */
char *rp_lead_note_print(const struct rp_lead_note *note);

/** @returns false when the text (or NULL) is no such note. */
bool rp_lead_note_parse(struct rp_lead_note *note, const char *text);

/** @returns RP_ERR_FENCED, with *err saying who holds the job now. @param by  of that run's note; NULL: not known */
rp_err_t rp_lead_fail_fenced(struct rp_error *err, const char *by);

#endif
