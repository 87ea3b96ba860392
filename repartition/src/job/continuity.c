#include "job/continuity.h"

#include "decide/checkpoint.h"
#include "decide/cutover.h"
#include "io/reader.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TICK_MS = 100 };

static rp_err_t check_anchors(struct rp_source *source, const struct rp_anchor *anchors, const struct rp_range *bounds,
                              struct rp_range *ranges, struct rp_error *err)
{
        struct rp_reader *reader = rp_reader_new(source, RP_READ_ANY);
        struct rp_run run = { 0 };
        bool has_any = false;
        rp_err_t rc = reader ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (int32_t p = 0; p < source->partition_cnt; p++) {
                if (anchors[p].offset < bounds[p].first || anchors[p].offset >= bounds[p].end)
                        continue;
                ranges[p] = (struct rp_range){ anchors[p].offset, anchors[p].offset + 1 };
                has_any = true;
        }
        if (rc == RP_OK && has_any)
                rc = rp_reader_start(reader, ranges, err);
        while (rc == RP_OK && has_any && !run.done) {
                rc = rp_reader_next(reader, TICK_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++) {
                        const struct rp_record *rec = &run.records[i];

                        if (rp_anchor_digest(rec) != anchors[rec->partition].digest)
                                rc = rp_fail(err, RP_ERR_INCOMPLETE,
                                             "partition %" PRId32 " of topic \"%s\" holds another record at offset %" PRId64
                                             " than the one that this job copied from there: the topic was made anew, or lost "
                                             "records and got others. Nothing was written; choose another --job and another "
                                             "target to begin anew", rp_source_partition(source, rec->partition),
                                             rp_source_topic(source, rec->partition), rec->offset);
                }
        }
        rp_reader_free(reader);
        return rc;
}

/*
 * Progress that has been stored and is gone while that of other partitions is there. The cluster drops it with a topic that
 * is deleted: one of the sources was made anew, and would be copied from its beginning among what was copied of the old one.
 */
static rp_err_t check_progress(const struct rp_source *source, const int64_t *positions, const struct rp_progress *progress,
                               struct rp_error *err)
{
        for (int32_t p = 0; p < source->partition_cnt; p++)
                if (positions[p] >= 0 && progress->marks[p].next < 0)
                        return rp_fail(err, RP_ERR_INCOMPLETE,
                                       "the progress of partition %" PRId32 " of topic \"%s\", %" PRId64 ", is gone: the topic "
                                       "was deleted and made again since, or the cluster lost the progress. Nothing was "
                                       "written; choose another --job and another target to begin anew",
                                       rp_source_partition(source, p), rp_source_topic(source, p), positions[p]);
        return RP_OK;
}

rp_err_t rp_continuity_check(const struct rp_job_fold *fold, const struct rp_job_descriptor *now, struct rp_source *source,
                             const struct rp_range *bounds, const struct rp_progress *progress, int32_t target_cnt,
                             struct rp_error *err)
{
        struct rp_anchor *anchors = calloc((size_t)source->partition_cnt, sizeof(*anchors));
        struct rp_range *ranges = calloc((size_t)source->partition_cnt, sizeof(*ranges));
        int64_t *positions = calloc((size_t)source->partition_cnt, sizeof(*positions));
        struct rp_job_descriptor stored;
        char text[480];
        rp_err_t rc = RP_OK;

        if (!anchors || !ranges || !positions ||
            !rp_job_fold_anchors(fold, source->partition_cnt, target_cnt, anchors, positions))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        else if (rp_job_descriptor_parse(&stored, fold->descriptor) &&
                 rp_job_descriptor_differs(&stored, now, text, sizeof(text)))
                rc = rp_fail(err, RP_ERR_USAGE, "%.400s: to begin anew, choose another --job", text);
        else if (check_progress(source, positions, progress, err) == RP_OK)
                rc = check_anchors(source, anchors, bounds, ranges, err);
        else
                rc = err->code;
        free(positions);
        free(anchors);
        free(ranges);
        return rc;
}
