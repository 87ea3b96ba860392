/* repartition place --partitions N: partitions at locations. */
#include "cli/place.h"
#include "report/json.h"
#include "report/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One placement from the arguments to the report. Zeroed, then filled step by step. */
struct job {
        const struct rp_place_args *args;
        struct rp_named_list capacities;  /* by name */
        kr_policy_t *policy;              /* --current names one of these two, or none */
        const kr_rule_t *rule;
        kr_locations_t *locations;
        int32_t partition_cnt;
        int32_t *before, *owners;         /* by partition: an index into capacities, or -1 */
        struct rp_loads loads;
        uint64_t *weights;                /* by partition; NULL: they count alike */
};

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct rp_named *)a)->name, ((const struct rp_named *)b)->name);
}

static rp_err_t read_capacities(struct job *job, struct rp_error *err)
{
        bool any = false;

        if (rp_place_capacities(job->args, &job->capacities, err) != RP_OK)
                return err->code;
        if (!job->capacities.cnt)
                return rp_fail(err, RP_ERR_USAGE, "--capacity is missing: the locations, such as --capacity "
                               "site-a=6,site-b=6,site-c=3");
        qsort(job->capacities.items, job->capacities.cnt, sizeof(*job->capacities.items), by_name);
        for (size_t i = 0; i < job->capacities.cnt; i++)
                any = any || job->capacities.items[i].capacity;
        return any ? RP_OK : rp_fail(err, RP_ERR_USAGE, "--capacity: every capacity is 0: no location is left");
}

/* A policy says what it is; anything else is read as a location file, which complains for itself. */
static bool is_policy(const char *path)
{
        json_t *document = json_load_file(path, 0, NULL);
        bool found = json_object_get(document, "keyroute");

        json_decref(document);
        return found;
}

static rp_err_t read_current(struct job *job, struct rp_error *err)
{
        const struct rp_place_args *args = job->args;
        struct rp_policy_args policy_args = { .policy_file = args->current_file };
        struct kr_error why;

        if (args->current_file && is_policy(args->current_file)) {
                job->policy = kr_policy_load(args->current_file, &why);
                if (!job->policy)
                        return rp_fail(err, RP_ERR_USAGE, "%s", why.text);
                job->rule = rp_rule_from_args(&policy_args, job->policy, args->rule_topic, err);
                if (!job->rule)
                        return err->code;
                job->partition_cnt = rp_partition_cnt_from_args(&policy_args, job->rule, args->partitions, err);
                return job->partition_cnt ? RP_OK : err->code;
        }
        if (args->rule_topic)
                return rp_fail(err, RP_ERR_USAGE, "--topic chooses a rule of the policy that --current names; there is none");
        if (!args->partitions)
                return rp_fail(err, RP_ERR_USAGE, "--partitions N is missing");
        job->partition_cnt = (int32_t)args->partitions;
        if (args->current_file) {
                job->locations = kr_locations_load(args->current_file, job->partition_cnt, &why);
                if (!job->locations)
                        return rp_fail(err, RP_ERR_USAGE, "%s", why.text);
        }
        return RP_OK;
}

static rp_err_t find_owners(struct job *job, struct rp_error *err)
{
        job->before = calloc((size_t)job->partition_cnt, sizeof(*job->before));
        job->owners = calloc((size_t)job->partition_cnt, sizeof(*job->owners));
        if (!job->before || !job->owners)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (int32_t p = 0; p < job->partition_cnt; p++) {
                const char *name = job->rule        ? kr_rule_location(job->rule, p)
                                   : job->locations ? kr_locations_name(job->locations, p)
                                                    : NULL;
                const struct rp_named *location = name ? rp_named_find(&job->capacities, name) : NULL;

                if (name && !location)
                        return rp_fail(err, RP_ERR_USAGE, "%.200s: partition %" PRId32 " is at \"%.100s\", which --capacity "
                                       "does not name; \"%.100s=0\" empties it", job->args->current_file, p, name, name);
                job->before[p] = job->owners[p] = location ? (int32_t)(location - job->capacities.items) : -1;
        }
        return RP_OK;
}

