/* repartition place TOPIC...: replicas and leaders on brokers. */
#include "cli/place.h"
#include "io/replicas.h"
#include "io/text_file.h"
#include "report/json.h"
#include "report/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One plan from the arguments to the files. Zeroed, then filled step by step. */
struct job {
        const struct rp_place_args *args;
        char *const *topics;
        size_t topic_cnt;
        struct rp_named_list given;      /* --capacity */
        struct rp_named_list file;       /* --capacity-file */
        struct rp_named_list racks;      /* --racks */
        struct rp_loads loads;
        struct rp_client_config config;
        struct rp_live live;             /* its brokers only with a cluster; the assignment in any case */
        struct rp_broker *brokers;       /* by rising id */
        const char **rack_names;         /* beside them */
        size_t broker_cnt;
        const char *unit;
        struct rp_placement plan;
        char *rollback_path;
};

static bool is_live(const struct job *job)
{
        return !job->args->assignment_file;
}

/* ---- gathering -------------------------------------------------------------------------------------------------- */

static rp_err_t read_options(struct job *job, struct rp_error *err)
{
        const struct rp_place_args *args = job->args;
        static const char *const resources[][2] = { { "disk", "DISK" }, { "nw-in", "NW_IN" }, { "nw-out", "NW_OUT" } };
        rp_err_t rc = rp_place_capacities(args, &job->given, err);
        int32_t id;

        for (size_t i = 0; rc == RP_OK && i < job->given.cnt; i++)
                if (!rp_broker_id_parse(job->given.items[i].name, &id))
                        rc = rp_fail(err, RP_ERR_USAGE, "--capacity: expected a broker's number, got \"%.60s\" (locations "
                                     "are placed with --partitions N)", job->given.items[i].name);
        for (size_t i = 0; rc == RP_OK && args->capacity_file && i < sizeof(resources) / sizeof(resources[0]); i++)
                if (!strcmp(args->resource, resources[i][0]))
                        rc = rp_capacity_file_load(&job->file, args->capacity_file, resources[i][1], err);
        for (size_t i = 0; rc == RP_OK && i < args->racks.cnt; i++)
                rc = rp_racks_parse(&job->racks, args->racks.items[i], "--racks", err);
        if (rc == RP_OK && args->racks.cnt && args->ignore_racks)
                rc = rp_fail(err, RP_ERR_USAGE, "--racks and --ignore-racks exclude each other");
        return rc == RP_OK ? rp_place_loads(args, &job->loads, err) : rc;
}

static rp_err_t read_cluster(struct job *job, struct rp_error *err)
{
        const struct rp_place_args *args = job->args;
        struct rp_live_request request = { .client = &job->config,
                                           .topics = job->topics,
                                           .topic_cnt = job->topic_cnt,
                                           .racks = !args->racks.cnt && !args->ignore_racks,
                                           .records = !args->loads.cnt,
                                           .timeout_ms = (int)args->timeout_ms };

        if (rp_client_config_read(&job->config, args->client.config_file, args->client.properties.items,
                                  args->client.properties.cnt, args->client.bootstrap, err) != RP_OK ||
            rp_live_read(&job->live, &request, err) != RP_OK)
                return err->code;
        job->unit = args->loads.cnt ? NULL : "records";
        if (job->live.uncounted_cnt && !args->common.quiet)
                fprintf(stderr, "repartition place: %zu partitions have no leader; their records count as 0\n",
                        job->live.uncounted_cnt);
        return RP_OK;
}

static rp_err_t read_assignment(struct job *job, struct rp_error *err)
{
        for (size_t i = 0; i < job->topic_cnt; i++)
                for (size_t j = 0; j < i; j++)
                        if (!strcmp(job->topics[i], job->topics[j]))
                                return rp_fail(err, RP_ERR_USAGE, "topic \"%.100s\" is named twice", job->topics[i]);
        return is_live(job) ? read_cluster(job, err)
                            : rp_assignment_load(&job->live.assignment, job->args->assignment_file, job->topics,
                                                 job->topic_cnt, err);
}

static rp_err_t apply_loads(struct job *job, struct rp_error *err)
{
        struct rp_assignment *assignment = &job->live.assignment;
        const char *first = assignment->items[0].topic, *last = assignment->items[assignment->cnt - 1].topic;
        bool *is_known;
        rp_err_t rc = RP_OK;

        if (!job->loads.cnt)
                return RP_OK;
        job->unit = job->loads.unit;
        is_known = calloc(assignment->cnt, sizeof(*is_known));
        if (!is_known)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; rc == RP_OK && i < job->loads.cnt; i++) {
                const struct rp_load *load = &job->loads.items[i];
                struct rp_holding *holding = rp_assignment_find(assignment, load->topic ? load->topic : first,
                                                                load->partition);

                if (!load->topic && strcmp(first, last))
                        rc = rp_fail(err, RP_ERR_USAGE, "--load: a weight without its topic, and several topics are placed; "
                                     "write TOPIC, PARTITION and WEIGHT with tabs between");
                if (!holding)
                        continue; /* of a topic that is not placed here */
                holding->weight = load->weight;
                is_known[holding - assignment->items] = true;
        }
        for (size_t p = 0; rc == RP_OK && p < assignment->cnt; p++)
                if (!is_known[p])
                        rc = rp_fail(err, RP_ERR_USAGE, "--load: partition %" PRId32 " of topic \"%.100s\" has no weight",
                                     assignment->items[p].partition, assignment->items[p].topic);
        free(is_known);
        return rc;
}

