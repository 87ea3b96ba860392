/**
 * A transactional producer that is made anew again and again: under one transactional.id, for one topic and, where there is
 * one, the topic of jobs. Its configuration, the calls of a transaction, and the one place that judges their errors. What
 * is written in a transaction is the business of kafka_sink.c and jobs_writer.c.
 *
 * librdkafka cannot bump a producer's epoch after each transaction (KIP-890), so after an uncertain outcome a late
 * answer could hit a later transaction of the same producer: it is then closed, and opened anew. One thread uses it.
 */
#ifndef RP_KAFKA_PRODUCER_H
#define RP_KAFKA_PRODUCER_H

/** An open transaction is given up by the cluster after this time, and readers are held back no longer by a dead job. */
#define RP_TRANSACTION_TIMEOUT_MS 15000

#ifdef RP_WITH_RDKAFKA
#include "io/client.h"
#include "io/zero_time.h"

struct rp_unanswered;

/** Everything in it is borrowed while the producer lives. */
struct rp_kafka_producer_config {
        const struct rp_client_config *client;
        const char *id;          /* transactional.id */
        const char *topic;
        const char *jobs_topic;  /* NULL: none */
        int32_t partition_cnt;   /* of topic */
        const char *compression; /* NULL: not ours to choose */
        int64_t batch_bytes_max; /* the topic's max.message.bytes; 0: not known */
        int timeout_ms;          /* how long a silent cluster is waited for */
        void (*on_delivery)(rd_kafka_t *rk, const rd_kafka_message_t *report, void *opaque); /* opaque: the client */
};

struct rp_kafka_producer {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks. client.rk is NULL while closed */
        struct rp_kafka_producer_config config;
        rd_kafka_topic_t *rkt;
        rd_kafka_topic_t *jobs_rkt;        /* NULL: no topic of jobs, or closed */
        struct rp_zero_time zero;
        struct rp_error failure;           /* of the first record that was not delivered, set by on_delivery; RP_OK: none */
        int64_t queue_kbytes_needed;       /* for the longest record that did not fit into an empty queue; the caller's to set */

        bool is_open;                      /* a transaction is */
        bool is_doomed;                    /* it can only be aborted; its next call will tell why */
        int64_t opened_ms;
        struct rp_unanswered *unanswered;  /* of the client at hand */
        int64_t transaction_timeout_ms;    /* likewise; the user may set another one */
};

/** The client, fencing nobody yet. The producer must be closed, and must not move from here on. */
rp_err_t rp_kafka_producer_open(struct rp_kafka_producer *producer, struct rp_error *err);

/** Gets every delivery report back, since consumed messages hang on them, then destroys. One that is closed is allowed. */
void rp_kafka_producer_close(struct rp_kafka_producer *producer);

/** Fences whoever had the id, and aborts what was open under it. Patient: the coordinator may be moving. */
rp_err_t rp_kafka_producer_init(struct rp_kafka_producer *producer, struct rp_error *err);

rp_err_t rp_kafka_producer_begin(struct rp_kafka_producer *producer, struct rp_error *err);

/** Takes both, also on failure. Its errors are still to be judged. */
rp_err_t rp_kafka_producer_send_offsets(struct rp_kafka_producer *producer, rd_kafka_topic_partition_list_t *offsets,
                                        rd_kafka_consumer_group_metadata_t *group, struct rp_error *err);

/** Its errors are still to be judged. */
rp_err_t rp_kafka_producer_commit(struct rp_kafka_producer *producer, struct rp_error *err);
rp_err_t rp_kafka_producer_abort(struct rp_kafka_producer *producer, int timeout_ms, struct rp_error *err);

/** Waits until all that was produced is delivered. */
rp_err_t rp_kafka_producer_flush(struct rp_kafka_producer *producer, struct rp_error *err);

/**
 * The one exit for errors of a transaction. Being fenced long after the transaction began is no proof of another run:
 * the cluster ends transactions that stay open too long (this process may have been stopped), in the same words.
 * @param rc  err->code, or RP_OK
 */
rp_err_t rp_kafka_producer_judge(struct rp_kafka_producer *producer, rp_err_t rc, struct rp_error *err);

/** Fills *err for producing to a topic that failed with kerr, and judges. */
rp_err_t rp_kafka_producer_fail(struct rp_kafka_producer *producer, rd_kafka_resp_err_t kerr, const char *topic,
                                struct rp_error *err);

/** Whether this delivery report is the first that tells of trouble: of what was purged there is none to tell. */
bool rp_kafka_producer_is_first_failure(const struct rp_kafka_producer *producer, const rd_kafka_message_t *report);

/** What is left to do when a record cannot be produced or delivered. */
rp_err_t rp_kafka_producer_next_step(rd_kafka_resp_err_t kerr);

#endif
#endif
