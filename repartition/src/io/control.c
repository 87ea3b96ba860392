#include "io/control.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct peer {
        int fd; /* -1: the slot is free */
        char in[RP_CONTROL_LINE_MAX + 2]; /* a line, its end, a NUL */
        size_t in_len;
        char *out; /* what is still to be sent; nothing is read meanwhile */
        size_t out_len, out_at;
        int64_t deadline_ms;
        bool closes; /* once out is sent */
};

struct rp_control {
        int fd;
        char *path;
        dev_t device; /* of our socket file */
        ino_t inode;
        rp_control_answer_fn *answer;
        void *arg;
        struct peer peers[RP_CONTROL_PEERS];
};

static rp_err_t set_address(struct sockaddr_un *address, const char *path, struct rp_error *err)
{
        size_t len = strlen(path);

        *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (len >= sizeof(address->sun_path))
                return rp_fail(err, RP_ERR_USAGE, "%.300s: too long for a socket's path, which may have %zu bytes", path,
                               sizeof(address->sun_path) - 1);
        memcpy(address->sun_path, path, len + 1);
        return RP_OK;
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

/* One process at a time looks for a dead socket here and replaces it. Without the lock (another one's) we go on. */
static int lock_folder(const char *path)
{
        const char *slash = strrchr(path, '/');
        char folder[sizeof(((struct sockaddr_un *)0)->sun_path)] = ".";
        int fd;

        if (slash)
                snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; fd >= 0 && i < 50 && flock(fd, LOCK_EX | LOCK_NB); i++)
                poll(NULL, 0, 20);
        return fd;
}

