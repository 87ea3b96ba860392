/** A tiny HTTP server on the loopback, in a thread of the test, that can misbehave in every way that a test asks for. */
#ifndef KR_TEST_HTTP_SERVER_H
#define KR_TEST_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct http_server;

/** What to answer. All zero: 404 with a registry's error body. */
struct http_reply {
        int status;
        const char *headers;  /* further lines, each ending in \r\n; or NULL */
        const char *body;     /* or NULL */
        size_t body_len;      /* 0: as strlen() says */
        size_t cut;           /* close that many bytes before the end */
        int delay_ms;         /* before anything is sent */
};

/** Called in the server's threads. `path` is what stands in the request line; `request` all of the request's head. */
typedef void http_answer_fn(const char *path, const char *request, struct http_reply *reply, void *opaque);

/** @param port  0 for any that is free. NULL when it cannot be had. */
struct http_server *http_server_start(int port, http_answer_fn *answer, void *opaque);
int http_server_port(const struct http_server *server);

/** Waits for the answers under way. */
void http_server_stop(struct http_server *server);

/** How many requests came. */
unsigned http_server_requests(const struct http_server *server);

#endif
