/**
 * A librdkafka of three functions, for tests of parts of the plugin alone: topic handles are mere names, log lines go into
 * a text. Shared as a header because other tests are linked without the plugin's parts.
 */
#ifndef KR_PLUGIN_LIBRARY_H
#define KR_PLUGIN_LIBRARY_H

#include "plugin/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

struct handle {
        char name[512];
};

static char log_text[1 << 18];
static size_t log_len;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static inline const char *topic_name(const rd_kafka_topic_t *rkt)
{
        return ((const struct handle *)(const void *)rkt)->name;
}

static inline void log_print(const rd_kafka_t *rk, int level, const char *fac, const char *line)
{
        (void)rk;
        pthread_mutex_lock(&log_lock);
        log_len += (size_t)snprintf(log_text + log_len, sizeof(log_text) - log_len, "%d %s %s\n", level, fac, line);
        assert_true(log_len < sizeof(log_text));
        pthread_mutex_unlock(&log_lock);
}

static inline int32_t host_partitioner(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t partition_cnt,
                                void *opaque, void *msg_opaque)
{
        (void)rkt, (void)key_len, (void)opaque, (void)msg_opaque;
        return key ? partition_cnt - 1 : 0;
}

static struct kr_rdkafka lib = { .topic_name = topic_name, .log_print = log_print };

static inline size_t logged(const char *part)
{
        size_t cnt = 0;

        for (const char *at = log_text; (at = strstr(at, part)); at += strlen(part))
                cnt++;
        return cnt;
}

static inline struct kr_router *router_new(const char *policy)
{
        struct kr_router *router = calloc(1, sizeof(*router));
        struct kr_error err;

        assert_non_null(router);
        router->lib = &lib;
        router->log_level = 6;
        router->policy = kr_policy_parse(policy, strlen(policy), "p.json", &err);
        assert_non_null(router->policy);
        strcpy(router->source, "keyroute.policy=p.json");
        router->host = host_partitioner;
        router->host_name = "consistent_random";
        log_len = 0;
        log_text[0] = '\0';
        return router;
}

static inline void router_free(struct kr_router *router)
{
        kr_policy_free((kr_policy_t *)router->policy);
        free(router);
}

#endif
