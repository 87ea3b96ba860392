#include "decide/reprocess.h"

#include <stdlib.h>

bool rp_reprocess_init(struct rp_reprocess *reprocess, const kr_rule_t *rule, int32_t partition_cnt)
{
        *reprocess = (struct rp_reprocess){ .rule = rule, .partition_cnt = partition_cnt,
                                            .partitions = calloc((size_t)partition_cnt + 1, sizeof(*reprocess->partitions)) };
        for (int32_t p = 0; reprocess->partitions && p < partition_cnt; p++)
                reprocess->partitions[p].first_misplaced = reprocess->partitions[p].missed_ms = -1;
        return reprocess->partitions;
}

void rp_reprocess_release(struct rp_reprocess *reprocess)
{
        free(reprocess->partitions);
        *reprocess = (struct rp_reprocess){ 0 };
}

void rp_reprocess_add(struct rp_reprocess *reprocess, const struct rp_record *rec)
{
        struct rp_reprocess_partition *here = &reprocess->partitions[rec->partition], *home;
        int32_t to;

        reprocess->records++;
        if (!rec->key)
                return;
        to = kr_rule_partition(reprocess->rule, rec->key, rec->key_len, reprocess->partition_cnt);
        if (to < 0 || to == rec->partition)
                return;
        reprocess->misplaced++;
        here->misplaced++;
        if (here->first_misplaced < 0 || rec->offset < here->first_misplaced)
                here->first_misplaced = rec->offset;
        home = &reprocess->partitions[to];
        home->missed++;
        if (rec->timestamp_ms < 0)
                home->missed_timeless++;
        else if (home->missed_ms < 0 || rec->timestamp_ms < home->missed_ms)
                home->missed_ms = rec->timestamp_ms;
}

int64_t rp_reprocess_from(const struct rp_reprocess_partition *partition, int64_t at_time, int64_t first)
{
        int64_t from = partition->first_misplaced;

        if (partition->missed_timeless)
                return first;
        if (partition->missed_ms >= 0 && at_time >= 0 && (from < 0 || at_time < from))
                from = at_time;
        return from;
}
