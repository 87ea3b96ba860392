/** Which topics a pattern takes, and what their copies are called: several topics by one command. Pure. */
#ifndef RP_PATTERN_H
#define RP_PATTERN_H

#include "error.h"

#include <regex.h>
#include <stddef.h>

/** Room for every name that Kafka takes, and for one that is too long to be told as such. */
#define RP_PATTERN_NAME_SIZE 512

struct rp_pattern {
        regex_t regex;
        const char *form;        /* of the copies' names: with "{}" once; borrowed */
        size_t head_len;         /* of what stands before "{}" */
        const char *tail;        /* what stands behind it */
        const char *jobs_topic;  /* that is in use; borrowed */
};

typedef enum {
        RP_PATTERN_TAKEN,
        RP_PATTERN_OTHER,    /* the pattern does not match all of the name */
        RP_PATTERN_INTERNAL, /* it does, but the topic is Kafka's own ("__...") or the topic of jobs */
        RP_PATTERN_TARGET    /* it does, but a copy would be called like that: it is one, or will be */
} rp_pattern_verdict_t;

/**
 * @param regex       a POSIX extended regular expression
 * @param form        how copies are called, "{}" being the source's name; borrowed
 * @param jobs_topic  borrowed
 * @returns RP_OK, and *pattern is the caller's to rp_pattern_release(); RP_ERR_USAGE, and it is not.
 */
rp_err_t rp_pattern_init(struct rp_pattern *pattern, const char *regex, const char *form, const char *jobs_topic,
                         struct rp_error *err);
void rp_pattern_release(struct rp_pattern *pattern);

rp_pattern_verdict_t rp_pattern_judge(const struct rp_pattern *pattern, const char *name);

/** The name of the copy. No two topics get the same one. */
void rp_pattern_target(const struct rp_pattern *pattern, const char *name, char out[RP_PATTERN_NAME_SIZE]);

#endif
