/*
 * librdkafka's simple consumer: each partition is started, read and stopped on its own and has a queue of its own, so
 * the merge can wait for one partition while others fill. (With the group consumer's assign() a partition's first
 * records may land in the shared queue before its own is split off.)
 *
 * A merge needs the next records of all partitions, and librdkafka hands over no less of one than a batch, which may be a
 * thousand times what is wanted. So only a few partitions are fetched at a time, each till its backlog here is full; what came
 * beyond that is dropped and fetched again later. Whose backlog will be used up first is the next: in a merge by time it is the
 * one whose last record is the oldest.
 */
#define RP_WITH_RDKAFKA
#include "io/kafka_source.h"

#include "clock.h"
#include "io/backlog.h"
#include "io/cluster.h"
#include "io/kafka_message.h"
#include "io/offsets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        CONNECT_MS = 10000,    /* for the first answer of a cluster; a wrong address should not cost a minute */
        BATCH_MAX = 512,       /* records taken out of a queue at once */
        SETTLE_MS = 1000,      /* most that one gap between two calls adds to a partition's waiting time */
        MEMORY = 32 << 20,     /* for all backlogs together, unless the caller has another wish */
        SHARE_MIN = 64 << 10,  /* of it for each partition, however many there are */
        SHARE_MAX = 4 << 20,
        SHARE_OLD = 8 << 20,   /* the same up to librdkafka 2.1, where a partition's queue takes in as much */
        ANSWER = 1 << 20,      /* of a partition, at most */
        KEPT_FROM = 2048,      /* bytes of value: copying shorter ones costs less than what librdkafka keeps with them */
        KEEPING_SHARE = 1 << 20, /* from here on a batch fits in, so that keeping a message holds little else in memory */
        SLOTS_MIN = 4,         /* partitions that are fetched at once */
        SLOTS_MAX = 16,        /* more of small shares, as each fetch takes its time; prefetching leaves half of them free */
        TURN_MS = 10,          /* most that is waited for another partition's slot at once */
        SLOW_MS = 1000,        /* a partition that gave nothing for so long takes no slot any more */
        READ_AGAIN_MAX = 8     /* a backlog grows rather than that each batch is fetched more often */
};

struct lane {
        struct rp_backlog backlog;
        int64_t next, end;     /* what is fetched next */
        size_t limit;          /* of the backlog */
        int64_t asked_ms, waited_ms;   /* when fetch was last called in vain, and for how long nothing came */
        bool running;
        int64_t heard_ms;              /* when it was started, or gave something last */
        size_t got_cnt, got_bytes;     /* since it was started */
};

struct kafka_source {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        struct rp_source base;
        struct rp_topics topics;   /* those that are read, also when it is one */
        char label[RP_TOPICS_LABEL_SIZE];
        rd_kafka_topic_t **handles; /* by topic */
        struct lane *lanes;        /* by place */
        int32_t *running;          /* places */
        int32_t running_cnt;
        struct rp_backlog_pool pool;
        size_t share;              /* of each partition's backlog */
        int slots;
        rd_kafka_message_t *messages[BATCH_MAX];
        struct rp_header_pool headers_now; /* of the message at hand */
        bool headers;
        int timeout_ms;
        char regime[160];
};

static struct kafka_source *self(struct rp_source *base)
{
        return (struct kafka_source *)((char *)base - offsetof(struct kafka_source, base));
}

static rd_kafka_topic_t *handle_of(const struct kafka_source *source, int32_t place)
{
        return source->handles[source->topics.owners[place]];
}

static const char *topic_of(const struct kafka_source *source, int32_t place)
{
        return rp_topics_name(&source->topics, NULL, place);
}

static int32_t partition_of(const struct kafka_source *source, int32_t place)
{
        return rp_topics_partition(&source->topics, place);
}

