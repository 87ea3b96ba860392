#include "io/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool in_is_claimed;
static int out = -1;

bool rp_is_standard(const char *path)
{
        return !strcmp(path, "-");
}

rp_err_t rp_standard_in_claim(struct rp_error *err)
{
        if (in_is_claimed)
                return rp_fail(err, RP_ERR_USAGE, "standard input is read already, as another file; it can be read once");
        in_is_claimed = true;
        return RP_OK;
}

/* @returns false: errno tells. */
static bool copy_in(int to)
{
        char part[65536];

        for (;;) {
                ssize_t got = read(STDIN_FILENO, part, sizeof(part));

                if (!got)
                        return true;
                if (got < 0 && errno == EINTR)
                        continue;
                for (ssize_t done = 0, put; done < got; done += put > 0 ? put : 0)
                        if ((put = write(to, part + done, (size_t)(got - done))) < 0 && errno != EINTR)
                                return false;
                if (got < 0)
                        return false;
        }
}

rp_err_t rp_standard_in_hold(const char **path, struct rp_error *err)
{
        rp_err_t rc = rp_standard_in_claim(err);
        int held;

        if (rc != RP_OK)
                return rc;
        held = memfd_create("standard input", MFD_CLOEXEC);
        /* A regular file to whoever opens /dev/stdin, each time from its start. */
        if (held < 0 || !copy_in(held) || dup2(held, STDIN_FILENO) < 0)
                rc = rp_fail(err, RP_ERR_USAGE, "standard input: cannot read: %s", strerror(errno));
        if (held >= 0)
                close(held);
        *path = "/dev/stdin";
        return rc;
}

rp_err_t rp_standard_out_claim(struct rp_error *err)
{
        if (out >= 0)
                return rp_fail(err, RP_ERR_USAGE, "standard output is another file already; it can be one");
        fflush(stdout);
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
                return rp_fail(err, RP_ERR_USAGE, "standard output: cannot write: %s", strerror(errno));
        return RP_OK;
}

int rp_standard_out(void)
{
        return out;
}
