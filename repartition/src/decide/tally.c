#include "decide/tally.h"

void rp_tally_add(struct rp_tally *sum, const struct rp_tally *tally)
{
        sum->records += tally->records;
        sum->keyless += tally->keyless;
        sum->bytes += tally->bytes;
        sum->keys += tally->keys;
        sum->mispartitioned += tally->mispartitioned;
        rp_digest_add(&sum->content, tally->content);
        rp_digest_add(&sum->order, tally->order);
}

rp_tally_verdict_t rp_tally_judge(const struct rp_tally *source, const struct rp_tally *target, uint64_t *split)
{
        *split = 0;
        if (source->records != target->records || !rp_digest_equals(source->content, target->content) ||
            target->mispartitioned)
                return RP_TALLY_DIFFERENT;
        /*
         * The same keys on both sides, and in the target each in one partition. So the target's number of keys is the
         * true one, and the source has more exactly if some live in several of its partitions.
         */
        *split = source->keys - target->keys;
        if (*split)
                return RP_TALLY_UNDECIDED;
        return rp_digest_equals(source->order, target->order) ? RP_TALLY_EQUAL : RP_TALLY_DIFFERENT;
}
