/** A consumed message as a record. For the edges that read; they define RP_WITH_RDKAFKA before they include this. */
#ifndef RP_KAFKA_MESSAGE_H
#define RP_KAFKA_MESSAGE_H

#include "io/client.h"
#include "record.h"

#ifdef RP_WITH_RDKAFKA
/** Headers of the records of one batch, side by side. */
struct rp_header_pool {
        struct rp_header *items;
        size_t cnt, cap;
};

/**
 * @param slot  where the message's pointer stays as long as the record is used: it becomes the record's native handle,
 *              and is set to NULL by a sink that takes the message over
 */
struct rp_record rp_message_view(rd_kafka_message_t **slot);

/** Adds the message's headers to the pool and counts them in rec; rec->headers is set by rp_message_join_headers(). */
rp_err_t rp_message_list_headers(struct rp_header_pool *pool, const rd_kafka_message_t *message, struct rp_record *rec,
                                 struct rp_error *err);

/** Once the batch is complete and the pool stays where it is. */
void rp_message_join_headers(const struct rp_header_pool *pool, struct rp_record *records, size_t cnt);

/**
 * What came instead of a record ends the reading: says where, and what to do where that is known.
 * @param message  an error
 * @param next     the offset that reading had got to
 * @returns rp_err_from_kafka() of the error
 */
rp_err_t rp_message_fail(struct rp_error *err, struct rp_client *client, const rd_kafka_message_t *message, const char *topic,
                         int32_t partition, int64_t next);

/**
 * Whether a record can lie where it says. The first offset of a batch is outside its checksum: where damage has moved it,
 * offsets go back, or to where the log has none yet, and records in between would be left out as if they were compacted.
 * @returns RP_OK, also for what librdkafka 2.1.0 gives twice, which is for the caller to drop
 */
rp_err_t rp_message_check_offset(struct rp_error *err, struct rp_client *client, const rd_kafka_message_t *message,
                                 const char *topic, int32_t partition, int64_t next);
#endif

#endif
