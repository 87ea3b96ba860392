/** SIGINT and SIGTERM as a wish to stop soon and in order. A second one ends the process at once. */
#ifndef RP_INTERRUPT_H
#define RP_INTERRUPT_H

/** From now on the first of these signals is only remembered. */
void rp_interrupt_watch(void);

/** @returns the signal's number, or 0 when none came. */
int rp_interrupt_signal(void);

#endif
