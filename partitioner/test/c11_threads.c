/*
 * For SAN=thread only: librdkafka starts its threads and takes its locks by C11's <threads.h>, which GCC 12's
 * ThreadSanitizer does not watch (it crashes on the first thread that it did not see start). The test program puts
 * these in front of the C library's; they do the same through POSIX functions, which are watched.
 */
#if defined(__SANITIZE_THREAD__)

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#define INTERPOSE __attribute__((visibility("default")))

/* In glibc the C11 types are the POSIX ones under other names. */
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mutex is a mutex");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "a condition is a condition");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "a flag is a flag");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "a thread is a thread");

static int outcome(int error)
{
        switch (error) {
        case 0:
                return thrd_success;
        case EBUSY:
                return thrd_busy;
        case ETIMEDOUT:
                return thrd_timedout;
        case ENOMEM:
                return thrd_nomem;
        default:
                return thrd_error;
        }
}

struct start {
        thrd_start_t body;
        void *argument;
};

static void *run(void *opaque)
{
        struct start start = *(struct start *)opaque;

        free(opaque);
        return (void *)(intptr_t)start.body(start.argument);
}

INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t body, void *argument)
{
        struct start *start = malloc(sizeof(*start));
        int error;

        if (!start)
                return thrd_nomem;
        *start = (struct start){ body, argument };
        error = pthread_create((pthread_t *)thread, NULL, run, start);
        if (error)
                free(start);
        return outcome(error);
}

INTERPOSE int thrd_join(thrd_t thread, int *result)
{
        void *value = NULL;
        int error = pthread_join((pthread_t)thread, &value);

        if (result)
                *result = (int)(intptr_t)value;
        return outcome(error);
}

INTERPOSE int mtx_init(mtx_t *mutex, int type)
{
        pthread_mutexattr_t attributes;
        int error;

        pthread_mutexattr_init(&attributes);
        if (type & mtx_recursive)
                pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
        error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        return outcome(error);
}

INTERPOSE void mtx_destroy(mtx_t *mutex)
{
        pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

INTERPOSE int mtx_lock(mtx_t *mutex)
{
        return outcome(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

INTERPOSE int mtx_unlock(mtx_t *mutex)
{
        return outcome(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

INTERPOSE int cnd_init(cnd_t *condition)
{
        return outcome(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

INTERPOSE void cnd_destroy(cnd_t *condition)
{
        pthread_cond_destroy((pthread_cond_t *)condition);
}

INTERPOSE int cnd_signal(cnd_t *condition)
{
        return outcome(pthread_cond_signal((pthread_cond_t *)condition));
}

INTERPOSE int cnd_broadcast(cnd_t *condition)
{
        return outcome(pthread_cond_broadcast((pthread_cond_t *)condition));
}

INTERPOSE int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
        return outcome(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

INTERPOSE int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
        return outcome(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until));
}

INTERPOSE void call_once(once_flag *flag, void (*function)(void))
{
        pthread_once((pthread_once_t *)flag, function);
}

/* librdkafka counts references by atomics that are not instrumented: the last one's clean-up seems unordered. */
INTERPOSE const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
        return "race:pthread_rwlock_destroy\n";
}

#else
typedef int c11_threads_are_left_alone; /* ISO C wants something in a file */
#endif
