/**
 * What can be known before a repair writes, and what speaks against it; and how its classes are to be understood. Pure:
 * facts in, findings out.
 */
#ifndef RP_REPAIR_CHECK_H
#define RP_REPAIR_CHECK_H

#include "decide/preflight.h"
#include "decide/repair.h"

enum { RP_RECENT_MS = 300000 }; /* misplaced records of the last five minutes tell that somebody still writes some */

struct rp_repair_facts {
        struct rp_topic_facts topic;
        bool settings_are_known;     /* the cluster answered admin requests */
        const char *job;
        bool progress_is_foreign;    /* offsets that no repair of this topic stored go by the job's name */
        bool is_interrupted;         /* a pass of such a repair is unfinished */
        bool resumes;                /* ... and is taken up */
        unsigned include;
        bool tombstones, mark;
        const struct rp_repair_counts *counts; /* NULL: nothing was read yet; only what needs no records is looked at */
        int64_t now_ms;              /* wall clock */
        uint32_t library;            /* librdkafka's version; 0: do not judge it */
        const char *library_name;
        bool library_is_allowed;     /* --allow-librdkafka */
};

void rp_repair_check(const struct rp_repair_facts *facts, struct rp_findings *findings);

#endif
