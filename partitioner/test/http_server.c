#include "http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct http_server {
        int listener, port;
        http_answer_fn *answer;
        void *opaque;
        pthread_t thread;
        atomic_bool stopping;
        atomic_uint requests, open;
};

struct connection {
        struct http_server *server;
        int fd;
};

static void send_all(int fd, const char *data, size_t len)
{
        ssize_t sent;

        for (; len; data += sent, len -= (size_t)sent) {
                sent = send(fd, data, len, MSG_NOSIGNAL);
                if (sent <= 0)
                        return;
        }
}

/* In small steps, so that a server that is stopped does not make the test wait. */
static void pause_ms(struct http_server *server, int ms)
{
        static const struct timespec step = { 0, 5000000 };

        for (; ms > 0 && !atomic_load(&server->stopping); ms -= 5)
                nanosleep(&step, NULL);
}

static void reply_to(struct http_server *server, int fd, char *request)
{
        struct http_reply reply = { 0 };
        char head[1024], path[600];
        size_t len;
        int used;

        if (sscanf(request, "GET %599s", path) != 1)
                return;
        atomic_fetch_add(&server->requests, 1);
        server->answer(path, request, &reply, server->opaque);
        if (!reply.status) {
                reply.status = 404;
                reply.body = "{\"error_code\":40403,\"message\":\"Schema not found\"}";
        }
        pause_ms(server, reply.delay_ms);
        len = reply.body_len ? reply.body_len : reply.body ? strlen(reply.body) : 0;
        used = snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
                        reply.status, reply.headers ? reply.headers : "", len);
        send_all(fd, head, (size_t)used);
        if (reply.body)
                send_all(fd, reply.body, len - reply.cut);
}

static void *serve(void *opaque)
{
        struct connection *connection = opaque;
        char request[8192];
        size_t used = 0;
        ssize_t got;

        while ((got = recv(connection->fd, request + used, sizeof(request) - 1 - used, 0)) > 0) {
                used += (size_t)got;
                request[used] = '\0';
                if (strstr(request, "\r\n\r\n")) {
                        reply_to(connection->server, connection->fd, request);
                        break;
                }
        }
        close(connection->fd);
        atomic_fetch_sub(&connection->server->open, 1);
        free(connection);
        return NULL;
}

static void *accept_all(void *opaque)
{
        struct http_server *server = opaque;
        struct pollfd poll_fd = { .fd = server->listener, .events = POLLIN };

        while (!atomic_load(&server->stopping)) {
                struct connection *connection;
                pthread_t thread;

                if (poll(&poll_fd, 1, 10) <= 0)
                        continue;
                connection = malloc(sizeof(*connection));
                *connection = (struct connection){ server, accept(server->listener, NULL, NULL) };
                atomic_fetch_add(&server->open, 1);
                if (connection->fd < 0 || pthread_create(&thread, NULL, serve, connection))
                        abort();
                pthread_detach(thread);
        }
        return NULL;
}

struct http_server *http_server_start(int port, http_answer_fn *answer, void *opaque)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(address);
        struct http_server *server = calloc(1, sizeof(*server));
        int on = 1;

        server->answer = answer;
        server->opaque = opaque;
        server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) || listen(server->listener, 64) ||
            getsockname(server->listener, (struct sockaddr *)&address, &len) ||
            pthread_create(&server->thread, NULL, accept_all, server)) {
                close(server->listener);
                free(server);
                return NULL;
        }
        server->port = ntohs(address.sin_port);
        return server;
}

int http_server_port(const struct http_server *server)
{
        return server->port;
}

unsigned http_server_requests(const struct http_server *server)
{
        return atomic_load(&((struct http_server *)server)->requests);
}

void http_server_stop(struct http_server *server)
{
        static const struct timespec step = { 0, 1000000 };

        if (!server)
                return;
        atomic_store(&server->stopping, true);
        pthread_join(server->thread, NULL);
        close(server->listener);
        while (atomic_load(&server->open))
                nanosleep(&step, NULL);
        free(server);
}
