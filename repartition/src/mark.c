#include "mark.h"

#include <stdlib.h>
#include <string.h>

bool rp_progress_init(struct rp_progress *progress, int32_t cnt)
{
        *progress = (struct rp_progress){ .marks = calloc((size_t)cnt, sizeof(*progress->marks)), .cnt = cnt };
        for (int32_t p = 0; progress->marks && p < cnt; p++)
                progress->marks[p] = (struct rp_mark){ .partition = p, .next = -1 };
        return progress->marks;
}

bool rp_progress_grow(struct rp_progress *progress, int32_t cnt)
{
        struct rp_mark *grown;

        if (cnt <= progress->cnt)
                return true;
        grown = realloc(progress->marks, (size_t)cnt * sizeof(*grown));
        if (!grown)
                return false;
        for (int32_t p = progress->cnt; p < cnt; p++)
                grown[p] = (struct rp_mark){ .partition = p, .next = -1 };
        progress->marks = grown;
        progress->cnt = cnt;
        return true;
}

void rp_progress_release(struct rp_progress *progress)
{
        for (int32_t p = 0; progress->marks && p < progress->cnt; p++)
                free(progress->marks[p].note);
        free(progress->marks);
        *progress = (struct rp_progress){ 0 };
}

bool rp_progress_set(struct rp_progress *progress, int32_t partition, int64_t next, const char *note)
{
        struct rp_mark *mark = &progress->marks[partition];
        char *copy = note ? strdup(note) : NULL;

        if (note && !copy)
                return false;
        free(mark->note);
        mark->next = next;
        mark->note = copy;
        return true;
}
