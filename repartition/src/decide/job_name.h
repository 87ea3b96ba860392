/**
 * What a job is called, unless the user names it: its consumer group, its transactional.id, and its key in the topic of jobs.
 * The three kinds never meet under one name. Pure.
 */
#ifndef RP_JOB_NAME_H
#define RP_JOB_NAME_H

#include <stddef.h>

enum { RP_JOB_NAME_MAX = 520 }; /* of a name that the user gives; the longest default of two topics fits */

/** @param source  of several, what they are called together, see rp_topics_label() */
void rp_rewrite_default_name(char *out, size_t size, const char *source, const char *target);

/** @param target  NULL: in place */
void rp_follow_default_name(char *out, size_t size, const char *source, const char *target);

void rp_repair_default_name(char *out, size_t size, const char *topic);

#endif
