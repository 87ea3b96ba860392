/** What a topic of jobs tells, as text and JSON. */
#ifndef RP_REPORT_JOBS_H
#define RP_REPORT_JOBS_H

#include "io/job_look.h"

#include <stdio.h>

struct rp_jobs_document {
        const char *topic;              /* of jobs */
        bool exists;
        uint64_t record_cnt;
        const struct rp_job_list *list; /* what was read */
        const struct rp_job_look *looks; /* those of its jobs that were asked for */
        size_t look_cnt;
        bool is_whole;                  /* everything of each job, instead of a few lines */
};

/** What the job is about at the moment, in one word. */
const char *rp_job_look_state(const struct rp_job_look *look);

void rp_jobs_print(const struct rp_jobs_document *document, bool is_json, FILE *out);

#endif
