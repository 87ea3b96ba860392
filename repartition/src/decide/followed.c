#include "decide/followed.h"

#include "decide/follow_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool rp_followed_has_any(const struct rp_progress *followed)
{
        struct rp_follow_note note;

        for (int32_t p = 0; p < followed->cnt; p++)
                if (followed->marks[p].next >= 0 && rp_follow_note_parse(&note, followed->marks[p].note))
                        return true;
        return false;
}

/* Where follow began; of jobs that have not written it down by what they were told. */
static rp_err_t find_first(const struct rp_mark *mark, const struct rp_note *before, int64_t beginning, int64_t *first,
                           struct rp_error *err)
{
        struct rp_follow_note note;

        if (!rp_follow_note_parse(&note, mark->note))
                return rp_fail(err, RP_ERR_USAGE, "the stored offset of partition %" PRId32 " was not written by follow: name "
                               "the --job that copied", mark->partition);
        *first = note.first;
        if (note.first >= 0)
                return RP_OK;
        if (rp_follow_begin(&note, mark->partition, true) != RP_TIME_EARLIEST)
                return rp_fail(err, RP_ERR_USAGE, "where follow began in partition %" PRId32 " is not known: it was not told to "
                               "begin at the beginning, and an older version did not write it down", mark->partition);
        *first = before->pass_cnt ? before->first : beginning;
        return RP_OK;
}

static rp_err_t join_one(struct rp_progress *progress, const struct rp_mark *followed, int64_t beginning, struct rp_note *note,
                         struct rp_error *err)
{
        struct rp_mark *mark = &progress->marks[followed->partition];
        int64_t first, next = mark->next;
        char *text;

        *note = (struct rp_note){ 0 };
        if (mark->next >= 0 && (!rp_note_parse(note, mark->note) || !note->pass_cnt))
                return rp_fail(err, RP_ERR_USAGE, "the stored offsets were not written by this tool (partition %" PRId32
                               "): name the --job that copied", mark->partition);
        /* A pass that was not finished ends where it was left. */
        if (note->pass_cnt && note->ends[note->pass_cnt - 1] > mark->next)
                note->ends[note->pass_cnt - 1] = mark->next;
        if (followed->next >= 0) {
                if (find_first(followed, note, beginning, &first, err) != RP_OK)
                        return err->code;
                if (!note->pass_cnt || first < note->first)
                        note->first = first;
                next = followed->next > next ? followed->next : next;
        }
        rp_note_add_pass(note, next);
        text = rp_note_print(note);
        if (!text || !rp_progress_set(progress, followed->partition, next, text)) {
                free(text);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        free(text);
        return RP_OK;
}

rp_err_t rp_followed_join(struct rp_progress *progress, const struct rp_progress *followed, const struct rp_range *bounds,
                          struct rp_error *err)
{
        struct rp_note *note = malloc(sizeof(*note));
        rp_err_t rc = note ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        /* Passes are counted from the end, so each partition takes part in the last one, if with nothing. */
        for (int32_t p = 0; rc == RP_OK && p < progress->cnt; p++)
                if (progress->marks[p].next >= 0 || followed->marks[p].next >= 0)
                        rc = join_one(progress, &followed->marks[p], bounds[p].first, note, err);
        free(note);
        return rc;
}

void rp_followed_epochs(const struct rp_progress *followed, int64_t *epochs)
{
        struct rp_follow_note note;

        for (int32_t p = 0; p < followed->cnt; p++)
                epochs[p] = followed->marks[p].next >= 0 && rp_follow_note_parse(&note, followed->marks[p].note) ? note.epoch : 0;
}
