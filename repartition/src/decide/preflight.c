#include "decide/preflight.h"

#include "decide/library.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rp_findings_add(struct rp_findings *findings, rp_severity_t severity, const char *id, const char *fmt, ...)
{
        struct rp_finding *finding;
        va_list args;

        if (findings->cnt == sizeof(findings->items) / sizeof(*findings->items))
                return;
        finding = &findings->items[findings->cnt++];
        finding->severity = severity;
        finding->id = id;
        findings->refusal_cnt += severity == RP_FINDING_REFUSAL;
        va_start(args, fmt);
        vsnprintf(finding->text, sizeof(finding->text), fmt, args);
        va_end(args);
}

#define note(id, ...) rp_findings_add(findings, RP_FINDING_NOTE, id, __VA_ARGS__)
#define warn(id, ...) rp_findings_add(findings, RP_FINDING_WARNING, id, __VA_ARGS__)
#define refuse(id, ...) rp_findings_add(findings, RP_FINDING_REFUSAL, id, __VA_ARGS__)

static const double DAY_MS = 86400000.0;

static double percent(uint64_t part, uint64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- topics and counts ---------------------------------------------------------------------------------------- */

static void look_at_source(const struct rp_facts *facts, const struct rp_topic_facts *source, struct rp_findings *findings)
{
        if (!facts->is_apart && !strcmp(source->name, facts->target.name))
                refuse("same-topic", "source and target are both \"%s\": rewrite copies into another topic", source->name);
        if (source->leaderless_cnt)
                refuse("leaderless", "%" PRId32 " partitions of \"%s\" have no leader now and cannot be read",
                       source->leaderless_cnt, source->name);
}

static void look_at_topics(const struct rp_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *target = &facts->target;

        for (int32_t s = 0; s < facts->source_cnt; s++)
                look_at_source(facts, &facts->sources[s], findings);
        if (facts->policy_pin && facts->policy_pin != facts->wanted_cnt)
                refuse("policy-pin", "the policy is made for %" PRId32 " partitions, --partitions asks for %" PRId32,
                       facts->policy_pin, facts->wanted_cnt);
        if (facts->progress_is_foreign)
                refuse("foreign-progress", "the offsets stored under \"%.100s\" were not written by this tool: choose another "
                       "--job", facts->job);
        if (facts->other_job)
                refuse("other-job", "under the name \"%.60s\" another job has stored its progress (%.180s): choose another "
                       "--job, or the same policy and partition count", facts->job, facts->other_job);
        if (target->exists && target->partition_cnt != facts->wanted_cnt)
                refuse("partition-count", "topic \"%s\" exists with %" PRId32 " partitions, --partitions asks for %" PRId32
                       ": name another topic, or the count it has", target->name, target->partition_cnt,
                       facts->wanted_cnt);
        if (target->exists && target->leaderless_cnt)
                refuse("leaderless", "%" PRId32 " partitions of \"%s\" have no leader now and cannot be written",
                       target->leaderless_cnt, target->name);
        if (target->exists && facts->target_has_records && !facts->has_progress)
                refuse("not-empty", "topic \"%s\" holds records that this job did not write: name another topic, delete it, "
                       "or give the --job that wrote them", target->name);
        if (!target->exists && facts->has_progress)
                refuse("target-gone", "this job has copied to \"%s\" before, but the topic is gone: choose another --job to "
                       "copy everything again", target->name);
        if (target->exists && !facts->target_has_records && facts->has_progress)
                warn("target-emptied", "this job has been through \"%s\" before, but \"%s\" holds no records now: unless there "
                     "were none to copy, they are gone. Only newer ones would be copied; another --job copies everything",
                     facts->source, target->name);
        if (!target->exists && facts->broker_cnt && target->replication_factor > facts->broker_cnt)
                refuse("replication", "replication factor %" PRId32 " needs as many brokers, the cluster has %" PRId32,
                       target->replication_factor, facts->broker_cnt);
        if (target->min_insync_replicas > 0 && target->min_insync_replicas > target->replication_factor)
                refuse("min-insync", "min.insync.replicas=%" PRId64 " of \"%s\" is more than its replication factor %" PRId32
                       ": nothing could be written", target->min_insync_replicas, target->name,
                       target->replication_factor);
        if (target->exists && target->in_sync_cnt < target->min_insync_replicas &&
            target->min_insync_replicas <= target->replication_factor)
                refuse("in-sync", "a partition of \"%s\" has %" PRId32 " replicas in sync now and min.insync.replicas=%" PRId64
                       ": nothing can be written until its brokers are back", target->name, target->in_sync_cnt,
                       target->min_insync_replicas);
        /* What the cluster says comes last: the above says it in plainer words. */
        if (facts->create_error && !findings->refusal_cnt)
                refuse("create", "%s", facts->create_error);
        if (!facts->settings_are_known)
                note("settings-unknown", "this cluster does not answer questions about topic settings: timestamp type, "
                     "retention, size limits and cleanup policy were not checked; and it makes no topic of jobs, so there will be "
                     "no checkpoints for cutover, and a second run of this job is only noticed when it fences the first");
}

/* Where follow has gone on from this job, the job's own progress stays where follow began. */
static void look_at_follow(const struct rp_facts *facts, struct rp_findings *findings)
{
        const struct rp_progress *own = facts->progress, *followed = facts->followed;

        if (facts->follow_job && !followed)
                note("follow-unknown", "whether follow has gone on from here as group \"%.150s\" was not found out: this user may "
                     "not describe it. Where it has, rewrite would copy its records a second time", facts->follow_job);
        for (int32_t p = 0; facts->follow_job && followed && p < followed->cnt && p < own->cnt; p++) {
                if (followed->marks[p].next < 0 || followed->marks[p].next <= own->marks[p].next)
                        continue;
                refuse("followed", "follow has gone on from here: in partition %" PRId32 " group \"%.100s\" stands at offset %"
                       PRId64 ", this job at %" PRId64 ", and what lies between would be copied a second time. Let follow go "
                       "on, or rewrite into another topic than \"%.100s\"", p, facts->follow_job, followed->marks[p].next,
                       own->marks[p].next > 0 ? own->marks[p].next : 0, facts->target.name);
                return;
        }
}

/* ---- rights and the library ------------------------------------------------------------------------------------- */

static void look_at_rights(const struct rp_facts *facts, struct rp_findings *findings)
{
        for (size_t i = 0; i < sizeof(facts->denials) / sizeof(*facts->denials) && facts->denials[i]; i++)
                refuse("rights", "%s", facts->denials[i]);
        if (facts->rights_are_unknown)
                note("rights-unknown", "whether this user may write to \"%s\" and keep progress as group \"%.100s\" was not found "
                     "out (that needs librdkafka 2.3 and Kafka 2.3): a missing right ends the run before a record is seen",
                     facts->target.name, facts->job);
}

/* Whether list, separated by commas, has the word. */
static bool lists(const char *list, const char *word)
{
        size_t len = strlen(word);

        for (const char *at = list; (at = strstr(at, word)); at += len)
                if ((at == list || at[-1] == ',' || at[-1] == ' ') && (!at[len] || at[len] == ',' || at[len] == ' '))
                        return true;
        return false;
}

static void look_at_codec(const struct rp_facts *facts, const struct rp_topic_facts *topic, struct rp_findings *findings)
{
        static const char *const codecs[] = { "gzip", "snappy", "lz4", "zstd" };

        for (size_t i = 0; topic->compression_type && facts->codecs && i < sizeof(codecs) / sizeof(*codecs); i++)
                if (!strcmp(topic->compression_type, codecs[i]) && !lists(facts->codecs, codecs[i]))
                        refuse("codec", "\"%s\" is compressed by %s (compression.type), which this librdkafka (%s) was built "
                               "without: use one that has it", topic->name, codecs[i], facts->library_name);
}

void rp_preflight_library(uint32_t library, const char *name, unsigned uses, bool is_allowed,
                          struct rp_findings *findings)
{
        const struct rp_library_flaw *flaws[4];
        size_t cnt = library ? rp_library_flaws(library, uses, flaws, 4) : 0;

        for (size_t i = 0; i < cnt; i++) {
                if (flaws[i]->is_fatal && !is_allowed)
                        refuse("librdkafka", "librdkafka %s: %s (%s). Use a newer one; --allow-librdkafka takes the risk",
                               name, flaws[i]->reason, flaws[i]->source);
                else
                        warn("librdkafka", "librdkafka %s: %s (%s)", name, flaws[i]->reason, flaws[i]->source);
        }
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

/* A length of time as a person says it. */
static void print_span(char *out, size_t size, int64_t ms)
{
        static const struct { double ms; const char *name; } units[] = {
                { 86400000.0, "days" }, { 3600000.0, "hours" }, { 60000.0, "minutes" }, { 1000.0, "seconds" },
        };

        snprintf(out, size, "%" PRId64 " ms", ms);
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
                if ((double)ms >= units[i].ms) {
                        snprintf(out, size, "%.1f %s", (double)ms / units[i].ms, units[i].name);
                        return;
                }
}

/*
 * What becomes of keys that live in several partitions. The merge goes by time, but never past the order that a
 * partition has: where times run backwards in one, no merge can have both, and the partition's order wins.
 */
static void look_at_order(const struct rp_facts *facts, struct rp_findings *findings)
{
        const struct rp_survey *survey = facts->survey;
        const char *first = survey->keys_are_capped ? "the first " : "";
        char span[40];

        if (!survey->split_keys)
                return;
        if (facts->refuses_split_keys)
                refuse("split-keys", "%" PRIu64 " of %" PRIu64 " keys (%" PRIu64 " of %" PRIu64 " keyed records) live in more "
                       "than one partition %sof \"%.100s\", and no offset tells which of their records came first: --order "
                       "merge copies them by timestamp%s", survey->split_keys, survey->keys, survey->split_records,
                       survey->records - survey->keyless, facts->source_cnt > 1 ? "or topic " : "", facts->source,
                       survey->backward ? ", but times run backwards here" : "");
        if (facts->refuses_split_keys && !survey->backward)
                return;
        if (!survey->backward) {
                note("split-keys", "%" PRIu64 " of %s%" PRIu64 " keys seen live in several source partitions: their records "
                     "are merged by timestamp, each partition's order kept", survey->split_keys, first, survey->keys);
                return;
        }
        print_span(span, sizeof(span), survey->step_back_ms);
        warn("split-keys-out-of-time",
             "%" PRIu64 " of %s%" PRIu64 " keys seen live in several source partitions, and %" PRIu64 " of %" PRIu64
             " records seen (%.1f %%) are older than one before them in their partition, by up to %s. Each partition's "
             "order is kept, so these keys may come out up to that much out of time order: readers that need it must "
             "sort by timestamp",
             survey->split_keys, first, survey->keys, survey->backward,
             survey->records - survey->timeless, percent(survey->backward, survey->records - survey->timeless), span);
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* How a setting is given: --config is for a target that is created, and refused for one that exists. */
static const char *setting(const struct rp_topic_facts *target)
{
        return target->exists ? "kafka-configs --alter --add-config" : "--config";
}

static void look_at_times(const struct rp_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *target = &facts->target;
        const struct rp_survey *survey = facts->survey;

        if (target->timestamp_type && !strcmp(target->timestamp_type, "LogAppendTime"))
                refuse("timestamp-type", "\"%s\" would stamp every copy with the present time "
                       "(message.timestamp.type=LogAppendTime): %s", target->name,
                       target->exists ? "change that setting of the topic first"
                                      : "add --config message.timestamp.type=CreateTime");
        if (target->retention_ms > 0 && survey->expired && !(target->cleanup_policy && !strcmp(target->cleanup_policy, "compact")))
                warn("retention", "%.1f %% of the records are older than the target keeps them (retention.ms=%" PRId64
                     ", %.1f days): the brokers will delete those copies within minutes; %s retention.ms=-1 keeps them",
                     percent(survey->expired, survey->records), target->retention_ms, (double)target->retention_ms / DAY_MS,
                     setting(target));
        if (target->before_max_ms >= 0 && survey->oldest_ms >= 0 && facts->now_ms - survey->oldest_ms > target->before_max_ms)
                refuse("timestamp-before", "\"%s\" refuses records older than %" PRId64 " ms "
                       "(message.timestamp.before.max.ms), the oldest one is %.1f days old", target->name,
                       target->before_max_ms, (double)(facts->now_ms - survey->oldest_ms) / DAY_MS);
        if (target->after_max_ms >= 0 && survey->newest_ms >= 0 && survey->newest_ms - facts->now_ms > target->after_max_ms)
                refuse("timestamp-after", "\"%s\" refuses records from the future (message.timestamp.after.max.ms=%" PRId64
                       "), the latest one is %.1f hours ahead", target->name, target->after_max_ms,
                       (double)(survey->newest_ms - facts->now_ms) / 3600000.0);
        if (survey->split_keys && survey->timeless)
                warn("no-time", "%" PRIu64 " keys live in several source partitions and %.1f %% of the records carry no time "
                     "to merge them by: those go before records that have one", survey->split_keys,
                     percent(survey->timeless, survey->records));
        look_at_order(facts, findings);
}

/* ---- sizes and policies ------------------------------------------------------------------------------------------- */

static void look_at_records(const struct rp_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *target = &facts->target, *largest = &facts->sources[0];
        const struct rp_survey *survey = facts->survey;
        int64_t partition_cnt = 0;
        bool is_compacted = target->cleanup_policy && strstr(target->cleanup_policy, "compact");

        for (int32_t s = 0; s < facts->source_cnt; s++) {
                partition_cnt += facts->sources[s].partition_cnt;
                if (facts->sources[s].max_message_bytes > largest->max_message_bytes)
                        largest = &facts->sources[s];
        }
        /* With another count than the policy's every key is rejected, and that was said already. */
        if (survey->rejected && (!facts->policy_pin || facts->policy_pin == facts->wanted_cnt))
                refuse("rejected-keys", "%.1f %% of the keyed records have keys that the policy rejects",
                       percent(survey->rejected, survey->records - survey->keyless));
        if (survey->unresolved)
                refuse("unresolved-keys", "%.1f %% of the keyed records have keys whose schema no registry gave: try again "
                       "when it answers", percent(survey->unresolved, survey->records - survey->keyless));
        if (target->max_message_bytes > 0 && survey->largest_bytes > (uint64_t)target->max_message_bytes)
                warn("record-size", "the largest record has %" PRIu64 " bytes, \"%s\" takes %" PRId64
                     " (max.message.bytes, after compression): %s max.message.bytes=%" PRIu64, survey->largest_bytes,
                     target->name, target->max_message_bytes, setting(target), survey->largest_bytes + 1024);
        else if (target->max_message_bytes > 0 && largest->max_message_bytes > target->max_message_bytes)
                warn("record-size", "\"%s\" takes batches of %" PRId64 " bytes, \"%s\" of %" PRId64 " (max.message.bytes): a "
                     "large record could stop the job", target->name, target->max_message_bytes, largest->name,
                     largest->max_message_bytes);
        if (is_compacted && survey->keyless)
                refuse("compacted-keyless", "%.1f %% of the records have no key, which a compacted topic does not take: "
                       "%s cleanup.policy=delete", percent(survey->keyless, survey->records), setting(target));
        if (facts->hidden_partition_cnt)
                note("open-transaction", "open transactions hide %" PRIu64 " offsets in %" PRId32 " partition%s (partition %"
                     PRId32 " of \"%.100s\" from %" PRId64 " on): they are left to a run that begins when those have ended. "
                     "kafka-transactions finds whose they are", facts->hidden_offsets, facts->hidden_partition_cnt,
                     facts->hidden_partition_cnt == 1 ? "" : "s", facts->hidden_partition, facts->hidden_topic,
                     facts->hidden_from);
        if (is_compacted)
                note("compacted", "\"%s\" is compacted: run verify before its cleaner removes records that the other side "
                     "still has", target->name);
        if (target->retention_bytes > 0 && partition_cnt > facts->wanted_cnt)
                warn("retention-bytes", "retention.bytes=%" PRId64 " limits each partition, and \"%s\" has fewer of them than "
                     "\"%s\": it keeps less in all", target->retention_bytes, target->name, facts->source);
        if (survey->keyless)
                note("keyless", "%.1f %% of the records have no key: they go to their old partition's number modulo %" PRId32,
                     percent(survey->keyless, survey->records), facts->wanted_cnt);
}

void rp_preflight(const struct rp_facts *facts, struct rp_findings *findings)
{
        *findings = (struct rp_findings){ 0 };
        rp_preflight_library(facts->library, facts->library_name, RP_LIBRARY_WRITE, facts->library_is_allowed, findings);
        look_at_topics(facts, findings);
        look_at_follow(facts, findings);
        look_at_rights(facts, findings);
        for (int32_t s = 0; s < facts->source_cnt; s++)
                look_at_codec(facts, &facts->sources[s], findings);
        look_at_codec(facts, &facts->target, findings);
        look_at_times(facts, findings);
        look_at_records(facts, findings);
}
