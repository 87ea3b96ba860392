#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static volatile sig_atomic_t grace;

static void on_signal(int number)
{
        caught = number;
        alarm((unsigned)grace);
}

static void on_alarm(int number)
{
        static const char text[] = "\nrepartition: stopped while waiting for the cluster; the same command takes it up again\n";
        ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

        (void)number;
        (void)written;
        _exit(128 + caught);
}

void rp_interrupt_watch(unsigned grace_s)
{
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, before;

        grace = (sig_atomic_t)grace_s;
        if (caught)
                return;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
                sigaction(SIGHUP, &action, NULL);
        action.sa_handler = on_alarm;
        sigaction(SIGALRM, &action, NULL);
}

int rp_interrupt_signal(void)
{
        return caught;
}
