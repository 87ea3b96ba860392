#include "registries.h"

#include "policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATH_MAX_CNT = 64, LINE_MAX_CNT = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
        const char *path;
        struct http_reply reply;
        char *body; /* ours */
} paths[PATH_MAX_CNT];
static size_t path_cnt;
static struct http_reply otherwise;
static char *retired[1024]; /* bodies that an answer may still be sent from */
static size_t retired_cnt;
static char last_request[8192], last_request_copy[8192];
static char lines[LINE_MAX_CNT][512];
static size_t line_cnt;
static struct http_server *server;
static int port;

static void answer(const char *path, const char *request, struct http_reply *reply, void *opaque)
{
        (void)opaque;
        pthread_mutex_lock(&lock);
        snprintf(last_request, sizeof(last_request), "%s", request);
        *reply = otherwise;
        for (size_t i = 0; i < path_cnt; i++)
                if (!strcmp(paths[i].path, path))
                        *reply = paths[i].reply;
        pthread_mutex_unlock(&lock);
}

int registry_setup(void **state)
{
        (void)state;
        unsetenv("http_proxy"); /* of the machine: ours is on the loopback */
        unsetenv("all_proxy");
        pthread_mutex_lock(&lock);
        path_cnt = line_cnt = 0;
        otherwise = (struct http_reply){ 0 };
        pthread_mutex_unlock(&lock);
        port = 0;
        registry_start();
        return 0;
}

int registry_teardown(void **state)
{
        (void)state;
        registry_stop();
        for (size_t i = 0; i < path_cnt; i++)
                free(paths[i].body);
        for (size_t i = 0; i < retired_cnt; i++)
                free(retired[i]);
        path_cnt = retired_cnt = 0;
        return 0;
}

static void set(const char *path, struct http_reply reply, char *body)
{
        size_t i = 0;

        pthread_mutex_lock(&lock);
        if (!path) {
                otherwise = reply;
        } else {
                while (i < path_cnt && strcmp(paths[i].path, path))
                        i++;
                if (i == path_cnt)
                        paths[path_cnt++].body = NULL;
                if (paths[i].body)
                        retired[retired_cnt++] = paths[i].body;
                paths[i].path = path;
                paths[i].reply = reply;
                paths[i].body = body;
        }
        pthread_mutex_unlock(&lock);
}

void registry_says(const char *path, struct http_reply reply)
{
        set(path, reply, NULL);
}

void registry_has(const char *path, const char *schema, const char *more)
{
        json_t *json = json_string(schema);
        char *quoted = json_dumps(json, JSON_ENCODE_ANY), *body;

        if (asprintf(&body, "{\"schema\":%s%s%s}", quoted, *more ? "," : "", more) < 0)
                fail();
        free(quoted);
        json_decref(json);
        set(path, (struct http_reply){ .status = 200, .body = body }, body);
}

void registry_stop(void)
{
        http_server_stop(server);
        server = NULL;
}

void registry_start(void)
{
        server = http_server_start(port, answer, NULL);
        if (!server)
                fail_msg("cannot listen on port %d", port);
        port = http_server_port(server);
}

int registry_port(void)
{
        return port;
}

unsigned registry_requests(void)
{
        return http_server_requests(server);
}

const char *registry_last_request(void)
{
        pthread_mutex_lock(&lock);
        memcpy(last_request_copy, last_request, sizeof(last_request));
        pthread_mutex_unlock(&lock);
        return last_request_copy;
}

kr_policy_t *registry_parse(struct kr_error *err, const char *text)
{
        char *filled = NULL;
        kr_policy_t *policy;

        for (const char *in = text; *in;) {
                const char *mark = strstr(in, "%d");
                char *more;
                int len = mark ? (int)(mark - in) : (int)strlen(in);
                int done = mark ? asprintf(&more, "%s%.*s%d", filled ? filled : "", len, in, port)
                                : asprintf(&more, "%s%.*s", filled ? filled : "", len, in);

                if (done < 0)
                        fail();
                free(filled);
                filled = more;
                in += len + (mark ? 2 : 0);
        }
        for (char *c = filled; *c; c++)
                if (*c == '\'')
                        *c = '"';
        policy = kr_policy_parse(filled, strlen(filled), "p.json", err);
        free(filled);
        return policy;
}