static void release_message(void *message)
{
        rd_kafka_message_destroy(message);
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

/*
 * How much is read ahead is for the backlogs to decide, so a queue need hold but one answer; its limit is also that of all
 * partitions in an answer. At least it holds two, as there is a mark in it when a partition is started. Up to 2.1 a partition
 * whose queue reached its limit is left alone for a whole second, also when it is started anew, so there the limit must be out
 * of reach, and answers come that are fetched again: half of the CPU, unless shares are as large as what comes. A quarter of
 * the memory is left to the answers at hand.
 */
static rp_err_t tune_fetches(struct kafka_source *source, rd_kafka_conf_t *conf, const struct rp_kafka_source_config *config,
                             int32_t at_once, struct rp_error *err)
{
        int64_t memory = config->memory_bytes ? config->memory_bytes : MEMORY;
        int64_t share = memory / 4 * 3 / at_once, fetch_bytes;
        bool has_backoff = rd_kafka_version() >= RP_RDKAFKA_2_2_0;
        rp_err_t rc = RP_OK;

        share = share < SHARE_MIN ? SHARE_MIN : share > SHARE_MAX ? SHARE_MAX : share;
        if (!has_backoff && share >= ANSWER)
                share = share > SHARE_OLD / 4 ? SHARE_OLD : 4 * share;
        source->share = (size_t)share;
        source->slots = (int)((4 << 20) / share);
        source->slots = source->slots < SLOTS_MIN ? SLOTS_MIN : source->slots > SLOTS_MAX ? SLOTS_MAX : source->slots;
        source->pool.chunk_size = (size_t)(share / 8 < 64 << 10 ? share / 8 : 64 << 10);
        source->pool.release = release_message;
        fetch_bytes = share / 2 < ANSWER ? share / 2 : ANSWER;
        if (has_backoff)
                rc = rp_client_tune(conf, config->client, "fetch.queue.backoff.ms", 5, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queued.min.messages", has_backoff ? 2 : 1000000, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "queued.max.messages.kbytes", has_backoff ? ANSWER >> 10 : SHARE_OLD >> 10,
                                    err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config->client, "fetch.message.max.bytes", fetch_bytes, err);
        snprintf(source->regime, sizeof(source->regime), "librdkafka %s, %" PRId64 " KiB read ahead of each partition, %d of them "
                 "fetched at a time", rd_kafka_version_str(), share >> 10, source->slots);
        return rc;
}

static rd_kafka_conf_t *make_conf(const struct rp_kafka_source_config *config, const char *isolation,
                                  struct rp_error *err)
{
        static const char *const fixed[] = {
                "enable.auto.commit", "false", "auto.commit.enable", "false",
                "auto.offset.reset", "error", "check.crcs", "true", "enable.partition.eof", "true",
                "allow.auto.create.topics", "false", "topic.metadata.refresh.interval.ms", "10000", NULL
        };
        rd_kafka_conf_t *conf = rp_client_conf(config->client, err);

        if (!conf)
                return NULL;
        if (rp_client_set_all(conf, fixed, err) != RP_OK ||
            rp_client_set(conf, "isolation.level", isolation, err) != RP_OK ||
            (config->group && rp_client_set(conf, "group.id", config->group, err) != RP_OK) ||
            rp_client_tune(conf, config->client, "fetch.wait.max.ms", 5, err) != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return NULL;
        }
        return conf;
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

rd_kafka_topic_partition_list_t *rp_kafka_source_partitions(const struct rp_source *base)
{
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(base->partition_cnt);

        for (int32_t p = 0; p < base->partition_cnt; p++)
                rd_kafka_topic_partition_list_add(list, rp_source_topic(base, p), rp_source_partition(base, p));
        return list;
}

static int32_t place_of(const struct kafka_source *source, const rd_kafka_topic_partition_t *at)
{
        return rp_topics_find(&source->topics, NULL, at->topic, at->partition);
}

static rp_err_t source_bounds(struct rp_source *base, struct rp_range *ranges, struct rp_error *err)
{
        struct kafka_source *source = self(base);
        rd_kafka_topic_partition_list_t *list = rp_kafka_source_partitions(base);
        rp_err_t rc;

        rc = rp_offsets_list(&source->client, base->topic, RD_KAFKA_OFFSET_BEGINNING, source->timeout_ms, list, err);
        for (int32_t i = 0; rc == RP_OK && i < base->partition_cnt; i++)
                ranges[place_of(source, &list->elems[i])].first = list->elems[i].offset;
        if (rc == RP_OK)
                rc = rp_offsets_list(&source->client, base->topic, RD_KAFKA_OFFSET_END, source->timeout_ms, list, err);
        for (int32_t i = 0; rc == RP_OK && i < base->partition_cnt; i++)
                ranges[place_of(source, &list->elems[i])].end = list->elems[i].offset;
        rd_kafka_topic_partition_list_destroy(list);
        return rc;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static size_t queue_length(const struct kafka_source *source, int32_t place)
{
        rd_kafka_queue_t *queue = rd_kafka_queue_get_partition(source->client.rk, topic_of(source, place),
                                                               partition_of(source, place));
        size_t length = queue ? rd_kafka_queue_length(queue) : 0;

        if (queue)
                rd_kafka_queue_destroy(queue);
        return length;
}

/* Stops fetching and drops what is left of it; reading can go on at lane->next. */
static void stop_lane(struct kafka_source *source, int32_t place)
{
        struct lane *lane = &source->lanes[place];
        rd_kafka_message_t *message;

        if (!lane->running)
                return;
        lane->running = false;
        for (int32_t i = 0; i < source->running_cnt; i++)
                if (source->running[i] == place)
                        source->running[i--] = source->running[--source->running_cnt];
        if (lane->next < lane->end && queue_length(source, place) > (READ_AGAIN_MAX - 1) * lane->got_cnt)
                lane->limit *= 2;
        rd_kafka_consume_stop(handle_of(source, place), partition_of(source, place));
        while (rd_kafka_consume_batch(handle_of(source, place), partition_of(source, place), 0, &message, 1) == 1)
                rd_kafka_message_destroy(message);
}

/* Up to 2.1 an idle connection takes up to a second to notice that there is something to fetch again, unless it is used. */
static void nudge(struct kafka_source *source, int32_t place)
{
        int64_t low, high;

        rd_kafka_query_watermark_offsets(source->client.rk, topic_of(source, place), partition_of(source, place), &low, &high,
                                         SLOW_MS);
}

static rp_err_t start_lane(struct kafka_source *source, int32_t place, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];

        if (rd_kafka_consume_start(handle_of(source, place), partition_of(source, place), lane->next) != 0)
                return rp_fail_resp(err, &source->client, rd_kafka_last_error(), "cannot read partition %" PRId32 " of topic \"%s\"",
                                    partition_of(source, place), topic_of(source, place));
        lane->running = true;
        lane->heard_ms = rp_clock_ms();
        lane->got_cnt = lane->got_bytes = 0;
        if (rd_kafka_version() < RP_RDKAFKA_2_2_0 && (!source->running_cnt || rp_backlog_is_empty(&lane->backlog)))
                nudge(source, place);
        source->running[source->running_cnt++] = place;
        return RP_OK;
}

static rp_err_t source_start(struct rp_source *base, const struct rp_range *ranges, struct rp_error *err)
{
        struct kafka_source *source = self(base);

        (void)err;
        for (int32_t p = 0; p < base->partition_cnt; p++) {
                struct lane *lane = &source->lanes[p];

                stop_lane(source, p);
                rp_backlog_clear(&source->pool, &lane->backlog);
                *lane = (struct lane){ .next = ranges[p].first, .end = ranges[p].end, .limit = source->share,
                                       .backlog.partition = p };
        }
        return RP_OK;
}

/* Which records a range lost, in numbers, while it was not yet read. */
static rp_err_t fail_gap(struct kafka_source *source, int32_t place, const char *reason, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];
        const char *topic = topic_of(source, place);
        int32_t partition = partition_of(source, place);
        int64_t low = -1, high = -1;

        rd_kafka_query_watermark_offsets(source->client.rk, topic, partition, &low, &high, 5000);
        if (low > lane->next)
                return rp_fail(err, RP_ERR_INCOMPLETE,
                               "partition %" PRId32 " of topic \"%s\": offsets %" PRId64 " to %" PRId64
                               " were deleted (retention or DeleteRecords) before they could be read",
                               partition, topic, lane->next,
                               (low < lane->end ? low : lane->end) - 1);
        return rp_fail(err, RP_ERR_INCOMPLETE,
                       "partition %" PRId32 " of topic \"%s\" cannot be read at offset %" PRId64 ": %s (it holds %" PRId64
                       " to %" PRId64 ": has it lost records or been made anew?)",
                       partition, topic, lane->next, reason, low, high - 1);
}

/* An error that came instead of a record. RP_OK when reading just goes on. */
static rp_err_t take_error(struct kafka_source *source, int32_t place, const rd_kafka_message_t *message,
                           struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];
        const char *topic = topic_of(source, place);

        switch (message->err) {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                /* Of everything up to here nothing is left to come: the end of a range may be a control record. */
                if (message->offset > lane->next)
                        lane->next = message->offset < lane->end ? message->offset : lane->end;
                return RP_OK;
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
                return fail_gap(source, place, rd_kafka_message_errstr(message), err);
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
                /* Also seen for a while when brokers come and go; a deleted topic ends by the timeout. */
                break;
        default:
                if (rp_err_from_kafka(message->err) != RP_ERR_RETRY)
                        return rp_message_fail(err, &source->client, message, topic, partition_of(source, place), lane->next);
        }
        snprintf(source->client.trouble, sizeof(source->client.trouble), "%s", rd_kafka_message_errstr(message));
        return RP_OK;
}

