#define RP_WITH_RDKAFKA
#include "io/transact.h"

#include "crash.h"
#include "io/within.h"

#include <stdlib.h>

enum { GRACE_MS = 5000 /* at most, beyond the time-out that a call was given, before it is taken for hung */ };

struct performance {
        struct rp_transact_call call;
        rd_kafka_t *rk;
        rd_kafka_error_t *kerr; /* what came of it */
};

static void perform(void *raw)
{
        struct performance *one = raw;
        const struct rp_transact_call *call = &one->call;

        switch (call->what) {
        case RP_TRANSACT_INIT:
                one->kerr = rd_kafka_init_transactions(one->rk, call->timeout_ms);
                break;
        case RP_TRANSACT_SEND_OFFSETS:
                one->kerr = rd_kafka_send_offsets_to_transaction(one->rk, call->offsets, call->group, call->timeout_ms);
                break;
        case RP_TRANSACT_COMMIT:
                one->kerr = rd_kafka_commit_transaction(one->rk, call->timeout_ms);
                break;
        case RP_TRANSACT_ABORT:
                one->kerr = rd_kafka_abort_transaction(one->rk, call->timeout_ms);
                break;
        }
}

static void drop(struct performance *one)
{
        if (one->call.offsets)
                rd_kafka_topic_partition_list_destroy(one->call.offsets);
        if (one->call.group)
                rd_kafka_consumer_group_metadata_destroy(one->call.group);
        if (one->kerr)
                rd_kafka_error_destroy(one->kerr);
}

static void release(void *raw)
{
        drop(raw);
        free(raw);
}

#ifdef RP_CRASH_POINTS
static const char *const names[] = { [RP_TRANSACT_INIT] = "init transactions", [RP_TRANSACT_SEND_OFFSETS] = "send offsets",
                                     [RP_TRANSACT_COMMIT] = "end transaction", [RP_TRANSACT_ABORT] = "abort transaction" };
#endif

rp_err_t rp_transact(struct rp_client *client, const struct rp_transact_call *call, const char *doing, rp_transact_end_t *end,
                     struct rp_error *err)
{
        struct performance *one = malloc(sizeof(*one));
        int patience_ms = call->timeout_ms + (call->timeout_ms < GRACE_MS ? call->timeout_ms : GRACE_MS);
        rp_err_t rc;

        *end = RP_TRANSACT_RETURNED;
        if (!one) {
                struct performance none = { .call = *call };

                drop(&none);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        *one = (struct performance){ .call = *call, .rk = client->rk };
        RP_CRASH_POINT(names[call->what], "before");
        if (!rp_call_within(patience_ms, perform, release, one)) {
                *end = RP_TRANSACT_HUNG;
                return rp_fail(err, RP_ERR_ABORT_BATCH, "cannot %s: librdkafka %s did not come back from that within %d s", doing,
                               rd_kafka_version_str(), patience_ms / 1000);
        }
        RP_CRASH_POINT(names[call->what], "after");
        if (one->kerr && rd_kafka_error_code(one->kerr) == RD_KAFKA_RESP_ERR__STATE)
                *end = RP_TRANSACT_FAILED_BEFORE;
        rc = rp_fail_kafka(err, client, one->kerr, "cannot %s", doing); /* takes kerr */
        one->kerr = NULL;
        release(one);
        return rc;
}
