#include "io/file.h"

#include "io/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rp_err_t fail(struct rp_error *err, const char *path, const char *what)
{
        return rp_fail(err, RP_ERR_USAGE, "%.300s: cannot %s: %s", path, what, strerror(errno));
}

static bool write_all(int fd, const char *data, size_t len)
{
        while (len) {
                ssize_t done = write(fd, data, len);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done < 0)
                        return false;
                data += done;
                len -= (size_t)done;
        }
        return true;
}

/* mkstemp() makes files for their owner alone; a new file gets what open() would have given it, an old one keeps its. */
static mode_t mode_for(const char *path)
{
        struct stat st;
        mode_t mask;

        if (!stat(path, &st))
                return st.st_mode & 07777;
        mask = umask(0);
        umask(mask);
        return 0666 & ~mask;
}

/* A device or a pipe. */
static rp_err_t write_into(const char *path, const void *data, size_t len, struct rp_error *err)
{
        int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        rp_err_t rc = fd >= 0 && write_all(fd, data, len) ? RP_OK : fail(err, path, "write");

        if (fd >= 0 && close(fd) && rc == RP_OK)
                rc = fail(err, path, "write");
        return rc;
}

rp_err_t rp_file_replace(const char *path, const void *data, size_t len, rp_file_check_fn *check, void *opaque,
                         struct rp_error *err)
{
        struct stat st;
        char *part;
        rp_err_t rc = RP_OK;
        int fd;

        if (rp_is_standard(path) && rp_standard_out() >= 0)
                return write_all(rp_standard_out(), data, len) ? RP_OK : fail(err, "standard output", "write");
        /* To rename over /dev/null would take it from everybody. */
        if (!stat(path, &st) && !S_ISREG(st.st_mode))
                return write_into(path, data, len, err);
        if (asprintf(&part, "%s.XXXXXX", path) < 0)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        fd = mkstemp(part);
        if (fd < 0) {
                rc = fail(err, path, "write a file beside it");
                goto out;
        }
        if (!write_all(fd, data, len) || fchmod(fd, mode_for(path)) || fsync(fd))
                rc = fail(err, path, "write");
        if (close(fd) && rc == RP_OK)
                rc = fail(err, path, "write");
        if (rc == RP_OK && check)
                rc = check(part, opaque, err);
        if (rc == RP_OK && rename(part, path))
                rc = fail(err, path, "put the new file in place");
        if (rc != RP_OK)
                unlink(part);
out:
        free(part);
        return rc;
}

rp_err_t rp_file_refresh(const char *path, const void *data, size_t len, struct rp_error *err)
{
        struct stat st;
        bool exists = !lstat(path, &st);
        char *part;
        rp_err_t rc = RP_OK;
        int fd;

        if (exists && !S_ISREG(st.st_mode))
                return rp_fail(err, RP_ERR_USAGE, "%.300s: there is something of that name that is no regular file", path);
        if (asprintf(&part, "%s.new", path) < 0)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (fd < 0) {
                rc = fail(err, path, "write a file beside it");
                goto out;
        }
        /* Not mode_for(): it touches the umask, which belongs to all threads. */
        if (!write_all(fd, data, len) || (exists && fchmod(fd, st.st_mode & 07777)))
                rc = fail(err, path, "write");
        if (close(fd) && rc == RP_OK)
                rc = fail(err, path, "write");
        if (rc == RP_OK && rename(part, path))
                rc = fail(err, path, "put the new file in place");
        if (rc != RP_OK)
                unlink(part);
out:
        free(part);
        return rc;
}
