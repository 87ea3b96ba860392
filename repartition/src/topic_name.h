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

#endif