/* *is_kept: the message is the backlog's now. */
static rp_err_t add(struct kafka_source *source, struct lane *lane, rd_kafka_message_t *message, bool *is_kept,
                    struct rp_error *err)
{
        struct rp_record rec = rp_message_view(&message);
        size_t before = lane->backlog.bytes;
        rp_err_t rc = RP_OK;

        *is_kept = rec.value_len >= KEPT_FROM && source->share >= KEEPING_SHARE;
        source->headers_now.cnt = 0;
        if (source->headers || !*is_kept)
                rc = rp_message_list_headers(&source->headers_now, message, &rec, err);
        if (rc != RP_OK)
                return rc;
        rp_message_join_headers(&source->headers_now, &rec, 1);
        if (!rp_backlog_add(&source->pool, &lane->backlog, &rec, *is_kept ? message : NULL)) {
                *is_kept = false;
                return rp_fail(err, RP_ERR_FATAL, "out of memory for %" PRId32 " partitions", source->base.partition_cnt);
        }
        lane->next = rec.offset + 1;
        lane->got_cnt++;
        lane->got_bytes += lane->backlog.bytes - before;
        return RP_OK;
}

/* Sorts what came: records into the backlog, the rest away. */
static rp_err_t take(struct kafka_source *source, int32_t place, size_t got, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];
        rp_err_t rc = RP_OK;

        for (size_t i = 0; i < got; i++) {
                rd_kafka_message_t *message = source->messages[i];
                bool is_kept = false;

                if (rc != RP_OK)
                        ; /* drop the rest */
                else if (message->err)
                        rc = take_error(source, place, message, err);
                else if ((rc = rp_message_check_offset(err, &source->client, message, topic_of(source, place),
                                                       partition_of(source, place), lane->next)) != RP_OK)
                        ; /* drop it, and the rest */
                else if (message->offset >= lane->end)
                        lane->next = lane->end;
                else if (message->offset >= lane->next)
                        rc = add(source, lane, message, &is_kept, err);
                if (!is_kept)
                        rd_kafka_message_destroy(message);
        }
        return rc;
}

