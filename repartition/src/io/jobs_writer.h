/**
 * What a job says in the topic of jobs, in the transactions of its producer: its description in the first one, then a
 * checkpoint in each (decide/checkpoint.h), and its progress where source and target are two clusters. Also what the job
 * itself has to say there. A job without such a topic has a writer too, which writes nothing. One thread, the producer's.
 */
#ifndef RP_JOBS_WRITER_H
#define RP_JOBS_WRITER_H

#ifdef RP_WITH_RDKAFKA
#include "decide/checkpoint.h"
#include "io/job_store.h"
#include "io/kafka_producer.h"

/** All pointers are borrowed while the writer lives. */
struct rp_jobs_writer_config {
        struct rp_kafka_producer *producer;
        struct rp_jobs_topic *jobs; /* the store's, or the caller's for what it itself says; NULL: none */
        struct rp_job_store *store; /* of the job, open; NULL, or one without a topic of jobs: no checkpoints */
        const struct rp_job_descriptor *descriptor; /* wanted with checkpoints only, and copied */
        struct rp_source *source;
        int32_t target_cnt;         /* partitions */
        int shard;                  /* which of the job's producers this is */
        const bool *is_mine;        /* the source's partitions that it copies, others copy the rest; NULL: all */
};

struct rp_jobs_writer {
        struct rp_jobs_writer_config config;
        struct rp_checkpoint_log log; /* empty: no checkpoints */
        char *descriptor;             /* still to be written; NULL: none, or done */
        bool keeps_anchors;           /* this transaction's checkpoint will be a full one */
};

/** *writer is the caller's to rp_jobs_writer_release() in any case. false when out of memory. */
bool rp_jobs_writer_init(struct rp_jobs_writer *writer, const struct rp_jobs_writer_config *config);
void rp_jobs_writer_release(struct rp_jobs_writer *writer);

/** Whether transactions carry checkpoints. */
bool rp_jobs_writer_has_checkpoints(const struct rp_jobs_writer *writer);

/** After a new producer: nothing of this job is open now, so what the target holds up to here belongs to the stored progress. */
rp_err_t rp_jobs_writer_restart(struct rp_jobs_writer *writer, const struct rp_progress *stored, struct rp_error *err);

/** A transaction begins. */
void rp_jobs_writer_begin(struct rp_jobs_writer *writer);

/** This record is about to be written to the target. */
static inline void rp_jobs_writer_copies(struct rp_jobs_writer *writer, const struct rp_record *rec)
{
        if (writer->keeps_anchors && rec->partition >= 0 && rec->partition < writer->log.source_cnt)
                writer->log.anchors[rec->partition] = (struct rp_anchor){ rec->offset, rp_anchor_digest(rec) };
}

/** A record was delivered, there. */
static inline void rp_jobs_writer_wrote(struct rp_jobs_writer *writer, int32_t target_partition, int64_t offset)
{
        rp_checkpoint_log_wrote(&writer->log, target_partition, offset);
}

/** The report of a record of the topic of jobs, which on_delivery knows by its opaque: NULL. */
void rp_jobs_writer_take_report(struct rp_jobs_writer *writer, const rd_kafka_message_t *report);

/** Adds a record to the open transaction; without a topic of jobs, nothing. */
rp_err_t rp_jobs_writer_say(struct rp_jobs_writer *writer, const char *key, const char *text, struct rp_error *err);

/** Everything is produced: the checkpoint, and whatever else has to go into this transaction. */
rp_err_t rp_jobs_writer_end(struct rp_jobs_writer *writer, const struct rp_mark *marks, size_t cnt, struct rp_error *err);

/** Adds to the error of a transaction that failed for want of a right on the topic of jobs that it can be left out. */
void rp_jobs_writer_explain(const struct rp_jobs_writer *writer, struct rp_error *err);

/** The transaction is committed. */
void rp_jobs_writer_committed(struct rp_jobs_writer *writer);

#endif
#endif
