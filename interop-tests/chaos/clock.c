/*
 * A wall clock that jumps, for a program that is started with LD_PRELOAD=clock.so JUMPING_CLOCK=FILE. FILE holds two numbers of
 * 64 bits: milliseconds by which the clock is wrong, read at every look at it, and how often a program has looked. The
 * monotonic clock is left alone, as a jump of a real one leaves it. A wait until a time of the wall clock ends by that clock, as
 * the kernel's do; in between it may return early, as conditions are allowed to.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_MS = 20 };

static struct {
        _Atomic int64_t wrong_ms, looks;
} *shared;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_wait)(cnd_t *, mtx_t *, const struct timespec *);

/* Not only as a constructor: those of other libraries look at the clock before. */
__attribute__((constructor)) static void begin(void)
{
        const char *path = getenv("JUMPING_CLOCK");
        int fd;

        if (shared)
                return;
        fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
        *(void **)&real_wait = dlsym(RTLD_NEXT, "cnd_timedwait");
        shared = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (shared == MAP_FAILED || !real_gettime || !real_wait)
                _exit(99);
        close(fd);
}

static void add_ms(struct timespec *time, int64_t ms)
{
        int64_t ns = time->tv_nsec + ms % 1000 * 1000000;

        time->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
        time->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
        int rc;

        begin();
        rc = real_gettime(clock, now);
        if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
                add_ms(now, shared->wrong_ms);
                shared->looks++;
        }
        return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
        struct timespec time;

        (void)zone;
        clock_gettime(CLOCK_REALTIME, &time);
        *now = (struct timeval){ .tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000 };
        return 0;
}

time_t time(time_t *out)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (out)
                *out = now.tv_sec;
        return now.tv_sec;
}

int timespec_get(struct timespec *now, int base)
{
        return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

/* Conditions of C11 go by the wall clock; those that are to go by the monotonic one are POSIX's. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict until)
{
        struct timespec slice, now;
        int rc;

        begin();
        real_gettime(CLOCK_REALTIME, &slice);
        add_ms(&slice, SLICE_MS);
        rc = real_wait(condition, lock, &slice);
        if (rc != thrd_timedout)
                return rc;
        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec) ? rc : thrd_success;
}
