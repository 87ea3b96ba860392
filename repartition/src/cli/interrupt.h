/**
 * SIGINT, SIGTERM and SIGHUP as a wish to stop soon and in order. A second one of a kind ends the process at once.
 *
 * Whoever works in steps asks rp_interrupt_signal() between them. But a call may be waiting for a broker that does not
 * answer, for as long as --timeout-ms: so the process also ends by itself some seconds after the signal, wherever it
 * stands. That is as safe as kill -9, which every job survives.
 */
#ifndef RP_INTERRUPT_H
#define RP_INTERRUPT_H

/**
 * From now on the first of these signals is only remembered, for as long as grace_s seconds. May be called again with
 * another grace. SIGHUP stays ignored where it was (nohup).
 */
void rp_interrupt_watch(unsigned grace_s);

/** @returns the signal's number, or 0 when none came. */
int rp_interrupt_signal(void);

enum {
        RP_GRACE_READING_S = 2,  /* nothing is lost when reading is broken off                       */
        RP_GRACE_WRITING_S = 10  /* for a commit that is under way, and for saying how far it came */
};

#endif
