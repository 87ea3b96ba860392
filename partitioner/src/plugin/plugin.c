/*
 * The librdkafka edge: conf_init and the interceptors. What is wrong is said while the configuration is set, since a
 * client's creation can fail only there; what is known only later makes the producer refuse its records.
 */
#include "bind.h"
#include "router.h"
#include "settings.h"
#include "witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#define NAME "keyroute" /* of the interceptors */

/* An error for the host, whose room for it may be small (Go's binding has 128 bytes): then the whole goes to the log, too. */
static void tell(char *errstr, size_t errstr_size, const char *text)
{
        struct timespec now;

        if ((size_t)snprintf(errstr, errstr_size, "%s", text) < errstr_size)
                return;
        clock_gettime(CLOCK_REALTIME, &now);
        fprintf(stderr, "%%%d|%lld.%03ld|KEYROUTE|configuration| %s\n", LOG_ERR, (long long)now.tv_sec,
                now.tv_nsec / 1000000, text);
}

/* One per configuration object, and so per client, which takes its configuration over. */
struct context {
        struct kr_rdkafka lib;
        struct kr_settings settings;
        struct kr_router router;
        struct kr_witness *witness; /* NULL: nobody watches */
        bool is_producer;
        bool started;               /* a client uses the settings, so they do not change any more */
        rd_kafka_topic_t **forced;  /* handles that we hold */
        size_t forced_cnt;
};

static void context_free(struct context *context)
{
        kr_settings_release(&context->settings);
        free(context->forced);
        free(context->witness);
        free(context);
}

static rd_kafka_resp_err_t on_conf_destroy(void *opaque)
{
        context_free(opaque);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_conf_dup(rd_kafka_conf_t *copy, const rd_kafka_conf_t *conf, size_t filter_cnt,
                                       const char **filter, void *opaque);

static rd_kafka_conf_res_t on_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, char *errstr,
                                       size_t errstr_size, void *opaque)
{
        struct context *context = opaque;
        rd_kafka_conf_res_t res = RD_KAFKA_CONF_OK;
        struct kr_error err;

        (void)conf;
        /* Every property comes by here, passwords too: nothing but these is looked at. */
        if (!strcmp(name, "partitioner") || !strcmp(name, "topic.partitioner")) {
                res = kr_settings_partitioner(&context->settings, value, &err) ? RD_KAFKA_CONF_UNKNOWN
                                                                               : RD_KAFKA_CONF_INVALID;
        } else {
                if (context->started && !strncmp(name, NAME ".", sizeof(NAME))) {
                        snprintf(errstr, errstr_size, "%s: cannot be changed once the client exists", name);
                        return RD_KAFKA_CONF_INVALID;
                }
                switch (kr_settings_set(&context->settings, name, value, &err)) {
                case KR_SET_OK:
                        break;
                case KR_SET_INVALID:
                        res = RD_KAFKA_CONF_INVALID;
                        break;
                case KR_SET_UNKNOWN:
                        res = RD_KAFKA_CONF_UNKNOWN;
                }
        }
        if (res == RD_KAFKA_CONF_INVALID)
                tell(errstr, errstr_size, err.text);
        return res;
}

/* ---- forced topics ------------------------------------------------------------------------------------------ */

/*
 * rd_kafka_new() waits for its main thread, so these handles exist before the application can make its own; asking for
 * the same topic later gives the same handle and drops the configuration that came with the request.
 */
