/** One GET over HTTP at a time, with limits on all that the other side could stretch. */
#ifndef KR_HTTP_H
#define KR_HTTP_H

#include "../key/registries.h"

#include <stdatomic.h>

enum { KR_HTTP_BODY_MAX = 4 << 20, KR_HTTP_REDIRECT_MAX = 3 };

/** A connection that is kept between requests; one thread at a time. */
struct kr_http;

struct kr_http_answer {
        long status;            /* HTTP's; of a failed request 0 when nobody answered in time, else what came */
        char *body;             /* the caller's to free() */
        size_t len;
        int64_t retry_after_ms; /* 0 when the answer does not ask for a pause */
};

/** @param cancel  once true, requests end; see kr_http_wake(). NULL when memory is out. */
struct kr_http *kr_http_new(const atomic_bool *cancel);
void kr_http_free(struct kr_http *http);

/** Makes a request that is under way look at `cancel`. From any thread. */
void kr_http_wake(struct kr_http *http);

/**
 * Asks for url with the registry's credentials, trust and time limit. Redirects are followed a few times, credentials
 * only to the same host. True with any HTTP answer; false with *err, one line without the URL.
 */
bool kr_http_get(struct kr_http *http, const struct kr_registry_conf *conf, const char *url,
                 struct kr_http_answer *answer, struct kr_error *err);

/** Appends text, percent-encoded as one segment of a path. False when it does not fit. */
bool kr_http_encode(char *url, size_t size, const char *text);

#endif
