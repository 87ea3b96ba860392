#include "decide/repair_check.h"

#include "decide/library.h"

#include <inttypes.h>
#include <string.h>

#define note(id, ...) rp_findings_add(findings, RP_FINDING_NOTE, id, __VA_ARGS__)
#define warn(id, ...) rp_findings_add(findings, RP_FINDING_WARNING, id, __VA_ARGS__)
#define refuse(id, ...) rp_findings_add(findings, RP_FINDING_REFUSAL, id, __VA_ARGS__)

static const double DAY_MS = 86400000.0, HOUR_MS = 3600000.0;
enum { MARK_BYTES = 320 }; /* at most, of the header that names the origin */

static bool is_compacted(const struct rp_topic_facts *topic)
{
        return topic->cleanup_policy && strstr(topic->cleanup_policy, "compact");
}

static void look_at_topic(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *topic = &facts->topic;

        if (facts->progress_is_foreign)
                refuse("foreign-progress", "the offsets stored under \"%.100s\" were not written by a repair of this topic: "
                       "choose another --job", facts->job);
        if (topic->leaderless_cnt)
                refuse("leaderless", "%" PRId32 " partitions of \"%s\" have no leader now", topic->leaderless_cnt, topic->name);
        if (topic->min_insync_replicas > 0 && topic->min_insync_replicas > topic->replication_factor)
                refuse("min-insync", "min.insync.replicas=%" PRId64 " of \"%s\" is more than its replication factor %" PRId32
                       ": nothing could be written", topic->min_insync_replicas, topic->name, topic->replication_factor);
        if (facts->is_interrupted && facts->resumes)
                note("resumes", "an interrupted repair is taken up where it stood");
        else if (facts->is_interrupted)
                note("abandons", "an interrupted repair had other options or another policy, or its records are gone: what it "
                     "copied counts as copied, and everything is judged anew");
        if (!facts->settings_are_known)
                note("settings-unknown", "this cluster does not answer questions about topic settings: timestamp type, "
                     "retention, size limits and cleanup policy were not checked");
}

/* Whether copies can be told from what they are copies of, now and in the next run. */
static void look_at_times(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *topic = &facts->topic;

        if (!topic->timestamp_type || strcmp(topic->timestamp_type, "LogAppendTime"))
                return;
        if (!facts->mark)
                refuse("timestamp-type", "\"%s\" puts the present time on all copies (message.timestamp.type=LogAppendTime), so "
                       "the next run could not tell them from newer records: add --mark, or set it to CreateTime first",
                       topic->name);
        else
                warn("timestamp-type", "\"%s\" puts the present time on all copies (message.timestamp.type=LogAppendTime): they "
                     "will look newer than they are", topic->name);
}

static void look_at_tombstones(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *topic = &facts->topic;

        if (!facts->settings_are_known)
                refuse("not-compacted", "tombstones are for compacted topics, and this cluster does not tell whether \"%s\" is "
                       "one", topic->name);
        else if (!is_compacted(topic))
                refuse("not-compacted", "\"%s\" is not compacted (cleanup.policy=%s): its old copies go by retention, and a "
                       "tombstone would be one more record that its readers do not expect", topic->name,
                       topic->cleanup_policy ? topic->cleanup_policy : "?");
        else
                warn("one-table", "a reader that folds all partitions into one table (GlobalKTable, Connect's own topics, a "
                     "cache that reads everything) has no order between partitions: it may take a tombstone last and lose the "
                     "key. Such readers must start anew once the cleaner has run, or no tombstones be written");
        if (facts->counts && facts->counts->recent)
                refuse("still-written", "%" PRIu64 " misplaced records are less than %d minutes old: a producer still writes "
                       "them, and a tombstone behind such a record would delete it. Stop it first (repartition audit names it)",
                       facts->counts->recent, RP_RECENT_MS / 60000);
        if (facts->counts && facts->counts->uncovered)
                note("uncovered", "%" PRIu64 " misplaced records have nothing as new in their right partition: their keys get no "
                     "tombstone in those partitions (repair without --tombstones shows them by class)",
                     facts->counts->uncovered);
}

