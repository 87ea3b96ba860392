#include "io/scrape.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 16, CONNECTION_S = 10, BACKLOG = 16 };

struct rp_scrape {
        struct MHD_Daemon *daemon;
        rp_scrape_answer_fn *answer;
        void *arg;
        int port;
};

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_len, void **state)
{
        static const char only_get[] = "only GET and HEAD\n";
        static int is_known;
        struct rp_scrape *scrape = arg;
        struct rp_page page = { .status = MHD_HTTP_METHOD_NOT_ALLOWED, .type = "text/plain" };
        struct MHD_Response *response;
        enum MHD_Result result;

        (void)version;
        (void)body;
        if (!*state) { /* only the head has come so far */
                *state = &is_known;
                return MHD_YES;
        }
        if (*body_len) { /* a body is of no interest, but must have come before an answer goes out */
                *body_len = 0;
                return MHD_YES;
        }
        if (!strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD))
                page = scrape->answer(scrape->arg, path);
        else
                page.text = strdup(only_get);
        if (!page.text)
                return MHD_NO;
        response = MHD_create_response_from_buffer(strlen(page.text), page.text, MHD_RESPMEM_MUST_FREE);
        if (!response) {
                free(page.text);
                return MHD_NO;
        }
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.type);
        result = MHD_queue_response(connection, (unsigned)page.status, response);
        MHD_destroy_response(response);
        return result;
}

/* Splits "HOST:PORT", "[HOST]:PORT", ":PORT" or "PORT"; false when it is none of these. */
static bool split(const char *address, char *host, size_t host_size, char *port, size_t port_size)
{
        const char *colon = strrchr(address, ':'), *from = address;
        size_t len = colon ? (size_t)(colon - address) : 0;

        if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
                from++;
                len -= 2;
        } else if (memchr(address, ':', len)) {
                return false; /* which part of an IPv6 address is the port? */
        }
        snprintf(port, port_size, "%s", colon ? colon + 1 : address);
        snprintf(host, host_size, "%.*s", (int)len, from);
        if (!len)
                snprintf(host, host_size, "127.0.0.1");
        return len < host_size && *port && strspn(port, "0123456789") == strlen(port) && strlen(port) < 6 && atoi(port) < 65536;
}

static int listen_at(const char *host, const char *port, const char **reason)
{
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
        struct addrinfo *found = NULL;
        int yes = 1, fd = -1, rc = getaddrinfo(host, port, &hints, &found);

        *reason = rc ? gai_strerror(rc) : NULL;
        if (rc)
                return -1;
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
            bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, BACKLOG)) {
                *reason = strerror(errno);
                if (fd >= 0)
                        close(fd);
                fd = -1;
        }
        freeaddrinfo(found);
        return fd;
}

static int port_of(int fd)
{
        struct sockaddr_storage at;
        socklen_t len = sizeof(at);

        if (getsockname(fd, (struct sockaddr *)&at, &len))
                return 0;
        return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port : ((struct sockaddr_in *)&at)->sin_port);
}

rp_err_t rp_scrape_new(struct rp_scrape **out, const char *address, rp_scrape_answer_fn *answer, void *arg,
                       struct rp_error *err)
{
        struct rp_scrape *scrape;
        char host[256], port[16];
        const char *reason;
        sigset_t all, before;
        int fd;

        *out = NULL;
        if (!split(address, host, sizeof(host), port, sizeof(port)))
                return rp_fail(err, RP_ERR_USAGE, "--metrics-listen: expected PORT or HOST:PORT, got \"%.100s\"", address);
        fd = listen_at(host, port, &reason);
        if (fd < 0)
                return rp_fail(err, RP_ERR_USAGE, "--metrics-listen: cannot listen at %.100s: %s", address, reason);
        scrape = calloc(1, sizeof(*scrape));
        if (!scrape) {
                close(fd);
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        *scrape = (struct rp_scrape){ .answer = answer, .arg = arg, .port = port_of(fd) };
        sigfillset(&all); /* the server's thread leaves signals to ours */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        scrape->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, on_request, scrape,
                                          MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                          MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_S, MHD_OPTION_END);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!scrape->daemon) {
                close(fd);
                free(scrape);
                return rp_fail(err, RP_ERR_FATAL, "--metrics-listen: cannot start a web server");
        }
        *out = scrape;
        return RP_OK;
}

int rp_scrape_port(const struct rp_scrape *scrape)
{
        return scrape->port;
}

void rp_scrape_free(struct rp_scrape *scrape)
{
        if (!scrape)
                return;
        MHD_stop_daemon(scrape->daemon); /* closes the socket */
        free(scrape);
}
