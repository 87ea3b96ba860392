/* repartition estimate: what each map would make of these keys, before anything is changed. */
#include "cli/command.h"
#include "cli/demand_file.h"
#include "cli/estimate_print.h"
#include "cli/file_text.h"
#include "cli/key_format.h"
#include "clock.h"
#include "decide/chance.h"
#include "io/source.h"
#include "job/audit.h"
#include "report/progress.h"
#include "topic_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_client_args client;
        const char *weights, *partitions, *topic, *hash, *delimiter, *key_format;
        struct rp_list maps, policies;
        int64_t grow_to, fanout, records, keys, sample_keys, timeout_ms;
};

static const struct rp_option options[] = {
        { "weights", 'w', RP_OPT_STREAM, offsetof(struct args, weights), "FILE",
          "a sample of keys, one a line: key, tab, weight; instead of a topic", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_TEXT, offsetof(struct args, partitions), "N[,N...]",
          "partition counts to compare; by default the topic's or the policies' own", NULL, 0, 0, NULL },
        { "grow-to", 0, RP_OPT_COUNT, offsetof(struct args, grow_to), "M",
          "also tell which share moves when the topic grows to M partitions", NULL, 1, 1000000, NULL },
        { "map", 0, RP_OPT_LIST, offsetof(struct args, maps), "NAME",
          "a map to compare; may be repeated; by default all that apply", NULL, 0, 0, NULL },
        { "policy", 0, RP_OPT_INPUTS, offsetof(struct args, policies), "FILE",
          "a policy to compare, alone unless --map is given; may be repeated", NULL, 0, 0, NULL },
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct args, topic), "TOPIC",
          "the topic whose rule in the policies is meant", NULL, 0, 0, NULL },
        { "hash", 0, RP_OPT_TEXT, offsetof(struct args, hash), "NAME", "hash function of the maps", "murmur2", 0, 0,
          NULL },
        { "delimiter", 0, RP_OPT_TEXT, offsetof(struct args, delimiter), "TEXT",
          "a key's group is what stands before this", NULL, 0, 0, NULL },
        { "fanout", 0, RP_OPT_COUNT, offsetof(struct args, fanout), "F", "partitions of a group by the map two-level",
          "8", 1, 1000000, NULL },
        { "records", 0, RP_OPT_COUNT, offsetof(struct args, records), "R",
          "records that a query's span holds, to tell how many of them it scans", NULL, 1, INT64_MAX / 4, NULL },
        { "keys", 0, RP_OPT_COUNT, offsetof(struct args, keys), "K",
          "no sample: what chance alone gives for K equal keys", NULL, 1, 1000000000, NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how keys and groups are written: text, hex, base64, int32, int64 or uuid", "text", 0, 0,
          rp_key_format_names },
        { "sample-keys", 0, RP_OPT_COUNT, offsetof(struct args, sample_keys), "K",
          "distinct keys of a topic that are kept", "1000000", 100, 10000000, NULL },
        RP_TIMEOUT_OPTION(struct args),
        RP_CLIENT_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { COUNT_MAX = 32 };

struct session {
        const struct args *args;
        struct rp_demand demand;
        struct rp_estimate_report report;
        int32_t counts[COUNT_MAX];
        size_t count_cnt;
        struct rp_progress_line line;
};

static rp_err_t read_counts(struct session *session, struct rp_error *err)
{
        for (const char *text = session->args->partitions; text && *text;) {
                char *end;
                long value = strtol(text, &end, 10);

                if (end == text || (*end && *end != ',') || (*end && !end[1]) || value < 1 || value > 1000000 ||
                    session->count_cnt == COUNT_MAX)
                        return rp_fail(err, RP_ERR_USAGE,
                                       "--partitions: expected 1 to %d counts such as 8,16, each from 1 to "
                                       "1000000, got \"%.60s\"",
                                       COUNT_MAX, session->args->partitions);
                session->counts[session->count_cnt++] = (int32_t)value;
                text = *end ? end + 1 : end;
        }
        return RP_OK;
}

/* ---- keys of a live topic ---------------------------------------------------------------------------------------- */

