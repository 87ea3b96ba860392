#define RP_WITH_RDKAFKA
#include "io/kafka_group.h"

#include "clock.h"
#include "io/cluster.h"
#include "io/kafka_message.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/offsets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        CONNECT_MS = 10000, /* for the first answer of a cluster; a wrong address should not cost a minute */
        BATCH_MAX = 512,    /* messages taken out of the queue at once */
        ASK_MS = 5000,      /* of one question to the cluster, which is then asked again */
        SETTLE_MS = 1000,   /* most that one wait counts as silence (a process may have been stopped), and to ask why it is */
        SESSION_MS = 10000  /* a dead member's partitions wait for so long; so does its open transaction, a little longer */
};

struct lane {
        int64_t next;     /* offset that reading goes on at */
        int64_t stuck_at; /* the same when check_silence() last found that more was there; -1: that nothing was */
        bool is_held;
};

struct kafka_group {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        struct rp_group base;
        char *topic, *name;
        rd_kafka_queue_t *queue; /* of the records; the consumer's own is left with rebalances and errors */
        rd_kafka_message_t *messages[BATCH_MAX]; /* the batch; a slot is NULL once its message was dropped or taken over */
        struct rp_record records[BATCH_MAX];
        size_t cnt, at, gone;     /* of the batch: [0, gone) destroyed, [gone, at) handed out last, [at, cnt) to come */
        struct rp_header_pool headers;
        bool lists_headers;
        struct lane *lanes;       /* by partition */
        int32_t lane_cnt;
        int32_t *pending;         /* partitions of a rebalance that start() or give() has not answered yet */
        size_t pending_cnt, pending_cap;
        rp_group_what_t pending_what;
        bool is_pending, is_leaving;
        bool has_joined, was_assigned; /* asked to join; got an assignment, be it an empty one */
        int64_t quiet_ms;         /* how long nothing was there to read, since check_silence() last asked why */
        int64_t unknown_since_ms; /* when the topic first seemed to be gone; 0: it is there */
        struct rp_error failure;  /* of a callback */
        int timeout_ms;
        char regime[160];
};

static struct kafka_group *self(struct rp_group *base)
{
        return (struct kafka_group *)((char *)base - offsetof(struct kafka_group, base));
}

/* ---- rebalances ------------------------------------------------------------------------------------------------ */

static bool reserve(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
        if ((size_t)list->cnt > group->pending_cap) {
                int32_t *grown = realloc(group->pending, (size_t)list->cnt * sizeof(*grown));

                if (!grown)
                        return false;
                group->pending = grown;
                group->pending_cap = (size_t)list->cnt;
        }
        for (int i = 0; i < list->cnt; i++) {
                int32_t wanted = list->elems[i].partition + 1;
                struct lane *grown;

                if (wanted <= group->lane_cnt)
                        continue;
                grown = realloc(group->lanes, (size_t)wanted * sizeof(*grown));
                if (!grown)
                        return false;
                memset(grown + group->lane_cnt, 0, (size_t)(wanted - group->lane_cnt) * sizeof(*grown));
                group->lanes = grown;
                group->lane_cnt = wanted;
        }
        return true;
}

static rp_err_t answer(struct kafka_group *group, bool is_assigned, const rd_kafka_topic_partition_list_t *list,
                       struct rp_error *err)
{
        rd_kafka_error_t *kerr = is_assigned ? rd_kafka_incremental_assign(group->client.rk, list)
                                             : rd_kafka_incremental_unassign(group->client.rk, list);

        return rp_fail_kafka(err, &group->client, kerr, "group \"%s\" cannot %s partitions", group->name,
                             is_assigned ? "take" : "give back");
}

/*
 * Only notes what is asked for: the caller commits first, then answers, and librdkafka waits until it does. An empty
 * list and one that comes while we leave need nobody's attention.
 */
