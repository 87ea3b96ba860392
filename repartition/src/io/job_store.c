#include "io/job_store.h"

#include "io/kafka_progress.h"
#include "io/kafka_source.h"
#include "io/topic_ids.h"

#include <string.h>

enum { CLUSTER_ID_MS = 5000 };

static bool take(void *arg, const struct rp_record *rec)
{
        struct rp_job_store *store = arg;

        return rp_job_fold_add(&store->fold, rec->key, rec->key_len, rec->value, rec->value_len) &&
               (!store->beside || rp_job_fold_add(store->beside, rec->key, rec->key_len, rec->value, rec->value_len));
}

rp_err_t rp_job_store_read(struct rp_job_store *store, bool waits, int timeout_ms, struct rp_error *err)
{
        const struct rp_jobs_scan scan = { .waits = waits, .timeout_ms = timeout_ms, .take = take, .arg = store };

        return store->jobs ? rp_jobs_topic_scan(store->jobs, &scan, &store->fold.read_to, err) : RP_OK;
}

rp_err_t rp_job_store_open(struct rp_job_store *store, const struct rp_job_store_config *config, struct rp_error *err)
{
        bool is_wanted = strcmp(config->topic, "none") != 0;
        rp_err_t rc;

        *store = (struct rp_job_store){ .source = config->source, .beside = config->beside };
        if (!rp_job_fold_init(&store->fold, config->job))
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        store->fold.topics = config->source->topics;
        if (is_wanted && !rp_job_name_is_legal(config->job))
                return rp_job_fail_name(config->job, err);
        /* "none" is looked for as well: whoever wants no topic still needs to know which cluster is the target's. */
        rc = rp_jobs_topic_open(&store->target, config->target, is_wanted ? config->topic : RP_JOBS_TOPIC_DEFAULT,
                                config->timeout_ms, err);
        if (rc != RP_OK)
                return rc;
        rp_cluster_id(rp_kafka_source_client(config->source), CLUSTER_ID_MS, store->source_cluster);
        rp_cluster_id(rp_jobs_topic_client(store->target), CLUSTER_ID_MS, store->target_cluster);
        store->is_apart = strcmp(store->source_cluster, store->target_cluster) != 0;
        if (is_wanted && rp_jobs_topic_is_possible(store->target))
                store->jobs = store->target;
        if (store->is_apart && !store->jobs)
                return rp_fail(err, RP_ERR_USAGE, is_wanted ? "source and target are two clusters, so the progress must be kept "
                               "in topic \"%s\" of the target's, which makes no topics on request: create it with one "
                               "partition and cleanup.policy=compact" : "source and target are two clusters, so the progress "
                               "must be kept in a topic of the target's: not --jobs-topic %s", config->topic);
        return rp_job_store_read(store, false, config->timeout_ms, err);
}

void rp_job_store_close(struct rp_job_store *store)
{
        rp_jobs_topic_close(store->target);
        rp_job_fold_release(&store->fold);
        *store = (struct rp_job_store){ 0 };
}

rp_err_t rp_job_store_progress(struct rp_job_store *store, struct rp_progress *progress, int timeout_ms,
                               struct rp_error *err)
{
        rp_err_t rc;

        if (!store->is_apart)
                return rp_kafka_progress(store->source, progress, timeout_ms, err);
        rc = rp_job_store_read(store, true, timeout_ms, err);
        if (rc == RP_OK && !rp_job_fold_progress(&store->fold, store->source->topic, progress))
                rc = rp_fail(err, RP_ERR_FATAL, "out of memory");
        return rc;
}
