/**
 * In-memory twins of a Kafka cluster's source and sink, with the semantics that matter: transactions are all or
 * nothing, a new producer fences the old one and aborts what it left open, progress is stored with the records.
 * Every call can be made to fail, so that a test can fail the first, then the second, ... of all calls.
 */
#ifndef RP_TEST_MEMORY_H
#define RP_TEST_MEMORY_H

#include "io/sink.h"
#include "io/source.h"

#include <pthread.h>

/** What a failing call does. */
typedef enum {
        FAULT_NONE,
        FAULT_LOST,  /* nothing happened, an error is returned                           */
        FAULT_LATE,  /* it happened, an error is returned all the same: the uncertain case */
        FAULT_CRASH  /* nothing happened, and every later call fails too: the process is dead */
} fault_t;

/** Counts the calls of a run and makes one of them fail. */
struct faults {
        unsigned nth; /* 1 is the first call; 0: none fails */
        unsigned more; /* so many calls after it fail as well */
        fault_t kind;
        rp_err_t code;
        unsigned calls;
        bool fired, dead;
};

/** True when this call fails; *happens says whether its effect takes place all the same. */
bool faults_hit(struct faults *faults, bool *happens, struct rp_error *err);

/** One topic: a list of records a partition, and which of its offsets exist. Frees what it copied. */
struct memory_topic {
        int32_t partition_cnt;
        struct memory_log {
                struct rp_record *records; /* owned copies, by rising offset */
                size_t cnt, cap;
                int64_t low, end;
        } *logs;
};

void memory_topic_init(struct memory_topic *topic, int32_t partition_cnt);
void memory_topic_release(struct memory_topic *topic);

/** Appends a copy at the log's end plus gap (a compacted record or a control record); headers are copied as well. */
void memory_topic_add(struct memory_topic *topic, int32_t partition, const struct rp_record *rec, int64_t gap);

/** Takes the record at that offset away, as an abort or compaction does for committed readers. */
void memory_topic_remove(struct memory_topic *topic, int32_t partition, int64_t offset);

/** A source over the topic; gives batches of changing sizes, and at times nothing. seed makes it repeatable. */
struct rp_source *memory_source_new(const struct memory_topic *topic, struct faults *faults, unsigned seed);

enum { MEMORY_IDS = 9 };

/** What survives a crash: the target's committed records, the stored progress, and who may write. */
struct memory_cluster {
        struct memory_topic target;
        struct rp_progress progress;
        int epoch;               /* of the producer with the id 0 */
        int epochs[MEMORY_IDS];  /* of the others */
        unsigned commits;
        pthread_mutex_t lock;    /* sinks of several threads share the cluster; tests look at it when those are gone */
};

void memory_cluster_init(struct memory_cluster *cluster, int32_t source_cnt, int32_t target_cnt);
void memory_cluster_release(struct memory_cluster *cluster);

struct rp_sink *memory_sink_new(struct memory_cluster *cluster, struct faults *faults);

/** The same with another transactional id, below MEMORY_IDS: producers fence those of their own id alone. */
struct rp_sink *memory_sink_new_as(struct memory_cluster *cluster, struct faults *faults, int id);

#endif
