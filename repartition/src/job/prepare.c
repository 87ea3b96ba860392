#include "job/prepare.h"

#include "clock.h"
#include "crash.h"
#include "decide/job_name.h"
#include "io/kafka_progress.h"
#include "io/kafka_sink.h"
#include "io/lease.h"
#include "io/kafka_source.h"
#include "io/reader.h"
#include "io/topic_ids.h"
#include "job/continuity.h"
#include "job/kafka_workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        PLACES = 4, /* of every partition that a sample is from, spread evenly */
        STABLE_MS = 20000,
        ADMIN_MS = 10000
};

/* ---- settings --------------------------------------------------------------------------------------------------- */

static int64_t number(const struct rp_settings *settings, const char *name)
{
        const char *value = rp_settings_get(settings, name);

        return value ? strtoll(value, NULL, 10) : RP_UNKNOWN;
}

struct rp_topic_facts rp_topic_facts(const char *name, const struct rp_topic_info *info,
                                     const struct rp_settings *settings)
{
        return (struct rp_topic_facts){
                .name = name,
                .exists = info->exists,
                .partition_cnt = info->partition_cnt,
                .replication_factor = info->replication_factor,
                .leaderless_cnt = info->leaderless_cnt,
                .in_sync_cnt = info->in_sync_cnt,
                .compression_type = rp_settings_get(settings, "compression.type"),
                .timestamp_type = rp_settings_get(settings, "message.timestamp.type"),
                .cleanup_policy = rp_settings_get(settings, "cleanup.policy"),
                .retention_ms = number(settings, "retention.ms"),
                .retention_bytes = number(settings, "retention.bytes"),
                .max_message_bytes = number(settings, "max.message.bytes"),
                .min_insync_replicas = number(settings, "min.insync.replicas"),
                .before_max_ms = number(settings, "message.timestamp.before.max.ms"),
                .after_max_ms = number(settings, "message.timestamp.after.max.ms"),
        };
}

/* Takes "name=value" apart. The value is borrowed. */
static rp_err_t parse_setting(const char *setting, char *name, size_t size, const char **value, struct rp_error *err)
{
        const char *equals = strchr(setting, '=');

        if (!equals || equals == setting || equals - setting >= (int)size)
                return rp_fail(err, RP_ERR_USAGE, "--config %.100s: expected NAME=VALUE", setting);
        snprintf(name, size, "%.*s", (int)(equals - setting), setting);
        *value = equals + 1;
        return RP_OK;
}

/* The same command must be able to take up what was killed: what a target was created with may be asked for again. */
static rp_err_t compare_settings(const struct rp_preparation *preparation, const struct rp_prepare_config *config,
                                 int32_t replication_factor, struct rp_error *err)
{
        for (size_t i = 0; i < config->setting_cnt; i++) {
                const char *value, *has;
                char name[128];

                if (parse_setting(config->settings[i], name, sizeof(name), &value, err) != RP_OK)
                        return err->code;
                has = rp_settings_get(&preparation->target_settings, name);
                if (!has || strcmp(has, value))
                        return rp_fail(err, RP_ERR_USAGE, "--config is for creating \"%s\", but that topic exists%s%s%s%.60s: "
                                       "change its settings with Kafka's tools", config->target, has ? " with " : "",
                                       has ? name : "", has ? "=" : "", has ? has : "");
        }
        if (config->replication_factor && config->replication_factor != replication_factor)
                return rp_fail(err, RP_ERR_USAGE, "--replication-factor is for creating \"%s\", but that topic exists with %d",
                               config->target, (int)replication_factor);
        return RP_OK;
}

