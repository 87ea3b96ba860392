#define RP_WITH_RDKAFKA
#include "io/job_look.h"

#include "clock.h"
#include "io/cluster.h"
#include "io/kafka_progress.h"
#include "io/offsets.h"
#include "io/topic_ids.h"

#include <stdlib.h>
#include <string.h>

enum { PEEK_MS = 10000, PAUSE_MS = 100 };

/* What a user may not see is a gap in the answer, not the end of it. */
static rp_err_t leave_open(struct rp_job_look *look, rp_err_t rc, const struct rp_error *err)
{
        char *text = *look->unknown[0] ? look->unknown[1] : look->unknown[0];

        if (rc != RP_ERR_USAGE)
                return rc;
        snprintf(text, sizeof(look->unknown[0]), "%.500s", err->text);
        return RP_OK;
}

/* ---- topics ---------------------------------------------------------------------------------------------------------- */

static rp_err_t look_at_topic(const struct rp_job_look_config *config, const struct rp_job_end *end, rp_topic_fate_t *fate,
                              int32_t *partition_cnt, struct rp_error *err)
{
        struct rp_topic_info info;
        char id[RP_TOPIC_ID_SIZE] = "";
        rp_err_t rc;

        *fate = RP_TOPIC_UNKNOWN;
        *partition_cnt = 0;
        if (*end->cluster && *config->cluster && strcmp(end->cluster, config->cluster) != 0)
                return RP_OK;
        rc = rp_cluster_topic(config->client, end->topic, config->timeout_ms, &info, err);
        if (rc != RP_OK)
                return rc;
        *fate = info.exists ? RP_TOPIC_THERE : RP_TOPIC_GONE;
        *partition_cnt = info.partition_cnt;
        if (!info.exists || !config->compares_ids || !*end->id)
                return RP_OK;
        rc = rp_topic_id(config->client, end->topic, config->timeout_ms, id, err);
        if (rc == RP_OK && *id)
                *fate = strcmp(id, end->id) ? RP_TOPIC_MADE_ANEW : RP_TOPIC_SAME;
        return rc == RP_ERR_USAGE ? RP_OK : rc; /* it went just now */
}

/* ---- how far it has come --------------------------------------------------------------------------------------------- */

static rp_err_t peek(const struct rp_job_look_config *config, const struct rp_topics *topics, const char *job,
                     struct rp_progress *progress, struct rp_error *err)
{
        int64_t deadline = rp_clock_ms() + config->timeout_ms;
        rp_err_t rc;

        for (;;) {
                rc = rp_kafka_progress_peek(config->client, job, "Describe", NULL, topics, progress, PEEK_MS, err);
                if (rc != RP_ERR_RETRY || rp_clock_ms() >= deadline)
                        return rc;
                rp_client_serve(config->client, PAUSE_MS);
        }
}

/* Where the partitions end; and where those begin that a rewrite has not come to, which is to copy them whole. */
static rp_err_t look_at_ends(struct rp_job_look *look, const struct rp_job_look_config *config, const char *topic,
                             struct rp_job_lane *lanes, int32_t cnt, struct rp_error *err)
{
        int64_t *offsets = malloc(((size_t)cnt + 1) * sizeof(*offsets));
        bool is_whole = !strcmp(look->entry->descriptor->kind, "rewrite"), lacks_any = false;
        rp_err_t rc = offsets ? rp_offsets_at(config->client, topic, cnt, RP_AT_END, config->timeout_ms, offsets, err)
                              : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (int32_t p = 0; rc == RP_OK && p < cnt; p++) {
                lanes[p].end = offsets[p];
                lacks_any |= lanes[p].next < 0;
        }
        if (rc == RP_OK && lacks_any && is_whole)
                rc = rp_offsets_at(config->client, topic, cnt, RP_AT_BEGINNING, config->timeout_ms, offsets, err);
        for (int32_t p = 0; rc == RP_OK && lacks_any && is_whole && p < cnt; p++)
                if (lanes[p].next < 0)
                        lanes[p].first = offsets[p];
        free(offsets);
        return leave_open(look, rc, err);
}

