/* repartition rebalance: weighted groups, moved one by one until no partition is too full, and the policy for it. */
#include "cli/command.h"
#include "cli/demand_file.h"
#include "cli/file_text.h"
#include "cli/key_format.h"
#include "cli/table_policy.h"
#include "decide/rebalance.h"
#include "io/file.h"
#include "report/json.h"
#include "report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
        struct rp_common common;
        struct rp_policy_args policy;
        const char *weights, *topic, *target, *delimiter, *key_format, *out;
        int64_t partitions;
        bool fill;
        struct rp_list splits;
};

static const struct rp_option options[] = {
        { "weights", 'w', RP_OPT_STREAM, offsetof(struct args, weights), "FILE",
          "groups, one a line: group, tab, weight (and, with another tab, its partition)", NULL, 0, 0, NULL },
        { "partitions", 'p', RP_OPT_COUNT, offsetof(struct args, partitions), "N",
          "partitions of the topic; needed unless the policy pins them; more than it pins: the topic grows", NULL, 1,
          1000000, NULL },
        { "target", 0, RP_OPT_TEXT, offsetof(struct args, target), "RATIO",
          "move until the fullest partition has at most this many times the mean", "1.1", 0, 0, NULL },
        { "split", 0, RP_OPT_LIST, offsetof(struct args, splits), "GROUP:PARTS",
          "let this group live in several partitions, as so many parts; may be repeated", NULL, 0, 0, NULL },
        { "fill", 0, RP_OPT_FLAG, offsetof(struct args, fill), NULL,
          "after growth: leave out what no move can help, and bring the other partitions to the target", NULL, 0, 0,
          NULL },
        { "delimiter", 0, RP_OPT_TEXT, offsetof(struct args, delimiter), "TEXT",
          "what ends the group in a key, and stands before the part of a split one (then \"|\" by default)", NULL, 0, 0,
          NULL },
        { "key-format", 0, RP_OPT_CHOICE, offsetof(struct args, key_format), "FORMAT",
          "how groups are written: text, hex, base64, int32, int64 or uuid", "text", 0, 0, rp_key_format_names },
        { "topic", 't', RP_OPT_TEXT, offsetof(struct args, topic), "TOPIC",
          "the topic whose rule is meant; needed when the policy has more than one", NULL, 0, 0, NULL },
        { "out", 'o', RP_OPT_OUTPUT, offsetof(struct args, out), "FILE", "where the new policy goes, instead of stdout",
          NULL, 0, 0, NULL },
        RP_POLICY_OPTIONS(struct args),
        RP_COMMON_OPTIONS(struct args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

enum { PARTS_MAX = 100000 };

/* A group that was split: its parts are this unit and `part_cnt - 1` from first_new on. */
struct split {
        const char *group;
        uint32_t number, first_new;
        int32_t part_cnt;
};

struct plan {
        const struct args *args;
        struct rp_demand demand;
        kr_policy_t *policy;
        const kr_rule_t *rule; /* in force; NULL: no policy given */
        char *policy_json;
        int32_t partition_cnt, policy_cnt; /* policy_cnt: when the policy was made, of a topic that grows */
        double target;
        const char *delimiter;
        bool is_new; /* no placement was given: spread from nothing */
        size_t group_cnt;
        struct split *splits;
        int32_t *place;
        uint64_t heaviest;
        struct rp_rebalance done;
};

static rp_err_t read_target(struct plan *plan, struct rp_error *err)
{
        char *end;

        errno = 0;
        plan->target = strtod(plan->args->target, &end);
        if (errno || end == plan->args->target || *end || !(plan->target >= 1) || !isfinite(plan->target))
                return rp_fail(err, RP_ERR_USAGE, "--target: expected a ratio of 1 or more, such as 1.2, got \"%.40s\"",
                               plan->args->target);
        return RP_OK;
}

static rp_err_t read_policy(struct plan *plan, struct rp_error *err)
{
        const struct args *args = plan->args;
        size_t len;

        plan->policy = rp_policy_from_args(&args->policy, err);
        if (!plan->policy)
                return err->code;
        if (args->policy.policy_file) {
                plan->rule = rp_rule_from_args(&args->policy, plan->policy, args->topic, err);
                if (plan->rule)
                        plan->policy_json = rp_file_text(args->policy.policy_file, &len, err);
                if (!plan->policy_json)
                        return err->code;
                plan->policy_cnt = kr_rule_partitions(plan->rule);
                if (!plan->policy_cnt || args->partitions <= plan->policy_cnt)
                        plan->policy_cnt = rp_partition_cnt_from_args(&args->policy, plan->rule, args->partitions, err);
                plan->partition_cnt = args->partitions ? (int32_t)args->partitions : plan->policy_cnt;
                return plan->policy_cnt ? RP_OK : err->code;
        }
        plan->partition_cnt = (int32_t)args->partitions;
        return args->partitions ? RP_OK : rp_fail(err, RP_ERR_USAGE, "--partitions N is missing");
}

/* Where the groups are: as their rows say, else as the policy in force routes them, else spread from nothing. */
static rp_err_t place_now(struct plan *plan, struct rp_error *err)
{
        const struct rp_units *units = &plan->demand.keys;
        size_t known = 0;

        plan->place = malloc((units->cnt + PARTS_MAX) * sizeof(*plan->place));
        if (!plan->place)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < units->cnt; i++) {
                known += units->list[i].partition >= 0;
                plan->place[i] = units->list[i].partition;
        }
        if (known)
                return RP_OK;
        plan->is_new = !plan->rule;
        if (!plan->rule)
                return rp_spread(units, plan->partition_cnt, plan->place) ? RP_OK
                                                                          : rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < units->cnt; i++) {
                plan->place[i] =
                        kr_rule_partition(plan->rule, units->list[i].data, units->list[i].len, plan->policy_cnt);
                if (plan->place[i] < 0)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: group %zu: %s", plan->args->weights, i + 1,
                                       kr_strerror(plan->place[i]));
        }
        return RP_OK;
}

