/** A Kafka record as the pure parts see it. Everything is borrowed from whoever read it. */
#ifndef RP_RECORD_H
#define RP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_header {
        const char *name;
        const void *value; /* NULL: a null value, which is not the empty one */
        size_t value_len;
};

struct rp_record {
        int32_t partition;
        int64_t offset;
        int64_t timestamp_ms;  /* -1: none */
        bool log_append_time;  /* the broker's time, not the producer's */
        const void *key;       /* NULL: no key, which is not the empty key */
        size_t key_len;
        const void *value;     /* NULL: a tombstone */
        size_t value_len;
        const struct rp_header *headers; /* in order, duplicates kept */
        size_t header_cnt;     /* 0 also when the source was not asked to list headers */
        void *native;          /* the edge's own handle, of no meaning to anyone else */
};

#endif
