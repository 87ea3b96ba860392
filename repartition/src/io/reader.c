/*
 * The merge keeps a binary heap of lanes, one a partition, by their next record. A run is cut from the top lane up to
 * the first record that the second-best lane would win against, so a partition that is ahead costs no heap work.
 */
#include "io/reader.h"

#include "clock.h"

#include <stdlib.h>

struct lane {
        struct rp_batch batch;
        size_t at;         /* first record of the batch that was not given out yet */
        struct rp_range range;
        int64_t position;  /* while the batch is used up */
};

struct rp_reader {
        struct rp_source *source;
        rp_read_order_t order;
        struct lane *lanes;  /* by partition */
        int32_t *heap;       /* partitions that have a next record */
        int32_t heap_cnt;
        int32_t *hungry;     /* partitions that must be asked for more */
        int32_t hungry_cnt;
        int32_t hungry_at;   /* whom to ask next, so that waiting goes round */
        int64_t done, total; /* sums over all lanes, in offsets */
};

struct rp_reader *rp_reader_new(struct rp_source *source, rp_read_order_t order)
{
        struct rp_reader *reader = calloc(1, sizeof(*reader));
        size_t cnt = (size_t)source->partition_cnt;

        if (!reader)
                return NULL;
        reader->source = source;
        reader->order = order;
        reader->lanes = calloc(cnt, sizeof(*reader->lanes));
        reader->heap = calloc(cnt, sizeof(*reader->heap));
        reader->hungry = calloc(cnt, sizeof(*reader->hungry));
        if (!reader->lanes || !reader->heap || !reader->hungry) {
                rp_reader_free(reader);
                return NULL;
        }
        return reader;
}

void rp_reader_free(struct rp_reader *reader)
{
        if (!reader)
                return;
        free(reader->lanes);
        free(reader->heap);
        free(reader->hungry);
        free(reader);
}

rp_err_t rp_reader_start(struct rp_reader *reader, const struct rp_range *ranges, struct rp_error *err)
{
        reader->heap_cnt = reader->hungry_cnt = reader->hungry_at = 0;
        reader->done = reader->total = 0;
        for (int32_t p = 0; p < reader->source->partition_cnt; p++) {
                reader->lanes[p] = (struct lane){ .range = ranges[p], .position = ranges[p].first };
                if (ranges[p].first < ranges[p].end) {
                        reader->hungry[reader->hungry_cnt++] = p;
                        reader->total += ranges[p].end - ranges[p].first;
                }
        }
        return reader->source->ops->start(reader->source, ranges, err);
}

static const struct rp_record *head(const struct rp_reader *reader, int32_t partition)
{
        const struct lane *lane = &reader->lanes[partition];

        return &lane->batch.records[lane->at];
}

/* The order of the stream. Equal never happens: a partition is in the heap once. */
static bool precedes(const struct rp_record *a, const struct rp_record *b)
{
        if (a->timestamp_ms != b->timestamp_ms)
                return a->timestamp_ms < b->timestamp_ms;
        return a->partition < b->partition;
}

static void sift_down(struct rp_reader *reader)
{
        int32_t *heap = reader->heap;
        int32_t moving = heap[0], at = 0;

        for (;;) {
                int32_t child = 2 * at + 1;

                if (child >= reader->heap_cnt)
                        break;
                if (child + 1 < reader->heap_cnt &&
                    precedes(head(reader, heap[child + 1]), head(reader, heap[child])))
                        child++;
                if (precedes(head(reader, moving), head(reader, heap[child])))
                        break;
                heap[at] = heap[child];
                at = child;
        }
        heap[at] = moving;
}

static void push(struct rp_reader *reader, int32_t partition)
{
        int32_t *heap = reader->heap;
        int32_t at = reader->heap_cnt++;

        while (at > 0 && precedes(head(reader, partition), head(reader, heap[(at - 1) / 2]))) {
                heap[at] = heap[(at - 1) / 2];
                at = (at - 1) / 2;
        }
        heap[at] = partition;
}

static void pop(struct rp_reader *reader)
{
        reader->heap[0] = reader->heap[--reader->heap_cnt];
        if (reader->heap_cnt > 1)
                sift_down(reader);
}