static void show_progress(void *arg, uint64_t done, uint64_t total, uint64_t records)
{
        struct session *session = arg;

        rp_progress_line_update(&session->line, done, total, records, rp_clock_ms());
}

static rp_err_t take_sample(struct session *session, struct rp_audit *audit, struct rp_error *err)
{
        const struct rp_sample_key *keys;
        size_t cnt;

        keys = rp_sample_keys(audit->sample, &cnt);
        for (size_t i = 0; i < cnt; i++)
                for (size_t c = 0; keys[i].key && c < keys[i].cell_cnt; c++)
                        if (!rp_demand_add_key(&session->demand, keys[i].key, keys[i].key_len, session->args->delimiter,
                                               (double)keys[i].cells[c].records, keys[i].cells[c].partition))
                                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        session->report.is_sample = !rp_sample_is_complete(audit->sample);
        session->report.all_keys = rp_sample_distinct(audit->sample, &session->report.all_keys_error);
        if (!rp_demand_seal(&session->demand))
                return rp_fail(err, RP_ERR_USAGE, "topic \"%.100s\" has no records with a key", session->report.name);
        return RP_OK;
}

static rp_err_t audit_topic(struct session *session, struct rp_source *source, struct rp_error *err)
{
        struct kr_error kerr;
        kr_policy_t *policy = kr_policy_from_hash("murmur2", &kerr);
        struct rp_audit audit = { 0 };
        struct rp_coverage *coverage = calloc((size_t)source->partition_cnt, sizeof(*coverage));
        struct rp_audit_job job = {
                .source = source, .audit = &audit, .coverage = coverage, .tick = show_progress, .arg = session
        };
        rp_err_t rc = policy && coverage ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        if (rc == RP_OK)
                rc = rp_audit_init(&audit, kr_policy_rule(policy, "any"), source->partition_cnt,
                                   (size_t)session->args->sample_keys, err);
        if (rc == RP_OK) {
                rp_progress_line_start(&session->line, stderr, rp_wants_progress(&session->args->common), "estimate",
                                       rp_clock_ms());
                rc = rp_audit_run(&job, err);
                rp_progress_line_end(&session->line);
        }
        if (rc == RP_OK)
                rc = take_sample(session, &audit, err);
        rp_audit_release(&audit);
        free(coverage);
        kr_policy_free(policy);
        return rc;
}

static rp_err_t read_topic(struct session *session, struct rp_error *err)
{
        struct rp_source *source = NULL;
        rp_err_t rc = rp_source_from_args(&source, &session->args->client, session->report.name,
                                          (int)session->args->timeout_ms, err);

        if (rc == RP_OK)
                rc = audit_topic(session, source, err);
        if (rc == RP_OK && !session->count_cnt)
                session->counts[session->count_cnt++] = source->partition_cnt;
        if (source)
                source->ops->free(source);
        return rc;
}

/* ---- comparing -----------------------------------------------------------------------------------------------------
 */

static rp_err_t add(struct session *session, struct rp_strategy *strategy, struct rp_error *err)
{
        struct rp_estimate_report *report = &session->report;
        struct rp_estimate_line *lines = realloc(report->lines, (report->line_cnt + 1) * sizeof(*lines));
        struct rp_estimate_line *line;
        rp_err_t rc;

        if (!lines)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        report->lines = lines;
        line = &lines[report->line_cnt];
        memcpy(line->map, strategy->name, sizeof(line->map));
        line->partition_cnt = strategy->partition_cnt;
        line->lookups = strategy->lookups;
        rc = rp_estimate(strategy, &session->demand, &line->estimate, err);
        report->line_cnt += rc == RP_OK;
        return rc;
}

static rp_err_t add_map(struct session *session, const char *name, int32_t partition_cnt, struct rp_error *err)
{
        const struct args *args = session->args;
        struct rp_strategy_config config = { .hash = args->hash, .delimiter = args->delimiter, .fanout = args->fanout };
        struct rp_strategy strategy;
        rp_err_t rc;

        if (!args->maps.cnt && !rp_strategy_applies(name, &session->demand, &config, partition_cnt))
                return RP_OK;
        rc = rp_strategy_init(&strategy, name, &session->demand, &config, partition_cnt, (int32_t)args->grow_to, err);
        if (rc == RP_OK)
                rc = add(session, &strategy, err);
        rp_strategy_release(&strategy);
        return rc;
}

