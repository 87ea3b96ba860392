/**
 * Runs the pure core (decide/copy.h) against the simulated cluster, from one seed: everything that happens, and when,
 * follows from it. Processes of a job crash at any action, are stopped and woken, are started twice; answers are lost
 * or come late; leaders move; the source, which may be several topics, grows, gets partitions, hangs and is truncated. Then
 * all is calm, and the job must finish; what it wrote is compared with what it should have written.
 */
#ifndef RP_SIM_H
#define RP_SIM_H

#include <stdbool.h>
#include <stdint.h>

/** Wrong decisions, made by altering what the core asks for or is told; each of them must be found out. */
typedef enum {
        SIM_NO_MISTAKE,
        /* of the fixed form */
        SIM_BELIEVES_COMMITS,     /* a commit of unknown outcome is taken for done */
        SIM_TRUSTS_MEMORY,        /* after a new start it goes on from what it remembers, not from what is stored */
        SIM_DOES_NOT_LOOK,        /* whether another run has gone on, before it makes its producer anew */
        SIM_REUSES_PRODUCER,      /* after an uncertain outcome the same producer goes on */
        SIM_READS_TOO_EARLY,      /* the stored progress is read before the producer is made anew */
        SIM_FORGETS_ENDS,         /* a run that takes up another's pass reads to its own ends */
        SIM_STORES_TOO_MUCH,      /* a mark is beyond what was appended */
        SIM_SKIPS_ONE,            /* a record is passed over while the transaction is not yet open */
        SIM_STORES_BY_PLACE,      /* progress is stored by the place in the row of all partitions */
        SIM_TAKES_GIVEN_ORDER,    /* topics stand in that row in the order in which this run was given them */
        /* of the group's */
        SIM_GIVES_BACK_TOO_EARLY, /* partitions are given back before what was read from them is committed */
        SIM_OVERLOOKS_LOSS,       /* partitions that were lost are read and committed on */
        SIM_DOES_NOT_REWIND,      /* after an abort reading goes on where it was */
        SIM_MISTAKE_CNT
} sim_mistake_t;

/** What happened in a run, for tests that must not be about nothing. */
struct sim_figures {
        unsigned steps, processes, crashes, sleeps, fenced, stops, ended_badly, recoveries, uncertain, commits, voids, timeouts,
                late_hits, late_fenced, rebalances, losses, truncated, several, grown, outgrown;
};

/** Fixed partitions, passes: rewrite and repair. @returns false with text when something happened that must not. */
bool sim_run_passes(uint64_t seed, sim_mistake_t mistake, struct sim_figures *figures, char text[200]);

/** A consumer group: follow. */
bool sim_run_group(uint64_t seed, sim_mistake_t mistake, struct sim_figures *figures, char text[200]);

#endif
