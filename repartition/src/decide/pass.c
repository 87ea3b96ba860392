#include "decide/pass.h"

#include "decide/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *topic_of(const struct rp_copy *copy, int32_t p)
{
        return rp_topics_name(copy->config.topics, copy->config.topic, p);
}

static int32_t partition_of(const struct rp_copy *copy, int32_t p)
{
        return rp_topics_partition(copy->config.topics, p);
}

static rp_err_t check_note(struct rp_copy *copy, int32_t p, struct rp_note *note)
{
        const struct rp_copy_config *config = &copy->config;
        const struct rp_mark *mark = &copy->stored.marks[p];

        if (!rp_note_parse(note, mark->note))
                return rp_fail(&copy->error, RP_ERR_USAGE,
                               "the stored offsets were not written by this tool (partition %" PRId32
                               "): choose another --job", partition_of(copy, p));
        if (strcmp(note->job, config->identity))
                return rp_fail(&copy->error, RP_ERR_USAGE,
                               "the stored progress belongs to another job (%.180s), this one is: %.180s; choose another "
                               "--job, or the same policy and partition count", note->job, config->identity);
        /* Passes are counted from the end: one that not all partitions took part in would be taken for another. */
        if (note->partition_cnt > config->partition_cnt)
                return rp_fail(&copy->error, RP_ERR_USAGE,
                               "the source had %" PRId32 " partitions when the progress was stored, this run knows %" PRId32
                               ": if it got some while this run began, run it again; if it was made anew, choose another --job",
                               note->partition_cnt, config->partition_cnt);
        if (!note->pass_cnt || mark->next < note->first || mark->next > note->ends[note->pass_cnt - 1])
                return rp_fail(&copy->error, RP_ERR_FATAL, "the stored progress of partition %" PRId32 " contradicts itself",
                               partition_of(copy, p));
        if (mark->next > copy->bounds[p].end)
                return rp_fail(&copy->error, RP_ERR_INCOMPLETE,
                               "partition %" PRId32 " of topic \"%s\" ends at offset %" PRId64 ", but up to %" PRId64
                               " was copied from it before: it lost records or was made anew",
                               partition_of(copy, p), topic_of(copy, p), copy->bounds[p].end, mark->next);
        return RP_OK;
}

/* The part of the partition that was asked for. */
static struct rp_range wanted(const struct rp_copy *copy, int32_t p)
{
        struct rp_range range = copy->bounds[p];

        if (!copy->config.asked)
                return range;
        if (copy->config.asked[p].first > range.first)
                range.first = copy->config.asked[p].first < range.end ? copy->config.asked[p].first : range.end;
        if (copy->config.asked[p].end < range.end)
                range.end = copy->config.asked[p].end;
        if (range.end < range.first)
                range.end = range.first;
        return range;
}

/* What a partition has to do in the pass: its range and, as the lane's note, what is to be stored with its marks. */
static rp_err_t plan_lane(struct rp_copy *copy, int32_t p, bool is_new_pass, struct rp_note *note)
{
        struct rp_copy_lane *lane = &copy->lanes[p];
        struct rp_range want = wanted(copy, p);
        int64_t next = copy->stored.marks[p].next, end;

        if (next < 0) {
                if (!is_new_pass)
                        return RP_OK; /* a partition that the source got since: it is for the next pass */
                *note = (struct rp_note){ .first = want.first };
                next = want.first;
        } else {
                rp_note_parse(note, copy->stored.marks[p].note);
        }
        if (is_new_pass)
                rp_note_add_pass(note, want.end > next ? want.end : next);
        end = note->ends[note->pass_cnt - 1];
        if (next < end && next < copy->bounds[p].first)
                return rp_fail(&copy->error, RP_ERR_INCOMPLETE,
                               "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                               " were deleted (retention or DeleteRecords) before they were copied",
                               partition_of(copy, p), topic_of(copy, p), next, copy->bounds[p].first - 1);
        snprintf(note->job, sizeof(note->job), "%s", copy->config.identity);
        snprintf(note->by, sizeof(note->by), "%s", copy->config.by);
        note->partition_cnt = copy->config.partition_cnt;
        lane->note = rp_note_print(note);
        lane->position = next;
        copy->ranges[p] = (struct rp_range){ .first = next, .end = end };
        return lane->note ? RP_OK : rp_fail(&copy->error, RP_ERR_FATAL, "out of memory");
}

rp_err_t rp_pass_plan(struct rp_copy *copy, bool *has_work)
{
        struct rp_note *note = malloc(sizeof(*note));
        bool is_unfinished = false;
        rp_err_t rc = note ? RP_OK : rp_fail(&copy->error, RP_ERR_FATAL, "out of memory");

        *has_work = false;
        for (int32_t p = 0; p < copy->config.partition_cnt; p++) {
                free(copy->lanes[p].note);
                copy->lanes[p].note = NULL;
                copy->lanes[p].position = -1;
                copy->ranges[p] = (struct rp_range){ 0 };
                if (rc != RP_OK || !copy->lanes[p].is_held || copy->stored.marks[p].next < 0)
                        continue;
                rc = check_note(copy, p, note);
                if (rc == RP_OK)
                        is_unfinished |= copy->stored.marks[p].next < note->ends[note->pass_cnt - 1];
        }
        for (int32_t p = 0; rc == RP_OK && p < copy->config.partition_cnt; p++) {
                if (!copy->lanes[p].is_held)
                        continue;
                rc = plan_lane(copy, p, !is_unfinished, note);
                *has_work |= copy->ranges[p].first < copy->ranges[p].end;
        }
        free(note);
        return rc;
}
