#include "job/reprocess.h"

#include "io/groups.h"
#include "io/kafka_source.h"
#include "io/offsets.h"
#include "io/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100 };

static rp_err_t out_of_memory(struct rp_error *err)
{
        return rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static rp_err_t read_topic(struct rp_reprocess_plan *plan, const struct rp_range *bounds, struct rp_error *err)
{
        const struct rp_reprocess_config *config = plan->config;
        struct rp_reader *reader = rp_reader_new(plan->source, RP_READ_ANY);
        struct rp_run run = { 0 };
        int64_t done = 0, total = 0;
        rp_err_t rc = reader ? rp_reader_start(reader, bounds, err) : out_of_memory(err);

        while (rc == RP_OK && !run.done && !plan->is_stopped) {
                rc = rp_reader_next(reader, TICK_MS, &run, err);
                for (size_t i = 0; rc == RP_OK && i < run.cnt; i++)
                        rp_reprocess_add(&plan->found, &run.records[i]);
                rp_reader_progress(reader, &done, &total);
                if (config->tick && !config->tick(config->arg, (uint64_t)done, (uint64_t)total, plan->found.records))
                        plan->is_stopped = true;
        }
        rp_reader_free(reader);
        return rc;
}

static rp_err_t find_beginnings(struct rp_reprocess_plan *plan, const struct rp_range *bounds, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        for (int32_t p = 0; rc == RP_OK && p < plan->source->partition_cnt; p++) {
                const struct rp_reprocess_partition *partition = &plan->found.partitions[p];
                int64_t at_time = -1;

                if (partition->missed_ms >= 0)
                        rc = rp_offset_at(rp_kafka_source_client(plan->source), plan->config->topic, p, partition->missed_ms,
                                          plan->config->timeout_ms, &at_time, err);
                plan->from[p] = rp_reprocess_from(partition, at_time, bounds[p].first);
        }
        return rc;
}

static rp_err_t ask_group(struct rp_reprocess_plan *plan, struct rp_reprocess_row *row, struct rp_error *err)
{
        struct rp_client *client = rp_kafka_source_client(plan->source);
        int32_t cnt = plan->source->partition_cnt, with = 0;
        struct rp_roster roster;
        rp_err_t rc;

        row->before = malloc(((size_t)cnt + 1) * sizeof(*row->before));
        row->starts = malloc(((size_t)cnt + 1) * sizeof(*row->starts));
        if (!row->before || !row->starts)
                return out_of_memory(err);
        rc = rp_group_describe(client, row->name, "Describe", plan->config->timeout_ms, &roster, err);
        if (rc != RP_OK)
                return rc;
        if (roster.member_cnt)
                snprintf(row->refusal, sizeof(row->refusal), "it is active: %zu member%s, the first is %.100s at %.100s; stop its "
                         "consumers first", roster.member_cnt, roster.member_cnt == 1 ? "" : "s", roster.members[0].client_id,
                         roster.members[0].host);
        rp_roster_release(&roster);
        rc = rp_group_offsets(client, row->name, plan->config->topic, cnt, plan->config->timeout_ms, row->before, err);
        for (int32_t p = 0; rc == RP_OK && p < cnt; p++) {
                bool goes_back = row->before[p] >= 0 && plan->from[p] >= 0 && plan->from[p] < row->before[p];

                with += row->before[p] >= 0;
                row->starts[p] = goes_back ? plan->from[p] : -1;
                row->moved += goes_back;
                row->again += goes_back ? row->before[p] - plan->from[p] : 0;
        }
        if (rc == RP_OK && !with && !*row->refusal)
                snprintf(row->refusal, sizeof(row->refusal), "it has no offsets in \"%s\": it never committed any there, or they "
                         "have expired", plan->config->topic);
        plan->refusal_cnt += *row->refusal != '\0';
        return rc;
}

rp_err_t rp_reprocess_prepare(struct rp_reprocess_plan *plan, const struct rp_reprocess_config *config, struct rp_error *err)
{
        struct rp_kafka_source_config source = { .client = config->client, .topic = config->topic,
                                                 .timeout_ms = config->timeout_ms };
        struct rp_range *bounds = NULL;
        int32_t pin = kr_rule_partitions(config->rule);
        rp_err_t rc;

        *plan = (struct rp_reprocess_plan){ .config = config, .rows = calloc(config->group_cnt + 1, sizeof(*plan->rows)),
                                            .row_cnt = config->group_cnt };
        if (!plan->rows)
                return out_of_memory(err);
        for (size_t g = 0; g < config->group_cnt; g++)
                plan->rows[g].name = config->groups[g];
        rc = rp_kafka_source_new(&plan->source, &source, err);
        if (rc != RP_OK)
                return rc;
        if (pin && pin != plan->source->partition_cnt)
                return rp_fail(err, RP_ERR_USAGE, "the policy is made for %d partitions, topic \"%s\" has %d", (int)pin,
                               config->topic, (int)plan->source->partition_cnt);
        bounds = calloc((size_t)plan->source->partition_cnt, sizeof(*bounds));
        plan->from = malloc((size_t)plan->source->partition_cnt * sizeof(*plan->from));
        if (!bounds || !plan->from || !rp_reprocess_init(&plan->found, config->rule, plan->source->partition_cnt))
                rc = out_of_memory(err);
        if (rc == RP_OK)
                rc = plan->source->ops->bounds(plan->source, bounds, err);
        if (rc == RP_OK)
                rc = read_topic(plan, bounds, err);
        if (rc == RP_OK && !plan->is_stopped)
                rc = find_beginnings(plan, bounds, err);
        for (size_t g = 0; rc == RP_OK && !plan->is_stopped && g < plan->row_cnt; g++)
                rc = ask_group(plan, &plan->rows[g], err);
        free(bounds);
        return rc;
}

rp_err_t rp_reprocess_record(const struct rp_reprocess_plan *plan, struct rp_rollback *rollback, struct rp_error *err)
{
        for (size_t g = 0; g < plan->row_cnt; g++)
                if (!rp_rollback_add(rollback, plan->rows[g].name, plan->rows[g].before, plan->source->partition_cnt, NULL, 0))
                        return out_of_memory(err);
        return RP_OK;
}

rp_err_t rp_reprocess_execute(struct rp_reprocess_plan *plan, size_t *done, struct rp_error *err)
{
        rp_err_t rc = RP_OK;

        *done = 0;
        for (size_t g = 0; rc == RP_OK && g < plan->row_cnt; g++) {
                rc = rp_group_set_offsets(rp_kafka_source_client(plan->source), plan->rows[g].name, plan->config->topic,
                                          plan->source->partition_cnt, plan->rows[g].starts, plan->config->timeout_ms, err);
                *done += rc == RP_OK;
        }
        return rc;
}

void rp_reprocess_plan_release(struct rp_reprocess_plan *plan)
{
        for (size_t g = 0; plan->rows && g < plan->row_cnt; g++) {
                free(plan->rows[g].before);
                free(plan->rows[g].starts);
        }
        free(plan->rows);
        free(plan->from);
        rp_reprocess_release(&plan->found);
        if (plan->source)
                plan->source->ops->free(plan->source);
        *plan = (struct rp_reprocess_plan){ 0 };
}
