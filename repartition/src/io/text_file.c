#include "io/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_SIZE_MAX = 64 << 20 };

rp_err_t rp_text_load(char **text, size_t *len, const char *path, const char *what, struct rp_error *err)
{
        struct stat st;
        FILE *file;

        *text = NULL;
        /* Looked at before it is opened: opening a FIFO would wait for a writer. */
        if (stat(path, &st))
                return rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the %s file: %s", path, what, strerror(errno));
        if (!S_ISREG(st.st_mode) || st.st_size > FILE_SIZE_MAX)
                return rp_fail(err, RP_ERR_USAGE, "%.300s: expected one %s file of at most %d MiB, found %s", path, what,
                               FILE_SIZE_MAX >> 20,
                               S_ISDIR(st.st_mode)   ? "a directory"
                               : S_ISREG(st.st_mode) ? "a larger one"
                                                     : "something that is not a regular file");
        *len = (size_t)st.st_size;
        *text = malloc(*len + 1);
        if (!*text)
                return rp_fail(err, RP_ERR_FATAL, "out of memory");
        file = fopen(path, "rb");
        if (!file || fread(*text, 1, *len, file) != *len) {
                rp_fail(err, RP_ERR_USAGE, "%.300s: cannot read the %s file: %s", path, what,
                        file && feof(file) ? "it is shorter than it was" : strerror(errno));
                free(*text);
                *text = NULL;
        } else {
                (*text)[*len] = '\0';
        }
        if (file)
                fclose(file);
        return *text ? RP_OK : RP_ERR_USAGE;
}

/* Where the first line begins that starts with "{"; NULL: nowhere. */
static char *find_object(char *text)
{
        for (char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (line[strspn(line, " \t\r")] == '{')
                        return line;
        }
        return NULL;
}

rp_err_t rp_json_load(json_t **document, const char *path, const char *what, char *text, struct rp_error *err)
{
        size_t len = text ? strlen(text) : 0;
        rp_err_t rc = text ? RP_OK : rp_text_load(&text, &len, path, what, err);
        bool other_text = false;
        char *object;
        json_error_t why;

        *document = NULL;
        if (rc != RP_OK)
                return rc;
        object = find_object(text);
        /* Blanks in place of what stands before keep the line numbers of messages right. */
        for (char *c = text; object && c < object; c++) {
                other_text = other_text || !strchr(" \t\r\n", *c);
                *c = *c == '\n' ? '\n' : ' ';
        }
        *document = json_loadb(text, len, JSON_REJECT_DUPLICATES | (other_text ? JSON_DISABLE_EOF_CHECK : 0), &why);
        if (!*document)
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line %d, column %d: %s", path, why.line, why.column, why.text);
        else if (!json_is_object(*document))
                rc = rp_fail(err, RP_ERR_USAGE, "%.200s: line 1: expected an object: {...}", path);
        if (rc != RP_OK) {
                json_decref(*document);
                *document = NULL;
                rp_one_line(err, rc);
        }
        free(text);
        return rc;
}

void rp_one_line(struct rp_error *err, rp_err_t rc)
{
        for (unsigned char *c = (unsigned char *)err->text; rc != RP_OK && *c; c++)
                if (*c < 0x20 || *c == 0x7f)
                        *c = '?';
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static rp_err_t write_all(int fd, const char *text)
{
        size_t left = strlen(text);

        while (left) {
                ssize_t n = write(fd, text, left);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return RP_ERR_FATAL;
                text += n;
                left -= (size_t)n;
        }
        return fsync(fd) ? RP_ERR_FATAL : RP_OK;
}

/* The file under another name in the same folder, so that it can be renamed. The caller's to free(); NULL with *err. */
static char *write_draft(const struct rp_text_file *file, struct rp_error *err)
{
        char *draft = NULL;
        rp_err_t rc;
        int fd;

        if (asprintf(&draft, "%s.draft-%ld", file->path, (long)getpid()) < 0) {
                rp_fail(err, RP_ERR_FATAL, "out of memory");
                return NULL;
        }
        fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        rc = fd < 0 ? RP_ERR_FATAL : write_all(fd, file->text);
        if (rc == RP_OK) {
                close(fd); /* what it could complain about, fsync() did */
                return draft;
        }
        rp_fail(err, RP_ERR_USAGE, "%.300s: cannot write: %s", file->path, strerror(errno));
        if (fd >= 0) {
                close(fd);
                unlink(draft);
        }
        free(draft);
        return NULL;
}

/* Gives the draft its name, unless that is taken. link() cannot replace a file; where there are no links, look first. */
static rp_err_t publish(const char *draft, const char *path, struct rp_error *err)
{
        bool done = !link(draft, path);

        if (!done && errno != EEXIST && access(path, F_OK))
                done = !rename(draft, path);
        if (!done)
                return rp_fail(err, RP_ERR_USAGE, "%.300s: %s", path,
                               errno == EEXIST || !access(path, F_OK)
                                       ? "it exists already, and may be the way back of an earlier plan; name another file"
                                       : strerror(errno));
        return RP_OK;
}

rp_err_t rp_text_files_write(const struct rp_text_file *files, size_t cnt, struct rp_error *err)
{
        char **drafts = calloc(cnt + 1, sizeof(*drafts));
        size_t published = 0;
        rp_err_t rc = drafts ? RP_OK : rp_fail(err, RP_ERR_FATAL, "out of memory");

        for (size_t i = 0; rc == RP_OK && i < cnt; i++) {
                drafts[i] = write_draft(&files[i], err);
                rc = drafts[i] ? RP_OK : err->code;
        }
        while (rc == RP_OK && published < cnt) {
                rc = publish(drafts[published], files[published].path, err);
                published += rc == RP_OK;
        }
        for (size_t i = 0; rc != RP_OK && i < published; i++)
                unlink(files[i].path);
        for (size_t i = 0; drafts && i < cnt && drafts[i]; i++) {
                unlink(drafts[i]);
                free(drafts[i]);
        }
        free(drafts);
        return rc;
}