/* How many more records the backlog has room for, by those that it got; there is always room for one. */
static size_t room(const struct lane *lane)
{
        size_t bytes = lane->limit > lane->backlog.bytes ? lane->limit - lane->backlog.bytes : 0;
        size_t cnt = lane->got_cnt ? bytes / (lane->got_bytes / lane->got_cnt + 1) : 16;

        return cnt < 1 ? 1 : cnt > BATCH_MAX ? BATCH_MAX : cnt;
}

/* Moves what came of a partition into its backlog, and ends the fetching of it when that is enough. */
static rp_err_t drain(struct kafka_source *source, int32_t place, int timeout_ms, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];

        while (lane->running && lane->next < lane->end && lane->backlog.bytes < lane->limit) {
                /* A batch call waits until the batch is full, so waiting is done for one message alone. */
                ssize_t got = rd_kafka_consume_batch(handle_of(source, place), partition_of(source, place), timeout_ms,
                                                     source->messages, timeout_ms ? 1 : room(lane));
                rp_err_t rc;

                if (got < 0)
                        return rp_fail_resp(err, &source->client, rd_kafka_last_error(),
                                            "cannot read partition %" PRId32 " of topic \"%s\"", partition_of(source, place),
                                            topic_of(source, place));
                timeout_ms = 0;
                if (!got)
                        break;
                lane->heard_ms = rp_clock_ms();
                rc = take(source, place, (size_t)got, err);
                if (rc != RP_OK)
                        return rc;
        }
        if (lane->next >= lane->end || lane->backlog.bytes >= lane->limit / 2 || lane->got_bytes >= lane->limit / 4)
                stop_lane(source, place);
        return RP_OK;
}

