/**
 * A Kafka cluster in a few arrays, for the simulator: a source of one topic or several, with aborted transactions, a last
 * stable offset and retention; a target; a transaction coordinator that knows epochs, time-outs and requests that arrive
 * late; a consumer group with generations. It judges while it runs: a record that a committed reader could see twice, or
 * progress beyond the records, is noted at the moment it is decided. Time is a number. Nothing here knows the code under test.
 */
#ifndef RP_SIM_CLUSTER_H
#define RP_SIM_CLUSTER_H

#include "error.h"
#include "mark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SIM_SOURCE_MAX = 6, SIM_TOPIC_MAX = 3, SIM_TARGET_MAX = 5, SIM_LOG_MAX = 400, SIM_RECORD_MAX = 1600, SIM_TXN_MAX = 4000,
        SIM_LATE_MAX = 64, SIM_MEMBER_MAX = 64,
        SIM_TXN_TIMEOUT_MS = 15000, SIM_SESSION_MS = 6000
};

typedef enum { SIM_COMMITTED, SIM_ABORTED, SIM_MARKER } sim_kind_t;

struct sim_source_entry { /* its offset is its index */
        sim_kind_t kind;
        int serial, key;
        int64_t time_ms;
        bool is_skipped; /* the job is to leave it alone */
};

struct sim_source { /* a partition */
        int topic, partition; /* which, and its number there */
        struct sim_source_entry entries[SIM_LOG_MAX];
        int64_t end, lso, low;
        int64_t hangs_until_ms; /* a foreign transaction holds the last stable offset back */
};

struct sim_target {
        struct { int serial, source; int64_t offset; int txn; } entries[2 * SIM_RECORD_MAX];
        size_t cnt;
};

typedef enum { SIM_TXN_OPEN, SIM_TXN_COMMITTED, SIM_TXN_VOID } sim_txn_state_t;

struct sim_txn {
        sim_txn_state_t state;
        int id;                  /* transactional id */
        int64_t opened_ms;
        struct { int64_t next; char *note; } marks[SIM_SOURCE_MAX]; /* next -1: none */
        int by;                  /* the process */
        bool has_marks, are_marks_written; /* the group's log got its end marker */
};

struct sim_id { /* one transactional id */
        int epoch, txn; /* txn -1: none is open */
};

struct sim_cluster {
        uint64_t random;
        int64_t now_ms;
        int source_cnt, topic_cnt, target_cnt, serial_cnt;
        struct sim_source sources[SIM_SOURCE_MAX];
        struct sim_target targets[SIM_TARGET_MAX];
        struct sim_txn txns[SIM_TXN_MAX];
        int txn_cnt, first_live_txn;
        struct sim_id ids[SIM_MEMBER_MAX];
        struct { int id, epoch; int64_t due_ms; } late[SIM_LATE_MAX]; /* EndTxn(commit) requests on their way */
        size_t late_cnt;

        /* the job's consumer group */
        struct { int64_t next; char *note; int by; int64_t at_ms; } stored[SIM_SOURCE_MAX];
        int64_t decided[SIM_SOURCE_MAX]; /* as stored once all markers are written */
        int generation;
        struct { bool is_in, is_kicked; int generation; int64_t heard_ms; } members[SIM_MEMBER_MAX];
        int owner[SIM_SOURCE_MAX], wanted[SIM_SOURCE_MAX]; /* members; -1: nobody */

        int copies[SIM_RECORD_MAX];  /* committed copies, by serial */
        unsigned commits, voids, timeouts, late_hits, late_fenced;
        char violation[200];         /* "" while all is well */
};

/** Notes the first thing that must not happen. */
void sim_violation(struct sim_cluster *cluster, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

uint64_t sim_random(struct sim_cluster *cluster);
unsigned sim_any(struct sim_cluster *cluster, unsigned below);
bool sim_chance(struct sim_cluster *cluster, unsigned percent);

void sim_cluster_init(struct sim_cluster *cluster, uint64_t seed);
void sim_cluster_release(struct sim_cluster *cluster);

/** One more partition, at the end of that topic; a new topic if it is topic_cnt. Not while SIM_SOURCE_MAX are there. */
void sim_add_partition(struct sim_cluster *cluster, int topic);

/** Producers append to the source; some of their transactions are aborted. */
void sim_grow(struct sim_cluster *cluster, unsigned records, bool some_are_skipped);

/** Time passes: late requests arrive, transactions time out, markers are written, members miss their heartbeats. */
void sim_pass(struct sim_cluster *cluster, int64_t ms);

/** Everything that is under way is finished: markers written, foreign transactions ended. */
void sim_settle(struct sim_cluster *cluster);

int sim_target_of(const struct sim_cluster *cluster, int key);

/* ---- producers. RP_ERR_FENCED, or RP_ERR_ABORT_BATCH when the transaction is no longer theirs to use ---- */

/** InitProducerId: fences, aborts what is open. @returns the epoch */
int sim_init(struct sim_cluster *cluster, int id);
/** @returns the transaction, or -1 when fenced */
int sim_begin(struct sim_cluster *cluster, int id, int epoch, int by);
rp_err_t sim_append(struct sim_cluster *cluster, int id, int epoch, int *txn, int source, int64_t offset, int target);
/** TxnOffsetCommit. @param member  -1: not in the group */
rp_err_t sim_add_marks(struct sim_cluster *cluster, int id, int epoch, int txn, const struct rp_mark *marks, size_t cnt,
                       int member);
rp_err_t sim_end(struct sim_cluster *cluster, int id, int epoch, bool is_commit);
/** EndTxn(commit) that arrives in so many ms, unless the cluster has moved on by then. */
void sim_end_later(struct sim_cluster *cluster, int id, int epoch, int64_t ms);

/** OffsetFetch, stable, by index of the sources. false while a transaction that holds marks is not finished. */
bool sim_fetch(struct sim_cluster *cluster, struct rp_progress *progress);

/* ---- the group ---- */

/** Divides the partitions among the members anew. */
void sim_rebalance(struct sim_cluster *cluster);
void sim_join(struct sim_cluster *cluster, int member);
void sim_leave(struct sim_cluster *cluster, int member);

#endif