static rp_err_t split_one(struct plan *plan, const char *text, struct split *split, struct rp_error *err)
{
        const char *colon = strrchr(text, ':');
        struct rp_key key = { 0 };
        char *end = NULL;
        long parts = colon ? strtol(colon + 1, &end, 10) : 0;
        size_t before = plan->demand.keys.cnt;
        rp_err_t rc;

        if (!colon || end == colon + 1 || *end || parts < 2 || parts > PARTS_MAX)
                return rp_fail(err, RP_ERR_USAGE,
                               "--split: expected a group, a colon and 2 to %d parts, such as acme:30, got "
                               "\"%.100s\"",
                               PARTS_MAX, text);
        rc = rp_key_parse(rp_key_format_find(plan->args->key_format), text, (size_t)(colon - text), &key, err);
        if (rc == RP_OK) {
                *split = (struct split){ .group = text,
                                         .part_cnt = (int32_t)parts,
                                         .first_new = (uint32_t)before,
                                         .number = rp_demand_find(&plan->demand, key.data, key.len) };
                if (split->number == UINT32_MAX)
                        rc = rp_fail(err, RP_ERR_USAGE, "--split: %.200s has no group \"%.*s\"", plan->args->weights,
                                     (int)(colon - text), text);
                else
                        rc = rp_demand_split(&plan->demand, split->number, (int32_t)parts, plan->delimiter, err);
        }
        rp_key_release(&key);
        if (rc == RP_OK) {
                int32_t *place = realloc(plan->place, (plan->demand.keys.cnt + PARTS_MAX) * sizeof(*place));

                if (!place)
                        return rp_fail(err, RP_ERR_FATAL, "out of memory");
                plan->place = place;
                for (size_t i = before; i < plan->demand.keys.cnt; i++)
                        place[i] = place[split->number];
        }
        return rc;
}

static double ratio_of(const struct plan *plan, uint64_t max)
{
        return (double)max / (double)plan->demand.total * plan->partition_cnt;
}

static bool move_groups(struct plan *plan)
{
        const struct rp_units *units = &plan->demand.keys;

        if (!plan->args->fill)
                return rp_rebalance(units, plan->partition_cnt, plan->target, plan->place, &plan->done);
        if (!rp_rebalance_grown(units, plan->partition_cnt, plan->target, plan->place, &plan->done))
                return false;
        plan->done.is_stuck = ratio_of(plan, plan->done.max_after) > plan->target;
        return true;
}

