#include "clock.h"
#include "io/outage.h"
#include "job/governor_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
        SILENT_MS = 5000,      /* a loop that was not heard of for so long is within a call that waits for brokers */
        UNMOVED_MS = 10000,    /* or it asks them again and again, and gets nothing */
        LOOK_EVERY_MS = 3000,
        SAY_EVERY_MS = 30000   /* reasons change by the second while brokers come and go */
};

/* What the thread remembers between two looks. */
struct vigil {
        uint64_t moved;
        int64_t moved_ms, looked_ms, said_ms;
        bool is_said;
};

/* Under the lock. A job that waits for what it was told to wait for does not stand still. */
static bool seems_stuck(const struct rp_governor *governor, struct vigil *vigil, int64_t now)
{
        const struct rp_pulse *pulse = &governor->pulse;
        uint64_t moved = pulse->done + governor->records + pulse->uncommitted;
        bool has_work = !pulse->total || pulse->done < pulse->total;

        if (moved != vigil->moved || governor->held)
                vigil->moved_ms = now;
        vigil->moved = moved;
        return now - governor->heard_ms >= SILENT_MS || (has_work && now - vigil->moved_ms >= UNMOVED_MS);
}

static void look(const struct rp_governor *governor, char *text, size_t size)
{
        *text = '\0';
        for (size_t i = 0; i < governor->config.side_cnt && !*text; i++) {
                const struct rp_governor_side *side = &governor->config.sides[i];

                rp_outage_look(side->client, side->topics, side->topic_cnt, text, size);
        }
}

static void set(struct rp_governor *governor, const char *text)
{
        pthread_mutex_lock(&governor->lock);
        governor->is_news |= !*governor->stall != !*text;
        if (*text && !*governor->stall)
                governor->stalled_since_ms = rp_wall_clock_ms();
        snprintf(governor->stall, sizeof(governor->stall), "%s", text);
        pthread_mutex_unlock(&governor->lock);
}

static void say(const struct rp_governor *governor, struct vigil *vigil, const char *text, int64_t now)
{
        const struct rp_governor_config *config = &governor->config;
        char line[RP_GOVERNOR_STALL_SIZE + 40];

        if (!config->say || (*text ? vigil->is_said && now - vigil->said_ms < SAY_EVERY_MS : !vigil->is_said))
                return;
        snprintf(line, sizeof(line), "%s%s", *text ? "stands still: " : "goes on", text);
        config->say(config->say_arg, line);
        vigil->is_said = *text;
        vigil->said_ms = now;
}

void *rp_governor_watch_for_stalls(void *arg)
{
        struct rp_governor *governor = arg;
        struct vigil vigil = { .moved_ms = rp_clock_ms() };
        char text[RP_GOVERNOR_STALL_SIZE];
        bool is_over = false;

        while (!is_over) {
                struct timespec until;
                int64_t now = rp_clock_ms();
                bool is_stuck;

                pthread_mutex_lock(&governor->lock);
                is_stuck = seems_stuck(governor, &vigil, now);
                pthread_mutex_unlock(&governor->lock);
                if (!is_stuck || now - vigil.looked_ms >= LOOK_EVERY_MS) {
                        *text = '\0';
                        if (is_stuck)
                                look(governor, text, sizeof(text));
                        vigil.looked_ms = rp_clock_ms();
                        set(governor, text);
                        say(governor, &vigil, text, vigil.looked_ms);
                }
                clock_gettime(CLOCK_MONOTONIC, &until);
                until.tv_sec++;
                pthread_mutex_lock(&governor->lock);
                while (!governor->is_over && pthread_cond_timedwait(&governor->over, &governor->lock, &until) != ETIMEDOUT)
                        ;
                is_over = governor->is_over;
                pthread_mutex_unlock(&governor->lock);
        }
        return NULL;
}
