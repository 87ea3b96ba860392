/** Results that go into files: whole, or not at all. */
#ifndef RP_FILE_H
#define RP_FILE_H

#include "error.h"

#include <stddef.h>

/**
 * Looks at the new file while it still has its passing name beside the final one. @returns RP_OK to put it in place, or
 * an error with *err to throw it away.
 */
typedef rp_err_t rp_file_check_fn(const char *path, void *opaque, struct rp_error *err);

/**
 * Writes a file beside its final name, lets `check` (or NULL) read it back, and only then renames it: whoever opens the
 * name sees the old file or the new one, and after any error the old one stays. A device or a pipe of that name, such as
 * /dev/stdout, is written to and not replaced; `check` is not asked then, nor for "-" when standard output is claimed
 * (standard.h).
 * @returns RP_OK; or RP_ERR_USAGE with *err naming the file.
 */
rp_err_t rp_file_replace(const char *path, const void *data, size_t len, rp_file_check_fn *check, void *opaque,
                         struct rp_error *err);

/**
 * For a file that is replaced again and again while a job runs, such as its status. As rp_file_replace(), but what a
 * killed run left half-written beside it is written over, and nothing waits for the disk: a crash of the machine may cost
 * the file, a crash of the process never. Only a regular file is replaced, never a device or a folder.
 * @returns RP_OK; or RP_ERR_USAGE with *err naming the file.
 */
rp_err_t rp_file_refresh(const char *path, const void *data, size_t len, struct rp_error *err);

#endif
