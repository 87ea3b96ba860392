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
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LOOK_MS = 10 }; /* between looks at whether a program that closed its output is gone */

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
static int start(char *const *argv, int in, int out, const sigset_t *mask, pid_t *pid)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int rc;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, mask);
        rc = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return rc;
}

/* A program that runs, and what may end our waiting for it. */
struct running {
        const char *name;
        pid_t pid;
        int out;     /* what it prints                                  */
        int signals; /* readable once a signal that ends us has come    */
        int64_t deadline_ms;
};

/* Waits until there is something to read (is_reading), else for LOOK_MS; less if a signal comes or the time is over. */
static rp_err_t wait_for(const struct running *run, bool is_reading, struct rp_error *err)
{
        struct pollfd waits[] = { { .fd = run->signals, .events = POLLIN }, { .fd = run->out, .events = POLLIN } };
        int64_t left;
        int rc;

        do {
                left = run->deadline_ms - rp_clock_ms();
                rc = poll(waits, is_reading ? 2 : 1, left < 0 ? 0 : is_reading || left < LOOK_MS ? (int)left : LOOK_MS);
        } while (rc < 0 && errno == EINTR);
        if (rc < 0)
                return rp_fail(err, RP_ERR_FATAL, "cannot wait for \"%.200s\": %s", run->name, strerror(errno));
        if (waits[0].revents)
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" was stopped by a signal to us", run->name);
        if (left <= 0 || (is_reading && !rc))
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" did not end in time and was stopped", run->name);
        return RP_OK;
}

/* Reads until the other end closes. */
static rp_err_t read_all(const struct running *run, struct rp_program_output *out, struct rp_error *err)
{
        size_t len = 0, size = 0;

        for (;;) {
                ssize_t got;

                if (len + 1 >= size) {
                        size_t more = size ? size * 2 : 65536;
                        char *text = more <= RP_PROGRAM_OUTPUT_MAX ? realloc(out->text, more) : NULL;

                        if (!text)
                                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" prints more than %d MB", run->name,
                                               RP_PROGRAM_OUTPUT_MAX >> 20);
                        out->text = text;
                        size = more;
                }
                if (wait_for(run, true, err) != RP_OK)
                        return err->code;
                got = read(run->out, out->text + len, size - len - 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return rp_fail(err, RP_ERR_FATAL, "cannot read what \"%.200s\" prints: %s", run->name, strerror(errno));
                len += (size_t)got;
                out->text[len] = '\0';
                if (!got)
                        return RP_OK;
        }
}

/* Until it is gone: it may go on for long after it closed its output. */
static rp_err_t reap(const struct running *run, int *status, struct rp_error *err)
{
        while (waitpid(run->pid, status, WNOHANG) != run->pid)
                if (wait_for(run, false, err) != RP_OK)
                        return err->code;
        return RP_OK;
}

static rp_err_t check_status(const char *name, int status, struct rp_error *err)
{
        if (WIFSIGNALED(status))
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" was ended by signal %d", name, WTERMSIG(status));
        if (WEXITSTATUS(status))
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" ended with %d%s", name, WEXITSTATUS(status),
                               WEXITSTATUS(status) == 127 ? ": is it there, and may it be run?" : "");
        return RP_OK;
}

/* Reads it to its end, or ends it. */
static rp_err_t attend(const struct running *run, struct rp_program_output *out, struct rp_error *err)
{
        int status = 0;

        if (read_all(run, out, err) == RP_OK && reap(run, &status, err) == RP_OK)
                return check_status(run->name, status, err);
        kill(-run->pid, SIGKILL);
        while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
                ;
        return err->code;
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
        struct running run = { .name = argv[0], .out = -1, .signals = -1, .deadline_ms = rp_clock_ms() + timeout_ms };
        int in = make_input(input, input_len), ends[2] = { -1, -1 };
        sigset_t ending, before;
        rp_err_t rc;

        *out = (struct rp_program_output){ 0 };
        /* A terminal's Ctrl-C does not reach its group. So what would end us waits until the program has been ended. */
        sigemptyset(&ending);
        sigaddset(&ending, SIGINT);
        sigaddset(&ending, SIGTERM);
        sigaddset(&ending, SIGHUP);
        pthread_sigmask(SIG_BLOCK, &ending, &before);
        run.signals = signalfd(-1, &ending, SFD_CLOEXEC);
        if (in < 0 || run.signals < 0 || pipe2(ends, O_CLOEXEC) < 0) {
                rc = rp_fail(err, RP_ERR_FATAL, "cannot prepare the input of \"%.200s\": %s", argv[0], strerror(errno));
        } else {
                int failed = start(argv, in, ends[1], &before, &run.pid);

                close(ends[1]);
                ends[1] = -1;
                run.out = ends[0];
                rc = failed ? rp_fail(err, RP_ERR_USAGE, "cannot run \"%.200s\": %s", argv[0], strerror(failed))
                            : attend(&run, out, err);
        }
        for (size_t i = 0; i < 2; i++)
                if (ends[i] >= 0)
                        close(ends[i]);
        if (run.signals >= 0)
                close(run.signals);
        if (in >= 0)
                close(in);
        if (rc == RP_OK)
                rc = split_lines(out, err);
        if (rc != RP_OK)
                rp_program_output_release(out);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return rc;
}

void rp_program_output_release(struct rp_program_output *out)
{
        free(out->lines);
        free(out->text);
        *out = (struct rp_program_output){ 0 };
}
