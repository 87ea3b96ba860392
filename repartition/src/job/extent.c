#include "job/extent.h"

#include "decide/note.h"
#include "io/kafka_source.h"
#include "io/offsets.h"

#include <inttypes.h>
#include <stdlib.h>

rp_err_t rp_extent_parse(struct rp_extent *extent, const char *from, const char *to, struct rp_error *err)
{
        rp_err_t rc = rp_log_place_parse(&extent->from, "from", from, err);

        extent->to = (struct rp_log_place){ .kind = RP_LOG_NONE };
        if (rc == RP_OK)
                rc = rp_log_place_parse(&extent->to, "to", to, err);
        if (rc == RP_OK && extent->from.kind == extent->to.kind && extent->from.value > extent->to.value &&
            (extent->from.kind == RP_LOG_OFFSET || extent->from.kind == RP_LOG_MOMENT))
                rc = rp_fail(err, RP_ERR_USAGE, "--from %.60s lies behind --to %.60s", from, to);
        return rc;
}

void rp_extent_release(struct rp_extent *extent)
{
        rp_log_place_release(&extent->from);
        rp_log_place_release(&extent->to);
}

/* By partition; -1: nothing is said of it. */
static rp_err_t resolve(const struct rp_log_place *place, struct rp_source *source, int timeout_ms,
                        const struct rp_range *bounds, int64_t *offsets, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        if (place->pair_cnt && source->topics)
                return rp_fail(err, RP_ERR_USAGE, "offsets by partition go with one source: of several say an offset for all "
                               "partitions, or a time");
        for (size_t i = 0; i < place->pair_cnt; i++)
                if (place->pairs[i].partition >= source->partition_cnt)
                        return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has no partition %" PRId32 ", only %" PRId32,
                                       source->topic, place->pairs[i].partition, source->partition_cnt);
        for (int32_t p = 0; rc == RP_OK && place->kind == RP_LOG_MOMENT && p < source->partition_cnt;) {
                int32_t cnt = rp_topics_count(source->topics, source->partition_cnt, p);

                rc = rp_offsets_at(rp_kafka_source_client(source), rp_source_topic(source, p), cnt, place->value, timeout_ms,
                                   offsets + p, err);
                p += cnt;
        }
        for (int32_t p = 0; rc == RP_OK && p < source->partition_cnt; p++) {
                if (place->kind == RP_LOG_MOMENT && offsets[p] < 0)
                        offsets[p] = bounds[p].end; /* nothing is that new */
                else if (place->kind != RP_LOG_MOMENT)
                        offsets[p] = place->kind == RP_LOG_OFFSET ? place->value : rp_log_place_listed(place, p);
        }
        return rc;
}

/* A job copies one stretch of each partition: a later beginning would leave a gap, an earlier one comes too late. */
static rp_err_t check_from(const struct rp_mark *mark, struct rp_note *note, int64_t from, int64_t low,
                           const char *topic, int32_t p, struct rp_error *err)
{
        if (mark->next < 0 || !rp_note_parse(note, mark->note))
                return RP_OK;
        if (from > mark->next)
                return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%s\": this job has copied up to offset %"
                               PRId64 ", --from would leave out what is before %" PRId64 ": choose another --job and target", p,
                               topic, mark->next, from);
        if (from < note->first && low < note->first)
                return rp_fail(err, RP_ERR_USAGE, "partition %" PRId32 " of topic \"%s\": this job began at offset %" PRId64
                               " and cannot copy what is before it now: choose another --job and target", p, topic, note->first);
        return RP_OK;
}

rp_err_t rp_extent_narrow(const struct rp_extent *extent, struct rp_source *source, const struct rp_progress *progress,
                          int timeout_ms, struct rp_range *bounds, struct rp_error *err)
{
        size_t cnt = (size_t)source->partition_cnt;
        int64_t *from = malloc(cnt * sizeof(*from)), *to = malloc(cnt * sizeof(*to));
        struct rp_note *note = malloc(sizeof(*note));
        rp_err_t rc = from && to && note ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (rc == RP_OK)
                rc = resolve(&extent->from, source, timeout_ms, bounds, from, err);
        if (rc == RP_OK)
                rc = resolve(&extent->to, source, timeout_ms, bounds, to, err);
        for (int32_t p = 0; rc == RP_OK && p < source->partition_cnt; p++) {
                struct rp_range *range = &bounds[p];

                if (from[p] > range->end)
                        rc = rp_fail(err, RP_ERR_USAGE, "--from %" PRId64 " lies beyond the end of partition %" PRId32
                                     " of topic \"%s\" (%" PRId64 ")", from[p], rp_source_partition(source, p),
                                     rp_source_topic(source, p), range->end);
                if (rc == RP_OK && from[p] >= 0)
                        rc = check_from(&progress->marks[p], note, from[p], range->first, rp_source_topic(source, p),
                                        rp_source_partition(source, p), err);
                if (from[p] > range->first)
                        range->first = from[p];
                if (to[p] >= 0 && to[p] < range->end)
                        range->end = to[p] > range->first ? to[p] : range->first;
        }
        free(from);
        free(to);
        free(note);
        return rc;
}
