/* What the client's threads do: ask for one schema after the other, and settle what came of it. */
#include "client.h"

#include "compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define NS_PER_MS 1000000
#define PAUSE_MAX_MS 60000 /* that a registry may ask for */

/* What an errand brings home, and what there is to tell. */
struct outcome {
        kr_fetch_t rc;
        struct kr_fetched fetched;
        struct kr_shared_plan *plan; /* OK: new, not yet shared */
        int64_t retry_after_ms;
        struct kr_error err;
        struct kr_error compile_err; /* why the plan is empty */
        int level;                   /* of the line in `line`, when there is one */
        struct kr_error line;
};

static void tell(struct outcome *outcome, int level, const char *text)
{
        outcome->level = level;
        snprintf(outcome->line.text, sizeof(outcome->line.text), "%s", text);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static bool subject_path(const struct kr_schema_view *view, char *path, size_t size)
{
        snprintf(path, size, "/subjects/");
        if (view->subject)
                return kr_http_encode(path, size - 64, view->subject);
        return kr_http_encode(path, size - 64, view->topic) && strcat(path, "-key");
}

static bool path_of(const struct kr_cache_key *key, char *path, size_t size)
{
        const struct kr_schema_view *view = key->view;
        const unsigned char *g = key->guid;

        switch (key->kind) {
        case KR_KEY_BY_ID:
                snprintf(path, size, "/schemas/ids/%" PRId64, key->id);
                /* An id means a schema of the subject's context, where registries have contexts. */
                return !view->subject || (strcat(path, "?subject="), kr_http_encode(path, size, view->subject));
        case KR_KEY_BY_GUID:
                snprintf(path, size, "/schemas/guids/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                         g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12], g[13], g[14],
                         g[15]);
                return true;
        case KR_KEY_BY_SUBJECT:
                if (!subject_path(view, path, size))
                        return false;
                snprintf(path + strlen(path), 40, "/versions/%.20s", view->version);
                return true;
        case KR_KEY_AHEAD:
                return subject_path(view, path, size) && strcat(path, "/versions");
        }
        return false;
}

/* Outside of the lock, since a plan takes its time. NULL when memory is out. */
static struct kr_shared_plan *compile(const struct kr_schema_view *view, const struct kr_fetched *fetched,
                                      struct kr_error *err)
{
        struct kr_shared_plan *plan = calloc(1, sizeof(*plan));

        if (!plan)
                return NULL;
        plan->plan = kr_schema_compile(fetched->schema, (const char *const *)fetched->references, fetched->reference_cnt,
                                       &view->projection, err);
        plan->view = view;
        memcpy(plan->digest, fetched->digest, sizeof(plan->digest));
        return plan;
}

struct kr_avro_plan *kr_view_plan(struct kr_schema_view *view, const char *which, struct kr_error *err)
{
        struct kr_cache_key key = { .view = view, .kind = KR_KEY_BY_ID };
        struct kr_http *http = NULL;
        struct kr_fetched fetched = { .id = -1 };
        struct kr_avro_plan *plan = NULL;
        char path[2048], *end;

        key.id = strtoll(which, &end, 10);
        if (*end || end == which || key.id < 1) {
                key = (struct kr_cache_key){ .view = view, .kind = KR_KEY_BY_GUID };
                if (!kr_guid_parse(which, key.guid))
                        return snprintf(err->text, sizeof(err->text), "\"%.60s\" is no schema id and no GUID", which), NULL;
        }
        http = kr_http_new(&view->client->closing);
        if (!http)
                snprintf(err->text, sizeof(err->text), "out of memory for a request");
        else if (!path_of(&key, path, sizeof(path)))
                snprintf(err->text, sizeof(err->text), "a subject's name is too long");
        else if (kr_fetch_schema(http, &view->registry->endpoint, path, &fetched, err) == KR_FETCH_OK)
                plan = kr_schema_compile(fetched.schema, (const char *const *)fetched.references, fetched.reference_cnt,
                                         &view->projection, err);
        kr_fetched_release(&fetched);
        kr_http_free(http);
        return plan;
}

static void settle(struct kr_worker *worker, struct kr_entry *entry, struct outcome *outcome);

/* Without the lock: says what came of an errand, and frees the plan that settle() left, since nobody took it over. */
static void conclude(struct kr_schema_client *client, struct outcome *outcome)
{
        if (*outcome->line.text)
                kr_client_log(client, outcome->level, outcome->line.text);
        if (outcome->plan) {
                kr_avro_plan_free(outcome->plan->plan);
                free(outcome->plan);
        }
}

/* Enters what was read ahead as if a record had asked for it. */
static void enter_ahead(struct kr_worker *worker, const struct kr_cache_key *key, struct kr_fetched *fetched)
{
        struct kr_schema_client *client = worker->client;
        struct outcome outcome = { .rc = KR_FETCH_OK, .fetched = *fetched };
        struct kr_entry *entry;

        outcome.plan = compile(key->view, fetched, &outcome.compile_err);
        pthread_mutex_lock(&client->lock);
        entry = kr_cache_find(&client->cache, key);
        if (!entry)
                entry = kr_cache_insert(&client->cache, key);
        /* An errand that was left for it meanwhile finds it done. */
        if (entry && outcome.plan && !entry->is_running)
                settle(worker, entry, &outcome);
        pthread_mutex_unlock(&client->lock);
        conclude(client, &outcome);
}

static void read_ahead(struct kr_worker *worker, struct kr_entry *entry, const char *path, struct outcome *outcome)
{
        const struct kr_schema_view *view = entry->key.view;
        int64_t versions[KR_VERSION_MAX];
        size_t cnt;
        char one[2048];

        outcome->rc = kr_fetch_versions(worker->http, &view->registry->endpoint, path, versions, &cnt,
                                        &outcome->retry_after_ms, &outcome->err);
        /* The newest first: the next record is most likely one of its. */
        while (outcome->rc == KR_FETCH_OK && cnt-- > 0) {
                struct kr_cache_key key = { .view = view, .kind = KR_KEY_BY_ID };
                struct kr_fetched fetched;

                snprintf(one, sizeof(one), "%.2000s/%" PRId64, path, versions[cnt]);
                outcome->rc = kr_fetch_schema(worker->http, &view->registry->endpoint, one, &fetched, &outcome->err);
                outcome->retry_after_ms = fetched.retry_after_ms;
                if (outcome->rc == KR_FETCH_ABSENT || outcome->rc == KR_FETCH_FOREIGN) {
                        outcome->rc = KR_FETCH_OK; /* deleted meanwhile, or not for us */
                        continue;
                }
                if (outcome->rc != KR_FETCH_OK)
                        break;
                key.id = fetched.id;
                if (fetched.id > 0)
                        enter_ahead(worker, &key, &fetched);
                if (fetched.has_guid) {
                        key.kind = KR_KEY_BY_GUID;
                        key.id = 0;
                        memcpy(key.guid, fetched.guid, sizeof(key.guid));
                        enter_ahead(worker, &key, &fetched);
                }
                kr_fetched_release(&fetched);
        }
        if (outcome->rc == KR_FETCH_ABSENT) /* the topic's first producer has not registered it yet, or calls it otherwise */
                outcome->rc = KR_FETCH_OK;
}

static void go(struct kr_worker *worker, struct kr_entry *entry, struct outcome *outcome)
{
        const struct kr_schema_view *view = entry->key.view;
        char path[2048];

        *outcome = (struct outcome){ .rc = KR_FETCH_FOREIGN, .fetched = { .id = -1 } };
        if (!path_of(&entry->key, path, sizeof(path)))
                snprintf(outcome->err.text, sizeof(outcome->err.text), "registry %.60s: a subject's name is too long",
                         view->registry->conf->name);
        else if (entry->key.kind == KR_KEY_AHEAD)
                read_ahead(worker, entry, path, outcome);
        else {
                outcome->rc = kr_fetch_schema(worker->http, &view->registry->endpoint, path, &outcome->fetched,
                                              &outcome->err);
                outcome->retry_after_ms = outcome->fetched.retry_after_ms;
                if (outcome->rc == KR_FETCH_OK) {
                        outcome->plan = compile(view, &outcome->fetched, &outcome->compile_err);
                        if (!outcome->plan)
                                outcome->rc = KR_FETCH_BAD;
                }
        }
        if (atomic_load(&worker->client->closing))
                outcome->rc = KR_FETCH_CANCELLED;
}

/* ---- settling, under the lock ---------------------------------------------------------------------------------- */

/* Between half of ms and all of it, so that the producers of a fleet do not come back all at once. */
static int64_t jittered(int64_t ms)
{
        uint64_t random = (uint64_t)kr_now() * 0x9e3779b97f4a7c15u;

        return (ms - ms / 2 + (int64_t)((random >> 33) % (uint64_t)(ms / 2 + 1))) * NS_PER_MS;
}

/* The pause before the n-th new try: doubling, then as long as a failure is believed. */
static int64_t backoff(const struct kr_registry_conf *conf, unsigned attempt)
{
        int64_t ms = conf->negative_ttl_ms;

        if (attempt <= conf->retries && (int64_t)100 << (attempt - 1) < ms)
                ms = (int64_t)100 << (attempt - 1);
        return jittered(ms);
}

static void tell_once(struct kr_schema_client *client, struct kr_entry *entry, struct outcome *outcome, const char *text)
{
        if (entry->was_told || client->told_cnt > KR_TOLD_MAX)
                return;
        entry->was_told = true;
        if (++client->told_cnt > KR_TOLD_MAX)
                tell(outcome, LOG_WARNING, "more schemas have no answer; the next ones are not logged one by one");
        else
                tell(outcome, LOG_WARNING, text);
}

static void give_up(struct kr_schema_client *client, struct kr_entry *entry, struct outcome *outcome,
                    const struct kr_registry_conf *conf)
{
        entry->state = KR_ENTRY_BAD;
        entry->attempt_cnt = 0;
        atomic_store(&entry->quiet_until, kr_now() + conf->negative_ttl_ms * NS_PER_MS);
        tell_once(client, entry, outcome, outcome->err.text);
}

/* The first schema of an id stays its only one: data of one schema must not come to be read by another. */
static void settle_lie(struct kr_schema_client *client, struct kr_entry *entry, struct outcome *outcome,
                       const struct kr_registry_conf *conf)
{
        client->counts.lies++;
        snprintf(outcome->err.text, sizeof(outcome->err.text),
                 "registry %.60s gives another schema than before for id %" PRId64 ": it is not used%s", conf->name,
                 entry->key.id, atomic_load(&entry->plan) ? ", the first one stays in force"
                                                          : ", and keys with this id stay unresolved until the first "
                                                            "one is back");
        entry->was_told &= entry->has_lied;
        entry->has_lied = true;
        if (atomic_load(&entry->plan))
                tell_once(client, entry, outcome, outcome->err.text);
        else
                give_up(client, entry, outcome, conf);
}

static void settle_plan(struct kr_schema_client *client, struct kr_entry *entry, struct outcome *outcome,
                        const struct kr_registry_conf *conf)
{
        struct kr_shared_plan *shared;
        char text[sizeof(outcome->err.text)];

        if (entry->has_digest && memcmp(entry->digest, outcome->plan->digest, sizeof(entry->digest))) {
                settle_lie(client, entry, outcome, conf);
                return;
        }
        if (atomic_load(&entry->plan))
                return;
        entry->has_digest = true;
        memcpy(entry->digest, outcome->plan->digest, sizeof(entry->digest));
        shared = kr_cache_shared(&client->cache, entry->key.view, entry->digest);
        if (!shared) {
                shared = outcome->plan;
                outcome->plan = NULL;
                kr_cache_share(&client->cache, shared);
        }
        kr_cache_publish(&client->cache, entry, shared);
        entry->attempt_cnt = 0;
        client->counts.resolved++;
        if (!shared->plan) {
                snprintf(text, sizeof(text), "registry %.60s: keys of schema %" PRId64 " cannot be taken apart: %.300s",
                         conf->name, entry->key.id, outcome->compile_err.text);
                tell_once(client, entry, outcome, text);
        }
}

static void settle(struct kr_worker *worker, struct kr_entry *entry, struct outcome *outcome)
{
        struct kr_schema_client *client = worker->client;
        const struct kr_schema_view *view = entry->key.view;
        struct kr_registry *registry = view->registry;
        const struct kr_registry_conf *conf = registry->conf;
        int64_t pause;

        if (outcome->rc == KR_FETCH_CANCELLED)
                return;
        if (outcome->rc != KR_FETCH_OK)
                client->counts.failures++;
        if (outcome->rc == KR_FETCH_DOWN) {
                registry->failure_cnt++;
                pause = backoff(conf, registry->failure_cnt);
                if (outcome->retry_after_ms > PAUSE_MAX_MS)
                        outcome->retry_after_ms = PAUSE_MAX_MS;
                if (outcome->retry_after_ms * NS_PER_MS > pause)
                        pause = outcome->retry_after_ms * NS_PER_MS;
                registry->probe_at = kr_now() + pause;
                if (!registry->was_told) {
                        registry->was_told = true;
                        tell(outcome, LOG_WARNING, outcome->err.text);
                }
                entry->state = KR_ENTRY_NEW;
                kr_errand_add(client, entry, 0); /* held back until probe_at */
                return;
        }
        if (registry->was_told) {
                registry->was_told = false;
                snprintf(outcome->line.text, sizeof(outcome->line.text), "registry %.60s answers again", conf->name);
                outcome->level = LOG_NOTICE;
        }
        registry->failure_cnt = 0;
        registry->is_silent = false;
        if (entry->key.kind == KR_KEY_AHEAD && outcome->rc == KR_FETCH_OK)
                entry->state = KR_ENTRY_READY; /* done; never asked for by a record */
        else if (outcome->rc == KR_FETCH_OK)
                settle_plan(client, entry, outcome, conf);
        else if (outcome->rc == KR_FETCH_BAD && entry->attempt_cnt++ < conf->retries) {
                entry->state = KR_ENTRY_NEW;
                kr_errand_add(client, entry, kr_now() + backoff(conf, entry->attempt_cnt));
        } else
                give_up(client, entry, outcome, conf);
}

/* ---- the threads ----------------------------------------------------------------------------------------------- */

/* The first errand that may be run; else NULL, and when there may be one. */
static struct kr_entry *take(struct kr_schema_client *client, int64_t *when)
{
        int64_t now = kr_now();

        *when = now + (int64_t)3600 * 1000 * NS_PER_MS;
        for (struct kr_entry **at = &client->queue; *at; at = &(*at)->queue_next) {
                struct kr_entry *entry = *at;
                struct kr_registry *registry = ((const struct kr_schema_view *)entry->key.view)->registry;
                int64_t due = entry->due;

                /* Of a registry that does not answer only one thing is asked at a time. */
                if (registry->failure_cnt && registry->asking_cnt)
                        continue;
                if (registry->failure_cnt && registry->probe_at > due)
                        due = registry->probe_at;
                if (due > now) {
                        if (due < *when)
                                *when = due;
                        continue;
                }
                *at = entry->queue_next;
                entry->is_queued = false;
                client->queue_cnt--;
                if (atomic_load(&entry->plan)) { /* was read ahead meanwhile */
                        entry->state = KR_ENTRY_READY;
                        return take(client, when);
                }
                return entry;
        }
        return NULL;
}

static void run(struct kr_worker *worker, struct kr_entry *entry)
{
        struct kr_schema_client *client = worker->client;
        struct kr_registry *registry = ((const struct kr_schema_view *)entry->key.view)->registry;
        struct outcome outcome;

        entry->is_running = true;
        registry->asking_cnt++;
        pthread_mutex_unlock(&client->lock);
        go(worker, entry, &outcome);
        pthread_mutex_lock(&client->lock);
        registry->asking_cnt--;
        entry->is_running = false;
        settle(worker, entry, &outcome);
        pthread_cond_broadcast(&client->answered);
        pthread_cond_broadcast(&client->errands); /* the registry may answer again */
        pthread_mutex_unlock(&client->lock);
        conclude(client, &outcome);
        kr_fetched_release(&outcome.fetched);
        kr_cache_reclaim(&client->cache, &client->lock);
        pthread_mutex_lock(&client->lock);
}

void *kr_errands_run(void *opaque)
{
        struct kr_worker *worker = opaque;
        struct kr_schema_client *client = worker->client;
        struct kr_entry *entry;
        int64_t when;

        pthread_mutex_lock(&client->lock);
        while (!atomic_load(&client->closing)) {
                entry = take(client, &when);
                if (entry) {
                        run(worker, entry);
                        continue;
                }
                client->idle_cnt++;
                kr_client_wait(client, &client->errands, when);
                client->idle_cnt--;
        }
        pthread_mutex_unlock(&client->lock);
        return NULL;
}
