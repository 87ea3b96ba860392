/** The part of a topic that a job was asked to deal with: --from and --to. */
#ifndef RP_EXTENT_H
#define RP_EXTENT_H

#include "decide/log_place.h"
#include "io/source.h"

struct rp_extent {
        struct rp_log_place from, to; /* `to` is where it ends: that record is not part of it */
};

/** @returns RP_ERR_USAGE naming the option. *extent is the caller's to rp_extent_release(), also then. */
rp_err_t rp_extent_parse(struct rp_extent *extent, const char *from, const char *to, struct rp_error *err);
void rp_extent_release(struct rp_extent *extent);

/**
 * Narrows what there is of a Kafka source down to the extent. A moment stands for the first record at or after it.
 * @param bounds    by partition, first and end now
 * @param progress  as stored; what was copied is not copied again, and nothing in between is left out
 * @returns RP_ERR_USAGE when the extent does not fit the topic or the progress.
 */
rp_err_t rp_extent_narrow(const struct rp_extent *extent, struct rp_source *source, const struct rp_progress *progress,
                          int timeout_ms, struct rp_range *bounds, struct rp_error *err);

#endif