/* A pinned policy is compared at its own count alone. */
static rp_err_t add_policy(struct session *session, const char *path, bool *used, struct rp_error *err)
{
        const struct args *args = session->args;
        struct rp_policy_args policy_args = { .policy_file = path };
        const char *topic = args->topic ? args->topic : args->weights ? NULL : session->report.name;
        kr_policy_t *policy = rp_policy_from_args(&policy_args, err);
        const kr_rule_t *rule = policy ? rp_rule_from_args(&policy_args, policy, topic, err) : NULL;
        size_t len, cnt = session->count_cnt ? session->count_cnt : 1;
        char *json = rule ? rp_file_text(path, &len, err) : NULL;
        rp_err_t rc = json ? RP_OK : err->code;

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                int32_t pinned = kr_rule_partitions(rule);
                int32_t count = session->count_cnt ? session->counts[i] : pinned;
                struct rp_strategy strategy;

                if (!count)
                        rc = rp_fail(err, RP_ERR_USAGE, "--partitions N is missing: %.200s does not pin the number",
                                     path);
                else if (!pinned || pinned == count) {
                        rc = rp_strategy_init_policy(&strategy, path, json, path, topic ? topic : kr_rule_topic(rule),
                                                     count, (int32_t)args->grow_to, err);
                        if (rc == RP_OK)
                                rc = add(session, &strategy, err);
                        rp_strategy_release(&strategy);
                        *used = true;
                }
        }
        free(json);
        kr_policy_free(policy);
        return rc;
}

static bool is_map(const char *name)
{
        for (size_t i = 0; rp_strategy_names[i]; i++)
                if (!strcmp(rp_strategy_names[i], name))
                        return true;
        return false;
}

static rp_err_t check_maps(const struct args *args, struct rp_error *err)
{
        for (size_t i = 0; i < args->maps.cnt; i++)
                if (!is_map(args->maps.items[i])) {
                        char list[200] = "";

                        for (size_t n = 0, used = 0; rp_strategy_names[n]; n++)
                                used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", n ? ", " : "",
                                                         rp_strategy_names[n]);
                        return rp_fail(err, RP_ERR_USAGE, "--map: expected one of %s, got \"%.60s\"", list,
                                       args->maps.items[i]);
                }
        if (!kr_hash_find(args->hash))
                return rp_fail(err, RP_ERR_USAGE, "--hash: no hash \"%.60s\"; repartition route --list-hashes has them",
                               args->hash);
        if (args->delimiter && (!*args->delimiter || strlen(args->delimiter) > 16))
                return rp_fail(err, RP_ERR_USAGE, "--delimiter: expected 1 to 16 bytes");
        return RP_OK;
}

static rp_err_t compare(struct session *session, struct rp_error *err)
{
        const struct args *args = session->args;
        bool plain = args->maps.cnt || !args->policies.cnt;
        rp_err_t rc = RP_OK;

        if (plain && !session->count_cnt)
                return rp_fail(err, RP_ERR_USAGE, "--partitions N is missing");
        for (size_t i = 0; rc == RP_OK && i < session->count_cnt && args->grow_to; i++)
                if (session->counts[i] >= args->grow_to)
                        rc = rp_fail(err, RP_ERR_USAGE,
                                     "--grow-to: expected more than %" PRId32 " partitions, got %" PRId64,
                                     session->counts[i], args->grow_to);
        for (size_t i = 0; rc == RP_OK && plain && i < session->count_cnt; i++) {
                if (args->maps.cnt)
                        for (size_t m = 0; rc == RP_OK && m < args->maps.cnt; m++)
                                rc = add_map(session, args->maps.items[m], session->counts[i], err);
                else
                        for (size_t m = 0; rc == RP_OK && rp_strategy_names[m]; m++)
                                rc = add_map(session, rp_strategy_names[m], session->counts[i], err);
        }
        for (size_t i = 0; rc == RP_OK && i < args->policies.cnt; i++) {
                bool used = false;

                rc = add_policy(session, args->policies.items[i], &used, err);
                if (rc == RP_OK && !used)
                        rc = rp_fail(err, RP_ERR_USAGE,
                                     "%.200s is made for another number of partitions than --partitions",
                                     args->policies.items[i]);
        }
        return rc;
}

