/** What a running job may be asked for: one line such as "pause" or "set throttle-bytes=10M max-lag=5000". Pure. */
#ifndef RP_WISH_H
#define RP_WISH_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum { RP_WISH_STATUS, RP_WISH_PAUSE, RP_WISH_RESUME, RP_WISH_STOP, RP_WISH_SET } rp_wish_t;

enum { RP_TRANSACTION_MS_MIN = 20, RP_TRANSACTION_MS_MAX = 10000 };

/** What can be set while a job runs. */
struct rp_limits {
        int64_t bytes_per_second, records_per_second; /* 0: no limit */
        int64_t lag_max;        /* of watched groups, in records */
        bool has_groups;        /* there are any */
        int64_t transaction_ms; /* longest time that a transaction stays open */
};

/**
 * Reads the line, which is changed.
 * @param limits  as they are; changed by RP_WISH_SET, all that the line names or, on an error, nothing
 * @returns RP_OK and *wish; or RP_ERR_USAGE saying what there is.
 */
rp_err_t rp_wish_parse(char *line, rp_wish_t *wish, struct rp_limits *limits, struct rp_error *err);

#endif
