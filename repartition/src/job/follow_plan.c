#include "job/follow_plan.h"

#include "clock.h"
#include "crash.h"
#include "decide/repair_pass.h"
#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"
#include "job/prepare.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        ADMIN_MS = 10000,
        CLUSTER_ID_MS = 5000,
        SECOND_LOOK_MS = 2000 /* between what one commit makes visible in several places */
};

const char *rp_follow_from_text(const struct rp_follow_note *note, char *out, size_t size)
{
        static const char *const names[] = { "earliest", "latest", "", "rewrite" };

        if (note->from == RP_FROM_TIME)
                snprintf(out, size, "%s", rp_text_time_ms(note->time_ms).s);
        else
                snprintf(out, size, "%s", names[note->from]);
        return out;
}

/* ---- topics -------------------------------------------------------------------------------------------------------- */

static rp_err_t check_counts(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config,
                             const struct rp_topic_info *target, struct rp_error *err)
{
        int32_t pin = kr_rule_partitions(config->rule), wanted = config->partition_cnt;
        const char *name = config->target ? config->target : config->source;

        if (target->exists && wanted && wanted != target->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" has %" PRId32 " partitions, --partitions asks for %" PRId32,
                               name, target->partition_cnt, wanted);
        if (!target->exists && !wanted && !pin)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist: --partitions M says how many it shall have",
                               name);
        plan->partition_cnt = target->exists ? target->partition_cnt : wanted ? wanted : pin;
        if (pin && pin != plan->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "the policy is made for %" PRId32 " partitions, topic \"%s\" %s %" PRId32,
                               pin, name, target->exists ? "has" : "is to have", plan->partition_cnt);
        return RP_OK;
}

static rp_err_t ask_topics(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(plan->source);
        const char *target_name = config->target ? config->target : config->source;
        struct rp_settings own = { 0 }, *settings = &plan->settings;
        bool knows = rp_cluster_is_administrable(client, ADMIN_MS);
        struct rp_topic_info source, target;
        const char *text;
        rp_err_t rc = rp_cluster_topic(client, config->source, config->timeout_ms, &source, err);

        if (rc == RP_OK)
                rc = rp_cluster_find(client, target_name, config->timeout_ms, &target, err);
        if (rc == RP_OK)
                rc = check_counts(plan, config, &target, err);
        if (rc != RP_OK)
                return rc;
        plan->target_exists = target.exists;
        plan->replication_factor = config->replication_factor ? config->replication_factor : source.replication_factor;
        if (!target.exists && !knows)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" does not exist, and this cluster creates none on request: "
                               "create it with %d partitions first", target_name, (int)plan->partition_cnt);
        if (knows && target.exists)
                rc = rp_cluster_settings(client, target_name, config->timeout_ms, settings, err);
        else if (knows)
                rc = rp_cluster_settings(client, config->source, config->timeout_ms, &own, err);
        if (rc == RP_OK && !target.exists)
                rc = rp_derive_settings(settings, &own, config->settings, config->setting_cnt, err);
        rp_settings_release(&own);
        if (rc != RP_OK)
                return rc;
        text = rp_settings_get(settings, "max.message.bytes");
        plan->batch_bytes_max = text ? strtoll(text, NULL, 10) : 0;
        text = rp_settings_get(settings, "message.timestamp.type");
        snprintf(plan->timestamp_type, sizeof(plan->timestamp_type), "%s", text ? text : "");
        if (strcmp(plan->timestamp_type, "LogAppendTime") != 0)
                return RP_OK;
        if (!config->target)
                return rp_fail(err, RP_ERR_USAGE, "\"%s\" stamps every record with the time of its arrival "
                               "(message.timestamp.type=LogAppendTime): a copy would look newer than the records that it must "
                               "not overtake. Follow into another topic instead", target_name);
        return rp_fail(err, RP_ERR_USAGE, "\"%s\" would stamp every copy with the present time "
                       "(message.timestamp.type=LogAppendTime): %s", target_name,
                       target.exists ? "change that setting of the topic first"
                                     : "add --config message.timestamp.type=CreateTime");
}

/* ---- the group ----------------------------------------------------------------------------------------------------- */

/* Takes the group's birth from what is stored; *found is false when nothing is. */
static rp_err_t find_note(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, bool *found,
                          struct rp_error *err)
{
        struct rp_follow_note *note = malloc(sizeof(*note));
        char identity[RP_NOTE_JOB_SIZE];
        rp_err_t rc = note ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        *found = false;
        rp_follow_identity(identity, config->source, config->target, plan->partition_cnt, kr_rule_fingerprint(config->rule));
        for (int32_t p = 0; rc == RP_OK && p < plan->stored.cnt; p++) {
                const struct rp_mark *mark = &plan->stored.marks[p];

                if (mark->next < 0)
                        continue;
                if (!rp_follow_note_parse(note, mark->note))
                        rc = rp_fail(err, RP_ERR_USAGE, "the offsets that group \"%.100s\" has stored were not written by "
                                     "follow: choose another --job", config->job);
                else if (strcmp(note->job, identity) != 0)
                        rc = rp_fail(err, RP_ERR_USAGE, "the stored progress belongs to another job (%.180s), this one is: "
                                     "%.180s; choose another --job, or the same policy and partition count", note->job,
                                     identity);
                else if (!*found)
                        plan->note = *note;
                *found |= rc == RP_OK;
        }
        snprintf(plan->note.job, sizeof(plan->note.job), "%s", identity);
        snprintf(plan->note.by, sizeof(plan->note.by), "%s", config->by);
        free(note);
        return rc;
}