/* Asks one lane for more. *left_hungry: it is no longer waiting, having records or being at its end. */
static rp_err_t feed(struct rp_reader *reader, int32_t index, int timeout_ms, bool *left_hungry, struct rp_error *err)
{
        int32_t partition = reader->hungry[index];
        struct lane *lane = &reader->lanes[partition];
        rp_err_t rc;

        *left_hungry = false;
        lane->batch.cnt = lane->at = 0;
        rc = reader->source->ops->fetch(reader->source, partition, timeout_ms, &lane->batch, err);
        if (rc != RP_OK) {
                lane->batch.cnt = 0;
                return rc;
        }
        if (!lane->batch.cnt) {
                reader->done += lane->batch.next - lane->position;
                lane->position = lane->batch.next;
                if (lane->position < lane->range.end)
                        return RP_OK;
        } else {
                push(reader, partition);
        }
        *left_hungry = true;
        reader->hungry[index] = reader->hungry[--reader->hungry_cnt];
        return RP_OK;
}

/*
 * Asks the hungry lanes round by round until all are fed (merged) or one is (any), or the time is over. Only the first
 * lane of a round is waited for: the others fill up meanwhile.
 */
static rp_err_t feed_hungry(struct rp_reader *reader, int timeout_ms, struct rp_error *err)
{
        int64_t deadline = 0;
        bool merged = reader->order == RP_READ_MERGED;

        for (int64_t wait = 0;;) {
                for (int32_t left = reader->hungry_cnt; left > 0 && reader->hungry_cnt > 0; left--) {
                        bool left_hungry;
                        rp_err_t rc;

                        if (reader->hungry_at >= reader->hungry_cnt)
                                reader->hungry_at = 0;
                        rc = feed(reader, reader->hungry_at, (int)wait, &left_hungry, err);
                        if (rc != RP_OK)
                                return rc;
                        wait = 0;
                        if (!left_hungry)
                                reader->hungry_at++;
                        else if (!merged && reader->heap_cnt)
                                return RP_OK;
                }
                if (!reader->hungry_cnt)
                        return RP_OK;
                if (!deadline)
                        deadline = rp_clock_ms() + timeout_ms;
                wait = deadline - rp_clock_ms();
                if (wait <= 0)
                        return RP_OK;
                if (!merged && wait > 10)
                        wait = 10; /* any other lane may get something first */
        }
}

/* Gives out of the top lane what precedes the rest, and leaves the heap in order for the next call. */
static void cut_run(struct rp_reader *reader, struct rp_run *run)
{
        int32_t partition = reader->heap[0];
        struct lane *lane = &reader->lanes[partition];
        const struct rp_record *records = lane->batch.records;
        const struct rp_record *rival = NULL;
        size_t from = lane->at, to = from + 1, cnt = lane->batch.cnt;
        int64_t position;

        if (reader->order == RP_READ_MERGED && reader->heap_cnt > 1) {
                rival = head(reader, reader->heap[1]);
                if (reader->heap_cnt > 2 && precedes(head(reader, reader->heap[2]), rival))
                        rival = head(reader, reader->heap[2]);
                while (to < cnt && precedes(&records[to], rival))
                        to++;
        } else {
                to = cnt;
        }
        *run = (struct rp_run){ .records = &records[from], .cnt = to - from };
        lane->at = to;
        position = to < cnt ? records[to].offset : lane->batch.next;
        reader->done += position - lane->position;
        lane->position = position;
        if (to < cnt) {
                sift_down(reader);
                return;
        }
        /* The batch is used up but still lent out: the lane is asked for more at the next call, not now. */
        pop(reader);
        if (lane->position < lane->range.end)
                reader->hungry[reader->hungry_cnt++] = partition;
}

rp_err_t rp_reader_next(struct rp_reader *reader, int timeout_ms, struct rp_run *run, struct rp_error *err)
{
        *run = (struct rp_run){ 0 };
        if (reader->hungry_cnt && (reader->order == RP_READ_MERGED || !reader->heap_cnt)) {
                rp_err_t rc = feed_hungry(reader, timeout_ms, err);

                if (rc != RP_OK)
                        return rc;
                if (reader->hungry_cnt && (reader->order == RP_READ_MERGED || !reader->heap_cnt))
                        return RP_OK;
        }
        if (reader->heap_cnt)
                cut_run(reader, run);
        else
                run->done = true;
        return RP_OK;
}

int64_t rp_reader_position(const struct rp_reader *reader, int32_t partition)
{
        return reader->lanes[partition].position;
}

void rp_reader_progress(const struct rp_reader *reader, int64_t *done, int64_t *total)
{
        *done = reader->done;
        *total = reader->total;
}
