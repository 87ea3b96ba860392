#include "job/follow_copy.h"

#include "decide/target.h"
#include "job/copy_loop.h"

#include <inttypes.h>

rp_err_t rp_follow_fail_refused(const struct rp_record *rec, const char *topic, int32_t reason, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_BAD_RECORD,
                       "record at partition %" PRId32 ", offset %" PRId64 " of topic \"%s\" has no place: %s. With "
                       "--on-refused skip such records are counted and left out", rec->partition, rec->offset, topic,
                       kr_strerror(reason));
}

rp_err_t rp_follow_copy_judge(void *arg, const struct rp_record *records, size_t cnt, int32_t *verdicts,
                              struct rp_error *err)
{
        struct rp_follow_copy *copy = arg;
        struct rp_follow_copy_counts *pending = &copy->pending;

        for (size_t i = 0; i < cnt; i++) {
                const struct rp_record *rec = &records[i];
                int32_t to = rp_target(copy->rule, rec, rec->partition, copy->partition_cnt);

                if (to < 0 && !copy->skips_refused) {
                        rp_follow_fail_refused(rec, copy->topic, to, err);
                        verdicts[i] = RP_REFUSE;
                        return RP_OK;
                }
                verdicts[i] = to < 0 ? RP_SKIP : to;
                if (to < 0) {
                        pending->refused++;
                        continue;
                }
                pending->records++;
                pending->bytes += rec->key_len + rec->value_len;
                pending->keyless += !rec->key;
                pending->moved += rec->key && to != rec->partition;
        }
        return RP_OK;
}

void rp_follow_copy_settled(void *arg, bool is_committed)
{
        struct rp_follow_copy *copy = arg;

        if (is_committed) {
                copy->total.records += copy->pending.records;
                copy->total.bytes += copy->pending.bytes;
                copy->total.keyless += copy->pending.keyless;
                copy->total.moved += copy->pending.moved;
                copy->total.refused += copy->pending.refused;
        }
        copy->pending = (struct rp_follow_copy_counts){ 0 };
}
