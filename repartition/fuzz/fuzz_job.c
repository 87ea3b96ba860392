/*
 * Whoever may write to the topic of jobs may write anything there. Whatever the records: what is known of a job can be told,
 * and a group is put to no place that no checkpoint speaks of. Records are separated by 0x1e, a key from its value by 0x1f; a
 * record without a value is a tombstone.
 */
#include "decide/checkpoint.h"
#include "decide/cutover.h"
#include "decide/job_list.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_CNT = 4, TARGET_CNT = 3, RECORD = 0x1e, FIELD = 0x1f };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_starts(const struct rp_job_fold *fold)
{
        static const int64_t positions[SOURCE_CNT] = { 0, 1000, INT64_MAX, -1 }, epochs[SOURCE_CNT] = { 1, 1, 77, 0 };
        static const int64_t now[SOURCE_CNT] = { 5, 2000, 7, -1 }, ends[TARGET_CNT] = { 9, 0, 3 };
        struct rp_anchor anchors[SOURCE_CNT];
        int64_t starts[TARGET_CNT], come[SOURCE_CNT];
        struct rp_cutover_facts facts = { .fold = fold, .followed = fold, .epochs = epochs, .positions = now, .ends = ends,
                                          .source_cnt = SOURCE_CNT, .target_cnt = TARGET_CNT };
        struct rp_cutover_group group = { .positions = positions, .starts = starts };

        if (!rp_cutover_starts(&facts, &group, 1) || !rp_job_fold_anchors(fold, SOURCE_CNT, TARGET_CNT, anchors, come))
                abort();
        for (int q = 0; q < TARGET_CNT; q++)
                if (starts[q] < -1)
                        abort();
        for (int p = 0; p < SOURCE_CNT; p++)
                if (anchors[p].offset < -1 || come[p] < -1)
                        abort();
}

static void check_fold(const struct rp_job_fold *fold)
{
        struct rp_job_descriptor descriptor, again;
        struct rp_progress progress = { 0 };
        char *text;

        if (rp_job_descriptor_parse(&descriptor, fold->descriptor)) {
                text = rp_job_descriptor_print(&descriptor);
                if (!text || !rp_job_descriptor_parse(&again, text) || memcmp(&descriptor, &again, sizeof(again)) != 0)
                        abort();
                free(text);
        }
        if (!rp_progress_init(&progress, SOURCE_CNT) || !rp_job_fold_progress(fold, "a", &progress))
                abort();
        for (int p = 0; p < SOURCE_CNT; p++)
                if (progress.marks[p].next < -1)
                        abort();
        rp_progress_release(&progress);
        check_starts(fold);
}

/* A copy of its own size, so that reading beyond it is noticed. */
static void *copy_of(const uint8_t *from, size_t len)
{
        void *to = malloc(len ? len : 1);

        if (!to)
                abort();
        if (len)
                memcpy(to, from, len);
        return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct rp_job_fold fold;
        struct rp_job_list list = { 0 };

        if (!rp_job_fold_init(&fold, "job"))
                abort();
        for (size_t at = 0, cnt = 0; at < size; cnt++) {
                const uint8_t *end = memchr(data + at, RECORD, size - at);
                size_t len = end ? (size_t)(end - data) - at : size - at;
                const uint8_t *field = memchr(data + at, FIELD, len);
                struct rp_job_said said = { .offset = (int64_t)cnt, .timestamp_ms = (int64_t)cnt };

                said.key_len = field ? (size_t)(field - data) - at : len;
                said.value_len = field ? len - said.key_len - 1 : 0;
                said.key = copy_of(data + at, said.key_len);
                said.value = field ? copy_of(field + 1, said.value_len) : NULL;
                if (!rp_job_fold_add(&fold, said.key, said.key_len, said.value, said.value_len) || !rp_job_list_add(&list, &said))
                        abort();
                free((void *)said.key);
                free((void *)said.value);
                at += len + 1;
        }
        rp_job_list_sort(&list);
        for (size_t i = 0; i < list.cnt; i++)
                rp_job_entry_kind(&list.entries[i]);
        check_fold(&fold);
        rp_job_list_release(&list);
        rp_job_fold_release(&fold);
        return 0;
}