static rd_kafka_resp_err_t on_thread_start(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name, void *opaque)
{
        struct context *context = opaque;
        const struct kr_settings *settings = &context->settings;

        (void)name;
        if (type != RD_KAFKA_THREAD_MAIN)
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        context->forced = calloc(settings->forced_cnt, sizeof(*context->forced));
        kr_router_log(&context->router, LOG_INFO,
                      "%zu topics are forced: topic configurations of the program are dropped for them",
                      settings->forced_cnt);
        for (size_t i = 0; context->forced && i < settings->forced_cnt; i++) {
                /* Without a configuration of its own it gets a copy of the default one, where the partitioner is. */
                rd_kafka_topic_t *rkt = context->lib.topic_new(rk, settings->forced[i], NULL);

                if (rkt)
                        context->forced[context->forced_cnt++] = rkt;
                else
                        kr_router_log(&context->router, LOG_ERR, "topic %s cannot be forced: %s", settings->forced[i],
                                      context->lib.err2str(context->lib.last_error()));
        }
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_destroy(rd_kafka_t *rk, void *opaque)
{
        struct context *context = opaque;

        (void)rk;
        for (size_t i = 0; i < context->forced_cnt; i++)
                context->lib.topic_destroy(context->forced[i]);
        context->forced_cnt = 0;
        /* Its threads run until the configuration is freed; the client's log ends here. */
        if (context->router.policy && context->is_producer)
                kr_policy_start(context->router.policy, NULL, NULL);
        kr_router_log_totals(&context->router);
        if (context->witness)
                kr_witness_log_totals(context->witness);
        context->started = false;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* A line of the policy's own threads, about schema registries. */
static void log_policy(int level, const char *text, void *opaque)
{
        kr_router_log(opaque, level, "%s", text);
}

/* ---- the witness -------------------------------------------------------------------------------------------- */

static rd_kafka_resp_err_t on_send(rd_kafka_t *rk, rd_kafka_message_t *record, void *opaque)
{
        (void)rk;
        kr_witness_note_sent(opaque, record);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Of each record that was delivered, and of each that failed. */
static rd_kafka_resp_err_t on_acknowledgement(rd_kafka_t *rk, rd_kafka_message_t *record, void *opaque)
{
        (void)rk;
        kr_witness_look(opaque, record);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_consume(rd_kafka_t *rk, rd_kafka_message_t *record, void *opaque)
{
        (void)rk;
        kr_witness_look(opaque, record);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool is_forced(const char *topic, void *opaque)
{
        return kr_settings_forces(opaque, topic);
}

/* The client works without a witness, too, when there is no memory for it. */
static void install_witness(struct context *context, rd_kafka_t *rk)
{
        if (!context->witness)
                context->witness = calloc(1, sizeof(*context->witness));
        if (!context->witness)
                return;
        context->witness->router = &context->router;
        context->witness->is_producer = context->is_producer;
        context->witness->is_forced = is_forced;
        context->witness->opaque = &context->settings;
        if (context->is_producer) {
                context->lib.interceptor_add_on_send(rk, NAME, on_send, context->witness);
                context->lib.interceptor_add_on_acknowledgement(rk, NAME, on_acknowledgement, context->witness);
        } else {
                context->lib.interceptor_add_on_consume(rk, NAME, on_consume, context->witness);
        }
}

/* ---- a new client ------------------------------------------------------------------------------------------- */

static bool conf_text(const struct kr_rdkafka *lib, const rd_kafka_conf_t *conf, const char *name, char *buf,
                      size_t size)
{
        bool ok = lib->conf_get(conf, name, buf, &size) == RD_KAFKA_CONF_OK;

        if (!ok)
                *buf = '\0';
        return ok;
}

static int log_level_of(const struct kr_rdkafka *lib, const rd_kafka_conf_t *conf)
{
        char text[256];

        if (conf_text(lib, conf, "debug", text, sizeof(text)) && *text)
                return LOG_DEBUG;
        return conf_text(lib, conf, "log_level", text, sizeof(text)) ? atoi(text) : LOG_INFO;
}

/* A pointer in a topic configuration; its getters print pointers. */
static void *topic_conf_pointer(const struct kr_rdkafka *lib, const rd_kafka_topic_conf_t *topic_conf, const char *name)
{
        char text[64];
        size_t size = sizeof(text);
        void *pointer = NULL;

        if (lib->topic_conf_get(topic_conf, name, text, &size) != RD_KAFKA_CONF_OK || sscanf(text, "%p", &pointer) != 1)
                return NULL;
        return pointer;
}

/* What librdkafka would do without us: the application's own callback, else the partitioner of that name. */
static void find_host_partitioner(struct kr_router *router, const rd_kafka_topic_conf_t *topic_conf,
                                  const struct kr_builtin *builtin)
{
        const struct kr_rdkafka *lib = router->lib;
        const struct {
                const char *name;
                kr_partitioner_fn *partition;
        } builtins[] = {
                { "random", lib->msg_partitioner_random },
                { "consistent", lib->msg_partitioner_consistent },
                { "consistent_random", lib->msg_partitioner_consistent_random },
                { "murmur2", lib->msg_partitioner_murmur2 },
                { "murmur2_random", lib->msg_partitioner_murmur2_random },
                { "fnv1a", lib->msg_partitioner_fnv1a },
                { "fnv1a_random", lib->msg_partitioner_fnv1a_random },
        };
        void *callback = topic_conf_pointer(lib, topic_conf, "partitioner_cb");
        kr_partitioner_fn *application;

        memcpy(&application, &callback, sizeof(application));
        /* A copy of a client's configuration brings our own callback along, with an opaque that may be gone. */
        if (application && application != kr_router_partition && application != kr_router_refuse) {
                router->host = application;
                router->host_opaque = topic_conf_pointer(lib, topic_conf, "opaque");
                router->host_name = "partitioner callback of the application";
                kr_router_log(router, LOG_NOTICE,
                              "the application's own partitioner callback is left in force only where %s has no rule",
                              router->source);
                return;
        }
        router->host_opaque = NULL;
        for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
                if (!strcmp(builtins[i].name, builtin->name)) {
                        router->host = builtins[i].partition;
                        router->host_name = builtin->name;
                }
}

static void set_sticky_off(const struct kr_rdkafka *lib, const rd_kafka_conf_t *conf)
{
        lib->conf_set((rd_kafka_conf_t *)conf, "sticky.partitioning.linger.ms", "0", NULL, 0);
}

static void install_policy(struct context *context, const kr_policy_t *policy, const rd_kafka_conf_t *conf,
                           rd_kafka_topic_conf_t *topic_conf)
{
        struct kr_router *router = &context->router;
        const struct kr_rdkafka *lib = &context->lib;
        const struct kr_builtin *builtin = NULL;
        struct kr_error err;
        char name[32];
        size_t size = sizeof(name);

        if (lib->topic_conf_get(topic_conf, "partitioner", name, &size) == RD_KAFKA_CONF_OK)
                builtin = kr_builtin_find(name);
        if (!builtin)
                builtin = kr_builtin_find("consistent_random");
        find_host_partitioner(router, topic_conf, builtin);
        /* Named by an application's own default topic configuration, after all that could be refused. */
        if (strcmp(builtin->name, "consistent_random") && !kr_builtin_agrees(builtin, policy, &err))
                kr_router_log(router, LOG_WARNING, "%s. The policy (%s) decides.", err.text, router->source);
        /* These three hash a NULL key as well, and librdkafka makes nothing sticky under them. */
        if (builtin->hashes_null)
                set_sticky_off(lib, conf);
        lib->topic_conf_set_partitioner_cb(topic_conf, kr_router_partition);
        lib->topic_conf_set_opaque(topic_conf, router);
        kr_policy_start(policy, log_policy, router);
        kr_router_log(router, LOG_DEBUG, "bound to librdkafka %s, policy from %s", lib->version_str(), router->source);
}

/* The producer is created whatever we say, so it is made to refuse all records, those without a key too. */
static rd_kafka_resp_err_t install_refusal(struct context *context, const char *why, const rd_kafka_conf_t *conf,
                                           rd_kafka_topic_conf_t *topic_conf, char *errstr, size_t errstr_size)
{
        const struct kr_rdkafka *lib = &context->lib;
        char log_queue[8];

        set_sticky_off(lib, conf);
        lib->topic_conf_set_partitioner_cb(topic_conf, kr_router_refuse);
        lib->topic_conf_set_opaque(topic_conf, &context->router);
        /* Our error becomes a line in the client's own log, except that a queue for it does not exist yet. */
        if (conf_text(lib, conf, "log.queue", log_queue, sizeof(log_queue)) && !strcmp(log_queue, "true")) {
                kr_router_log(&context->router, LOG_CRIT, "all records of this producer are refused: %s", why);
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        }
        snprintf(errstr, errstr_size, "all records of this producer are refused: %s", why);
        return RD_KAFKA_RESP_ERR__INVALID_ARG;
}

static void start_router(struct context *context, rd_kafka_t *rk, const rd_kafka_conf_t *conf, const kr_policy_t *policy)
{
        struct kr_router *router = &context->router;

        memset(router, 0, sizeof(*router));
        router->lib = &context->lib;
        router->rk = rk;
        router->log_level = log_level_of(&context->lib, conf);
        router->policy = policy;
        kr_settings_source(&context->settings, router->source, sizeof(router->source));
        context->started = true;
        context->lib.interceptor_add_on_destroy(rk, NAME, on_destroy, context);
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *errstr,
                                  size_t errstr_size)
{
        struct context *context = opaque;
        const struct kr_rdkafka *lib = &context->lib;
        rd_kafka_topic_conf_t *topic_conf;
        const kr_policy_t *policy;
        struct kr_error err;
        bool has_witness;

        context->is_producer = lib->type(rk) == RD_KAFKA_PRODUCER;
        policy = kr_settings_policy(&context->settings, &err);
        has_witness = policy && kr_settings_witness(&context->settings);
        if (!context->is_producer && !has_witness)
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        start_router(context, rk, conf, policy);
        if (has_witness)
                install_witness(context, rk);
        if (!context->is_producer)
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        topic_conf = lib->conf_get_default_topic_conf((rd_kafka_conf_t *)conf);
        if (!topic_conf) { /* the application took it away after conf_init saw to it */
                topic_conf = lib->topic_conf_new();
                lib->conf_set_default_topic_conf((rd_kafka_conf_t *)conf, topic_conf);
        }
        if (context->settings.forced_cnt)
                lib->interceptor_add_on_thread_start(rk, NAME, on_thread_start, context);
        if (!policy)
                return install_refusal(context, err.text, conf, topic_conf, errstr, errstr_size);
        install_policy(context, policy, conf, topic_conf);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- configurations ----------------------------------------------------------------------------------------- */

/* Hands the context over to the configuration. _CONFLICT: one of ours is there already, and *context is still ours. */
static rd_kafka_resp_err_t register_context(struct context *context, rd_kafka_conf_t *conf)
{
        const struct kr_rdkafka *lib = &context->lib;
        rd_kafka_resp_err_t rc = lib->conf_interceptor_add_on_conf_set(conf, NAME, on_conf_set, context);

        /* The other three cannot fail where the first did not: the only error there is, is the conflict. */
        if (!rc)
                rc = lib->conf_interceptor_add_on_conf_destroy(conf, NAME, on_conf_destroy, context);
        if (!rc)
                rc = lib->conf_interceptor_add_on_conf_dup(conf, NAME, on_conf_dup, context);
        if (!rc)
                rc = lib->conf_interceptor_add_on_new(conf, NAME, on_new, context);
        return rc;
}

/*
 * Called on the blank copy, before properties are copied into it. The copy gets its context here and not only from the
 * conf_init that follows: librdkafka ignores it when that one fails (the policy file is gone, say), and the copy would
 * then route without a policy. Ours is set again property by property, and refuses records when that fails.
 */
static rd_kafka_resp_err_t on_conf_dup(rd_kafka_conf_t *copy, const rd_kafka_conf_t *conf, size_t filter_cnt,
                                       const char **filter, void *opaque)
{
        const struct context *original = opaque;
        struct context *context;
        struct kr_error err;

        (void)conf;
        for (size_t i = 0; i < filter_cnt; i++)
                if (!strncmp(filter[i], "plugin.library.paths", strlen(filter[i])))
                        return RD_KAFKA_RESP_ERR_NO_ERROR;
        context = calloc(1, sizeof(*context));
        if (!context)
                return RD_KAFKA_RESP_ERR__FAIL;
        context->lib = original->lib;
        kr_settings_init(&context->settings, &err); /* remembers what is wrong */
        context->settings.builtin = original->settings.builtin;
        return register_context(context, copy);
}

/* The `partitioner` that was set before the plugin was. The default cannot be told from a choice of the same name. */
static bool note_partitioner(struct context *context, const rd_kafka_conf_t *conf, struct kr_error *err)
{
        char name[32];

        if (!conf_text(&context->lib, conf, "partitioner", name, sizeof(name)) || !strcmp(name, "consistent_random"))
                return true;
        return kr_settings_partitioner(&context->settings, name, err);
}

/* Not inlined, nor called by anything of ours: its return address says which librdkafka we work for. */
__attribute__((visibility("default"), noinline)) rd_kafka_resp_err_t conf_init(rd_kafka_conf_t *conf, void **opaque,
                                                                               char *errstr, size_t errstr_size);

rd_kafka_resp_err_t conf_init(rd_kafka_conf_t *conf, void **opaque, char *errstr, size_t errstr_size)
{
        struct context *context = calloc(1, sizeof(*context));
        struct kr_error err = { "out of memory" };
        rd_kafka_resp_err_t rc;

        (void)opaque;
        /* All that can fail comes first: afterwards librdkafka would keep interceptors of a plugin that it gave up. */
        if (!context || !kr_bind(&context->lib, __builtin_return_address(0), &err) ||
            !kr_settings_init(&context->settings, &err) || !note_partitioner(context, conf, &err)) {
                tell(errstr, errstr_size, err.text);
                if (context)
                        context_free(context);
                return RD_KAFKA_RESP_ERR__INVALID_ARG;
        }
        /* Left empty until the client exists: an application that puts its own in its place is not warned then. */
        if (!context->lib.conf_get_default_topic_conf(conf))
                context->lib.conf_set_default_topic_conf(conf, context->lib.topic_conf_new());
        rc = register_context(context, conf);
        if (rc == RD_KAFKA_RESP_ERR__CONFLICT) { /* the property was set before, or we are in a copy */
                context_free(context);
                rc = RD_KAFKA_RESP_ERR_NO_ERROR;
        }
        return rc;
}
