#include "client.h"

#include "compile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

static int64_t now_of(clockid_t clock)
{
        struct timespec time;

        clock_gettime(clock, &time);
        return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t kr_now_coarse(void)
{
        return now_of(CLOCK_MONOTONIC_COARSE);
}

int64_t kr_now(void)
{
        return now_of(CLOCK_MONOTONIC);
}

void kr_client_wait(struct kr_schema_client *client, pthread_cond_t *cond, int64_t until)
{
        struct timespec time = { until / 1000000000, until % 1000000000 };

        pthread_cond_timedwait(cond, &client->lock, &time);
}

/* ---- the log --------------------------------------------------------------------------------------------------- */

void kr_client_log(struct kr_schema_client *client, int level, const char *text)
{
        pthread_mutex_lock(&client->log_lock);
        if (client->log) {
                client->log(level, text, client->log_opaque);
        } else if (client->early_cnt < KR_EARLY_LINES) {
                client->early[client->early_cnt].level = level;
                snprintf(client->early[client->early_cnt++].text, sizeof(client->early[0].text), "%s", text);
        }
        pthread_mutex_unlock(&client->log_lock);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static bool init_sync(struct kr_schema_client *client)
{
        pthread_condattr_t attributes;
        bool ok;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        ok = !pthread_mutex_init(&client->lock, NULL) && !pthread_mutex_init(&client->log_lock, NULL) &&
             !pthread_cond_init(&client->answered, &attributes) && !pthread_cond_init(&client->errands, &attributes);
        pthread_condattr_destroy(&attributes);
        return ok;
}

struct kr_schema_client *kr_client_open(const struct kr_schemas_conf *conf, struct kr_error *err)
{
        struct kr_schema_client *client = aligned_alloc(_Alignof(struct kr_schema_client), sizeof(*client));

        if (client) {
                memset(client, 0, sizeof(*client));
                client->pid = getpid();
                client->registry_cnt = conf->registry_cnt;
                client->registries = calloc(conf->registry_cnt, sizeof(*client->registries));
                for (size_t i = 0; client->registries && i < conf->registry_cnt; i++) {
                        client->registries[i].conf = &conf->registries[i];
                        client->registries[i].endpoint.conf = &conf->registries[i];
                }
                if (client->registries && kr_cache_init(&client->cache, (size_t)conf->cache_cnt) && init_sync(client))
                        return client;
                kr_cache_release(&client->cache);
                free(client->registries);
                free(client);
        }
        snprintf(err->text, sizeof(err->text), "out of memory for the schema registries");
        return NULL;
}

static void free_view(struct kr_schema_view *view)
{
        for (size_t i = 0; i < view->projection.path_cnt; i++)
                free(view->paths[i]);
        free(view->paths);
        free(view->reader);
        free(view->subject);
        free(view->version);
        free(view->topic);
        free(view);
}

void kr_client_close(struct kr_schema_client *client)
{
        if (client->pid != getpid())
                return; /* see registry.h */
        pthread_mutex_lock(&client->lock);
        atomic_store(&client->closing, true);
        pthread_cond_broadcast(&client->errands);
        pthread_cond_broadcast(&client->answered);
        pthread_mutex_unlock(&client->lock);
        for (size_t i = 0; i < client->worker_cnt; i++)
                kr_http_wake(client->workers[i].http);
        for (size_t i = 0; i < client->worker_cnt; i++) {
                pthread_join(client->workers[i].thread, NULL);
                kr_http_free(client->workers[i].http);
        }
        kr_cache_release(&client->cache);
        while (client->views) {
                struct kr_schema_view *next = client->views->next;

                free_view(client->views);
                client->views = next;
        }
        pthread_cond_destroy(&client->errands);
        pthread_cond_destroy(&client->answered);
        pthread_mutex_destroy(&client->log_lock);
        pthread_mutex_destroy(&client->lock);
        free(client->registries);
        free(client);
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

static bool copy(const char *text, char **out)
{
        *out = text ? strdup(text) : NULL;
        return *out || !text;
}

static bool copy_projection(struct kr_schema_view *view, const struct kr_avro_projection *projection)
{
        view->projection.form = projection->form;
        view->paths = calloc(projection->path_cnt + 1, sizeof(*view->paths));
        if (!view->paths || !copy(projection->reader, &view->reader))
                return false;
        for (; view->projection.path_cnt < projection->path_cnt; view->projection.path_cnt++)
                if (!copy(projection->paths[view->projection.path_cnt], &view->paths[view->projection.path_cnt]))
                        return false;
        view->projection.paths = (const char *const *)view->paths;
        view->projection.reader = view->reader;
        return true;
}

/* The writers' schemas are not known yet, but whether the reader's holds the wanted fields is. */
static bool check_reader(const struct kr_avro_projection *projection, struct kr_error *err)
{
        struct kr_avro_plan *plan = projection->reader ? kr_schema_compile(projection->reader, NULL, 0, projection, err) : NULL;
        bool ok = plan || !projection->reader;

        kr_avro_plan_free(plan);
        return ok;
}

struct kr_schema_view *kr_client_view(struct kr_schema_client *client, const struct kr_schema_view_conf *conf,
                                      struct kr_error *err)
{
        struct kr_schema_view *view;

        if (!check_reader(&conf->projection, err))
                return NULL;
        view = calloc(1, sizeof(*view));
        if (view && copy_projection(view, &conf->projection) && copy(conf->subject, &view->subject) &&
            copy(conf->version, &view->version) && copy(conf->topic, &view->topic)) {
                view->client = client;
                view->registry = &client->registries[conf->registry];
                view->framed = conf->framed;
                view->id_len = conf->id_len;
                view->next = client->views;
                client->views = view;
                return view;
        }
        if (view)
                free_view(view);
        snprintf(err->text, sizeof(err->text), "out of memory for the schema registries");
        return NULL;
}

/* ---- errands --------------------------------------------------------------------------------------------------- */

/* A host's signals are not for threads that it does not know of. */
static void start_worker(struct kr_schema_client *client)
{
        struct kr_worker *worker = &client->workers[client->worker_cnt];
        sigset_t all, before;

        worker->client = client;
        worker->http = kr_http_new(&client->closing);
        if (!worker->http)
                return; /* those that run already will do it */
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        if (!pthread_create(&worker->thread, NULL, kr_errands_run, worker))
                client->worker_cnt++;
        else
                kr_http_free(worker->http);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool kr_errand_add(struct kr_schema_client *client, struct kr_entry *entry, int64_t due)
{
        struct kr_entry **at = &client->queue;

        if (entry->is_queued || entry->is_running)
                return true;
        if (client->queue_cnt >= KR_QUEUE_MAX || atomic_load(&client->closing))
                return false;
        while (*at)
                at = &(*at)->queue_next;
        *at = entry;
        entry->queue_next = NULL;
        entry->is_queued = true;
        entry->due = due;
        entry->state = KR_ENTRY_PENDING;
        client->queue_cnt++;
        if (!client->idle_cnt && client->worker_cnt < KR_WORKER_MAX)
                start_worker(client);
        pthread_cond_signal(&client->errands);
        return true;
}

static void add_errand_of(struct kr_schema_view *view, kr_cache_kind_t kind)
{
        struct kr_cache_key key = { .view = view, .kind = kind };
        struct kr_entry *entry = kr_cache_find(&view->client->cache, &key);

        if (!entry)
                entry = kr_cache_insert(&view->client->cache, &key);
        if (!entry)
                return;
        entry->is_pinned = true;
        if (entry->state == KR_ENTRY_NEW)
                kr_errand_add(view->client, entry, 0);
}

void kr_client_start(struct kr_schema_client *client, kr_log_fn *log, void *opaque)
{
        if (client->pid != getpid())
                return;
        pthread_mutex_lock(&client->log_lock);
        client->log = log;
        client->log_opaque = opaque;
        for (size_t i = 0; log && i < client->early_cnt; i++)
                log(client->early[i].level, client->early[i].text, opaque);
        if (log)
                client->early_cnt = 0;
        pthread_mutex_unlock(&client->log_lock);
        if (!log)
                return;
        pthread_mutex_lock(&client->lock);
        for (struct kr_schema_view *view = client->views; view; view = view->next) {
                if (view->subject)
                        add_errand_of(view, KR_KEY_BY_SUBJECT);
                if (view->framed && (view->subject || view->topic))
                        add_errand_of(view, KR_KEY_AHEAD);
        }
        pthread_mutex_unlock(&client->lock);
}

void kr_client_counts(struct kr_schema_client *client, struct kr_schema_counts *counts)
{
        pthread_mutex_lock(&client->lock);
        *counts = client->counts;
        counts->evictions = client->cache.eviction_cnt;
        counts->plans = client->cache.planned_cnt;
        counts->entries = client->cache.entry_cnt;
        for (size_t i = 0; i < client->registry_cnt; i++)
                counts->requests += atomic_load(&client->registries[i].endpoint.request_cnt);
        pthread_mutex_unlock(&client->lock);
}

/* ---- routing --------------------------------------------------------------------------------------------------- */

/* Whether waiting for this entry can still help. */
static bool is_worth_waiting(const struct kr_schema_client *client, const struct kr_registry *registry,
                             const struct kr_entry *entry)
{
        return entry->state == KR_ENTRY_PENDING && !atomic_load(&client->closing) &&
               registry->failure_cnt <= registry->conf->retries;
}

static void wait_for(struct kr_schema_client *client, struct kr_registry *registry, struct kr_entry *entry)
{
        client->counts.waits++;
        entry->waiter_cnt++; /* so that it stays */
        while (is_worth_waiting(client, registry, entry) && kr_now() < entry->wait_until)
                kr_client_wait(client, &client->answered, entry->wait_until);
        entry->waiter_cnt--;
        if (entry->state == KR_ENTRY_PENDING) {
                client->counts.timeouts++;
                registry->is_silent = true;
        }
}

/* A schema without a plan. @returns whether it has one now. */
static bool resolve(struct kr_schema_view *view, const struct kr_cache_key *key)
{
        struct kr_schema_client *client = view->client;
        struct kr_registry *registry = view->registry;
        struct kr_entry *entry;
        bool ready = false, is_new;
        int64_t now;

        if (client->pid != getpid())
                return false;
        pthread_mutex_lock(&client->lock);
        entry = kr_cache_find(&client->cache, key);
        if (!entry && client->queue_cnt < KR_QUEUE_MAX)
                entry = kr_cache_insert(&client->cache, key);
        if (entry) {
                now = kr_now();
                is_new = entry->state == KR_ENTRY_NEW;
                if (key->kind == KR_KEY_BY_SUBJECT)
                        entry->is_pinned = true; /* "latest" must not come to mean another one */
                if (is_new) {
                        /* Nobody waits for who is known not to answer; the errand is left all the same. */
                        entry->wait_until = registry->failure_cnt || registry->is_silent
                                                    ? 0 : now + registry->conf->wait_ms * NS_PER_MS;
                } else if (entry->state == KR_ENTRY_BAD) {
                        entry->wait_until = 0; /* it had its wait */
                }
                if (entry->state == KR_ENTRY_PENDING && !entry->wait_until && entry->key.kind == KR_KEY_BY_SUBJECT &&
                    !registry->failure_cnt && !registry->is_silent)
                        entry->wait_until = now + registry->conf->wait_ms * NS_PER_MS; /* read ahead, not there yet */
                if ((entry->state == KR_ENTRY_NEW || entry->state == KR_ENTRY_BAD) && !atomic_load(&entry->plan) &&
                    now >= atomic_load(&entry->quiet_until))
                        kr_errand_add(client, entry, 0);
                if (entry->state == KR_ENTRY_PENDING && now < entry->wait_until)
                        wait_for(client, registry, entry);
                ready = atomic_load(&entry->plan) != NULL;
                if (entry->state == KR_ENTRY_PENDING) /* whoever brings the answer ends it */
                        atomic_store(&entry->quiet_until, INT64_MAX);
        }
        pthread_mutex_unlock(&client->lock);
        return ready;
}

/* What a lookup comes to. */
typedef enum { FOUND, QUIET, UNKNOWN } found_t;

static found_t look_up(struct kr_schema_view *view, const struct kr_cache_key *key, struct kr_bytes *bytes,
                       struct kr_scratch *scratch, kr_key_outcome_t *outcome)
{
        struct kr_cache *cache = &view->client->cache;
        unsigned ticket = kr_cache_enter(cache);
        struct kr_entry *entry = kr_cache_find(cache, key);
        struct kr_shared_plan *plan = entry ? atomic_load(&entry->plan) : NULL;
        found_t found = UNKNOWN;

        if (plan) {
                if (!atomic_load_explicit(&entry->used, memory_order_relaxed))
                        atomic_store_explicit(&entry->used, true, memory_order_relaxed);
                *outcome = plan->plan ? kr_avro_plan_project(plan->plan, bytes, scratch) : KR_KEY_MISSING;
                found = FOUND;
        } else if (entry && kr_now_coarse() < atomic_load(&entry->quiet_until)) {
                found = QUIET;
        }
        kr_cache_leave(cache, ticket);
        return found;
}

kr_key_outcome_t kr_client_project(struct kr_schema_view *view, struct kr_bytes *bytes, struct kr_scratch *scratch)
{
        struct kr_frame frame = view->framed ? kr_frame_sniff(*bytes, view->id_len) : (struct kr_frame){ 0, -1, { 0 } };
        struct kr_cache_key key = { .view = view, .kind = KR_KEY_BY_SUBJECT };
        struct kr_bytes datum = { frame.len ? bytes->data + frame.len : bytes->data, bytes->len - frame.len };
        kr_key_outcome_t outcome = KR_KEY_UNRESOLVED;
        found_t found;

        if (frame.len && frame.id >= 0) {
                key.kind = KR_KEY_BY_ID;
                key.id = frame.id;
        } else if (frame.len) {
                key.kind = KR_KEY_BY_GUID;
                memcpy(key.guid, frame.guid, sizeof(key.guid));
        } else if (!view->subject) {
                return KR_KEY_MISSING;
        }
        found = look_up(view, &key, &datum, scratch, &outcome);
        /* What was resolved can be evicted before we come to look again; that it happens twice is not worth a third. */
        for (int tries = 0; found == UNKNOWN && tries < 2 && resolve(view, &key); tries++)
                found = look_up(view, &key, &datum, scratch, &outcome);
        if (outcome == KR_KEY_PROJECTED)
                *bytes = datum;
        return outcome;
}
