#include "io/program.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A file without a name that holds the input, at its start. -1: errno tells. */
static int make_input(const char *input, size_t len)
{
        char name[] = "/tmp/repartition-XXXXXX";
        int fd = mkostemp(name, O_CLOEXEC);

        if (fd < 0)
                return -1;
        unlink(name);
        for (size_t done = 0; done < len;) {
                ssize_t got = write(fd, input + done, len - done);

                if (got < 0 && errno != EINTR) {
                        close(fd);
                        return -1;
                }
                done += got > 0 ? (size_t)got : 0;
        }
        if (lseek(fd, 0, SEEK_SET) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

/* Starts it in a process group of its own, so that what it started dies with it. @returns an errno. */
static int start(char *const *argv, int in, int out, pid_t *pid)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int rc;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        rc = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return rc;
}

/* Reads until the other end closes. */
static rp_err_t read_all(int fd, int64_t deadline_ms, const char *name, struct rp_program_output *out, struct rp_error *err)
{
        size_t len = 0, size = 0;

        for (;;) {
                struct pollfd waits = { .fd = fd, .events = POLLIN };
                int64_t left = deadline_ms - rp_clock_ms();
                ssize_t got;

                if (len + 1 >= size) {
                        size_t more = size ? size * 2 : 65536;
                        char *text = more <= RP_PROGRAM_OUTPUT_MAX ? realloc(out->text, more) : NULL;

                        if (!text)
                                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" prints more than %d MB", name,
                                               RP_PROGRAM_OUTPUT_MAX >> 20);
                        out->text = text;
                        size = more;
                }
                if (left <= 0 || poll(&waits, 1, (int)left) == 0)
                        return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" did not end in time and was stopped", name);
                got = read(fd, out->text + len, size - len - 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return rp_fail(err, RP_ERR_FATAL, "cannot read what \"%.200s\" prints: %s", name, strerror(errno));
                len += (size_t)got;
                out->text[len] = '\0';
                if (!got)
                        return RP_OK;
        }
}

static rp_err_t split_lines(struct rp_program_output *out, struct rp_error *err)
{
        size_t cnt = 0;

        for (const char *at = out->text; *at; at++)
                cnt += *at == '\n';
        out->lines = malloc((cnt + 1) * sizeof(*out->lines));
        if (!out->lines)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        for (char *at = out->text; *at;) {
                size_t len = strcspn(at, "\n");
                bool is_last = !at[len];

                at[len] = '\0';
                if (len && at[len - 1] == '\r')
                        at[len - 1] = '\0';
                out->lines[out->line_cnt++] = at;
                at += len + !is_last;
        }
        return RP_OK;
}

rp_err_t rp_program_run(char *const *argv, const char *input, size_t input_len, int timeout_ms,
                        struct rp_program_output *out, struct rp_error *err)
{
        int in = make_input(input, input_len), ends[2], rc, status = 0;
        pid_t pid;

        *out = (struct rp_program_output){ 0 };
        if (in < 0 || pipe2(ends, O_CLOEXEC) < 0) {
                rc = errno;
                if (in >= 0)
                        close(in);
                return rp_fail(err, RP_ERR_FATAL, "cannot prepare the input of \"%.200s\": %s", argv[0], strerror(rc));
        }
        rc = start(argv, in, ends[1], &pid);
        close(in);
        close(ends[1]);
        if (rc) {
                close(ends[0]);
                return rp_fail(err, RP_ERR_USAGE, "cannot run \"%.200s\": %s", argv[0], strerror(rc));
        }
        rc = (int)read_all(ends[0], rp_clock_ms() + timeout_ms, argv[0], out, err);
        close(ends[0]);
        if (rc != RP_OK)
                kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (rc == RP_OK && WIFSIGNALED(status))
                rc = (int)rp_fail(err, RP_ERR_USAGE, "\"%.200s\" was ended by signal %d", argv[0], WTERMSIG(status));
        else if (rc == RP_OK && WEXITSTATUS(status))
                rc = (int)rp_fail(err, RP_ERR_USAGE, "\"%.200s\" ended with %d%s", argv[0], WEXITSTATUS(status),
                                  WEXITSTATUS(status) == 127 ? ": is it there, and may it be run?" : "");
        if (rc == RP_OK)
                rc = (int)split_lines(out, err);
        if (rc != RP_OK)
                rp_program_output_release(out);
        return (rp_err_t)rc;
}

void rp_program_output_release(struct rp_program_output *out)
{
        free(out->lines);
        free(out->text);
        *out = (struct rp_program_output){ 0 };
}
