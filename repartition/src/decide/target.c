#include "decide/target.h"

enum { LEAST_MS = 100, COMMITS_PER_PERIOD = 25 /* a commit takes at most 4 % of the time, if most_ms allows */ };

int32_t rp_target(const kr_rule_t *rule, const struct rp_record *rec, int32_t partition, int32_t partition_cnt)
{
        if (!rec->key)
                return partition % partition_cnt;
        return kr_rule_partition(rule, rec->key, rec->key_len, partition_cnt);
}

int64_t rp_transaction_pace_ms(int64_t commit_ms, int64_t most_ms)
{
        int64_t wanted = commit_ms * COMMITS_PER_PERIOD;

        if (wanted < LEAST_MS)
                wanted = LEAST_MS;
        return wanted < most_ms ? wanted : most_ms;
}
