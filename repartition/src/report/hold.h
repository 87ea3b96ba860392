/** Why a job waits, in words. Pure. */
#ifndef RP_REPORT_HOLD_H
#define RP_REPORT_HOLD_H

#include "decide/throttle.h"

/**
 * Writes one line such as "throttled: group billing lags 120,412 > 10,000"; "" when nothing holds the job.
 * @returns text.
 */
char *rp_hold_text(char *text, size_t size, const struct rp_hold *hold);

#endif
