/**
 * Producing a record whose timestamp is 0 (1970-01-01T00:00:00Z; devices without a clock send it). To librdkafka's
 * producer a timestamp of 0 means "now", and there is no other way to say 0.
 *
 * So such a record is produced with a stand-in, and an on_send interceptor, which sees the message before it is queued,
 * puts the 0 in its place. The place is not assumed: it is the word after the public part of the message that holds the
 * stand-in, and it counts only if rd_kafka_message_timestamp() then answers 0. Otherwise the message is left as it is,
 * and rp_zero_time_done() says so, for the caller to drop the transaction.
 */
#ifndef RP_ZERO_TIME_H
#define RP_ZERO_TIME_H

#include "io/client.h"

#include <stdint.h>

struct rp_zero_time {
        bool is_wanted; /* for the message that is being produced now */
        bool is_done;
};

/** Adds the interceptor. *zero must live as long as the client. Costs a call a message. */
rp_err_t rp_zero_time_install(rd_kafka_conf_t *conf, struct rp_zero_time *zero, struct rp_error *err);

/** @returns what to give to rd_kafka_producev() as the timestamp, right before it, for a record of that time. */
int64_t rp_zero_time_begin(struct rp_zero_time *zero, int64_t timestamp_ms);

/** Right after a successful rd_kafka_producev(). @returns false when the message now has a wrong time. */
bool rp_zero_time_done(struct rp_zero_time *zero);

#endif
