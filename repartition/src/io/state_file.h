/**
 * A file in which a long reading keeps what it knows, so that the same command goes on where it was broken off. Written
 * beside its final name and renamed when it is whole and on disk; a checksum over all of it tells a torn or changed one.
 * Only for the machine and the build that wrote it: numbers lie there as they lie in memory, which the version guards.
 */
#ifndef RP_STATE_FILE_H
#define RP_STATE_FILE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct rp_state_file;

/** @returns a file to write, the caller's to rp_state_commit() or rp_state_close(); NULL with *err. */
struct rp_state_file *rp_state_create(const char *path, struct rp_error *err);

/** Errors are told by rp_state_commit(). */
void rp_state_put(struct rp_state_file *file, const void *data, size_t len);

/** Makes it the file of that name, on disk. Frees. RP_ERR_USAGE with the file's name when that did not work. */
rp_err_t rp_state_commit(struct rp_state_file *file, struct rp_error *err);

/**
 * Opens one and checks it as a whole.
 * @returns RP_OK, and *file is NULL when there is no such file, else the caller's to rp_state_close(); or RP_ERR_USAGE.
 */
rp_err_t rp_state_open(const char *path, struct rp_state_file **file, struct rp_error *err);

/** false when less is left. */
bool rp_state_get(struct rp_state_file *file, void *data, size_t len);

/** Closes; what was written and not committed leaves nothing behind. NULL is allowed. */
void rp_state_close(struct rp_state_file *file);

#endif
