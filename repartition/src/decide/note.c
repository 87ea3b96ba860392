#include "decide/note.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_VERSION = 1 };

char *rp_note_print(const struct rp_note *note)
{
        json_t *ends = json_array();
        json_t *root = json_pack("{s:i, s:s, s:s, s:i, s:I, s:o, s:I}", "keyroute", NOTE_VERSION, "job", note->job, "by",
                                 note->by, "of", (int)note->partition_cnt, "first", (json_int_t)note->first, "passes", ends,
                                 "forgotten", (json_int_t)note->forgotten);
        char *text = NULL;

        if (!root)
                return NULL;
        for (size_t i = 0; i < note->pass_cnt; i++)
                json_array_append_new(ends, json_integer(note->ends[i]));
        text = json_dumps(root, JSON_COMPACT);
        json_decref(root);
        return text;
}

static bool copy_text(char *out, size_t size, const char *text)
{
        return snprintf(out, size, "%s", text) < (int)size;
}

bool rp_note_parse(struct rp_note *note, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        json_t *ends = NULL;
        json_int_t first, forgotten;
        const char *job, *by;
        int version, partition_cnt = 0;
        bool is_valid = false;

        *note = (struct rp_note){ 0 };
        if (!root || json_unpack(root, "{s:i, s:s, s:s, s?i, s:I, s:o, s:I}", "keyroute", &version, "job", &job, "by", &by, "of",
                                 &partition_cnt, "first", &first, "passes", &ends, "forgotten", &forgotten) != 0)
                goto out;
        if (version != NOTE_VERSION || !json_is_array(ends) || json_array_size(ends) > RP_NOTE_PASS_MAX ||
            !copy_text(note->job, sizeof(note->job), job) || !copy_text(note->by, sizeof(note->by), by))
                goto out;
        note->partition_cnt = partition_cnt;
        note->first = first;
        note->forgotten = forgotten;
        note->pass_cnt = json_array_size(ends);
        is_valid = true;
        for (size_t i = 0; i < note->pass_cnt; i++) {
                is_valid &= json_is_integer(json_array_get(ends, i));
                note->ends[i] = json_integer_value(json_array_get(ends, i));
        }
out:
        json_decref(root);
        return is_valid;
}

void rp_note_add_pass(struct rp_note *note, int64_t end)
{
        if (note->pass_cnt == RP_NOTE_PASS_MAX) {
                memmove(&note->ends[0], &note->ends[1], (RP_NOTE_PASS_MAX - 1) * sizeof(note->ends[0]));
                note->pass_cnt--;
                note->forgotten++;
        }
        note->ends[note->pass_cnt++] = end;
}

void rp_job_identity(char out[RP_NOTE_JOB_SIZE], const char *source, const char *target, int32_t partition_cnt,
                     const char *fingerprint)
{
        snprintf(out, RP_NOTE_JOB_SIZE, "rewrite %s to %s, %" PRId32 " partitions, policy %s", source, target,
                 partition_cnt, fingerprint);
}
