/**
 * One stream out of a topic's partitions. The order within a partition is always kept.
 *
 * Merged, the stream is the k-way merge by (timestamp, partition): of the partitions' next records, the oldest goes
 * first, so a key that is split over partitions comes out by time. What comes next depends on the positions alone:
 * reading that is broken off anywhere and taken up at rp_reader_position() goes on with the very same sequence.
 *
 * A reader belongs to one thread.
 */
#ifndef RP_READER_H
#define RP_READER_H

#include "io/source.h"

typedef enum {
        RP_READ_MERGED, /* by (timestamp, partition); waits for the slowest partition         */
        RP_READ_ANY     /* whatever is there first: for counts, which need no order between partitions */
} rp_read_order_t;

/** Records that come next in the stream, all of one partition. Borrowed until the next call of rp_reader_next(). */
struct rp_run {
        const struct rp_record *records;
        size_t cnt; /* 0: nothing yet, or done */
        bool done;  /* every range is read to its end */
};

struct rp_reader;

/** @returns a reader over the source (borrowed, not freed with it). NULL when out of memory. */
struct rp_reader *rp_reader_new(struct rp_source *source, rp_read_order_t order);
void rp_reader_free(struct rp_reader *reader);

/** Begins to read these ranges (partition_cnt of them, copied); may be called again, also after an error. */
rp_err_t rp_reader_start(struct rp_reader *reader, const struct rp_range *ranges, struct rp_error *err);

/**
 * The next run. Waits up to timeout_ms for it, so that the caller can look after its other duties in between.
 * @returns what the source's fetch returned; start again after an error.
 */
rp_err_t rp_reader_next(struct rp_reader *reader, int timeout_ms, struct rp_run *run, struct rp_error *err);

/** The offset of a partition where reading goes on after all runs given so far. */
int64_t rp_reader_position(const struct rp_reader *reader, int32_t partition);

/**
 * Sum over all partitions of offsets that are read, and of those in the ranges. Offsets, not records: control records
 * and compacted ones count, so the two meet at the end.
 */
void rp_reader_progress(const struct rp_reader *reader, int64_t *done, int64_t *total);

#endif
