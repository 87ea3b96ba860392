/**
 * What the cluster tells of a job that a topic of jobs names (decide/job_list.h): how far it has come, whether somebody runs
 * it, and whether its topics are still those. Asks and writes nothing, joins nothing. What this user may not see is left
 * open, and the right that is missing is named.
 */
#ifndef RP_JOB_LOOK_H
#define RP_JOB_LOOK_H

#include "decide/job_list.h"
#include "io/lease.h"

typedef enum {
        RP_TOPIC_UNKNOWN,  /* in another cluster, or nobody told */
        RP_TOPIC_SAME,     /* it has the id that it had */
        RP_TOPIC_THERE,    /* there is one of that name; its id was not compared */
        RP_TOPIC_MADE_ANEW,
        RP_TOPIC_GONE      /* or not for this user to see */
} rp_topic_fate_t;

struct rp_job_look {
        const struct rp_job_entry *entry;  /* borrowed */
        struct rp_job_lane *lanes;         /* of all sources, by name and partition; none where nothing is known */
        size_t lane_cnt;
        struct rp_job_extent extent;       /* over all lanes */
        bool holders_are_known;
        struct rp_lease_holders holders;   /* who runs it now */
        rp_topic_fate_t sources[RP_TOPICS_MAX], target;
        char unknown[2][512];              /* why something is not known; "" when nothing is amiss */
};

struct rp_job_look_config {
        struct rp_client *client;   /* a consumer without auto-creation, in the cluster of the topic of jobs; borrowed */
        const char *cluster;        /* its id; "" when not known */
        bool compares_ids;          /* whether topics were made again since: one question for each */
        int timeout_ms;
};

/** *look is the caller's to rp_job_look_release() in any case. @returns RP_ERR_RETRY when no broker answers. */
rp_err_t rp_job_look(struct rp_job_look *look, const struct rp_job_entry *entry, const struct rp_job_look_config *config,
                     struct rp_error *err);
void rp_job_look_release(struct rp_job_look *look);

#endif
