/** The clocks. Waits and rates go by the monotonic one, so a jump of the wall clock neither ends nor prolongs them. */
#ifndef RP_CLOCK_H
#define RP_CLOCK_H

#include <stdint.h>

/** @returns milliseconds since some fixed moment; of use for differences alone. */
int64_t rp_clock_ms(void);

/** @returns the wall clock: milliseconds since 1970 in UTC. */
int64_t rp_wall_clock_ms(void);

/** Sleeps; a signal ends it early. */
void rp_clock_sleep_ms(int64_t ms);

#endif