/* ---- brokers ---------------------------------------------------------------------------------------------------- */

static const struct rp_live_broker *find_live(const struct job *job, int32_t id)
{
        for (size_t b = 0; b < job->live.broker_cnt; b++)
                if (job->live.brokers[b].id == id)
                        return &job->live.brokers[b];
        return NULL;
}

static bool is_listed(const struct job *job, int32_t id)
{
        for (size_t b = 0; b < job->broker_cnt; b++)
                if (job->brokers[b].id == id)
                        return true;
        return false;
}

static rp_err_t add_broker(struct job *job, int32_t id, struct rp_error *err)
{
        if (is_listed(job, id))
                return RP_OK;
        if (job->broker_cnt == RP_PLACE_BROKER_MAX)
                return rp_fail(err, RP_ERR_USAGE, "there are more than %d brokers", RP_PLACE_BROKER_MAX);
        job->brokers[job->broker_cnt++].id = id;
        return RP_OK;
}

static rp_err_t add_named_brokers(struct job *job, const struct rp_named_list *list, struct rp_error *err)
{
        rp_err_t rc = RP_OK;
        int32_t id;

        for (size_t i = 0; rc == RP_OK && i < list->cnt; i++)
                if (rp_broker_id_parse(list->items[i].name, &id))
                        rc = add_broker(job, id, err);
        return rc;
}

static int by_id(const void *a, const void *b)
{
        const struct rp_broker *x = a, *y = b;

        return (x->id > y->id) - (x->id < y->id);
}

/* Everyone who is up or holds something; without a cluster, also who is named. */
static rp_err_t list_brokers(struct job *job, struct rp_error *err)
{
        const struct rp_assignment *assignment = &job->live.assignment;
        rp_err_t rc = RP_OK;

        job->brokers = calloc(RP_PLACE_BROKER_MAX, sizeof(*job->brokers));
        job->rack_names = calloc(RP_PLACE_BROKER_MAX, sizeof(*job->rack_names));
        if (!job->brokers || !job->rack_names)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t b = 0; rc == RP_OK && b < job->live.broker_cnt; b++)
                rc = add_broker(job, job->live.brokers[b].id, err);
        for (size_t p = 0; rc == RP_OK && p < assignment->cnt; p++)
                for (int32_t r = 0; rc == RP_OK && r < assignment->items[p].replica_cnt; r++)
                        rc = add_broker(job, assignment->items[p].replicas[r], err);
        if (rc == RP_OK && !is_live(job)) {
                rc = add_named_brokers(job, &job->given, err);
                if (rc == RP_OK)
                        rc = add_named_brokers(job, &job->file, err);
        }
        qsort(job->brokers, job->broker_cnt, sizeof(*job->brokers), by_id);
        return rc;
}

static rp_err_t find_capacity(const struct job *job, struct rp_broker *broker, struct rp_error *err)
{
        bool is_down = is_live(job) && !find_live(job, broker->id);
        const struct rp_named *named;
        char name[16];

        snprintf(name, sizeof(name), "%" PRId32, broker->id);
        named = rp_named_find(&job->given, name);
        if (is_down && (!named || named->capacity))
                return rp_fail(err, RP_ERR_USAGE, "broker %s holds replicas and is down: bring it back, or empty it by "
                               "--capacity %s=0", name, name);
        if (!named)
                named = rp_named_find(&job->file, name);
        if (!named)
                named = rp_named_find(&job->file, RP_DEFAULT_BROKER);
        if (!named && (job->given.cnt || job->args->capacity_file))
                return rp_fail(err, RP_ERR_USAGE, "broker %s has no capacity: %.200s does not name it; 0 empties a broker",
                               name, job->args->capacity_file ? job->args->capacity_file : "--capacity");
        broker->capacity = named ? named->capacity : 1000000;
        return RP_OK;
}

