/** What the client's two halves share: registry.c is where records come in, errand.c is what its threads do. */
#ifndef KR_CLIENT_H
#define KR_CLIENT_H

#include "cache.h"
#include "fetch.h"
#include "registry.h"

#include <sys/types.h>

enum {
        KR_WORKER_MAX = 4,    /* threads of a client: so many registries or schemas may be slow at once */
        KR_QUEUE_MAX = 256,   /* errands; more new schemas than that stay unresolved without one */
        KR_TOLD_MAX = 64,     /* complaints about single schemas; hostile keys must not fill the log */
        KR_EARLY_LINES = 8    /* log lines kept until somebody takes them */
};

struct kr_registry {
        const struct kr_registry_conf *conf;
        struct kr_endpoint endpoint;
        /* Under the client's lock. */
        unsigned failure_cnt; /* times in a row that nobody answered */
        int64_t probe_at;     /* when the next may be tried, while there are failures */
        unsigned asking_cnt;
        bool is_silent;       /* a record waited in vain, and no answer has come since */
        bool was_told;        /* that it does not answer */
};

struct kr_schema_view {
        struct kr_schema_client *client;
        struct kr_schema_view *next;
        struct kr_registry *registry;
        bool framed;
        size_t id_len;
        char *subject, *version, *topic;
        struct kr_avro_projection projection; /* copied */
        char **paths;
        char *reader;
};

struct kr_worker {
        struct kr_schema_client *client;
        struct kr_http *http;
        pthread_t thread;
};

struct kr_schema_client {
        pid_t pid; /* that made it */
        struct kr_registry *registries;
        size_t registry_cnt;
        struct kr_cache cache;
        struct kr_schema_view *views;

        pthread_mutex_t lock;
        pthread_cond_t answered; /* records wait for it  */
        pthread_cond_t errands;  /* the threads wait for it */
        atomic_bool closing;     /* written under the lock */
        struct kr_worker workers[KR_WORKER_MAX];
        size_t worker_cnt, idle_cnt;
        struct kr_entry *queue; /* in the order in which they came */
        size_t queue_cnt;
        size_t told_cnt;
        struct kr_schema_counts counts;

        pthread_mutex_t log_lock; /* held while a line is logged, so that changing the log waits for it */
        kr_log_fn *log;
        void *log_opaque;
        struct kr_early_line {
                int level;
                char text[sizeof(struct kr_error)];
        } early[KR_EARLY_LINES];
        size_t early_cnt;
};

/** Monotonic nanoseconds; cheap, to some milliseconds. */
int64_t kr_now_coarse(void);
int64_t kr_now(void);

/** Waits for cond until a time by kr_now(), under the client's lock. */
void kr_client_wait(struct kr_schema_client *client, pthread_cond_t *cond, int64_t until);

/** Leaves an errand for the client's threads, starting one when all are busy. Under the lock. False: too many. */
bool kr_errand_add(struct kr_schema_client *client, struct kr_entry *entry, int64_t due);

/** One line, when there is any. Without the lock. */
void kr_client_log(struct kr_schema_client *client, int level, const char *text);

/** What a thread of the client does until it is closed. */
void *kr_errands_run(void *worker);

#endif
