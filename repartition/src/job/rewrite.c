#include "job/rewrite.h"

#include "decide/target.h"
#include "job/copier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What was decided since the last commit; becomes part of the report once it is committed. */
struct tally {
        uint64_t keyless, moved, misplaced, unordered;
};

struct run {
        const struct rp_rewrite *job;
        struct rp_rewrite_report *report;
        int32_t target_cnt;
        struct tally tally;
        int64_t *newest_ms, *settled_newest_ms; /* by source partition: of the records decided on, and of those committed */
};

static int32_t decide(void *arg, const struct rp_record *rec, struct rp_error *err)
{
        struct run *run = arg;
        const kr_rule_t *rule = run->job->rule;
        const struct rp_source *source = run->job->source;
        int32_t partition = rp_source_partition(source, rec->partition);
        int32_t source_cnt = rp_topics_count(source->topics, source->partition_cnt, rec->partition);
        int32_t to = rp_target(rule, rec, partition, run->target_cnt);

        if (to < 0) {
                rp_fail(err, RP_ERR_BAD_RECORD,
                        "record at partition %" PRId32 ", offset %" PRId64 " of topic \"%s\" has no place: %s",
                        partition, rec->offset, rp_source_topic(source, rec->partition), kr_strerror(to));
                return RP_REFUSE;
        }
        if (rec->timestamp_ms > run->newest_ms[rec->partition])
                run->newest_ms[rec->partition] = rec->timestamp_ms;
        else
                run->tally.unordered += rec->timestamp_ms >= 0 && rec->timestamp_ms < run->newest_ms[rec->partition];
        if (!rec->key) {
                run->tally.keyless++;
                return to;
        }
        run->tally.moved += to != partition;
        if (run->target_cnt == source_cnt)
                run->tally.misplaced += to != partition;
        else if (run->report->misplaced_is_known)
                run->tally.misplaced += kr_rule_partition(rule, rec->key, rec->key_len, source_cnt) != partition;
        return to;
}

static void settled(void *arg, bool is_committed)
{
        struct run *run = arg;
        size_t newest_size = (size_t)run->job->source->partition_cnt * sizeof(*run->newest_ms);

        if (is_committed) {
                run->report->keyless += run->tally.keyless;
                run->report->moved += run->tally.moved;
                run->report->misplaced += run->tally.misplaced;
                run->report->unordered += run->tally.unordered;
                memcpy(run->settled_newest_ms, run->newest_ms, newest_size);
        }
        memcpy(run->newest_ms, run->settled_newest_ms, newest_size);
        run->tally = (struct tally){ 0 };
}

static void report_stats(struct rp_rewrite_report *report, const struct rp_copy_stats *stats)
{
        report->records = stats->records;
        report->bytes = stats->bytes;
        report->uncommitted = stats->uncommitted;
        report->transactions = stats->transactions;
        report->rolled_back = stats->rolled_back;
        report->uncertain = stats->uncertain;
        report->recoveries = stats->recoveries;
        report->passes = stats->passes;
        report->is_resumed = stats->is_resumed;
        report->is_stopped = stats->is_stopped;
}

static bool tick(void *arg, const struct rp_copy_stats *stats, uint64_t done, uint64_t total)
{
        struct run *run = arg;

        report_stats(run->report, stats);
        run->report->done = done;
        run->report->total = total;
        run->report->trouble = *stats->trouble.text ? stats->trouble.text : NULL;
        return run->job->tick(run->job->arg, run->report);
}

rp_err_t rp_rewrite_run(const struct rp_rewrite *rewrite, struct rp_rewrite_report *report, struct rp_error *err)
{
        int32_t pin = kr_rule_partitions(rewrite->rule);
        size_t source_cnt = (size_t)rewrite->source->partition_cnt;
        struct run run = { .job = rewrite, .report = report, .target_cnt = rewrite->sink->partition_cnt,
                           .newest_ms = calloc(source_cnt, sizeof(int64_t)),
                           .settled_newest_ms = calloc(source_cnt, sizeof(int64_t)) };
        struct rp_copier copier = {
                .source = rewrite->source, .sink = rewrite->sink, .order = RP_READ_MERGED,
                .config = { .identity = rewrite->identity, .by = rewrite->by, .asked = rewrite->asked,
                            .is_mine = rewrite->is_mine,
                            .transaction_ms = rewrite->transaction_ms,
                            .transaction_bytes = (uint64_t)rewrite->transaction_bytes },
                .decide = decide, .settled = settled, .tick = rewrite->tick ? tick : NULL, .arg = &run,
                .confirm = rewrite->confirm, .confirm_arg = rewrite->confirm_arg,
                .hold = rewrite->hold, .hold_arg = rewrite->hold_arg, .transaction_ms = rewrite->transaction_ms_now,
        };
        struct rp_copy_stats stats;
        rp_err_t rc;

        *report = (struct rp_rewrite_report){
                .misplaced_is_known = !pin || rp_topics_all_have(rewrite->source->topics, rewrite->source->partition_cnt, pin),
        };
        if (run.newest_ms && run.settled_newest_ms) {
                rc = rp_copier_run(&copier, &stats, err);
                report_stats(report, &stats);
        } else {
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory for %zu partitions", source_cnt);
        }
        report->trouble = NULL;
        free(run.newest_ms);
        free(run.settled_newest_ms);
        return rc;
}