static rp_err_t find_capacities(struct job *job, struct rp_error *err)
{
        rp_err_t rc = RP_OK;
        bool any = false;
        int32_t id;

        for (size_t i = 0; rc == RP_OK && i < job->given.cnt; i++)
                if (rp_broker_id_parse(job->given.items[i].name, &id) && !is_listed(job, id))
                        rc = rp_fail(err, RP_ERR_USAGE, "--capacity: there is no broker %" PRId32 " in the cluster", id);
        for (size_t b = 0; rc == RP_OK && b < job->broker_cnt; b++) {
                rc = find_capacity(job, &job->brokers[b], err);
                any = any || job->brokers[b].capacity;
        }
        if (rc == RP_OK && !any)
                rc = rp_fail(err, RP_ERR_USAGE, "every capacity is 0: no broker is left");
        return rc;
}

/* Brokers of one rack get one number. All have a rack, or none has. */
static rp_err_t find_racks(struct job *job, struct rp_error *err)
{
        const struct rp_broker *with = NULL, *without = NULL;

        for (size_t b = 0; b < job->broker_cnt; b++) {
                const struct rp_live_broker *live = find_live(job, job->brokers[b].id);
                const struct rp_named *named;
                char name[16];

                snprintf(name, sizeof(name), "%" PRId32, job->brokers[b].id);
                named = rp_named_find(&job->racks, name);
                job->rack_names[b] = named ? named->rack : live ? live->rack : NULL;
                if (!job->brokers[b].capacity)
                        continue; /* it takes nothing, so its rack is no matter */
                if (job->rack_names[b])
                        with = &job->brokers[b];
                else
                        without = &job->brokers[b];
        }
        if (with && without)
                return rp_fail(err, RP_ERR_USAGE, "broker %" PRId32 " has a rack and broker %" PRId32 " has none: give the "
                               "racks of all by --racks, or --ignore-racks", with->id, without->id);
        for (size_t b = 0; with && b < job->broker_cnt; b++)
                for (size_t a = 0; a <= b; a++)
                        if (a == b || (job->rack_names[a] && job->rack_names[b] &&
                                       !strcmp(job->rack_names[a], job->rack_names[b]))) {
                                job->brokers[b].rack = (int32_t)a;
                                break;
                        }
        return RP_OK;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static char *file_text(json_t *json)
{
        char *text = json_dumps(json, JSON_COMPACT), *line = NULL;

        json_decref(json);
        if (!text || asprintf(&line, "%s\n", text) < 0)
                abort();
        free(text);
        return line;
}

static rp_err_t write_files(struct job *job, struct rp_error *err)
{
        struct rp_text_file files[2];
        char *rollback, *next;
        rp_err_t rc;

        if (!job->args->out_path || !job->plan.changed_cnt)
                return RP_OK;
        if (asprintf(&job->rollback_path, "%s.rollback.json", job->args->out_path) < 0) {
                job->rollback_path = NULL;
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        rollback = file_text(rp_assignment_json(&job->live.assignment, &job->plan.next));
        next = file_text(rp_assignment_json(&job->plan.next, &job->live.assignment));
        files[0] = (struct rp_text_file){ job->rollback_path, rollback };
        files[1] = (struct rp_text_file){ job->args->out_path, next };
        rc = rp_text_files_write(files, 2, err);
        free(rollback);
        free(next);
        return rc;
}

static void report(const struct job *job)
{
        struct rp_placement_report report = { .plan = &job->plan,
                                         .current = &job->live.assignment,
                                         .racks = job->rack_names,
                                         .unit = job->unit,
                                         .out_path = job->rollback_path ? job->args->out_path : NULL,
                                         .rollback_path = job->rollback_path,
                                         .bootstrap = job->args->client.bootstrap };

        if (rp_is_json(&job->args->common))
                rp_json_print(rp_placement_report_json(&report), stdout);
        else
                rp_placement_report_print(&report, stdout);
}

int rp_place_on_brokers(const struct rp_place_args *args, char **topics, size_t topic_cnt)
{
        struct job job = { .args = args, .topics = topics, .topic_cnt = topic_cnt };
        struct rp_error err;
        int rc = RP_EXIT_CLEAN;

        if (read_options(&job, &err) == RP_OK && read_assignment(&job, &err) == RP_OK &&
            apply_loads(&job, &err) == RP_OK && list_brokers(&job, &err) == RP_OK &&
            find_capacities(&job, &err) == RP_OK && find_racks(&job, &err) == RP_OK &&
            rp_place_brokers(job.brokers, job.broker_cnt, &job.live.assignment, &job.plan, &err) == RP_OK &&
            write_files(&job, &err) == RP_OK)
                report(&job);
        else
                rc = rp_die("place", &err);
        rp_named_release(&job.given);
        rp_named_release(&job.file);
        rp_named_release(&job.racks);
        rp_loads_release(&job.loads);
        rp_client_config_release(&job.config);
        rp_live_release(&job.live);
        rp_placement_release(&job.plan);
        free(job.brokers);
        free(job.rack_names);
        free(job.rollback_path);
        return rc;
}