/* Whether a committed reader sees anything in the target; what a killed first start has left open is nothing. */
static rp_err_t look_into_target(const struct rp_follow_plan_config *config, bool *is_empty, struct rp_error *err)
{
        struct rp_kafka_source_config target = { .client = config->client, .topic = config->target,
                                                 .timeout_ms = config->timeout_ms };
        struct rp_source *source;
        bool found = false;
        rp_err_t rc = rp_kafka_source_new(&source, &target, err);

        if (rc != RP_OK)
                return rc;
        rc = rp_source_has_records(source, &found, err);
        *is_empty = !found;
        source->ops->free(source);
        return rc;
}

static rp_err_t look_at_group(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, bool *found,
                              struct rp_error *err)
{
        rp_err_t rc = rp_kafka_progress_peek(rp_kafka_source_client(plan->source), config->job, "Read", config->source, NULL,
                                             &plan->stored, config->timeout_ms, err);

        return rc == RP_OK ? find_note(plan, config, found, err) : rc;
}

/* A new group's choice, which later instances and starts will find. */
static rp_err_t choose_beginning(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, bool is_empty,
                                 struct rp_error *err)
{
        if (!is_empty)
                return rp_fail(err, RP_ERR_USAGE, "topic \"%s\" holds records that this job did not write: say where to begin, by "
                               "--from rewrite (where \"rewrite %s %s\" stands), latest, a time, or earliest", config->target,
                               config->source, config->target);
        plan->is_birth = true;
        plan->note.from = config->from_is_given ? config->from : config->target ? RP_FROM_EARLIEST : RP_FROM_LATEST;
        plan->note.time_ms = config->time_ms;
        plan->note.born_ms = rp_wall_clock_ms();
        plan->note.partition_cnt = plan->source->partition_cnt;
        return RP_OK;
}

static rp_err_t read_rewrite(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err)
{
        bool has_any = false;
        rp_err_t rc = rp_kafka_progress_peek(rp_kafka_source_client(plan->source), config->rewrite_job, "Describe",
                                             config->source, NULL, &plan->rewrite, config->timeout_ms, err);

        for (int32_t p = 0; p < plan->rewrite.cnt; p++)
                has_any |= plan->rewrite.marks[p].next >= 0;
        if (rc == RP_OK && !has_any)
                return rp_fail(err, RP_ERR_USAGE, "--from rewrite: no rewrite has stored progress as \"%.200s\"",
                               config->rewrite_job);
        return rc;
}

/* ---- the record of the job ------------------------------------------------------------------------------------------ */

static rp_err_t describe(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err)
{
        struct rp_job_descriptor *descriptor = &plan->descriptor;
        struct rp_client *client = rp_kafka_source_client(plan->source);
        char cluster[RP_CLUSTER_ID_SIZE];
        rp_err_t rc;

        rp_cluster_id(client, CLUSTER_ID_MS, cluster);
        *descriptor = (struct rp_job_descriptor){ .kind = "follow", .version = KR_VERSION, .source_cnt = 1,
                                                  .since_ms = plan->note.born_ms };
        snprintf(descriptor->identity, sizeof(descriptor->identity), "%s", plan->note.job);
        rp_job_descriptor_set_rule(descriptor, config->rule);
        snprintf(descriptor->by, sizeof(descriptor->by), "%s", config->by);
        if (!config->target) {
                rp_classes_print(descriptor->include, config->include);
                descriptor->marks = config->marks;
        }
        rc = rp_job_end_fill(&descriptor->sources[0], client, config->source, cluster, plan->source->partition_cnt, true,
                             config->timeout_ms, err);
        if (rc == RP_OK && config->target)
                rc = rp_job_end_fill(&descriptor->target, client, config->target, cluster, plan->partition_cnt,
                                     plan->target_exists, config->timeout_ms, err);
        else
                descriptor->target = descriptor->sources[0];
        return rc;
}

/* A job that goes on must find the topics that it began with. */
static rp_err_t compare_with_stored(struct rp_follow_plan *plan, const struct rp_job_fold *fold, struct rp_error *err)
{
        struct rp_job_descriptor stored;
        char text[480];

        if (!rp_job_descriptor_parse(&stored, fold->descriptor) || strcmp(stored.identity, plan->descriptor.identity) != 0)
                return RP_OK;
        plan->descriptor.since_ms = stored.since_ms;
        if (rp_job_descriptor_differs(&stored, &plan->descriptor, text, sizeof(text)))
                return rp_fail(err, RP_ERR_USAGE, "%.400s: to begin anew, choose another --job", text);
        return RP_OK;
}