/* Counts only time in which the partition was asked and gave nothing. */
static rp_err_t count_silence(struct kafka_source *source, int32_t place, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];
        int64_t now = rp_clock_ms();

        if (lane->asked_ms)
                lane->waited_ms += now - lane->asked_ms < SETTLE_MS ? now - lane->asked_ms : SETTLE_MS;
        lane->asked_ms = now;
        if (lane->waited_ms < source->timeout_ms)
                return RP_OK;
        return rp_fail(err, RP_ERR_RETRY,
                       "partition %" PRId32 " of topic \"%s\" gave nothing for %d s at offset %" PRId64 " of %" PRId64
                       "%s%s", partition_of(source, place), topic_of(source, place), source->timeout_ms / 1000, lane->next,
                       lane->end,
                       *source->client.trouble ? ": " : "", source->client.trouble);
}

static bool is_needy(const struct lane *lane)
{
        return !lane->running && lane->next < lane->end && lane->backlog.bytes < lane->limit / 4;
}

static bool is_sooner(const struct lane *a, const struct lane *b)
{
        bool a_is_empty = rp_backlog_is_empty(&a->backlog), b_is_empty = rp_backlog_is_empty(&b->backlog);

        return a_is_empty != b_is_empty ? a_is_empty : a->backlog.newest_ms < b->backlog.newest_ms;
}

/* Gives free slots to those that need them first; asked is waited for, if its backlog is empty. */
static rp_err_t start_lanes(struct kafka_source *source, int32_t asked, struct rp_error *err)
{
        int64_t now = rp_clock_ms();
        int busy = 0, ahead = source->slots / 2 > SLOTS_MIN ? source->slots / 2 : SLOTS_MIN;

        for (int32_t i = 0; i < source->running_cnt; i++) {
                const struct lane *lane = &source->lanes[source->running[i]];

                busy += now - lane->heard_ms < SLOW_MS;
        }
        for (; busy < source->slots; busy++) {
                int32_t best = is_needy(&source->lanes[asked]) && rp_backlog_is_empty(&source->lanes[asked].backlog) ? asked : -1;
                rp_err_t rc;

                for (int32_t p = 0; best != asked && p < source->base.partition_cnt; p++)
                        if (is_needy(&source->lanes[p]) && (best < 0 || is_sooner(&source->lanes[p], &source->lanes[best])))
                                best = p;
                if (best < 0 || (busy >= ahead && !rp_backlog_is_empty(&source->lanes[best].backlog)))
                        break;
                rc = start_lane(source, best, err);
                if (rc != RP_OK)
                        return rc;
        }
        return RP_OK;
}

static rp_err_t source_fetch(struct rp_source *base, int32_t place, int timeout_ms, struct rp_batch *batch,
                             struct rp_error *err)
{
        struct kafka_source *source = self(base);
        struct lane *lane = &source->lanes[place];
        int64_t before = lane->next;
        rp_err_t rc = RP_OK;

        for (int32_t i = source->running_cnt - 1; rc == RP_OK && i >= 0; i--)
                if (i < source->running_cnt)
                        rc = drain(source, source->running[i], 0, err);
        if (rc == RP_OK)
                rc = start_lanes(source, place, err);
        if (rc == RP_OK && timeout_ms > 0 && lane->next < lane->end && rp_backlog_is_empty(&lane->backlog)) {
                rp_client_serve(&source->client, 0);
                /* Without a slot, the next one to be had is waited for. */
                if (lane->running)
                        rc = drain(source, place, timeout_ms, err);
                else if (source->running_cnt)
                        rc = drain(source, source->running[0], timeout_ms < TURN_MS ? timeout_ms : TURN_MS, err);
        }
        *batch = (struct rp_batch){ .next = lane->next };
        if (rc != RP_OK)
                return rc;
        if (lane->next == before && lane->running && rp_backlog_is_empty(&lane->backlog))
                rc = count_silence(source, place, err);
        else
                lane->asked_ms = lane->waited_ms = 0;
        if (rc == RP_OK && !rp_backlog_lend(&source->pool, &lane->backlog, batch))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory for %" PRId32 " partitions", base->partition_cnt);
        if (rp_backlog_is_empty(&lane->backlog))
                batch->next = lane->next;
        return rc;
}

