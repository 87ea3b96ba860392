/** Files that people and other tools wrote, read whole; and files of ours, written whole or not at all. */
#ifndef RP_TEXT_FILE_H
#define RP_TEXT_FILE_H

#include "error.h"

#include <jansson.h>
#include <stddef.h>

/**
 * Reads a regular file of at most 64 MiB; `what` it is, such as "capacity", stands in messages.
 * @returns RP_OK and *text, the caller's to free(), with a NUL behind its *len bytes; or RP_ERR_USAGE.
 */
rp_err_t rp_text_load(char **text, size_t *len, const char *path, const char *what, struct rp_error *err);

/**
 * Reads a JSON object. Lines before the first one that begins with "{" are passed over, since Kafka's tools print some;
 * then only that first object is read, otherwise nothing may follow it.
 * @param text  the file's bytes when the caller has them already (freed here); NULL: read them
 * @returns RP_OK and *document, the caller's to json_decref(); or RP_ERR_USAGE with file, line and reason.
 */
rp_err_t rp_json_load(json_t **document, const char *path, const char *what, char *text, struct rp_error *err);

/** A complaint that quotes a file stays one line, whatever the file holds. Does nothing when rc is RP_OK. */
void rp_one_line(struct rp_error *err, rp_err_t rc);

struct rp_text_file {
        const char *path;
        const char *text;
};

/**
 * Writes new files, all of them or none: each is complete under its name or not there. A file that exists is never
 * written over, since it may be the way back of an earlier plan.
 */
rp_err_t rp_text_files_write(const struct rp_text_file *files, size_t cnt, struct rp_error *err);

#endif
