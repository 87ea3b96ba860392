#include "clock.h"

#include <time.h>

static int64_t read_ms(clockid_t id)
{
        struct timespec now;

        clock_gettime(id, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t rp_clock_ms(void)
{
        /* BOOTTIME: a machine that slept has waited, as far as brokers are concerned. */
        return read_ms(CLOCK_BOOTTIME);
}

int64_t rp_wall_clock_ms(void)
{
        return read_ms(CLOCK_REALTIME);
}

void rp_clock_sleep_ms(int64_t ms)
{
        struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

        nanosleep(&time, NULL);
}
