/*
 * librdkafka's simple consumer: each partition is started, read and stopped on its own and has a queue of its own, so
 * the merge can wait for one partition while others fill. (With the group consumer's assign() a partition's first
 * records may land in the shared queue before its own is split off.)
 */
#define RP_WITH_RDKAFKA
#include "io/kafka_source.h"

#include "clock.h"
#include "io/cluster.h"
#include "io/kafka_message.h"
#include "io/offsets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        CONNECT_MS = 10000,    /* for the first answer of a cluster; a wrong address should not cost a minute */
        BATCH_MAX = 512,       /* records taken out of a queue at once */
        SETTLE_MS = 1000       /* most that one gap between two calls adds to a partition's waiting time */
};

struct lane {
        rd_kafka_message_t **messages; /* the current batch; a slot is NULL once a sink took the message over */
        struct rp_record *records;
        size_t cnt;
        struct rp_header_pool headers; /* of the current batch's records, if wanted */
        int64_t next, end;
        int64_t asked_ms, waited_ms;   /* when fetch was last called in vain, and for how long nothing came */
        bool running;
};

struct kafka_source {
        struct rp_client client; /* first: it is the opaque of librdkafka's callbacks */
        struct rp_source base;
        struct rp_topics topics;   /* those that are read, also when it is one */
        char label[RP_TOPICS_LABEL_SIZE];
        rd_kafka_topic_t **handles; /* by topic */
        struct lane *lanes;        /* by place */
        size_t batch_max;
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

/* ---- settings ------------------------------------------------------------------------------------------------ */

/*
 * Up to 2.1 a partition whose queue reached its limit is left alone for a whole second, so the queue must hold more
 * than a second of traffic. From 2.2 on that pause can be set, and small queues are as fast and cheaper.
 */
rp_err_t rp_kafka_tune_queues(rd_kafka_conf_t *conf, const struct rp_client_config *config, int64_t memory_bytes,
                              int32_t partition_cnt, char *regime, size_t size, struct rp_error *err)
{
        bool is_small = rd_kafka_version() >= RP_RDKAFKA_2_2_0;
        int64_t kbytes, records, fetch_bytes;
        rp_err_t rc = RP_OK;

        if (!memory_bytes)
                memory_bytes = is_small ? 8 << 20 : 128 << 20;
        kbytes = memory_bytes / 1024 / partition_cnt;
        kbytes = kbytes < 64 ? 64 : kbytes;
        records = (is_small ? 20000 : 1000000) / partition_cnt;
        records = records < 100 ? 100 : records;
        fetch_bytes = kbytes * 1024 > 1 << 20 ? 1 << 20 : kbytes * 1024;
        if (is_small)
                rc = rp_client_tune(conf, config, "fetch.queue.backoff.ms", 5, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "queued.min.messages", records, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "queued.max.messages.kbytes", kbytes, err);
        if (rc == RP_OK)
                rc = rp_client_tune(conf, config, "fetch.message.max.bytes", fetch_bytes, err);
        snprintf(regime, size,
                 "librdkafka %s, %s queues: %" PRId64 " records or %" PRId64 " KiB a partition", rd_kafka_version_str(),
                 is_small ? "small" : "large (this version cannot refill small ones quickly)", records, kbytes);
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
            rp_client_tune(conf, config->client, "fetch.wait.max.ms", 100, err) != RP_OK) {
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

static void release_batch(struct lane *lane)
{
        for (size_t i = 0; i < lane->cnt; i++)
                if (lane->messages[i])
                        rd_kafka_message_destroy(lane->messages[i]);
        lane->cnt = lane->headers.cnt = 0;
}

/* Stops fetching and drops what was fetched ahead. */
static void stop_lane(struct kafka_source *source, int32_t place)
{
        struct lane *lane = &source->lanes[place];
        rd_kafka_message_t *message;

        if (!lane->running)
                return;
        lane->running = false;
        rd_kafka_consume_stop(handle_of(source, place), partition_of(source, place));
        while (rd_kafka_consume_batch(handle_of(source, place), partition_of(source, place), 0, &message, 1) == 1)
                rd_kafka_message_destroy(message);
}

static void release_lane(struct lane *lane)
{
        release_batch(lane);
        free(lane->messages);
        free(lane->records);
        free(lane->headers.items);
        *lane = (struct lane){ .next = lane->next, .end = lane->end };
}

static rp_err_t source_start(struct rp_source *base, const struct rp_range *ranges, struct rp_error *err)
{
        struct kafka_source *source = self(base);

        for (int32_t p = 0; p < base->partition_cnt; p++) {
                stop_lane(source, p);
                release_lane(&source->lanes[p]);
        }
        for (int32_t p = 0; p < base->partition_cnt; p++) {
                struct lane *lane = &source->lanes[p];

                lane->next = ranges[p].first;
                lane->end = ranges[p].end;
                if (lane->next >= lane->end)
                        continue;
                lane->messages = calloc(source->batch_max, sizeof(*lane->messages));
                lane->records = calloc(source->batch_max, sizeof(*lane->records));
                if (!lane->messages || !lane->records)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory for %" PRId32 " partitions", base->partition_cnt);
                if (rd_kafka_consume_start(handle_of(source, p), partition_of(source, p), lane->next) != 0)
                        return rp_fail_resp(err, &source->client, rd_kafka_last_error(),
                                            "cannot read partition %" PRId32 " of topic \"%s\"", partition_of(source, p),
                                            topic_of(source, p));
                lane->running = true;
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

/* Sorts what came: records into the batch, the rest away. */
static rp_err_t take(struct kafka_source *source, int32_t place, size_t got, struct rp_error *err)
{
        struct lane *lane = &source->lanes[place];
        rp_err_t rc = RP_OK;

        for (size_t i = 0; i < got; i++) {
                rd_kafka_message_t *message = lane->messages[i];

                if (rc != RP_OK) {
                        ; /* drop the rest */
                } else if (message->err) {
                        rc = take_error(source, place, message, err);
                } else if ((rc = rp_message_check_offset(err, &source->client, message, topic_of(source, place),
                                                         partition_of(source, place), lane->next)) != RP_OK) {
                        ; /* drop it, and the rest */
                } else if (message->offset >= lane->end) {
                        lane->next = lane->end;
                } else if (message->offset >= lane->next) {
                        lane->messages[lane->cnt] = message;
                        lane->records[lane->cnt] = rp_message_view(&lane->messages[lane->cnt]);
                        lane->records[lane->cnt].partition = place;
                        lane->next = message->offset + 1;
                        if (source->headers)
                                rc = rp_message_list_headers(&lane->headers, message, &lane->records[lane->cnt], err);
                        lane->cnt++;
                        continue;
                }
                rd_kafka_message_destroy(message);
        }
        rp_message_join_headers(&lane->headers, lane->records, lane->cnt);
        return rc;
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

static rp_err_t source_fetch(struct rp_source *base, int32_t place, int timeout_ms, struct rp_batch *batch,
                             struct rp_error *err)
{
        struct kafka_source *source = self(base);
        struct lane *lane = &source->lanes[place];
        rd_kafka_topic_t *handle = handle_of(source, place);
        int32_t partition = partition_of(source, place);
        int64_t before = lane->next;
        ssize_t got = 0;
        rp_err_t rc = RP_OK;

        release_batch(lane);
        *batch = (struct rp_batch){ .next = lane->next };
        if (lane->next >= lane->end)
                return RP_OK;
        /* A batch call waits until the batch is full, so waiting is done for one message alone. */
        got = rd_kafka_consume_batch(handle, partition, 0, lane->messages, source->batch_max);
        if (got == 0 && timeout_ms > 0) {
                rp_client_serve(&source->client, 0);
                got = rd_kafka_consume_batch(handle, partition, timeout_ms, lane->messages, 1);
                if (got == 1)
                        got += rd_kafka_consume_batch(handle, partition, 0, lane->messages + 1, source->batch_max - 1);
        }
        if (got < 0)
                return rp_fail_resp(err, &source->client, rd_kafka_last_error(),
                                    "cannot read partition %" PRId32 " of topic \"%s\"", partition, topic_of(source, place));
        rc = take(source, place, (size_t)got, err);
        if (rc == RP_OK && lane->next == before)
                rc = count_silence(source, place, err);
        else
                lane->asked_ms = lane->waited_ms = 0;
        if (rc != RP_OK)
                return rc;
        if (lane->next >= lane->end)
                stop_lane(source, place); /* the batch in hand stays valid */
        batch->records = lane->records;
        batch->cnt = lane->cnt;
        batch->next = lane->next;
        return RP_OK;
}

static void source_free(struct rp_source *base)
{
        struct kafka_source *source = self(base);

        for (int32_t p = 0; source->lanes && p < base->partition_cnt; p++) {
                stop_lane(source, p);
                release_lane(&source->lanes[p]);
        }
        for (int32_t t = 0; source->handles && t < source->topics.topic_cnt; t++)
                if (source->handles[t])
                        rd_kafka_topic_destroy(source->handles[t]);
        rp_client_close(&source->client);
        free(source->lanes);
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
        source->batch_max = (size_t)(8192 / at_once);
        source->batch_max = source->batch_max < 16 ? 16 : source->batch_max > BATCH_MAX ? BATCH_MAX : source->batch_max;
        source->lanes = calloc((size_t)source->base.partition_cnt, sizeof(*source->lanes));
        source->handles = calloc((size_t)source->topics.topic_cnt, sizeof(*source->handles));
        if (!source->lanes || !source->handles) {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
                goto fail;
        }
        conf = make_conf(config, config->is_uncommitted ? "read_uncommitted" : "read_committed", err);
        rc = conf ? rp_kafka_tune_queues(conf, config->client, config->memory_bytes, at_once, source->regime,
                                         sizeof(source->regime), err)
                  : err->code;
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