rp_err_t rp_derive_settings(struct rp_settings *to, const struct rp_settings *from, const char *const *wanted,
                            size_t wanted_cnt, struct rp_error *err)
{
        for (size_t i = 0; i < from->cnt; i++) {
                if (strstr(from->items[i].name, ".throttled.replicas"))
                        continue;
                if (!rp_settings_set(to, from->items[i].name, from->items[i].value))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                to->items[to->cnt - 1].is_own = from->items[i].is_own;
        }
        for (size_t i = 0; i < wanted_cnt; i++) {
                const char *value;
                char name[128];

                if (parse_setting(wanted[i], name, sizeof(name), &value, err) != RP_OK)
                        return err->code;
                if (!rp_settings_set(to, name, value))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        return RP_OK;
}

/* ---- progress --------------------------------------------------------------------------------------------------- */

/* Whose progress is stored under the job's name; what rewrite itself would refuse must not look fine in a plan. */
static rp_err_t look_at_progress(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                                 struct rp_error *err)
{
        struct rp_facts *facts = &preparation->facts;
        struct rp_note *note = malloc(sizeof(*note));
        char identity[RP_NOTE_JOB_SIZE];

        if (!note)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rp_job_identity(identity, config->source, config->target, config->partition_cnt,
                        kr_rule_fingerprint(config->rule));
        for (int32_t p = 0; p < preparation->progress.cnt; p++) {
                const struct rp_mark *mark = &preparation->progress.marks[p];

                if (mark->next < 0)
                        continue;
                facts->has_progress = true;
                if (!rp_note_parse(note, mark->note)) {
                        facts->progress_is_foreign = true;
                } else if (strcmp(note->job, identity) && !facts->other_job) {
                        snprintf(preparation->other_job, sizeof(preparation->other_job), "%s", note->job);
                        facts->other_job = preparation->other_job;
                }
        }
        facts->job = config->job;
        free(note);
        return RP_OK;
}

/* Where follow stands that goes on from this job: it works within one cluster, and nothing is known under other names. */
static rp_err_t look_at_follow(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                               struct rp_error *err)
{
        struct rp_facts *facts = &preparation->facts;
        rp_err_t rc;

        /* Of several sources follow makes no target. */
        if (config->source_cnt > 1 || preparation->store.is_apart || !facts->settings_are_known || !facts->target.exists ||
            !facts->has_progress)
                return RP_OK;
        rp_follow_default_name(preparation->follow_job, sizeof(preparation->follow_job), config->source, config->target);
        if (!rp_progress_init(&preparation->followed, preparation->progress.cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = rp_kafka_progress_peek(rp_kafka_source_client(preparation->source), preparation->follow_job, "Describe",
                                    config->source, NULL, &preparation->followed, config->timeout_ms, err);
        facts->follow_job = preparation->follow_job;
        facts->progress = &preparation->progress;
        facts->followed = rc == RP_OK ? &preparation->followed : NULL;
        return rc == RP_ERR_USAGE ? RP_OK : rc; /* a right that is missing, which rewrite itself does not need */
}

/* ---- asking ------------------------------------------------------------------------------------------------------- */

/* Whether a committed reader would see anything: aborted records and control records do not count. */
rp_err_t rp_source_has_records(struct rp_source *source, bool *found, struct rp_error *err)
{
        struct rp_reader *reader = NULL;
        struct rp_range *ranges = NULL;
        struct rp_run run = { 0 };
        rp_err_t rc = RP_OK;

        *found = false;
        ranges = calloc((size_t)source->partition_cnt, sizeof(*ranges));
        reader = rp_reader_new(source, RP_READ_ANY);
        if (!ranges || !reader)
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = source->ops->bounds(source, ranges, err);
        if (rc == RP_OK)
                rc = rp_reader_start(reader, ranges, err);
        while (rc == RP_OK && !run.done && !*found) {
                rc = rp_reader_next(reader, 100, &run, err);
                *found = run.cnt > 0;
        }
        rp_reader_free(reader);
        free(ranges);
        return rc;
}

/* What the target tells: whether it holds anything, and how many workers the last run had. */
static rp_err_t look_at_target(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                               struct rp_error *err)
{
        struct rp_kafka_source_config source_config = { .client = config->target_client, .topic = config->target,
                                                        .group = config->job, .timeout_ms = config->timeout_ms };
        struct rp_source *source = NULL;
        struct rp_lead_note note;
        rp_err_t rc = rp_kafka_source_new(&source, &source_config, err);

        if (rc != RP_OK)
                return rc;
        rc = rp_source_has_records(source, &preparation->facts.target_has_records, err);
        if (rc == RP_OK)
                rc = rp_kafka_lead(source, config->job, config->timeout_ms, &note, err);
        if (rc == RP_OK && note.workers) {
                preparation->former_workers = note.workers;
                snprintf(preparation->lead_run, sizeof(preparation->lead_run), "%s", note.run);
        }
        source->ops->free(source);
        return rc;
}

/* keys_only: they are looked at for another time, and the rest is known. */
static rp_err_t survey_ranges(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                              struct rp_reader *reader, const struct rp_range *ranges, bool keys_only, uint64_t *done,
                              uint64_t total, struct rp_error *err)
{
        struct rp_survey *survey = &preparation->survey;
        struct rp_run run = { 0 };
        rp_err_t rc = rp_reader_start(reader, ranges, err);
        int64_t here = 0, all;

        while (rc == RP_OK && !run.done && !preparation->is_stopped) {
                rc = rp_reader_next(reader, 100, &run, err);
                for (size_t i = 0; rc == RP_OK && !keys_only && i < run.cnt; i++)
                        rp_survey_add(survey, &run.records[i]);
                for (size_t i = 0; rc == RP_OK && keys_only && i < run.cnt; i++)
                        if (run.records[i].key)
                                survey->has_failed |= !rp_split_add(survey->exact, run.records[i].key, run.records[i].key_len,
                                                                    run.records[i].partition);
                if (rc == RP_OK && survey->has_failed)
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory for the keys of \"%s\"", config->source);
                rp_reader_progress(reader, &here, &all);
                if (config->tick && !config->tick(config->arg, *done + (uint64_t)here, total, preparation->survey.records))
                        preparation->is_stopped = true;
        }
        *done += (uint64_t)here;
        return rc;
}

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* The part from one place of several of what is to be copied of a partition but for its first records. */
static struct rp_range part_of(const struct rp_preparation *preparation, int32_t partition, int64_t but, int place, int places,
                               int64_t most)
{
        const struct rp_range *bounds = &preparation->bounds[partition];
        int64_t next = preparation->progress.marks[partition].next;
        int64_t first = (next > bounds->first ? next : bounds->first) + but;
        int64_t len = bounds->end > first ? bounds->end - first : 0;
        struct rp_range part = { .first = first + len * place / places, .end = first + len * (place + 1) / places };

        part.end = part.first + least(part.end - part.first, most);
        return part;
}

/*
 * The records still to be copied, or some from PLACES places of each partition, which are spread evenly over time. The first
 * ones tell how long records are, and so how many are enough.
 */
static rp_err_t survey(struct rp_preparation *preparation, const struct rp_prepare_config *config, struct rp_error *err)
{
        int32_t cnt = preparation->source->partition_cnt;
        struct rp_range *ranges = calloc((size_t)cnt, sizeof(*ranges));
        struct rp_reader *reader = rp_reader_new(preparation->source, RP_READ_ANY);
        bool is_whole = config->is_exact || config->refuses_split_keys;
        int64_t probe = is_whole ? 0 : rp_survey_probe(cnt), chunk = INT64_MAX;
        uint64_t done = 0, total = preparation->left;
        int places = 1;
        rp_err_t rc = ranges && reader ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (rc == RP_OK && probe) {
                for (int32_t p = 0; p < cnt; p++)
                        ranges[p] = part_of(preparation, p, 0, 0, 1, probe);
                rc = survey_ranges(preparation, config, reader, ranges, false, &done, total, err);
                chunk = rp_survey_chunk(&preparation->survey, preparation->left, PLACES);
        }
        if (chunk != INT64_MAX) {
                places = PLACES;
                total = (uint64_t)((probe + chunk * PLACES) * cnt);
        }
        for (int place = 0; rc == RP_OK && place < places && !preparation->is_stopped; place++) {
                for (int32_t p = 0; p < cnt; p++)
                        ranges[p] = part_of(preparation, p, probe, place, places, chunk);
                rc = survey_ranges(preparation, config, reader, ranges, false, &done, total, err);
                if (place + 1 < places)
                        chunk = least(chunk, rp_survey_chunk(&preparation->survey, preparation->left, places));
        }
        while (rc == RP_OK && preparation->survey.exact && !preparation->is_stopped &&
               rp_split_next_pass(preparation->survey.exact)) {
                done = 0;
                rc = survey_ranges(preparation, config, reader, ranges, true, &done, total, err);
        }
        preparation->survey_is_exact = places == 1;
        rp_reader_free(reader);
        free(ranges);
        return rc;
}

/* What the run will have to be allowed, as far as it can be tried without effect. */
static void try_rights(struct rp_preparation *preparation, const struct rp_prepare_config *config, struct rp_client *client)
{
        struct rp_facts *facts = &preparation->facts;
        struct rp_denials *denials = &preparation->denials;
        struct rp_jobs_topic *jobs = preparation->store.jobs;
        char lease[700];

        rp_rights_begin(denials);
        if (facts->target.exists)
                rp_rights_ask_topic(client, config->target, ADMIN_MS, denials);
        else if (rp_cluster_try_create(client, config->target, config->partition_cnt, facts->target.replication_factor,
                                       &preparation->target_settings, config->timeout_ms, &preparation->create_error) != RP_OK)
                facts->create_error = preparation->create_error.text;
        if (jobs && rp_jobs_topic_exists(jobs))
                rp_rights_ask_topic(client, rp_jobs_topic_name(jobs), ADMIN_MS, denials);
        else if (jobs && !facts->create_error &&
                 rp_jobs_topic_try_create(jobs, &preparation->create_error) != RP_OK)
                facts->create_error = preparation->create_error.text;
        if (!preparation->store.is_apart)
                rp_rights_ask_group(client, config->job, ADMIN_MS, denials);
        if (rp_jobs_topic_is_possible(preparation->store.target)) {
                rp_lease_group(lease, sizeof(lease), config->job);
                rp_rights_ask_group(client, lease, ADMIN_MS, denials);
        }
        for (size_t i = 0; i < preparation->denials.cnt; i++)
                facts->denials[i] = preparation->denials.texts[i];
        facts->rights_are_unknown = !preparation->denials.is_known && rp_client_is_secured(client);
}

/* What the job is, with the ids of its topics as they are now. */
static rp_err_t describe_job(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                             bool target_exists, struct rp_error *err)
{
        struct rp_job_descriptor *descriptor = &preparation->descriptor;
        struct rp_job_store *store = &preparation->store;
        rp_err_t rc = RP_OK;

        *descriptor = (struct rp_job_descriptor){ .kind = "rewrite", .version = KR_VERSION, .source_cnt = config->source_cnt };
        rp_job_identity(descriptor->identity, config->source, config->target, config->partition_cnt,
                        kr_rule_fingerprint(config->rule));
        rp_job_descriptor_set_rule(descriptor, config->rule);
        snprintf(descriptor->by, sizeof(descriptor->by), "%s", config->by);
        for (int32_t s = 0; rc == RP_OK && s < config->source_cnt; s++)
                rc = rp_job_end_fill(&descriptor->sources[s], rp_kafka_source_client(preparation->source), config->sources[s],
                                     store->source_cluster, preparation->source_facts[s].partition_cnt, store->jobs,
                                     config->timeout_ms, err);
        if (rc == RP_OK)
                rc = rp_job_end_fill(&descriptor->target, rp_jobs_topic_client(store->target), config->target,
                                     store->target_cluster, config->partition_cnt, store->jobs && target_exists,
                                     config->timeout_ms, err);
        return rc;
}

static rp_err_t look_at_hidden(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                               struct rp_error *err)
{
        struct rp_facts *facts = &preparation->facts;
        struct rp_hidden hidden;
        rp_err_t rc = rp_kafka_source_hidden(preparation->source, config->client, &hidden, err);

        if (rc != RP_OK)
                return rc;
        facts->hidden_partition_cnt = hidden.partition_cnt;
        facts->hidden_offsets = hidden.offsets;
        facts->hidden_topic = rp_source_topic(preparation->source, hidden.place);
        facts->hidden_partition = rp_source_partition(preparation->source, hidden.place);
        facts->hidden_from = hidden.from;
        return RP_OK;
}

/* A job that goes on keeps its epoch; one whose progress is gone begins a new one. */
static rp_err_t look_at_job(struct rp_preparation *preparation, const struct rp_prepare_config *config, struct rp_error *err)
{
        struct rp_job_descriptor *descriptor = &preparation->descriptor;

        descriptor->since_ms = preparation->facts.has_progress ? rp_job_fold_epoch(&preparation->store.fold) : 0;
        if (!descriptor->since_ms)
                descriptor->since_ms = rp_wall_clock_ms();
        if (!preparation->facts.has_progress || preparation->facts.other_job || preparation->facts.progress_is_foreign)
                return RP_OK;
        return rp_continuity_check(&preparation->store.fold, descriptor, preparation->source, preparation->bounds,
                                   &preparation->progress, config->partition_cnt, err);
}

static rp_err_t ask_sources(struct rp_preparation *preparation, const struct rp_prepare_config *config, bool knows,
                            struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(preparation->source);
        rp_err_t rc = RP_OK;

        preparation->source_facts = calloc((size_t)config->source_cnt, sizeof(*preparation->source_facts));
        preparation->source_settings = calloc((size_t)config->source_cnt, sizeof(*preparation->source_settings));
        if (!preparation->source_facts || !preparation->source_settings)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int32_t s = 0; rc == RP_OK && s < config->source_cnt; s++) {
                struct rp_settings *settings = &preparation->source_settings[s];
                const char *name = config->sources[s];
                struct rp_topic_info info;

                rc = rp_cluster_topic(client, name, config->timeout_ms, &info, err);
                if (rc == RP_OK && knows)
                        rc = rp_cluster_settings(client, name, config->timeout_ms, settings, err);
                if (rc == RP_OK)
                        preparation->source_facts[s] = rp_topic_facts(name, &info, settings);
        }
        return rc;
}

static bool is_wanted_otherwise(const struct rp_prepare_config *config, const char *setting)
{
        size_t len = strlen(setting);

        for (size_t i = 0; i < config->setting_cnt; i++)
                if (!strncmp(config->settings[i], setting, len) && config->settings[i][len] == '=')
                        return true;
        return false;
}

/* A target that is created has the settings of its source; of several it cannot have those in which they differ. */
static rp_err_t compare_sources(const struct rp_preparation *preparation, const struct rp_prepare_config *config,
                                struct rp_error *err)
{
        const struct rp_settings *first = &preparation->source_settings[0];

        for (int32_t s = 1; s < config->source_cnt; s++)
                for (size_t i = 0; i < first->cnt; i++) {
                        const char *name = first->items[i].name, *value = first->items[i].value;
                        const char *other = rp_settings_get(&preparation->source_settings[s], name);

                        if (strstr(name, ".throttled.replicas") || (other && !strcmp(other, value)) ||
                            is_wanted_otherwise(config, name))
                                continue;
                        return rp_fail(err, RP_ERR_USAGE, "%s is \"%.60s\" for topic \"%s\" and \"%.60s\" for \"%s\": which "
                                       "shall \"%s\" be created with? --config %s=...", name, value, config->sources[0],
                                       other ? other : "", config->sources[s], config->target, name);
                }
        return RP_OK;
}

static int32_t highest_replication(const struct rp_preparation *preparation, const struct rp_prepare_config *config)
{
        int32_t highest = 0;

        for (int32_t s = 0; s < config->source_cnt; s++)
                if (preparation->source_facts[s].replication_factor > highest)
                        highest = preparation->source_facts[s].replication_factor;
        return highest;
}

static rp_err_t ask_topics(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                           struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(preparation->source);
        struct rp_client *target_client = rp_jobs_topic_client(preparation->store.target);
        struct rp_topic_info target;
        bool knows_source = rp_cluster_is_administrable(client, ADMIN_MS);
        bool knows = rp_cluster_is_administrable(target_client, ADMIN_MS);
        rp_err_t rc = ask_sources(preparation, config, knows_source, err);

        if (rc == RP_OK)
                rc = rp_cluster_find(target_client, config->target, config->timeout_ms, &target, err);
        if (rc == RP_OK && knows && target.exists)
                rc = rp_cluster_settings(target_client, config->target, config->timeout_ms, &preparation->target_settings, err);
        if (rc == RP_OK)
                rc = describe_job(preparation, config, target.exists, err);
        if (rc == RP_OK && !target.exists)
                rc = compare_sources(preparation, config, err);
        if (rc == RP_OK && !target.exists)
                rc = rp_derive_settings(&preparation->target_settings, &preparation->source_settings[0], config->settings,
                                        config->setting_cnt, err);
        if (rc != RP_OK)
                return rc;
        if (!target.exists && !knows)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist, and this cluster creates none on request: "
                               "create it with %d partitions first", config->target, (int)config->partition_cnt);
        if (target.exists && compare_settings(preparation, config, target.replication_factor, err) != RP_OK)
                return err->code;
        if (!target.exists) {
                target.partition_cnt = config->partition_cnt;
                target.replication_factor = config->replication_factor ? config->replication_factor
                                                                       : highest_replication(preparation, config);
                /* Another cluster may have fewer brokers; who asked for a number gets it, or is refused. */
                if (preparation->store.is_apart && !config->replication_factor &&
                    target.replication_factor > target.broker_cnt)
                        target.replication_factor = target.broker_cnt;
        }
        preparation->facts = (struct rp_facts){
                .sources = preparation->source_facts,
                .source_cnt = config->source_cnt,
                .source = config->source,
                .target = rp_topic_facts(config->target, &target, &preparation->target_settings),
                .broker_cnt = target.broker_cnt,
                .wanted_cnt = config->partition_cnt,
                .policy_pin = kr_rule_partitions(config->rule),
                .refuses_split_keys = config->refuses_split_keys,
                .codecs = rp_client_features(),
                .library = rp_client_version_number(),
                .library_name = rp_client_version(),
                .library_is_allowed = config->library_is_allowed,
                .is_apart = preparation->store.is_apart,
                .settings_are_known = knows && knows_source,
                .now_ms = rp_wall_clock_ms(),
        };
        if (knows)
                try_rights(preparation, config, target_client);
        return RP_OK;
}

