#define RP_WITH_RDKAFKA
#include "io/kafka_message.h"

#include <inttypes.h>
#include <stdlib.h>

#define DAMAGED "; the leader's log is damaged there: let another replica lead"

struct rp_record rp_message_view(rd_kafka_message_t **slot)
{
        const rd_kafka_message_t *message = *slot;
        rd_kafka_timestamp_type_t type;
        int64_t timestamp = rd_kafka_message_timestamp(message, &type);

        return (struct rp_record){
                .partition = message->partition,
                .offset = message->offset,
                .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp,
                .log_append_time = type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME,
                .key = message->key,
                .key_len = message->key_len,
                .value = message->payload,
                .value_len = message->len,
                .native = slot,
        };
}

rp_err_t rp_message_list_headers(struct rp_header_pool *pool, const rd_kafka_message_t *message, struct rp_record *rec,
                                 struct rp_error *err)
{
        rd_kafka_headers_t *headers;
        size_t cnt;

        if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
                return RP_OK; /* has none */
        cnt = rd_kafka_header_cnt(headers);
        if (pool->cnt + cnt > pool->cap) {
                size_t cap = 2 * (pool->cnt + cnt);
                struct rp_header *grown = realloc(pool->items, cap * sizeof(*grown));

                if (!grown)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory for record headers");
                pool->items = grown;
                pool->cap = cap;
        }
        for (size_t i = 0; i < cnt; i++) {
                struct rp_header *header = &pool->items[pool->cnt + i];

                rd_kafka_header_get_all(headers, i, &header->name, &header->value, &header->value_len);
        }
        rec->header_cnt = cnt;
        pool->cnt += cnt;
        return RP_OK;
}

void rp_message_join_headers(const struct rp_header_pool *pool, struct rp_record *records, size_t cnt)
{
        for (size_t i = 0, at = 0; i < cnt; at += records[i++].header_cnt)
                records[i].headers = records[i].header_cnt ? &pool->items[at] : NULL;
}

rp_err_t rp_message_fail(struct rp_error *err, struct rp_client *client, const rd_kafka_message_t *message, const char *topic,
                         int32_t partition, int64_t next)
{
        rp_fail(err, rp_err_from_kafka(message->err), "cannot read partition %" PRId32 " of topic \"%s\" at offset %" PRId64
                ": %s%s", partition, topic, next, rd_kafka_message_errstr(message),
                message->err == RD_KAFKA_RESP_ERR__BAD_MSG ? DAMAGED : "");
        rp_client_needs(client, RP_RESOURCE_TOPIC, "Read", topic);
        rp_client_append_right(client, message->err, err->text, sizeof(err->text));
        return err->code;
}

rp_err_t rp_message_check_offset(struct rp_error *err, struct rp_client *client, const rd_kafka_message_t *message,
                                 const char *topic, int32_t partition, int64_t next)
{
        int64_t low, high;

        if (message->offset == next)
                return RP_OK;
        if (message->offset < next && rd_kafka_version() >= RP_RDKAFKA_2_1_0 && rd_kafka_version() < RP_RDKAFKA_2_1_1)
                return RP_OK;
        if (message->offset > next &&
            (rd_kafka_get_watermark_offsets(client->rk, topic, partition, &low, &high) || high < 0 || message->offset < high))
                return RP_OK;
        return rp_fail(err, RP_ERR_INCOMPLETE, "cannot read partition %" PRId32 " of topic \"%s\" at offset %" PRId64
                       ": offset %" PRId64 " came%s", partition, topic, next, message->offset, DAMAGED);
}
