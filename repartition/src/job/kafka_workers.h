/** The workers of a rewrite on Kafka: what each of them opens, and where the lead writes. See job/workers.h. */
#ifndef RP_KAFKA_WORKERS_H
#define RP_KAFKA_WORKERS_H

#include "decide/lead.h"
#include "io/kafka_sink.h"
#include "job/workers.h"

struct rp_kafka_workers {
        int cnt;
        const struct rp_rewrite *rewrite;           /* with source and sink for the case that cnt is 1 */
        const struct rp_kafka_sink_config *sink;    /* of that sink; the workers' are like it, but for id and shard */
        const struct rp_client_config *source_client;
        int64_t memory_bytes;                       /* for what all workers together read ahead */
        const char *jobs_topic;                     /* see struct rp_job_store_config */
};

/**
 * Who has noted himself as the lead, and with how many workers. note->workers is 0 when nobody has.
 * @param target  the target, as the job's group sees it: a client of that group, see rp_kafka_progress_now()
 */
rp_err_t rp_kafka_lead(struct rp_source *target, const char *job, int timeout_ms, struct rp_lead_note *note,
                       struct rp_error *err);

/**
 * For a run that has one worker after one that had one, and needs no lead: what its rewrite.confirm is (job/rewrite.h). Ends it
 * when a run of several workers has taken the lead since this one was prepared.
 */
struct rp_kafka_alone {
        const struct rp_client_config *client; /* for the target's cluster */
        const char *job, *target;
        const char *lead_run; /* who had the lead; "": nobody */
        int timeout_ms;
};
rp_err_t rp_kafka_alone_confirm(void *alone, struct rp_error *err);

/**
 * To be used whenever this run or the one before it has more than one worker. The lead writes as offset 0 of the target's
 * partition 0, under the job's name: an offset that nobody else has a use for.
 */
rp_err_t rp_kafka_workers_run(const struct rp_kafka_workers *workers, struct rp_rewrite_report *report,
                              struct rp_error *err);

#endif