static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t *list, void *opaque)
{
        struct kafka_group *group = opaque;
        bool is_assigned = what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        const char *protocol = rd_kafka_rebalance_protocol(rk);

        group->was_assigned |= is_assigned;
        if (!protocol || strcmp(protocol, "COOPERATIVE") != 0) { /* leaving before anything was joined */
                rd_kafka_assign(rk, NULL);
        } else if (group->is_leaving || !list->cnt) {
                answer(group, is_assigned, list, &group->failure);
        } else if (!reserve(group, list)) {
                rp_fail(&group->failure, RP_ERR_FATAL, "out of memory");
        } else {
                group->pending_cnt = (size_t)list->cnt;
                for (int i = 0; i < list->cnt; i++)
                        group->pending[i] = list->elems[i].partition;
                group->pending_what = is_assigned ? RP_GROUP_ASSIGNED
                                      : rd_kafka_assignment_lost(rk) ? RP_GROUP_LOST : RP_GROUP_REVOKED;
                group->is_pending = true;
        }
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static void drop(struct kafka_group *group, size_t i)
{
        if (group->messages[i])
                rd_kafka_message_destroy(group->messages[i]);
        group->messages[i] = NULL;
}

static void drop_batch(struct kafka_group *group)
{
        for (size_t i = group->gone; i < group->cnt; i++)
                drop(group, i);
        group->cnt = group->at = group->gone = 0;
}

static bool is_held(const struct kafka_group *group, int32_t partition)
{
        return partition >= 0 && partition < group->lane_cnt && group->lanes[partition].is_held;
}

static rp_err_t fail_gap(struct kafka_group *group, int32_t partition, const char *reason, struct rp_error *err)
{
        int64_t low = -1, high = -1, next = group->lanes[partition].next;

        rd_kafka_query_watermark_offsets(group->client.rk, group->topic, partition, &low, &high, ASK_MS);
        if (low > next)
                return rp_fail(err, RP_ERR_INCOMPLETE, "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                               " were deleted (retention or DeleteRecords) before they could be read", partition,
                               group->topic, next, low - 1);
        return rp_fail(err, RP_ERR_INCOMPLETE, "partition %" PRId32 " of topic \"%s\" cannot be read at offset %" PRId64
                       ": %s (it holds %" PRId64 " to %" PRId64 ": has it lost records or been made anew?)", partition,
                       group->topic, next, reason, low, high - 1);
}

/* An error that came instead of a record. RP_OK when reading just goes on. */
static rp_err_t take_error(struct kafka_group *group, const rd_kafka_message_t *message, struct rp_group_event *event,
                           struct rp_error *err)
{
        const char *reason = rd_kafka_message_errstr(message);
        char text[256];

        switch ((int)message->err) {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                /* Of everything up to here nothing is left to come: the end may be a control record. */
                if (is_held(group, message->partition) && message->offset > group->lanes[message->partition].next) {
                        group->lanes[message->partition].next = message->offset;
                        event->partition = message->partition;
                        event->next = message->offset;
                }
                return RP_OK;
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
                return is_held(group, message->partition) ? fail_gap(group, message->partition, reason, err) : RP_OK;
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
                if (!group->unknown_since_ms)
                        group->unknown_since_ms = rp_clock_ms();
                break;
        case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: /* the partitions are lost, and that is told by a rebalance */
        case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
        case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
        case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
                break;
        case RD_KAFKA_RESP_ERR__FATAL:
                rd_kafka_fatal_error(group->client.rk, text, sizeof(text));
                return rp_fail(err, RP_ERR_FATAL, "group \"%s\": %s", group->name, text);
        case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
                return rp_fail(err, RP_ERR_USAGE, "group \"%s\" has members of another kind: they share partitions by another "
                               "protocol than cooperative-sticky. Choose a group of your own by --job", group->name);
        default:
                if (rp_err_from_kafka(message->err) != RP_ERR_RETRY && is_held(group, message->partition))
                        return rp_message_fail(err, &group->client, message, group->topic, message->partition,
                                               group->lanes[message->partition].next);
                if (rp_err_from_kafka(message->err) != RP_ERR_RETRY) {
                        rp_fail(err, rp_err_from_kafka(message->err), "group \"%s\" cannot read topic \"%s\": %s",
                                group->name, group->topic, reason);
                        /* Other questions were asked since it joined, and left what they need. */
                        rp_client_needs(&group->client, RP_RESOURCE_GROUP, "Read", group->name);
                        rp_client_needs(&group->client, RP_RESOURCE_TOPIC, "Read", group->topic);
                        rp_client_append_right(&group->client, message->err, err->text, sizeof(err->text));
                        return err->code;
                }
        }
        snprintf(group->client.trouble, sizeof(group->client.trouble), "%s", reason);
        return RP_OK;
}

/* The next messages of the batch that belong together: one partition's records, or one error. */
static rp_err_t hand_out(struct kafka_group *group, struct rp_group_event *event, struct rp_error *err)
{
        size_t first = group->at;
        rp_err_t rc = RP_OK;

        group->headers.cnt = 0;
        for (; rc == RP_OK && group->at < group->cnt; group->at++) {
                rd_kafka_message_t *message = group->messages[group->at];
                struct rp_record *rec = &group->records[group->at];
                struct lane *lane;

                if (event->cnt && (!message || message->err || message->partition != event->partition))
                        break;
                if (message && message->err) {
                        rc = take_error(group, message, event, err);
                        drop(group, group->at);
                        if (rc != RP_OK || event->partition >= 0)
                                break;
                } else if (message && is_held(group, message->partition) &&
                           (rc = rp_message_check_offset(err, &group->client, message, group->topic, message->partition,
                                                         group->lanes[message->partition].next)) != RP_OK) {
                        break;
                } else if (message && is_held(group, message->partition) &&
                           message->offset >= group->lanes[message->partition].next) {
                        lane = &group->lanes[message->partition];
                        if (!event->cnt++)
                                first = group->at;
                        *rec = rp_message_view(&group->messages[group->at]);
                        if (group->lists_headers)
                                rc = rp_message_list_headers(&group->headers, message, rec, err);
                        event->partition = message->partition;
                        event->next = lane->next = message->offset + 1;
                } else {
                        drop(group, group->at);
                        if (event->cnt) {
                                group->at++;
                                break;
                        }
                }
        }
        if (event->partition >= 0)
                group->unknown_since_ms = 0;
        if (event->partition >= 0 && !event->cnt && group->at < group->cnt)
                group->at++; /* the error that moved the position */
        event->records = &group->records[first];
        rp_message_join_headers(&group->headers, &group->records[first], event->cnt);
        return rc;
}

/* A topic that brokers do not know for a while, as when they come and go, is waited for; one that is gone is told. */
static rp_err_t check_topic(struct kafka_group *group, struct rp_error *err)
{
        struct rp_topic_info info;

        if (!group->unknown_since_ms || rp_clock_ms() - group->unknown_since_ms < group->timeout_ms)
                return RP_OK;
        if (rp_cluster_topic(&group->client, group->topic, ASK_MS, &info, err) == RP_OK && !info.exists)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist any more", group->topic);
        group->unknown_since_ms = 0;
        return RP_OK;
}

/*
 * A broker that cannot make sense of its log answers that there is nothing, for ever. So when nothing has come for long, the
 * ends are asked for; a partition that has more, as it had the time before, and gave none of it, cannot be read. Brokers that
 * do not answer are waited for.
 */
static rp_err_t check_silence(struct kafka_group *group, int64_t waited_ms, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *list;
        struct rp_error ignored;
        rp_err_t rc = RP_OK;
        bool is_answered;

        group->quiet_ms += waited_ms < SETTLE_MS ? waited_ms : SETTLE_MS;
        if (group->quiet_ms < group->timeout_ms)
                return RP_OK;
        group->quiet_ms = 0;
        list = rd_kafka_topic_partition_list_new(group->lane_cnt);
        for (int32_t p = 0; p < group->lane_cnt; p++)
                if (is_held(group, p))
                        rd_kafka_topic_partition_list_add(list, group->topic, p);
        is_answered = list->cnt &&
                      rp_offsets_list(&group->client, group->topic, RP_TIME_LATEST, SETTLE_MS, list, &ignored) == RP_OK;
        for (int i = 0; i < list->cnt; i++) {
                struct lane *lane = &group->lanes[list->elems[i].partition];
                bool has_more = is_answered && list->elems[i].offset > lane->next;

                if (rc == RP_OK && has_more && lane->stuck_at == lane->next)
                        rc = rp_fail(err, RP_ERR_INCOMPLETE, "partition %" PRId32 " of topic \"%s\" gave nothing for %d s at "
                                     "offset %" PRId64 " of %" PRId64 ": is the leader's log damaged there?", list->elems[i].partition,
                                     group->topic, group->timeout_ms / 1000, lane->next, list->elems[i].offset);
                lane->stuck_at = has_more ? lane->next : -1;
        }
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

/* Rebalances, and what concerns the group as a whole. */
static rp_err_t take_news(struct kafka_group *group, int timeout_ms, struct rp_error *err)
{
        struct rp_group_event ignored = { .partition = -1 };
        rd_kafka_message_t *message = rd_kafka_consumer_poll(group->client.rk, timeout_ms);
        rp_err_t rc = message && message->err ? take_error(group, message, &ignored, err) : RP_OK;

        if (message)
                rd_kafka_message_destroy(message);
        if (rc == RP_OK && group->failure.code != RP_OK)
                *err = group->failure;
        return rc == RP_OK ? group->failure.code : rc;
}

static size_t take_batch(struct kafka_group *group, int timeout_ms)
{
        /* A batch call waits until the batch is full, so waiting is done for one message alone. */
        ssize_t got = rd_kafka_consume_batch_queue(group->queue, 0, group->messages, BATCH_MAX);

        if (got == 0 && timeout_ms > 0) {
                got = rd_kafka_consume_batch_queue(group->queue, timeout_ms, group->messages, 1);
                if (got == 1)
                        got += rd_kafka_consume_batch_queue(group->queue, 0, group->messages + 1, BATCH_MAX - 1);
        }
        return got > 0 ? (size_t)got : 0;
}

static void tell_rebalance(const struct kafka_group *group, struct rp_group_event *event)
{
        event->what = group->pending_what;
        event->partitions = group->pending;
        event->partition_cnt = group->pending_cnt;
}

static rp_err_t group_serve(struct rp_group *base, int timeout_ms, struct rp_group_event *event, struct rp_error *err)
{
        struct kafka_group *group = self(base);
        rp_err_t rc = group->is_pending ? RP_OK : take_news(group, timeout_ms, err);

        *event = (struct rp_group_event){ .what = RP_GROUP_RECORDS, .partition = -1 };
        if (rc != RP_OK || !group->is_pending)
                return rc;
        if (group->pending_what == RP_GROUP_LOST)
                drop_batch(group);
        tell_rebalance(group, event);
        return RP_OK;
}

static rp_err_t group_poll(struct rp_group *base, int timeout_ms, struct rp_group_event *event, struct rp_error *err)
{
        struct kafka_group *group = self(base);
        int64_t began_ms;
        rp_err_t rc;

        *event = (struct rp_group_event){ .what = RP_GROUP_RECORDS, .partition = -1 };
        for (; group->gone < group->at; group->gone++)
                drop(group, group->gone);
        if (group->at == group->cnt && !group->is_pending) {
                group->at = group->gone = group->cnt = 0;
                rc = take_news(group, 0, err);
                if (rc != RP_OK)
                        return rc;
                began_ms = rp_clock_ms();
                group->cnt = group->is_pending ? 0 : take_batch(group, timeout_ms);
                if (!group->cnt && !group->is_pending) {
                        rc = check_silence(group, rp_clock_ms() - began_ms, err);
                        if (rc != RP_OK)
                                return rc;
                }
        }
        /* Somebody else may have the partitions by now: no use to read on. */
        if (group->is_pending && group->pending_what == RP_GROUP_LOST)
                drop_batch(group);
        rc = hand_out(group, event, err);
        if (rc == RP_OK)
                rc = check_topic(group, err);
        /* What was fetched before partitions are taken away is still ours, and those that stay go on from there. */
        if (rc != RP_OK || event->partition >= 0 || !group->is_pending || group->at < group->cnt)
                return rc;
        tell_rebalance(group, event);
        return RP_OK;
}

/* ---- assignments ------------------------------------------------------------------------------------------------- */

static bool is_pending(const struct kafka_group *group, rp_group_what_t what, int32_t partition)
{
        for (size_t i = 0; group->is_pending && group->pending_what == what && i < group->pending_cnt; i++)
                if (group->pending[i] == partition)
                        return true;
        return false;
}

/*
 * Before each assignment, since the last one's end undid it: from its first record on the partition then has our queue.
 * (After the assignment, some may already be in the consumer's.)
 */
static void forward(struct kafka_group *group, int32_t partition)
{
        rd_kafka_queue_t *own = rd_kafka_queue_get_partition(group->client.rk, group->topic, partition);

        if (!own)
                return;
        rd_kafka_queue_forward(own, group->queue);
        rd_kafka_queue_destroy(own);
}

/* A partition that was assigned a moment ago cannot be rewound before its reading has begun. */
static rp_err_t rewind_to(struct kafka_group *group, rd_kafka_topic_partition_list_t *list, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + group->timeout_ms;

        for (;;) {
                rd_kafka_error_t *kerr = rd_kafka_seek_partitions(group->client.rk, list, ASK_MS);
                rd_kafka_resp_err_t first = kerr ? rd_kafka_error_code(kerr) : RD_KAFKA_RESP_ERR_NO_ERROR;

                if (kerr)
                        rd_kafka_error_destroy(kerr);
                for (int i = 0; i < list->cnt && !first; i++)
                        first = list->elems[i].err;
                if (!first)
                        return RP_OK;
                if ((first != RD_KAFKA_RESP_ERR__STATE && first != RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS &&
                     rp_err_from_kafka(first) != RP_ERR_RETRY) || rp_clock_ms() >= deadline)
                        return rp_fail_resp(err, &group->client, first, "cannot rewind topic \"%s\"", group->topic);
                for (int i = 0; i < list->cnt; i++)
                        list->elems[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
                rp_clock_sleep_ms(20);
        }
}

static rp_err_t group_start(struct rp_group *base, const struct rp_mark *marks, size_t cnt, struct rp_error *err)
{
        struct kafka_group *group = self(base);
        rd_kafka_topic_partition_list_t *assigned = rd_kafka_topic_partition_list_new((int)cnt);
        rd_kafka_topic_partition_list_t *rewound = rd_kafka_topic_partition_list_new((int)cnt);
        rp_err_t rc = RP_OK;

        for (size_t i = 0; i < cnt; i++) {
                bool is_new = is_pending(group, RP_GROUP_ASSIGNED, marks[i].partition);

                if (!is_new && !is_held(group, marks[i].partition))
                        continue; /* given away meanwhile */
                if (is_new)
                        forward(group, marks[i].partition);
                rd_kafka_topic_partition_list_add(is_new ? assigned : rewound, group->topic, marks[i].partition)->offset =
                        marks[i].next;
                for (size_t at = group->at; at < group->cnt; at++)
                        if (group->messages[at] && group->messages[at]->partition == marks[i].partition)
                                drop(group, at);
        }
        if (rewound->cnt)
                rc = rewind_to(group, rewound, err);
        if (rc == RP_OK && assigned->cnt && assigned->cnt != (int)group->pending_cnt)
                rc = rp_fail(err, RP_ERR_FATAL, "group \"%s\" gave %zu partitions, of which only %d have a place to begin at",
                             group->name, group->pending_cnt, assigned->cnt);
        if (rc == RP_OK && assigned->cnt)
                rc = answer(group, true, assigned, err);
        if (rc == RP_OK && assigned->cnt)
                group->is_pending = false;
        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                if (marks[i].partition < group->lane_cnt) {
                        group->lanes[marks[i].partition].next = marks[i].next;
                        group->lanes[marks[i].partition].stuck_at = -1;
                }
        }
        for (int i = 0; rc == RP_OK && i < assigned->cnt; i++)
                group->lanes[assigned->elems[i].partition].is_held = true;
        rd_kafka_topic_partition_list_destroy(assigned);
        rd_kafka_topic_partition_list_destroy(rewound);
        return rc;
}

static rp_err_t group_give(struct rp_group *base, struct rp_error *err)
{
        struct kafka_group *group = self(base);
        rd_kafka_topic_partition_list_t *list;
        rp_err_t rc;

        if (!group->is_pending || group->pending_what == RP_GROUP_ASSIGNED)
                return RP_OK;
        list = rd_kafka_topic_partition_list_new((int)group->pending_cnt);
        for (size_t i = 0; i < group->pending_cnt; i++) {
                rd_kafka_topic_partition_list_add(list, group->topic, group->pending[i]);
                group->lanes[group->pending[i]].is_held = false;
        }
        group->is_pending = false;
        rc = answer(group, false, list, err);
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

/* Bounded, unlike rd_kafka_consumer_close(). */
static void group_leave(struct rp_group *base, int timeout_ms)
{
        struct kafka_group *group = self(base);
        int64_t deadline = rp_clock_ms() + timeout_ms;
        rd_kafka_queue_t *queue = rd_kafka_queue_new(group->client.rk);
        struct rp_error ignored;
        rd_kafka_error_t *kerr;

        group->is_leaving = true;
        drop_batch(group);
        group_give(base, &ignored); /* librdkafka would wait for the answer */
        if (group->is_pending) {    /* or for this one */
                rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(0);

                group->is_pending = false;
                answer(group, true, nothing, &ignored);
                rd_kafka_topic_partition_list_destroy(nothing);
        }
        kerr = rd_kafka_consumer_close_queue(group->client.rk, queue);
        if (kerr)
                rd_kafka_error_destroy(kerr);
        while (!kerr && !rd_kafka_consumer_closed(group->client.rk) && rp_clock_ms() < deadline) {
                rd_kafka_message_t *message = NULL;

                if (rd_kafka_consume_batch_queue(queue, 20, &message, 1) == 1)
                        rd_kafka_message_destroy(message);
        }
        rd_kafka_queue_destroy(queue);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static rp_err_t group_stored(struct rp_group *base, struct rp_progress *progress, int timeout_ms, struct rp_error *err)
{
        struct kafka_group *group = self(base);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; p < group->lane_cnt && p < progress->cnt; p++)
                if (group->lanes[p].is_held || is_pending(group, RP_GROUP_ASSIGNED, p))
                        rd_kafka_topic_partition_list_add(list, group->topic, p);
        if (list->cnt)
                rc = rp_kafka_progress_ask(&group->client, list, NULL, progress, timeout_ms, err);
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

static rp_err_t group_locate(struct rp_group *base, int64_t time_ms, struct rp_mark *marks, size_t cnt, int timeout_ms,
                             struct rp_error *err)
{
        struct kafka_group *group = self(base);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)cnt);
        bool lacks_some = false;
        rp_err_t rc;

        for (size_t i = 0; i < cnt; i++)
                rd_kafka_topic_partition_list_add(list, group->topic, marks[i].partition);
        rc = rp_offsets_list(&group->client, group->topic, time_ms, timeout_ms, list, err);
        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                marks[i].next = list->elems[i].offset;
                lacks_some |= marks[i].next < 0; /* nothing is as late as that */
        }
        if (rc == RP_OK && lacks_some)
                rc = rp_offsets_list(&group->client, group->topic, RP_TIME_LATEST, timeout_ms, list, err);
        for (size_t i = 0; rc == RP_OK && i < cnt; i++)
                if (marks[i].next < 0)
                        marks[i].next = list->elems[i].offset;
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

struct rp_client *rp_kafka_group_client(struct rp_group *base)
{
        return &self(base)->client;
}

const char *rp_kafka_group_regime(const struct rp_group *base)
{
        return ((const struct kafka_group *)((const char *)base - offsetof(struct kafka_group, base)))->regime;
}

static int64_t group_end(struct rp_group *base, int32_t partition)
{
        struct kafka_group *group = self(base);
        int64_t low, high;

        if (rd_kafka_get_watermark_offsets(group->client.rk, group->topic, partition, &low, &high) || high < 0)
                return -1;
        return high;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/*
 * Before 2.3.0 librdkafka ends the process when it destroys a cooperative member that has joined and got no assignment yet
 * (an assertion in its sticky assignor). Such a one is left to the process's end, which is near.
 */
static bool must_not_be_destroyed(const struct kafka_group *group)
{
        return group->has_joined && !group->was_assigned && rd_kafka_version() < RP_RDKAFKA_2_3_0;
}

static void group_free(struct rp_group *base)
{
        struct kafka_group *group = self(base);

        drop_batch(group);
        if (must_not_be_destroyed(group))
                return; /* with all that its callbacks may still touch */
        if (group->queue)
                rd_kafka_queue_destroy(group->queue);
        rp_client_close(&group->client);
        free(group->headers.items);
        free(group->lanes);
        free(group->pending);
        free(group->topic);
        free(group->name);
        free(group);
}

static const struct rp_group_ops kafka_group_ops = {
        .poll = group_poll,
        .serve = group_serve,
        .stored = group_stored,
        .start = group_start,
        .give = group_give,
        .locate = group_locate,
        .end = group_end,
        .leave = group_leave,
        .free = group_free,
};

/*
 * Up to 2.1 a partition whose queue reached its limit is left alone for a whole second, so the queue must hold more than a
 * second of traffic. From 2.2 on that pause can be set, and small queues are as fast and cheaper. One queue is for all
 * partitions, and its limits are for the whole of it.
 */
static rp_err_t tune_queue(struct kafka_group *group, rd_kafka_conf_t *conf, const struct rp_kafka_group_config *config,
                           struct rp_error *err)
{
        bool is_small = rd_kafka_version() >= RP_RDKAFKA_2_2_0;
        int64_t memory_bytes = config->memory_bytes ? config->memory_bytes : is_small ? 8 << 20 : 128 << 20;
        int64_t kbytes = memory_bytes / 1024 < 64 ? 64 : memory_bytes / 1024;
        int64_t records = is_small ? 20000 : 1000000;
        rp_err_t rc = RP_OK;

        if (is_small)
                rc = rp_client_tune(conf, config->client, "fetch.queue.backoff.ms", 5, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queued.min.messages", records, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queued.max.messages.kbytes", kbytes, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "fetch.message.max.bytes", kbytes > 1024 ? 1 << 20 : kbytes * 1024,
                                    err);
        snprintf(group->regime, sizeof(group->regime),
                 "librdkafka %s, %s queues: %" PRId64 " records or %" PRId64 " KiB a partition", rd_kafka_version_str(),
                 is_small ? "small" : "large (this version cannot refill small ones quickly)", records, kbytes);
        return rc;
}

static rp_err_t make_conf(struct kafka_group *group, const struct rp_kafka_group_config *config, rd_kafka_conf_t **out,
                          struct rp_error *err)
{
        static const char *const fixed[] = {
                "partition.assignment.strategy", "cooperative-sticky", "enable.auto.commit", "false",
                "enable.auto.offset.store", "false", "auto.offset.reset", "error", "isolation.level", "read_committed",
                "check.crcs", "true", "enable.partition.eof", "true", "allow.auto.create.topics", "false", NULL
        };
        rd_kafka_conf_t *conf = rp_client_conf(config->client, err);
        rp_err_t rc;

        if (!conf)
                return err->code;
        rc = rp_client_set_all(conf, fixed, err);
        if (rc == RP_OK)
                rc = rp_client_set(conf, "group.id", group->name, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "session.timeout.ms", SESSION_MS, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "fetch.wait.max.ms", 100, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "topic.metadata.refresh.interval.ms", 10000, err);
        if (rc == RP_OK)
                rc = tune_queue(group, conf, config, err);
        if (rc != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return rc;
        }
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        *out = conf;
        return RP_OK;
}

static rp_err_t join(struct kafka_group *group, const struct rp_kafka_group_config *config, struct rp_error *err)
{
        rd_kafka_topic_partition_list_t *topics;
        rd_kafka_conf_t *conf = NULL;
        rd_kafka_resp_err_t kerr;
        struct rp_topic_info info;
        rp_err_t rc = make_conf(group, config, &conf, err);

        if (rc == RP_OK)
                rc = rp_client_open(&group->client, RD_KAFKA_CONSUMER, conf, err);
        if (rc != RP_OK)
                return rc;
        rd_kafka_poll_set_consumer(group->client.rk);
        group->queue = rd_kafka_queue_new(group->client.rk);
        rc = rp_cluster_topic(&group->client, config->topic,
                              config->timeout_ms < CONNECT_MS ? config->timeout_ms : CONNECT_MS, &info, err);
        if (rc != RP_OK)
                return rp_client_judge_silence(&group->client, err);
        if (!info.exists)
                return rp_cluster_fail_absent(&group->client, config->topic, CONNECT_MS, err);
        group->base.partition_cnt = info.partition_cnt;
        topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, group->topic, RD_KAFKA_PARTITION_UA);
        rp_client_needs(&group->client, RP_RESOURCE_GROUP, "Read", group->name);
        rp_client_needs(&group->client, RP_RESOURCE_TOPIC, "Read", group->topic);
        group->has_joined = true;
        kerr = rd_kafka_subscribe(group->client.rk, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        return kerr ? rp_fail_resp(err, &group->client, kerr, "cannot join group \"%s\"", group->name) : RP_OK;
}

rp_err_t rp_kafka_group_new(struct rp_group **out, const struct rp_kafka_group_config *config, struct rp_error *err)
{
        struct kafka_group *group = calloc(1, sizeof(*group));
        rp_err_t rc;

        if (!group)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        group->topic = strdup(config->topic);
        group->name = strdup(config->group);
        group->base = (struct rp_group){ .ops = &kafka_group_ops, .topic = group->topic, .name = group->name };
        group->lists_headers = config->headers;
        group->timeout_ms = config->timeout_ms;
        rc = group->topic && group->name ? join(group, config, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                *out = &group->base;
        else
                group_free(&group->base);
        return rc;
}