/* What keeps the name from being bound: RP_OK when it was a socket that nobody listens at, which is gone now. */
static rp_err_t remove_dead(const struct sockaddr_un *address, struct rp_error *err)
{
        struct stat st;
        int fd, refused;

        if (lstat(address->sun_path, &st))
                return errno == ENOENT ? RP_OK : rp_fail(err, RP_ERR_USAGE, "%s: %s", address->sun_path, strerror(errno));
        if (!S_ISSOCK(st.st_mode))
                return rp_fail(err, RP_ERR_USAGE, "%s: there is a file of that name, and it is no socket", address->sun_path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return rp_fail(err, RP_ERR_USAGE, "%s: cannot make a socket: %s", address->sun_path, strerror(errno));
        refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;
        close(fd);
        if (refused != ECONNREFUSED)
                return rp_fail(err, RP_ERR_USAGE, "%s: another process listens there: a job of its own needs a socket of "
                               "its own", address->sun_path);
        if (unlink(address->sun_path) && errno != ENOENT)
                return rp_fail(err, RP_ERR_USAGE, "%s: cannot replace the socket of a run that has ended: %s",
                               address->sun_path, strerror(errno));
        return RP_OK;
}

static rp_err_t start_listening(struct rp_control *control, const struct sockaddr_un *address, struct rp_error *err)
{
        struct stat st;
        rp_err_t rc;

        control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        /* The file gets the socket's mode: nobody else can connect, not even before bind() has returned. */
        if (control->fd < 0 || fchmod(control->fd, 0600))
                return rp_fail(err, RP_ERR_USAGE, "%s: cannot make a socket: %s", control->path, strerror(errno));
        if (bind(control->fd, (const struct sockaddr *)address, sizeof(*address))) {
                if (errno != EADDRINUSE)
                        return rp_fail(err, RP_ERR_USAGE, "%s: cannot listen there: %s", control->path, strerror(errno));
                rc = remove_dead(address, err);
                if (rc != RP_OK)
                        return rc;
                if (bind(control->fd, (const struct sockaddr *)address, sizeof(*address)))
                        return rp_fail(err, RP_ERR_USAGE, "%s: cannot listen there: %s", control->path, strerror(errno));
        }
        if (listen(control->fd, RP_CONTROL_PEERS) || lstat(control->path, &st))
                return rp_fail(err, RP_ERR_USAGE, "%s: cannot listen there: %s", control->path, strerror(errno));
        control->device = st.st_dev;
        control->inode = st.st_ino;
        return RP_OK;
}

rp_err_t rp_control_new(struct rp_control **control, const char *path, rp_control_answer_fn *answer, void *arg,
                        struct rp_error *err)
{
        struct sockaddr_un address;
        rp_err_t rc = set_address(&address, path, err);
        int lock;

        *control = NULL;
        if (rc != RP_OK)
                return rc;
        *control = calloc(1, sizeof(**control));
        if (!*control || !((*control)->path = strdup(path))) {
                free(*control);
                *control = NULL;
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        }
        (*control)->fd = -1;
        (*control)->answer = answer;
        (*control)->arg = arg;
        for (size_t i = 0; i < RP_CONTROL_PEERS; i++)
                (*control)->peers[i].fd = -1;
        lock = lock_folder(path);
        rc = start_listening(*control, &address, err);
        if (lock >= 0)
                close(lock);
        if (rc != RP_OK) {
                rp_control_free(*control);
                *control = NULL;
        }
        return rc;
}

/* ---- serving ------------------------------------------------------------------------------------------------------ */

static void drop(struct peer *peer)
{
        close(peer->fd);
        free(peer->out);
        peer->out = NULL;
        peer->in_len = 0;
        peer->fd = -1;
}

static void send_some(struct peer *peer)
{
        ssize_t sent = send(peer->fd, peer->out + peer->out_at, peer->out_len - peer->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (sent < 0) {
                drop(peer);
                return;
        }
        peer->out_at += (size_t)sent;
        if (peer->out_at < peer->out_len)
                return;
        free(peer->out);
        peer->out = NULL;
        peer->deadline_ms = rp_clock_ms() + RP_CONTROL_PATIENCE_MS;
        if (peer->closes)
                drop(peer);
}

/* Takes the text, NULL when out of memory. */
static void reply(struct peer *peer, char *text)
{
        char *line = NULL;
        int len = text ? asprintf(&line, "%s\n", text) : -1;

        free(text);
        if (len < 0) {
                drop(peer);
                return;
        }
        peer->out = line;
        peer->out_len = (size_t)len;
        peer->out_at = 0;
        send_some(peer);
}

static void answer_lines(struct rp_control *control, struct peer *peer)
{
        while (peer->fd >= 0 && !peer->out) {
                char *end = memchr(peer->in, '\n', peer->in_len);
                size_t used;

                if (!end && peer->in_len > RP_CONTROL_LINE_MAX) {
                        peer->closes = true;
                        reply(peer, strdup("{\"ok\": false, \"error\": \"a line of more than 512 bytes\"}"));
                        return;
                }
                if (!end)
                        return;
                used = (size_t)(end - peer->in) + 1;
                *end = '\0';
                if (end > peer->in && end[-1] == '\r')
                        end[-1] = '\0';
                if (strlen(peer->in) + 2 < used) /* the NUL and the '\r' at most */
                        reply(peer, strdup("{\"ok\": false, \"error\": \"a line with a NUL byte\"}"));
                else
                        reply(peer, control->answer(control->arg, peer->in));
                if (peer->fd < 0)
                        return;
                peer->in_len -= used;
                memmove(peer->in, peer->in + used, peer->in_len);
        }
}

static void receive(struct rp_control *control, struct peer *peer)
{
        ssize_t got = recv(peer->fd, peer->in + peer->in_len, sizeof(peer->in) - 1 - peer->in_len, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) {
                drop(peer);
                return;
        }
        peer->in_len += (size_t)got;
        answer_lines(control, peer);
}

static void welcome(struct rp_control *control)
{
        int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        for (size_t i = 0; i < RP_CONTROL_PEERS; i++)
                if (control->peers[i].fd < 0) {
                        control->peers[i] = (struct peer){
                                .fd = fd, .deadline_ms = rp_clock_ms() + RP_CONTROL_PATIENCE_MS,
                        };
                        return;
                }
        close(fd);
}

/* Waits for anything to do and does it. @returns false when nothing came, or wake_fd can be read. */
static bool serve_once(struct rp_control *control, int timeout_ms, int wake_fd)
{
        struct pollfd fds[RP_CONTROL_PEERS + 2];
        int64_t now;
        size_t busy = 0;

        for (size_t i = 0; i < RP_CONTROL_PEERS; i++) {
                struct peer *peer = &control->peers[i];

                fds[i] = (struct pollfd){ .fd = peer->fd, .events = peer->out ? POLLOUT : POLLIN };
                busy += peer->fd >= 0;
        }
        /* With all places taken, who wants one waits in the kernel's queue. */
        fds[RP_CONTROL_PEERS] = (struct pollfd){ .fd = busy < RP_CONTROL_PEERS ? control->fd : -1, .events = POLLIN };
        fds[RP_CONTROL_PEERS + 1] = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
        if (poll(fds, RP_CONTROL_PEERS + 2, timeout_ms) < 0)
                return false;
        now = rp_clock_ms();
        for (size_t i = 0; i < RP_CONTROL_PEERS; i++) {
                struct peer *peer = &control->peers[i];

                if (peer->fd < 0)
                        continue;
                if (fds[i].revents && peer->out) {
                        send_some(peer);
                        if (peer->fd >= 0)
                                answer_lines(control, peer); /* what came with the line before */
                } else if (fds[i].revents) {
                        receive(control, peer);
                } else if (now >= peer->deadline_ms) {
                        drop(peer);
                }
        }
        if (fds[RP_CONTROL_PEERS].revents)
                welcome(control);
        return !fds[RP_CONTROL_PEERS + 1].revents;
}

void rp_control_serve(struct rp_control *control, int timeout_ms, int wake_fd)
{
        int64_t until = rp_clock_ms() + timeout_ms, left = timeout_ms;

        while (serve_once(control, left > 0 ? (int)left : 0, wake_fd) && left > 0)
                left = until - rp_clock_ms();
}

void rp_control_free(struct rp_control *control)
{
        struct stat st;

        if (!control)
                return;
        for (size_t i = 0; i < RP_CONTROL_PEERS; i++)
                if (control->peers[i].fd >= 0)
                        drop(&control->peers[i]);
        if (control->inode && !lstat(control->path, &st) && st.st_dev == control->device && st.st_ino == control->inode)
                unlink(control->path);
        if (control->fd >= 0)
                close(control->fd);
        free(control->path);
        free(control);
}

/* ---- asking ------------------------------------------------------------------------------------------------------- */

static rp_err_t fail_connect(const char *path, int reason, struct rp_error *err)
{
        struct stat st;

        if (reason == ENOENT)
                return rp_fail(err, RP_ERR_RETRY, "nothing listens at %.200s: no job with --control-socket %.200s runs now",
                               path, path);
        if (!stat(path, &st) && !S_ISSOCK(st.st_mode))
                return rp_fail(err, RP_ERR_USAGE, "%.300s is no socket: name the one that --control-socket gave", path);
        if (reason == ECONNREFUSED)
                return rp_fail(err, RP_ERR_RETRY, "nothing listens at %.300s any more: the job was killed, and the same "
                               "command takes it up again", path);
        if (reason == EAGAIN)
                return rp_fail(err, RP_ERR_RETRY, "the job at %.300s is asked by too many at once", path);
        return rp_fail(err, RP_ERR_USAGE, "cannot talk to the job at %.300s: %s", path, strerror(reason));
}

/* One line, until its end. @returns 0 and *text, or an errno; ECONNRESET when the other side hung up first. */
static int receive_line(int fd, char **text)
{
        size_t len = 0, cap = 4096;
        char *line = malloc(cap), *end = NULL;
        int reason = line ? 0 : ENOMEM;

        while (!reason && !end) {
                ssize_t got = recv(fd, line + len, cap - len, 0);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0) {
                        reason = got ? errno : ECONNRESET;
                        break;
                }
                end = memchr(line + len, '\n', (size_t)got);
                len += (size_t)got;
                if (!end && len == cap) {
                        char *grown = cap < RP_CONTROL_REPLY_MAX ? realloc(line, 2 * cap) : NULL;

                        if (!grown) {
                                reason = ENOMEM;
                                break;
                        }
                        line = grown;
                        cap *= 2;
                }
        }
        if (reason) {
                free(line);
                return reason;
        }
        *end = '\0';
        *text = line;
        return 0;
}

static rp_err_t exchange(int fd, const char *path, const char *line, char **reply_text, struct rp_error *err)
{
        int reason = 0;

        if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
                reason = errno;
        else
                reason = receive_line(fd, reply_text);
        if (!reason)
                return RP_OK;
        if (reason == EAGAIN)
                return rp_fail(err, RP_ERR_RETRY, "the job at %.300s does not answer: is its process stopped?", path);
        if (reason == ECONNRESET || reason == EPIPE)
                return rp_fail(err, RP_ERR_RETRY, "the job at %.300s ended before it answered", path);
        return rp_fail(err, RP_ERR_USAGE, "cannot talk to the job at %.300s: %s", path, strerror(reason));
}

rp_err_t rp_control_ask(const char *path, const char *line, int timeout_ms, char **reply_text, struct rp_error *err)
{
        struct sockaddr_un address;
        struct timeval patience = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
        rp_err_t rc = set_address(&address, path, err);
        int fd;

        *reply_text = NULL;
        if (rc != RP_OK)
                return rc;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
                rc = rp_fail(err, RP_ERR_USAGE, "cannot make a socket: %s", strerror(errno));
        else if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
                rc = fail_connect(path, errno, err);
        else
                rc = exchange(fd, path, line, reply_text, err);
        if (fd >= 0)
                close(fd);
        return rc;
}
