/** A topic that follow has gone on copying after a rewrite, or from the first: what has been copied of it in all. Pure. */
#ifndef RP_FOLLOWED_H
#define RP_FOLLOWED_H

#include "error.h"
#include "mark.h"

/** True when something that follow has stored is there. */
bool rp_followed_has_any(const struct rp_progress *followed);

/**
 * Joins what follow has stored to the progress of the rewrite before it, if there was one: of each partition how far it is
 * copied, with a note (decide/note.h) in which what follow copied is the last pass.
 * @param progress  of the rewrite, perhaps empty; becomes that of both. Elements by source partition, as of the others
 * @param bounds    of the source now
 * @returns RP_ERR_USAGE when what is stored does not tell what was copied
 */
rp_err_t rp_followed_join(struct rp_progress *progress, const struct rp_progress *followed, const struct rp_range *bounds,
                          struct rp_error *err);

/** By source partition: which waypoints count, see decide/waypoint.h. */
void rp_followed_epochs(const struct rp_progress *followed, int64_t *epochs);

#endif
