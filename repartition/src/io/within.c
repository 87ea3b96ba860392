#include "io/within.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct call {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        void (*fn)(void *arg), (*release)(void *arg);
        void *arg;
        bool is_done, is_abandoned;
};

static void free_call(struct call *call)
{
        pthread_cond_destroy(&call->changed);
        pthread_mutex_destroy(&call->lock);
        free(call);
}

static void *run(void *raw)
{
        struct call *call = raw;
        bool is_abandoned;

        call->fn(call->arg);
        pthread_mutex_lock(&call->lock);
        call->is_done = true;
        is_abandoned = call->is_abandoned;
        pthread_cond_signal(&call->changed);
        pthread_mutex_unlock(&call->lock);
        if (is_abandoned) {
                call->release(call->arg);
                free_call(call);
        }
        return NULL;
}

bool rp_call_within(int64_t ms, void (*fn)(void *arg), void (*release)(void *arg), void *arg)
{
        struct call *call = calloc(1, sizeof(*call));
        struct timespec deadline;
        pthread_condattr_t attributes;
        pthread_t thread;
        bool is_done;

        if (!call) {
                fn(arg); /* rather without a guard than not at all */
                return true;
        }
        *call = (struct call){ .fn = fn, .release = release, .arg = arg };
        pthread_mutex_init(&call->lock, NULL);
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&call->changed, &attributes);
        pthread_condattr_destroy(&attributes);
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += ms / 1000;
        deadline.tv_nsec += ms % 1000 * 1000000;
        if (deadline.tv_nsec >= 1000000000) {
                deadline.tv_sec++;
                deadline.tv_nsec -= 1000000000;
        }
        if (pthread_create(&thread, NULL, run, call) != 0) {
                free_call(call);
                fn(arg);
                return true;
        }
        pthread_mutex_lock(&call->lock);
        while (!call->is_done && pthread_cond_timedwait(&call->changed, &call->lock, &deadline) == 0)
                ;
        is_done = call->is_done;
        call->is_abandoned = !is_done;
        pthread_mutex_unlock(&call->lock);
        if (!is_done) {
                pthread_detach(thread);
                return false;
        }
        pthread_join(thread, NULL);
        free_call(call);
        return true;
}