static void source_free(struct rp_source *base)
{
        struct kafka_source *source = self(base);

        for (int32_t p = 0; source->lanes && p < base->partition_cnt; p++) {
                stop_lane(source, p);
                rp_backlog_clear(&source->pool, &source->lanes[p].backlog);
        }
        rp_backlog_pool_release(&source->pool);
        free(source->headers_now.items);
        for (int32_t t = 0; source->handles && t < source->topics.topic_cnt; t++)
                if (source->handles[t])
                        rd_kafka_topic_destroy(source->handles[t]);
        rp_client_close(&source->client);
        free(source->lanes);
        free(source->running);
        free(source->handles);
        rp_topics_release(&source->topics);
        free(source);
}

static const struct rp_source_ops kafka_source_ops = {
        .bounds = source_bounds,
        .start = source_start,
        .fetch = source_fetch,
        .free = source_free,
};

/* How many partitions to divide memory by is known only after asking, and a client cannot be retuned: ask first. */
static rp_err_t find_topics(struct kafka_source *source, const struct rp_kafka_source_config *config,
                            struct rp_error *err)
{
        const char *const *names = config->topic_cnt ? config->topics : &config->topic;
        int32_t cnts[RP_TOPICS_MAX], topic_cnt = config->topic_cnt ? config->topic_cnt : 1;
        struct rp_client scout = { 0 };
        rd_kafka_conf_t *conf = make_conf(config, "read_committed", err);
        rp_err_t rc;

