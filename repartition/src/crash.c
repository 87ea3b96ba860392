#include "crash.h"

#ifdef RP_CRASH_POINTS
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *file, const char *name)
{
        FILE *out = fopen(file, "a");

        if (!out)
                abort();
        fprintf(out, "%s\n", name);
        fclose(out);
}

void rp_crash_point(const char *what, const char *when)
{
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static unsigned long hits;
        const char *list = getenv("KR_CRASH_LIST"), *at = getenv("KR_CRASH_AT"), *colon = at ? strrchr(at, ':') : NULL;
        char name[64];

        snprintf(name, sizeof(name), "%s, %s", what, when);
        pthread_mutex_lock(&lock);
        if (list)
                note(list, name);
        if (colon && strlen(name) == (size_t)(colon - at) && !strncmp(name, at, strlen(name)) &&
            ++hits >= strtoul(colon + 1, NULL, 10))
                kill(getpid(), SIGKILL);
        pthread_mutex_unlock(&lock);
}
#else
/* An empty translation unit is not C. */
extern int rp_crash_points_are_not_built;
#endif