kr_policy_t *registry_policy(const char *registry, const char *schema, const char *key)
{
        struct kr_error err;
        kr_policy_t *policy;
        char *text;

        /* Patient, so that a loaded machine decides nothing; tests of impatience say so. */
        if (asprintf(&text, "{'keyroute':1,'topics':{'t':{'key':{'use':'avro','fields':['id'],'schema':{'registry':'main'%s}%s}}},"
                            "'schemas':{'cache':2,'registries':{'main':{'urls':['http://127.0.0.1:%%d']%s%s%s}}}}",
                     schema, key, registry, strstr(registry, "wait_ms") ? "" : ",'wait_ms':30000",
                     strstr(registry, "timeout_ms") ? "" : ",'timeout_ms':30000") < 0)
                fail();
        policy = registry_parse(&err, text);
        free(text);
        if (!policy)
                fail_msg("%s", err.text);
        return policy;
}

struct kr_schema_counts registry_counts(const kr_policy_t *policy)
{
        struct kr_schema_counts counts;

        policy->registries.schemas->client_counts(policy->registries.client, &counts);
        return counts;
}

kr_key_outcome_t route_framed(const kr_policy_t *policy, int id, const char *text, struct kr_routing *routing)
{
        unsigned char key[256] = { 0, (unsigned char)(id >> 24), (unsigned char)(id >> 16), (unsigned char)(id >> 8),
                                   (unsigned char)id, 2 };
        size_t len = strlen(text);
        struct kr_routing unused;

        key[6] = (unsigned char)(len * 2);
        memcpy(key + 7, text, len);
        key[7 + len] = 6;
        if (!routing)
                routing = &unused;
        kr_rule_route(rule_of(policy), key, 8 + len, 1000, routing);
        return routing->outcome;
}

static bool is_late(time_t start)
{
        static const struct timespec step = { 0, 2000000 };

        nanosleep(&step, NULL);
        return time(NULL) - start > LATER_S;
}

void route_until(const kr_policy_t *policy, int id, const char *text, kr_key_outcome_t outcome)
{
        time_t start = time(NULL);

        while (route_framed(policy, id, text, NULL) != outcome)
                if (is_late(start))
                        fail_msg("schema %d never came to outcome %d", id, outcome);
}

void assert_routes_as_text(const kr_policy_t *policy, int id, const char *text)
{
        kr_policy_t *plain = policy_of("'hash':'murmur2'");
        struct kr_routing routing;

        assert_int_equal(route_framed(policy, id, text, &routing), KR_KEY_PROJECTED);
        assert_int_equal(routing.partition, kr_rule_partition(rule_of(plain), text, strlen(text), 1000));
        kr_policy_free(plain);
}

void log_line(int level, const char *text, void *opaque)
{
        (void)level, (void)opaque;
        pthread_mutex_lock(&lock);
        if (line_cnt < LINE_MAX_CNT)
                snprintf(lines[line_cnt++], sizeof(lines[0]), "%s", text);
        pthread_mutex_unlock(&lock);
}

unsigned log_count(const char *text)
{
        unsigned cnt = 0;

        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < line_cnt; i++)
                cnt += strstr(lines[i], text) != NULL;
        pthread_mutex_unlock(&lock);
        return cnt;
}

bool log_empty(void)
{
        return !log_count("");
}

void log_await(const char *text)
{
        time_t start = time(NULL);

        while (!log_count(text))
                if (is_late(start)) {
                        for (size_t i = 0; i < line_cnt; i++)
                                print_message("log: %s\n", lines[i]);
                        fail_msg("no line of the log holds: %s", text);
                }
}
