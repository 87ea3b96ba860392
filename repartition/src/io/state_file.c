#include "io/state_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char magic[16] = "keyroute state1";

struct rp_state_file {
        FILE *stream;
        XXH3_state_t *sum;
        char *path, *passing; /* the passing name while it is written; NULL: it is read */
        int error;
        long left;
};

static rp_err_t fail_file(const char *path, int error, struct rp_error *err)
{
        return rp_fail(err, RP_ERR_USAGE, "state file \"%.200s\": %s", path, strerror(error));
}

/* A pipe would make us wait for whoever writes it, and to rename over a device would take it from everybody. */
static rp_err_t check_kind(const char *path, struct rp_error *err)
{
        struct stat st;

        if (!stat(path, &st) && !S_ISREG(st.st_mode))
                return rp_fail(err, RP_ERR_USAGE, "state file \"%.200s\": there is something of that name that is no regular "
                               "file", path);
        return RP_OK;
}

void rp_state_close(struct rp_state_file *file)
{
        if (!file)
                return;
        if (file->stream)
                fclose(file->stream);
        if (file->passing)
                unlink(file->passing);
        XXH3_freeState(file->sum);
        free(file->passing);
        free(file->path);
        free(file);
}

static struct rp_state_file *make(const char *path)
{
        struct rp_state_file *file = calloc(1, sizeof(*file));

        if (!file)
                return NULL;
        file->sum = XXH3_createState();
        file->path = strdup(path);
        if (!file->sum || !file->path) {
                rp_state_close(file);
                return NULL;
        }
        XXH3_64bits_reset(file->sum);
        return file;
}

struct rp_state_file *rp_state_create(const char *path, struct rp_error *err)
{
        struct rp_state_file *file;

        if (check_kind(path, err) != RP_OK)
                return NULL;
        file = make(path);
        if (!file || asprintf(&file->passing, "%s.new", path) < 0) {
                rp_state_close(file);
                rp_fail(err, RP_ERR_FATAL, "out of memory");
                return NULL;
        }
        file->stream = fopen(file->passing, "we");
        if (!file->stream) {
                fail_file(path, errno, err);
                free(file->passing);
                file->passing = NULL;
                rp_state_close(file);
                return NULL;
        }
        rp_state_put(file, magic, sizeof(magic));
        return file;
}

void rp_state_put(struct rp_state_file *file, const void *data, size_t len)
{
        if (!len || file->error)
                return;
        XXH3_64bits_update(file->sum, data, len);
        if (fwrite(data, 1, len, file->stream) != len)
                file->error = errno;
}

rp_err_t rp_state_commit(struct rp_state_file *file, struct rp_error *err)
{
        uint64_t sum = XXH3_64bits_digest(file->sum);
        rp_err_t rc = RP_OK;

        if (!file->error && (fwrite(&sum, sizeof(sum), 1, file->stream) != 1 || fflush(file->stream) ||
                             fsync(fileno(file->stream))))
                file->error = errno;
        if (fclose(file->stream) && !file->error)
                file->error = errno;
        file->stream = NULL;
        if (!file->error && rename(file->passing, file->path))
                file->error = errno;
        if (file->error) {
                rc = fail_file(file->path, file->error, err);
        } else {
                free(file->passing);
                file->passing = NULL;
        }
        rp_state_close(file);
        return rc;
}

/* Reads the whole file once: what does not match its checksum must not be believed in any part. */
static bool is_whole(struct rp_state_file *file)
{
        char chunk[1 << 16];
        uint64_t sum;
        long size;

        if (fseek(file->stream, 0, SEEK_END) || (size = ftell(file->stream)) < (long)(sizeof(magic) + sizeof(sum)))
                return false;
        rewind(file->stream);
        file->left = size - (long)sizeof(sum);
        for (long left = file->left; left > 0;) {
                size_t len = left < (long)sizeof(chunk) ? (size_t)left : sizeof(chunk);

                if (fread(chunk, 1, len, file->stream) != len)
                        return false;
                if (left == file->left && memcmp(chunk, magic, sizeof(magic)) != 0)
                        return false;
                XXH3_64bits_update(file->sum, chunk, len);
                left -= (long)len;
        }
        if (fread(&sum, sizeof(sum), 1, file->stream) != 1 || sum != XXH3_64bits_digest(file->sum))
                return false;
        return !fseek(file->stream, (long)sizeof(magic), SEEK_SET) && (file->left -= (long)sizeof(magic)) >= 0;
}

rp_err_t rp_state_open(const char *path, struct rp_state_file **out, struct rp_error *err)
{
        struct rp_state_file *file;

        *out = NULL;
        if (check_kind(path, err) != RP_OK)
                return err->code;
        file = make(path);
        if (!file)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        file->stream = fopen(path, "re");
        if (!file->stream) {
                int error = errno;

                rp_state_close(file);
                return error == ENOENT ? RP_OK : fail_file(path, error, err);
        }
        if (!is_whole(file)) {
                rp_state_close(file);
                return rp_fail(err, RP_ERR_USAGE, "\"%.200s\" is not a state file of this version, or it is damaged: "
                               "name another --state, or remove it to begin anew", path);
        }
        *out = file;
        return RP_OK;
}

bool rp_state_get(struct rp_state_file *file, void *data, size_t len)
{
        if ((long)len > file->left || (len && fread(data, 1, len, file->stream) != len))
                return false;
        file->left -= (long)len;
        return true;
}
