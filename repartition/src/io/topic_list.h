/** The names of all topics that a user may see, with their partition counts. Only asks. */
#ifndef RP_TOPIC_LIST_H
#define RP_TOPIC_LIST_H

#include "io/client.h"

struct rp_listed_topic {
        char *name;
        int32_t partition_cnt;
};

struct rp_topic_list {
        struct rp_listed_topic *items; /* by name */
        size_t cnt;
};

/**
 * @returns RP_OK and *list, the caller's to rp_topic_list_release(); RP_ERR_RETRY when no broker answers within
 *          timeout_ms; RP_ERR_USAGE when they turn us away.
 */
rp_err_t rp_topic_list_read(struct rp_topic_list *list, const struct rp_client_config *client, int timeout_ms,
                            struct rp_error *err);
void rp_topic_list_release(struct rp_topic_list *list);

#endif
