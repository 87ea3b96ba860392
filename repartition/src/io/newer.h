/**
 * Functions of librdkafka that the version we are compiled against (2.0.2) may lack, as weak symbols: NULL where the
 * librdkafka that is loaded has none. Ask before every use.
 */
#ifndef RP_NEWER_H
#define RP_NEWER_H

#include <librdkafka/rdkafka.h>

#define RP_WEAK __attribute__((weak))

/* Since 2.3.0 */
typedef struct rd_kafka_TopicCollection_s rd_kafka_TopicCollection_t;
typedef struct rd_kafka_TopicDescription_s rd_kafka_TopicDescription_t;
typedef rd_kafka_event_t rd_kafka_DescribeTopics_result_t;

RP_WEAK rd_kafka_TopicCollection_t *rd_kafka_TopicCollection_of_topic_names(const char **topics, size_t topics_cnt);
RP_WEAK void rd_kafka_TopicCollection_destroy(rd_kafka_TopicCollection_t *topics);
RP_WEAK void rd_kafka_DescribeTopics(rd_kafka_t *rk, const rd_kafka_TopicCollection_t *topics,
                                     const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu);
RP_WEAK const rd_kafka_DescribeTopics_result_t *rd_kafka_event_DescribeTopics_result(rd_kafka_event_t *rkev);
RP_WEAK const rd_kafka_TopicDescription_t **
rd_kafka_DescribeTopics_result_topics(const rd_kafka_DescribeTopics_result_t *result, size_t *cntp);
RP_WEAK const rd_kafka_error_t *rd_kafka_TopicDescription_error(const rd_kafka_TopicDescription_t *topicdesc);
RP_WEAK const rd_kafka_AclOperation_t *
rd_kafka_TopicDescription_authorized_operations(const rd_kafka_TopicDescription_t *topicdesc, size_t *cntp);
RP_WEAK const rd_kafka_AclOperation_t *
rd_kafka_ConsumerGroupDescription_authorized_operations(const rd_kafka_ConsumerGroupDescription_t *grpdesc, size_t *cntp);
RP_WEAK rd_kafka_error_t *rd_kafka_AdminOptions_set_include_authorized_operations(rd_kafka_AdminOptions_t *options,
                                                                                  int true_or_false);

/* Where the public functions tell it at all; before, only the serialized form does. */
RP_WEAK int32_t rd_kafka_consumer_group_metadata_generation_id(const rd_kafka_consumer_group_metadata_t *metadata);

#endif
