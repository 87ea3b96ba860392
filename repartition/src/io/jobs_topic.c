#define RP_WITH_RDKAFKA
#include "io/jobs_topic.h"

#include "clock.h"
#include "io/cluster.h"
#include "io/kafka_source.h"
#include "io/offsets.h"
#include "io/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        CONNECT_MS = 10000,
        READ_BYTES = 2 << 20, /* fetched ahead */
        MOMENT_MS = 1000      /* a live job's transaction is open for no longer, as a rule */
};

/* The segment that is written is not compacted: with brokers' default of a gigabyte every run would have that much to read. */
#define SEGMENT_BYTES "16777216"

struct rp_jobs_topic {
        struct rp_client client;    /* reads what is not committed too: it asks where the log itself ends */
        struct rp_client committed; /* asks for last stable offsets; open only while it does: each client costs memory */
        const struct rp_client_config *config;
        char *name;
        int timeout_ms;
        void (*on_wait)(void *arg, const char *what); /* may be NULL */
        void *arg;
        bool exists, is_administrable;
};

static rp_err_t open_client(struct rp_client *client, const struct rp_client_config *config, const char *isolation,
                            struct rp_error *err)
{
        rd_kafka_conf_t *conf = rp_client_conf(config, err);

        if (!conf)
                return err->code;
        if (rp_client_set(conf, "isolation.level", isolation, err) != RP_OK ||
            rp_client_set(conf, "allow.auto.create.topics", "false", err) != RP_OK) {
                rd_kafka_conf_destroy(conf);
                return err->code;
        }
        return rp_client_open(client, RD_KAFKA_CONSUMER, conf, err);
}

/* A topic with another clean-up would forget jobs, or be somebody else's. */
static rp_err_t look(struct rp_jobs_topic *jobs, struct rp_error *err)
{
        struct rp_topic_info info;
        struct rp_settings settings = { 0 };
        const char *cleanup;
        rp_err_t rc = rp_cluster_topic(&jobs->client, jobs->name, CONNECT_MS, &info, err);

        if (rc != RP_OK)
                return rc;
        jobs->exists = info.exists;
        jobs->is_administrable = rp_cluster_is_administrable(&jobs->client, CONNECT_MS);
        if (!info.exists)
                return RP_OK;
        if (info.partition_cnt != 1)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" is no topic of jobs: it has %" PRId32 " partitions, not 1; "
                               "choose another --jobs-topic", jobs->name, info.partition_cnt);
        if (!jobs->is_administrable)
                return RP_OK;
        /* Who may not ask for its settings may still read and write it. */
        rc = rp_cluster_settings(&jobs->client, jobs->name, jobs->timeout_ms, &settings, err);
        if (rc == RP_ERR_USAGE)
                rc = RP_OK;
        cleanup = rc == RP_OK ? rp_settings_get(&settings, "cleanup.policy") : NULL;
        if (cleanup && strcmp(cleanup, "compact") != 0)
                rc = rp_fail(err, RP_ERR_USAGE, "topic \"%s\" is no topic of jobs: its cleanup.policy is %.60s, not compact; "
                             "set that, or choose another --jobs-topic", jobs->name, cleanup);
        rp_settings_release(&settings);
        return rc;
}

