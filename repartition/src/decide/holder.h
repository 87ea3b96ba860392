/**
 * Who holds a job, as told by the client.id of the member of its lease group, and whether that process still lives. Pure:
 * what is known of a process is given.
 */
#ifndef RP_HOLDER_H
#define RP_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A process that no other one can be taken for: numbers of processes come again, and containers count their own. */
struct rp_holder {
        char host[72];
        long pid;
        uint64_t started;  /* in the kernel's ticks since the machine started; 0: not known */
        uint64_t numbered; /* the pid namespace; 0: not known */
};

enum { RP_HOLDER_TEXT_SIZE = 160 };

/** As a client.id: "repartition/HOST/PID/STARTED/NAMESPACE". */
void rp_holder_print(const struct rp_holder *holder, char out[RP_HOLDER_TEXT_SIZE]);
/** false when the text is none. */
bool rp_holder_parse(struct rp_holder *holder, const char *text);

/** What this machine knows of the process of that number. */
struct rp_process_facts {
        bool exists;
        bool is_stopped; /* SIGSTOP, or a debugger: it does nothing, heartbeats included */
        uint64_t started;
};

typedef enum {
        RP_HOLDER_DEAD,   /* it is gone for certain: its lease is of no more meaning        */
        RP_HOLDER_LIVES,  /* it runs here and now                                           */
        RP_HOLDER_UNKNOWN /* another machine, or a stopped process: only its heartbeats tell */
} rp_holder_state_t;

/** @param facts  of the process holder->pid here; only looked at where the holder is of this machine */
rp_holder_state_t rp_holder_judge(const struct rp_holder *holder, const struct rp_holder *me,
                                  const struct rp_process_facts *facts);

#endif
