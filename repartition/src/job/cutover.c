#include "job/cutover.h"

#include "decide/cutover.h"
#include "decide/followed.h"
#include "decide/note.h"
#include "io/cluster.h"
#include "io/groups.h"
#include "io/kafka_source.h"
#include "io/offsets.h"
#include "io/reader.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100, COUNT_MAX = 2000000 /* offsets that are read to count exactly, unless all are asked for */ };

struct rp_cutover_session {
        const struct rp_cutover_config *config;
        struct rp_verify_topics_config topics_config;
        struct rp_verify_topics topics;
        int64_t *firsts; /* where copying began, by source partition; -1: nothing was copied from it */
        struct rp_job_fold followed; /* what the topic of jobs says of the follow, if there is one */
};

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

/* ---- proof ---------------------------------------------------------------------------------------------------------- */

static void say_differs(struct rp_cutover_plan *plan, bool is_too_large)
{
        const struct rp_cutover_config *config = plan->session->config;
        size_t size = sizeof(plan->verdict);
        size_t len = (size_t)snprintf(plan->verdict, size, "verify does not find the topics equal: run \"repartition verify");

        for (int32_t s = 0; len < size && s < config->source_cnt; s++)
                len += (size_t)snprintf(plan->verdict + len, size - len, " %s", config->sources[s]);
        if (len < size)
                len += (size_t)snprintf(plan->verdict + len, size - len, " %s\" for what differs", config->target);
        if (len < size && is_too_large)
                snprintf(plan->verdict + len, size - len, "; while follow copies, the memory is too small to tell what is on its "
                         "way: hold it by \"repartition ctl SOCKET pause\"");
}

static rp_err_t verify(struct rp_cutover_plan *plan, struct rp_error *err)
{
        const struct rp_cutover_config *config = plan->session->config;
        struct rp_verify verify = { .memory_bytes = config->memory_bytes, .tick = config->tick, .arg = config->arg };
        struct rp_verify_report report;
        rp_err_t rc;

        rp_verify_topics_fill(&plan->session->topics, &verify);
        rc = rp_verify_run(&verify, &report, err);
        plan->is_stopped = rc == RP_OK && report.is_stopped;
        plan->is_verified = rc == RP_OK && report.is_equal;
        if (plan->is_verified)
                snprintf(plan->verdict, sizeof(plan->verdict), "verified: %" PRIu64 " records, equal%s", report.target.records,
                         report.mode == RP_COMPARE_LATEST ? " in the last record of each key" : "");
        else if (rc == RP_OK)
                say_differs(plan, report.parts_unnamed && plan->session->topics.target_lags);
        rp_verify_report_release(&report);
        return rc;
}

/* The report's ends of one side must be today's. @returns false when something else was compared. */
static bool is_same_side(const json_t *side, const char *topic, const struct rp_topics *topics, const struct rp_range *bounds,
                         const struct rp_progress *progress, int32_t cnt)
{
        const char *name = json_string_value(json_object_get(side, "topic"));
        const json_t *ranges = json_object_get(side, "ranges");

        if (!name || strcmp(name, topic) || json_array_size(ranges) != (size_t)cnt)
                return false;
        for (int32_t p = 0; p < cnt; p++) {
                const json_t *range = json_array_get(ranges, (size_t)p), *end = json_object_get(range, "end_offset");
                const char *of = json_string_value(json_object_get(range, "topic"));
                int64_t wanted = !progress ? bounds[p].end : progress->marks[p].next;

                /* Of a partition that nothing was copied from nothing was compared. */
                if (json_integer_value(json_object_get(range, "partition")) != rp_topics_partition(topics, p) ||
                    (topics && (!of || strcmp(of, rp_topics_name(topics, NULL, p)))) || !json_is_integer(end) ||
                    (wanted >= 0 && json_integer_value(end) != wanted))
                        return false;
        }
        return true;
}