rp_err_t rp_jobs_topic_open(struct rp_jobs_topic **out, const struct rp_client_config *client, const char *name,
                            int timeout_ms, struct rp_error *err)
{
        struct rp_jobs_topic *jobs = calloc(1, sizeof(*jobs));
        rp_err_t rc;

        if (!jobs || !(jobs->name = strdup(name))) {
                free(jobs);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        jobs->config = client;
        jobs->timeout_ms = timeout_ms;
        rc = open_client(&jobs->client, client, "read_uncommitted", err);
        if (rc == RP_OK)
                rc = look(jobs, err);
        if (rc != RP_OK) {
                rp_jobs_topic_close(jobs);
                return rc;
        }
        *out = jobs;
        return RP_OK;
}

void rp_jobs_topic_close(struct rp_jobs_topic *jobs)
{
        if (!jobs)
                return;
        rp_client_close(&jobs->client);
        free(jobs->name);
        free(jobs);
}

const char *rp_jobs_topic_name(const struct rp_jobs_topic *jobs)
{
        return jobs->name;
}

bool rp_jobs_topic_exists(const struct rp_jobs_topic *jobs)
{
        return jobs->exists;
}

bool rp_jobs_topic_is_possible(const struct rp_jobs_topic *jobs)
{
        return jobs->exists || jobs->is_administrable;
}

void rp_jobs_topic_on_wait(struct rp_jobs_topic *jobs, void (*fn)(void *arg, const char *what), void *arg)
{
        jobs->on_wait = fn;
        jobs->arg = arg;
}

struct rp_client *rp_jobs_topic_client(struct rp_jobs_topic *jobs)
{
        return &jobs->client;
}

rp_err_t rp_jobs_topic_try_create(struct rp_jobs_topic *jobs, struct rp_error *err)
{
        const struct rp_settings none = { 0 };
        struct rp_error ignored;
        rp_err_t rc = rp_cluster_try_create(&jobs->client, jobs->name, 1, 1, &none, jobs->timeout_ms, err);

        /* Another job may have been faster. */
        return rc == RP_OK || (look(jobs, &ignored) == RP_OK && jobs->exists) ? RP_OK : rc;
}

rp_err_t rp_jobs_topic_create(struct rp_jobs_topic *jobs, int32_t replication_factor, struct rp_error *err)
{
        struct rp_settings settings = { 0 };
        rp_err_t rc;

        if (jobs->exists)
                return RP_OK;
        /* The broker's time: it refuses records of a client whose clock is ahead by more than an hour. */
        if (!rp_settings_set(&settings, "cleanup.policy", "compact") ||
            !rp_settings_set(&settings, "segment.bytes", SEGMENT_BYTES) ||
            !rp_settings_set(&settings, "message.timestamp.type", "LogAppendTime")) {
                rp_settings_release(&settings);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        rc = rp_cluster_create(&jobs->client, jobs->name, 1, replication_factor, &settings, jobs->timeout_ms, err);
        rp_settings_release(&settings);
        jobs->exists = rc == RP_OK;
        return rc;
}

rp_err_t rp_jobs_topic_offer_none(struct rp_error *err)
{
        static const char offer[] = "; --jobs-topic none: without a record of this job";
        size_t len = strlen(err->text);

        if (err->code == RP_ERR_USAGE && !strstr(err->text, "--jobs-topic") && len + sizeof(offer) <= sizeof(err->text))
                memcpy(err->text + len, offer, sizeof(offer));
        return err->code;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* The log's end now, once everything before it is decided. */
static rp_err_t await_stable_end(struct rp_jobs_topic *jobs, int timeout_ms, int64_t *end, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + timeout_ms, telling = rp_clock_ms() + MOMENT_MS;
        int64_t stable = -1;
        char text[400];
        rp_err_t rc = rp_offsets_at(&jobs->client, jobs->name, 1, RP_AT_END, timeout_ms, end, err);

        for (;;) {
                int64_t left = deadline - rp_clock_ms();

                if (rc == RP_OK)
                        rc = rp_offsets_at(&jobs->committed, jobs->name, 1, RP_AT_END, left > MOMENT_MS ? (int)left : MOMENT_MS,
                                           &stable, err); /* the last answer is waited for: it says what hides the rest */
                if (rc != RP_OK || stable >= *end)
                        return rc;
                if (jobs->on_wait && telling && rp_clock_ms() >= telling) {
                        snprintf(text, sizeof(text), "waits for a transaction that is open at offset %" PRId64 " of topic \"%s\" "
                                 "(another job's), up to %d s", stable, jobs->name, timeout_ms / 1000);
                        jobs->on_wait(jobs->arg, text);
                        telling = 0;
                }
                if (rp_clock_ms() >= deadline)
                        return rp_fail(err, RP_ERR_RETRY, "topic \"%s\" cannot be read to its end: a transaction is open at "
                                       "offset %" PRId64 " (another job's; it ends by itself within its timeout)", jobs->name,
                                       stable);
                rp_client_serve(&jobs->committed, 20);
        }
}

/* From range->first, or where the topic begins by now, to the end that can be read committed. */
static rp_err_t find_range(struct rp_jobs_topic *jobs, bool waits, int timeout_ms, struct rp_range *range, struct rp_error *err)
{
        int64_t first = 0;
        rp_err_t rc = open_client(&jobs->committed, jobs->config, "read_committed", err);

        if (rc != RP_OK)
                return rc;
        rc = waits ? await_stable_end(jobs, timeout_ms, &range->end, err)
                   : rp_offsets_at(&jobs->committed, jobs->name, 1, RP_AT_END, timeout_ms, &range->end, err);
        if (rc == RP_OK)
                rc = rp_offsets_at(&jobs->committed, jobs->name, 1, RP_AT_BEGINNING, timeout_ms, &first, err);
        rp_client_close(&jobs->committed);
        range->first = range->first < first ? first : range->first;
        return rc;
}

rp_err_t rp_jobs_topic_scan(struct rp_jobs_topic *jobs, const struct rp_jobs_scan *scan, int64_t *read_to, struct rp_error *err)
{
        struct rp_kafka_source_config config = { .client = jobs->config, .topic = jobs->name, .memory_bytes = READ_BYTES,
                                                 .timeout_ms = scan->timeout_ms };
        struct rp_source *source = NULL;
        struct rp_reader *reader = NULL;
        struct rp_range range = { .first = *read_to };
        struct rp_run run = { 0 };
        rp_err_t rc;

        if (!jobs->exists)
                return RP_OK;
        rc = find_range(jobs, scan->waits, scan->timeout_ms, &range, err);
        if (rc != RP_OK || range.end <= range.first)
                return rc;
        rc = rp_kafka_source_new(&source, &config, err);
        if (rc != RP_OK)
                return rc;
        reader = rp_reader_new(source, RP_READ_ANY);
        rc = reader ? rp_reader_start(reader, &range, err) : rp_fail(err, RP_ERR_FATAL, "out of memory");
        while (rc == RP_OK && !run.done) {
                rc = rp_reader_next(reader, 100, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        if (!scan->take(scan->arg, &run.records[i]))
                                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        if (rc == RP_OK)
                *read_to = range.end;
        rp_reader_free(reader);
        source->ops->free(source);
        return rc;
}

static bool fold_in(void *arg, const struct rp_record *rec)
{
        return rp_job_fold_add(arg, rec->key, rec->key_len, rec->value, rec->value_len);
}

rp_err_t rp_jobs_topic_read(struct rp_jobs_topic *jobs, struct rp_job_fold *fold, bool waits, int timeout_ms,
                            struct rp_error *err)
{
        const struct rp_jobs_scan scan = { .waits = waits, .timeout_ms = timeout_ms, .take = fold_in, .arg = fold };

        return rp_jobs_topic_scan(jobs, &scan, &fold->read_to, err);
}

rp_err_t rp_jobs_topic_ends_of(struct rp_jobs_topic *jobs, const char *topic, int32_t cnt, int timeout_ms, int64_t *ends,
                               struct rp_error *err)
{
        rp_err_t rc = open_client(&jobs->committed, jobs->config, "read_committed", err);

        if (rc == RP_OK)
                rc = rp_offsets_at(&jobs->committed, topic, cnt, RP_AT_END, timeout_ms, ends, err);
        rp_client_close(&jobs->committed);
        return rc;
}
