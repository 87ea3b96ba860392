#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
        caught = number;
}

void rp_interrupt_watch(void)
{
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
}

int rp_interrupt_signal(void)
{
        return caught;
}