static rp_err_t take_report(struct rp_cutover_plan *plan, struct rp_error *err)
{
        const struct rp_cutover_config *config = plan->session->config;
        const struct rp_verify_topics *topics = &plan->session->topics;
        json_t *root = json_loads(config->verified, 0, NULL);
        const char *command = json_string_value(json_object_get(root, "command"));
        rp_err_t rc = RP_OK;

        if (!command || strcmp(command, "verify"))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: is no report of \"repartition verify --output json\"",
                             config->verified_name);
        else if (json_object_get(root, "part"))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: is the report of a part; merge the parts first", config->verified_name);
        else if (!is_same_side(json_object_get(root, "source"), config->source, plan->topics, topics->source_bounds,
                               &topics->progress, plan->source_cnt) ||
                 !is_same_side(json_object_get(root, "target"), config->target, NULL, topics->target_bounds, NULL,
                               plan->target_cnt))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: is about other topics, or about other ends than they have now: verify "
                             "again", config->verified_name);
        if (rc == RP_OK) {
                plan->is_verified = json_is_true(json_object_get(root, "equal"));
                snprintf(plan->verdict, sizeof(plan->verdict), plan->is_verified ? "verified, as %.200s says"
                         : "%.200s does not say that the topics are equal", config->verified_name);
        }
        json_decref(root);
        return rc;
}

/* ---- where groups stand ------------------------------------------------------------------------------------------------ */