static rp_err_t look_at_jobs(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, bool goes_on,
                             struct rp_error *err)
{
        struct rp_job_fold fold;
        rp_err_t rc;

        if (!rp_job_name_is_legal(config->job))
                return rp_job_fail_name(config->job, err);
        rc = rp_jobs_topic_open(&plan->jobs, config->client, config->jobs_topic, config->timeout_ms, err);
        if (rc != RP_OK)
                return rc;
        if (!rp_jobs_topic_is_possible(plan->jobs)) {
                rp_jobs_topic_close(plan->jobs);
                plan->jobs = NULL;
                return RP_OK;
        }
        rc = describe(plan, config, err);
        if (rc != RP_OK || !goes_on)
                return rc;
        if (!rp_job_fold_init(&fold, config->job))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        fold.is_brief = true;
        rc = rp_jobs_topic_read(plan->jobs, &fold, false, config->timeout_ms, err);
        if (rc == RP_OK)
                rc = compare_with_stored(plan, &fold, err);
        rp_job_fold_release(&fold);
        return rc;
}

rp_err_t rp_follow_plan(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err)
{
        struct rp_kafka_source_config source_config = { .client = config->client, .topic = config->source,
                                                        .headers = true, .timeout_ms = config->timeout_ms };
        bool is_empty = true, found = false;
        rp_err_t rc;

        *plan = (struct rp_follow_plan){ 0 };
        rc = rp_kafka_source_new(&plan->source, &source_config, err);
        if (rc != RP_OK)
                return rc;
        if (!rp_progress_init(&plan->stored, plan->source->partition_cnt) ||
            !rp_progress_init(&plan->rewrite, plan->source->partition_cnt))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        rc = ask_topics(plan, config, err);
        /* First the records, then who wrote them: another instance's first commit makes both visible, in no fixed order. */
        if (rc == RP_OK && config->target && plan->target_exists && !config->from_is_given)
                rc = look_into_target(config, &is_empty, err);
        if (rc == RP_OK)
                rc = look_at_group(plan, config, &found, err);
        if (rc == RP_OK && !found && !is_empty) {
                rp_clock_sleep_ms(SECOND_LOOK_MS);
                rc = look_at_group(plan, config, &found, err);
        }
        if (rc == RP_OK && !found)
                rc = choose_beginning(plan, config, is_empty, err);
        if (rc == RP_OK && plan->note.from == RP_FROM_REWRITE)
                rc = read_rewrite(plan, config, err);
        if (rc == RP_OK && strcmp(config->jobs_topic, "none") != 0 && look_at_jobs(plan, config, found, err) != RP_OK)
                rc = rp_jobs_topic_offer_none(err);
        return rc;
}

rp_err_t rp_follow_plan_create(struct rp_follow_plan *plan, const struct rp_follow_plan_config *config, struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(plan->source);
        rp_err_t rc = RP_OK;

        if (plan->target_exists && !plan->jobs)
                return RP_OK;
        RP_CRASH_POINT("create target", "before");
        /* Several instances are started at once; whoever is not the first finds them there. */
        if (plan->jobs && rp_jobs_topic_create(plan->jobs, plan->replication_factor, err) != RP_OK)
                rc = rp_jobs_topic_offer_none(err);
        if (rc == RP_OK && !plan->target_exists)
                rc = rp_cluster_create(client, config->target, plan->partition_cnt, plan->replication_factor, &plan->settings,
                                       config->timeout_ms, err);
        RP_CRASH_POINT("create target", "after");
        if (rc == RP_OK && plan->jobs && !plan->target_exists)
                rc = rp_topic_id(client, config->target, config->timeout_ms, plan->descriptor.target.id, err);
        return rc;
}

/* ---- where to begin ------------------------------------------------------------------------------------------------- */

rp_err_t rp_follow_plan_begin_at(const struct rp_follow_plan *plan, struct rp_group *group, struct rp_mark *marks,
                                 size_t cnt, int timeout_ms, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                int32_t p = marks[i].partition;
                int64_t next = p < plan->rewrite.cnt ? plan->rewrite.marks[p].next : -1;

                if (plan->note.from == RP_FROM_REWRITE && next >= 0)
                        marks[i].next = next;
                else
                        rc = group->ops->locate(group, rp_follow_begin(&plan->note, p, plan->is_birth), &marks[i], 1,
                                                timeout_ms, err);
        }
        return rc;
}

void rp_follow_plan_release(struct rp_follow_plan *plan)
{
        rp_settings_release(&plan->settings);
        rp_progress_release(&plan->stored);
        rp_progress_release(&plan->rewrite);
        rp_jobs_topic_close(plan->jobs);
        if (plan->source)
                plan->source->ops->free(plan->source);
        *plan = (struct rp_follow_plan){ 0 };
}