static rp_err_t fill_lanes(struct rp_job_look *look, const struct rp_job_look_config *config, const struct rp_topics *topics,
                           const struct rp_progress *progress, struct rp_error *err)
{
        rp_err_t rc = RP_OK;
        bool is_any = false;

        for (int32_t place = 0; place < progress->cnt; place++) {
                const struct rp_mark *mark = &progress->marks[place];
                struct rp_job_lane *lane = &look->lanes[place];

                *lane = (struct rp_job_lane){ .partition = rp_topics_partition(topics, place), .first = -1,
                                              .next = mark->next, .pass_end = -1, .end = -1 };
                snprintf(lane->topic, sizeof(lane->topic), "%s", rp_topics_name(topics, NULL, place));
                rp_job_lane_note(lane, mark->note);
                is_any |= mark->next >= 0;
        }
        if (look->entry->descriptor->source_cnt == 1)
                rp_job_lanes_judged(look->lanes, progress->cnt, look->entry);
        for (int32_t place = 0; place < progress->cnt; place++)
                is_any |= look->lanes[place].pass_end >= 0;
        if (!is_any) /* its progress is gone, or was never in this cluster: nothing is known of its partitions */
                return RP_OK;
        look->lane_cnt = (size_t)progress->cnt;
        if (*look->entry->descriptor->include || look->entry->is_of_tombstones)
                return RP_OK; /* a topic that is mended grows by that, which leaves nothing to do */
        for (int32_t t = 0; rc == RP_OK && t < topics->topic_cnt; t++) {
                int32_t first = topics->firsts[t];

                for (int32_t s = 0; s < look->entry->descriptor->source_cnt; s++)
                        if (!strcmp(look->entry->descriptor->sources[s].topic, topics->names[t]) &&
                            (look->sources[s] == RP_TOPIC_SAME || look->sources[s] == RP_TOPIC_THERE))
                                rc = look_at_ends(look, config, topics->names[t], &look->lanes[first],
                                                  topics->firsts[t + 1] - first, err);
        }
        return rc;
}

static rp_err_t look_at_progress(struct rp_job_look *look, const struct rp_job_look_config *config,
                                 const int32_t *partition_cnts, struct rp_error *err)
{
        const struct rp_job_entry *entry = look->entry;
        const char *names[RP_TOPICS_MAX];
        struct rp_progress progress = { 0 };
        struct rp_topics topics = { 0 };
        rp_err_t rc = RP_OK;

        for (int32_t s = 0; s < entry->descriptor->source_cnt; s++)
                names[s] = entry->descriptor->sources[s].topic;
        if (!rp_topics_init(&topics, names, partition_cnts, entry->descriptor->source_cnt) ||
            !rp_progress_init(&progress, topics.partition_cnt) ||
            !(look->lanes = calloc((size_t)topics.partition_cnt + 1, sizeof(*look->lanes))))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        if (rc == RP_OK)
                rc = leave_open(look, peek(config, &topics, entry->job, &progress, err), err);
        for (size_t i = 0; rc == RP_OK && i < entry->fold.position_cnt; i++) { /* between two clusters */
                const struct rp_job_position *position = &entry->fold.positions[i];
                int32_t place = rp_topics_find(&topics, NULL, position->topic, position->partition);

                if (place >= 0 && !rp_progress_set(&progress, place, position->next, position->note))
                        rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        if (rc == RP_OK)
                rc = fill_lanes(look, config, &topics, &progress, err);
        look->extent = rp_job_extent(look->lanes, look->lane_cnt);
        rp_progress_release(&progress);
        rp_topics_release(&topics);
        return rc;
}

/* ---- all together ------------------------------------------------------------------------------------------------------ */

/* Members of a follow are members of its own group. */
static rp_err_t look_at_holders(struct rp_job_look *look, const struct rp_job_look_config *config, struct rp_error *err)
{
        const struct rp_job_entry *entry = look->entry;
        char lease[RP_JOB_KEY_SIZE];
        bool is_group = entry->descriptor && !strcmp(entry->descriptor->kind, "follow");
        rp_err_t rc;

        rp_lease_group(lease, sizeof(lease), entry->job);
        rc = rp_lease_look(config->client, is_group ? entry->job : lease, config->timeout_ms, &look->holders, err);
        look->holders_are_known = rc == RP_OK;
        return leave_open(look, rc, err);
}

rp_err_t rp_job_look(struct rp_job_look *look, const struct rp_job_entry *entry, const struct rp_job_look_config *config,
                     struct rp_error *err)
{
        const struct rp_job_descriptor *descriptor = entry->descriptor;
        int32_t partition_cnts[RP_TOPICS_MAX] = { 0 }, target_cnt;
        rp_err_t rc;

        *look = (struct rp_job_look){ .entry = entry, .extent = { -1, -1, -1 } };
        rc = look_at_holders(look, config, err);
        if (rc != RP_OK || !descriptor)
                return rc;
        rc = look_at_topic(config, &descriptor->target, &look->target, &target_cnt, err);
        for (int32_t s = 0; rc == RP_OK && s < descriptor->source_cnt; s++) {
                rc = look_at_topic(config, &descriptor->sources[s], &look->sources[s], &partition_cnts[s], err);
                if (partition_cnts[s] < descriptor->sources[s].partition_cnt && look->sources[s] != RP_TOPIC_THERE)
                        partition_cnts[s] = descriptor->sources[s].partition_cnt;
        }
        return rc == RP_OK ? look_at_progress(look, config, partition_cnts, err) : rc;
}

void rp_job_look_release(struct rp_job_look *look)
{
        free(look->lanes);
        *look = (struct rp_job_look){ 0 };
}
