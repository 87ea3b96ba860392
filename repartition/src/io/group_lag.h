/** How far a consumer group is behind: what a job that writes to the same cluster should not make worse. */
#ifndef RP_GROUP_LAG_H
#define RP_GROUP_LAG_H

#include "io/client.h"

#include <stdint.h>

struct rp_group_lag; /* a connection of its own; belongs to one thread */

/** @param config  borrowed until it is freed. @returns the caller's to rp_group_lag_free(), or NULL when out of memory. */
struct rp_group_lag *rp_group_lag_new(const struct rp_client_config *config);

/**
 * The records between the group's committed offsets and the last stable offsets, over all partitions that it has
 * committed offsets of. Partitions of topics that are gone do not count.
 * @param topic  only this topic; NULL: all
 * @returns RP_OK and *records; RP_ERR_USAGE when the group has committed nothing there, or may not be asked; RP_ERR_RETRY
 *          when the cluster does not answer.
 */
rp_err_t rp_group_lag_ask(struct rp_group_lag *lag, const char *group, const char *topic, int timeout_ms,
                          int64_t *records, struct rp_error *err);

/** NULL is allowed. */
void rp_group_lag_free(struct rp_group_lag *lag);

#endif