        if (!conf)
                return err->code;
        rc = rp_client_open(&scout, RD_KAFKA_CONSUMER, conf, err);
        for (int32_t t = 0; rc == RP_OK && t < topic_cnt; t++) {
                struct rp_topic_info info;

                rc = rp_cluster_topic(&scout, names[t], config->timeout_ms < CONNECT_MS ? config->timeout_ms : CONNECT_MS, &info,
                                      err);
                if (rc != RP_OK)
                        rc = rp_client_judge_silence(&scout, err);
                else if (!info.exists)
                        rc = rp_cluster_fail_absent(&scout, names[t], CONNECT_MS, err);
                else
                        cnts[t] = info.partition_cnt;
        }
        rp_client_close(&scout);
        if (rc != RP_OK)
                return rc;
        if (!rp_topics_init(&source->topics, names, cnts, topic_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        source->base.partition_cnt = source->topics.partition_cnt;
        source->base.topics = topic_cnt > 1 ? &source->topics : NULL;
        rp_topics_label(source->label, names, topic_cnt);
        return RP_OK;
}

rp_err_t rp_kafka_source_new(struct rp_source **out, const struct rp_kafka_source_config *config, struct rp_error *err)
{
        struct kafka_source *source = calloc(1, sizeof(*source));
        rd_kafka_conf_t *conf = NULL;
        int32_t at_once;
        rp_err_t rc;

        if (!source)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        source->base = (struct rp_source){ .ops = &kafka_source_ops, .topic = source->label };
        source->headers = config->headers;
        source->timeout_ms = config->timeout_ms;
        rc = find_topics(source, config, err);
        if (rc != RP_OK)
                goto fail;
        at_once = config->partitions_at_once ? config->partitions_at_once : source->base.partition_cnt;
        source->lanes = calloc((size_t)source->base.partition_cnt, sizeof(*source->lanes));
        source->running = calloc((size_t)source->base.partition_cnt, sizeof(*source->running));
        source->handles = calloc((size_t)source->topics.topic_cnt, sizeof(*source->handles));
        if (!source->lanes || !source->running || !source->handles) {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                goto fail;
        }
        conf = make_conf(config, config->is_uncommitted ? "read_uncommitted" : "read_committed", err);
        rc = conf ? tune_fetches(source, conf, config, at_once, err) : err->code;
        if (rc != RP_OK) {
                if (conf)
                        rd_kafka_conf_destroy(conf);
                goto fail;
        }
        rc = rp_client_open(&source->client, RD_KAFKA_CONSUMER, conf, err);
        if (rc != RP_OK)
                goto fail;
        for (int32_t t = 0; t < source->topics.topic_cnt; t++) {
                source->handles[t] = rd_kafka_topic_new(source->client.rk, source->topics.names[t], NULL);
                if (source->handles[t])
                        continue;
                rc = rp_fail_resp(err, &source->client, rd_kafka_last_error(), "cannot use topic \"%s\"",
                                  source->topics.names[t]);
                goto fail;
        }
        *out = &source->base;
        return RP_OK;
fail:
        source_free(&source->base);
        return rc;
}

const char *rp_kafka_source_regime(const struct rp_source *base)
{
        return ((const struct kafka_source *)((const char *)base - offsetof(struct kafka_source, base)))->regime;
}

struct rp_client *rp_kafka_source_client(struct rp_source *base)
{
        return &self(base)->client;
}

static bool reaches(const struct kafka_source *source, const struct rp_range *bounds,
                    const rd_kafka_topic_partition_list_t *ends)
{
        for (int i = 0; i < ends->cnt; i++)
                if (bounds[place_of(source, &ends->elems[i])].end < ends->elems[i].offset)
                        return false;
        return true;
}

/* Of the logs themselves, read committed or not. */
static rp_err_t ask_ends(struct kafka_source *source, const struct rp_client_config *client,
                         rd_kafka_topic_partition_list_t *ends, struct rp_error *err)
{
        struct rp_kafka_source_config config = { .client = client, .topic = source->base.topic };
        struct rp_client scout = { 0 };
        rd_kafka_conf_t *conf = make_conf(&config, "read_uncommitted", err);
        rp_err_t rc = conf ? rp_client_open(&scout, RD_KAFKA_CONSUMER, conf, err) : err->code;

        if (rc == RP_OK)
                rc = rp_offsets_list(&scout, source->base.topic, RD_KAFKA_OFFSET_END, source->timeout_ms, ends, err);
        rp_client_close(&scout);
        return rc;
}

rp_err_t rp_kafka_source_hidden(struct rp_source *base, const struct rp_client_config *client, struct rp_hidden *hidden,
                                struct rp_error *err)
{
        struct kafka_source *source = self(base);
        rd_kafka_topic_partition_list_t *ends = rp_kafka_source_partitions(base);
        struct rp_range *bounds = calloc((size_t)base->partition_cnt, sizeof(*bounds));
        rp_err_t rc = bounds ? ask_ends(source, client, ends, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        int64_t most = 0;

        *hidden = (struct rp_hidden){ 0 };
        if (rc == RP_OK) /* afterwards: what was written meanwhile is not hidden */
                rc = source_bounds(base, bounds, err);
        for (int i = 0; rc == RP_OK && i < ends->cnt; i++) {
                int32_t place = place_of(source, &ends->elems[i]);
                int64_t behind = ends->elems[i].offset - bounds[place].end;

                if (behind <= 0)
                        continue;
                hidden->partition_cnt++;
                hidden->offsets += (uint64_t)behind;
                if (behind > most) {
                        most = behind;
                        hidden->place = place;
                        hidden->from = bounds[place].end;
                }
        }
        rd_kafka_topic_partition_list_destroy(ends);
        free(bounds);
        return rc;
}

rp_err_t rp_kafka_source_await_stable(struct rp_source *base, const struct rp_client_config *client, int timeout_ms,
                                      struct rp_error *err)
{
        struct kafka_source *source = self(base);
        rd_kafka_topic_partition_list_t *ends = rp_kafka_source_partitions(base);
        struct rp_range *bounds = calloc((size_t)base->partition_cnt, sizeof(*bounds));
        int64_t deadline = rp_clock_ms() + timeout_ms;
        rp_err_t rc = bounds ? ask_ends(source, client, ends, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");

        while (rc == RP_OK) {
                rc = source_bounds(base, bounds, err);
                if (rc != RP_OK || reaches(source, bounds, ends) || rp_clock_ms() >= deadline)
                        break;
                rp_client_serve(&source->client, 20);
        }
        rd_kafka_topic_partition_list_destroy(ends);
        free(bounds);
        return rc;
}