rp_err_t rp_prepare(struct rp_preparation *preparation, const struct rp_prepare_config *config, struct rp_error *err)
{
        struct rp_kafka_source_config source_config = { .client = config->client, .topics = config->sources,
                                                        .topic_cnt = config->source_cnt, .group = config->job,
                                                        .memory_bytes = (int64_t)config->memory_bytes,
                                                        .timeout_ms = config->timeout_ms };
        struct rp_facts *facts = &preparation->facts;
        struct rp_split split = { 0 };
        int32_t cnt;
        rp_err_t rc;

        struct rp_job_store_config store_config = { .target = config->target_client, .job = config->job,
                                                    .topic = config->jobs_topic, .timeout_ms = config->timeout_ms };

        *preparation = (struct rp_preparation){ .former_workers = 1, .source_cnt = config->source_cnt };
        rc = rp_kafka_source_new(&preparation->source, &source_config, err);
        if (rc != RP_OK)
                return rc;
        store_config.source = preparation->source;
        rc = rp_job_store_open(&preparation->store, &store_config, err);
        if (rc != RP_OK)
                return rc;
        /* Progress that a source lost when it was deleted is missed by what the topic of jobs says. */
        if (config->source_cnt > 1 && !preparation->store.jobs)
                return rp_fail(err, RP_ERR_USAGE, "several sources need a topic of jobs (--jobs-topic NAME), and this run has "
                               "none");
        cnt = preparation->source->partition_cnt;
        preparation->bounds = calloc((size_t)cnt, sizeof(*preparation->bounds));
        if (!preparation->bounds || !rp_progress_init(&preparation->progress, cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = ask_topics(preparation, config, err);
        if (rc == RP_OK)
                rc = preparation->source->ops->bounds(preparation->source, preparation->bounds, err);
        if (rc == RP_OK && (!config->extent || config->extent->to.kind == RP_LOG_NONE))
                rc = look_at_hidden(preparation, config, err);
        if (rc == RP_OK)
                rc = preparation->store.is_apart
                             ? rp_job_store_progress(&preparation->store, &preparation->progress, config->timeout_ms, err)
                             : rp_kafka_progress_now(preparation->source, config->job, &preparation->progress,
                                                     config->timeout_ms, err);
        if (rc == RP_OK)
                rc = look_at_progress(preparation, config, err);
        if (rc == RP_OK)
                rc = look_at_follow(preparation, config, err);
        if (rc == RP_OK)
                rc = look_at_job(preparation, config, err);
        if (rc == RP_OK && facts->target.exists)
                rc = look_at_target(preparation, config, err);
        if (rc == RP_OK && config->extent)
                rc = rp_extent_narrow(config->extent, preparation->source, &preparation->progress, config->timeout_ms,
                                      preparation->bounds, err);
        if (rc != RP_OK)
                return rc;
        for (int32_t p = 0; p < cnt; p++) {
                int64_t next = preparation->progress.marks[p].next;
                const struct rp_range *bounds = &preparation->bounds[p];

                if (bounds->end > next)
                        preparation->left += (uint64_t)(bounds->end - (next > bounds->first ? next : bounds->first));
        }
        preparation->survey = (struct rp_survey){
                .rule = config->rule, .source_cnt = cnt, .topics = preparation->source->topics,
                .target_cnt = config->partition_cnt,
                .cutoff_ms = facts->target.retention_ms > 0 ? facts->now_ms - facts->target.retention_ms : INT64_MIN,
        };
        if (!rp_survey_init(&preparation->survey) ||
            (config->refuses_split_keys && !rp_split_init(&split, config->memory_bytes)))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (config->refuses_split_keys)
                preparation->survey.exact = &split;
        rc = survey(preparation, config, err);
        if (config->refuses_split_keys) {
                preparation->survey.keys = split.keys;
                preparation->survey.split_keys = split.split_keys;
                preparation->survey.split_records = split.split_records;
                preparation->survey.exact = NULL;
                rp_split_release(&split);
        }
        rp_survey_release(&preparation->survey); /* its table of keys; the figures stay */
        facts->survey = &preparation->survey;
        rp_preflight(facts, &preparation->findings);
        return rc;
}

rp_err_t rp_preparation_create_target(struct rp_preparation *preparation, const struct rp_prepare_config *config,
                                      struct rp_error *err)
{
        const struct rp_kafka_sink_config sink = { .client = config->target_client, .source = preparation->source,
                                                   .job = config->job, .topic = config->target,
                                                   .partition_cnt = config->partition_cnt, .timeout_ms = config->timeout_ms };
        struct rp_job_store *store = &preparation->store;
        struct rp_client *client = rp_jobs_topic_client(store->target);
        bool creates = !preparation->facts.target.exists;
        rp_err_t rc = RP_OK;
        char lease[700];

        /* Not to leave an empty topic behind when it cannot be filled. */
        rp_lease_group(lease, sizeof(lease), config->job);
        if (creates && rp_jobs_topic_is_possible(store->target))
                rc = rp_rights_try_group(client, lease, ADMIN_MS, err);
        if (rc == RP_OK && creates)
                rc = rp_kafka_sink_try(&sink, err);
        RP_CRASH_POINT("create target", "before");
        if (rc == RP_OK && store->jobs)
                rc = rp_jobs_topic_create(store->jobs, preparation->facts.target.replication_factor, err);
        if (rc == RP_OK && creates)
                rc = rp_cluster_create(client, config->target, config->partition_cnt,
                                       preparation->facts.target.replication_factor, &preparation->target_settings,
                                       config->timeout_ms, err);
        RP_CRASH_POINT("create target", "after");
        if (rc == RP_OK && store->jobs && creates)
                rc = rp_topic_id(client, config->target, config->timeout_ms, preparation->descriptor.target.id, err);
        return rc;
}

rp_err_t rp_preparation_await_target(const struct rp_prepare_config *config, struct rp_error *err)
{
        struct rp_kafka_source_config target = { .client = config->target_client, .topic = config->target,
                                                 .timeout_ms = config->timeout_ms };
        struct rp_source *source;
        rp_err_t rc = rp_kafka_source_new(&source, &target, err);

        if (rc != RP_OK)
                return rc;
        rc = rp_kafka_source_await_stable(source, config->target_client, STABLE_MS, err);
        source->ops->free(source);
        return rc;
}

void rp_preparation_release(struct rp_preparation *preparation)
{
        rp_survey_release(&preparation->survey);
        for (int32_t s = 0; preparation->source_settings && s < preparation->source_cnt; s++)
                rp_settings_release(&preparation->source_settings[s]);
        free(preparation->source_settings);
        free(preparation->source_facts);
        rp_settings_release(&preparation->target_settings);
        rp_progress_release(&preparation->progress);
        rp_progress_release(&preparation->followed);
        free(preparation->bounds);
        rp_job_store_close(&preparation->store);
        if (preparation->source)
                preparation->source->ops->free(preparation->source);
        preparation->source = NULL;
}