static rp_err_t read_weights(struct job *job, struct rp_error *err)
{
        const char *path = job->args->loads.cnt ? job->args->loads.items[0] : NULL;
        bool *is_known;
        rp_err_t rc = RP_OK;

        if (!path)
                return RP_OK;
        if (job->args->loads.cnt > 1)
                return rp_fail(err, RP_ERR_USAGE, "--load: one file tells the weights of one topic's partitions");
        if (rp_place_loads(job->args, &job->loads, err) != RP_OK)
                return err->code;
        job->weights = calloc((size_t)job->partition_cnt, sizeof(*job->weights));
        is_known = calloc((size_t)job->partition_cnt, sizeof(*is_known));
        if (!job->weights || !is_known)
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; rc == RP_OK && i < job->loads.cnt; i++) {
                const struct rp_load *load = &job->loads.items[i], *first = &job->loads.items[0];

                if (strcmp(load->topic ? load->topic : "", first->topic ? first->topic : ""))
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: it tells of several topics, \"%.60s\" and \"%.60s\"", path,
                                     first->topic ? first->topic : "", load->topic);
                else if (load->partition >= job->partition_cnt)
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: it has a partition %" PRId32 "; the highest is %" PRId32,
                                     path, load->partition, job->partition_cnt - 1);
                else {
                        job->weights[load->partition] = load->weight;
                        is_known[load->partition] = true;
                }
        }
        for (int32_t p = 0; rc == RP_OK && p < job->partition_cnt; p++)
                if (!is_known[p])
                        rc = rp_fail(err, RP_ERR_USAGE, "%.200s: partition %" PRId32 " has no weight", path, p);
        free(is_known);
        return rc;
}

static rp_err_t place(struct job *job, struct rp_error *err)
{
        uint64_t *capacities = calloc(job->capacities.cnt, sizeof(*capacities));
        bool ok = capacities;

        for (size_t i = 0; ok && i < job->capacities.cnt; i++)
                capacities[i] = job->capacities.items[i].capacity;
        ok = ok && kr_place(capacities, job->capacities.cnt, job->weights, job->owners, (size_t)job->partition_cnt);
        free(capacities);
        return ok ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");
}

static rp_err_t report(const struct job *job, struct rp_error *err)
{
        struct rp_location_share *shares = calloc(job->capacities.cnt, sizeof(*shares));
        struct rp_location_report report = { .shares = shares,
                                             .cnt = job->capacities.cnt,
                                             .partition_cnt = job->partition_cnt,
                                             .owners = job->owners,
                                             .had_current = job->args->current_file,
                                             .unit = job->weights ? job->loads.unit : NULL };

        if (!shares)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (size_t i = 0; i < report.cnt; i++)
                shares[i] = (struct rp_location_share){ .name = job->capacities.items[i].name,
                                                        .capacity = job->capacities.items[i].capacity };
        for (int32_t p = 0; p < job->partition_cnt; p++) {
                uint64_t weight = job->weights ? job->weights[p] : 1;

                shares[job->owners[p]].partitions++;
                shares[job->owners[p]].weight += weight;
                if (job->before[p] < 0) {
                        report.unplaced++;
                        continue;
                }
                shares[job->before[p]].partitions_before++;
                shares[job->before[p]].weight_before += weight;
                report.moves += job->before[p] != job->owners[p];
        }
        if (rp_is_json(&job->args->common)) {
                rp_json_print(rp_location_report_json(&report), stdout);
        } else {
                rp_json_print(rp_locations_json(&report), stdout);
                if (!job->args->common.quiet)
                        rp_location_report_print(&report, stderr);
        }
        free(shares);
        return RP_OK;
}

int rp_place_at_locations(const struct rp_place_args *args)
{
        struct job job = { .args = args };
        struct rp_error err;
        int rc = RP_EXIT_CLEAN;

        if (read_capacities(&job, &err) != RP_OK || read_current(&job, &err) != RP_OK ||
            find_owners(&job, &err) != RP_OK || read_weights(&job, &err) != RP_OK || place(&job, &err) != RP_OK ||
            report(&job, &err) != RP_OK)
                rc = rp_die("place", &err);
        rp_named_release(&job.capacities);
        rp_loads_release(&job.loads);
        kr_policy_free(job.policy);
        kr_locations_free(job.locations);
        free(job.before);
        free(job.owners);
        free(job.weights);
        return rc;
}
