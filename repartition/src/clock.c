#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>
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

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
static struct timespec plus(struct timespec a, struct timespec b, int sign)
{
        struct timespec sum = { .tv_sec = a.tv_sec + sign * b.tv_sec, .tv_nsec = a.tv_nsec + sign * b.tv_nsec };

        sum.tv_sec += (sum.tv_nsec >= 1000000000) - (sum.tv_nsec < 0);
        sum.tv_nsec += sum.tv_nsec < 0 ? 1000000000 : sum.tv_nsec >= 1000000000 ? -1000000000 : 0;
        return sum;
}

/*
 * Takes the C library's place: librdkafka waits until a time of the wall clock (its issue 2145), so a clock that is set back by
 * a day would let it, and the job with it, stand still for a day. What is waited for is a span of time, and that is measured by
 * the monotonic clock. Who is woken too early waits again for the same time, and gets the same end. In glibc, C11's conditions
 * and locks are POSIX's.
 */
__attribute__((visibility("default"))) int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock,
                                                         const struct timespec *restrict until)
{
        static _Thread_local struct timespec asked, end;
        struct timespec wall, steady;
        int rc;

        if (until->tv_sec != asked.tv_sec || until->tv_nsec != asked.tv_nsec) {
                clock_gettime(CLOCK_REALTIME, &wall);
                clock_gettime(CLOCK_MONOTONIC, &steady);
                asked = *until;
                end = plus(steady, plus(*until, wall, -1), 1);
        }
        rc = pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)lock, CLOCK_MONOTONIC, &end);
        return rc == 0 ? thrd_success : rc == ETIMEDOUT ? thrd_timedout : thrd_error;
}
#endif