static void refuse(struct rp_cutover_plan *plan, struct rp_cutover_row *row, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static void refuse(struct rp_cutover_plan *plan, struct rp_cutover_row *row, const char *fmt, ...)
{
        va_list args;

        if (*row->refusal)
                return; /* the first reason is enough to act upon */
        va_start(args, fmt);
        vsnprintf(row->refusal, sizeof(row->refusal), fmt, args);
        va_end(args);
        plan->refusal_cnt++;
}

static rp_err_t check_idle(struct rp_cutover_plan *plan, struct rp_cutover_row *row, struct rp_client *client,
                           const char *where, struct rp_error *err)
{
        struct rp_roster roster;
        rp_err_t rc = rp_group_describe(client, row->name, "Describe", plan->session->config->timeout_ms, &roster, err);
        if (rc != RP_OK)
                return rc;
        if (roster.member_cnt)
                refuse(plan, row, "it is active%s: %zu member%s, the first is %.100s at %.100s; stop its consumers first", where,
                       roster.member_cnt, roster.member_cnt == 1 ? "" : "s", roster.members[0].client_id, roster.members[0].host);
        rp_roster_release(&roster);
        return RP_OK;
}

static rp_err_t ask_group(struct rp_cutover_plan *plan, struct rp_cutover_row *row, struct rp_error *err)
{
        struct rp_cutover_session *session = plan->session;
        const struct rp_cutover_config *config = session->config;
        struct rp_client *source = rp_kafka_source_client(session->topics.source);
        struct rp_client *target = rp_jobs_topic_client(session->topics.store.target);
        rp_err_t rc;

        row->source_offsets = malloc(((size_t)plan->source_cnt + 1) * sizeof(int64_t));
        row->target_before = malloc(((size_t)plan->target_cnt + 1) * sizeof(int64_t));
        row->starts = malloc(((size_t)plan->target_cnt + 1) * sizeof(int64_t));
        if (!row->source_offsets || !row->target_before || !row->starts)
                return out_of_memory(err);
        for (int32_t q = 0; q < plan->target_cnt; q++)
                row->starts[q] = -1;
        rc = check_idle(plan, row, source, session->topics.store.is_apart ? " in the source's cluster" : "", err);
        if (rc == RP_OK && session->topics.store.is_apart)
                rc = check_idle(plan, row, target, " in the target's cluster", err);
        for (int32_t p = 0; rc == RP_OK && p < plan->source_cnt;) {
                int32_t cnt = rp_topics_count(plan->topics, plan->source_cnt, p);

                rc = rp_group_offsets(source, row->name, rp_topics_name(plan->topics, config->source, p), cnt,
                                      config->timeout_ms, row->source_offsets + p, err);
                p += cnt;
        }
        if (rc == RP_OK)
                rc = rp_group_offsets(target, row->name, config->target, plan->target_cnt, config->timeout_ms,
                                      row->target_before, err);
        return rc;
}

/*
 * Where the group counts as standing, by partition: see struct rp_cutover_group. Partitions that nothing was copied from,
 * and that hold nothing, do not matter.
 */
static void place_group(struct rp_cutover_plan *plan, struct rp_cutover_row *row, int64_t *positions)
{
        const struct rp_cutover_session *session = plan->session;
        const struct rp_progress *progress = &session->topics.progress;
        int32_t with = 0, first_missing = -1;

        for (int32_t p = 0; p < plan->source_cnt; p++) {
                const struct rp_range *bounds = &session->topics.source_bounds[p];
                const char *topic = rp_topics_name(plan->topics, session->config->source, p);
                int32_t partition = rp_topics_partition(plan->topics, p);
                int64_t next = progress->marks[p].next, offset = row->source_offsets[p];
                bool matters = session->firsts[p] >= 0 && next > session->firsts[p];

                with += offset >= 0;
                positions[p] = offset;
                if (offset >= 0 && offset > bounds->end)
                        refuse(plan, row, "its offset in partition %" PRId32 " of \"%s\", %" PRId64 ", lies beyond the end of the "
                               "log (%" PRId64 ")", partition, topic, offset, bounds->end);
                else if (offset >= 0 && offset > next && (next >= 0 || offset > bounds->first))
                        refuse(plan, row, "it has read partition %" PRId32 " of \"%s\" up to %" PRId64 ", but only up to %" PRId64
                               " was copied: %s first", partition, topic, offset, next < 0 ? bounds->first : next,
                               plan->is_followed ? "let follow come that far" : "run rewrite again");
                else if (offset >= 0 && matters && offset < session->firsts[p] && bounds->first < session->firsts[p])
                        refuse(plan, row, "it has read partition %" PRId32 " of \"%s\" up to %" PRId64 ", but copying began at %"
                               PRId64 ": what lies between is not in \"%s\"", partition, topic, offset, session->firsts[p],
                               session->config->target);
                if (offset >= 0 || !matters)
                        continue;
                row->missing++;
                first_missing = first_missing < 0 ? p : first_missing;
                positions[p] = session->firsts[p];
        }
        if (!with)
                refuse(plan, row, "it has no offsets in \"%s\": it never committed any there, or they have expired. There is "
                       "nothing to go on from", session->config->source);
        else if (row->missing && !session->config->assumes_earliest)
                refuse(plan, row, "it has no offset in %" PRId32 " partition%s of \"%s\" that hold records (the first is %" PRId32
                       "%s%s): --missing earliest takes them for unread", row->missing, row->missing == 1 ? "" : "s",
                       session->config->source, rp_topics_partition(plan->topics, first_missing), plan->topics ? " of " : "",
                       plan->topics ? rp_topics_name(plan->topics, NULL, first_missing) : "");
}

/* ---- counting ------------------------------------------------------------------------------------------------------------ */

static uint64_t width(const struct rp_range *ranges, int32_t cnt)
{
        uint64_t sum = 0;

        for (int32_t p = 0; p < cnt; p++)
                sum += ranges[p].end > ranges[p].first ? (uint64_t)(ranges[p].end - ranges[p].first) : 0;
        return sum;
}

static rp_err_t count(struct rp_cutover_plan *plan, struct rp_source *source, const struct rp_range *ranges, uint64_t *records,
                      struct rp_error *err)
{
        const struct rp_cutover_config *config = plan->session->config;
        struct rp_reader *reader = rp_reader_new(source, RP_READ_ANY);
        struct rp_run run = { 0 };
        int64_t done = 0, total = 0;
        rp_err_t rc = reader ? rp_reader_start(reader, ranges, err) : out_of_memory(err);

        *records = 0;
        while (rc == RP_OK && !run.done && !plan->is_stopped) {
                rc = rp_reader_next(reader, TICK_MS, &run, err);
                *records += rc == RP_OK ? run.cnt : 0;
                rp_reader_progress(reader, &done, &total);
                if (config->tick && !config->tick(config->arg, (uint64_t)done, (uint64_t)total, *records))
                        plan->is_stopped = true;
        }
        rp_reader_free(reader);
        return rc;
}

/*
 * Verified, the target holds each copied record once, so what lies at or past the starts and is not among what the group
 * has still to read it has read before. Not so where keys were compacted: then all that it will read is the bound.
 */
static rp_err_t count_again(struct rp_cutover_plan *plan, struct rp_cutover_row *row, const int64_t *positions,
                            struct rp_error *err)
{
        const struct rp_verify_topics *topics = &plan->session->topics;
        struct rp_range *unread = calloc((size_t)plan->source_cnt + 1, sizeof(*unread));
        struct rp_range *ahead = calloc((size_t)plan->target_cnt + 1, sizeof(*ahead));
        uint64_t there = 0;
        rp_err_t rc = unread && ahead ? RP_OK : out_of_memory(err);

        for (int32_t p = 0; rc == RP_OK && p < plan->source_cnt; p++) {
                const struct rp_range *bounds = &topics->source_bounds[p];

                if (positions[p] >= 0)
                        unread[p] = (struct rp_range){ positions[p] > bounds->first ? positions[p] : bounds->first,
                                                       topics->progress.marks[p].next };
        }
        for (int32_t q = 0; rc == RP_OK && q < plan->target_cnt; q++)
                ahead[q] = (struct rp_range){ row->starts[q], topics->target_lags ? topics->late_bounds[q].end
                                                                                  : topics->target_bounds[q].end };
        if (rc == RP_OK) {
                row->remaining = width(unread, plan->source_cnt);
                row->again = width(ahead, plan->target_cnt);
                row->is_counted = plan->is_verified && topics->mode == RP_COMPARE_ALL &&
                                  (plan->session->config->is_exact || row->remaining + row->again <= COUNT_MAX);
        }
        if (rc == RP_OK && row->is_counted)
                rc = count(plan, topics->source, unread, &row->remaining, err);
        if (rc == RP_OK && row->is_counted)
                rc = count(plan, topics->target, ahead, &there, err);
        if (rc == RP_OK && row->is_counted && !plan->is_stopped) {
                if (there < row->remaining) /* cannot be, of topics that are equal */
                        rc = rp_fail(err, RP_ERR_RETRY, "\"%s\" holds fewer records past the new offsets of group \"%s\" than are "
                                     "left to read: a topic changed meanwhile; try again", plan->session->config->target,
                                     row->name);
                else
                        row->again = there - row->remaining;
        }
        row->is_counted &= !topics->target_lags; /* some of it has come since, and was not read by anybody */
        free(unread);
        free(ahead);
        return rc;
}

/* ---- where copies lie ----------------------------------------------------------------------------------------------------- */

/* A log's end, not the last stable offset: what is open there counts. */
static rp_err_t ask_log_end(struct rp_cutover_plan *plan, int32_t partition, int64_t *end, struct rp_error *err)
{
        const struct rp_cutover_config *config = plan->session->config;

        return rp_offset_at(rp_jobs_topic_client(plan->session->topics.store.target), config->target, partition, RP_AT_END,
                            config->timeout_ms, end, err);
}

/* Offsets that a target partition has, and that a committed reader can be put to. */
static rp_err_t clip_starts(struct rp_cutover_plan *plan, struct rp_cutover_row *row, struct rp_error *err)
{
        const struct rp_verify_topics *topics = &plan->session->topics;
        rp_err_t rc = RP_OK;

        for (int32_t q = 0; rc == RP_OK && q < plan->target_cnt; q++) {
                const struct rp_range *bounds = &topics->target_bounds[q];
                int64_t end = bounds->end;

                if (row->starts[q] < bounds->first)
                        row->starts[q] = bounds->first;
                if (row->starts[q] > end)
                        rc = ask_log_end(plan, q, &end, err);
                if (rc == RP_OK && row->starts[q] > end)
                        rc = rp_fail(err, RP_ERR_INCOMPLETE, "partition %" PRId32 " of topic \"%s\" ends at %" PRId64
                                     ", before a checkpoint of the job (%" PRId64 "): it lost records or was made anew", q,
                                     plan->session->config->target, end, row->starts[q]);
                if (row->starts[q] > bounds->end)
                        row->starts[q] = bounds->end;
        }
        return rc;
}

/*
 * A group that was moved before and has read on would be put back, and see all that once more: that is not what somebody
 * means who gives the same command twice.
 */
static rp_err_t check_not_beyond(struct rp_cutover_plan *plan, struct rp_cutover_row *row, struct rp_error *err)
{
        const struct rp_verify_topics *topics = &plan->session->topics;
        struct rp_range *between = calloc((size_t)plan->target_cnt + 1, sizeof(*between));
        uint64_t beyond = 0;
        rp_err_t rc = between ? RP_OK : out_of_memory(err);

        for (int32_t q = 0; rc == RP_OK && q < plan->target_cnt; q++) {
                int64_t before = row->target_before[q], end = topics->target_bounds[q].end;

                between[q] = (struct rp_range){ row->starts[q], before < end ? before : end };
        }
        if (rc == RP_OK)
                beyond = width(between, plan->target_cnt);
        if (rc == RP_OK && beyond && beyond <= COUNT_MAX) /* it may be nothing but the marks of transactions */
                rc = count(plan, topics->target, between, &beyond, err);
        if (rc == RP_OK && beyond && !plan->is_stopped)
                refuse(plan, row, "it was moved already: it has read %" PRIu64 " record%s of \"%s\" beyond these offsets, and would "
                       "see them again. Start its consumers there; or take the former cutover back first (--undo FILE)", beyond,
                       beyond == 1 ? "" : "s", plan->session->config->target);
        free(between);
        return rc;
}

/* How things are now is a checkpoint as well: whoever has read all that is copied goes on at the ends. */
static rp_err_t find_starts(struct rp_cutover_plan *plan, struct rp_cutover_group *groups, struct rp_error *err)
{
        struct rp_cutover_session *session = plan->session;
        struct rp_verify_topics *topics = &session->topics;
        int64_t *epochs = calloc((size_t)plan->source_cnt + 1, sizeof(*epochs));
        int64_t *positions = calloc((size_t)plan->source_cnt + 1, sizeof(*positions));
        int64_t *ends = calloc((size_t)plan->target_cnt + 1, sizeof(*ends));
        const struct rp_cutover_facts facts = { .fold = &topics->store.fold,
                                                .followed = plan->is_followed ? &session->followed : NULL, .epochs = epochs,
                                                .positions = positions, .ends = ends, .source_cnt = plan->source_cnt,
                                                .target_cnt = plan->target_cnt };
        bool is_well = epochs && positions && ends;

        for (int32_t p = 0; is_well && p < plan->source_cnt; p++)
                positions[p] = topics->progress.marks[p].next;
        for (int32_t q = 0; is_well && q < plan->target_cnt; q++)
                ends[q] = topics->target_bounds[q].end;
        if (is_well && plan->is_followed)
                rp_followed_epochs(&topics->followed.progress, epochs);
        is_well = is_well && rp_cutover_starts(&facts, groups, plan->row_cnt);
        free(epochs);
        free(positions);
        free(ends);
        return is_well ? RP_OK : out_of_memory(err);
}

/* ---- preparing ------------------------------------------------------------------------------------------------------------- */

static rp_err_t look_at_progress(struct rp_cutover_plan *plan, struct rp_error *err)
{
        struct rp_cutover_session *session = plan->session;
        struct rp_note *note = malloc(sizeof(*note));
        bool has_any = false;
        rp_err_t rc = RP_OK;

        session->firsts = malloc(((size_t)plan->source_cnt + 1) * sizeof(*session->firsts));
        if (!note || !session->firsts)
                rc = out_of_memory(err);
        for (int32_t p = 0; rc == RP_OK && p < plan->source_cnt; p++) {
                const struct rp_mark *mark = &session->topics.progress.marks[p];
                const struct rp_range *bounds = &session->topics.source_bounds[p];
                int64_t from = mark->next < 0 ? bounds->first : mark->next;

                session->firsts[p] = -1;
                plan->left += bounds->end > from ? (uint64_t)(bounds->end - from) : 0;
                if (mark->next < 0)
                        continue;
                has_any = true;
                if (!rp_note_parse(note, mark->note))
                        rc = rp_fail(err, RP_ERR_USAGE, "the offsets of \"%s\" were not stored by this tool: name the --job that "
                                     "copied", session->config->job);
                else
                        session->firsts[p] = note->first;
        }
        if (rc == RP_OK && !has_any)
                rc = rp_fail(err, RP_ERR_USAGE, "job \"%s\" has copied nothing from \"%s\": name the --job that copied",
                             session->config->job, session->config->source);
        free(note);
        return rc;
}

static rp_err_t compute(struct rp_cutover_plan *plan, struct rp_error *err)
{
        struct rp_cutover_group *groups = calloc(plan->row_cnt + 1, sizeof(*groups));
        int64_t *positions = malloc((plan->row_cnt * (size_t)plan->source_cnt + 1) * sizeof(*positions));
        rp_err_t rc = groups && positions ? RP_OK : out_of_memory(err);

        for (size_t g = 0; rc == RP_OK && g < plan->row_cnt; g++) {
                groups[g].positions = positions + g * (size_t)plan->source_cnt;
                groups[g].starts = plan->rows[g].starts;
                place_group(plan, &plan->rows[g], positions + g * (size_t)plan->source_cnt);
        }
        if (rc == RP_OK)
                rc = find_starts(plan, groups, err);
        for (size_t g = 0; rc == RP_OK && g < plan->row_cnt && !plan->is_stopped; g++) {
                struct rp_cutover_row *row = &plan->rows[g];

                row->from_beginning = groups[g].from_beginning;
                rc = clip_starts(plan, row, err);
                if (rc == RP_OK && !*row->refusal)
                        rc = check_not_beyond(plan, row, err);
                if (rc == RP_OK && !*row->refusal)
                        rc = count_again(plan, row, groups[g].positions, err);
        }
        free(groups);
        free(positions);
        return rc;
}

rp_err_t rp_cutover_prepare(struct rp_cutover_plan *plan, const struct rp_cutover_config *config, struct rp_error *err)
{
        struct rp_cutover_session *session = calloc(1, sizeof(*session));
        rp_err_t rc;

        *plan = (struct rp_cutover_plan){ .session = session, .rows = calloc(config->group_cnt + 1, sizeof(*plan->rows)),
                                          .row_cnt = config->group_cnt };
        if (!session || !plan->rows)
                return out_of_memory(err);
        session->config = config;
        session->topics_config = (struct rp_verify_topics_config){
                .source_client = config->source_client, .target_client = config->target_client, .sources = config->sources,
                .source_cnt = config->source_cnt, .source = config->source,
                .target = config->target, .job = config->job, .jobs_topic = config->jobs_topic, .rule = config->rule,
                .timeout_ms = config->timeout_ms, .followed = &session->followed,
        };
        for (size_t g = 0; g < config->group_cnt; g++)
                plan->rows[g].name = config->groups[g];
        rc = rp_verify_topics_open(&session->topics, &session->topics_config, err);
        if (rc != RP_OK)
                return rc;
        plan->source_cnt = session->topics.source->partition_cnt;
        plan->topics = session->topics.source->topics;
        plan->target_cnt = session->topics.target->partition_cnt;
        plan->is_followed = session->topics.followed.has_any;
        plan->job = rp_verify_topics_job(&session->topics);
        if (session->topics.store.jobs)
                rp_jobs_topic_on_wait(session->topics.store.jobs, config->waits, config->arg);
        rc = rp_job_store_read(&session->topics.store, true, config->timeout_ms, err);
        if (rc == RP_OK)
                rc = look_at_progress(plan, err);
        plan->checkpoints = session->topics.store.fold.checkpoint_cnt + (plan->is_followed ? session->followed.waypoint_cnt : 0);
        for (size_t g = 0; rc == RP_OK && g < plan->row_cnt; g++)
                rc = ask_group(plan, &plan->rows[g], err);
        if (rc == RP_OK)
                rc = config->verified ? take_report(plan, err) : verify(plan, err);
        if (rc == RP_OK && !plan->is_stopped)
                rc = compute(plan, err);
        return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

rp_err_t rp_cutover_record(const struct rp_cutover_plan *plan, struct rp_rollback *rollback, struct rp_error *err)
{
        for (size_t g = 0; g < plan->row_cnt; g++) {
                const struct rp_cutover_row *row = &plan->rows[g];

                if (!rp_rollback_add(rollback, row->name, row->source_offsets, plan->source_cnt, row->target_before,
                                     plan->target_cnt))
                        return out_of_memory(err);
        }
        return RP_OK;
}

rp_err_t rp_cutover_execute(struct rp_cutover_plan *plan, size_t *done, struct rp_error *err)
{
        const struct rp_cutover_config *config = plan->session->config;
        rp_err_t rc = RP_OK;

        *done = 0;
        for (size_t g = 0; rc == RP_OK && g < plan->row_cnt; g++) {
                struct rp_cutover_row *row = &plan->rows[g];

                /* The cluster refuses this while the group has members, so one that woke up meanwhile is not disturbed. */
                rc = rp_group_set_offsets(rp_jobs_topic_client(plan->session->topics.store.target), row->name, config->target,
                                          plan->target_cnt, row->starts, config->timeout_ms, err);
                *done += rc == RP_OK;
        }
        return rc;
}

void rp_cutover_release(struct rp_cutover_plan *plan)
{
        for (size_t g = 0; plan->rows && g < plan->row_cnt; g++) {
                free(plan->rows[g].source_offsets);
                free(plan->rows[g].target_before);
                free(plan->rows[g].starts);
        }
        free(plan->rows);
        if (plan->session) {
                rp_verify_topics_release(&plan->session->topics);
                rp_job_fold_release(&plan->session->followed);
                free(plan->session->firsts);
                free(plan->session);
        }
        *plan = (struct rp_cutover_plan){ 0 };
}

/* ---- taking back ---------------------------------------------------------------------------------------------------------------- */

static rp_err_t undo_topic(struct rp_client *client, const char *group, const char *topic,
                           const struct rp_rollback_offsets *before, bool only_missing, bool executes, int timeout_ms,
                           int32_t *restored, int32_t *forgotten, struct rp_error *err)
{
        int64_t *now = malloc(((size_t)before->cnt + 1) * sizeof(*now));
        bool *goes = calloc((size_t)before->cnt + 1, sizeof(*goes));
        rp_err_t rc = now && goes ? rp_group_offsets(client, group, topic, before->cnt, timeout_ms, now, err)
                                  : out_of_memory(err);

        *restored = *forgotten = 0;
        for (int32_t p = 0; rc == RP_OK && p < before->cnt; p++) {
                goes[p] = !only_missing && before->items[p] < 0 && now[p] >= 0;
                now[p] = before->items[p] >= 0 && now[p] != before->items[p] && (!only_missing || now[p] < 0) ? before->items[p]
                                                                                                               : -1;
                *forgotten += goes[p];
                *restored += now[p] >= 0;
        }
        if (rc == RP_OK && executes)
                rc = rp_group_set_offsets(client, group, topic, before->cnt, now, timeout_ms, err);
        if (rc == RP_OK && executes)
                rc = rp_group_forget_offsets(client, group, topic, before->cnt, goes, timeout_ms, err);
        free(now);
        free(goes);
        return rc;
}

/* Only what the cluster has dropped meanwhile, topic by topic. */
static rp_err_t undo_sources(struct rp_client *client, const struct rp_rollback *rollback, const struct rp_rollback_group *group,
                             bool executes, int timeout_ms, int32_t *restored, struct rp_error *err)
{
        const struct rp_topics *topics = rp_rollback_topics(rollback);
        rp_err_t rc = RP_OK;

        *restored = 0;
        for (int32_t p = 0; rc == RP_OK && p < group->source.cnt;) {
                const struct rp_rollback_offsets before = { .items = group->source.items + p,
                                                            .cnt = rp_topics_count(topics, group->source.cnt, p) };
                int32_t these, none;

                rc = undo_topic(client, group->name, rp_topics_name(topics, rollback->source, p), &before, true, executes,
                                timeout_ms, &these, &none, err);
                *restored += these;
                p += before.cnt;
        }
        return rc;
}

/* Whatever would fail in the middle is found before the first group is touched. */
static rp_err_t check_undo(const struct rp_rollback *rollback, struct rp_client *source, struct rp_client *target, int timeout_ms,
                           struct rp_error *err)
{
        const struct rp_topics *topics = rp_rollback_topics(rollback);
        rp_err_t rc = RP_OK;

        for (size_t g = 0; rc == RP_OK && g < rollback->group_cnt; g++) {
                const char *name = rollback->groups[g].name;
                struct rp_roster roster;

                rc = rp_group_describe(rollback->target ? target : source, name, "Describe", timeout_ms, &roster, err);
                if (rc != RP_OK)
                        break;
                if (roster.member_cnt)
                        rc = rp_fail(err, RP_ERR_USAGE, "group \"%s\" is active: stop its consumers first; nothing was changed", name);
                rp_roster_release(&roster);
        }
        for (int32_t t = 0; rc == RP_OK && t < (topics ? topics->topic_cnt : 1); t++) {
                const char *name = topics ? topics->names[t] : rollback->source;
                struct rp_topic_info info;

                rc = rp_cluster_find(source, name, timeout_ms, &info, err);
                if (rc == RP_OK && !info.exists)
                        rc = rp_cluster_fail_absent(source, name, timeout_ms, err);
        }
        return rc;
}

rp_err_t rp_cutover_undo(const struct rp_rollback *rollback, const struct rp_client_config *source_client,
                         const struct rp_client_config *target_client, bool executes, int timeout_ms,
                         struct rp_undo_row *rows, struct rp_error *err)
{
        struct rp_jobs_topic *source = NULL, *target = NULL; /* for their connections */
        rp_err_t rc = rp_jobs_topic_open(&source, source_client, RP_JOBS_TOPIC_DEFAULT, timeout_ms, err);

        if (rc == RP_OK)
                rc = rp_jobs_topic_open(&target, target_client, RP_JOBS_TOPIC_DEFAULT, timeout_ms, err);
        if (rc == RP_OK)
                rc = check_undo(rollback, rp_jobs_topic_client(source), rp_jobs_topic_client(target), timeout_ms, err);
        for (size_t g = 0; rc == RP_OK && g < rollback->group_cnt; g++) {
                const struct rp_rollback_group *group = &rollback->groups[g];
                struct rp_undo_row *row = &rows[g];

                *row = (struct rp_undo_row){ .name = group->name };
                if (rollback->target)
                        rc = undo_topic(rp_jobs_topic_client(target), group->name, rollback->target, &group->target, false,
                                        executes, timeout_ms, &row->restored, &row->forgotten, err);
                if (rc == RP_OK && rollback->target)
                        rc = undo_sources(rp_jobs_topic_client(source), rollback, group, executes, timeout_ms,
                                          &row->source_restored, err);
                else if (rc == RP_OK) /* one topic, that was to be read again */
                        rc = undo_topic(rp_jobs_topic_client(source), group->name, rollback->source, &group->source, false,
                                        executes, timeout_ms, &row->restored, &row->forgotten, err);
        }
        rp_jobs_topic_close(source);
        rp_jobs_topic_close(target);
        return rc;
}