/* --keys: what chance alone gives, without any sample. */
static rp_err_t chance_alone(struct session *session, struct rp_error *err)
{
        struct rp_estimate_report *report = &session->report;

        if (!session->count_cnt)
                return rp_fail(err, RP_ERR_USAGE, "--partitions N is missing");
        report->lines = calloc(session->count_cnt, sizeof(*report->lines));
        if (!report->lines)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        report->is_chance_alone = true;
        report->all_keys = (uint64_t)session->args->keys;
        for (size_t i = 0; i < session->count_cnt; i++) {
                struct rp_estimate_line *line = &report->lines[report->line_cnt++];

                line->partition_cnt = session->counts[i];
                line->estimate.chance = rp_chance_ratio(report->all_keys, line->partition_cnt);
                if (!rp_chance_simulate(NULL, report->all_keys, line->partition_cnt, &line->estimate.simulated))
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        return RP_OK;
}

static rp_err_t read_and_compare(struct session *session, const char *topic, struct rp_error *err)
{
        const struct args *args = session->args;
        struct rp_demand_format format = { .key_format = args->key_format, .delimiter = args->delimiter };
        rp_err_t rc = read_counts(session, err);

        if (rc == RP_OK)
                rc = check_maps(args, err);
        if (rc != RP_OK)
                return rc;
        if (!!topic + !!args->weights + !!args->keys != 1)
                return rp_fail(err, RP_ERR_USAGE,
                               "expected a topic, or --weights FILE, or --keys K: what to estimate from");
        if (args->keys)
                return chance_alone(session, err);
        if (topic && rp_topic_name_check(topic, err) != RP_OK)
                return err->code;
        session->report.name = topic ? topic : args->weights;
        rc = topic ? read_topic(session, err) : rp_demand_read(&session->demand, args->weights, &format, err);
        return rc == RP_OK ? compare(session, err) : rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct session session = { .args = raw };
        struct rp_error err;
        int rc = RP_EXIT_CLEAN;

        session.report.demand = &session.demand;
        session.report.records = (uint64_t)session.args->records;
        session.report.grow_to = (int32_t)session.args->grow_to;
        if (read_and_compare(&session, operand_cnt ? operands[0] : NULL, &err) != RP_OK)
                rc = rp_die("estimate", &err);
        else if (rp_is_json(&session.args->common))
                rp_estimate_print_json(&session.report, stdout);
        else
                rp_estimate_print_text(&session.report, stdout);
        rp_demand_release(&session.demand);
        free(session.report.lines);
        return rc;
}

const struct rp_command rp_cmd_estimate = {
        .name = "estimate",
        .operands = "[TOPIC]",
        .summary = "Compares maps on a sample of keys, before anything is changed",
        .description = "Takes keys and their weights from --weights (lines of key, tab, weight; or named columns key, "
                       "group, weight,\n"
                       "partition) or from a live topic, and tells for each map and partition count: how full the "
                       "fullest partition\n"
                       "is (times the mean), what chance alone and the heaviest key allow at best, how many partitions "
                       "a query for\n"
                       "one group has to read and how many records it scans there, how many table lookups an access "
                       "costs, and\n"
                       "which share moves when the topic grows.\n\n"
                       "Maps: modulo, slots, hash-range, ring, range (bounds fitted to the sample), table (a row for "
                       "each group),\n"
                       "two-level, modulo-by-group, slots-by-group, and given (as the sample says). docs/capacity.md "
                       "explains\n"
                       "the columns.",
        .examples = "  repartition estimate --weights keys.tsv --partitions 8,16\n"
                    "  repartition estimate orders -b localhost:9092 --grow-to 16 --delimiter '|'\n"
                    "  repartition estimate --keys 100000 --partitions 64\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .operand_max = 1,
        .run = run,
};
