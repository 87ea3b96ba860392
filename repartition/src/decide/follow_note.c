#include "decide/follow_note.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_VERSION = 1 };

static const char *const from_names[] = { "earliest", "latest", "time", "rewrite" };
enum { FROM_CNT = sizeof(from_names) / sizeof(*from_names) };

char *rp_follow_note_print(const struct rp_follow_note *note)
{
        json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:i}", "keyroute_follow", NOTE_VERSION, "job", note->job,
                                 "by", note->by, "from", from_names[note->from], "time_ms", (json_int_t)note->time_ms,
                                 "born_ms", (json_int_t)note->born_ms, "partitions", (int)note->partition_cnt);
        char *text = NULL;
        bool is_well = root;

        if (is_well && note->first >= 0)
                is_well = json_object_set_new(root, "first", json_integer((json_int_t)note->first)) == 0;
        if (is_well && note->epoch)
                is_well = json_object_set_new(root, "epoch", json_integer((json_int_t)note->epoch)) == 0;
        if (is_well && rp_job_done_records(&note->done))
                is_well = json_object_set_new(root, "done", rp_job_done_json(&note->done)) == 0;
        if (is_well)
                text = json_dumps(root, JSON_COMPACT);
        json_decref(root);
        return text;
}

bool rp_follow_note_parse(struct rp_follow_note *note, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        json_int_t time_ms, born_ms, first = -1, epoch = 0;
        json_t *done = NULL;
        const char *job, *by, *from;
        int version, partition_cnt, at = 0;
        bool is_valid = false;

        *note = (struct rp_follow_note){ .first = -1 };
        if (!root || json_unpack(root, "{s:i, s:s, s:s, s:s, s:I, s:I, s:i, s?I, s?I, s?o}", "keyroute_follow", &version, "job",
                                 &job, "by", &by, "from", &from, "time_ms", &time_ms, "born_ms", &born_ms, "partitions",
                                 &partition_cnt, "first", &first, "epoch", &epoch, "done", &done) != 0)
                goto out;
        while (at < FROM_CNT && strcmp(from, from_names[at]) != 0)
                at++;
        is_valid = version == NOTE_VERSION && at < FROM_CNT &&
                   snprintf(note->job, sizeof(note->job), "%s", job) < (int)sizeof(note->job) &&
                   snprintf(note->by, sizeof(note->by), "%s", by) < (int)sizeof(note->by);
        note->from = (rp_from_t)at;
        note->time_ms = time_ms;
        note->born_ms = born_ms;
        note->partition_cnt = partition_cnt;
        note->first = first;
        note->epoch = epoch;
        is_valid &= !done || rp_job_done_read(&note->done, done);
out:
        json_decref(root);
        return is_valid;
}

int64_t rp_follow_begin(const struct rp_follow_note *note, int32_t partition, bool is_birth)
{
        if (partition >= note->partition_cnt)
                return RP_TIME_EARLIEST;
        switch (note->from) {
        case RP_FROM_TIME:
                return note->time_ms;
        case RP_FROM_LATEST:
                return is_birth ? RP_TIME_LATEST : note->born_ms;
        default:
                return RP_TIME_EARLIEST;
        }
}

void rp_follow_identity(char out[RP_NOTE_JOB_SIZE], const char *source, const char *target, int32_t partition_cnt,
                        const char *fingerprint)
{
        snprintf(out, RP_NOTE_JOB_SIZE, "follow %s %s%s, %" PRId32 " partitions, policy %s", source, target ? "to " : "in place",
                 target ? target : "", partition_cnt, fingerprint);
}
