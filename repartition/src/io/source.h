/**
 * The way in: a fixed range of one topic, or of several in one row (decide/topics.h), partition by partition.
 * kafka_source.c in earnest, memory_source.c in tests.
 * Most callers want rp_reader (io/reader.h), which makes one stream of the partitions. A source belongs to one thread.
 */
#ifndef RP_SOURCE_H
#define RP_SOURCE_H

#include "decide/topics.h"
#include "error.h"
#include "mark.h"
#include "record.h"

/** Consecutive records of one partition, by rising offset. Borrowed until the next fetch of that partition. */
struct rp_batch {
        const struct rp_record *records;
        size_t cnt;
        int64_t next; /* where reading goes on; past control records and gaps. The range's end: the range is read */
};

struct rp_source;

struct rp_source_ops {
        /** Low watermark and last stable offset of every partition, now. ranges has partition_cnt elements. */
        rp_err_t (*bounds)(struct rp_source *source, struct rp_range *ranges, struct rp_error *err);

        /** Begins to read these ranges; may be called again to rewind. An empty range (first >= end) is not read. */
        rp_err_t (*start)(struct rp_source *source, const struct rp_range *ranges, struct rp_error *err);

        /**
         * More of one partition. Waits up to timeout_ms when nothing is there; then cnt is 0 and next unchanged.
         * No record at or past the range's end is ever given.
         * @returns RP_ERR_INCOMPLETE when records of the range are gone (retention), RP_ERR_RETRY when nothing came for
         *          as long as the source is willing to wait.
         */
        rp_err_t (*fetch)(struct rp_source *source, int32_t partition, int timeout_ms, struct rp_batch *batch,
                          struct rp_error *err);

        void (*free)(struct rp_source *source);
};

struct rp_source {
        const struct rp_source_ops *ops;
        const char *topic;              /* its name; of several what they are called together */
        int32_t partition_cnt;          /* of all together; records and ranges go by the place in the row */
        const struct rp_topics *topics; /* NULL: one topic */
};

/** Of which topic a partition is, and its number there: what people and clusters know it by. */
static inline const char *rp_source_topic(const struct rp_source *source, int32_t place)
{
        return rp_topics_name(source->topics, source->topic, place);
}

static inline int32_t rp_source_partition(const struct rp_source *source, int32_t place)
{
        return rp_topics_partition(source->topics, place);
}

#endif