static rp_err_t make(struct plan *plan, struct rp_error *err)
{
        const struct args *args = plan->args;
        struct rp_demand_format format = { .key_format = args->key_format, .is_one_place = true };
        rp_err_t rc;

        if (!args->weights)
                return rp_fail(err, RP_ERR_USAGE, "--weights FILE is missing");
        plan->delimiter = args->delimiter ? args->delimiter : args->splits.cnt ? "|" : NULL;
        if (plan->delimiter && !*plan->delimiter)
                return rp_fail(err, RP_ERR_USAGE, "--delimiter: expected 1 to 16 bytes");
        rc = read_target(plan, err);
        if (rc == RP_OK)
                rc = read_policy(plan, err);
        format.partition_cnt = plan->partition_cnt;
        if (rc == RP_OK)
                rc = rp_demand_read(&plan->demand, args->weights, &format, err);
        if (rc == RP_OK && plan->demand.groups.cnt)
                rc = rp_fail(err, RP_ERR_USAGE,
                             "%.200s: line 1: expected groups alone, found a column \"key\" beside \"group\"",
                             args->weights);
        if (rc == RP_OK)
                rc = place_now(plan, err);
        if (rc != RP_OK)
                return rc;
        plan->group_cnt = plan->demand.keys.cnt;
        plan->splits = calloc(args->splits.cnt + 1, sizeof(*plan->splits));
        if (!plan->splits)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; rc == RP_OK && i < args->splits.cnt; i++)
                rc = split_one(plan, args->splits.items[i], &plan->splits[i], err);
        plan->heaviest = rp_units_heaviest(&plan->demand.keys);
        if (rc == RP_OK && !move_groups(plan))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rc;
}

static double share_of(const struct plan *plan, uint64_t weight)
{
        return (double)weight / (double)plan->demand.total;
}

static int32_t partitions_of(const struct plan *plan, const struct split *split)
{
        bool *seen = calloc((size_t)plan->partition_cnt, sizeof(*seen));
        int32_t cnt = 0;

        if (!seen)
                abort();
        for (int32_t i = 0; i < split->part_cnt; i++) {
                uint32_t unit = i ? split->first_new + (uint32_t)i - 1 : split->number;

                cnt += !seen[plan->place[unit]];
                seen[plan->place[unit]] = true;
        }
        free(seen);
        return cnt;
}

static int split_name_len(const struct split *split)
{
        return (int)(strrchr(split->group, ':') - split->group);
}

static void print_text(const struct plan *plan)
{
        const struct rp_rebalance *done = &plan->done;
        double floor = rp_floor(plan->heaviest, plan->demand.total, plan->partition_cnt);

        printf("%" PRId32 " partitions   %s groups   placed %s\n\n", plan->partition_cnt,
               rp_text_count(plan->group_cnt).s,
               plan->is_new                               ? "anew, by falling weight into the emptiest partition"
               : plan->demand.keys.list[0].partition >= 0 ? "as the file says"
                                                          : "as the policy in force says");
        printf("fullest    %.3f× the mean → %.3f×%s\n", ratio_of(plan, done->max_before),
               ratio_of(plan, done->max_after),
               done->is_stuck ? ", above the target: no group fits into the emptiest partition any more" : "");
        printf("moves      %s, %.2f %% of all weight\n", rp_text_count(done->move_cnt).s,
               100 * share_of(plan, done->moved));
        printf("floor      %.3f×: the heaviest %s has %.2f %% of all weight\n", floor,
               plan->args->splits.cnt ? "row" : "group", 100 * share_of(plan, plan->heaviest));
        for (size_t i = 0; i < plan->args->splits.cnt; i++)
                printf("split      %.*s into %" PRId32 " parts, which lie in %" PRId32
                       " partitions: a query for it reads those\n",
                       split_name_len(&plan->splits[i]), plan->splits[i].group, plan->splits[i].part_cnt,
                       partitions_of(plan, &plan->splits[i]));
        printf("rows       %s", rp_text_count(plan->group_cnt).s);
        if (plan->demand.keys.cnt != plan->group_cnt)
                printf(" → %s", rp_text_count(plan->demand.keys.cnt).s);
        putchar('\n');
        for (size_t i = 0; i < plan->args->splits.cnt; i++)
                printf("%skeys of %.*s: %.*s%s0 to %.*s%s%" PRId32
                       ", then %s and the rest; the producer picks the part\n",
                       i ? "" : "\n", split_name_len(&plan->splits[i]), plan->splits[i].group,
                       split_name_len(&plan->splits[i]), plan->splits[i].group, plan->delimiter,
                       split_name_len(&plan->splits[i]), plan->splits[i].group, plan->delimiter,
                       plan->splits[i].part_cnt - 1, plan->delimiter);
}

static json_t *loads_json(const struct plan *plan)
{
        uint64_t *loads = malloc((size_t)plan->partition_cnt * sizeof(*loads));
        json_t *list = json_array();

        if (!loads)
                abort();
        rp_loads(&plan->demand.keys, plan->place, plan->partition_cnt, loads);
        for (int32_t p = 0; p < plan->partition_cnt; p++)
                json_array_append_new(list, rp_json_share(share_of(plan, loads[p])));
        free(loads);
        return list;
}

