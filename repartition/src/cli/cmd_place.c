/* repartition place: partitions at locations, or replicas on brokers, by capacity. */
#include "cli/place.h"
#include "topic_name.h"

#include <string.h>

static const char *const resources[] = { "disk", "nw-in", "nw-out", NULL };

static const struct rp_option options[] = {
        { "capacity", 0, RP_OPT_LIST, offsetof(struct rp_place_args, capacities), "NAME=NUMBER,...",
          "what each location or broker can take, in any unit; 0 empties it; may be repeated", NULL, 0, 0, NULL },
        { "load", 0, RP_OPT_INPUTS, offsetof(struct rp_place_args, loads), "FILE",
          "what partitions weigh: an audit's JSON, kafka-log-dirs' output, or lines PARTITION<TAB>WEIGHT", NULL, 0, 0,
          NULL },
        { "partitions", 0, RP_OPT_COUNT, offsetof(struct rp_place_args, partitions), "N",
          "locations: partitions to place; needed unless the policy of --current pins them", NULL, 1, 1000000, NULL },
        { "current", 0, RP_OPT_INPUT, offsetof(struct rp_place_args, current_file), "FILE",
          "locations: where partitions are now, a location file or a policy", NULL, 0, 0, NULL },
        { "topic", 't', RP_OPT_TOPIC, offsetof(struct rp_place_args, rule_topic), "TOPIC",
          "locations: the rule of that policy; needed when it has more than one", NULL, 0, 0, NULL },
        RP_CLIENT_OPTIONS(struct rp_place_args),
        { "assignment", 0, RP_OPT_INPUT, offsetof(struct rp_place_args, assignment_file), "FILE",
          "brokers: what they hold now, as kafka-reassign-partitions --generate prints it, instead of a cluster", NULL, 0,
          0, NULL },
        { "capacity-file", 0, RP_OPT_INPUT, offsetof(struct rp_place_args, capacity_file), "FILE",
          "brokers: Cruise Control's capacity.json; --capacity goes before it", NULL, 0, 0, NULL },
        { "resource", 0, RP_OPT_CHOICE, offsetof(struct rp_place_args, resource), "NAME",
          "brokers: which capacity of that file counts: disk, nw-in or nw-out", "disk", 0, 0, resources },
        { "racks", 0, RP_OPT_LIST, offsetof(struct rp_place_args, racks), "ID=RACK,...",
          "brokers: their racks, instead of what the cluster says; may be repeated", NULL, 0, 0, NULL },
        { "ignore-racks", 0, RP_OPT_FLAG, offsetof(struct rp_place_args, ignore_racks), NULL,
          "brokers: do not spread over racks", NULL, 0, 0, NULL },
        { "out", 0, RP_OPT_PATH, offsetof(struct rp_place_args, out_path), "FILE",
          "brokers: write the plan, and FILE.rollback.json beside it; neither may exist", NULL, 0, 0, NULL },
        RP_TIMEOUT_OPTION(struct rp_place_args),
        RP_COMMON_OPTIONS(struct rp_place_args),
        { 0 },
};
static const struct rp_option *const tables[] = { options, NULL };

static const char *option_of_locations(const struct rp_place_args *args)
{
        return args->partitions ? "--partitions" : args->current_file ? "--current" : args->rule_topic ? "--topic" : NULL;
}

static const char *option_of_brokers(const struct rp_place_args *args)
{
        return args->client.bootstrap        ? "--bootstrap-server"
               : args->client.config_file    ? "--config-file"
               : args->client.properties.cnt ? "--property"
               : args->assignment_file       ? "--assignment"
               : args->capacity_file         ? "--capacity-file"
               : args->racks.cnt             ? "--racks"
               : args->ignore_racks          ? "--ignore-racks"
               : args->out_path              ? "--out"
                                             : NULL;
}

static int run(void *raw, char **operands, int operand_cnt)
{
        const struct rp_place_args *args = raw;
        const char *locations = option_of_locations(args), *brokers = option_of_brokers(args);
        bool has_cluster = args->client.bootstrap || args->client.config_file || args->client.properties.cnt;
        struct rp_error err;

        if (rp_topic_names_check((const char *const *)operands, (size_t)operand_cnt, &err) != RP_OK)
                return rp_die("place", &err);
        if (locations && (brokers || operand_cnt))
                rp_fail(&err, RP_ERR_USAGE, "%s places partitions at locations, %s replicas on brokers; use one of them",
                        locations, brokers ? brokers : "a topic");
        else if (locations)
                return rp_place_at_locations(args);
        else if (args->assignment_file && has_cluster)
                rp_fail(&err, RP_ERR_USAGE, "--assignment stands for a cluster; leave %s out", brokers);
        else if (args->assignment_file || (has_cluster && operand_cnt))
                return rp_place_on_brokers(args, operands, (size_t)operand_cnt);
        else if (operand_cnt)
                rp_fail(&err, RP_ERR_USAGE, "where is topic \"%.100s\"? Name its cluster by -b HOST:PORT, or a file by "
                        "--assignment", operands[0]);
        else if (brokers)
                rp_fail(&err, RP_ERR_USAGE, "expected the topics whose replicas are to be placed");
        else
                rp_fail(&err, RP_ERR_USAGE, "expected --partitions N (locations), or TOPIC... -b HOST:PORT (brokers); --help "
                        "shows both");
        return rp_die("place", &err);
}

const struct rp_command rp_cmd_place = {
        .name = "place",
        .operands = "[TOPIC...]",
        .summary = "Shares partitions out among unequal locations or brokers",
        .description =
                "Two forms, which never write to Kafka.\n\n"
                "Locations (--partitions N): prints which partitions belong to which location, in the form that a policy\n"
                "has as \"locations\", on standard output; shares, spread and moves go to standard error. With --current\n"
                "the fewest partitions move. With --load partitions weigh what they were measured to weigh.\n\n"
                "Brokers (TOPIC... with -b, or --assignment FILE): plans replicas and preferred leaders in proportion to\n"
                "the brokers' capacities (equal without any), never two replicas of a partition on one broker, spread over\n"
                "racks as evenly as can be, with the fewest moves and then the fewest bytes. Prints what each broker has\n"
                "before and after; --out writes the JSON that kafka-reassign-partitions takes, and the way back beside\n"
                "it. Topics that are named together share one balance.\n\n"
                "With --output json everything is one object. docs/capacity.md tells the rules.",
        .examples = "  repartition place --partitions 30 --capacity site-a=6,site-b=6,site-c=3\n"
                    "  repartition place --current keyroute.json --topic orders --capacity site-a=6,site-b=9\n"
                    "  repartition place orders -b localhost:9092 --capacity 1=2,2=2,3=1 --out plan.json\n"
                    "  repartition place --assignment now.json --capacity-file capacity.json --racks 1=a,2=b,3=c\n",
        .options = tables,
        .args_size = sizeof(struct rp_place_args),
        .operand_min = 0,
        .operand_max = -1,
        .run = run,
};
