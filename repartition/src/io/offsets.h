/** Offsets of a topic by time: its beginning, its end, or the first record at or after a moment. */
#ifndef RP_OFFSETS_H
#define RP_OFFSETS_H

#include "io/client.h"

#include <stdint.h>

/** The protocol's own words for the two times that are none. */
#define RP_AT_BEGINNING INT64_C(-2)
#define RP_AT_END INT64_C(-1) /* with a committed reader (the default): the last stable offset */

/**
 * Asks for all partitions at once. Waits up to timeout_ms for brokers that are starting or moving.
 * @param time_ms  RP_AT_BEGINNING, RP_AT_END, or a time: then the answer is -1 where no record is that new
 * @param offsets  partition_cnt elements, filled in
 */
rp_err_t rp_offsets_at(struct rp_client *client, const char *topic, int32_t partition_cnt, int64_t time_ms, int timeout_ms,
                       int64_t *offsets, struct rp_error *err);

/** The same for one partition. */
rp_err_t rp_offset_at(struct rp_client *client, const char *topic, int32_t partition, int64_t time_ms, int timeout_ms,
                      int64_t *offset, struct rp_error *err);

#ifdef RP_WITH_RDKAFKA
/** The same for the partitions in the list, whose offsets are filled in. */
rp_err_t rp_offsets_list(struct rp_client *client, const char *topic, int64_t time_ms, int timeout_ms,
                         rd_kafka_topic_partition_list_t *list, struct rp_error *err);
#endif

#endif