static void look_at_records(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        const struct rp_topic_facts *topic = &facts->topic;
        const struct rp_repair_counts *counts = facts->counts;
        uint64_t largest = counts->largest_bytes + (facts->mark ? MARK_BYTES : 0);

        if (counts->recent && !facts->tombstones)
                warn("still-written", "%" PRIu64 " misplaced records are less than %d minutes old (%.1f a second): a producer "
                     "still writes them, and what it writes from now on is not mended. Stop it first (repartition audit names "
                     "it), or let the next run take the rest", counts->recent, RP_RECENT_MS / 60000,
                     (double)counts->recent * 1000 / RP_RECENT_MS);
        if (!counts->pending)
                return;
        if (topic->before_max_ms >= 0 && counts->oldest_ms >= 0 && facts->now_ms - counts->oldest_ms > topic->before_max_ms)
                refuse("timestamp-before", "\"%s\" refuses records older than %" PRId64 " ms (message.timestamp.before.max.ms), "
                       "the oldest one to be written is %.1f days old", topic->name, topic->before_max_ms,
                       (double)(facts->now_ms - counts->oldest_ms) / DAY_MS);
        if (topic->after_max_ms >= 0 && counts->newest_ms >= 0 && counts->newest_ms - facts->now_ms > topic->after_max_ms)
                refuse("timestamp-after", "\"%s\" refuses records from the future (message.timestamp.after.max.ms=%" PRId64
                       "), the latest one to be written is %.1f hours ahead", topic->name, topic->after_max_ms,
                       (double)(counts->newest_ms - facts->now_ms) / HOUR_MS);
        if (counts->expired)
                warn("retention", "%" PRIu64 " of the %" PRIu64 " records to be written are older than the topic keeps them "
                     "(retention.ms=%" PRId64 ", %.1f days): copies keep their times, so the brokers may delete them within minutes",
                     counts->expired, counts->pending,
                     topic->retention_ms, (double)topic->retention_ms / DAY_MS);
        if (topic->max_message_bytes > 0 && largest > (uint64_t)topic->max_message_bytes)
                warn("record-size", "the largest record to be written has %" PRIu64 " bytes%s, \"%s\" takes %" PRId64
                     " (max.message.bytes, after compression)", largest, facts->mark ? " with its mark" : "", topic->name,
                     topic->max_message_bytes);
        if (topic->retention_bytes > 0 && !is_compacted(topic))
                warn("retention-bytes", "retention.bytes=%" PRId64 " limits each partition: %" PRIu64 " bytes of copies push as "
                     "many old ones out", topic->retention_bytes, counts->pending_bytes);
        if (is_compacted(topic) && !facts->tombstones)
                note("compacted", "\"%s\" is compacted: the old copies are the latest records of their keys where they lie, so "
                     "the cleaner keeps them for ever. Later, repartition repair --tombstones removes them", topic->name);
}

static void look_at_choice(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        const struct rp_repair_counts *counts = facts->counts;

        if (facts->include & 1u << RP_CLASS_STALE && counts->records[RP_CLASS_STALE])
                warn("stale-included", "%" PRIu64 " stale records will be copied behind newer ones: who takes the last record of "
                     "a key for its present state will take the old one", counts->records[RP_CLASS_STALE]);
        if (facts->include & 1u << RP_CLASS_SPLIT && counts->records[RP_CLASS_SPLIT])
                note("split-included", "records of keys that lie in several wrong partitions are merged by time, each "
                     "partition's order kept; where producers' clocks disagree, so will their order");
        if (facts->include & 1u << RP_CLASS_UNKNOWN && counts->records[RP_CLASS_UNKNOWN])
                warn("unknown-included", "%" PRIu64 " records will be copied although nothing tells whether something newer is "
                     "in their right partition", counts->records[RP_CLASS_UNKNOWN]);
}

void rp_repair_check(const struct rp_repair_facts *facts, struct rp_findings *findings)
{
        *findings = (struct rp_findings){ 0 };
        look_at_topic(facts, findings);
        rp_preflight_library(facts->library, facts->library_name, RP_LIBRARY_WRITE, facts->library_is_allowed, findings);
        if (facts->tombstones)
                look_at_tombstones(facts, findings);
        else
                look_at_times(facts, findings);
        if (!facts->counts)
                return;
        look_at_records(facts, findings);
        if (!facts->tombstones)
                look_at_choice(facts, findings);
}