static void print_json(const struct plan *plan, json_t *policy)
{
        const struct rp_rebalance *done = &plan->done;
        json_t *splits = json_array();

        for (size_t i = 0; i < plan->args->splits.cnt; i++)
                json_array_append_new(splits, json_pack("{s:s%, s:i, s:i}", "group", plan->splits[i].group,
                                                        (size_t)split_name_len(&plan->splits[i]), "parts",
                                                        (int)plan->splits[i].part_cnt, "partitions_touched",
                                                        (int)partitions_of(plan, &plan->splits[i])));
        rp_json_print(json_pack("{s:i, s:I, s:I, s:s, s:o, s:b, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:O}",
                                "partitions", (int)plan->partition_cnt, "groups", (json_int_t)plan->group_cnt, "rows",
                                (json_int_t)plan->demand.keys.cnt, "placed",
                                plan->is_new                               ? "anew"
                                : plan->demand.keys.list[0].partition >= 0 ? "file"
                                                                           : "policy",
                                "target", rp_json_share(plan->target), "target_reached", (int)!done->is_stuck,
                                "max_over_mean_before", rp_json_share(ratio_of(plan, done->max_before)),
                                "max_over_mean", rp_json_share(ratio_of(plan, done->max_after)), "moves",
                                (json_int_t)done->move_cnt, "moved_share", rp_json_share(share_of(plan, done->moved)),
                                "heaviest_share", rp_json_share(share_of(plan, plan->heaviest)), "floor",
                                rp_json_share(rp_floor(plan->heaviest, plan->demand.total, plan->partition_cnt)),
                                "shares", loads_json(plan), "splits", splits, "policy", policy),
                      stdout);
}

static int report(const struct plan *plan, struct rp_error *err)
{
        struct rp_table_policy table = {
                .base_json = plan->policy_json,
                .base_path = plan->policy_json ? plan->args->policy.policy_file : "rebalance",
                .rule_name = plan->rule          ? kr_rule_topic(plan->rule)
                             : plan->args->topic ? plan->args->topic
                                                 : "*",
                .hash = plan->args->policy.hash ? plan->args->policy.hash : "murmur2",
                .partition_cnt = plan->partition_cnt,
                .delimiter = plan->delimiter,
        };
        json_t *policy = rp_table_policy_make(&table, &plan->demand.keys, plan->place, err);
        char *text = policy ? rp_table_policy_print(&table, policy, err) : NULL;
        int rc = RP_EXIT_USAGE;

        if (text &&
            (!plan->args->out || rp_file_replace(plan->args->out, text, strlen(text), NULL, NULL, err) == RP_OK)) {
                rc = plan->done.is_stuck ? RP_EXIT_DIFFERENCES : RP_EXIT_CLEAN;
                if (rp_is_json(&plan->args->common)) {
                        print_json(plan, policy);
                } else {
                        print_text(plan);
                        if (!plan->args->out)
                                printf("\n%s", text);
                        else
                                printf("policy     %s\n", plan->args->out);
                }
        } else {
                rc = rp_die("rebalance", err);
        }
        free(text);
        json_decref(policy);
        return rc;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        struct plan plan = { .args = raw };
        struct rp_error err;
        int rc;

        (void)operands;
        (void)operand_cnt;
        rc = make(&plan, &err) == RP_OK ? report(&plan, &err) : rp_die("rebalance", &err);
        rp_demand_release(&plan.demand);
        kr_policy_free(plan.policy);
        free(plan.policy_json);
        free(plan.splits);
        free(plan.place);
        return rc;
}

const struct rp_command rp_cmd_rebalance = {
        .name = "rebalance",
        .operands = "",
        .summary = "Evens out weighted groups by the fewest moves, without a broker",
        .description = "Reads groups and their weights, and where they are now: from a third column, else from "
                       "--policy, else they\n"
                       "are spread from nothing (by falling weight, each into the emptiest partition). Then it moves, "
                       "one at a\n"
                       "time, the heaviest group of the fullest partition that still fits into the emptiest one, until "
                       "the fullest\n"
                       "has at most --target times the mean, or nothing fits any more (exit code 1).\n\n"
                       "A group that is heavier than a partition's share sets a floor that no move can beat; --split "
                       "lets it live\n"
                       "in several partitions. Its keys then carry the number of their part after the group, such as "
                       "acme|7|rest.\n\n"
                       "The result is a policy with a row for each group; all else of --policy stays as it is. Nothing "
                       "is changed\n"
                       "anywhere but in --out.",
        .examples = "  repartition rebalance --weights groups.tsv --partitions 8 --target 1.2\n"
                    "  repartition rebalance -w groups.tsv --policy keyroute.json --split acme:30\n",
        .options = tables,
        .args_size = sizeof(struct args),
        .run = run,
};
