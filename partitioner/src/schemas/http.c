#include "http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kr_http {
        CURL *easy;
        CURLM *multi;
        const atomic_bool *cancel;
        struct curl_slist *accept;
        char why[CURL_ERROR_SIZE];
};

struct body {
        char *data;
        size_t len, cap;
        bool too_long, out_of_memory;
};

static void init_curl(void)
{
        /* Never undone: the host may use libcurl as well, and this object stays loaded. */
        curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t receive(char *data, size_t size, size_t cnt, void *opaque)
{
        struct body *body = opaque;
        size_t len = size * cnt;

        if (len > KR_HTTP_BODY_MAX - body->len) {
                body->too_long = true;
                return 0;
        }
        if (body->len + len + 1 > body->cap) {
                size_t cap = body->cap ? body->cap : 4096;
                char *grown;

                while (cap < body->len + len + 1)
                        cap *= 2;
                grown = realloc(body->data, cap);
                if (!grown) {
                        body->out_of_memory = true;
                        return 0;
                }
                body->data = grown;
                body->cap = cap;
        }
        memcpy(body->data + body->len, data, len);
        body->len += len;
        body->data[body->len] = '\0';
        return len;
}

struct kr_http *kr_http_new(const atomic_bool *cancel)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        struct kr_http *http = calloc(1, sizeof(*http));

        pthread_once(&once, init_curl);
        if (!http)
                return NULL;
        http->cancel = cancel;
        http->easy = curl_easy_init();
        http->multi = curl_multi_init();
        http->accept = curl_slist_append(NULL, "Accept: application/vnd.schemaregistry.v1+json, application/json");
        if (http->easy && http->multi && http->accept)
                return http;
        kr_http_free(http);
        return NULL;
}

void kr_http_free(struct kr_http *http)
{
        if (!http)
                return;
        curl_easy_cleanup(http->easy);
        curl_multi_cleanup(http->multi);
        curl_slist_free_all(http->accept);
        free(http);
}

void kr_http_wake(struct kr_http *http)
{
        curl_multi_wakeup(http->multi);
}

/* libcurl copies what it is given, so the secrets are wiped here at once; it frees its copies with the next reset. */
static bool set_auth(CURL *easy, const struct kr_registry_conf *conf, struct kr_error *err)
{
        char user[KR_SECRET_SIZE] = "", secret[KR_SECRET_SIZE] = "";
        bool ok = conf->auth == KR_AUTH_NONE || kr_secret_read(&conf->secret, secret, err);

        if (ok && conf->auth == KR_AUTH_BASIC) {
                ok = kr_secret_read(&conf->user, user, err);
                curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
                curl_easy_setopt(easy, CURLOPT_USERNAME, user);
                curl_easy_setopt(easy, CURLOPT_PASSWORD, secret);
        } else if (ok && conf->auth == KR_AUTH_BEARER) {
                curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
                curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, secret);
        }
        explicit_bzero(user, sizeof(user));
        explicit_bzero(secret, sizeof(secret));
        return ok;
}

static bool set_up(struct kr_http *http, const struct kr_registry_conf *conf, const char *url, struct body *body,
                   struct kr_error *err)
{
        CURL *easy = http->easy;
        bool tls = !strncmp(url, "https:", 6);

        curl_easy_reset(easy);
        *http->why = '\0';
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->why);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, tls ? "https" : "http,https");
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)KR_HTTP_REDIRECT_MAX);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)conf->timeout_ms);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->accept);
        curl_easy_setopt(easy, CURLOPT_USERAGENT, "keyroute/" KR_VERSION);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
        curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, (long)KR_HTTP_BODY_MAX);
        if (conf->ca)
                curl_easy_setopt(easy, CURLOPT_CAINFO, conf->ca);
        return set_auth(easy, conf, err);
}

/* curl_easy_perform() with a way to be woken, so that a policy is freed without waiting for a silent registry. */
static CURLcode perform(struct kr_http *http)
{
        CURLcode code = CURLE_ABORTED_BY_CALLBACK;
        int running = 1, left;
        CURLMsg *message;

        if (curl_multi_add_handle(http->multi, http->easy))
                return CURLE_FAILED_INIT;
        while (running && !atomic_load(http->cancel))
                if (curl_multi_perform(http->multi, &running) ||
                    (running && curl_multi_poll(http->multi, NULL, 0, 1000, NULL)))
                        break;
        while ((message = curl_multi_info_read(http->multi, &left)))
                if (message->msg == CURLMSG_DONE)
                        code = message->data.result;
        curl_multi_remove_handle(http->multi, http->easy);
        return code;
}

static bool explain(const struct kr_http *http, const struct kr_registry_conf *conf, CURLcode code,
                    const struct body *body, struct kr_error *err)
{
        if (body->too_long || code == CURLE_FILESIZE_EXCEEDED)
                snprintf(err->text, sizeof(err->text), "the answer is larger than %d MiB", KR_HTTP_BODY_MAX >> 20);
        else if (code == CURLE_OPERATION_TIMEDOUT)
                snprintf(err->text, sizeof(err->text), "no answer within %lld ms", (long long)conf->timeout_ms);
        else if (code == CURLE_PARTIAL_FILE || code == CURLE_GOT_NOTHING)
                snprintf(err->text, sizeof(err->text), "the answer ends in the middle (%s)", curl_easy_strerror(code));
        else if (code == CURLE_TOO_MANY_REDIRECTS)
                snprintf(err->text, sizeof(err->text), "it redirects more than %d times", KR_HTTP_REDIRECT_MAX);
        else
                snprintf(err->text, sizeof(err->text), "%.300s", *http->why ? http->why : curl_easy_strerror(code));
        kr_one_line(err->text);
        return false;
}

bool kr_http_get(struct kr_http *http, const struct kr_registry_conf *conf, const char *url,
                 struct kr_http_answer *answer, struct kr_error *err)
{
        struct body body = { 0 };
        curl_off_t retry_after = 0;
        CURLcode code;

        *answer = (struct kr_http_answer){ 0 };
        if (!set_up(http, conf, url, &body, err)) {
                curl_easy_reset(http->easy);
                return false;
        }
        code = perform(http);
        if (code != CURLE_OPERATION_TIMEDOUT)
                curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
        if (code == CURLE_OK) {
                curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after);
                answer->retry_after_ms = retry_after > 86400 ? 86400000 : (int64_t)retry_after * 1000;
                answer->body = body.data ? body.data : strdup("");
                answer->len = body.len;
        }
        curl_easy_reset(http->easy); /* drops its copies of the secrets; connections are kept */
        if (code == CURLE_OK && answer->body)
                return true;
        free(body.data);
        return explain(http, conf, code, &body, err);
}

bool kr_http_encode(char *url, size_t size, const char *text)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
        size_t used = strlen(url);

        for (; *text; text++) {
                if (used + 4 > size)
                        return false;
                used += (size_t)sprintf(url + used, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
        }
        return true;
}
