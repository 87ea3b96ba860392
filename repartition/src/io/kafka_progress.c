#define RP_WITH_RDKAFKA
#include "io/kafka_progress.h"

#include "clock.h"
#include "io/groups.h"
#include "io/kafka_producer.h"
#include "io/kafka_source.h"
#include "io/rights.h"

#include <stdlib.h>
#include <string.h>

enum {
        FIRST_TRY_MS = 500, /* whoever may not know of the group gets no answer at all, and is asked about that only then */
        TRY_MS = 3000,
        PENDING_MS = RP_TRANSACTION_TIMEOUT_MS + 3000 /* by then the cluster has ended what a killed run left open */
};

static rp_err_t take(struct rp_progress *progress, const struct rp_topics *topics,
                     const rd_kafka_topic_partition_list_t *list, struct rp_error *err)
{
        for (int i = 0; i < list->cnt; i++) {
                const rd_kafka_topic_partition_t *at = &list->elems[i];
                char *note = at->metadata_size ? strndup(at->metadata, at->metadata_size) : NULL;
                bool is_set = rp_progress_set(progress, rp_topics_find(topics, at->topic, at->topic, at->partition),
                                              at->offset >= 0 ? at->offset : -1, note);

                free(note);
                if (!is_set)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        return RP_OK;
}

rp_err_t rp_kafka_progress_ask(struct rp_client *client, rd_kafka_topic_partition_list_t *list,
                               const struct rp_topics *topics, struct rp_progress *progress, int timeout_ms, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + timeout_ms;
        rp_err_t rc;

        for (int try_ms = client->is_secured ? FIRST_TRY_MS : TRY_MS;; try_ms = TRY_MS) {
                int64_t left = deadline - rp_clock_ms();
                rd_kafka_resp_err_t kerr =
                        rd_kafka_committed(client->rk, list, left > try_ms ? try_ms : left > 0 ? (int)left : 1);

                for (int i = 0; i < list->cnt && !kerr; i++)
                        kerr = list->elems[i].err;
                if (!kerr)
                        return take(progress, topics, list, err);
                rp_client_serve(client, 50);
                rc = rp_err_from_kafka(kerr);
                /* A coordinator that we may not know of looks like one that is late. */
                if (rc == RP_ERR_RETRY && rp_is_refused(rp_rights_group_error(client, 5000)))
                        return rp_fail_resp(err, client, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
                                            "cannot read the job's stored progress");
                if (rc != RP_ERR_RETRY || rp_clock_ms() >= deadline)
                        return rp_fail_resp(err, client, kerr, "cannot read the job's stored progress");
                for (int i = 0; i < list->cnt; i++)
                        list->elems[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
        }
}

rp_err_t rp_kafka_progress(struct rp_source *source, struct rp_progress *progress, int timeout_ms,
                           struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list = rp_kafka_source_partitions(source);
        rp_err_t rc = rp_kafka_progress_ask(rp_kafka_source_client(source), list, source->topics, progress, timeout_ms, err);

        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

rp_err_t rp_kafka_progress_peek(struct rp_client *client, const char *group, const char *right, const char *topic,
                                const struct rp_topics *topics, struct rp_progress *progress, int timeout_ms,
                                struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list;
        rp_err_t rc;

        rp_client_needs(client, RP_RESOURCE_GROUP, right, group);
        rc = rp_group_committed(client, group, "cannot read what is stored by group", timeout_ms, &list, err);
        for (int at = 0; rc == RP_OK && at < list->cnt; at++) {
                const rd_kafka_topic_partition_t *one = &list->elems[at];
                int32_t place = rp_topics_find(topics, topic, one->topic, one->partition);
                char *note;

                if (place < 0 || place >= progress->cnt || one->offset < 0)
                        continue;
                note = one->metadata_size ? strndup(one->metadata, one->metadata_size) : NULL;
                if (!rp_progress_set(progress, place, one->offset, note))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                free(note);
        }
        if (list)
                rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

rp_err_t rp_kafka_progress_now(struct rp_source *source, const char *job, struct rp_progress *progress, int timeout_ms,
                               struct rp_error *err)
{
        rp_err_t rc = rp_kafka_progress(source, progress, timeout_ms < PENDING_MS ? timeout_ms : PENDING_MS, err);
        struct rp_error ignored;

        if (rc == RP_ERR_RETRY && rp_kafka_progress_peek(rp_kafka_source_client(source), job, "Read", source->topic,
                                                         source->topics, progress, timeout_ms, &ignored) == RP_OK)
                return RP_OK;
        return rc;
}
