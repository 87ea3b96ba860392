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
#endif

#endif
