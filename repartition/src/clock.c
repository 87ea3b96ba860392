#include "clock.h"

#include <time.h>

int64_t rp_clock_ms(void)
{
        struct timespec now;

        /* BOOTTIME: a machine that slept has waited, as far as brokers are concerned. */
        clock_gettime(CLOCK_BOOTTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
