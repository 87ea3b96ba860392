/** The one clock for waits and rates: monotonic, so a jump of the wall clock neither ends a wait nor prolongs it. */
#ifndef RP_CLOCK_H
#define RP_CLOCK_H

#include <stdint.h>

/** @returns milliseconds since some fixed moment; of use for differences alone. */
int64_t rp_clock_ms(void);

#endif
