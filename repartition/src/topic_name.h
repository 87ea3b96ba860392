/** What Kafka takes as the name of a topic: 1 to 249 of a-z A-Z 0-9 . _ -, but neither "." nor "..". */
#ifndef RP_TOPIC_NAME_H
#define RP_TOPIC_NAME_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

bool rp_topic_name_is_legal(const char *name);

/** @returns RP_OK when all can be names; else RP_ERR_USAGE with *err telling what is wrong with the first that cannot. */
rp_err_t rp_topic_names_check(const char *const *names, size_t cnt, struct rp_error *err);

/** The same for one name. */
rp_err_t rp_topic_name_check(const char *name, struct rp_error *err);

/**
 * Whether jobs may write users' records to it: not to the topics that the brokers keep for themselves, which they refuse as
 * if a right were missing, nor to the topic of jobs.
 * @param jobs_topic  that is in use; "none" or NULL: none
 * @returns RP_OK, or RP_ERR_USAGE with *err naming the topic.
 */
rp_err_t rp_topic_check_writable(const char *name, const char *jobs_topic, struct rp_error *err);

bool rp_topic_is_of_jobs(const char *name, const char *jobs_topic);

#endif
